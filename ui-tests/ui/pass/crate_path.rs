//! `crate = path`: the facade under another name.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tensorplay as tp;

mod vendored {
    pub use tensorplay as engine;
}

#[tp::compile(crate = tp)]
fn by_rename(x: &tp::Tensor) -> tp::Tensor {
    x.relu()
}

mod inner {
    #[crate::tp::compile(crate = crate::vendored::engine)]
    pub fn by_path(x: &tensorplay::Tensor) -> tensorplay::Tensor {
        (x * 2.0).exp()
    }
}

fn main() {
    let x = tp::Tensor::from_slice(&[1.0f32, -1.0], 2);
    assert_eq!(by_rename(&x).to_vec::<f32>(), [1.0, 0.0]);
    assert_eq!(inner::by_path(&x).shape(), [2]);
    assert_eq!(tp::explain!(by_rename).calls.dispatched, 1);
    assert_eq!(tp::explain!(inner::by_path).calls.dispatched, 1);
}
