use tensorplay::compile;

#[compile]
struct Model {
    layers: usize,
}

#[compile]
/// Documented.
mod layers {}

fn main() {
    let _ = Model { layers: 1 }.layers;
}
