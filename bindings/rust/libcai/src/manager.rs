// SPDX-License-Identifier: BSD-3-Clause
//! Memory managers: to use, to wrap and to implement them.
//!
//! libcai creates the manager of a device on first need, by the name passed to
//! [`Manager::choose()`], else by the environment variable `CAI_MEMORY_MANAGER`, else "default"
//! ("host" for the CPU). It stays until another one is installed. To implement one, see
//! [`MemoryManager`].

mod built_in;
mod implement;

use std::ffi::{CStr, c_void};
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};

use crate::device::{Device, MemoryAmount};
use crate::error::{Error, Result, ask, call};
use crate::memory::MemoryKind;
use crate::sys;
use crate::text::c_text;

pub use built_in::PoolOptions;
pub use implement::{MemoryManager, Optional};

/// A reference to the manager of one device. A clone adds a reference to the same manager; memory
/// that it allocated holds references, too.
///
/// ```
/// use libcai::{Device, Manager, memory::Request};
///
/// let gpu = Device::Cuda(0);
/// let pool = Manager::pool(gpu, &Default::default())?;
/// let limited = Manager::limiting(&Manager::tracking(&pool)?, 1 << 20)?;
/// let memory = Request::on(gpu).manager(&limited).bytes(4096)?;
/// assert_eq!(limited.outstanding()?[0].size, 4096);
/// assert!(Request::on(gpu).manager(&limited).bytes(1 << 20).is_err());
/// # drop(memory);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug)]
pub struct Manager {
    raw: NonNull<sys::cai_manager>,
}

// SAFETY: handles are counted, and every function of them may be called from any thread: cai.h,
// "Threads"; so may those of a manager's table: memory.h.
unsafe impl Send for Manager {}
// SAFETY: likewise.
unsafe impl Sync for Manager {}

/// A block of memory, as a manager allocates and frees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Block {
    /// Address for kernels; on the CPU, for the host.
    pub data: u64,
    /// Address for the host; 0 if the host must not use it.
    pub host: u64,
    /// Bytes, at least the requested size.
    pub size: u64,
    /// Reserved for the manager.
    pub cookie: u64,
}

impl Block {
    /// The block as a C struct.
    pub fn to_raw(self) -> sys::cai_block {
        let Self { data, host, size, cookie } = self;
        sys::cai_block { data, host, size, cookie }
    }

    /// A block of a C struct.
    pub fn from_raw(raw: sys::cai_block) -> Self {
        let sys::cai_block { data, host, size, cookie } = raw;
        Self { data, host, size, cookie }
    }
}

/// Counts of a manager. Each count is exact; while other threads allocate or free, they may be of
/// different moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes allocated now, by [`Block::size`].
    pub bytes: u64,
    /// The most bytes allocated at a time.
    pub bytes_peak: u64,
    /// Bytes ever allocated.
    pub bytes_total: u64,
    /// Allocations now.
    pub count: u64,
    /// The most allocations at a time.
    pub count_peak: u64,
    /// Allocations ever made.
    pub count_total: u64,
    /// Allocations that failed.
    pub failures: u64,
}

/// An allocation that is not freed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Allocation {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// Address.
    pub data: u64,
    /// Bytes.
    pub size: u64,
    /// The value of the stream that it was allocated on.
    pub stream: u64,
    /// Time of the allocation, since the manager was created.
    pub seconds: f64,
}

impl Manager {
    /// Creates a manager by its name, without params: a built-in manager, or one registered by
    /// [`Manager::register()`] or in C.
    ///
    /// "default", "async", "pool", "managed" and "host" allocate memory; "statistics" and
    /// "tracking" wrap `upstream`, of the same device.
    ///
    /// # Errors
    /// [`Error::Value`] for an unknown name, a path (see [`Manager::create_raw()`]), invalid
    /// params, and an upstream manager that is missing or of another device; [`Error::Unsupported`]
    /// if the device does not have that memory; the manager's error; the rest as
    /// [`Device::set_current`].
    pub fn create(name: &str, device: Device, upstream: Option<&Self>) -> Result<Self> {
        must_be_name(name)?;
        // SAFETY: no code is loaded, and every manager takes NULL for its params, or refuses it.
        unsafe { Self::create_raw(name, ptr::null(), device, upstream) }
    }

