//! Reading and writing safetensors files.
//!
//! Problem: weights of many gigabytes should load without being read, and a file from anywhere must not be
//! able to break memory safety. Method: the file is mapped and its header validated by the `safetensors`
//! crate; each tensor is a storage over its range of the map. Invariants: data that is not aligned for its
//! element, and Bool bytes other than 0 and 1, are copied and repaired; anything else malformed is an error
//! that names the file; `save` writes a new file and renames it, so that tensors still mapped from the old
//! one stay valid.

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::storage::Storage;
use crate::tensor::Tensor;
use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, View};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tensorplay_graph::DType;

#[cfg(target_endian = "big")]
compile_error!("safetensors data is little endian and is mapped, not converted");

fn bad(path: &Path, message: impl ToString) -> Error {
    Error::Safetensors {
        path: path.into(),
        message: message.to_string(),
    }
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |e| Error::Io(io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// Maps a file and returns its tensors by name. Nothing is read until it is used.
///
/// While tensors of the file live, it must not be shortened or written in place by anybody: as with every mapped file,
/// the operating system then ends the process (`SIGBUS`) or shows the new bytes. Replacing the file by a
/// rename, as [`save`] does, is safe.
///
/// The file must not be changed in place while its tensors live; [`save`] replaces files and is safe.
pub fn load(path: impl AsRef<Path>) -> Result<HashMap<String, Tensor>> {
    let path = path.as_ref();
    let file = File::open(path).map_err(io_at(path))?;
    if file.metadata().map_err(io_at(path))?.is_dir() {
        return Err(bad(path, "this is a directory; pass the path of a file in it"));
    }
    // SAFETY: the mapping is private and read-only; that nobody changes the file is this function's
    // documented contract, as for every mapped file.
    let map = Arc::new(unsafe { Mmap::map(&file) }.map_err(io_at(path))?);
    if let Some(name) = written_twice(&map) {
        return Err(bad(
            path,
            format!("the header names `{name}` twice; write the file again with one tensor a name"),
        ));
    }
    let (header, metadata) = SafeTensors::read_metadata(&map).map_err(|e| bad(path, e))?;
    from_map(path, &map, header + 8, &metadata)
}

/// A key of the header that occurs twice: the parser keeps the last. Whatever else is wrong is the parser's to report.
fn written_twice(file: &[u8]) -> Option<&str> {
    let (size, rest) = file.split_first_chunk::<8>()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    let header = std::str::from_utf8(header).ok()?;
    let (bytes, mut names) = (header.as_bytes(), HashSet::new());
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let start = at + 1;
                at = start;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let key = depth == 1 && header[at + 1..].trim_start().starts_with(':');
                if key && !names.insert(&header[start..at]) {
                    return Some(&header[start..at]);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn from_map(
    path: &Path,
    map: &Arc<Mmap>,
    data: usize,
    metadata: &Metadata,
) -> Result<HashMap<String, Tensor>> {
    let mut tensors = HashMap::new();
    for (name, info) in metadata.tensors() {
        let dtype = dtype_of(info.dtype).ok_or_else(|| {
            let known = "f32 f64 f16 bf16 i32 i64 u8 bool";
            bad(
                path,
                format!("`{name}` has dtype {:?}, which is none of {known}", info.dtype),
            )
        })?;
        let layout = Layout::contiguous(&info.shape).map_err(|e| bad(path, format!("`{name}`: {e}")))?;
        let (start, end) = info.data_offsets;
        let bytes = end
            .checked_sub(start)
            .filter(|&n| Some(n) == layout.elem_count().checked_mul(dtype.size()));
        let storage = bytes
            .zip(start.checked_add(data))
            .and_then(|(n, at)| Storage::from_map(map, at, n));
        let storage = storage.ok_or_else(|| bad(path, format!("`{name}` does not fit its data")))?;
        tensors.insert(name, Tensor::from_parts(usable(storage, dtype)?, layout, dtype));
    }
    Ok(tensors)
}

/// The same bytes, aligned and valid for the dtype.
fn usable(storage: Storage, dtype: DType) -> Result<Storage> {
    // SAFETY: `storage` keeps its bytes alive and nothing writes them.
    let bytes = unsafe { std::slice::from_raw_parts(storage.as_ptr(), storage.len()) };
    if dtype == DType::Bool && bytes.iter().any(|b| *b > 1) {
        return Storage::from_fn(bytes.len(), |i| bytes[i] != 0);
    }
    if storage.as_ptr().addr().is_multiple_of(dtype.size()) {
        Ok(storage)
    } else {
        Storage::from_slice(bytes)
    }
}

fn dtype_of(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::U8 => DType::U8,
        Dtype::BOOL => DType::Bool,
        _ => return None,
    })
}

/// A contiguous tensor, as the writer wants it.
struct Bytes(Tensor);

impl View for &Bytes {
    fn dtype(&self) -> Dtype {
        match self.0.dtype() {
            DType::F32 => Dtype::F32,
            DType::F64 => Dtype::F64,
            DType::F16 => Dtype::F16,
            DType::BF16 => Dtype::BF16,
            DType::I32 => Dtype::I32,
            DType::I64 => Dtype::I64,
            DType::U8 => Dtype::U8,
            DType::Bool => Dtype::BOOL,
        }
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let from = self.0.value().data_ptr();
        // SAFETY: the tensor is plain and contiguous, lives as long as the slice, and its value never changes.
        Cow::Borrowed(unsafe { std::slice::from_raw_parts(from, self.data_len()) })
    }

    fn data_len(&self) -> usize {
        self.0.elem_count() * self.0.dtype().size()
    }
}

/// Writes tensors by name. The file appears whole, or not at all.
pub fn save(path: impl AsRef<Path>, tensors: &HashMap<String, Tensor>) -> Result<()> {
    let path = path.as_ref();
    let views = tensors
        .iter()
        .map(|(k, t)| Ok((k.as_str(), Bytes(t.snapshot().to_contiguous()?))));
    let views = views.collect::<Result<Vec<_>>>()?;
    let scratch = beside(path);
    let written = safetensors::serialize_to_file(views.iter().map(|(k, v)| (*k, v)), None, &scratch)
        .map_err(|e| match e {
            safetensors::SafeTensorError::IoError(e) => io_at(path)(e),
            e => bad(path, e),
        })
        .and_then(|()| fs::rename(&scratch, path).map_err(io_at(path)));
    if written.is_err() {
        let _ = fs::remove_file(&scratch);
    }
    written
}

/// A name in the same folder that no other save of any process uses.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(
        ".{}.{}.tmp",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    ));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
