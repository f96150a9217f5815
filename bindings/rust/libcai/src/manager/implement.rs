// SPDX-License-Identifier: BSD-3-Clause
//! Managers that are written in Rust.

use std::any::TypeId;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use crate::device::{Device, MemoryAmount};
use crate::error::{Error, Result, call};
use crate::failure;
use crate::manager::{Block, Manager};
use crate::memory::{HostFlags, IpcHandle, MemoryKind, SharedMemory};
use crate::sys;

/// A memory manager written in Rust: the counterpart of `cai_manager_table` in C, and of NBEP 7 in
/// Python.
///
/// [`Manager::new()`] makes a [`Manager`] of a value; [`Manager::register()`] lets libcai make
/// values by the manager's name.
///
/// libcai calls the functions with the GPU's primary context current and with no lock of libcai
/// held, from any thread, and from several threads at a time. They may call libcai. Their errors
/// and panics become the error of the caller that wanted memory; [`Error::say()`] makes an error. A
/// `stream` is 1, 2 or a `CUstream`; 0 for the CPU.
///
/// ```
/// use libcai::manager::{Block, Manager, MemoryManager};
/// use libcai::{Device, MemoryKind, Result, memory::Request};
///
/// /// Memory is its upstream manager's, at multiples of a page.
/// struct Paged(Manager);
///
/// // SAFETY: blocks are the upstream manager's.
/// unsafe impl MemoryManager for Paged {
///     const NAME: &std::ffi::CStr = c"paged";
///
///     unsafe fn memalloc(
///         &self, size: u64, align: u64, kind: MemoryKind, stream: u64,
///     ) -> Result<Block> {
///         // SAFETY: libcai's stream.
///         unsafe { self.0.alloc(size.next_multiple_of(4096), align.max(4096), kind, stream) }
///     }
///
///     unsafe fn memfree(&self, block: &Block, stream: u64) -> Result<()> {
///         // SAFETY: libcai's block, which came from there.
///         unsafe { self.0.free(block, MemoryKind::Default, stream) }
///     }
/// }
///
/// let gpu = Device::Cuda(0);
/// let paged = Manager::new(gpu, Paged(Manager::of(gpu)?), None)?;
/// let memory = Request::on(gpu).manager(&paged).bytes(100)?;
/// assert_eq!(memory.describe()?.data % 4096, 0);
/// # drop(memory);
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Safety
/// A returned block is memory of its device, of the requested kind, which no other code has until
/// it is freed; `host`, unless 0, is its address for the host, which may read and write all of it.
/// (libcai checks its size and alignment.)
pub unsafe trait MemoryManager: Sized + Send + Sync + 'static {
    /// Its name, for errors and logs, and for [`Manager::create()`]: letters, digits, `_`, `-` and
    /// `.`, and unique in this process.
    const NAME: &'static CStr;

    /// Its functions beyond those of this trait.
    const OPTIONAL: Optional<Self> = Optional::none();

    /// Makes the manager of a device, for [`Manager::create()`], [`Manager::choose()`] and the like.
    ///
    /// # Errors
    /// Any; if there is no such function, [`Error::Unsupported`].
    fn create(device: Device, upstream: Option<Manager>) -> Result<Self> {
        let (_, _) = (device, upstream);
        let message = format!("manager {}: it is not made by its name", Table::<Self>::NAME);
        Err(Error::say(sys::CAI_ERR_UNSUPPORTED, message))
    }

    /// Called before the first allocation. It may be called again, and by several threads at once
    /// if they allocate first at the same time; it must keep existing state.
    ///
    /// # Errors
    /// Any; then nothing is allocated.
    fn initialize(&self) -> Result<()> {
        Ok(())
    }

    /// Drops cached memory, since the device is being reset. Allocated memory is still freed later,
    /// unless the primary context is destroyed: then only its drop follows.
    ///
    /// # Errors
    /// Any.
    fn reset(&self) -> Result<()> {
        Ok(())
    }

    /// Allocates `size` bytes, never 0, at a multiple of `align`, a power of two. `kind` is
    /// [`Default`](MemoryKind::Default), [`Async`](MemoryKind::Async),
    /// [`Managed`](MemoryKind::Managed) or [`ManagedGlobal`](MemoryKind::ManagedGlobal).
    ///
    /// # Safety
    /// `stream` is a stream of the device, whose context is current.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory is short: libcai then frees what is pending and calls it once
    /// more (if there is an upstream manager, only if something was pending);
    /// [`Error::Unsupported`] for a kind that it does not have; any other.
    unsafe fn memalloc(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        stream: u64,
    ) -> Result<Block>;

    /// Frees a block of [`memalloc()`](Self::memalloc), in the order of `stream`. It must not wait
    /// for the device: see [`add_pending()`](crate::memory::add_pending).
    ///
    /// # Safety
    /// The block came from there, was not freed, and is used only by work queued on `stream`, which
    /// is a stream of the device, whose context is current.
    ///
    /// # Errors
    /// Any. After [`Error::Capture`], which means that a capture of the stream forbids the free,
    /// the block stays allocated, and libcai frees it again later. After any other error libcai
    /// does not.
    unsafe fn memfree(&self, block: &Block, stream: u64) -> Result<()>;
}

