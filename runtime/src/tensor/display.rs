//! Printing, as PyTorch lays values out.
//!
//! Problem: a tensor of any size must print short, readable and with what its values do not show. Method:
//! nested brackets in one line if they fit, else a line per row with aligned columns; more than 1000 elements
//! are summarised by the first and last three of each dim; shape and dtype follow. `{:.3}` sets the decimals
//! of floats.

use super::Tensor;
use crate::element::with_element;
use std::fmt;

const SUMMARY: usize = 1000;
const EDGE: usize = 3;
const WIDTH: usize = 80;

/// Positions of a dim to print; `None` stands for the dots.
fn positions(n: usize, summary: bool) -> Vec<Option<usize>> {
    if !summary || n <= 2 * EDGE {
        return (0..n).map(Some).collect();
    }
    (0..EDGE)
        .map(Some)
        .chain([None])
        .chain((n - EDGE..n).map(Some))
        .collect()
}

struct Printer<'a> {
    tensor: &'a Tensor,
    data: *const u8,
    summary: bool,
    decimals: Option<usize>,
}

impl Printer<'_> {
    fn element(&self, at: usize) -> String {
        with_element!(self.tensor.dtype(), T => {
            // SAFETY: `at` is a position of the layout, and the caller keeps the value.
            let v = unsafe { self.data.cast::<T>().add(at).read() };
            match self.decimals {
                Some(p) if self.tensor.dtype().is_float() => format!("{v:.p$?}"),
                _ => format!("{v:?}"),
            }
        })
    }

    fn widest(&self, dim: usize, at: usize) -> usize {
        let Some(&stride) = self.tensor.strides().get(dim) else {
            return self.element(at).len();
        };
        let shown = positions(self.tensor.shape()[dim], self.summary);
        shown
            .into_iter()
            .flatten()
            .map(|i| self.widest(dim + 1, at + i * stride))
            .max()
            .unwrap_or(0)
    }

    /// Prints from `dim` on; with a width, rows are broken and columns aligned.
    fn block(&self, out: &mut String, dim: usize, at: usize, width: Option<usize>) {
        let Some(&stride) = self.tensor.strides().get(dim) else {
            let text = self.element(at);
            out.push_str(&" ".repeat(width.unwrap_or(0).saturating_sub(text.len())));
            out.push_str(&text);
            return;
        };
        let inner = self.tensor.rank() - dim - 1;
        let indent = || " ".repeat("tensor([".len() + dim);
        out.push('[');
        for (i, position) in positions(self.tensor.shape()[dim], self.summary)
            .into_iter()
            .enumerate()
        {
            if i > 0 {
                out.push(',');
                match width {
                    Some(_) if inner > 0 => {
                        out.push_str(&"\n".repeat(inner.min(2)));
                        out.push_str(&indent());
                    }
                    Some(w) if out.len() - out.rfind('\n').map_or(0, |n| n + 1) + w + 2 > WIDTH => {
                        out.push('\n');
                        out.push_str(&indent());
                    }
                    _ => out.push(' '),
                }
            }
            match position {
                Some(i) => self.block(out, dim + 1, at + i * stride, width),
                None => out.push_str("..."),
            }
        }
        out.push(']');
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value();
        let summary = self.elem_count() > SUMMARY;
        let printer = Printer {
            tensor: self,
            data: value.data_ptr(),
            summary,
            decimals: f.precision(),
        };
        let mut body = String::new();
        if self.elem_count() == 0 {
            body.push_str("[]");
        } else {
            printer.block(&mut body, 0, 0, None);
            if body.len() > WIDTH - "tensor(".len() {
                body.clear();
                printer.block(&mut body, 0, 0, Some(printer.widest(0, 0)));
            }
        }
        write!(
            f,
            "tensor({body}, shape={:?}, dtype={}",
            self.shape(),
            self.dtype()
        )?;
        if !self.device().is_cpu() {
            write!(f, ", device={}", self.device())?;
        }
        f.write_str(if self.requires_grad() {
            ", requires_grad)"
        } else {
            ")"
        })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn short_ones_fit_a_line() {
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.5], (2, 2));
        assert_eq!(
            x.to_string(),
            "tensor([[1.0, 2.0], [3.0, 4.5]], shape=[2, 2], dtype=f32)"
        );
        assert_eq!(
            format!("{:?}", x.view_t().unwrap()),
            "tensor([[1.0, 3.0], [2.0, 4.5]], shape=[2, 2], dtype=f32)"
        );
        assert_eq!(
            format!("{x:.2}"),
            "tensor([[1.00, 2.00], [3.00, 4.50]], shape=[2, 2], dtype=f32)"
        );
        assert_eq!(
            Tensor::from_slice(&[7i64], ()).to_string(),
            "tensor(7, shape=[], dtype=i64)"
        );
        assert_eq!(
            Tensor::from_slice(&[true, false], 2).to_string(),
            "tensor([true, false], shape=[2], dtype=bool)"
        );
        assert_eq!(
            Tensor::from_slice(&[0f64; 0], (0, 3)).to_string(),
            "tensor([], shape=[0, 3], dtype=f64)"
        );
        assert_eq!(
            Tensor::from_slice(&[bf16::from_f32(0.5)], 1).to_string(),
            "tensor([0.5], shape=[1], dtype=bf16)"
        );
        let w = Tensor::from_slice(&[f32::NAN], 1).requires_grad_(true);
        assert_eq!(
            w.to_string(),
            "tensor([NaN], shape=[1], dtype=f32, requires_grad)"
        );
    }

    #[test]
    fn long_ones_are_broken_and_aligned() {
        let x = Tensor::from_vec((0..24).map(|i| i * i).collect::<Vec<i32>>(), (4, 6));
        let want = "tensor([[  0,   1,   4,   9,  16,  25],\n        [ 36,  49,  64,  81, 100, 121],\n";
        assert!(x.to_string().starts_with(want), "{x}");
    }

    #[test]
    fn large_ones_are_summarised() {
        let x = Tensor::from_vec((0..1025).collect::<Vec<i64>>(), 1025);
        assert_eq!(
            x.to_string(),
            "tensor([0, 1, 2, ..., 1022, 1023, 1024], shape=[1025], dtype=i64)"
        );
        let big = x
            .view_unsqueeze(0)
            .unwrap()
            .view_expand(&[1 << 40, -1])
            .unwrap()
            .to_string();
        assert!(
            big.matches("1024").count() == 6 && big.contains("...,\n"),
            "{big}"
        );
    }
}
