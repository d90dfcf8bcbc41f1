use tensorplay::{compile, explain, prelude::*};

mod io {
    use super::*;

    #[compile]
    pub fn write(x: &Tensor) -> Tensor {
        x.relu()
    }
}

fn main() {
    let _ = explain!(io::write);
}
