//! `#[model]`: fields, methods and helpers in one module.

use crate::check::{iota, v};
use net::{Block, Head, Net, Shortcut};
use tensorplay::{compile, explain, prelude::*};

#[tensorplay::model]
mod net {
    use tensorplay::{compile, nested_compile_region, prelude::*};

    const EPS: f64 = 1e-5;

    impl Net {
        // before the structs it reads
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for block in &self.blocks {
                h = block.forward(&h);
            }
            self.head.forward(&h)
        }
    }

    pub struct Shortcut {
        pub w: Tensor,
    }

    pub struct Block {
        pub w: Tensor,
        pub b: Option<Tensor>,
        pub shortcut: Option<Shortcut>,
        pub centred: bool,
    }

    /// A branch inside a plain function of the module.
    fn activate(x: &Tensor, square: bool) -> Tensor {
        if square { x.square() } else { x.relu() }
    }

    fn centre(x: &Tensor) -> Tensor {
        if x.rank() == 1 {
            return x - x.mean_all();
        }
        let mean = x.mean_keepdim(-1);
        (x - &mean) / (x.var_keepdim(-1, 0) + EPS).sqrt()
    }

    impl Block {
        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.matmul(&self.w);
            if let Some(b) = &self.b {
                h += b;
            }
            if self.centred {
                h = centre(&h);
            }
            let x = match &self.shortcut {
                Some(s) => x.matmul(&s.w),
                None => x.clone(),
            };
            activate(&(h + x), false)
        }
    }

    pub struct Head {
        pub w: Tensor,
        pub parts: usize,
        pub square: bool,
    }

    impl Head {
        fn project(&self, x: &Tensor) -> Tensor {
            x.matmul(&self.w).reshape((x.dim(0), self.parts, -1))
        }

        pub fn forward(&self, x: &Tensor) -> Tensor {
            activate(&self.project(x), self.square).sum(-1)
        }
    }

    pub struct Net {
        pub blocks: Vec<Block>,
        pub head: Head,
    }

    pub struct Pair {
        pub w: [Tensor; 2],
        pub scale: f64,
        pub shift: i64,
    }

    #[compile(fullgraph)]
    impl Pair {
        pub fn both(&self, x: &Tensor) -> (Tensor, Tensor) {
            (x * &self.w[0] * self.scale, x * &self.w[1] + self.shift)
        }
    }
}

fn block(bias: bool, shortcut: bool, centred: bool) -> Block {
    Block {
        w: iota(&[4, 4]) * 0.25 - 2.0,
        b: bias.then(|| iota(&[4])),
        shortcut: shortcut.then(|| Shortcut {
            w: iota(&[4, 4]) * 0.5 - 3.0,
        }),
        centred,
    }
}

fn head(parts: usize, square: bool) -> Head {
    Head {
        w: iota(&[4, 6]) * 0.125 - 1.0,
        parts,
        square,
    }
}

/// The compiled call within rounding of the plain one.
fn like_the_body(f: impl Fn() -> Tensor) -> Tensor {
    let (compiled, plain) = (f(), tensorplay::compiler::disable_capture(&f));
    assert_eq!(compiled.shape(), plain.shape());
    assert!(compiled.allclose(&plain, 1e-4, 1e-4), "{compiled}\n{plain}");
    compiled
}

#[test]
fn blocks_of_every_kind() {
    let x = iota(&[3, 4]) - 5.0;
    let kinds = [
        (true, false, false),
        (true, true, false),
        (false, false, true),
        (true, true, true),
    ];
    for (bias, shortcut, centred) in kinds {
        let net = Net {
            blocks: vec![block(bias, shortcut, centred), block(false, false, true)],
            head: head(2, true),
        };
        let y = like_the_body(|| net.forward(&x));
        assert_eq!(y.shape(), [3, 2]);
    }
    let e = explain!(Net::forward);
    assert!(e.breaks.is_empty() && e.calls.dispatched >= 4, "{e}");
}

#[test]
fn depth_adds_no_kernels() {
    let kernels = || {
        let e = explain!(Net::forward);
        (e.kernels.len(), explain!(Block::forward).kernels.len())
    };
    let before = kernels();
    let x = iota(&[2, 4]);
    for depth in [1, 2, 6, 0] {
        let net = Net {
            blocks: (0..depth).map(|_| block(true, false, true)).collect(),
            head: head(1, false),
        };
        like_the_body(|| net.forward(&x));
    }
    assert_eq!(before, kernels(), "kernels belong to the build");
}

#[test]
fn fields_that_are_numbers_and_flags_are_guards() {
    let x = iota(&[2, 4]);
    for (parts, square) in [(1, false), (2, false), (3, true), (2, false)] {
        let net = Net {
            blocks: vec![],
            head: head(parts, square),
        };
        assert_eq!(like_the_body(|| net.forward(&x)).shape(), [2, parts]);
    }
}

