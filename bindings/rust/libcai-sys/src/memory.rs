// SPDX-License-Identifier: BSD-3-Clause
// Written by `cargo run -p xtask -- bindings` from the headers named in headers/.

use crate::bindings::*;
/// A device: passed by value. 8 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_device {
    /// [`CAI_DEVICE_CPU`] or [`CAI_DEVICE_CUDA`]
    pub type_: i32,
    /// ordinal from 0; 0 for the CPU
    pub id: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_device"][::core::mem::size_of::<cai_device>() - 8usize];
    ["Alignment of cai_device"][::core::mem::align_of::<cai_device>() - 4usize];
    ["Offset of field: cai_device::type_"][::core::mem::offset_of!(cai_device, type_) - 0usize];
    ["Offset of field: cai_device::id"][::core::mem::offset_of!(cai_device, id) - 4usize];
};
/// bytes that hold any device's text and its NUL
pub const CAI_DEVICE_TEXT_SIZE: usize = 32;
/// A device that is current for a while: filled in by [`cai_device_enter()`], for [`cai_device_leave()`].
/// Neither copied nor changed between the two. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_device_guard {
    pub device: cai_device,
    /// CUcontext that was entered; 0 for the CPU
    pub context: u64,
    /// CUcontext that was current before, or 0
    pub previous: u64,
    /// of [`cai_device_enter()`]; 0 once left
    pub thread: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_device_guard"][::core::mem::size_of::<cai_device_guard>() - 32usize];
    ["Alignment of cai_device_guard"][::core::mem::align_of::<cai_device_guard>() - 8usize];
    ["Offset of field: cai_device_guard::device"]
        [::core::mem::offset_of!(cai_device_guard, device) - 0usize];
    ["Offset of field: cai_device_guard::context"]
        [::core::mem::offset_of!(cai_device_guard, context) - 8usize];
    ["Offset of field: cai_device_guard::previous"]
        [::core::mem::offset_of!(cai_device_guard, previous) - 16usize];
    ["Offset of field: cai_device_guard::thread"]
        [::core::mem::offset_of!(cai_device_guard, thread) - 24usize];
};
/// it can use pinned host memory where it is
pub const CAI_DEVICE_MAPS_HOST: u32 = 1;
/// it has managed memory
pub const CAI_DEVICE_MANAGED_MEMORY: u32 = 2;
/// the host may use that while it works
pub const CAI_DEVICE_CONCURRENT_MANAGED: u32 = 4;
/// it has stream-ordered memory
pub const CAI_DEVICE_POOLS: u32 = 8;
/// pools can be shared by a file descriptor
pub const CAI_DEVICE_POOLS_BY_DESCRIPTOR: u32 = 16;
/// its memory is the host's
pub const CAI_DEVICE_INTEGRATED: u32 = 32;
/// What is known of a device. It grows at the tail. 304 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_device_info {
    /// in: sizeof([`cai_device_info`]), at least 8. The library fills in no more
    /// than that, nor more than it knows: zero the rest
    pub struct_size: u32,
    /// [`CAI_DEVICE_MAPS_HOST`] and so on
    pub flags: u32,
    /// tells the device from all others, whatever its ordinal; 0 for the
    /// CPU
    pub uuid: [u8; 16usize],
    /// 0 for the CPU, as the next two
    pub pci_domain: i32,
    pub pci_bus: i32,
    pub pci_slot: i32,
    /// 0
    pub reserved: i32,
    /// bytes of its memory
    pub total: u64,
    /// NUL-terminated UTF-8
    pub name: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_device_info"][::core::mem::size_of::<cai_device_info>() - 304usize];
    ["Alignment of cai_device_info"][::core::mem::align_of::<cai_device_info>() - 8usize];
    ["Offset of field: cai_device_info::struct_size"]
        [::core::mem::offset_of!(cai_device_info, struct_size) - 0usize];
    ["Offset of field: cai_device_info::flags"]
        [::core::mem::offset_of!(cai_device_info, flags) - 4usize];
    ["Offset of field: cai_device_info::uuid"]
        [::core::mem::offset_of!(cai_device_info, uuid) - 8usize];
    ["Offset of field: cai_device_info::pci_domain"]
        [::core::mem::offset_of!(cai_device_info, pci_domain) - 24usize];
    ["Offset of field: cai_device_info::pci_bus"]
        [::core::mem::offset_of!(cai_device_info, pci_bus) - 28usize];
    ["Offset of field: cai_device_info::pci_slot"]
        [::core::mem::offset_of!(cai_device_info, pci_slot) - 32usize];
    ["Offset of field: cai_device_info::reserved"]
        [::core::mem::offset_of!(cai_device_info, reserved) - 36usize];
    ["Offset of field: cai_device_info::total"]
        [::core::mem::offset_of!(cai_device_info, total) - 40usize];
    ["Offset of field: cai_device_info::name"]
        [::core::mem::offset_of!(cai_device_info, name) - 48usize];
};
/// Called by [`cai_device_reset()`]. May call any function but [`cai_device_reset()`]. Since 0.1.
pub type cai_reset_fn = ::core::option::Option<
    unsafe extern "C" fn(context: *mut ::core::ffi::c_void, device: cai_device),
>;
/// also destroys the GPU's primary context, and with it all that
/// anybody in the process has there
pub const CAI_RESET_CONTEXT: u32 = 1;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream {
    _unused: [u8; 0],
}
/// CPU: at once, on the calling thread. GPU: the legacy default stream
pub const CAI_MODE_DEFAULT: u32 = 0;
/// CPU: likewise. GPU: a stream that the legacy one waits for, and that
/// waits for it
pub const CAI_MODE_SYNC: u32 = 1;
/// CPU: one thread of its own, first in, first out. GPU: a stream that is
/// independent of the legacy one
pub const CAI_MODE_ASYNC: u32 = 2;
pub const CAI_CAPTURE_NONE: u32 = 0;
/// into a graph
pub const CAI_CAPTURE_ACTIVE: u32 = 1;
/// by an error; whoever captures must end it
pub const CAI_CAPTURE_INVALIDATED: u32 = 2;
/// What is known of a stream. It grows at the tail. 64 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream_info {
    /// in: sizeof([`cai_stream_info`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// `CAI_MODE_*`; of a wrapped stream, as the driver describes it
    pub mode: u32,
    pub device: cai_device,
    /// as [`cai_stream_value()`]
    pub value: u64,
    /// tells it from all streams that there ever were in this process
    pub id: u64,
    pub priority: i32,
    /// `CAI_CAPTURE_*`
    pub capture: u32,
    /// of the capture; 0 if there is none
    pub capture_id: u64,
    /// see [`cai_stream_set_thread_limit()`]; 0 for a GPU
    pub thread_limit: i32,
    /// 1 for [`cai_stream_wrap()`]
    pub wrapped: u32,
    /// 0
    pub reserved: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_stream_info"][::core::mem::size_of::<cai_stream_info>() - 64usize];
    ["Alignment of cai_stream_info"][::core::mem::align_of::<cai_stream_info>() - 8usize];
    ["Offset of field: cai_stream_info::struct_size"]
        [::core::mem::offset_of!(cai_stream_info, struct_size) - 0usize];
    ["Offset of field: cai_stream_info::mode"]
        [::core::mem::offset_of!(cai_stream_info, mode) - 4usize];
    ["Offset of field: cai_stream_info::device"]
        [::core::mem::offset_of!(cai_stream_info, device) - 8usize];
    ["Offset of field: cai_stream_info::value"]
        [::core::mem::offset_of!(cai_stream_info, value) - 16usize];
    ["Offset of field: cai_stream_info::id"]
        [::core::mem::offset_of!(cai_stream_info, id) - 24usize];
    ["Offset of field: cai_stream_info::priority"]
        [::core::mem::offset_of!(cai_stream_info, priority) - 32usize];
    ["Offset of field: cai_stream_info::capture"]
        [::core::mem::offset_of!(cai_stream_info, capture) - 36usize];
    ["Offset of field: cai_stream_info::capture_id"]
        [::core::mem::offset_of!(cai_stream_info, capture_id) - 40usize];
    ["Offset of field: cai_stream_info::thread_limit"]
        [::core::mem::offset_of!(cai_stream_info, thread_limit) - 48usize];
    ["Offset of field: cai_stream_info::wrapped"]
        [::core::mem::offset_of!(cai_stream_info, wrapped) - 52usize];
    ["Offset of field: cai_stream_info::reserved"]
        [::core::mem::offset_of!(cai_stream_info, reserved) - 56usize];
};
/// A piece of work. On failure it writes the error and returns its status. Must not throw. On a
/// GPU's stream it runs on a thread of the driver's, and must not call the driver. Since 0.1.
pub type cai_work_fn = ::core::option::Option<
    unsafe extern "C" fn(context: *mut ::core::ffi::c_void, error: *mut cai_error) -> cai_status,