    /// Creates a manager by its name, or by the path of a library that exports a
    /// `cai_manager_table`, "/path/lib.so" or "/path/lib.so:symbol", which is never unloaded:
    /// `cai_manager_create()`.
    ///
    /// # Safety
    /// `params` is what the manager requires. Loading the library is safe, and its symbol is such a
    /// table, which keeps the rules of the table.
    ///
    /// # Errors
    /// As [`Manager::create()`]; [`Error::Value`] for a library that cannot be loaded, and a missing
    /// symbol; [`Error::Version`] for a table of another version.
    pub unsafe fn create_raw(
        name: &str,
        params: *const c_void,
        device: Device,
        upstream: Option<&Self>,
    ) -> Result<Self> {
        let name = c_text(name)?;
        let upstream = upstream.map_or(ptr::null_mut(), Self::as_ptr);
        let device = device.to_raw();
        // SAFETY: upstream is held, and the outputs can be written; the caller guarantees the rest.
        ask(|out, error| unsafe {
            sys::cai_manager_create(name.as_ptr(), params, device, upstream, out, error)
        })
        .map(Self::adopt)
    }

    /// The manager of a device: `cai_manager_of()`.
    ///
    /// # Errors
    /// As [`Manager::create_raw()`]; for an invalid `CAI_MEMORY_MANAGER` each call fails, and the
    /// message names it.
    pub fn of(device: Device) -> Result<Self> {
        // SAFETY: the outputs can be written. What the environment has loaded is its user's word.
        ask(|out, error| unsafe { sys::cai_manager_of(device.to_raw(), out, error) })
            .map(Self::adopt)
    }

    /// Chooses by name the manager of every GPU that has none yet, and overrides the environment:
    /// `cai_manager_choose()`. `None`: use the environment again.
    ///
    /// # Errors
    /// [`Error::Value`], with nothing changed, for a name that [`Manager::create()`] does not
    /// accept; [`Error::Memory`].
    pub fn choose(name: Option<&str>) -> Result<()> {
        name.map(must_be_name).transpose()?;
        let name = name.map(c_text).transpose()?;
        let name = name.as_deref().map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the name ends in a NUL; the error can be written.
        call(|error| unsafe { sys::cai_manager_choose(name, error) })
    }

