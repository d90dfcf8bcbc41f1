use tensorplay::{explain, graph};

fn main() {
    let _ = explain!(1 + 2);
    let _ = graph!();
}
