// SPDX-License-Identifier: BSD-3-Clause
//! Memory of every kind, on the CPU and on GPUs alike.
//!
//! [`Memory`] is reference-counted. Dropping the last reference frees it in the order of a stream,
//! and does not wait, except to unpin memory of [`Memory::pin()`], and where too many frees are
//! pending. Work on another stream must be
//! recorded: uses of its arrays do so when they end, other work by [`Memory::record()`].
//!
//! All references share the contents, here, in other languages and on GPUs, and no safe function of
//! this crate makes a Rust reference to them. The library moves bytes as C does: if two threads
//! write the same host memory at once, it holds bytes of either.

mod kind;
mod pending;
mod process;
mod request;
mod work;

use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};

use crate::array::{Array, ArrayRef};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result, ask, call};
use crate::failure::{self, Failed, Release};
use crate::stream::Stream;
use crate::sys;

pub use kind::{HostFlags, MemoryKind};
pub use pending::{DeferCleanup, Usage, add_pending, flush_pending, usage};
pub use process::{IpcHandle, OpenMode, SharedMemory};
pub use request::Request;
pub use work::{copy, eval, fill, first, item, to_vec};

/// A reference to memory of any kind. A clone adds a reference to the same memory, and so does each
/// array made of it. Dropping the last reference frees it in the order of its stream, at first the
/// stream that it was allocated on.
///
/// ```
/// use libcai::{DType, Device, memory::{MemoryKind, Request}};
///
/// let memory = Request::on(Device::Cuda(0)).kind(MemoryKind::Async).bytes(4096)?;
/// let array = memory.array(DType::of::<f32>(), &[1024])?;
/// drop(memory); // the array keeps it alive
/// # drop(array);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    raw: NonNull<sys::cai_memory>,
}

// SAFETY: handles are counted, and every function of them may be called from any thread: cai.h,
// "Threads". The contents are not reached without an unsafe call.
unsafe impl Send for Memory {}
// SAFETY: likewise.
unsafe impl Sync for Memory {}

/// The properties of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Its device.
    pub device: Device,
    /// Its kind.
    pub kind: MemoryKind,
    /// Address for kernels; 0 for a `CUarray`, and if there are no bytes.
    pub data: u64,
    /// Address for the host, or 0.
    pub host: u64,
    /// The `CUarray`; else 0.
    pub array: u64,
    /// Bytes in all, padding of rows included.
    pub size: u64,
    /// Bytes used of a row; all if there are no rows.
    pub row: u64,
    /// Bytes from one row to the next; all if there are no rows.
    pub pitch: u64,
    /// The number of rows; 1 if there are none.
    pub rows: u64,
    /// Slices of a `CUarray`; 1 if there are none.
    pub depth: u64,
    /// Items of an element of a `CUarray`; else 0.
    pub channels: u32,
    /// The value of the stream in whose order it is freed; 0 for the CPU, and without a stream.
    pub stream: u64,
    /// Whether it was freed, by [`Memory::free()`] or a reset of the device.
    pub is_freed: bool,
    /// Whether it was wrapped, or is of another process.
    pub is_foreign: bool,
    /// Whether it is a part of other memory.
    pub is_view: bool,
    /// Whether it must not be written, neither through [`Memory::host()`] nor through its arrays,
    /// which are read-only.
    pub is_readonly: bool,
}

/// Memory of other code, for [`Memory::wrap()`].
///
/// ```
/// use libcai::{Device, Memory, memory::{Foreign, MemoryKind}};
///
/// let mut bytes = vec![0_u8; 64].into_boxed_slice();
/// let address = bytes.as_mut_ptr() as u64;
/// let foreign = Foreign { host: address, ..Foreign::new(Device::Cpu, MemoryKind::Host, address, 64) };
/// // SAFETY: the box has that many bytes, and no other code has it.
/// let memory = unsafe { Memory::wrap(&foreign, bytes) }?;
/// assert!(memory.describe()?.is_foreign);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign {
    /// Its device.
    pub device: Device,
    /// Its kind.
    pub kind: MemoryKind,
    /// Address for kernels.
    pub data: u64,
    /// Address for the host; 0 if the host must not use it.
    pub host: u64,
    /// Bytes in all, padding of rows included.
    pub size: u64,
    /// Bytes used of a row, bytes from one row to the next, and rows; 0 if there are no rows.
    pub rows: (u64, u64, u64),
}

