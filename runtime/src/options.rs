//! The settings that operations take as a struct or an enum.
//!
//! Problem: a convolution has more numbers than a signature should list. Method: small `Copy` values with setters; each
//! becomes the list of host values that its [`OptionsRow`](tensorplay_graph::op::options::OptionsRow) describes, in
//! that order, so that eager and captured calls agree. Invariant: numbers are checked by the operation's shape rule, not
//! here.

use crate::shape::Dim;
use smallvec::SmallVec;
use tensorplay_graph::Host;

mod sealed {
    pub trait Pair {}
}

/// One number for both of the last two axes, or one each: `3`, `(3, 1)`, `[3, 1]`.
pub trait Pair: Copy + sealed::Pair {
    /// The numbers for height and width.
    fn pair(self) -> [i64; 2];
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl sealed::Pair for $t {}
        impl Pair for $t {
            fn pair(self) -> [i64; 2] { [self.to_i64(); 2] }
        }
    )*};
}
integers!(i32 i64 isize usize);

impl<A: Dim, B: Dim> sealed::Pair for (A, B) {}
impl<A: Dim, B: Dim> Pair for (A, B) {
    fn pair(self) -> [i64; 2] {
        [self.0.to_i64(), self.1.to_i64()]
    }
}

impl<T: Dim> sealed::Pair for [T; 2] {}
impl<T: Dim> Pair for [T; 2] {
    fn pair(self) -> [i64; 2] {
        self.map(Dim::to_i64)
    }
}

/// The host values of an options argument; `None` is absent.
pub(crate) type Settings = SmallVec<[Option<Host>; 12]>;

fn ints<const N: usize>(lists: [&[i64]; N]) -> Settings {
    lists.into_iter().flatten().map(|&v| Some(Host::Int(v))).collect()
}

macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ident = $initial:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name {
            $($field: settings!(@type $kind),)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $initial),* }
            }
        }

        impl $name {
            $(settings!(@setter [$(#[$field_doc])*] $field $kind);)*
            $(settings!(@count $field);)*

            pub(crate) fn settings(self) -> Settings {
                ints([$(&self.$field),*])
            }
        }
    };
    (@count groups) => {
        /// Into how many groups the channels are cut, as `groups` set it.
        pub fn group_count(self) -> i64 {
            self.groups[0]
        }
    };
    (@count $field:ident) => {};
    (@type pair) => { [i64; 2] };
    (@type one) => { [i64; 1] };
    (@setter [$($doc:tt)*] $field:ident pair) => {
        $($doc)*
        #[must_use]
        pub fn $field(self, $field: impl Pair) -> Self {
            Self { $field: $field.pair(), ..self }
        }
    };
    (@setter [$($doc:tt)*] $field:ident one) => {
        $($doc)*
        #[must_use]
        pub fn $field(self, $field: impl Dim) -> Self {
            Self { $field: [$field.to_i64()], ..self }
        }
    };
}

settings! {
    /// Settings of [`Tensor::conv1d`](crate::Tensor::conv1d).
    ///
    /// ```
    /// # mod tensorplay { pub mod prelude { pub use tensorplay_runtime::*; } }
    /// use tensorplay::prelude::*;
    /// let (x, w) = (Tensor::ones((1, 3, 8), DType::F32), Tensor::ones((4, 3, 3), DType::F32));
    /// let y = x.conv1d(&w, None, Conv1dOptions::default().stride(2).padding(1));
    /// assert_eq!(y.shape(), [1, 4, 4]);
    /// ```
    Conv1dOptions {
        /// Elements from window to window; 1 unless set.
        stride: one = [1],
        /// Zeros on either side; 0 unless set.
        padding: one = [0],
        /// Elements between those that a kernel's entries see; 1 unless set.
        dilation: one = [1],
        /// Into how many groups the channels are cut; 1 unless set.
        groups: one = [1],
    }
}

settings! {
    /// Settings of [`Tensor::conv2d`](crate::Tensor::conv2d); pairs are (height, width).
    ///
    /// ```
    /// # mod tensorplay { pub mod prelude { pub use tensorplay_runtime::*; } }
    /// use tensorplay::prelude::*;
    /// let (x, w) = (Tensor::ones((1, 3, 8, 9), DType::F32), Tensor::ones((4, 3, 3, 3), DType::F32));
    /// let y = x.conv2d(&w, None, Conv2dOptions::default().stride(2).padding((1, 0)));
    /// assert_eq!(y.shape(), [1, 4, 4, 4]);
    /// ```
    Conv2dOptions {
        /// Elements from window to window; 1 unless set.
        stride: pair = [1; 2],
        /// Zeros on either side; 0 unless set.
        padding: pair = [0; 2],
        /// Elements between those that a kernel's entries see; 1 unless set.
        dilation: pair = [1; 2],
        /// Into how many groups the channels are cut; 1 unless set.
        groups: one = [1],
    }
}

settings! {
    /// Settings of [`Tensor::conv_transpose2d`](crate::Tensor::conv_transpose2d); pairs are (height, width).
    ConvTranspose2dOptions {
        /// Elements from window to window of the result; 1 unless set.
        stride: pair = [1; 2],
        /// Elements cut from either side of the result; 0 unless set.
        padding: pair = [0; 2],
        /// Elements added to one side of the result; 0 unless set.
        output_padding: pair = [0; 2],
        /// Elements between those that a kernel's entries reach; 1 unless set.
        dilation: pair = [1; 2],
        /// Into how many groups the channels are cut; 1 unless set.
        groups: one = [1],
    }
}

/// Settings of pooling; pairs are (height, width), of which pooling over one axis takes the width.
///
/// ```
/// # mod tensorplay { pub mod prelude { pub use tensorplay_runtime::*; } }
/// use tensorplay::prelude::*;
/// let x = Tensor::ones((1, 3, 8, 8), DType::F32);
/// let y = x.max_pool2d(PoolOptions::new(3).stride(2).padding(1));
/// assert_eq!(y.shape(), [1, 3, 4, 4]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolOptions {
    kernel: [i64; 2],
    stride: [i64; 2],
    padding: [i64; 2],
}

/// Windows of one element.
impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions::new(1)
    }
}