>;
/// A stream that is current for a while: filled in by [`cai_stream_enter()`], for [`cai_stream_leave()`].
/// Neither copied nor changed between the two. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream_guard {
    /// held
    pub stream: *mut cai_stream,
    /// held
    pub previous: *mut cai_stream,
    /// of [`cai_stream_enter()`]; 0 once left
    pub thread: u64,
    /// how many guards of this device the thread had entered
    pub depth: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_stream_guard"][::core::mem::size_of::<cai_stream_guard>() - 32usize];
    ["Alignment of cai_stream_guard"][::core::mem::align_of::<cai_stream_guard>() - 8usize];
    ["Offset of field: cai_stream_guard::stream"]
        [::core::mem::offset_of!(cai_stream_guard, stream) - 0usize];
    ["Offset of field: cai_stream_guard::previous"]
        [::core::mem::offset_of!(cai_stream_guard, previous) - 8usize];
    ["Offset of field: cai_stream_guard::thread"]
        [::core::mem::offset_of!(cai_stream_guard, thread) - 16usize];
    ["Offset of field: cai_stream_guard::depth"]
        [::core::mem::offset_of!(cai_stream_guard, depth) - 24usize];
};
/// does not wait for the work on the stream
pub const CAI_LEAVE_QUEUED: u32 = 1;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_event {
    _unused: [u8; 0],
}
/// it keeps the time, for [`cai_event_elapsed()`]
pub const CAI_EVENT_TIMING: u32 = 1;
/// no memory
pub const CAI_KIND_NONE: u32 = 0;
/// "default": the device's own; of the CPU: the heap
pub const CAI_KIND_DEFAULT: u32 = 1;
/// "async": the device's own, allocated and freed in the order of
/// the stream; used on others only after an event
pub const CAI_KIND_ASYNC: u32 = 2;
/// "pitched": the device's own, in padded rows
pub const CAI_KIND_PITCHED: u32 = 3;
/// "pitched_managed": managed, in padded rows
pub const CAI_KIND_PITCHED_MANAGED: u32 = 4;
/// "pinned": the host's, from which a GPU copies fast; of the CPU:
/// for the current GPU, or the heap if there is none
pub const CAI_KIND_PINNED: u32 = 5;
/// "mapped": pinned, and used by kernels where it is
pub const CAI_KIND_MAPPED: u32 = 6;
/// "managed": migrates; only its stream and the host use it. On a
/// default stream: as MANAGED_GLOBAL
pub const CAI_KIND_MANAGED: u32 = 7;
/// "managed_global": migrates; every stream uses it
pub const CAI_KIND_MANAGED_GLOBAL: u32 = 8;
/// "cuda_array": a CUarray, for textures alone: no address
pub const CAI_KIND_CUDA_ARRAY: u32 = 9;
/// "host": the heap, whatever the device
pub const CAI_KIND_HOST: u32 = 10;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_manager {
    _unused: [u8; 0],
}
/// Memory as a manager gives and takes it. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_block {
    /// address, as kernels use it; for the CPU, as the host does
    pub data: u64,
    /// address, as the host uses it; 0 if it must not
    pub host: u64,
    /// bytes, at least what was asked for
    pub size: u64,
    /// the manager's own
    pub cookie: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_block"][::core::mem::size_of::<cai_block>() - 32usize];
    ["Alignment of cai_block"][::core::mem::align_of::<cai_block>() - 8usize];
    ["Offset of field: cai_block::data"][::core::mem::offset_of!(cai_block, data) - 0usize];
    ["Offset of field: cai_block::host"][::core::mem::offset_of!(cai_block, host) - 8usize];
    ["Offset of field: cai_block::size"][::core::mem::offset_of!(cai_block, size) - 16usize];
    ["Offset of field: cai_block::cookie"][::core::mem::offset_of!(cai_block, cookie) - 24usize];
};
/// pinned for all GPUs
pub const CAI_HOST_PORTABLE: u32 = 1;
/// fast to write, and for the GPU to read; slow to read
pub const CAI_HOST_WRITE_COMBINED: u32 = 2;
/// by the bytes alone: memory of the kind DEFAULT
pub const CAI_IPC_LEGACY: u32 = 1;
/// by the bytes and a file descriptor of the pool, which is passed beside
/// them: memory of an exportable pool
pub const CAI_IPC_POOL: u32 = 2;
/// Memory for another process: to be sent as it is. 160 bytes, never more. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_ipc_handle {
    /// sizeof([`cai_ipc_handle`]) of who made it
    pub struct_size: u32,
    /// `CAI_IPC_*`
    pub kind: u32,
    /// bytes of the memory
    pub size: u64,
    /// of the memory in the allocation that `data` names
    pub offset: u64,
    /// of who made it; a process does not open its own
    pub process: u64,
    /// POOL: tells the pool from others of that process
    pub pool: u64,
    /// the device's identity, as [`cai_device_info.uuid`](cai_device_info::uuid)
    pub uuid: [u8; 16usize],
    pub pci_domain: i32,
    pub pci_bus: i32,
    pub pci_slot: i32,
    /// 0
    pub reserved: u32,
    /// the driver's
    pub data: [u8; 64usize],
    /// when that process began: process ids recur
    pub process_start: u64,
    /// 0
    pub reserved1: u64,
    /// 0
    pub reserved2: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_ipc_handle"][::core::mem::size_of::<cai_ipc_handle>() - 160usize];
    ["Alignment of cai_ipc_handle"][::core::mem::align_of::<cai_ipc_handle>() - 8usize];
    ["Offset of field: cai_ipc_handle::struct_size"]
        [::core::mem::offset_of!(cai_ipc_handle, struct_size) - 0usize];
    ["Offset of field: cai_ipc_handle::kind"]
        [::core::mem::offset_of!(cai_ipc_handle, kind) - 4usize];
    ["Offset of field: cai_ipc_handle::size"]
        [::core::mem::offset_of!(cai_ipc_handle, size) - 8usize];
    ["Offset of field: cai_ipc_handle::offset"]
        [::core::mem::offset_of!(cai_ipc_handle, offset) - 16usize];
    ["Offset of field: cai_ipc_handle::process"]
        [::core::mem::offset_of!(cai_ipc_handle, process) - 24usize];
    ["Offset of field: cai_ipc_handle::pool"]
        [::core::mem::offset_of!(cai_ipc_handle, pool) - 32usize];
    ["Offset of field: cai_ipc_handle::uuid"]
        [::core::mem::offset_of!(cai_ipc_handle, uuid) - 40usize];
    ["Offset of field: cai_ipc_handle::pci_domain"]
        [::core::mem::offset_of!(cai_ipc_handle, pci_domain) - 56usize];
    ["Offset of field: cai_ipc_handle::pci_bus"]
        [::core::mem::offset_of!(cai_ipc_handle, pci_bus) - 60usize];
    ["Offset of field: cai_ipc_handle::pci_slot"]
        [::core::mem::offset_of!(cai_ipc_handle, pci_slot) - 64usize];
    ["Offset of field: cai_ipc_handle::reserved"]
        [::core::mem::offset_of!(cai_ipc_handle, reserved) - 68usize];
    ["Offset of field: cai_ipc_handle::data"]
        [::core::mem::offset_of!(cai_ipc_handle, data) - 72usize];
    ["Offset of field: cai_ipc_handle::process_start"]
        [::core::mem::offset_of!(cai_ipc_handle, process_start) - 136usize];
    ["Offset of field: cai_ipc_handle::reserved1"]
        [::core::mem::offset_of!(cai_ipc_handle, reserved1) - 144usize];
    ["Offset of field: cai_ipc_handle::reserved2"]
        [::core::mem::offset_of!(cai_ipc_handle, reserved2) - 152usize];
};
pub const CAI_MANAGER_VERSION: u32 = 1;
/// A manager: functions, of which the first six are required, and NULL in the place of any other
/// means the upstream manager's, if there is one, else what is said there. It grows at the tail; a
/// table of a newer version is refused.
///
/// All but create and destroy may be called from any thread, by several at a time. They are called
/// with the GPU's primary context current, and with no lock of libcai's held; they may call libcai.
/// What comes back to the manager itself must end: of a function that has called itself eight times
/// on the thread, of `initialize` that asks for memory of its own manager, and of `create` that asks
/// for the device's manager while it makes that, libcai returns [`CAI_ERR_STATE`]. They must not throw,
/// and leave outputs alone on failure. A `stream` is 1, 2 or a CUstream; 0 for the CPU.
/// Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_manager_table {
    /// sizeof([`cai_manager_table`])
    pub struct_size: u32,
    /// [`CAI_MANAGER_VERSION`]
    pub version: u32,
    /// for errors and logs; must stay for ever
    pub name: *const ::core::ffi::c_char,
    /// Makes the manager of a device.
    ///
    /// # Arguments
    ///
    /// - `params`: what [`cai_manager_create()`] was given; NULL if libcai makes it by itself
    /// - `upstream`: held as long as the manager lives; may be NULL
    pub create: ::core::option::Option<
        unsafe extern "C" fn(
            params: *const ::core::ffi::c_void,
            device: cai_device,
            upstream: *mut cai_manager,
            self_: *mut *mut ::core::ffi::c_void,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Ends it. Memory may be out still; it is then not freed any more.
    pub destroy: ::core::option::Option<unsafe extern "C" fn(self_: *mut ::core::ffi::c_void)>,
    /// Called before the first allocation, perhaps again, and by several threads at once if they come
    /// first together; keeps what is there. NBEP 7, initialize.
    pub initialize: ::core::option::Option<
        unsafe extern "C" fn(self_: *mut ::core::ffi::c_void, error: *mut cai_error) -> cai_status,
    >,
    /// Gives up what it keeps for later: the device is being reset. May come before initialize, which
    /// is called again afterwards. What is out is still freed, unless the primary context is
    /// destroyed: then nothing but destroy follows. NBEP 7, reset.
    pub reset: ::core::option::Option<
        unsafe extern "C" fn(self_: *mut ::core::ffi::c_void, error: *mut cai_error) -> cai_status,
    >,
    /// Allocates. NBEP 7, memalloc.
    ///
    /// # Arguments
    ///
    /// - `size`: bytes, never 0
    /// - `align`: bytes, a power of two
    /// - `kind`: DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL
    ///
    /// # Returns
    ///
    /// [`CAI_ERR_MEMORY`] if there is not so much left: then what is pending is freed, and it is
    /// called once more (a manager with an upstream one only if something was pending);
    /// [`CAI_ERR_UNSUPPORTED`] for a kind that it does not have
    pub memalloc: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            size: u64,
            align: u64,
            kind: u32,
            stream: u64,
            out: *mut cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Frees what memalloc gave, in the order of `stream`. It must not wait for the device: see
    /// [`cai_pending_add()`]. ASYNC memory is neither asked for nor freed on a stream that is being
    /// captured, since libcai looks; whoever gives other kinds in the order of the stream, too, looks
    /// by itself.
    ///
    /// # Returns
    ///
    /// [`CAI_ERR_CAPTURE`] if the capture forbids it: the block is out still, and comes again.
    /// After any other failure it does not. So it is for all functions that undo something
    pub memfree: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            stream: u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Allocates the host's memory. NULL: the driver's, which is freed with what is pending, or the
    /// heap. NBEP 7, memhostalloc.
    ///
    /// # Arguments
    ///
    /// - `kind`: PINNED, MAPPED or HOST
    /// - `flags`: `CAI_HOST_*`
    pub memhostalloc: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            size: u64,
            align: u64,
            kind: u32,
            flags: u32,
            out: *mut cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Frees what memhostalloc gave. NULL if and only if memhostalloc is.
    pub memhostfree: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Pins memory of the host's that is there. NULL: by the driver. NBEP 7, mempin.
    ///
    /// # Arguments
    ///
    /// - `kind`: PINNED or MAPPED
    pub mempin: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            host: *mut ::core::ffi::c_void,
            size: u64,
            kind: u32,
            flags: u32,
            out: *mut cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Undoes mempin, at once, even if that waits for the device: the memory may be pinned again by
    /// anybody, or end. NULL if and only if mempin is.
    pub memunpin: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Finds the driver's allocation around an address. NULL: the driver is asked.
    pub base: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            address: u64,
            base: *mut u64,
            size: *mut u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Shares memory with other processes. NULL: by the driver. NBEP 7, get_ipc_handle.
    ///
    /// # Arguments
    ///
    /// - `fd`: gets the descriptor for [`CAI_IPC_POOL`], the caller's to close; else -1
    pub get_ipc_handle: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            out: *mut cai_ipc_handle,
            fd: *mut i32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Opens memory of another process where it is, for work on any stream. A handle that is open is
    /// not opened again. NULL: by the driver.
    pub open_ipc_handle: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            handle: *const cai_ipc_handle,
            fd: i32,
            stream: u64,
            out: *mut cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Closes what open_ipc_handle opened. NULL if and only if open_ipc_handle is.
    pub close_ipc_handle: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            stream: u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Says how much there is. NULL: [`cai_device_memory()`]. NBEP 7, get_memory_info.
    pub get_memory_info: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            free: *mut u64,
            total: *mut u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Frees nothing that it keeps pending (`enter` 1) until as many calls with 0. NULL: it keeps
    /// nothing but by [`cai_pending_add()`]. NBEP 7, defer_cleanup.
    pub defer_cleanup: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            enter: i32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Gives what is freed but kept back, down to `keep` bytes. NULL: there is nothing.
    pub trim: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            keep: u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_manager_table"][::core::mem::size_of::<cai_manager_table>() - 152usize];
    ["Alignment of cai_manager_table"][::core::mem::align_of::<cai_manager_table>() - 8usize];
    ["Offset of field: cai_manager_table::struct_size"]
        [::core::mem::offset_of!(cai_manager_table, struct_size) - 0usize];
    ["Offset of field: cai_manager_table::version"]
        [::core::mem::offset_of!(cai_manager_table, version) - 4usize];
    ["Offset of field: cai_manager_table::name"]
        [::core::mem::offset_of!(cai_manager_table, name) - 8usize];
    ["Offset of field: cai_manager_table::create"]
        [::core::mem::offset_of!(cai_manager_table, create) - 16usize];
    ["Offset of field: cai_manager_table::destroy"]
        [::core::mem::offset_of!(cai_manager_table, destroy) - 24usize];
    ["Offset of field: cai_manager_table::initialize"]
        [::core::mem::offset_of!(cai_manager_table, initialize) - 32usize];
    ["Offset of field: cai_manager_table::reset"]
        [::core::mem::offset_of!(cai_manager_table, reset) - 40usize];
    ["Offset of field: cai_manager_table::memalloc"]
        [::core::mem::offset_of!(cai_manager_table, memalloc) - 48usize];
    ["Offset of field: cai_manager_table::memfree"]
        [::core::mem::offset_of!(cai_manager_table, memfree) - 56usize];
    ["Offset of field: cai_manager_table::memhostalloc"]
        [::core::mem::offset_of!(cai_manager_table, memhostalloc) - 64usize];
    ["Offset of field: cai_manager_table::memhostfree"]
        [::core::mem::offset_of!(cai_manager_table, memhostfree) - 72usize];
    ["Offset of field: cai_manager_table::mempin"]
        [::core::mem::offset_of!(cai_manager_table, mempin) - 80usize];
    ["Offset of field: cai_manager_table::memunpin"]
        [::core::mem::offset_of!(cai_manager_table, memunpin) - 88usize];
    ["Offset of field: cai_manager_table::base"]
        [::core::mem::offset_of!(cai_manager_table, base) - 96usize];
    ["Offset of field: cai_manager_table::get_ipc_handle"]
        [::core::mem::offset_of!(cai_manager_table, get_ipc_handle) - 104usize];
    ["Offset of field: cai_manager_table::open_ipc_handle"]
        [::core::mem::offset_of!(cai_manager_table, open_ipc_handle) - 112usize];
    ["Offset of field: cai_manager_table::close_ipc_handle"]
        [::core::mem::offset_of!(cai_manager_table, close_ipc_handle) - 120usize];
    ["Offset of field: cai_manager_table::get_memory_info"]
        [::core::mem::offset_of!(cai_manager_table, get_memory_info) - 128usize];
    ["Offset of field: cai_manager_table::defer_cleanup"]
        [::core::mem::offset_of!(cai_manager_table, defer_cleanup) - 136usize];
    ["Offset of field: cai_manager_table::trim"]
        [::core::mem::offset_of!(cai_manager_table, trim) - 144usize];
};
/// Params of "pool"; NULL: all 0. It grows at the tail. 40 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_pool_params {
    pub struct_size: u32,
    /// `CAI_POOL_*`
    pub flags: u32,
    /// bytes that it holds from the beginning, and keeps
    pub initial: u64,
    /// bytes that it never exceeds; 0: the device's
    pub maximum: u64,
    /// bytes that it keeps when they are freed; UINT64_MAX: all
    pub threshold: u64,
    /// 0
    pub reserved: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_pool_params"][::core::mem::size_of::<cai_pool_params>() - 40usize];
    ["Alignment of cai_pool_params"][::core::mem::align_of::<cai_pool_params>() - 8usize];
    ["Offset of field: cai_pool_params::struct_size"]
        [::core::mem::offset_of!(cai_pool_params, struct_size) - 0usize];
    ["Offset of field: cai_pool_params::flags"]
        [::core::mem::offset_of!(cai_pool_params, flags) - 4usize];
    ["Offset of field: cai_pool_params::initial"]
        [::core::mem::offset_of!(cai_pool_params, initial) - 8usize];
    ["Offset of field: cai_pool_params::maximum"]
        [::core::mem::offset_of!(cai_pool_params, maximum) - 16usize];
    ["Offset of field: cai_pool_params::threshold"]
        [::core::mem::offset_of!(cai_pool_params, threshold) - 24usize];
    ["Offset of field: cai_pool_params::reserved"]
        [::core::mem::offset_of!(cai_pool_params, reserved) - 32usize];
};
/// its memory can be shared, [`CAI_IPC_POOL`]
pub const CAI_POOL_EXPORTABLE: u32 = 1;
/// the device's current pool until the manager ends: CuPy,
/// cuda.core, RMM and all who allocate in stream order
/// draw from it
pub const CAI_POOL_INSTALL: u32 = 2;
/// Params of "limiting". 16 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_limit_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// bytes that may be out at a time, by [`cai_block.size`](cai_block::size)
    pub limit: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_limit_params"][::core::mem::size_of::<cai_limit_params>() - 16usize];
    ["Alignment of cai_limit_params"][::core::mem::align_of::<cai_limit_params>() - 8usize];
    ["Offset of field: cai_limit_params::struct_size"]
        [::core::mem::offset_of!(cai_limit_params, struct_size) - 0usize];
    ["Offset of field: cai_limit_params::reserved"]
        [::core::mem::offset_of!(cai_limit_params, reserved) - 4usize];
    ["Offset of field: cai_limit_params::limit"]
        [::core::mem::offset_of!(cai_limit_params, limit) - 8usize];
};
/// Says who calls, for logs: writes at most `size` bytes of UTF-8 and a NUL, as "file.py:12". An
/// empty text: not known. Any thread. Since 0.1.
pub type cai_caller_fn = ::core::option::Option<
    unsafe extern "C" fn(
        context: *mut ::core::ffi::c_void,
        text: *mut ::core::ffi::c_char,
        size: u64,
    ),
