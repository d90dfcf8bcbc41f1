//! What capture does not follow stays Rust: each function against a copy of it that no macro sees.

use crate::check::{Shown, iota};
use tensorplay::{compile, prelude::*};

#[tensorplay::model]
mod net {
    use tensorplay::{compile, prelude::*};

    #[derive(Clone, Copy, PartialEq)]
    pub enum Act {
        Relu,
        Gelu,
        Best,
    }

    pub const BEST: Act = Act::Gelu;

    #[derive(Clone, Copy)]
    pub enum Loose {
        A,
        B,
    }

    impl PartialEq for Loose {
        fn eq(&self, _: &Loose) -> bool {
            true
        }
    }

    pub struct Sum {
        pub h: Tensor,
        pub n: usize,
    }

    impl Sum {
        fn add(&mut self, x: &Tensor) {
            self.h = &self.h + x;
            self.n += 1;
        }

        fn own(mut self, x: &Tensor) -> Sum {
            self.h = &self.h * 2.0;
            self.add(x);
            self
        }
    }

    pub struct Counted {
        pub h: Tensor,
    }

    impl Clone for Counted {
        fn clone(&self) -> Counted {
            Counted { h: &self.h + 1.0 }
        }
    }

    pub struct P;

    impl P {
        const K: f64 = 2.0;

        fn scaled(x: &Tensor) -> Tensor {
            x * Self::K
        }
    }

    fn helper(x: &Tensor) -> Tensor {
        x * 3.0
    }

    pub struct Net {
        pub act: Act,
        pub loose: Loose,
    }

    impl Net {
        const K: f64 = 5.0;

        #[compile]
        pub fn changed(&self, x: &Tensor) -> Tensor {
            let mut s = Sum { h: x.clone(), n: 1 };
            s.add(x);
            s.add(&s.h.exp());
            s.h * s.n as f64
        }

        #[compile]
        pub fn owned(&self, x: &Tensor) -> Tensor {
            Sum { h: x.clone(), n: 1 }.own(x).h
        }

        #[compile]
        pub fn imported(&self, x: &Tensor) -> Tensor {
            use Act::*;
            match self.act {
                Relu => x * 2.0,
                Gelu => x * 3.0,
                Best => x * 4.0,
            }
        }

        #[compile]
        pub fn of_another(&self, x: &Tensor) -> Tensor {
            P::scaled(x) * Self::K
        }

        #[compile]
        pub fn shadowed(&self, x: &Tensor) -> Tensor {
            fn helper(x: &Tensor) -> Tensor {
                x * 9.0
            }
            helper(x) + 1.0
        }

        #[compile]
        pub fn not_shadowed(&self, x: &Tensor) -> Tensor {
            helper(x) + 1.0
        }

        #[compile]
        pub fn conditional(&self, x: &Tensor) -> Tensor {
            match self.act {
                #[cfg(any())]
                Act::Relu => x * 1000.0,
                Act::Relu => x * 2.0,
                _ => x * 3.0,
            }
        }

        #[compile]
        pub fn constant(&self, x: &Tensor) -> Tensor {
            if self.act == BEST { x.exp() } else { x.relu() }
        }

        #[compile]
        pub fn compared_by_hand(&self, x: &Tensor) -> Tensor {
            if self.loose == Loose::A { x * 2.0 } else { x * 3.0 }
        }

        #[compile]
        pub fn cloned_by_hand(&self, x: &Tensor) -> Tensor {
            let c = Counted { h: x.clone() };
            c.clone().h * 2.0
        }
    }
}

/// The value of each method, written again for a reader.
#[test]
fn in_a_model() {
    use net::{Act, Loose, Net};
    let x = iota(&[3]) - 1.0;
    type Method = fn(&Net, &Tensor) -> Tensor;
    type Want = fn(Act, &Tensor) -> Tensor;
    let methods: [(Method, Want); 10] = [
        (Net::changed, |_, x| (x * 2.0 + (x * 2.0).exp()) * 3.0),
        (Net::owned, |_, x| x * 2.0 + x),
        (Net::imported, |act, x| match act {
            Act::Relu => x * 2.0,
            Act::Gelu => x * 3.0,
            Act::Best => x * 4.0,
        }),
        (Net::of_another, |_, x| x * 2.0 * 5.0),
        (Net::shadowed, |_, x| x * 9.0 + 1.0),
        (Net::not_shadowed, |_, x| x * 3.0 + 1.0),
        (
            Net::conditional,
            |act, x| if act == Act::Relu { x * 2.0 } else { x * 3.0 },
        ),
        (
            Net::constant,
            |act, x| if act == Act::Gelu { x.exp() } else { x.relu() },
        ),
        (Net::compared_by_hand, |_, x| x * 2.0),
        (Net::cloned_by_hand, |_, x| (x + 1.0) * 2.0),
    ];
    for (i, (got, want)) in methods.into_iter().enumerate() {
        for act in [Act::Relu, Act::Gelu, Act::Best] {
            let net = Net { act, loose: Loose::B };
            assert_eq!(got(&net, &x).shown(), want(act, &x).shown(), "method {i}");
        }
    }
}