impl PoolOptions {
    /// Windows of a size, side by side.
    pub fn new(kernel: impl Pair) -> Self {
        PoolOptions {
            kernel: kernel.pair(),
            stride: kernel.pair(),
            padding: [0; 2],
        }
    }

    /// Elements from window to window; the kernel's size unless set.
    #[must_use]
    pub fn stride(self, stride: impl Pair) -> Self {
        PoolOptions {
            stride: stride.pair(),
            ..self
        }
    }

    /// Elements on either side, which never win a maximum and count as 0 in a mean; 0 unless set.
    #[must_use]
    pub fn padding(self, padding: impl Pair) -> Self {
        PoolOptions {
            padding: padding.pair(),
            ..self
        }
    }

    pub(crate) fn settings(self) -> Settings {
        ints([&self.kernel, &self.stride, &self.padding])
    }
}

/// Settings of [`Tensor::scaled_dot_product_attention`](crate::Tensor::scaled_dot_product_attention).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct AttentionOptions {
    causal: bool,
    scale: Option<f64>,
}

impl AttentionOptions {
    /// Whether query i sees keys 0 to i only; no unless set.
    #[must_use]
    pub fn causal(self, causal: bool) -> Self {
        AttentionOptions { causal, ..self }
    }

    /// The factor of the scores; 1 / sqrt of the width unless set.
    #[must_use]
    pub fn scale(self, scale: f64) -> Self {
        AttentionOptions {
            scale: Some(scale),
            ..self
        }
    }

    pub(crate) fn settings(self) -> Settings {
        SmallVec::from_slice(&[Some(Host::Bool(self.causal)), self.scale.map(Host::Float)])
    }
}

/// What [`Tensor::pad`](crate::Tensor::pad) puts beside the elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PadMode {
    /// This value, converted to the tensor's dtype.
    Constant(f64),
    /// The elements mirrored at the edge, which is not repeated.
    Reflect,
    /// The edge.
    Replicate,
}

/// Zeros.
impl Default for PadMode {
    fn default() -> Self {
        PadMode::Constant(0.0)
    }
}

impl PadMode {
    pub(crate) fn settings(self) -> Settings {
        let (number, value) = match self {
            PadMode::Constant(v) => (0, Some(Host::Float(v))),
            PadMode::Reflect => (1, None),
            PadMode::Replicate => (2, None),
        };
        SmallVec::from_slice(&[Some(Host::Int(number)), value])
    }
}

/// How [`Tensor::interpolate`](crate::Tensor::interpolate) makes elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interpolate {
    /// The element at or before the position.
    #[default]
    Nearest,
    /// A blend of the four neighbours.
    Bilinear {
        /// Whether corners lie on corners; otherwise, pixels are areas.
        align_corners: bool,
    },
}

impl Interpolate {
    pub(crate) fn settings(self) -> Settings {
        let (number, value) = match self {
            Interpolate::Nearest => (0, None),
            Interpolate::Bilinear { align_corners } => (1, Some(Host::Bool(align_corners))),
        };
        SmallVec::from_slice(&[Some(Host::Int(number)), value])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorplay_graph::op::options::{self, OptionsRow};

    #[test]
    fn settings_are_those_of_the_rows() {
        let of: [(&OptionsRow, Settings); 7] = [
            (&options::CONV1D, Conv1dOptions::default().settings()),
            (&options::CONV2D, Conv2dOptions::default().settings()),
            (
                &options::CONV_TRANSPOSE2D,
                ConvTranspose2dOptions::default().settings(),
            ),
            (&options::POOL, PoolOptions::default().settings()),
            (&options::ATTENTION, AttentionOptions::default().settings()),
            (&options::PAD_MODE, PadMode::default().settings()),
            (&options::INTERPOLATE, Interpolate::default().settings()),
        ];
        assert_eq!(of.len(), options::ALL.len());
        for (row, settings) in of {
            assert_eq!(settings.len(), row.len(), "{}", row.name);
            let initial = row.initial(&[tensorplay_graph::Expr::int(1)]);
            assert_eq!(initial.len(), row.len(), "{}", row.name);
            for (a, s) in initial.iter().zip(&settings) {
                let expected = match a {
                    tensorplay_graph::Arg::Host(e) => e.literal(),
                    _ => None,
                };
                assert_eq!(expected, *s, "{}", row.name);
            }
        }
    }
}
