//! Variables: tensors whose value is a cell.
//!
//! Problem: parameters change while other threads read them, and an update should not cost a second copy of
//! the weights. Method: the cell publishes (storage, version) through an atomic pointer; writers hold a
//! mutex. To write in place, a writer takes the value out of the cell; if nobody else holds it, it is
//! overwritten and put back, and readers that come meanwhile wait for the mutex. Invariants: a reader sees an
//! old value or a new one, never a mixture; a storage that anybody holds never changes; each publication of a
//! new value raises the version by one. A write must not read its own variable.

use super::{Inner, REQUIRES_GRAD, Tensor, Value};
use crate::error::{Error, OrRaise, Result};
use crate::storage::Storage;
use crate::sync::lock;
use arc_swap::ArcSwapOption;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use tensorplay_graph::Code;

pub(super) struct Cell {
    current: ArcSwapOption<Published>,
    writer: Mutex<()>,
    grad: Mutex<Option<Tensor>>,
}

struct Published {
    storage: Storage,
    version: u64,
}

/// What [`Tensor::update`] hands to its closure: the old value and where the new one goes, both row-major.
/// The two are the same memory when the update is in place.
pub struct Update {
    /// The old value.
    pub old: *const u8,
    /// The new value, to be written whole.
    pub new: *mut u8,
    /// The size of each in bytes.
    pub bytes: usize,
}

/// Puts a value back into the cell when dropped, also when the update panics.
struct Restore<'a> {
    cell: &'a Cell,
    publish: Option<Published>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        if let Some(p) = self.publish.take() {
            self.cell.current.store(Some(Arc::new(p)));
        }
    }
}

impl Inner {
    fn set_requires_grad(&self, on: bool) {
        match on {
            true => self.head.fetch_or(REQUIRES_GRAD, Relaxed),
            false => self.head.fetch_and(!REQUIRES_GRAD, Relaxed),
        };
    }
}

impl Cell {
    fn new(storage: Storage) -> Cell {
        Cell {
            current: ArcSwapOption::from_pointee(Published { storage, version: 0 }),
            writer: Mutex::new(()),
            grad: Mutex::new(None),
        }
    }

    pub(super) fn load(&self) -> (Storage, u64) {
        loop {
            if let Some(p) = &*self.current.load() {
                return (p.storage.clone(), p.version);
            }
            drop(self.lock());
        }
    }

    fn version(&self) -> u64 {
        loop {
            if let Some(p) = &*self.current.load() {
                return p.version;
            }
            drop(self.lock());
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        lock(&self.writer)
    }

    fn publish(&self, storage: Storage) -> u64 {
        let _writer = self.lock();
        let version = self.current.load().as_ref().map_or(0, |p| p.version) + 1;
        self.current.store(Some(Arc::new(Published { storage, version })));
        version
    }

    fn update<R>(&self, write: impl FnOnce(Update) -> Result<R>) -> Result<R> {
        let _writer = self.lock();
        let Some(taken) = self.current.swap(None) else {
            return Err(Error::msg("variable: no value is published"));
        };
        let mut owned = match Arc::try_unwrap(taken) {
            Ok(p) => p,
            Err(shared) => Published {
                storage: shared.storage.clone(),
                version: shared.version,
            },
        };
        let bytes = owned.storage.len();
        if let Some(new) = owned.storage.get_mut() {
            let version = owned.version + 1;
            let _restore = Restore {
                cell: self,
                publish: Some(Published { version, ..owned }),
            };
            return write(Update { old: new, new, bytes });
        }
        let (old, version) = (owned.storage.clone(), owned.version + 1);
        drop(Restore {
            cell: self,
            publish: Some(owned),
        });
        // SAFETY: the storage is published only if `write` succeeds, which by contract wrote all of it.
        let storage = unsafe { Storage::uninit(bytes)? };
        let result = write(Update {
            old: old.as_ptr(),
            new: storage.as_mut_ptr(),
            bytes,
        })?;
        self.current.store(Some(Arc::new(Published { storage, version })));
        Ok(result)
    }
}

impl Tensor {
    fn cell(&self) -> Option<&Cell> {
        match &self.0.value {
            Value::Plain(_) => None,
            Value::Variable(cell) => Some(cell),
        }
    }

    fn cell_for(&self, op: &'static str) -> Result<&Cell> {
        self.cell().ok_or_else(|| {
            Error::value(op, "the tensor is a value, not a variable")
                .with_help("make it one with `variable()` or `requires_grad_(true)`")
        })
    }

    fn into_variable(self, requires_grad: bool) -> Result<Tensor> {
        let dense = self.dense()?;
        let storage = dense.value().storage().clone();
        let layout = dense.0.layout.clone();
        let value = Value::Variable(Box::new(Cell::new(storage)));
        let variable = Inner::new(value, layout, self.dtype(), self.device());
        variable.set_requires_grad(requires_grad);
        Ok(Tensor(Arc::new(variable)))
    }