type MemHostAlloc<M> = unsafe fn(&M, u64, u64, MemoryKind, HostFlags) -> Result<Block>;
type MemHostFree<M> = unsafe fn(&M, &Block) -> Result<()>;
type MemPin<M> = unsafe fn(&M, NonNull<u8>, u64, MemoryKind, HostFlags) -> Result<Block>;
type MemUnpin<M> = unsafe fn(&M, &Block) -> Result<()>;
type Base<M> = fn(&M, u64) -> Result<(u64, u64)>;
type GetIpcHandle<M> = unsafe fn(&M, &Block) -> Result<SharedMemory>;
type OpenIpcHandle<M> = unsafe fn(&M, &IpcHandle, Option<BorrowedFd<'_>>, u64) -> Result<Block>;
type CloseIpcHandle<M> = unsafe fn(&M, &Block, u64) -> Result<()>;
type GetMemoryInfo<M> = fn(&M) -> Result<MemoryAmount>;
type DeferCleanup<M> = fn(&M, bool) -> Result<()>;
type Trim<M> = fn(&M, u64) -> Result<()>;

/// The functions of a [`MemoryManager`] beyond the required ones, with the names of NBEP 7 and of
/// C's table. For a missing function, the upstream manager's is used, if there is one, else
/// libcai's own.
///
/// ```
/// # use libcai::manager::{Block, Manager, MemoryManager, Optional};
/// # use libcai::{MemoryKind, Result};
/// # struct Around(Manager);
/// # // SAFETY: it returns what another manager returns.
/// # unsafe impl MemoryManager for Around {
/// #     const NAME: &std::ffi::CStr = c"around";
/// const OPTIONAL: Optional<Self> = Optional::none().trim(Self::give_back);
/// #     unsafe fn memalloc(
/// #         &self, size: u64, align: u64, kind: MemoryKind, stream: u64,
/// #     ) -> Result<Block> {
/// #         unsafe { self.0.alloc(size, align, kind, stream) }
/// #     }
/// #     unsafe fn memfree(&self, block: &Block, stream: u64) -> Result<()> {
/// #         unsafe { self.0.free(block, MemoryKind::Default, stream) }
/// #     }
/// # }
/// # impl Around {
/// #     fn give_back(&self, keep: u64) -> Result<()> { self.0.trim(keep) }
/// # }
/// ```
///
/// # Safety
/// For the functions that are unsafe to call: libcai calls them with the GPU's primary context
/// current, a stream of the device, a block of their counterpart that was not freed, and host
/// memory of so many bytes that lives until it is unpinned.
pub struct Optional<M> {
    host: Option<(MemHostAlloc<M>, MemHostFree<M>)>,
    pin: Option<(MemPin<M>, MemUnpin<M>)>,
    base: Option<Base<M>>,
    get_ipc_handle: Option<GetIpcHandle<M>>,
    open_ipc_handle: Option<(OpenIpcHandle<M>, CloseIpcHandle<M>)>,
    get_memory_info: Option<GetMemoryInfo<M>>,
    defer_cleanup: Option<DeferCleanup<M>>,
    trim: Option<Trim<M>>,
}

impl<M> Clone for Optional<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Optional<M> {}

impl<M> std::fmt::Debug for Optional<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Optional").finish_non_exhaustive()
    }
}

impl<M> Optional<M> {
    /// No optional function.
    pub const fn none() -> Self {
        Self {
            host: None,
            pin: None,
            base: None,
            get_ipc_handle: None,
            open_ipc_handle: None,
            get_memory_info: None,
            defer_cleanup: None,
            trim: None,
        }
    }