#[test]
fn local_lists_that_a_loop_changes() {
    #[compile]
    fn parts(x: &Tensor) -> Tensor {
        let mut v = [(x.clone(), x + 1.0)];
        for e in v.iter_mut() {
            e.0 = &e.0 + 1.0;
        }
        v[0].0.clone()
    }
    #[compile]
    fn last(x: &Tensor, n: usize) -> Tensor {
        let mut last = None;
        for i in 0..n {
            last = Some(x * (i as f64));
        }
        match last {
            Some(l) => l,
            None => x.clone(),
        }
    }
    #[compile]
    fn pair(x: &Tensor, n: usize) -> Tensor {
        let mut p = (x.clone(), 1.0);
        for i in 0..n {
            p = (x * (i as f64), 2.0);
        }
        p.0 * p.1
    }
    #[compile(fullgraph)]
    fn empty(x: &Tensor, n: usize) -> Tensor {
        let mut a = Vec::new();
        for i in 0..n {
            a.push(x * (i as f64));
        }
        if a.is_empty() { x * 3.0 } else { x * 2.0 }
    }
    let x = iota(&[3]) - 1.0;
    assert_eq!(parts(&x).shown(), (&x + 1.0).shown());
    for n in 0..4 {
        let i = n as f64 - 1.0;
        let (l, p) = if n == 0 {
            (x.clone(), &x * 1.0)
        } else {
            (&x * i, &x * i * 2.0)
        };
        assert_eq!(last(&x, n).shown(), l.shown());
        assert_eq!(pair(&x, n).shown(), p.shown());
        assert_eq!(
            empty(&x, n).shown(),
            (&x * if n == 0 { 3.0 } else { 2.0 }).shown()
        );
    }
}

#[test]
fn elements_that_are_not_there() {
    #[compile(fullgraph)]
    #[allow(clippy::manual_flatten)]
    fn optional(c: &mut [Option<Tensor>], x: &Tensor) {
        for e in c.iter_mut() {
            if let Some(t) = e {
                *t = &*t + x;
            }
        }
    }
    #[compile(fullgraph)]
    fn second(c: &mut [Tensor], x: &Tensor) {
        c[1] = x + 1.0;
    }
    #[compile(fullgraph)]
    fn same_name(c: &mut [Tensor], x: &Tensor) {
        for c in c.iter_mut() {
            *c = &*c * x;
        }
    }
    #[compile(fullgraph)]
    fn reborrowed(c: &mut Vec<Tensor>, x: &Tensor) {
        for e in &mut *c {
            *e += x;
        }
    }
    let x = iota(&[2]) + 1.0;
    let mut c = vec![Some(x.clone()), None, Some(x.exp())];
    optional(&mut c, &x);
    let want = vec![Some(&x + &x), None, Some(x.exp() + &x)];
    assert_eq!(c.shown(), want.shown());
    let call = std::panic::AssertUnwindSafe(|| second(&mut [x.clone()], &x));
    let e = std::panic::catch_unwind(call).expect_err("one element");
    let message = e.downcast::<String>().expect("a text");
    assert!(message.contains("`c[1]` does not exist"), "{message}");
    let mut c = vec![x.clone(), x.exp()];
    same_name(&mut c, &x);
    reborrowed(&mut c, &x);
    assert_eq!(c.shown(), vec![&x * &x + &x, x.exp() * &x + &x].shown());
}

mod inner {
    pub const SCALE: f64 = 7.0;
}

const SCALE: f64 = 2.0;

#[test]
fn items_of_the_body_hide_those_around_it() {
    #[compile]
    fn imported(x: &Tensor) -> Tensor {
        use inner::*;
        let y = x.exp();
        y * SCALE
    }
    #[compile]
    fn around(x: &Tensor) -> Tensor {
        x.exp() * SCALE
    }
    #[compile]
    fn own_macro(x: &Tensor) -> Tensor {
        macro_rules! vec {
            ($x:expr) => {
                [$x + 1.0]
            };
        }
        let v = vec![x.clone()];
        v[0].exp()
    }
    let x = iota(&[3]);
    assert_eq!(imported(&x).shown(), (x.exp() * 7.0).shown());
    assert_eq!(around(&x).shown(), (x.exp() * 2.0).shown());
    assert_eq!(own_macro(&x).shown(), (&x + 1.0).exp().shown());
}