impl Foreign {
    /// Memory without rows that the host must not use.
    pub fn new(device: Device, kind: MemoryKind, data: u64, size: u64) -> Self {
        Self { device, kind, data, host: 0, size, rows: (0, 0, 0) }
    }
}

/// An array that C has made.
///
/// # Safety
/// The caller owns its reference.
unsafe fn made(raw: *mut sys::cai_array) -> Array {
    // SAFETY: the caller guarantees it.
    unsafe { Array::from_raw(NonNull::new(raw).expect("an array that was made is not NULL")) }
}

impl Memory {
    /// Takes over the caller's reference, as C functions return it.
    ///
    /// # Safety
    /// `raw` is memory of libcai's, with a reference that the caller owns.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_memory>) -> Self {
        Self { raw }
    }

    /// Returns the reference to the caller, who must release it with `cai_memory_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_memory> {
        ManuallyDrop::new(self).raw
    }

    /// The memory for C functions, borrowed from this object.
    #[inline]
    pub fn as_ptr(&self) -> *mut sys::cai_memory {
        self.raw.as_ptr()
    }

    /// Wraps the result of a C function.
    fn adopt(raw: *mut sys::cai_memory) -> Self {
        Self { raw: NonNull::new(raw).expect("memory that was made is not NULL") }
    }

    /// Pins the elements of a vector, and keeps the vector until the last reference is dropped:
    /// `cai_memory_pin()`. It is then unpinned at once, for which the driver waits for the device.
    /// `kind` is [`MemoryKind::Pinned`] or [`MemoryKind::Mapped`]. To allocate such memory from the
    /// device's manager, use [`Request`] with one of these kinds.
    ///
    /// ```
    /// use libcai::{DType, Device, Memory, memory::{self, HostFlags, MemoryKind}};
    ///
    /// let host = vec![1_i32, 2, 3];
    /// let memory = Memory::pin(Device::Cuda(0), host, MemoryKind::Pinned, HostFlags::NONE)?;
    /// let array = memory.array(DType::of::<i32>(), &[3])?;
    /// assert_eq!(memory::item::<i32>(&array, &[2])?, 3);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for another kind; [`Error::Unsupported`] for [`MemoryKind::Mapped`] where
    /// the device cannot use the host's memory; the rest as [`Request::bytes()`]. The vector is
    /// returned.
    pub fn pin<T: Element>(
        device: Device,
        mut host: Vec<T>,
        kind: MemoryKind,
        flags: HostFlags,
    ) -> Result<Self, Failed<Vec<T>>> {
        let (data, size) = (host.as_mut_ptr(), mem::size_of_val(&host[..]));
        // SAFETY: the elements are the vector's, which no other code has, and which lives on.
        unsafe { Self::pin_raw(device, data.cast(), size, kind, flags, host) }
    }

    /// Pins `size` bytes of host memory, which `owner` keeps alive: it is dropped after they were
    /// unpinned, and leaks if that fails.
    ///
    /// # Safety
    /// So many bytes can be read and written as long as the owner lives, and no other code relies
    /// on their values.
    ///
    /// # Errors
    /// As [`Memory::pin()`]; the owner is returned.
    pub unsafe fn pin_raw<T: Send + 'static>(
        device: Device,
        host: *mut u8,
        size: usize,
        kind: MemoryKind,
        flags: HostFlags,
        owner: T,
    ) -> Result<Self, Failed<T>> {
        host.expose_provenance(); // for host()
        let (kind, flags) = (kind.to_raw(), flags.to_raw());
        keep(owner, |release, context, out, error| {
            let (device, host, size) = (device.to_raw(), host.cast(), size as u64);
            // SAFETY: the caller guarantees the rest; the outputs can be written.
            unsafe {
                sys::cai_memory_pin(device, host, size, kind, flags, release, context, out, error)
            }
        })
    }

    /// Wraps memory of other code, which `owner` keeps alive: `cai_memory_wrap()`. The owner is
    /// dropped once, on any thread, when the recorded uses are complete; that is not ordered with
    /// any stream. The memory has no stream until [`Memory::set_stream()`].
    ///
    /// # Safety
    /// The memory is as `foreign` states, as long as the owner lives. If the host may use it, it
    /// may read and write it, and no other code relies on the contents. [`validate()`] checks with
    /// the driver.
    ///
    /// # Errors
    /// [`Error::Value`] for a field with an invalid value; [`Error::Device`]; [`Error::Memory`].
    /// The owner is returned.
    pub unsafe fn wrap<T: Send + 'static>(foreign: &Foreign, owner: T) -> Result<Self, Failed<T>> {
        let mut raw = unknown();
        raw.device = foreign.device.to_raw();
        raw.kind = foreign.kind.to_raw();
        raw.data = foreign.data;
        raw.host = foreign.host;
        raw.size = foreign.size;
        (raw.row, raw.pitch, raw.rows) = foreign.rows;
        keep(owner, |release, context, out, error| {
            // SAFETY: the caller guarantees the rest; the outputs can be written.
            unsafe { sys::cai_memory_wrap(&raw, release, context, out, error) }
        })
    }

    /// Finds the memory around an address, and the bytes from its beginning to the address:
    /// `cai_memory_find()`. It never finds views, or memory that was pinned, wrapped or opened;
    /// these hide no other memory. If a manager returns parts of memory that it had allocated
    /// before, either may be found.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none.
    pub fn find(address: u64) -> Result<(Self, u64)> {
        let mut offset = 0;
        // SAFETY: the outputs can be written.
        let raw =
            ask(|out, error| unsafe { sys::cai_memory_find(address, out, &mut offset, error) })?;
        Ok((Self::adopt(raw), offset))
    }

    /// Returns the memory of an array, and the bytes before its first element: `cai_memory_of()`.
    /// For an array that was not made by [`Memory::array()`], it is new memory of the array's
    /// extent, which keeps the array alive until the memory and all its arrays are dropped, even if
    /// it is freed by [`Memory::free()`]. Its stream is the thread's current stream, which waits
    /// for the array's stream; when the memory is dropped, the array's stream waits for that
    /// stream. For a read-only array the memory is read-only, too.
    ///
    /// ```
    /// use libcai::{DType, Device, Memory, memory::Request};
    ///
    /// let array = Request::on(Device::Cuda(0)).empty(DType::of::<f32>(), &[10])?;
    /// let (memory, offset) = Memory::of(&array)?;
    /// assert_eq!(memory.describe()?.data + offset, array.data());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for an array that is borrowed without an owner; [`Error::Device`] for
    /// ROCm, and if the driver does not know the memory; [`Error::State`] if the memory was freed,
    /// and the array is not of [`Memory::array()`]; [`Error::Driver`]; [`Error::Cuda`];
    /// [`Error::Memory`].
    pub fn of<'a>(array: impl Into<ArrayRef<'a>>) -> Result<(Self, u64)> {
        let array = array.into();
        let mut offset = 0;
        // SAFETY: the array is borrowed during the call; the outputs can be written.
        let raw = ask(|out, error| unsafe {
            sys::cai_memory_of(array.as_raw(), out, &mut offset, error)
        })?;
        Ok((Self::adopt(raw), offset))
    }

    /// Its properties: `cai_memory_describe()`.
    ///
    /// # Errors
    /// No failure is known.
    pub fn describe(&self) -> Result<MemoryInfo> {
        let mut raw = unknown();
        // SAFETY: the memory is held; the outputs can be written.
        call(|error| unsafe { sys::cai_memory_describe(self.as_ptr(), &mut raw, error) })?;
        let is = |flag| raw.flags & flag != 0;
        Ok(MemoryInfo {
            device: Device::from_raw(raw.device),
            kind: MemoryKind::from_raw(raw.kind),
            data: raw.data,
            host: raw.host,
            array: raw.array,
            size: raw.size,
            row: raw.row,
            pitch: raw.pitch,
            rows: raw.rows,
            depth: raw.depth,
            channels: raw.channels,
            stream: raw.stream,
            is_freed: is(sys::CAI_MEMORY_FREED),
            is_foreign: is(sys::CAI_MEMORY_FOREIGN),
            is_view: is(sys::CAI_MEMORY_VIEW),
            is_readonly: is(sys::CAI_MEMORY_READONLY),
        })
    }

    /// Its bytes for the host. Use them once no work on them is pending, and as long as the memory
    /// is kept alive; do not write them if [`MemoryInfo::is_readonly`]. They are uninitialised at
    /// first.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the host must not use them; [`Error::State`] if it was freed.
    pub fn host(&self) -> Result<NonNull<[u8]>> {
        let known = self.describe()?;
        if known.is_freed {
            return Err(Error::say(sys::CAI_ERR_STATE, "the memory was freed"));
        }
        if known.size != 0 && known.host == 0 {
            let message = format!("the host must not use memory of the kind {}", known.kind);
            return Err(Error::say(sys::CAI_ERR_UNSUPPORTED, message));
        }
        let host = NonNull::new(ptr::with_exposed_provenance_mut(known.host as usize));
        Ok(NonNull::slice_from_raw_parts(host.unwrap_or(NonNull::dangling()), known.size as usize))
    }

    /// A view of bytes `start` to `stop`, which keeps the whole alive: `cai_memory_view()`.
    ///
    /// # Errors
    /// [`Error::Bounds`]; [`Error::Unsupported`] for a `CUarray`; [`Error::State`] if it was freed;
    /// [`Error::Memory`].
    pub fn view(&self, start: u64, stop: u64) -> Result<Self> {
        // SAFETY: the memory is held; the outputs can be written.
        ask(|out, error| unsafe { sys::cai_memory_view(self.as_ptr(), start, stop, out, error) })
            .map(Self::adopt)
    }

    /// Makes an array at the beginning of the memory, in C order; for pitched memory, with the
    /// pitch for the last but one axis.
    ///
    /// # Errors
    /// As [`Memory::array_at()`].
    pub fn array(&self, dtype: DType, shape: &[i64]) -> Result<Array> {
        self.array_of(0, dtype, shape, None)
    }

    /// Makes an array, which keeps the memory alive: `cai_memory_array()`. It comes with the
    /// memory's stream.
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `strides`: bytes, one for each axis
    ///
    /// ```
    /// use libcai::{DType, Device, memory::Request};
    ///
    /// let memory = Request::on(Device::Cuda(0)).bytes(80)?;
    /// let backwards = memory.array_at(72, DType::of::<f64>(), &[10], &[-8])?;
    /// assert_eq!(backwards.data(), memory.describe()?.data + 72);
    /// assert!(memory.array_at(0, DType::of::<f64>(), &[10], &[-8]).is_err());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Bounds`] if the array leaves the memory; [`Error::Unsupported`] for a `CUarray`;
    /// [`Error::State`] if the memory was freed; [`Error::Value`], with the entry;
    /// [`Error::Argument`] if there is not one stride for each axis; [`Error::Order`] if arrays of
    /// it came with another thread's stream 2; [`Error::Memory`].
    pub fn array_at(
        &self,
        offset: u64,
        dtype: DType,
        shape: &[i64],
        strides: &[i64],
    ) -> Result<Array> {
        if strides.len() != shape.len() {
            let message = format!("strides: {} are given for {} axes", strides.len(), shape.len());
            return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
        }
        self.array_of(offset, dtype, shape, Some(strides))
    }

    fn array_of(
        &self,
        offset: u64,
        dtype: DType,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<Array> {
        // More axes than an i32 can count are refused in any case.
        let ndim = i32::try_from(shape.len()).unwrap_or(i32::MAX);
        let strides = strides.map_or(ptr::null(), <[i64]>::as_ptr);
        // SAFETY: the memory is held; there are ndim extents, and strides if any; the outputs can be
        // written.
        let raw = ask(|out, error| unsafe {
            let (memory, dtype, shape) = (self.as_ptr(), &dtype.to_raw(), shape.as_ptr());
            sys::cai_memory_array(memory, offset, dtype, ndim, shape, strides, out, error)
        })?;
        // SAFETY: libcai made it, and the reference is ours.
        Ok(unsafe { made(raw) })
    }

    /// Makes an array like another array: with its type, fields and strides, and with a mask if it
    /// has one: `cai_memory_array_like()`.
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `mask_offset`: likewise for the mask; ignored without a mask
    ///
    /// # Errors
    /// As [`array_at()`](Self::array_at); [`Error::Layout`], with entry mask, if mask and elements
    /// overlap.
    pub fn array_like<'l>(
        &self,
        offset: u64,
        like: impl Into<ArrayRef<'l>>,
        mask_offset: u64,
    ) -> Result<Array> {
        let like = like.into();
        // SAFETY: the memory is held, and the array borrowed; the outputs can be written.
        let raw = ask(|out, error| unsafe {
            let (memory, like) = (self.as_ptr(), like.as_raw());
            sys::cai_memory_array_like(memory, offset, like, mask_offset, out, error)
        })?;
        // SAFETY: libcai made it, and the reference is ours.
        Ok(unsafe { made(raw) })
    }

    /// Frees it now, even if references to it remain, in the order of its stream and after the
    /// recorded uses: `cai_memory_free()`. Using its views and arrays then returns
    /// [`Error::State`].
    ///
    /// # Safety
    /// No code uses it on the host any more, on any thread, nor on streams that were not recorded.
    ///
    /// # Errors
    /// [`Error::State`] if it was freed already; [`Error::Unsupported`] for a view; the manager's
    /// error, after which the memory counts as freed.
    pub unsafe fn free(&self) -> Result<()> {
        // SAFETY: the memory is held; the caller guarantees the rest.
        call(|error| unsafe { sys::cai_memory_free(self.as_ptr(), error) })
    }

    /// Sets the stream in whose order it is freed: `cai_memory_set_stream()`. The free still comes
    /// after work that is pending on the old stream.
    ///
    /// # Errors
    /// [`Error::Device`] for a stream of another device; [`Error::State`] if it was freed, or a
    /// reset has ended the stream; [`Error::Unsupported`] for a view; [`Error::Capture`] if the old
    /// stream is being captured; [`Error::Cuda`]; [`Error::Memory`].
    pub fn set_stream(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both are held.
        call(|error| unsafe { sys::cai_memory_set_stream(self.as_ptr(), stream.as_ptr(), error) })
    }

    /// Records that the work queued on a stream so far uses the memory (for a view, the whole):
    /// `cai_memory_record()`. The memory is not freed before that work is complete, and later uses
    /// of its arrays wait for it, as for a write.
    ///
    /// # Errors
    /// [`Error::State`] if it was freed, or a reset has ended the stream; [`Error::Capture`] if the
    /// stream is being captured; [`Error::Cuda`]; [`Error::Memory`].
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both are held.
        call(|error| unsafe { sys::cai_memory_record(self.as_ptr(), stream.as_ptr(), error) })
    }
}