    /// `memhostalloc(size, align, kind, flags)` allocates host memory, of the kind
    /// [`Pinned`](MemoryKind::Pinned), [`Mapped`](MemoryKind::Mapped) or
    /// [`Host`](MemoryKind::Host); `memhostfree(block)` frees it.
    pub const fn memhostalloc(
        self,
        memhostalloc: MemHostAlloc<M>,
        memhostfree: MemHostFree<M>,
    ) -> Self {
        Self { host: Some((memhostalloc, memhostfree)), ..self }
    }

    /// `mempin(host, size, kind, flags)` pins existing host memory, as
    /// [`Pinned`](MemoryKind::Pinned) or [`Mapped`](MemoryKind::Mapped); `memunpin(block)` undoes
    /// it at once.
    pub const fn mempin(self, mempin: MemPin<M>, memunpin: MemUnpin<M>) -> Self {
        Self { pin: Some((mempin, memunpin)), ..self }
    }

    /// `base(address)` returns the driver's allocation around an address: its beginning, and its
    /// bytes.
    pub const fn base(self, base: Base<M>) -> Self {
        Self { base: Some(base), ..self }
    }

    /// `get_ipc_handle(block)` shares memory with other processes.
    pub const fn get_ipc_handle(self, get_ipc_handle: GetIpcHandle<M>) -> Self {
        Self { get_ipc_handle: Some(get_ipc_handle), ..self }
    }

    /// `open_ipc_handle(handle, descriptor, stream)` opens memory of another process in place, for
    /// work on any stream; libcai does not open a handle that is open already.
    /// `close_ipc_handle(block, stream)` closes it.
    pub const fn open_ipc_handle(
        self,
        open_ipc_handle: OpenIpcHandle<M>,
        close_ipc_handle: CloseIpcHandle<M>,
    ) -> Self {
        Self { open_ipc_handle: Some((open_ipc_handle, close_ipc_handle)), ..self }
    }

    /// `get_memory_info()` returns the free and total memory.
    pub const fn get_memory_info(self, get_memory_info: GetMemoryInfo<M>) -> Self {
        Self { get_memory_info: Some(get_memory_info), ..self }
    }

    /// `defer_cleanup(enter)` stops the manager's own pending frees from a call with `true` until
    /// as many calls with `false`.
    pub const fn defer_cleanup(self, defer_cleanup: DeferCleanup<M>) -> Self {
        Self { defer_cleanup: Some(defer_cleanup), ..self }
    }

    /// `trim(keep)` releases cached memory, down to `keep` bytes.
    pub const fn trim(self, trim: Trim<M>) -> Self {
        Self { trim: Some(trim), ..self }
    }
}

impl Manager {
    /// Makes a manager of a value written in Rust, for a device, and optionally around an upstream
    /// manager of the same device. The value is dropped once, when this manager and all memory that
    /// it allocated are dropped; panics of its drop go to [`on_failure`](crate::on_failure).
    ///
    /// # Errors
    /// [`Error::Value`] for a name that is invalid or another manager's, and for an upstream
    /// manager of another device; [`Error::Version`] for a library that needs another version of
    /// the table; the rest as [`Device::set_current`]. The value is dropped.
    pub fn new<M: MemoryManager>(
        device: Device,
        manager: M,
        upstream: Option<&Self>,
    ) -> Result<Self> {
        register::<M>()?;
        let given = Cell::new(Some(manager));
        // SAFETY: the name's table is that of M, whose create() takes such params.
        unsafe {
            Self::create_raw(Table::<M>::NAME, ptr::from_ref(&given).cast(), device, upstream)
        }
    }

    /// Registers a manager written in Rust under its name for the life of the process, so that
    /// [`Manager::create()`], [`Manager::choose()`], `CAI_MEMORY_MANAGER` and other languages find
    /// it; [`MemoryManager::create()`] then makes it. Does nothing if it is registered already. In
    /// C, its params are NULL.
    ///
    /// # Errors
    /// [`Error::Value`] for a name that is invalid or another manager's; [`Error::Version`] for a
    /// library that needs another version of the table; [`Error::Memory`].
    pub fn register<M: MemoryManager>() -> Result<()> {
        register::<M>()
    }
}

