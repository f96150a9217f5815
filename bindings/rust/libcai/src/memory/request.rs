// SPDX-License-Identifier: BSD-3-Clause
//! Asking for memory.

use crate::array::Array;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Entry, Error, Result, ask, call};
use crate::manager::Manager;
use crate::memory::{HostFlags, Memory, MemoryKind, raw_stream};
use crate::stream::Stream;
use crate::sys;

/// What memory is wanted, and of whom. The last call in the chain says how much, and allocates.
///
/// ```
/// use libcai::{DType, Device, memory::{MemoryKind, Request}};
///
/// let gpu = Device::Cuda(0);
/// let pinned = Request::on(gpu).kind(MemoryKind::Pinned).bytes(4096)?;
/// assert_eq!(pinned.describe()?.size, 4096);
/// let zeros = Request::on(gpu).zeros(DType::of::<f32>(), &[3, 4])?;
/// assert_eq!(zeros.shape(), [3, 4]);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Request<'a> {
    device: Device,
    kind: MemoryKind,
    align: u64,
    flags: HostFlags,
    stream: Option<&'a Stream>,
    manager: Option<&'a Manager>,
}

impl<'a> Request<'a> {
    /// Memory of a device, of the kind [`MemoryKind::Default`], from the device's manager, freed in
    /// the order of the calling thread's current stream.
    pub fn on(device: Device) -> Self {
        Self {
            device,
            kind: MemoryKind::Default,
            align: 0,
            flags: HostFlags::NONE,
            stream: None,
            manager: None,
        }
    }

    /// Of another kind.
    pub fn kind(self, kind: MemoryKind) -> Self {
        Self { kind, ..self }
    }

    /// At a multiple of `align` bytes, which is a power of two. 0, as at first: 256 (of GPUs; 64 of
    /// the host).
    pub fn align(self, align: u64) -> Self {
        Self { align, ..self }
    }

    /// For memory of the kinds [`MemoryKind::Pinned`] and [`MemoryKind::Mapped`].
    pub fn flags(self, flags: HostFlags) -> Self {
        Self { flags, ..self }
    }

    /// Allocated and freed in the order of this stream of the device's.
    pub fn stream(self, stream: &'a Stream) -> Self {
        Self { stream: Some(stream), ..self }
    }

    /// From this manager of the device's.
    pub fn manager(self, manager: &'a Manager) -> Self {
        Self { manager: Some(manager), ..self }
    }

    /// Allocates: `cai_memory_alloc()`. 0 bytes give memory with no address, and nobody is asked for
    /// it. What is there is arbitrary.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not so much; [`Error::Value`] for an alignment that is none, and
    /// for a stream or manager of another device; [`Error::Unsupported`] for a kind that the device
    /// does not have; [`Error::Capture`] if a capture forbids it; what a manager returned.
    pub fn bytes(self, size: u64) -> Result<Memory> {
        self.alloc(size, 0, |_| {})
    }

    /// Allocates `rows` rows of `row` bytes each, for [`MemoryKind::Pitched`] and
    /// [`MemoryKind::PitchedManaged`]; [`MemoryInfo::pitch`](crate::memory::MemoryInfo::pitch) says
    /// how far they are apart.
    ///
    /// # Errors
    /// As [`bytes()`](Self::bytes); [`Error::Value`] for other kinds.
    pub fn rows(self, row: u64, rows: u64) -> Result<Memory> {
        self.alloc(row, rows, |_| {})
    }

    /// Allocates a `CUarray`, whatever the kind said so far.
    ///
    /// - `dtype`: of an item, of 1 to 4 bytes and kind `i`, `u` or `f`
    /// - `channels`: items of an element: 1, 2 or 4
    /// - `row`: bytes of a row
    /// - `rows`, `depth`: 0 where it has no second or third dimension
    ///
    /// # Errors
    /// As [`bytes()`](Self::bytes).
    ///
    /// ```
    /// use libcai::{DType, Device, memory::Request};
    ///
    /// let texture = Request::on(Device::Cuda(0)).texture(DType::of::<f32>(), 4, 1024, 16, 0)?;
    /// assert_ne!(texture.describe()?.array, 0);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    pub fn texture(
        self,
        dtype: DType,
        channels: u32,
        row: u64,
        rows: u64,
        depth: u64,
    ) -> Result<Memory> {
        self.kind(MemoryKind::CudaArray).alloc(row, rows, |raw| {
            raw.dtype = dtype.to_raw();
            raw.channels = channels;
            raw.depth = depth;
        })
    }

    /// Makes an array in new memory of its own, in C order, with what happens to be there. Of the
    /// pitched kinds, its last axis lies in rows.
    ///
    /// # Errors
    /// As [`bytes()`](Self::bytes) and [`Memory::array()`]; [`Error::Value`], of entry shape, for a
    /// negative extent and a size that does not fit in 63 bits.
    pub fn empty(self, dtype: DType, shape: &[i64]) -> Result<Array> {
        let size = bytes_of(dtype.itemsize() as u64, shape)?;
        let memory = match shape.split_last() {
            Some((last, others)) if self.kind.is_pitched() => {
                let row = bytes_of(dtype.itemsize() as u64, &[*last])?;
                self.rows(row, bytes_of(1, others)?)
            }
            None if self.kind.is_pitched() => self.rows(size, 1),
            _ => self.bytes(size),
        };
        memory?.array(dtype, shape)
    }

    /// Likewise, and queues on its stream that all elements become 0.
    ///
    /// # Errors
    /// As [`empty()`](Self::empty) and [`fill()`](crate::memory::fill).
    pub fn zeros(self, dtype: DType, shape: &[i64]) -> Result<Array> {
        let array = self.empty(dtype, shape)?;
        let zero = vec![0_u8; dtype.itemsize()];
        let stream = raw_stream(self.stream);
        // SAFETY: the value has the item's bytes, and is read before the call returns.
        call(|error| unsafe {
            sys::cai_array_fill(array.as_ptr(), zero.as_ptr().cast(), stream, error)
        })?;
        Ok(array)
    }

    fn alloc(
        self,
        size: u64,
        rows: u64,
        more: impl FnOnce(&mut sys::cai_request),
    ) -> Result<Memory> {
        // SAFETY: a C struct whose zeros mean nothing in particular.
        let mut raw: sys::cai_request = unsafe { std::mem::zeroed() };
        raw.struct_size = size_of::<sys::cai_request>() as u32;
        raw.kind = self.kind.to_raw();
        raw.size = size;
        raw.rows = rows;
        raw.align = self.align;
        raw.flags = self.flags.to_raw();
        raw.stream = raw_stream(self.stream);
        raw.manager = self.manager.map_or(std::ptr::null_mut(), Manager::as_ptr);
        more(&mut raw);
        // SAFETY: stream and manager are held during the call.
        ask(|out, error| unsafe { sys::cai_memory_alloc(self.device.to_raw(), &raw, out, error) })
            .map(Memory::adopt)
    }
}

/// Bytes of `shape` items of `size` bytes.
fn bytes_of(size: u64, shape: &[i64]) -> Result<u64> {
    for (axis, &extent) in shape.iter().enumerate() {
        if extent < 0 {
            let message = format!("shape: extent {extent} of axis {axis} is negative");
            let error = Error::of(sys::CAI_ERR_VALUE, Entry::Shape, message);
            return Err(error.with_index(Some(axis)));
        }
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let bytes = shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent as u64));
    bytes.filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or_else(|| {
        let message = format!("shape: the size of {shape:?} does not fit in 63 bits");
        Error::of(sys::CAI_ERR_VALUE, Entry::Shape, message)
    })
}