impl Clone for Memory {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the memory is held.
        unsafe { sys::cai_memory_retain(self.as_ptr()) };
        Self { raw: self.raw }
    }
}

impl Drop for Memory {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reference that was taken over.
        unsafe { sys::cai_memory_release(self.as_ptr()) };
    }
}

/// Checks with the driver whether memory has the stated device, kind and size:
/// `cai_memory_validate()`. `size` 0: only the kind is checked; for address 0 not even the kind.
///
/// ```
/// use libcai::{Device, memory::{self, MemoryKind, Request}};
///
/// let gpu = Device::Cuda(0);
/// let memory = Request::on(gpu).bytes(100)?;
/// let known = memory.describe()?;
/// memory::validate(known.data, known.size, gpu, MemoryKind::Default)?;
/// assert!(memory::validate(known.data, known.size, gpu, MemoryKind::Managed).is_err());
/// assert!(memory::validate(known.data, 1 << 40, gpu, MemoryKind::Default).is_err());
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Errors
/// [`Error::Device`] if it is another device's or of another kind; [`Error::Bounds`] if the range
/// leaves the allocation; [`Error::Value`] for address 0 with a size, and for
/// [`MemoryKind::CudaArray`]; [`Error::Cuda`]; [`Error::Driver`] for GPUs.
pub fn validate(address: u64, size: u64, device: Device, kind: MemoryKind) -> Result<()> {
    let (device, kind) = (device.to_raw(), kind.to_raw());
    // SAFETY: the function takes any numbers; the error can be written.
    call(|error| unsafe { sys::cai_memory_validate(address, size, device, kind, error) })
}

/// A zeroed struct of properties.
fn unknown() -> sys::cai_memory_info {
    sys::cai_memory_info {
        struct_size: mem::size_of::<sys::cai_memory_info>() as u32,
        // SAFETY: numbers, for which 0 is a value.
        ..unsafe { mem::zeroed() }
    }
}

/// Memory that C makes with an owner that keeps it alive.
fn keep<T: Send + 'static>(
    owner: T,
    take: impl FnOnce(
        Release,
        *mut std::ffi::c_void,
        *mut *mut sys::cai_memory,
        *mut sys::cai_error,
    ) -> sys::cai_status,
) -> Result<Memory, Failed<T>> {
    failure::give(owner, |release, context| {
        ask(|out, error| take(release, context, out, error)).map(Memory::adopt)
    })
}

/// A stream for C; NULL: the thread's current stream.
fn raw_stream(stream: Option<&Stream>) -> *mut sys::cai_stream {
    stream.map_or(ptr::null_mut(), Stream::as_ptr)
}