/// The managers that this copy of the crate has registered.
static REGISTERED: Mutex<Vec<(&CStr, TypeId)>> = Mutex::new(Vec::new());

fn register<M: MemoryManager>() -> Result<()> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.contains(&(M::NAME, TypeId::of::<M>())) {
        return Ok(());
    }
    // SAFETY: the table is never freed, and its code never unloaded.
    call(|error| unsafe { sys::cai_manager_register(M::NAME.as_ptr(), Table::<M>::TABLE, error) })?;
    registered.push((M::NAME, TypeId::of::<M>()));
    Ok(())
}

/// The table of a manager.
struct Table<M>(std::marker::PhantomData<M>);

/// A function of the table, if the manager has it.
macro_rules! if_any {
    ($optional:ident => $function:expr) => {
        match M::OPTIONAL.$optional {
            Some(_) => Some($function),
            None => None,
        }
    };
}

impl<M: MemoryManager> Table<M> {
    /// As text: an invalid name is not registered.
    const NAME: &'static str = match M::NAME.to_str() {
        Ok(name) => name,
        Err(_) => "a manager",
    };

    const TABLE: &'static sys::cai_manager_table = &sys::cai_manager_table {
        struct_size: size_of::<sys::cai_manager_table>() as u32,
        version: sys::CAI_MANAGER_VERSION,
        name: M::NAME.as_ptr(),
        create: Some(create::<M>),
        destroy: Some(destroy::<M>),
        initialize: Some(initialize::<M>),
        reset: Some(reset::<M>),
        memalloc: Some(memalloc::<M>),
        memfree: Some(memfree::<M>),
        memhostalloc: if_any!(host => memhostalloc::<M>),
        memhostfree: if_any!(host => memhostfree::<M>),
        mempin: if_any!(pin => mempin::<M>),
        memunpin: if_any!(pin => memunpin::<M>),
        base: if_any!(base => base::<M>),
        get_ipc_handle: if_any!(get_ipc_handle => get_ipc_handle::<M>),
        open_ipc_handle: if_any!(open_ipc_handle => open_ipc_handle::<M>),
        close_ipc_handle: if_any!(open_ipc_handle => close_ipc_handle::<M>),
        get_memory_info: if_any!(get_memory_info => get_memory_info::<M>),
        defer_cleanup: if_any!(defer_cleanup => defer_cleanup::<M>),
        trim: if_any!(trim => trim::<M>),
    };
}

unsafe extern "C" fn create<M: MemoryManager>(
    params: *const c_void,
    device: sys::cai_device,
    upstream: *mut sys::cai_manager,
    this: *mut *mut c_void,
    error: *mut sys::cai_error,
) -> sys::cai_status {
    let make = || {
        // SAFETY: NULL, or the params of Manager::new().
        let given = unsafe { params.cast::<Cell<Option<M>>>().as_ref() };
        let made = match given.and_then(Cell::take) {
            Some(given) => given,
            None => {
                // SAFETY: the upstream manager is held during the call, and gets a new reference.
                let upstream = NonNull::new(upstream).map(|upstream| unsafe {
                    sys::cai_manager_retain(upstream.as_ptr());
                    Manager::from_raw(upstream)
                });
                M::create(Device::from_raw(device), upstream)?
            }
        };
        // SAFETY: the output can be written.
        unsafe { this.write(Box::into_raw(Box::new(made)).cast()) };
        Ok(())
    };
    // SAFETY: the error is NULL or can be written.
    unsafe { failure::as_status(Table::<M>::NAME, error, make) }
}

unsafe extern "C" fn destroy<M: MemoryManager>(this: *mut c_void) {
    // SAFETY: create() made it, and this is called once, after all else.
    let made = unsafe { Box::from_raw(this.cast::<M>()) };
    failure::run_unheard(Table::<M>::NAME, || drop(made));
}

/// Defines functions of the table: they call the manager's own, write its output on success, and
/// turn its error or panic into a status.
macro_rules! functions {
    ($(fn $name:ident($manager:ident: &M $(, $input:ident: $type:ty)*$(; $output:ident: $out:ty)*) $body:block)+) => {$(
        unsafe extern "C" fn $name<M: MemoryManager>(
            this: *mut c_void,
            $($input: $type,)*
            $($output: *mut $out,)*
            error: *mut sys::cai_error,
        ) -> sys::cai_status {
            // SAFETY: libcai calls it for what create() made, as memory.h says, with outputs that can
            // be written; what the manager's own functions need beyond that is the same.
            unsafe {
                let $manager = &*this.cast::<M>();
                failure::as_status(Table::<M>::NAME, error, || $body)
            }
        }
    )+};
}