    /// Takes over the caller's reference, as C functions return it.
    ///
    /// # Safety
    /// `raw` is a manager of libcai's, with a reference that the caller owns.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_manager>) -> Self {
        Self { raw }
    }

    /// Returns the reference to the caller, who must release it with `cai_manager_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_manager> {
        ManuallyDrop::new(self).raw
    }

    /// The manager for C functions, borrowed from this object.
    #[inline]
    pub fn as_ptr(&self) -> *mut sys::cai_manager {
        self.raw.as_ptr()
    }

    /// Wraps the result of a C function.
    fn adopt(raw: *mut sys::cai_manager) -> Self {
        Self { raw: NonNull::new(raw).expect("a manager that was made is not NULL") }
    }

    /// Its name: "default", or the name of its table.
    pub fn name(&self) -> &str {
        // SAFETY: the manager is held, and its name is never freed.
        let name = unsafe { CStr::from_ptr(sys::cai_manager_name(self.as_ptr())) };
        name.to_str().unwrap_or_default()
    }

    /// Its device.
    pub fn device(&self) -> Device {
        // SAFETY: the manager is held.
        Device::from_raw(unsafe { sys::cai_manager_device(self.as_ptr()) })
    }

    /// Makes it the manager of its device: `cai_manager_install()`. Memory that is already
    /// allocated stays with its own manager.
    ///
    /// # Errors
    /// [`Error::State`] if [`Device::reset_context()`] has ended it; [`Error::Memory`].
    pub fn install(&self) -> Result<()> {
        let device = self.device().to_raw();
        // SAFETY: the manager is held; the error can be written.
        call(|error| unsafe { sys::cai_manager_install(device, self.as_ptr(), error) })
    }

    /// Lets libcai choose the manager of a device again on the next need.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no such device; [`Error::Memory`].
    pub fn uninstall(device: Device) -> Result<()> {
        // SAFETY: NULL is taken; the error can be written.
        call(|error| unsafe { sys::cai_manager_install(device.to_raw(), ptr::null_mut(), error) })
    }

    /// Allocates without a handle, for wrapping managers: `cai_manager_alloc()`. For memory that
    /// frees itself, see [`Request::manager()`](crate::memory::Request::manager).
    ///
    /// - `size`: bytes; 0: the block is all zeros, and the manager is not called
    /// - `align`: a power of two; 0: 256
    /// - `kind`: [`Default`](MemoryKind::Default), [`Async`](MemoryKind::Async),
    ///   [`Managed`](MemoryKind::Managed), [`ManagedGlobal`](MemoryKind::ManagedGlobal),
    ///   [`Pinned`](MemoryKind::Pinned), [`Mapped`](MemoryKind::Mapped) or
    ///   [`Host`](MemoryKind::Host)
    /// - `stream`: 1 or 2 of the primary context, or a `CUstream`; 0 for the CPU
    ///
    /// # Safety
    /// `stream` is such a stream of the device.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Value`] for an invalid alignment, kind or stream;
    /// [`Error::Unsupported`] for a kind that the manager does not have; [`Error::Capture`];
    /// [`Error::State`] after a reset of the context, and if the manager returned a block that is
    /// too small or misaligned; the manager's error.
    pub unsafe fn alloc(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        stream: u64,
    ) -> Result<Block> {
        let kind = kind.to_raw();
        // SAFETY: the manager is held; the caller guarantees the rest; the outputs can be written.
        ask(|out, error| unsafe {
            sys::cai_manager_alloc(self.as_ptr(), size, align, kind, stream, out, error)
        })
        .map(Block::from_raw)
    }

    /// Frees a block of [`Manager::alloc()`], in the order of `stream`: `cai_manager_free()`.
    ///
    /// # Safety
    /// The block is from this manager, with this kind, and was not freed. It is no longer in use,
    /// except by work queued on `stream`, which is a stream of the device.
    ///
    /// # Errors
    /// [`Error::Value`] for an invalid kind or stream; [`Error::Capture`], and the block is not
    /// freed; the manager's error.
    pub unsafe fn free(&self, block: &Block, kind: MemoryKind, stream: u64) -> Result<()> {
        let (block, kind) = (block.to_raw(), kind.to_raw());
        // SAFETY: the manager is held; the caller guarantees the rest.
        call(|error| unsafe { sys::cai_manager_free(self.as_ptr(), &block, kind, stream, error) })
    }

    /// The free and total memory that it reports: `cai_manager_memory()`.
    ///
    /// # Errors
    /// [`Error::Unsupported`]; the manager's error.
    pub fn memory(&self) -> Result<MemoryAmount> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the manager is held; the outputs can be written.
        call(|error| unsafe {
            sys::cai_manager_memory(self.as_ptr(), &mut free, &mut total, error)
        })?;
        Ok(MemoryAmount { free, total })
    }

    /// Releases cached memory, down to `keep` bytes: `cai_manager_trim()`.
    ///
    /// # Errors
    /// The manager's error.
    pub fn trim(&self, keep: u64) -> Result<()> {
        // SAFETY: the manager is held; the error can be written.
        call(|error| unsafe { sys::cai_manager_trim(self.as_ptr(), keep, error) })
    }

    /// Its counts, or those of the first upstream manager that counts ("statistics", "limiting",
    /// "tracking"): `cai_manager_statistics()`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if none counts.
    pub fn statistics(&self) -> Result<Statistics> {
        let mut raw = sys::cai_statistics {
            struct_size: mem::size_of::<sys::cai_statistics>() as u32,
            // SAFETY: numbers, for which 0 is a value.
            ..unsafe { mem::zeroed() }
        };
        // SAFETY: the manager is held; the outputs can be written.
        call(|error| unsafe { sys::cai_manager_statistics(self.as_ptr(), &mut raw, error) })?;
        Ok(Statistics {
            bytes: raw.bytes,
            bytes_peak: raw.bytes_peak,
            bytes_total: raw.bytes_total,
            count: raw.count,
            count_peak: raw.count_peak,
            count_total: raw.count_total,
            failures: raw.failures,
        })
    }

    /// The allocations that are not freed, the oldest first, of this manager or of the first
    /// upstream manager that tracks: `cai_manager_outstanding()`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if none tracks; [`Error::Memory`].
    pub fn outstanding(&self) -> Result<Vec<Allocation>> {
        unsafe extern "C" fn visit(context: *mut c_void, seen: *const sys::cai_allocation) {
            // SAFETY: the context is the vector below; the allocation lives during the call.
            let (found, seen) = unsafe { (&mut *context.cast::<Vec<Allocation>>(), &*seen) };
            found.push(Allocation {
                kind: MemoryKind::from_raw(seen.kind),
                data: seen.data,
                size: seen.size,
                stream: seen.stream,
                seconds: seen.seconds,
            });
        }
        let mut found = Vec::<Allocation>::new();
        let context = ptr::from_mut(&mut found).cast();
        // SAFETY: the manager is held; visit() takes the context for what it is.
        call(|error| unsafe {
            sys::cai_manager_outstanding(self.as_ptr(), Some(visit), context, error)
        })?;
        Ok(found)
    }
}

impl Clone for Manager {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the manager is held.
        unsafe { sys::cai_manager_retain(self.as_ptr()) };
        Self { raw: self.raw }
    }
}

impl Drop for Manager {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the reference that was taken over.
        unsafe { sys::cai_manager_release(self.as_ptr()) };
    }
}

/// Refuses a path, which would load code.
fn must_be_name(name: &str) -> Result<()> {
    if !name.contains('/') {
        return Ok(());
    }
    let message = format!("manager {name:?}: a library is loaded by create_raw() alone");
    Err(Error::say(sys::CAI_ERR_VALUE, message))
}