#[test]
fn an_array_and_an_attribute_on_an_impl() {
    let pair = net::Pair {
        w: [v(&[1.0, 2.0]), v(&[3.0, 4.0])],
        scale: 0.5,
        shift: 7,
    };
    let (a, b) = against_body!(pair.both(&v(&[2.0, 4.0])));
    assert_eq!(a.to_vec::<f32>(), [1.0, 4.0]);
    assert_eq!(b.to_vec::<f32>(), [13.0, 23.0]);
    assert_eq!(explain!(net::Pair::both).calls.dispatched, 1);
}

#[test]
fn parameters_are_read_at_each_call() {
    let w = iota(&[4, 4]).variable();
    let net = Net {
        blocks: vec![Block {
            w: w.clone(),
            b: None,
            shortcut: None,
            centred: false,
        }],
        head: head(1, false),
    };
    let x = iota(&[2, 4]);
    let first = like_the_body(|| net.forward(&x)).to_vec::<f32>();
    w.assign(&(iota(&[4, 4]) * 2.0));
    let second = like_the_body(|| net.forward(&x)).to_vec::<f32>();
    assert_ne!(first, second);
    w.assign(&iota(&[4, 4]));
    assert_eq!(like_the_body(|| net.forward(&x)).to_vec::<f32>(), first);
}

#[test]
fn a_struct_outside_of_a_model() {
    struct Scale {
        w: Tensor,
        by: f64,
    }
    impl Scale {
        #[compile(fullgraph)]
        fn forward(&self, x: &Tensor, square: bool) -> Tensor {
            let y = x * &self.w * self.by;
            if square { y.square() } else { y }
        }
    }
    for by in [1.0, 0.5] {
        let scale = Scale {
            w: v(&[2.0, 4.0]),
            by,
        };
        for square in [false, true] {
            against_body!(scale.forward(&v(&[1.0, 3.0]), square));
        }
    }
    let e = explain!(Scale::forward);
    assert_eq!(
        (e.graphs.len(), e.entries.len()),
        (2, 2),
        "one table for all instances: {e}"
    );
}

#[tensorplay::model]
mod enums {
    use tensorplay::{compile, nn::Linear, prelude::*};

    #[derive(Clone, Copy, PartialEq, Debug)]
    pub enum Act {
        A,
        Gelu,
        Tanh,
    }

    impl Act {
        fn apply(&self, x: &Tensor) -> Tensor {
            match self {
                Act::A => x.relu(),
                Self::Gelu => x.gelu(),
                Act::Tanh => x.tanh(),
            }
        }

        fn is_smooth(self) -> bool {
            self != Act::A
        }
    }

    pub struct Layer {
        pub act: Act,
        pub linear: Linear,
    }

    pub struct Net {
        pub layers: Vec<Layer>,
        pub last: Option<Act>,
    }

    fn chosen(x: &Tensor, act: Act) -> Tensor {
        match act {
            Act::A | Act::Tanh => x * 2.0,
            _ => x * 3.0,
        }
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for layer in &self.layers {
                h = layer.act.apply(&layer.linear.forward(&h));
                if layer.act.is_smooth() {
                    h += 1.0;
                }
                h = chosen(&h, layer.act);
            }
            if let Some(last) = self.last {
                h = last.apply(&h);
            }
            if matches!(self.last, Some(Act::Gelu)) {
                h.exp()
            } else {
                h
            }
        }
    }
}

#[test]
fn an_enum_of_the_module_is_a_number_of_the_key() {
    use enums::{Act, Layer, Net};
    let linear = |i: usize| tensorplay::nn::Linear::new(3, 3 + i - i);
    for acts in [
        &[][..],
        &[Act::A],
        &[Act::Gelu, Act::Tanh],
        &[Act::Tanh, Act::A, Act::Gelu],
    ] {
        for last in [None, Some(Act::A), Some(Act::Gelu)] {
            let layers = acts.iter().enumerate();
            let layers = layers.map(|(i, act)| Layer {
                act: *act,
                linear: linear(i),
            });
            let net = Net {
                layers: layers.collect(),
                last,
            };
            let x = iota(&[2, 3]) * 0.1 - 0.2;
            let got = net.forward(&x);
            let mut want = x.clone();
            for layer in &net.layers {
                want = layer.linear.forward(&want);
                want = match layer.act {
                    Act::A => want.relu() * 2.0,
                    Act::Gelu => (want.gelu() + 1.0) * 3.0,
                    Act::Tanh => (want.tanh() + 1.0) * 2.0,
                };
            }
            match last {
                Some(Act::A) => want = want.relu(),
                Some(Act::Gelu) => want = want.gelu().exp(),
                _ => {}
            }
            assert!(got.allclose(&want, 1e-6, 1e-6), "{acts:?} {last:?}");
        }
    }
    assert!(explain!(enums::Net::forward).breaks.is_empty());
}

#[tensorplay::model]
mod indexed {
    use tensorplay::{compile, nested_compile_region, prelude::*};

    pub struct L {
        pub w: Tensor,
    }

