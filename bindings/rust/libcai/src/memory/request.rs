// SPDX-License-Identifier: BSD-3-Clause
//! Requests for memory.

use crate::array::{Array, ArrayRef};
use crate::descr::{Descr, RawFields};
use crate::device::Device;
use crate::dtype::DType;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, ask, call};
use crate::manager::Manager;
use crate::memory::work::room_for;
use crate::memory::{HostFlags, Memory, MemoryKind, raw_stream};
use crate::stream::Stream;
use crate::sys;

/// A request for memory: its kind, device and manager. The last call in the chain sets the size,
/// and allocates.
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

    /// Sets the kind.
    pub fn kind(self, kind: MemoryKind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the alignment to `align` bytes, a power of two. 0, the default: 256 (on GPUs; 64 on the
    /// host).
    pub fn align(self, align: u64) -> Self {
        Self { align, ..self }
    }

    /// Sets flags, for the kinds [`MemoryKind::Pinned`] and [`MemoryKind::Mapped`].
    pub fn flags(self, flags: HostFlags) -> Self {
        Self { flags, ..self }
    }

    /// Sets the stream of the device in whose order the memory is allocated and freed.
    pub fn stream(self, stream: &'a Stream) -> Self {
        Self { stream: Some(stream), ..self }
    }

    /// Sets the manager of the device to allocate from.
    pub fn manager(self, manager: &'a Manager) -> Self {
        Self { manager: Some(manager), ..self }
    }

    /// Allocates: `cai_memory_alloc()`. Memory of 0 bytes has no address, and no manager is asked.
    /// The memory is uninitialised.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory is short; [`Error::Value`] for an invalid alignment, and for a
    /// stream or manager of another device; [`Error::Unsupported`] for a kind that the device does
    /// not have; [`Error::Capture`] if a capture forbids it; the manager's error.
    pub fn bytes(self, size: u64) -> Result<Memory> {
        self.alloc(size, 0, |_| {})
    }

    /// Allocates `rows` rows of `row` bytes each, for [`MemoryKind::Pitched`] and
    /// [`MemoryKind::PitchedManaged`]; [`MemoryInfo::pitch`](crate::memory::MemoryInfo::pitch) is
    /// their distance.
    ///
    /// # Errors
    /// As [`bytes()`](Self::bytes); [`Error::Value`] for other kinds.
    pub fn rows(self, row: u64, rows: u64) -> Result<Memory> {
        self.alloc(row, rows, |_| {})
    }

    /// Allocates a `CUarray`, whatever kind was set.
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

    /// Makes an uninitialised array in new memory, in C order. For the pitched kinds, each row
    /// holds the last axis.
    ///
    /// # Errors
    /// As [`bytes()`](Self::bytes) and [`Memory::array()`]; [`Error::Value`], of entry shape, for a
    /// negative extent and a size that does not fit in 63 bits.
    pub fn empty(self, dtype: DType, shape: &[i64]) -> Result<Array> {
        self.empty_with_fields(dtype, Descr::NONE, shape)
    }

    /// Likewise, of elements that have fields.
    ///
    /// ```
    /// use libcai::{DType, Descr, Device, Field, memory::Request};
    ///
    /// let (f32, i16) = (DType::of::<f32>(), DType::of::<i16>());
    /// let descr = Descr::new(vec![Field::new("a", f32, 0), Field::new("b", i16, 4)])?;
    /// let gpu = Request::on(Device::Cuda(0)).empty_with_fields("|V6".parse()?, &descr, &[3])?;
    /// assert_eq!(gpu.descr(), descr);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`empty()`](Self::empty); [`Error::Value`], of entry descr, where the fields do not fill the
    /// element.
    pub fn empty_with_fields(self, dtype: DType, descr: &Descr, shape: &[i64]) -> Result<Array> {
        let mut fields = RawFields::default();
        // SAFETY: a C struct whose zeros mean absent.
        let mut like: sys::cai_array = unsafe { std::mem::zeroed() };
        like.abi_major = sys::CAI_ABI_MAJOR;
        like.dtype = dtype.to_raw();
        like.descr = fields.add(descr)?;
        like.descr_count = descr.len() as u32;
        // More axes than an i32 counts are refused in any case.
        like.ndim = i32::try_from(shape.len()).unwrap_or(i32::MAX);
        like.shape = shape.as_ptr();
        // SAFETY: the shape has so many extents, and the fields are kept during the call.
        unsafe { self.make(&like) }
    }

    /// Makes an uninitialised array in new memory, like another array but in C order: with its type
    /// and fields, and with a mask of the mask's type and shape if it has one:
    /// `cai_array_empty_like()`. [`copy()`](crate::memory::copy) then copies both.
    ///
    /// ```
    /// use libcai::{DType, Device, memory::{self, Request}};
    ///
    /// let host = Request::on(Device::Cpu).zeros(DType::of::<f32>(), &[2, 3])?;
    /// let mut gpu = Request::on(Device::Cuda(0)).empty_like(&host)?;
    /// memory::copy(&host, &mut gpu, None)?;
    /// assert_eq!(gpu.shape(), [2, 3]);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`empty()`](Self::empty); [`Error::Unsupported`], with entry mask, for a mask in pitched
    /// memory.
    pub fn empty_like<'l>(self, like: impl Into<ArrayRef<'l>>) -> Result<Array> {
        let like = like.into();
        // SAFETY: the array is borrowed during the call.
        unsafe { self.make(like.as_raw()) }
    }

    /// # Safety
    /// The members that are set, and what they point to, can be read.
    unsafe fn make(self, like: *const sys::cai_array) -> Result<Array> {
        let (device, request) = (self.device.to_raw(), self.to_raw());
        // SAFETY: stream and manager are held during the call; the caller guarantees the rest; the
        // outputs can be written.
        let raw = ask(|out, error| unsafe {
            sys::cai_array_empty_like(like, device, &request, out, error)
        })?;
        // SAFETY: libcai made it, and the reference is ours.
        Ok(unsafe { super::made(raw) })
    }

    /// Likewise, and queues a fill of all elements with 0 on the stream.
    ///
    /// # Errors
    /// As [`empty()`](Self::empty) and [`fill()`](crate::memory::fill).
    pub fn zeros(self, dtype: DType, shape: &[i64]) -> Result<Array> {
        let array = self.empty(dtype, shape)?;
        let mut zero: Vec<u8> = room_for(dtype.itemsize())?;
        zero.resize(dtype.itemsize(), 0);
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
        let mut raw = self.to_raw();
        raw.size = size;
        raw.rows = rows;
        more(&mut raw);
        // SAFETY: stream and manager are held during the call.
        ask(|out, error| unsafe { sys::cai_memory_alloc(self.device.to_raw(), &raw, out, error) })
            .map(Memory::adopt)
    }

    /// All but the size.
    fn to_raw(self) -> sys::cai_request {
        // SAFETY: a C struct whose zeros mean nothing in particular.
        let mut raw: sys::cai_request = unsafe { std::mem::zeroed() };
        raw.struct_size = size_of::<sys::cai_request>() as u32;
        raw.kind = self.kind.to_raw();
        raw.align = self.align;
        raw.flags = self.flags.to_raw();
        raw.stream = raw_stream(self.stream);
        raw.manager = self.manager.map_or(std::ptr::null_mut(), Manager::as_ptr);
        raw
    }
}