const LISTED: &str = "it is in the table because it is there";

functions! {
    fn initialize(manager: &M) { manager.initialize() }
    fn reset(manager: &M) { manager.reset() }
    fn memalloc(manager: &M, size: u64, align: u64, kind: u32, stream: u64; out: sys::cai_block) {
        let block = manager.memalloc(size, align, MemoryKind::from_raw(kind), stream)?;
        out.write(block.to_raw());
        Ok(())
    }
    fn memfree(manager: &M, block: *const sys::cai_block, stream: u64) {
        manager.memfree(&Block::from_raw(*block), stream)
    }
    fn memhostalloc(manager: &M, size: u64, align: u64, kind: u32, flags: u32; out: sys::cai_block) {
        let (memhostalloc, _) = M::OPTIONAL.host.expect(LISTED);
        let (kind, flags) = (MemoryKind::from_raw(kind), HostFlags::from_raw(flags));
        out.write(memhostalloc(manager, size, align, kind, flags)?.to_raw());
        Ok(())
    }
    fn memhostfree(manager: &M, block: *const sys::cai_block) {
        let (_, memhostfree) = M::OPTIONAL.host.expect(LISTED);
        memhostfree(manager, &Block::from_raw(*block))
    }
    fn mempin(manager: &M, host: *mut c_void, size: u64, kind: u32, flags: u32; out: sys::cai_block) {
        let (mempin, _) = M::OPTIONAL.pin.expect(LISTED);
        let (kind, flags) = (MemoryKind::from_raw(kind), HostFlags::from_raw(flags));
        let host = NonNull::new(host.cast()).unwrap_or(NonNull::dangling());
        out.write(mempin(manager, host, size, kind, flags)?.to_raw());
        Ok(())
    }
    fn memunpin(manager: &M, block: *const sys::cai_block) {
        let (_, memunpin) = M::OPTIONAL.pin.expect(LISTED);
        memunpin(manager, &Block::from_raw(*block))
    }
    fn base(manager: &M, address: u64; base: u64; size: u64) {
        let (begin, bytes) = M::OPTIONAL.base.expect(LISTED)(manager, address)?;
        base.write(begin);
        size.write(bytes);
        Ok(())
    }
    fn get_ipc_handle(manager: &M, block: *const sys::cai_block; out: sys::cai_ipc_handle; fd: i32) {
        let get_ipc_handle = M::OPTIONAL.get_ipc_handle.expect(LISTED);
        let shared = get_ipc_handle(manager, &Block::from_raw(*block))?;
        out.write(shared.handle.to_raw());
        fd.write(shared.descriptor.map_or(-1, IntoRawFd::into_raw_fd));
        Ok(())
    }
    fn open_ipc_handle(
        manager: &M, handle: *const sys::cai_ipc_handle, fd: i32, stream: u64; out: sys::cai_block
    ) {
        let (open_ipc_handle, _) = M::OPTIONAL.open_ipc_handle.expect(LISTED);
        let handle = IpcHandle::from_raw(*handle);
        let descriptor = (fd >= 0).then(|| BorrowedFd::borrow_raw(fd));
        out.write(open_ipc_handle(manager, &handle, descriptor, stream)?.to_raw());
        Ok(())
    }
    fn close_ipc_handle(manager: &M, block: *const sys::cai_block, stream: u64) {
        let (_, close_ipc_handle) = M::OPTIONAL.open_ipc_handle.expect(LISTED);
        close_ipc_handle(manager, &Block::from_raw(*block), stream)
    }
    fn get_memory_info(manager: &M; free: u64; total: u64) {
        let amount = M::OPTIONAL.get_memory_info.expect(LISTED)(manager)?;
        free.write(amount.free);
        total.write(amount.total);
        Ok(())
    }
    fn defer_cleanup(manager: &M, enter: i32) {
        M::OPTIONAL.defer_cleanup.expect(LISTED)(manager, enter != 0)
    }
    fn trim(manager: &M, keep: u64) {
        M::OPTIONAL.trim.expect(LISTED)(manager, keep)
    }
}
