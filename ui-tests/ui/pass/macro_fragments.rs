//! Functions that a `macro_rules!` makes of what it is given: an expression stays one operand wherever it stands.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tensorplay::{compile, disable, explain, model, nested_compile_region, prelude::*};

macro_rules! scaled {
    ($name:ident, $x:ident, $e:expr) => {
        #[compile(fullgraph)]
        fn $name($x: &Tensor) -> Tensor {
            let scaled = $x * $e;
            let k = $e;
            scaled * (k)
        }
    };
}
scaled!(whole, x, 1.0 + 2.0);

macro_rules! eager {
    ($off:ident, $plain:ident, $never:ident, $e:expr) => {
        #[compile(disable)]
        fn $off(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[disable]
        fn $plain(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[compile]
        fn $never(x: &Tensor) -> Tensor {
            let text = format!("{}", 2.0 * $e);
            let k = std::hint::black_box(2.0) * $e;
            let y = x * 1.0;
            assert_eq!(text, "6");
            y * k
        }
    };
}
eager!(off, plain, broken, 1.0 + 2.0);

/// Fragments that are no operands, or need no parentheses.
macro_rules! all_sorts {
    ($name:ident, $k:ident, $t:ty, $p:pat, $neg:literal, $r:expr, $up:expr, $b:block, $a:expr, $n:expr, $m:meta, $s:stmt) => {
        #[compile]
        #[$m]
        fn $name(x: $t, $k: usize) -> Tensor {
            $s;
            let mut h = x * $neg;
            for _ in $r {
                h = &h + ($a);
            }
            if $up {
                h = h.relu();
            }
            let f = $n;
            let k = match $k {
                $p => f(1.0),
                _ => 0.0f64,
            };
            println!("{}", k);
            let h = h + $neg.abs() + k;
            $b;
            return h * $a
        }
    };
}
all_sorts!(
    all_sorts,
    n,
    &Tensor,
    1 | 2,
    -1.0f64,
    0..2,
    n > 5 && n < 9,
    { let _ = 1; },
    1.0 - 0.5,
    |v: f64| v * 10.0,
    cfg(any(test, not(test))),
    let _unused = 1
);

macro_rules! twice {
    ($name:ident, $e:expr) => {
        scaled!($name, x, $e * 2.0);
    };
}
twice!(nested, 1.0 + 0.5);

macro_rules! net {
    ($e:expr, $field:ty) => {
        #[model]
        mod net {
            use super::{compile, nested_compile_region, prelude_of::*};

            pub struct Net {
                pub w: $field,
            }

            impl Net {
                #[nested_compile_region]
                pub fn part(&self, x: &Tensor) -> Tensor {
                    x * &self.w * $e
                }

                #[compile(fullgraph)]
                pub fn forward(&self, x: &Tensor) -> Tensor {
                    self.part(x) - $e
                }
            }
        }
    };
}
mod prelude_of {
    pub use tensorplay::prelude::*;
}
net!(1.0 + 2.0, Tensor);

fn main() {
    let x = Tensor::ones(2, DType::F32);
    let first = |t: Tensor| t.to_vec::<f32>()[0];
    let run = || {
        assert_eq!(first(whole(&x)), 9.0);
        assert_eq!(first(nested(&x)), 9.0);
        assert_eq!(first(off(&x)), 6.0);
        assert_eq!(first(plain(&x)), 6.0);
        assert_eq!(first(broken(&x)), 6.0);
        // -1 + 2 * 0.5 = 0, relu, + 1 + 10, times a half
        assert_eq!(first(all_sorts(&x, 1)), 5.5);
        assert_eq!(first(all_sorts(&x, 7)), 0.5);
        let net = net::Net { w: x.clone() };
        assert_eq!(first(net.part(&x)), 3.0);
        assert_eq!(first(net.forward(&x)), 0.0);
    };
    run();
    assert!(explain!(whole).calls.dispatched > 0);
    assert_eq!(explain!(broken).breaks.len(), 3);
    tensorplay::compiler::disable_capture(run);
}