    pub struct B {
        pub w: Tensor,
        pub n: usize,
        pub l: [L; 2],
        pub o: Option<L>,
    }

    impl B {
        pub const S: f64 = 0.5;

        fn plain(&self, x: &Tensor) -> Tensor {
            x * &self.w * Self::S
        }
        fn branch(&self, x: &Tensor) -> Tensor {
            if self.n > 1 { x * &self.w } else { x.clone() }
        }
        fn array(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for l in &self.l {
                h *= &l.w;
            }
            h
        }
        fn optional(&self, x: &Tensor) -> Tensor {
            if let Some(o) = &self.o {
                x * &o.w
            } else {
                x.clone()
            }
        }
        #[nested_compile_region]
        fn region(&self, x: &Tensor) -> Tensor {
            x * &self.w
        }
        fn steps(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for i in 0..self.n {
                h += i as f64;
            }
            h
        }
    }

    pub struct Net {
        pub blocks: Vec<B>,
    }

    impl Net {
        pub const M: usize = 1;

        #[compile(fullgraph)]
        pub fn first(&self, x: &Tensor) -> Tensor {
            self.blocks[0].plain(x)
        }
        #[compile(fullgraph)]
        pub fn second(&self, x: &Tensor) -> Tensor {
            if x.dim(0) > Self::M {
                self.blocks[1].branch(x)
            } else {
                self.blocks[0].branch(x)
            }
        }
        #[compile(fullgraph)]
        pub fn of_arrays(&self, x: &Tensor) -> Tensor {
            self.blocks[0].array(x)
        }
        #[compile(fullgraph)]
        pub fn of_options(&self, x: &Tensor) -> Tensor {
            self.blocks[0].optional(x)
        }
        #[compile(fullgraph)]
        pub fn of_regions(&self, x: &Tensor) -> Tensor {
            self.blocks[0].region(x)
        }
        #[compile(fullgraph)]
        pub fn of_steps(&self, x: &Tensor) -> Tensor {
            self.blocks[0].steps(x)
        }
    }
}

#[test]
fn an_index_that_a_list_does_not_have_is_an_error_on_every_way() {
    use indexed::{B, L, Net};
    let x = iota(&[2]);
    let block = |n: usize| B {
        w: &x + 1.0,
        n,
        l: [L { w: &x * 2.0 }, L { w: &x - 3.0 }],
        o: (n > 1).then(|| L { w: x.exp() }),
    };
    type Method = fn(&Net, &Tensor) -> Tensor;
    let methods: [Method; 6] = [
        Net::first,
        Net::second,
        Net::of_arrays,
        Net::of_options,
        Net::of_regions,
        Net::of_steps,
    ];
    for method in methods {
        for n in 0..3 {
            let net = Net {
                blocks: vec![block(n), block(2 - n)],
            };
            against_body!(method(&net, &x));
        }
        let net = Net { blocks: vec![] };
        let call = std::panic::AssertUnwindSafe(|| method(&net, &x));
        let e = std::panic::catch_unwind(call).expect_err("there is no block");
        let message = e.downcast::<String>().expect("a text");
        assert!(
            message.contains("the list has 0 elements") && message.contains("`self.blocks["),
            "{message}"
        );
    }
}

#[tensorplay::model]
mod opaque_fields {
    use tensorplay::{compile, prelude::*};

    #[derive(Clone, Copy, PartialEq)]
    pub enum Act {
        Relu,
        Scale(f64),
    }

    pub struct Net {
        pub w: Tensor,
        pub act: Act,
        pub last: Option<Act>,
        pub letter: char,
        pub name: &'static str,
        pub seed: u32,
    }

    impl Net {
        #[compile]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let h = x.matmul(&self.w);
            let h = match self.act {
                Act::Relu => h.relu(),
                Act::Scale(k) => h * k,
            };
            let h = if let Some(Act::Scale(k)) = self.last {
                h + k
            } else {
                h
            };
            let h = match self.letter {
                'a' => h.exp(),
                _ => h,
            };
            let h = if self.name == "twice" { h * 2.0 } else { h };
            if self.seed > 7 { h.sin() } else { h.tanh() }
        }
    }
}

#[test]
fn fields_that_a_graph_does_not_read_stay_rust() {
    use opaque_fields::{Act, Net};
    let w = iota(&[2, 2]) * 0.1;
    for act in [Act::Relu, Act::Scale(0.5)] {
        for (letter, name, seed) in [('a', "twice", 9), ('b', "once", 1)] {
            let net = Net {
                w: w.clone(),
                act,
                last: Some(act),
                letter,
                name,
                seed,
            };
            let x = iota(&[3, 2]) - 2.0;
            let mut want = x.matmul(&w);
            match act {
                Act::Relu => want = want.relu(),
                Act::Scale(k) => want = want * k + k,
            }
            let want = match letter {
                'a' => (want.exp() * 2.0).sin(),
                _ => want.tanh(),
            };
            assert!(net.forward(&x).allclose(&want, 1e-6, 1e-6));
        }
    }
}
