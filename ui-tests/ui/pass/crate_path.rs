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

/// The attributes inside have the module's path.
#[tp::model(crate = crate::vendored::engine)]
mod net {
    use crate::tp::{compile, disable, nested_compile_region, prelude::*, substitute_in_graph};

    pub struct Net {
        pub w: Tensor,
    }

    impl Net {
        #[nested_compile_region]
        pub fn part(&self, x: &Tensor) -> Tensor {
            x.matmul(&self.w)
        }

        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            halved(&self.part(x))
        }

        #[compile]
        pub fn reported(&self, x: &Tensor) -> Tensor {
            let y = x.matmul(&self.w);
            report(&y);
            y.relu()
        }
    }

    fn halved(x: &Tensor) -> Tensor {
        Tensor::from_vec(x.to_vec::<f32>().iter().map(|v| v / 2.0).collect(), x.shape())
    }

    #[substitute_in_graph(halved)]
    fn halved_in_graphs(x: &Tensor) -> Tensor {
        x * 0.5
    }

    #[disable(reason = "it prints")]
    fn report(x: &Tensor) {
        println!("{x}");
    }
}

fn main() {
    let x = tp::Tensor::from_slice(&[1.0f32, -1.0], 2);
    assert_eq!(by_rename(&x).to_vec::<f32>(), [1.0, 0.0]);
    assert_eq!(inner::by_path(&x).shape(), [2]);
    assert_eq!(tp::explain!(by_rename).calls.dispatched, 1);
    assert_eq!(tp::explain!(inner::by_path).calls.dispatched, 1);
    let net = net::Net {
        w: tp::Tensor::eye(2, tp::DType::F32),
    };
    let row = x.unsqueeze(0);
    assert_eq!(net.forward(&row).to_vec::<f32>(), [0.5, -0.5]);
    assert_eq!(net.reported(&row).to_vec::<f32>(), [1.0, 0.0]);
    assert_eq!(tp::explain!(net::Net::forward).calls.dispatched, 1);
    assert_eq!(tp::explain!(net::Net::reported).breaks.len(), 1);
}