>;
/// Params of "logging": to a file or to a function; the first line names the columns: time (seconds
/// since the manager was made), device, action, address, size, stream, status, caller. 48 bytes.
/// Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_log_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// appended to; NULL if `write` is set
    pub path: *const ::core::ffi::c_char,
    /// takes whole lines, with
    /// their end; any thread
    pub write: ::core::option::Option<
        unsafe extern "C" fn(
            context: *mut ::core::ffi::c_void,
            line: *const ::core::ffi::c_char,
            length: u64,
        ),
    >,
    /// may be NULL
    pub caller: cai_caller_fn,
    /// for both; the manager's once it is made
    pub context: *mut ::core::ffi::c_void,
    /// called once, when the manager has ended, on any thread; not
    /// if making it fails: then the context is still the caller's.
    /// NULL: the context must outlive the manager
    pub destroy: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_log_params"][::core::mem::size_of::<cai_log_params>() - 48usize];
    ["Alignment of cai_log_params"][::core::mem::align_of::<cai_log_params>() - 8usize];
    ["Offset of field: cai_log_params::struct_size"]
        [::core::mem::offset_of!(cai_log_params, struct_size) - 0usize];
    ["Offset of field: cai_log_params::reserved"]
        [::core::mem::offset_of!(cai_log_params, reserved) - 4usize];
    ["Offset of field: cai_log_params::path"]
        [::core::mem::offset_of!(cai_log_params, path) - 8usize];
    ["Offset of field: cai_log_params::write"]
        [::core::mem::offset_of!(cai_log_params, write) - 16usize];
    ["Offset of field: cai_log_params::caller"]
        [::core::mem::offset_of!(cai_log_params, caller) - 24usize];
    ["Offset of field: cai_log_params::context"]
        [::core::mem::offset_of!(cai_log_params, context) - 32usize];
    ["Offset of field: cai_log_params::destroy"]
        [::core::mem::offset_of!(cai_log_params, destroy) - 40usize];
};
/// Params of "tracking"; NULL: all 0. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_track_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// may be NULL
    pub caller: cai_caller_fn,
    /// for it; the manager's once it is made
    pub context: *mut ::core::ffi::c_void,
    /// as in [`cai_log_params`]
    pub destroy: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_track_params"][::core::mem::size_of::<cai_track_params>() - 32usize];
    ["Alignment of cai_track_params"][::core::mem::align_of::<cai_track_params>() - 8usize];
    ["Offset of field: cai_track_params::struct_size"]
        [::core::mem::offset_of!(cai_track_params, struct_size) - 0usize];
    ["Offset of field: cai_track_params::reserved"]
        [::core::mem::offset_of!(cai_track_params, reserved) - 4usize];
    ["Offset of field: cai_track_params::caller"]
        [::core::mem::offset_of!(cai_track_params, caller) - 8usize];
    ["Offset of field: cai_track_params::context"]
        [::core::mem::offset_of!(cai_track_params, context) - 16usize];
    ["Offset of field: cai_track_params::destroy"]
        [::core::mem::offset_of!(cai_track_params, destroy) - 24usize];
};
/// Params of "retrying". 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_retry_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// Memory is short: returns 1 to try again, having freed something, or 0 to give up.
    ///
    /// # Arguments
    ///
    /// - `attempt`: 0 at the first failure of an allocation, then 1 and so on
    pub retry: ::core::option::Option<
        unsafe extern "C" fn(context: *mut ::core::ffi::c_void, size: u64, attempt: u64) -> i32,
    >,
    /// for retry; the manager's once it is made
    pub context: *mut ::core::ffi::c_void,
    /// as in [`cai_log_params`]
    pub destroy: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_retry_params"][::core::mem::size_of::<cai_retry_params>() - 32usize];
    ["Alignment of cai_retry_params"][::core::mem::align_of::<cai_retry_params>() - 8usize];
    ["Offset of field: cai_retry_params::struct_size"]
        [::core::mem::offset_of!(cai_retry_params, struct_size) - 0usize];
    ["Offset of field: cai_retry_params::reserved"]
        [::core::mem::offset_of!(cai_retry_params, reserved) - 4usize];
    ["Offset of field: cai_retry_params::retry"]
        [::core::mem::offset_of!(cai_retry_params, retry) - 8usize];
    ["Offset of field: cai_retry_params::context"]
        [::core::mem::offset_of!(cai_retry_params, context) - 16usize];
    ["Offset of field: cai_retry_params::destroy"]
        [::core::mem::offset_of!(cai_retry_params, destroy) - 24usize];
};
/// Counts of "statistics", and of "limiting" and "tracking", too. Each is exact; while other
/// threads allocate or free, they may be of different moments. What a free has failed for is out
/// still, for a capture or for good. It grows at the tail. 64 bytes. Since
/// 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_statistics {
    /// in: sizeof([`cai_statistics`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// that are out, by [`cai_block.size`](cai_block::size)
    pub bytes: u64,
    /// the most that ever were
    pub bytes_peak: u64,
    /// ever allocated
    pub bytes_total: u64,
    /// allocations that are out
    pub count: u64,
    pub count_peak: u64,
    pub count_total: u64,
    /// allocations that failed
    pub failures: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_statistics"][::core::mem::size_of::<cai_statistics>() - 64usize];
    ["Alignment of cai_statistics"][::core::mem::align_of::<cai_statistics>() - 8usize];
    ["Offset of field: cai_statistics::struct_size"]
        [::core::mem::offset_of!(cai_statistics, struct_size) - 0usize];
    ["Offset of field: cai_statistics::reserved"]
        [::core::mem::offset_of!(cai_statistics, reserved) - 4usize];
    ["Offset of field: cai_statistics::bytes"]
        [::core::mem::offset_of!(cai_statistics, bytes) - 8usize];
    ["Offset of field: cai_statistics::bytes_peak"]
        [::core::mem::offset_of!(cai_statistics, bytes_peak) - 16usize];
    ["Offset of field: cai_statistics::bytes_total"]
        [::core::mem::offset_of!(cai_statistics, bytes_total) - 24usize];
    ["Offset of field: cai_statistics::count"]
        [::core::mem::offset_of!(cai_statistics, count) - 32usize];
    ["Offset of field: cai_statistics::count_peak"]
        [::core::mem::offset_of!(cai_statistics, count_peak) - 40usize];
    ["Offset of field: cai_statistics::count_total"]
        [::core::mem::offset_of!(cai_statistics, count_total) - 48usize];
    ["Offset of field: cai_statistics::failures"]
        [::core::mem::offset_of!(cai_statistics, failures) - 56usize];
};
/// An allocation that is out. Lives during the callback. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_allocation {
    /// bytes of this struct; it grows at the tail
    pub struct_size: u32,
    /// `CAI_KIND_*`
    pub kind: u32,
    pub data: u64,
    pub size: u64,
    pub stream: u64,
    /// when, since the manager was made
    pub seconds: f64,
    /// as [`cai_caller_fn`] said
    pub caller: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_allocation"][::core::mem::size_of::<cai_allocation>() - 48usize];
    ["Alignment of cai_allocation"][::core::mem::align_of::<cai_allocation>() - 8usize];
    ["Offset of field: cai_allocation::struct_size"]
        [::core::mem::offset_of!(cai_allocation, struct_size) - 0usize];
    ["Offset of field: cai_allocation::kind"]
        [::core::mem::offset_of!(cai_allocation, kind) - 4usize];
    ["Offset of field: cai_allocation::data"]
        [::core::mem::offset_of!(cai_allocation, data) - 8usize];
    ["Offset of field: cai_allocation::size"]
        [::core::mem::offset_of!(cai_allocation, size) - 16usize];
    ["Offset of field: cai_allocation::stream"]
        [::core::mem::offset_of!(cai_allocation, stream) - 24usize];
    ["Offset of field: cai_allocation::seconds"]
        [::core::mem::offset_of!(cai_allocation, seconds) - 32usize];
    ["Offset of field: cai_allocation::caller"]
        [::core::mem::offset_of!(cai_allocation, caller) - 40usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_memory {
    _unused: [u8; 0],
}
/// What memory is wanted. Zero it, set struct_size, kind and size. It grows at the tail. 88 bytes.
/// Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_request {
    /// sizeof([`cai_request`])
    pub struct_size: u32,
    /// `CAI_KIND_*`, not NONE
    pub kind: u32,
    /// bytes; of one row for PITCHED, PITCHED_MANAGED, CUDA_ARRAY
    pub size: u64,
    /// for those three: rows; CUDA_ARRAY: 0 has one dimension. Else 0
    pub rows: u64,
    /// CUDA_ARRAY: slices; 0 has no third dimension. Else 0
    pub depth: u64,
    /// a power of two; 0: 256 (of GPUs; 64 of the host)
    pub align: u64,
    /// `CAI_HOST_*`, for PINNED and MAPPED
    pub flags: u32,
    /// CUDA_ARRAY: items of an element, 1, 2 or 4. Else 0
    pub channels: u32,
    /// CUDA_ARRAY: of an item: 1 to 4 bytes of kind i, u or f. Else all 0
    pub dtype: cai_dtype,
    /// 0
    pub reserved: u32,
    /// NULL: the thread's current one of the device
    pub stream: *mut cai_stream,
    /// NULL: the device's
    pub manager: *mut cai_manager,
    /// 0
    pub reserved1: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_request"][::core::mem::size_of::<cai_request>() - 88usize];
    ["Alignment of cai_request"][::core::mem::align_of::<cai_request>() - 8usize];
    ["Offset of field: cai_request::struct_size"]
        [::core::mem::offset_of!(cai_request, struct_size) - 0usize];
    ["Offset of field: cai_request::kind"][::core::mem::offset_of!(cai_request, kind) - 4usize];
    ["Offset of field: cai_request::size"][::core::mem::offset_of!(cai_request, size) - 8usize];
    ["Offset of field: cai_request::rows"][::core::mem::offset_of!(cai_request, rows) - 16usize];
    ["Offset of field: cai_request::depth"][::core::mem::offset_of!(cai_request, depth) - 24usize];
    ["Offset of field: cai_request::align"][::core::mem::offset_of!(cai_request, align) - 32usize];
    ["Offset of field: cai_request::flags"][::core::mem::offset_of!(cai_request, flags) - 40usize];
    ["Offset of field: cai_request::channels"]
        [::core::mem::offset_of!(cai_request, channels) - 44usize];
    ["Offset of field: cai_request::dtype"][::core::mem::offset_of!(cai_request, dtype) - 48usize];
    ["Offset of field: cai_request::reserved"]
        [::core::mem::offset_of!(cai_request, reserved) - 60usize];
    ["Offset of field: cai_request::stream"]
        [::core::mem::offset_of!(cai_request, stream) - 64usize];
    ["Offset of field: cai_request::manager"]
        [::core::mem::offset_of!(cai_request, manager) - 72usize];
    ["Offset of field: cai_request::reserved1"]
        [::core::mem::offset_of!(cai_request, reserved1) - 80usize];
};
/// the host may use `host`
pub const CAI_MEMORY_DEREFERENCEABLE: u32 = 1;
/// [`cai_memory_free()`] was called, or the device reset
pub const CAI_MEMORY_FREED: u32 = 2;
/// [`cai_memory_wrap()`], or of another process
pub const CAI_MEMORY_FOREIGN: u32 = 4;
/// [`cai_memory_view()`]
pub const CAI_MEMORY_VIEW: u32 = 8;
/// nobody may write it, and arrays of it say so
pub const CAI_MEMORY_READONLY: u32 = 16;
/// What is known of memory. It grows at the tail. 96 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_memory_info {
    /// in: sizeof([`cai_memory_info`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// `CAI_MEMORY_*`
    pub flags: u32,
    pub device: cai_device,
    /// `CAI_KIND_*`
    pub kind: u32,
    /// CUDA_ARRAY
    pub channels: u32,
    /// address for kernels; CUDA_ARRAY: 0
    pub data: u64,
    /// address for the host, or 0
    pub host: u64,
    /// CUDA_ARRAY: the CUarray; else 0
    pub array: u64,
    /// bytes in all, the padding of rows too
    pub size: u64,
    /// bytes of a row that are used: as asked for; size if there are none
    pub row: u64,
    /// bytes from one row to the next; size if there are none
    pub pitch: u64,
    /// 1 if there are none
    pub rows: u64,
    /// 1 if there are none
    pub depth: u64,
    /// the free stream's value; 0 for the CPU
    pub stream: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_memory_info"][::core::mem::size_of::<cai_memory_info>() - 96usize];
    ["Alignment of cai_memory_info"][::core::mem::align_of::<cai_memory_info>() - 8usize];
    ["Offset of field: cai_memory_info::struct_size"]
        [::core::mem::offset_of!(cai_memory_info, struct_size) - 0usize];
    ["Offset of field: cai_memory_info::flags"]
        [::core::mem::offset_of!(cai_memory_info, flags) - 4usize];
    ["Offset of field: cai_memory_info::device"]
        [::core::mem::offset_of!(cai_memory_info, device) - 8usize];
    ["Offset of field: cai_memory_info::kind"]
        [::core::mem::offset_of!(cai_memory_info, kind) - 16usize];
    ["Offset of field: cai_memory_info::channels"]
        [::core::mem::offset_of!(cai_memory_info, channels) - 20usize];
    ["Offset of field: cai_memory_info::data"]
        [::core::mem::offset_of!(cai_memory_info, data) - 24usize];
    ["Offset of field: cai_memory_info::host"]
        [::core::mem::offset_of!(cai_memory_info, host) - 32usize];
    ["Offset of field: cai_memory_info::array"]
        [::core::mem::offset_of!(cai_memory_info, array) - 40usize];
    ["Offset of field: cai_memory_info::size"]
        [::core::mem::offset_of!(cai_memory_info, size) - 48usize];
    ["Offset of field: cai_memory_info::row"]
        [::core::mem::offset_of!(cai_memory_info, row) - 56usize];
    ["Offset of field: cai_memory_info::pitch"]
        [::core::mem::offset_of!(cai_memory_info, pitch) - 64usize];
    ["Offset of field: cai_memory_info::rows"]
        [::core::mem::offset_of!(cai_memory_info, rows) - 72usize];
    ["Offset of field: cai_memory_info::depth"]
        [::core::mem::offset_of!(cai_memory_info, depth) - 80usize];
    ["Offset of field: cai_memory_info::stream"]
        [::core::mem::offset_of!(cai_memory_info, stream) - 88usize];
};
/// What is out and what is pending on a device. It grows at the tail. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_usage {
    /// in: sizeof([`cai_usage`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// calls of [`cai_pending_defer()`] that are open
    pub deferred: u32,
    /// of [`cai_memory`] that is out, but not what a manager takes inside of
    /// its functions, to give it; pinned and managed memory of a GPU counts
    /// for the CPU, too
    pub bytes: u64,
    /// of them
    pub count: u64,
    /// of frees that are pending
    pub pending_bytes: u64,
    /// of them, and of streams and events to be destroyed
    pub pending_count: u64,
    /// 0
    pub reserved: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_usage"][::core::mem::size_of::<cai_usage>() - 48usize];
    ["Alignment of cai_usage"][::core::mem::align_of::<cai_usage>() - 8usize];
    ["Offset of field: cai_usage::struct_size"]
        [::core::mem::offset_of!(cai_usage, struct_size) - 0usize];
    ["Offset of field: cai_usage::deferred"][::core::mem::offset_of!(cai_usage, deferred) - 4usize];
    ["Offset of field: cai_usage::bytes"][::core::mem::offset_of!(cai_usage, bytes) - 8usize];
    ["Offset of field: cai_usage::count"][::core::mem::offset_of!(cai_usage, count) - 16usize];
    ["Offset of field: cai_usage::pending_bytes"]
        [::core::mem::offset_of!(cai_usage, pending_bytes) - 24usize];
    ["Offset of field: cai_usage::pending_count"]
        [::core::mem::offset_of!(cai_usage, pending_count) - 32usize];
    ["Offset of field: cai_usage::reserved"]
        [::core::mem::offset_of!(cai_usage, reserved) - 40usize];
};
/// where it is: on its own device, or from one that can access that
pub const CAI_OPEN_DIRECT: u32 = 1;
/// as a copy in new memory, queued on the stream; nothing foreign is held
/// once that is done
pub const CAI_OPEN_STAGED: u32 = 2;
/// direct where that can be, else staged
pub const CAI_OPEN_AUTO: u32 = 3;
functions! {
    memory:
    /// Reads a device: "cpu", "gpu" (the thread's current one), "gpu:1" or "cuda:1", "gpu:free" (the
    /// one with the most free memory); "cuda" says the same as "gpu". Case does not matter, nor do
    /// blanks at both ends and around the colon.
    ///
    /// # Arguments
    ///
    /// - `text`: NUL-terminated UTF-8
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] if the text is none of these; [`CAI_ERR_DEVICE`] if there is no such
    /// GPU; [`CAI_ERR_DRIVER`] and [`CAI_ERR_CUDA`] for GPUs; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_parse(
        text: *const ::core::ffi::c_char,
        out: *mut cai_device,
        error: *mut cai_error,
    ) -> cai_status;
    /// Writes a device as "cpu" or "gpu:1"; whether there is such a GPU is not asked.
    ///
    /// # Arguments
    ///
    /// - `text`: [`CAI_DEVICE_TEXT_SIZE`] bytes; gets the text and its NUL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] if its type or id is that of no device; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_format(
        device: cai_device,
        text: *mut ::core::ffi::c_char,
        error: *mut cai_error,
    ) -> cai_status;
    /// Counts the devices of a type: 1 CPU; 0 GPUs if there is no driver, or none that libcai can use.
    ///
    /// # Arguments
    ///
    /// - `type`: [`CAI_DEVICE_CPU`] or [`CAI_DEVICE_CUDA`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for another type; [`CAI_ERR_CUDA`]; [`CAI_ERR_STATE`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_count(type_: i32, count: *mut i32, error: *mut cai_error) -> cai_status;
    /// Finds the calling thread's current device of a type: the CPU, or the GPU of its current context,
    /// or, if none is current, GPU 0.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for another type; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_DEVICE`]
    /// if there is no GPU; [`CAI_ERR_STATE`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_current(
        type_: i32,
        out: *mut cai_device,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a GPU's primary context current on the calling thread, in the place of the one that is.
    /// Nothing for the CPU.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if there is no such device; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_STATE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_device_set_current(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Makes a device current until [`cai_device_leave()`] with the same guard on the same thread: pushes a
    /// GPU's primary context. Nothing for the CPU.
    ///
    /// # Returns
    ///
    /// as [`cai_device_set_current()`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_enter(
        device: cai_device,
        guard: *mut cai_device_guard,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes what was current before [`cai_device_enter()`] current again. Guards are left in the reverse
    /// order.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`], and nothing changed, on another thread, for a guard that was
    /// left already, and if the context that was entered is not the current one; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_leave(guard: *mut cai_device_guard, error: *mut cai_error) -> cai_status;
    /// Says what is known of a device.
    ///
    /// # Arguments
    ///
    /// - `out`: struct_size set by the caller
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if there is no such device; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_STATE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_describe(
        device: cai_device,
        out: *mut cai_device_info,
        error: *mut cai_error,
    ) -> cai_status;
    /// Writes a few lines for people: name, identity, memory, what the device can do.
    ///
    /// # Arguments
    ///
    /// - `text`: `size` bytes; gets the lines, cut if need be, and a NUL. May be NULL if size is 0
    /// - `length`: may be NULL; gets the bytes of the whole text, without the NUL
    ///
    /// # Returns
    ///
    /// as [`cai_device_describe()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_device_summary(
        device: cai_device,
        text: *mut ::core::ffi::c_char,
        size: u64,
        length: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Finds the GPU with an identity, under whatever ordinal this process knows it.
    ///
    /// # Arguments
    ///
    /// - `uuid`: 16 bytes, as [`cai_device_info.uuid`](cai_device_info::uuid)
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if there is none; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_STATE`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_find(
        uuid: *const u8,
        out: *mut cai_device,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says how much memory a device has free, and in all; of the machine for the CPU.
    ///
    /// # Arguments
    ///
    /// - `free`: bytes; may be NULL
    /// - `total`: bytes; may be NULL
    ///
    /// # Returns
    ///
    /// as [`cai_device_describe()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_device_memory(
        device: cai_device,
        free: *mut u64,
        total: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Finds the device of a type with the most free memory; the first of several.
    ///
    /// # Returns
    ///
    /// as [`cai_device_current()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_device_most_free(
        type_: i32,
        out: *mut cai_device,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says whether kernels on a device can be allowed to use the memory of another one. A device can
    /// use its own; GPU and CPU cannot use each other's.
    ///
    /// # Arguments
    ///
    /// - `yes`: gets 1 or 0
    ///
    /// # Returns
    ///
    /// as [`cai_device_describe()`].
    ///
    /// Since 0.1.
    pub fn cai_device_can_access(
        device: cai_device,
        peer: cai_device,
        yes: *mut i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Waits until the calling thread's current stream of the device, and then all else that is queued
    /// in the GPU's primary context, is complete.
    ///
    /// The driver refuses that while any stream of the context is being captured, and ends the capture.
    /// libcai looks first, at the streams that it has handles of and at those in order with the legacy
    /// stream. It cannot see others: make a handle of such a stream, [`cai_stream_wrap()`], or do not call
    /// this while it is captured.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if one of the streams that it sees is being captured, and the
    /// capture goes on; [`CAI_ERR_CUDA`] with 900 in `native` if another one was, and the driver
    /// has ended the capture; a failure of earlier work as [`cai_stream_synchronize()`]; the rest as
    /// [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_device_synchronize(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Adds a callback that the next [`cai_device_reset()`] of any device calls once, after it has
    /// synchronised and before it resets; it stays for later ones. A pair of function and context that
    /// is there already is not added again.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_on_reset(
        callback: cai_reset_fn,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Takes a callback away; nothing if it is not there. A reset that has begun may still call it.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_off_reset(
        callback: cai_reset_fn,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Synchronises a device, calls the callbacks, frees what is pending ([`cai_pending_add()`]), resets
    /// the managers of the device, and drops the calling thread's current streams of it. Callbacks run
    /// in the order in which they were added, with no lock held.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_RESET_*`. After [`CAI_RESET_CONTEXT`], memory, streams and events of the device
    ///   that somebody still holds are dead: using them is [`CAI_ERR_STATE`], releasing them is
    ///   safe. The context stays current wherever it was, and the next function that works
    ///   on the device makes it anew
    ///
    /// # Returns
    ///
    /// as [`cai_device_synchronize()`], and then nothing but synchronising has happened;
    /// [`CAI_ERR_CUDA`] also for the reset itself; [`CAI_ERR_STATE`] inside of a callback;
    /// [`CAI_ERR_ARGUMENT`] for other flags.
    ///
    /// Since 0.1.
    pub fn cai_device_reset(device: cai_device, flags: u32, error: *mut cai_error) -> cai_status;
    /// Says how much freed memory the device's current pool keeps for later: the driver gives back what
    /// exceeds it whenever streams synchronise. Nothing for the CPU.
    ///
    /// # Arguments
    ///
    /// - `bytes`: at first 0
    ///
    /// # Returns
    ///
    /// as [`cai_device_set_current()`]; [`CAI_ERR_UNSUPPORTED`] for a GPU without pools.
    ///
    /// Since 0.1.
    pub fn cai_device_set_cache(
        device: cai_device,
        bytes: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Gives freed memory of the device's current pool back, down to `keep` bytes. Nothing for the CPU.
    ///
    /// # Returns
    ///
    /// as [`cai_device_set_cache()`].
    ///
    /// Since 0.1.
    pub fn cai_device_trim_cache(
        device: cai_device,
        keep: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a stream.
    ///
    /// # Arguments
    ///
    /// - `mode`: `CAI_MODE_*`
    /// - `priority`: 0 is the default, and lower is more urgent; the driver clips it. 0 for the CPU
    ///   and for [`CAI_MODE_DEFAULT`]
    /// - `out`: one holder. The last [`cai_stream_release()`] waits for nothing: work that is queued
    ///   still runs, and a GPU's stream is destroyed with the frees that are pending
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for another mode or priority; the rest as
    /// [`cai_device_set_current()`], and [`CAI_ERR_UNSUPPORTED`] if no thread could be made.
    ///
    /// Since 0.1.
    pub fn cai_stream_create(
        device: cai_device,
        mode: u32,
        priority: i32,
        out: *mut *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a handle for a GPU's stream of somebody else's. Streams are the same if their values,
    /// contexts and (for 2) threads are, whoever wrapped them.
    ///
    /// # Arguments
    ///
    /// - `device`: the stream's
    /// - `value`: 1 or 2 of the device's primary context, or a CUstream. 2 is the calling thread's:
    ///   using the handle on another one is [`CAI_ERR_STATE`]
    /// - `release`: ends the stream once libcai needs it no longer; runs once, on any thread, no lock
    ///   held; may be NULL
    /// - `context`: for release. On success it belongs to the handle; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for 0; [`CAI_ERR_DEVICE`] if the stream is not that device's, or
    /// that is the CPU; [`CAI_ERR_ARGUMENT`]; the rest as [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_stream_wrap(
        device: cai_device,
        value: u64,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        out: *mut *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Adds one holder. Since 0.1.
    pub fn cai_stream_retain(stream: *mut cai_stream);
    /// Takes one holder away. Work that a CPU stream does may do so, even the last one. Since 0.1.
    pub fn cai_stream_release(stream: *mut cai_stream);
    /// Returns the stream as the functions under "Order" in cai.h and the dict take it: 1, 2 or a
    /// CUstream; 0 for a CPU's stream, and for NULL. Since 0.1.
    pub fn cai_stream_value(stream: *const cai_stream) -> u64;
    /// Says what is known of a stream.
    ///
    /// # Arguments
    ///
    /// - `out`: struct_size set by the caller
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_CUDA`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_describe(
        stream: *mut cai_stream,
        out: *mut cai_stream_info,
        error: *mut cai_error,
    ) -> cai_status;
    /// Sets how many threads work on a CPU stream may use, for that work to read.
    ///
    /// # Arguments
    ///
    /// - `threads`: at least 1; at first the machine's number of processors
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`]; [`CAI_ERR_DEVICE`] for a GPU's stream; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_set_thread_limit(
        stream: *mut cai_stream,
        threads: i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Queues a function. A CPU stream that is not [`CAI_MODE_ASYNC`] runs it before the call returns.
    ///
    /// The first failure of work on a stream drops what waits there on the CPU (`done` is called all the
    /// same), and is returned once, by the next of these for the handle: [`cai_stream_enqueue()`], which
    /// then queues nothing, [`cai_stream_query()`], [`cai_stream_synchronize()`], [`cai_stream_follow()`],
    /// [`cai_event_wait()`]; on the CPU, [`cai_event_record()`]. If none comes, [`cai_on_failure()`] hears of it.
    ///
    /// # Arguments
    ///
    /// - `work`: may be NULL: nothing to do
    /// - `done`: called once after `work`, or when it is dropped; it ends `context`. On a GPU's
    ///   stream not by the driver's thread, but by a later call for this stream or
    ///   [`cai_drain()`], so that it may do anything. May be NULL
    /// - `context`: on failure it is the caller's, and `done` is not called, nor will it be
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the failure of earlier work; of this one if it ran at once (the context is the
    /// caller's then, too); [`CAI_ERR_CAPTURE`] if
    /// `done` is given and the stream is being captured; [`CAI_ERR_STATE`] after a reset;
    /// [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_enqueue(
        stream: *mut cai_stream,
        work: cai_work_fn,
        done: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Keeps an object until the stream has passed what is queued on it by now. In a capture, the graph
    /// keeps it.
    ///
    /// # Arguments
    ///
    /// - `release`: called once, on the thread of a later call for the stream, under "Order", or of
    ///   [`cai_drain()`]; never by the driver's; on a CPU stream by whoever does its work
    /// - `context`: for release; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_CAPTURE`] if the capture was invalidated;
    /// [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_attach(
        stream: *mut cai_stream,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says whether work is pending.
    ///
    /// # Arguments
    ///
    /// - `busy`: gets 1 or 0
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the failure of earlier work; [`CAI_ERR_CAPTURE`] if the stream is being captured,
    /// and the capture goes on; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_CUDA`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_query(
        stream: *mut cai_stream,
        busy: *mut i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Waits until the work that is queued is complete; then ends what was attached. Release the GIL
    /// first.
    ///
    /// # Returns
    ///
    /// as [`cai_stream_query()`]; [`CAI_ERR_STATE`] also on the CPU stream's own thread.
    ///
    /// Since 0.1.
    pub fn cai_stream_synchronize(stream: *mut cai_stream, error: *mut cai_error) -> cai_status;
    /// Makes later work on a stream wait for what is queued on another one by now. The host waits only
    /// where a GPU's stream follows an ASYNC one of the CPU, or a CPU stream that works at once follows
    /// any. A GPU's stream that follows one that is being captured joins the capture, and must be
    /// followed back before that ends.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] where a capture allows no such order; the failure of earlier
    /// work on either; [`CAI_ERR_STATE`] after a reset, and where a CPU stream would wait for
    /// itself; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_follow(
        stream: *mut cai_stream,
        other: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Finds the calling thread's current stream of a device: at first one of [`CAI_MODE_DEFAULT`].
    ///
    /// # Arguments
    ///
    /// - `out`: one holder more
    ///
    /// # Returns
    ///
    /// as [`cai_stream_create()`].
    ///
    /// Since 0.1.
    pub fn cai_stream_current(
        device: cai_device,
        out: *mut *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a stream the calling thread's current one of the stream's device. A thread that ends lets
    /// go of its current streams.
    ///
    /// # Arguments
    ///
    /// - `stream`: gets one holder more; the one it replaces loses one
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_set_current(stream: *mut cai_stream, error: *mut cai_error) -> cai_status;
    /// Makes a stream current until [`cai_stream_leave()`] with the same guard on the same thread.
    ///
    /// # Returns
    ///
    /// as [`cai_stream_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_stream_enter(
        stream: *mut cai_stream,
        guard: *mut cai_stream_guard,
        error: *mut cai_error,
    ) -> cai_status;
    /// Synchronises the stream, and makes the one before it current again. Guards of a device are left
    /// in the reverse order.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_LEAVE_*`
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`], and nothing changed, on another thread, for a guard that was
    /// left already, and out of turn; a failure as [`cai_stream_synchronize()`], and then the guard
    /// is left all the same (its thread is 0); [`CAI_ERR_ARGUMENT`], also for other flags.
    ///
    /// Since 0.1.
    pub fn cai_stream_leave(
        guard: *mut cai_stream_guard,
        flags: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an event; it is complete until it is recorded.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_EVENT_*`
    /// - `out`: one holder; the last [`cai_event_release()`] waits for nothing
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for other flags; the rest as [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_event_create(
        device: cai_device,
        flags: u32,
        out: *mut *mut cai_event,
        error: *mut cai_error,
    ) -> cai_status;
    /// Adds one holder. Since 0.1.
    pub fn cai_event_retain(event: *mut cai_event);
    /// Takes one holder away. Since 0.1.
    pub fn cai_event_release(event: *mut cai_event);
    /// Returns the CUevent, as arrays of [`CAI_STREAM_EVENT`] have it; 0 for a CPU's event, and for NULL.
    /// Since 0.1.
    pub fn cai_event_value(event: *const cai_event) -> u64;
    /// Puts the event behind what is queued on a stream by now. What waits for its last place waits for
    /// that still.
    ///
    /// # Arguments
    ///
    /// - `stream`: of the event's device
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] for a stream of another device, or of another context than the
    /// GPU's primary one; [`CAI_ERR_CAPTURE`] if the capture was invalidated; the failure of
    /// earlier work on a CPU's stream; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_event_record(
        event: *mut cai_event,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes later work on a stream wait for the event as it was recorded last; nothing if it never
    /// was.
    ///
    /// # Arguments
    ///
    /// - `stream`: of any device
    ///
    /// # Returns
    ///
    /// as [`cai_stream_follow()`].
    ///
    /// Since 0.1.
    pub fn cai_event_wait(
        event: *mut cai_event,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says whether work before the event is pending.
    ///
    /// # Arguments
    ///
    /// - `busy`: gets 1 or 0
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if it was recorded in a capture; [`CAI_ERR_STATE`] after a reset;
    /// [`CAI_ERR_CUDA`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_event_query(
        event: *mut cai_event,
        busy: *mut i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Waits for the work before the event. Release the GIL first.
    ///
    /// # Returns
    ///
    /// as [`cai_event_query()`]; [`CAI_ERR_STATE`] also on the thread of the CPU stream that must pass
    /// it.
    ///
    /// Since 0.1.
    pub fn cai_event_synchronize(event: *mut cai_event, error: *mut cai_error) -> cai_status;
    /// Measures the time between two events of one device.
    ///
    /// # Arguments
    ///
    /// - `start`: made with [`CAI_EVENT_TIMING`], recorded, and complete
    /// - `end`: likewise
    /// - `milliseconds`: negative if `end` came first
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] if one was not recorded, or is not complete, and after a reset;
    /// [`CAI_ERR_DEVICE`] if their devices differ; [`CAI_ERR_VALUE`] if one keeps no time;
    /// [`CAI_ERR_CAPTURE`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_event_elapsed(
        start: *mut cai_event,
        end: *mut cai_event,
        milliseconds: *mut f64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns a kind's name, as in the quotes above; NULL if it is none. Since 0.1.
    pub fn cai_kind_name(kind: u32) -> *const ::core::ffi::c_char;
    /// Reads a kind by name; case and blanks at both ends do not matter. "unified", "unified_global"
    /// and "pitched_unified" are other names of the managed ones.
    ///
    /// # Arguments
    ///
    /// - `text`: NUL-terminated UTF-8
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_kind_parse(
        text: *const ::core::ffi::c_char,
        kind: *mut u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says whether the host may use the memory of a kind on a device: all of the CPU's that has an
    /// address, and pinned, mapped, managed and host memory of GPUs. 1 or 0. Since 0.1.
    pub fn cai_is_dereferenceable(device: cai_device, kind: u32) -> i32;
    /// Gives a table a name, for the life of the process.
    ///
    /// # Arguments
    ///
    /// - `name`: of letters, digits, '_', '-' and '.'; copied
    /// - `table`: must stay for ever, with its code
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VERSION`] for a table of another version, and the message says which is
    /// needed; [`CAI_ERR_VALUE`] for a name that is taken or invalid, and for a table that lacks a
    /// required function or has one of a pair; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_register(
        name: *const ::core::ffi::c_char,
        table: *const cai_manager_table,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a manager. Built in are
    ///
    /// - "default": each kind its own way; plain device memory, freed with others like it, for DEFAULT;
    /// - "async": DEFAULT in the order of the stream, too, from the device's current pool;
    /// - "pool": likewise, from a pool of its own, see [`cai_pool_params`];
    /// - "managed", or "unified": all memory is managed;
    /// - "host": the heap; for the CPU, as the others are for GPUs;
    ///
    /// and, around an upstream manager, for its device's memory and the host's alike,
    ///
    /// - "statistics": counts, see [`cai_manager_statistics()`];
    /// - "limiting": refuses what exceeds a limit, see [`cai_limit_params`];
    /// - "logging": writes a line for each call, see [`cai_log_params`];
    /// - "tracking": knows what is out, see [`cai_manager_outstanding()`];
    /// - "retrying": asks somebody what to do when memory is short, see [`cai_retry_params`].
    ///
    /// # Arguments
    ///
    /// - `name`: one of these, of [`cai_manager_register()`], or "/path/lib.so" or
    ///   "/path/lib.so:symbol", a library that exports a [`cai_manager_table`] under that
    ///   name (`cai_manager_table_export` if there is none), and is never unloaded
    /// - `params`: as the manager wants it; may be NULL where it says so
    /// - `device`: the GPU, or the CPU
    /// - `upstream`: what it is put around; gets one holder more. NULL where it needs none
    /// - `out`: one holder; end with [`cai_manager_release()`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for an unknown name, a library that cannot be loaded, a missing
    /// symbol, wrong params, and an upstream manager of another device, or that is missing;
    /// [`CAI_ERR_VERSION`]; [`CAI_ERR_UNSUPPORTED`] if the device has no such memory; what `create`
    /// returned; the rest as [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_manager_create(
        name: *const ::core::ffi::c_char,
        params: *const ::core::ffi::c_void,
        device: cai_device,
        upstream: *mut cai_manager,
        out: *mut *mut cai_manager,
        error: *mut cai_error,
    ) -> cai_status;
    /// Adds one holder. Since 0.1.
    pub fn cai_manager_retain(manager: *mut cai_manager);
    /// Takes one holder away. Memory that it gave holds it, too. Since 0.1.
    pub fn cai_manager_release(manager: *mut cai_manager);
    /// Returns the name of the manager's table; NULL for NULL. Since 0.1.
    pub fn cai_manager_name(manager: *const cai_manager) -> *const ::core::ffi::c_char;
    /// Returns the manager's device. Since 0.1.
    pub fn cai_manager_device(manager: *const cai_manager) -> cai_device;
    /// Finds a device's manager. It is made at the first need by the name that [`cai_manager_choose()`] was
    /// given, else by the environment's `CAI_MEMORY_MANAGER` (a name or path as for [`cai_manager_create()`]),
    /// else "default"; of the CPU always "host". After [`CAI_RESET_CONTEXT`] it is made anew.
    ///
    /// # Arguments
    ///
    /// - `out`: one holder more
    ///
    /// # Returns
    ///
    /// as [`cai_manager_create()`]; a bad `CAI_MEMORY_MANAGER` is an error that names it, each time.
    ///
    /// Since 0.1.
    pub fn cai_manager_of(
        device: cai_device,
        out: *mut *mut cai_manager,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a manager that of its device, from now on. Memory that is out stays with its own.
    ///
    /// # Arguments
    ///
    /// - `manager`: gets one holder more; NULL: the one that [`cai_manager_of()`] would make anew
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if it is another device's; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_manager_install(
        device: cai_device,
        manager: *mut cai_manager,
        error: *mut cai_error,
    ) -> cai_status;
    /// Chooses by name the manager of every GPU that has none yet; stronger than the environment.
    ///
    /// # Arguments
    ///
    /// - `name`: as for [`cai_manager_create()`], with params NULL and no upstream, of which the manager
    ///   itself may want more: that [`cai_manager_of()`] tells. NULL: the environment's again
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`], and nothing changed, as
    /// [`cai_manager_create()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_manager_choose(
        name: *const ::core::ffi::c_char,
        error: *mut cai_error,
    ) -> cai_status;
    /// Allocates from a manager: what [`cai_memory`] does, without the handle; for adaptors. If there is
    /// not so much memory, what is pending is freed and the manager is asked once more. What a manager
    /// gives is looked at: a block that is too small or not aligned is freed by the manager's memfree or
    /// memhostfree at once, and the caller gets [`CAI_ERR_STATE`].
    ///
    /// # Arguments
    ///
    /// - `size`: 0 gives a block of zeros, and the manager is not called
    /// - `align`: a power of two; 0: 256
    /// - `kind`: DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL (memalloc), PINNED, MAPPED or HOST
    ///   (memhostalloc, flags 0)
    /// - `stream`: 1 or 2 of the primary context, or a CUstream; 0 for the CPU
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`], native 2 if it is the device's; [`CAI_ERR_VALUE`] for a bad
    /// alignment, kind or stream; [`CAI_ERR_UNSUPPORTED`] for a kind that it does not have;
    /// [`CAI_ERR_CAPTURE`] on a stream that is being captured, for ASYNC memory, and then no
    /// manager is asked, and of those that are built in for MANAGED memory, and for DEFAULT
    /// memory of "async" and "pool"; [`CAI_ERR_STATE`] after a reset with [`CAI_RESET_CONTEXT`], and
    /// for a manager that lies; [`CAI_ERR_ARGUMENT`]; what the manager returned. Since 0.1.
    pub fn cai_manager_alloc(
        manager: *mut cai_manager,
        size: u64,
        align: u64,
        kind: u32,
        stream: u64,
        out: *mut cai_block,
        error: *mut cai_error,
    ) -> cai_status;
    /// Frees what [`cai_manager_alloc()`] gave.
    ///
    /// # Arguments
    ///
    /// - `kind`: as for the allocation
    /// - `stream`: the free happens in the order of this one
    ///
    /// # Returns
    ///
    /// [`CAI_OK`], also for a block of zeros and, doing nothing, after a reset with
    /// [`CAI_RESET_CONTEXT`] and once the driver is gone; [`CAI_ERR_VALUE`] for a kind or a stream
    /// that is none; [`CAI_ERR_CAPTURE`] on a stream that is being captured, for ASYNC memory, for
    /// DEFAULT memory of "async" and "pool", and where the manager says so: it is not freed, and
    /// can be once the capture has ended; what the manager returned, and what kept it from being
    /// asked, and then it is not to be freed again; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_free(
        manager: *mut cai_manager,
        block: *const cai_block,
        kind: u32,
        stream: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says how much memory there is, to the manager's knowledge.
    ///
    /// # Arguments
    ///
    /// - `free`: bytes; may be NULL
    /// - `total`: bytes; may be NULL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`]; what the manager returned; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, get_memory_info. Since 0.1.
    pub fn cai_manager_memory(
        manager: *mut cai_manager,
        free: *mut u64,
        total: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Gives back what is freed but kept, down to `keep` bytes.
    ///
    /// # Returns
    ///
    /// as [`cai_manager_memory()`], save [`CAI_ERR_UNSUPPORTED`].
    ///
    /// Since 0.1.
    pub fn cai_manager_trim(
        manager: *mut cai_manager,
        keep: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Reads the counts of a manager, or of the first one upstream that counts.
    ///
    /// # Arguments
    ///
    /// - `out`: struct_size set by the caller
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] if none counts; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_statistics(
        manager: *const cai_manager,
        out: *mut cai_statistics,
        error: *mut cai_error,
    ) -> cai_status;
    /// Shows what a manager, or the first one upstream that tracks, has given and not got back, the
    /// oldest first; what a free has failed for is among it. `visit` runs with no lock held.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] if none tracks; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_outstanding(
        manager: *const cai_manager,
        visit: ::core::option::Option<
            unsafe extern "C" fn(
                context: *mut ::core::ffi::c_void,
                allocation: *const cai_allocation,
            ),
        >,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Allocates memory. Size, rows or depth 0 where a number is wanted gives memory with no address,
    /// and nobody is asked for it.
    ///
    /// # Arguments
    ///
    /// - `request`: its stream and manager get a holder more as long as they are needed
    /// - `out`: one holder; end with [`cai_memory_release()`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`], native 2 if it is the device's; [`CAI_ERR_VALUE`] for a field that
    /// is none of its values, for sizes whose product overflows, and for a stream or manager of
    /// another device; [`CAI_ERR_UNSUPPORTED`] for a kind that the device does not have;
    /// [`CAI_ERR_CAPTURE`] if the stream's capture, or one on this thread, forbids it; the rest as
    /// [`cai_manager_alloc()`] and [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_memory_alloc(
        device: cai_device,
        request: *const cai_request,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Pins memory of the host's that is there already, until the last release; once the uses that were
    /// recorded are complete, that is. It is unpinned at once, since it may be pinned again, or end, and
    /// the driver waits for the device first: release it where the host may wait.
    ///
    /// # Arguments
    ///
    /// - `host`: `size` bytes
    /// - `kind`: PINNED or MAPPED
    /// - `flags`: `CAI_HOST_*`
    /// - `release`: ends the host's memory, after it was unpinned; may be NULL
    /// - `context`: for release; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// as [`cai_memory_alloc()`]; [`CAI_ERR_UNSUPPORTED`] for MAPPED where the device cannot use the
    /// host's memory.
    /// NBEP 7, mempin. Since 0.1.
    pub fn cai_memory_pin(
        device: cai_device,
        host: *mut ::core::ffi::c_void,
        size: u64,
        kind: u32,
        flags: u32,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Takes memory of somebody else's in. It has no free stream until it is given one.
    ///
    /// # Arguments
    ///
    /// - `info`: device, kind, data, host and size are read, pitch (0: the size), row (0: the
    ///   pitch, or the size if that is less) and rows (0: 1), and of the flags
    ///   [`CAI_MEMORY_READONLY`]; the rest must be 0. Whether it is true is asked by
    ///   [`cai_memory_validate()`]
    /// - `release`: ends the memory; runs once, no lock held, in no order with streams but the
    ///   host's: when uses that were recorded are complete. May be NULL
    /// - `context`: for release; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for a field that is none of its values; [`CAI_ERR_DEVICE`];
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_wrap(
        info: *const cai_memory_info,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes memory of a part of it; the view holds the whole.
    ///
    /// # Arguments
    ///
    /// - `start`: bytes from its beginning
    /// - `stop`: likewise; start \<= stop \<= size
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_BOUNDS`]; [`CAI_ERR_UNSUPPORTED`] for a CUDA array; [`CAI_ERR_STATE`] if it was
    /// freed; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, MemoryPointer.view. Since 0.1.
    pub fn cai_memory_view(
        memory: *mut cai_memory,
        start: u64,
        stop: u64,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Adds one holder. Since 0.1.
    pub fn cai_memory_retain(memory: *mut cai_memory);
    /// Takes one holder away. Since 0.1.
    pub fn cai_memory_release(memory: *mut cai_memory);
    /// Frees memory now, whoever holds it still, in the order of its free stream and after the uses
    /// that were recorded; views are dead with it. The handle stays the holders'. Its arrays stay, too,
    /// [`CAI_OWNER_FREED`]: no use of one begins, and none is handed out. What has been handed out by a
    /// dict, a tensor or a column nobody can call back: whoever has that uses freed memory.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`], also where a reset has freed it; [`CAI_ERR_STATE`] if it was freed already by this;
    /// [`CAI_ERR_UNSUPPORTED`] for a view; what the manager returned, and then it is freed for
    /// good; what the driver returned where it did not let libcai ask the manager, which libcai
    /// does later then; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, MemoryPointer.free. Since 0.1.
    pub fn cai_memory_free(memory: *mut cai_memory, error: *mut cai_error) -> cai_status;
    /// Says what is known of memory.
    ///
    /// # Arguments
    ///
    /// - `out`: struct_size set by the caller
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_describe(
        memory: *const cai_memory,
        out: *mut cai_memory_info,
        error: *mut cai_error,
    ) -> cai_status;
    /// Finds the memory that [`cai_memory_alloc()`] of this copy of libcai gave around an address, as
    /// kernels use it. Memory that was pinned, wrapped or opened, which others may know by another name,
    /// is never found, nor are views, nor what a manager took inside of its functions, to give it: they
    /// hide nothing of what they are of. Where a manager gives parts of memory that it had allocated
    /// before, either may be found; of two of one address and size the later, and never again the other.
    ///
    /// # Arguments
    ///
    /// - `out`: one holder more
    /// - `offset`: may be NULL; gets the bytes from its beginning to the address
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if there is none; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_find(
        address: u64,
        out: *mut *mut cai_memory,
        offset: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Asks the driver whether memory is what somebody says it is.
    ///
    /// On the CPU it must not be a GPU's own; the driver may know nothing of it only if it is DEFAULT,
    /// ASYNC, PITCHED or HOST, pinned memory must be PINNED or MAPPED, and managed memory of a managed
    /// kind; so it is for HOST on a GPU. Otherwise the driver must know memory of a GPU; the device's
    /// own must be that device's; managed memory must be of a managed kind; pinned memory must be PINNED
    /// or MAPPED. The range must not leave the allocation.
    ///
    /// # Arguments
    ///
    /// - `size`: 0: only the kind is asked about, and not even that for address 0
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if it is another device's, or of another kind; [`CAI_ERR_BOUNDS`];
    /// [`CAI_ERR_VALUE`] for address 0 with a size, for an unknown kind, and for CUDA_ARRAY;
    /// [`CAI_ERR_CUDA`]; [`CAI_ERR_DRIVER`] for GPUs.
    ///
    /// Since 0.1.
    pub fn cai_memory_validate(
        address: u64,
        size: u64,
        device: cai_device,
        kind: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Sets the stream in whose order memory is freed. What is pending on the old one still comes
    /// before; so it does before uses of arrays of the memory, since it was allocated there. It counts
    /// as an array that comes with another stream: before its own work on the new one the producer calls
    /// [`cai_array_reclaim()`], and after its own work on another one it publishes.
    ///
    /// # Arguments
    ///
    /// - `stream`: of the memory's device; gets one holder more
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`]; [`CAI_ERR_STATE`] if it was freed; [`CAI_ERR_UNSUPPORTED`] for a
    /// view; [`CAI_ERR_CAPTURE`] if the old one is being captured; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_set_stream(
        memory: *mut cai_memory,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Says that what is queued on a stream by now uses the memory: it is not freed before that ends,
    /// and whoever begins a use of an array of it comes after, as after a write. No array's stream waits
    /// for it, as it would at the end of a use: who works on one without a use calls
    /// [`cai_array_reclaim()`] before.
    ///
    /// # Arguments
    ///
    /// - `memory`: of a view: the whole is used
    /// - `stream`: of any device
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] if it was freed, or the stream is dead; [`CAI_ERR_CAPTURE`] if the
    /// stream is being captured; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_record(
        memory: *mut cai_memory,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an array of memory. The array holds the memory, and keeps uses: it ends once those are
    /// complete. Its stream is the memory's free stream; NONE if there is none, and for the CPU.
    ///
    /// # Arguments
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `dtype`: of an element
    /// - `shape`: `ndim` extents, elements; may be NULL if ndim is 0
    /// - `strides`: bytes, `ndim` of them; NULL: C order, with the pitch for the last but one axis of
    ///   pitched memory
    /// - `out`: owned; end with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_BOUNDS`] if it leaves the memory; [`CAI_ERR_UNSUPPORTED`] for a CUDA array;
    /// [`CAI_ERR_STATE`] if it was freed; [`CAI_ERR_VALUE`] as [`cai_array_validate()`]; [`CAI_ERR_ORDER`] if
    /// arrays of it came with another thread's stream 2; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_array(
        memory: *mut cai_memory,
        offset: u64,
        dtype: *const cai_dtype,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an array of memory that is as another one: of its dtype and descr, shape and strides, and
    /// with a mask if that has one. Only these count of `like`, and its ABI; whoever has no such array
    /// fills in a zeroed [`cai_array`]: abi_major, dtype, descr, ndim, shape, and of the mask likewise. All
    /// of it is copied. Elements and mask are this memory's, one owner's; the rest is as
    /// [`cai_memory_array()`].
    ///
    /// # Arguments
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `like`: its strides, and the mask's, may be NULL: C order, of the elements as
    ///   [`cai_memory_array()`]. [`CAI_FLAG_SWAPPED`] follows from dtype and descr, and
    ///   [`CAI_FLAG_READONLY`] from the memory
    /// - `mask_offset`: bytes to the first element of the mask; does not count without one
    /// - `out`: owned; end with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// as [`cai_memory_array()`]; [`CAI_ERR_VALUE`] also for a wrong descr (entry descr), and for a
    /// mask that does not broadcast to the shape; [`CAI_ERR_LAYOUT`] if the mask overlaps the
    /// elements, [`CAI_ERR_BOUNDS`] if it leaves the memory (entry mask); [`CAI_ERR_VERSION`] for a
    /// `like` of another ABI major, or with an unknown critical flag.
    ///
    /// The text, "descr" and "mask". Since 0.1.
    pub fn cai_memory_array_like(
        memory: *mut cai_memory,
        offset: u64,
        like: *const cai_array,
        mask_offset: u64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an array in new memory of its own, as `like` is but in C order, with what happens to be
    /// there. A mask is of the mask's dtype and shape, one that broadcasts too, and lies behind the
    /// elements; of an axis of stride 0 each element has a place. [`cai_array_copy()`] then copies both.
    ///
    /// # Arguments
    ///
    /// - `like`: as for [`cai_memory_array_like()`]; its strides do not count
    /// - `request`: kind, align, flags, stream and manager; size, rows and depth are 0. Of the kinds
    ///   PITCHED and PITCHED_MANAGED the last axis lies in rows. NULL: of kind DEFAULT
    /// - `out`: owned; end with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// as [`cai_memory_alloc()`] and [`cai_memory_array_like()`]; [`CAI_ERR_UNSUPPORTED`] for a mask in
    /// memory of rows (entry mask), and for CUDA_ARRAY.
    ///
    /// The text, "descr" and "mask". Since 0.1.
    pub fn cai_array_empty_like(
        like: *const cai_array,
        device: cai_device,
        request: *const cai_request,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Finds the memory of an array: that of [`cai_memory_array()`], also for its views, and the whole
    /// where it was made of a view of memory. For any other array, memory of the extent of its elements
    /// that holds it until the last holder has gone, freed by hand or not, and is an owner of its own; a
    /// mask is other memory. Until it is released, uses of arrays of it and of `array` do not find each
    /// other, so use the one or the other; its stream is the thread's current one, which comes after the
    /// array's, and the array's will come after it when the memory is released. If one of the two is in
    /// a capture by then that the other is not in, or that has begun since, the array's does not, and
    /// the array's owner alone hears of the work: who begins a use comes after it, and a producer
    /// reclaims. An owner with functions of its own hears of it once the capture is over, and arrays of
    /// such memory are used in a capture only if its stream is in that. Work of streams of the CPU's is
    /// one with the array's at any time. Of a read-only array the memory is [`CAI_MEMORY_READONLY`]: a
    /// view, if the whole may be written. It is [`CAI_MEMORY_FREED`] once the array's owner says
    /// [`CAI_OWNER_FREED`].
    ///
    /// # Arguments
    ///
    /// - `array`: owned
    /// - `out`: one holder (more)
    /// - `offset`: may be NULL; gets the bytes from the beginning of the memory to the first element
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`] for a borrowed array, too; [`CAI_ERR_DEVICE`] for ROCm and where
    /// the driver does not know it; [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as
    /// [`cai_array_validate()`]; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_STATE`]
    /// for another array than those, of memory that was freed ([`CAI_OWNER_FREED`]).
    ///
    /// Since 0.1.
    pub fn cai_memory_of(
        array: *const cai_array,
        out: *mut *mut cai_memory,
        offset: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Copies the elements of an array to another one, in the order of a stream, between any two
    /// devices; begin and end of their use included. Where a GPU copies from or to an array of the
    /// CPU's, the host waits until that is done. A stream of the CPU's comes after what others of the
    /// CPU's have yet to do on the arrays; for what a GPU has pending on pinned memory, the host waits.
    ///
    /// A GPU needs one call of the driver for most layouts, more where axes run in opposite directions,
    /// are repeated (stride 0) or do not nest: one for each step of such an axis. A stream of the CPU
    /// that is [`CAI_MODE_ASYNC`] holds both arrays until it is done, and their owners keep the work: uses
    /// begin after it, on GPUs too. If one is borrowed, or its owner's used_on is not
    /// [`cai_owner_used_on()`], the call waits.
    ///
    /// A mask is copied, too: `to` needs one, of the same type, not read-only, whose shape `from`'s mask
    /// broadcasts to; of bits, the same shape, and whole bytes. If `from` has none, `to`'s becomes true.
    ///
    /// # Arguments
    ///
    /// - `from`: any strides; [`CAI_ACCESS_READ`]
    /// - `to`: not read-only; of the same shape and dtype; must not overlap `from`
    /// - `stream`: of the device of either, or that the memory of either was made for, and a GPU's
    ///   unless the host may use both (the CPU's, and pinned memory); NULL: the thread's
    ///   current one of `to`'s device, or of `from`'s if `to` is the host's, or managed and
    ///   `from` a GPU's own
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] if shapes or types differ, or `to` is read-only, and (entry
    /// mask) for a mask that `to` lacks or cannot take; [`CAI_ERR_LAYOUT`] if elements of `to`
    /// overlap, or `from`'s with them; [`CAI_ERR_UNSUPPORTED`] for bits, but in masks whose bits
    /// fill their bytes; [`CAI_ERR_DEVICE`] for a stream of a third device; [`CAI_ERR_CAPTURE`] also
    /// if the stream is being captured and the host must wait; [`CAI_ERR_STATE`] if the memory was
    /// freed, or the stream is dead; what earlier work on a stream of the CPU's failed with,
    /// once; the rest as [`cai_use_begin()`].
    ///
    /// Since 0.1.
    pub fn cai_array_copy(
        from: *const cai_array,
        to: *const cai_array,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Sets all elements of an array, in the order of a stream; begin and end of use included. Those
    /// that a mask says are invalid are set, too; the mask stays as it is.
    ///
    /// # Arguments
    ///
    /// - `array`: not read-only
    /// - `value`: itemsize bytes, in the array's byte order, of the host's memory; read before the
    ///   call returns. They are copied as they are, whatever the type: of bfloat16 and
    ///   float8 they are its bits
    /// - `stream`: of the array's device, or that its memory was made for; the CPU's if the host may
    ///   use it; NULL: the thread's current one of the array's device
    ///
    /// # Returns
    ///
    /// as [`cai_array_copy()`].
    ///
    /// Since 0.1.
    pub fn cai_array_fill(
        array: *const cai_array,
        value: *const ::core::ffi::c_void,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Brings one element to the host, whatever the memory: waits for what is pending on the array; of
    /// the CPU's, for what is queued on the thread's current stream, too.
    ///
    /// # Arguments
    ///
    /// - `index`: ndim indices, elements; negative counts from the end; may be NULL if ndim is 0
    /// - `out`: gets itemsize bytes, in the array's byte order
    ///
    /// # Returns
    ///
    /// as [`cai_array_copy()`]; [`CAI_ERR_UNSUPPORTED`] for a masked array; [`CAI_ERR_ARGUMENT`] for an
    /// index out of range, [`cai_error.index`](cai_error::index) is the axis.
    ///
    /// Since 0.1.
    pub fn cai_array_item(
        array: *const cai_array,
        index: *const i64,
        out: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Brings the first element of an array to the host, as [`cai_array_item()`] does.
    ///
    /// # Arguments
    ///
    /// - `out`: gets itemsize bytes, in the array's byte order
    ///
    /// # Returns
    ///
    /// as [`cai_array_item()`]; [`CAI_ERR_ARGUMENT`] if there are no elements.
    ///
    /// Since 0.1.
    pub fn cai_array_first(
        array: *const cai_array,
        out: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Waits for the thread's current stream of the device that works on an array, and for all that is
    /// pending on the array, its mask included.
    ///
    /// # Returns
    ///
    /// as [`cai_stream_synchronize()`] and [`cai_array_sync_host()`].
    ///
    /// Since 0.1.
    pub fn cai_array_eval(array: *const cai_array, error: *mut cai_error) -> cai_status;
    /// Says what is out and what is pending.
    ///
    /// # Arguments
    ///
    /// - `out`: struct_size set by the caller
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_usage(
        device: cai_device,
        out: *mut cai_usage,
        error: *mut cai_error,
    ) -> cai_status;
    /// Adds a free, for managers: `free` runs once, later or before the call returns, on any thread,
    /// with the GPU's primary context current and no lock held. A reset of the device runs it at the
    /// latest. What is added while [`CAI_RESET_CONTEXT`] destroys the context is forgotten with it, and
    /// `free` does not run: the addresses may be somebody else's by then.
    ///
    /// # Arguments
    ///
    /// - `bytes`: that it frees; may be 0
    /// - `free`: returns its status, and writes the error on failure
    /// - `context`: for free; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_DEVICE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`];
    /// [`CAI_ERR_ARGUMENT`], also if a limit in the environment is no number; [`CAI_ERR_DRIVER`];
    /// [`CAI_ERR_CUDA`]; [`CAI_ERR_STATE`].
    /// NBEP 7, "pending deallocations". Since 0.1.
    pub fn cai_pending_add(
        device: cai_device,
        bytes: u64,
        free: ::core::option::Option<
            unsafe extern "C" fn(
                context: *mut ::core::ffi::c_void,
                error: *mut cai_error,
            ) -> cai_status,
        >,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Frees all that is pending on a device. Nothing while it is deferred. Memory of any device that a
    /// capture, want of memory or the driver has kept from being freed is tried again, as by
    /// [`cai_memory_alloc()`].
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the first failure, also of what is tried again, the others being freed all the
    /// same; [`CAI_ERR_CAPTURE`] while a capture is seen, and nothing is freed; the rest as
    /// [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_pending_flush(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Begins a time in which nothing but a reset frees what is pending, even if memory is short; they
    /// nest, and may overlap. The device's manager is told, too, if it has a way of its own; of an end,
    /// once it knows of more beginnings than are open, since an end does not say which one it is of. Any
    /// thread ends it, which frees nothing by itself.
    ///
    /// # Arguments
    ///
    /// - `defer`: 1 begins it, 0 ends it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] for an end without a beginning; what the manager returned;
    /// [`CAI_ERR_VALUE`] for another number; [`CAI_ERR_DEVICE`]; [`CAI_ERR_MEMORY`]; the rest as
    /// [`cai_manager_of()`].
    /// NBEP 7, defer_cleanup. Since 0.1.
    pub fn cai_pending_defer(device: cai_device, defer: i32, error: *mut cai_error) -> cai_status;
    /// Makes a handle that another process opens. What that process finds there is what is complete by
    /// the time it looks: the two agree on it by messages, after waiting.
    ///
    /// # Arguments
    ///
    /// - `memory`: of the kind DEFAULT, or ASYNC of an exportable pool; may be a view. Keep it until
    ///   the others have closed theirs
    /// - `fd`: gets the pool's descriptor, the caller's to close; -1 for [`CAI_IPC_LEGACY`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] for other kinds and pools, and for memory that is read-only
    /// or has no bytes; [`CAI_ERR_STATE`] if it was freed, or for a handle of the manager's that
    /// nobody could open; [`CAI_ERR_CUDA`]; what the manager returned; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, get_ipc_handle. Since 0.1.
    pub fn cai_memory_share(
        memory: *mut cai_memory,
        out: *mut cai_ipc_handle,
        fd: *mut i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Opens memory of another process. What the driver has open already for this device is opened no
    /// second time, but shared.
    ///
    /// # Arguments
    ///
    /// - `handle`: the process that made it must be alive, and must not have freed the memory
    /// - `fd`: for [`CAI_IPC_POOL`]: the descriptor as it came, the caller's to close; else -1
    /// - `device`: who is to use it; where it is is found by its identity, whatever the ordinals
    /// - `stream`: in whose order it is copied and closed; NULL: the thread's current one of `device`
    /// - `how`: `CAI_OPEN_*`
    /// - `out`: one holder; the last release closes it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] for a handle of this process, or of one that is gone;
    /// [`CAI_ERR_DEVICE`] if this process does not see the device, or for DIRECT cannot access it;
    /// [`CAI_ERR_VALUE`] for a handle that is none; [`CAI_ERR_CUDA`]; the rest as [`cai_memory_alloc()`].
    /// NBEP 7, IpcHandle.open. Since 0.1.
    pub fn cai_memory_open(
        handle: *const cai_ipc_handle,
        fd: i32,
        device: cai_device,
        stream: *mut cai_stream,
        how: u32,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Allocates in the order of a stream: the alloc_fn of a CUDAPluggableAllocator.
    ///
    /// # Arguments
    ///
    /// - `size`: bytes; 0 gives NULL, and that is no failure
    /// - `device`: ordinal
    ///
    /// # Returns
    ///
    /// the address; NULL on failure, which is told to [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_torch_alloc(
        size: u64,
        device: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> *mut ::core::ffi::c_void;
    /// Frees in the order of a stream: the free_fn. What [`cai_torch_alloc()`] has not given, or was freed
    /// already, is left alone: [`cai_on_failure()`] is told.
    ///
    /// # Arguments
    ///
    /// - `ptr`: may be NULL
    /// - `size`: not needed
    /// - `device`: not needed
    ///
    /// Since 0.1.
    pub fn cai_torch_free(
        ptr: *mut ::core::ffi::c_void,
        size: u64,
        device: i32,
        stream: *mut ::core::ffi::c_void,
    );
    /// Finds the allocation around an address: for set_base_alloc_fn.
    ///
    /// # Arguments
    ///
    /// - `size`: gets its bytes; may be NULL
    ///
    /// # Returns
    ///
    /// its beginning; NULL for an address that is not libcai's, which is told to
    /// [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_torch_base(
        ptr: *mut ::core::ffi::c_void,
        size: *mut u64,
    ) -> *mut ::core::ffi::c_void;
    /// Says that what is queued on a stream by now uses memory of [`cai_torch_alloc()`], which is not freed
    /// before that is done: for set_record_stream_fn.
    ///
    /// # Arguments
    ///
    /// - `ptr`: the beginning of an allocation; NULL is nothing
    /// - `stream`: of any GPU; NULL, 1 and 2 are the memory's device's
    ///
    /// Since 0.1.
    pub fn cai_torch_record_stream(ptr: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
    /// Compares PyTorch's number of devices with libcai's, and tells [`cai_on_failure()`] if they differ:
    /// for set_init_fn. Since 0.1.
    pub fn cai_torch_init(device_count: i32);
    /// Frees what is pending and gives back what is kept, on all devices that the functions here have
    /// allocated on: for set_reset_fn, which torch.cuda.empty_cache() calls.
    /// Since 0.1.
    pub fn cai_torch_reset();
    /// Allocates.
    ///
    /// # Arguments
    ///
    /// - `param`: stream, as above
    /// - `size`: bytes; 0 gives NULL, and that is no failure
    /// - `device`: ordinal
    ///
    /// # Returns
    ///
    /// the address; NULL on failure, which is told to [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_cupy_alloc(
        param: *mut ::core::ffi::c_void,
        size: u64,
        device: i32,
    ) -> *mut ::core::ffi::c_void;
    /// Frees what [`cai_cupy_alloc()`] or `cai_cupy_malloc()` gave. Anything else is left alone, and
    /// [`cai_on_failure()`] is told.
    ///
    /// # Arguments
    ///
    /// - `param`: stream, as above
    /// - `ptr`: may be NULL
    /// - `device`: not needed
    ///
    /// Since 0.1.
    pub fn cai_cupy_free(
        param: *mut ::core::ffi::c_void,
        ptr: *mut ::core::ffi::c_void,
        device: i32,
    );
}