    /// The value as a plain row-major tensor that fills its storage exactly; copies only if it must.
    fn dense(&self) -> Result<Tensor> {
        let now = self.snapshot();
        let bytes = now.elem_count() * now.dtype().size();
        let (layout, length) = (now.layout(), now.value().storage().len());
        let exact = layout.is_contiguous() && layout.offset() == 0 && length == bytes;
        match crate::layout::Layout::contiguous(layout.shape())? {
            plain if exact => Ok(now.with_layout(plain)),
            _ => now.copied(),
        }
    }

    /// Makes the tensor a variable that takes no gradient, such as a running statistic. Clones of the handle
    /// see every new value.
    ///
    /// ```
    /// # extern crate tensorplay_runtime as tensorplay;
    /// use tensorplay::Tensor;
    /// let mean = Tensor::from_slice(&[0.0f32, 0.0], 2).variable();
    /// let seen = mean.clone();
    /// mean.assign(&Tensor::from_slice(&[1.0f32, 2.0], 2));
    /// assert_eq!(seen.to_vec::<f32>(), [1.0, 2.0]);
    /// assert_eq!(seen.version(), 1);
    /// ```
    #[track_caller]
    pub fn variable(self) -> Tensor {
        if self.is_variable() {
            self
        } else {
            self.into_variable(false).or_raise()
        }
    }

    /// Whether the value is a cell.
    pub fn is_variable(&self) -> bool {
        self.cell().is_some()
    }

    /// Makes the tensor a variable that takes a gradient, or stops that. For a variable this changes every
    /// handle.
    ///
    /// # Panics
    /// If `on` and the dtype is not a float.
    #[track_caller]
    pub fn requires_grad_(self, on: bool) -> Tensor {
        if on && !self.dtype().is_float() {
            let e = Error::dtype(
                "requires_grad_",
                format!("a {} tensor has no gradient", self.dtype()),
            );
            e.with_help("write `.to_dtype(DType::F32)` first").raise();
        }
        match self.cell() {
            Some(_) => self.0.set_requires_grad(on),
            None if on => return self.into_variable(true).or_raise(),
            None => {}
        }
        self
    }

    /// Whether the tensor is a variable that takes a gradient.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.head() & REQUIRES_GRAD != 0
    }

    /// The gradient of a variable, if one was computed since `zero_grad`.
    pub fn grad(&self) -> Option<Tensor> {
        self.cell().and_then(|c| lock(&c.grad).clone())
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        if let Some(cell) = self.cell() {
            *lock(&cell.grad) = None;
        }
    }

    /// Replaces the gradient by a function of the one before; does nothing for plain tensors.
    #[allow(dead_code, reason = "the tape's")]
    pub(crate) fn update_grad(&self, next: impl FnOnce(Option<Tensor>) -> Result<Tensor>) -> Result<()> {
        if let Some(cell) = self.cell() {
            let mut grad = lock(&cell.grad);
            *grad = Some(next(grad.clone())?);
        }
        Ok(())
    }

    /// How many times the variable's value was replaced; 0 for plain tensors.
    #[inline]
    pub fn version(&self) -> u64 {
        self.cell().map_or(0, Cell::version)
    }

    /// Replaces the variable's value; every clone of the handle sees it.
    ///
    /// # Panics
    /// If the tensor is not a variable, or shape, dtype or device differ.
    #[track_caller]
    pub fn assign(&self, value: &Tensor) {
        self.try_assign(value).or_raise()
    }

    /// [`assign`](Tensor::assign), with an error instead of a panic.
    pub fn try_assign(&self, value: &Tensor) -> Result<()> {
        let cell = self.cell_for("assign")?;
        if self.shape() != value.shape() {
            let (to, from) = (self.shape(), value.shape());
            let e = Error::shape(
                Code::SIZES,
                "assign",
                format!("the variable has shape {to:?}, the value {from:?}"),
            );
            return Err(e.with_help("a variable's shape is fixed; `reshape` or `expand` the value"));
        }
        if self.dtype() != value.dtype() {
            let (to, from) = (self.dtype(), value.dtype());
            let e = Error::dtype("assign", format!("the variable holds {to}, the value {from}"));
            return Err(e.with_help(format!("write `.to_dtype(DType::{to:?})` on the value")));
        }
        if self.device() != value.device() {
            let (to, from) = (self.device(), value.device());
            let e = Error::device("assign", format!("the variable is on {to}, the value on {from}"));
            return Err(e.with_help("write `.to_device(..)` on the value"));
        }
        let dense = value.dense()?;
        cell.publish(dense.value().storage().clone());
        Ok(())
    }

    /// Computes a variable's new value from its old one, in place when nobody else holds the storage.
    ///
    /// If `write` fails or panics in place, what it wrote stays and the version grows; out of place the old
    /// value stays.
    ///
    /// # Safety `write` fills `new` with `bytes` bytes that the dtype allows, or fails; it does not read this
    /// variable by its handle, which would wait for ever.
    pub unsafe fn update<R>(&self, write: impl FnOnce(Update) -> Result<R>) -> Result<R> {
        self.cell_for("update")?.update(write)
    }
}

#[cfg(test)]
mod tests;
