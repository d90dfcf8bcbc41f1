//! Functions that a `macro_rules!` makes.

use crate::check::v;
use tensorplay::{compile, disable, explain, prelude::*};

macro_rules! scaled {
    ($whole:ident, $off:ident, $disabled:ident, $broken:ident, $plain:ident, $e:expr) => {
        #[compile(fullgraph)]
        fn $whole(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[compile(disable)]
        fn $off(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[disable]
        fn $disabled(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }

        #[compile]
        fn $broken(x: &Tensor) -> Tensor {
            let y = x * 1.0;
            let text = format!("{}", 2.0 * $e);
            y * text.parse::<f64>().unwrap_or_default()
        }

        fn $plain(x: &Tensor) -> Tensor {
            x * 2.0 * $e
        }
    };
}
scaled!(whole, off, disabled, broken, plain, 1.0 + 2.0);

#[test]
fn an_expression_that_a_macro_is_given_stays_one_operand() {
    let x = v(&[1.0, -1.0]);
    let run = || {
        for f in [whole, off, disabled, broken, plain] {
            assert_eq!(f(&x).to_vec::<f32>(), [6.0, -6.0]);
        }
    };
    run();
    assert_eq!(explain!(whole).calls.dispatched, 1);
    tensorplay::compiler::disable_capture(run);
}

/// The macro's own `y` is not the caller's, which has another name here; shadowing on one side is no clash.
macro_rules! plus_own {
    ($name:ident, $x:ident, $e:expr) => {
        #[compile(fullgraph)]
        fn $name($x: &Tensor) -> Tensor {
            let y = $x * 100.0;
            let y = y + 1.0;
            y + $e
        }
    };
}
plus_own!(own_names, x, {
    let x = x * 2.0;
    x + 1.0
});

#[test]
fn names_of_a_macro_and_of_its_caller() {
    let x = v(&[1.0]);
    assert_eq!(own_names(&x).to_vec::<f32>(), [104.0]);
    assert_eq!(explain!(own_names).calls.dispatched, 1);
}
