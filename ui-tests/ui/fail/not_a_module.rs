use tensorplay::model;

#[model]
struct Block {
    scale: f64,
}

fn main() {
    let _ = Block { scale: 1.0 }.scale;
}
