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
/// A guard of the current device. [`cai_device_enter()`] fills it in for [`cai_device_leave()`]; it must
/// not be copied or changed between the two. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_device_guard {
    pub device: cai_device,
    /// CUcontext that was entered; 0 for the CPU
    pub context: u64,
    /// CUcontext that was current before, or 0
    pub previous: u64,
    /// the thread of [`cai_device_enter()`]; 0 once left
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
/// it can use pinned host memory in place
pub const CAI_DEVICE_MAPS_HOST: u32 = 1;
/// it has managed memory
pub const CAI_DEVICE_MANAGED_MEMORY: u32 = 2;
/// the host may use managed memory while the device
/// works
pub const CAI_DEVICE_CONCURRENT_MANAGED: u32 = 4;
/// it has memory pools (stream-ordered memory)
pub const CAI_DEVICE_POOLS: u32 = 8;
/// pools can be shared by a file descriptor
pub const CAI_DEVICE_POOLS_BY_DESCRIPTOR: u32 = 16;
/// its memory is the host's
pub const CAI_DEVICE_INTEGRATED: u32 = 32;
/// Properties of a device. It grows at the tail. 304 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_device_info {
    /// in: sizeof([`cai_device_info`]), at least 8. The library fills in at most
    /// that many bytes, and only members that it knows: zero the rest
    pub struct_size: u32,
    /// [`CAI_DEVICE_MAPS_HOST`] and so on
    pub flags: u32,
    /// identifies the device, whatever its ordinal; 0 for the CPU
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
/// also destroys the GPU's primary context, and all that the process
/// has in it
pub const CAI_RESET_CONTEXT: u32 = 1;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream {
    _unused: [u8; 0],
}
/// CPU: at once, on the calling thread. GPU: the legacy default stream
pub const CAI_MODE_DEFAULT: u32 = 0;
/// CPU: likewise. GPU: a stream that the legacy stream waits for, and that
/// waits for it
pub const CAI_MODE_SYNC: u32 = 1;
/// CPU: its own thread, first in, first out. GPU: a stream that is
/// independent of the legacy stream
pub const CAI_MODE_ASYNC: u32 = 2;
pub const CAI_CAPTURE_NONE: u32 = 0;
/// being captured into a graph
pub const CAI_CAPTURE_ACTIVE: u32 = 1;
/// invalidated by an error; the capturing code must end it
pub const CAI_CAPTURE_INVALIDATED: u32 = 2;
/// Properties of a stream. It grows at the tail. 64 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream_info {
    /// in: sizeof([`cai_stream_info`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// `CAI_MODE_*`; for a wrapped stream, as the driver reports it
    pub mode: u32,
    pub device: cai_device,
    /// as [`cai_stream_value()`]
    pub value: u64,
    /// unique among all streams of this process, ever; 0 if the stream was wrapped in a
    /// capture that goes on: the driver ends captures in which it is asked for it
    pub id: u64,
    pub priority: i32,
    /// `CAI_CAPTURE_*`
    pub capture: u32,
    /// id of the capture; 0 if there is none
    pub capture_id: u64,
    /// see [`cai_stream_set_thread_limit()`]; 0 for a GPU
    pub thread_limit: i32,
    /// 1 if from [`cai_stream_wrap()`]
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
/// A work function. On failure it writes the error and returns its status. Must not throw. On a GPU
/// stream it runs on a thread of the driver, and must not call the driver. It may release arrays and
/// handles there, as no other host callback may: later calls end them. (The owner of an array with
/// a `release` of its own must see to that itself.) Since 0.1.
pub type cai_work_fn = ::core::option::Option<
    unsafe extern "C" fn(context: *mut ::core::ffi::c_void, error: *mut cai_error) -> cai_status,
>;
/// A guard of the current stream. [`cai_stream_enter()`] fills it in for [`cai_stream_leave()`]; it must
/// not be copied or changed between the two. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream_guard {
    /// a reference
    pub stream: *mut cai_stream,
    /// a reference
    pub previous: *mut cai_stream,
    /// the thread of [`cai_stream_enter()`]; 0 once left
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
/// do not wait for the work on the stream
pub const CAI_LEAVE_QUEUED: u32 = 1;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_event {
    _unused: [u8; 0],
}
/// it records the time, for [`cai_event_elapsed()`]
pub const CAI_EVENT_TIMING: u32 = 1;
/// no memory
pub const CAI_KIND_NONE: u32 = 0;
/// "default": the device's own; on the CPU: the heap
pub const CAI_KIND_DEFAULT: u32 = 1;
/// "async": the device's own, allocated and freed in the order of
/// the stream; used on others only after an event
pub const CAI_KIND_ASYNC: u32 = 2;
/// "pitched": the device's own, in padded rows
pub const CAI_KIND_PITCHED: u32 = 3;
/// "pitched_managed": managed, in padded rows
pub const CAI_KIND_PITCHED_MANAGED: u32 = 4;
/// "pinned": the host's, fast for a GPU to copy; on the CPU:
/// pinned for the current GPU, or the heap if there is none
pub const CAI_KIND_PINNED: u32 = 5;
/// "mapped": pinned, and kernels use it in place
pub const CAI_KIND_MAPPED: u32 = 6;
/// "managed": migrates; only its stream and the host may use it.
/// On a default stream: as MANAGED_GLOBAL
pub const CAI_KIND_MANAGED: u32 = 7;
/// "managed_global": migrates; every stream may use it
pub const CAI_KIND_MANAGED_GLOBAL: u32 = 8;
/// "cuda_array": a CUarray, for textures only; it has no
/// address
pub const CAI_KIND_CUDA_ARRAY: u32 = 9;
/// "host": the heap, whatever the device
pub const CAI_KIND_HOST: u32 = 10;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_manager {
    _unused: [u8; 0],
}
/// A block of memory, as a manager allocates and frees it. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_block {
    /// address for kernels; on the CPU, for the host
    pub data: u64,
    /// address for the host; 0 if the host must not use it
    pub host: u64,
    /// bytes, at least the requested size
    pub size: u64,
    /// reserved for the manager; one that hands on its upstream manager's blocks
    /// must free them with the upstream's cookie unchanged
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
/// by the handle alone: plain memory of the driver's
pub const CAI_IPC_LEGACY: u32 = 1;
/// by the handle and a file descriptor of the pool, which must be passed
/// beside it: memory of an exportable pool
pub const CAI_IPC_POOL: u32 = 2;
/// A handle of memory for another process. Send its bytes unchanged. 160 bytes, never more. Since
/// 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_ipc_handle {
    /// sizeof([`cai_ipc_handle`]) in the process that made it
    pub struct_size: u32,
    /// `CAI_IPC_*`
    pub kind: u32,
    /// bytes of the memory
    pub size: u64,
    /// of the memory in the allocation that `data` names
    pub offset: u64,
    /// the process that made it; a process cannot open its own handles
    pub process: u64,
    /// POOL: identifies the pool in that process
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
    /// when that process started, since process ids are reused
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
/// The functions of a manager. The first six are required. NULL for any other means the function of
/// the upstream manager, if there is one, else the default that is documented at the function. It
/// grows at the tail; a table of a newer version is refused.
///
/// All functions may be called from any thread, and by several threads at a time; create and destroy
/// only for different managers. If several threads need a device's manager first at the same time,
/// each may create one; one stays, and the others are destroyed. libcai calls the functions with the
/// GPU's primary context current, and with no lock of libcai held. They may call libcai, but
/// recursion into the manager itself must end: libcai returns [`CAI_ERR_STATE`] to a function that has
/// called itself eight times on the thread, to an `initialize` that allocates from its own manager,
/// and to a `create` that asks for the device's manager while that manager is being made. They must
/// not throw, and must not write outputs on failure.
///
/// A `stream` is 1, 2 or a CUstream; 0 for the CPU. It is valid until the call returns: then it may
/// be destroyed, and another stream may get its value, which no function tells the manager. To
/// allocate a freed block again, the manager must record an event on the stream before memfree
/// returns, and make the stream of the next memalloc wait for it. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_manager_table {
    /// sizeof([`cai_manager_table`])
    pub struct_size: u32,
    /// [`CAI_MANAGER_VERSION`]
    pub version: u32,
    /// for errors and logs; must stay valid for the life of the process
    pub name: *const ::core::ffi::c_char,
    /// Makes the manager of a device.
    ///
    /// # Arguments
    ///
    /// - `params`: as passed to [`cai_manager_create()`]; NULL if libcai makes the manager itself
    /// - `upstream`: libcai holds a reference as long as the manager lives; may be NULL
    pub create: ::core::option::Option<
        unsafe extern "C" fn(
            params: *const ::core::ffi::c_void,
            device: cai_device,
            upstream: *mut cai_manager,
            self_: *mut *mut ::core::ffi::c_void,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Destroys the manager. Memory may still be allocated from it; that memory is never freed. The
    /// pending frees that the manager has added ([`cai_pending_add()`]) may run after it.
    pub destroy: ::core::option::Option<unsafe extern "C" fn(self_: *mut ::core::ffi::c_void)>,
    /// Called before the first allocation. It may be called again, and by several threads at once if
    /// they allocate first at the same time; it must keep existing state. NBEP 7, initialize.
    pub initialize: ::core::option::Option<
        unsafe extern "C" fn(self_: *mut ::core::ffi::c_void, error: *mut cai_error) -> cai_status,
    >,
    /// Drops cached memory, since the device is being reset. May be called before initialize;
    /// initialize is called again afterwards. Allocated memory is still freed later, unless the
    /// primary context is destroyed: then only destroy follows. NBEP 7, reset.
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
    /// [`CAI_ERR_MEMORY`] if memory is short: libcai then frees what is pending and calls the
    /// function once more (if there is an upstream manager, only if something was pending);
    /// [`CAI_ERR_UNSUPPORTED`] for a kind that the manager does not have
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
    /// Frees a block of memalloc in the order of `stream`. It must not wait for the device: see
    /// [`cai_pending_add()`]. libcai checks that ASYNC memory is neither allocated nor freed on a stream
    /// that is being captured; a manager that allocates other kinds in stream order must check that
    /// itself.
    ///
    /// # Returns
    ///
    /// [`CAI_ERR_CAPTURE`] if the capture forbids it: the block stays allocated, and libcai frees
    /// it again later. After any other failure libcai does not. The same holds for all
    /// functions that undo another one
    pub memfree: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            stream: u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Allocates host memory. NULL: libcai uses the driver, and frees the memory with the pending
    /// frees, or the heap. NBEP 7, memhostalloc.
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
    /// Frees a block of memhostalloc. NULL if and only if memhostalloc is.
    pub memhostfree: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Pins existing host memory. NULL: by the driver. NBEP 7, mempin.
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
    /// Undoes mempin at once, even if that waits for the device: other code may pin the memory again,
    /// or free it. If it fails, libcai never frees the host memory. NULL if and only if mempin is.
    pub memunpin: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Returns the driver's allocation around an address. NULL: libcai asks the driver.
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
    /// - `fd`: receives the descriptor for [`CAI_IPC_POOL`], which the caller must close; else -1
    pub get_ipc_handle: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            out: *mut cai_ipc_handle,
            fd: *mut i32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Opens memory of another process in place, for work on any stream. libcai does not open a
    /// handle that is open already. NULL: by the driver.
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
    /// Closes a block of open_ipc_handle. NULL if and only if open_ipc_handle is.
    pub close_ipc_handle: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            block: *const cai_block,
            stream: u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Returns the free and total memory in bytes. NULL: [`cai_device_memory()`]. NBEP 7,
    /// get_memory_info.
    pub get_memory_info: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            free: *mut u64,
            total: *mut u64,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Stops the manager's own pending frees (`enter` 1) until it is called as often with 0. NULL:
    /// the manager has no pending frees except those of [`cai_pending_add()`]. NBEP 7, defer_cleanup.
    pub defer_cleanup: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut ::core::ffi::c_void,
            enter: i32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Releases cached memory, down to `keep` bytes. NULL: the manager caches nothing.
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
    /// bytes that the pool allocates at creation, and keeps
    pub initial: u64,
    /// the most bytes that the pool may have; 0: the device's limit
    pub maximum: u64,
    /// freed bytes that the pool caches; UINT64_MAX: all
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
/// other processes can open its memory, [`CAI_IPC_POOL`]
pub const CAI_POOL_EXPORTABLE: u32 = 1;
/// makes it the device's current pool until the manager ends:
/// CuPy, cuda.core, RMM and all other stream-ordered allocation
/// use it
pub const CAI_POOL_INSTALL: u32 = 2;
/// Params of "limiting". 16 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_limit_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// bytes that may be allocated at a time, by [`cai_block.size`](cai_block::size)
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
/// Names the caller, for logs: writes at most `size` bytes of UTF-8 and a NUL, as "file.py:12". An
/// empty text means unknown. Any thread. Since 0.1.
pub type cai_caller_fn = ::core::option::Option<
    unsafe extern "C" fn(
        context: *mut ::core::ffi::c_void,
        text: *mut ::core::ffi::c_char,
        size: u64,
    ),
>;
/// Params of "logging", which writes to a file or to a function. The first line names the columns:
/// time (seconds since the manager was created), device, action, address, size, stream, status,
/// caller. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_log_params {
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// appended to; NULL if `write` is set
    pub path: *const ::core::ffi::c_char,
    /// receives whole lines, with
    /// their line end; any
    /// thread
    pub write: ::core::option::Option<
        unsafe extern "C" fn(
            context: *mut ::core::ffi::c_void,
            line: *const ::core::ffi::c_char,
            length: u64,
        ),
    >,
    /// may be NULL
    pub caller: cai_caller_fn,
    /// for both; belongs to the manager once that is created
    pub context: *mut ::core::ffi::c_void,
    /// called once, when the manager has ended, on any thread. If
    /// creating it fails, the context is still the caller's. NULL:
    /// the context must outlive the manager
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
    /// for `caller`; belongs to the manager once that is created
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
    /// Called when memory is short. Returns 1 if it has freed something, to try again, or 0 to fail.
    ///
    /// # Arguments
    ///
    /// - `attempt`: 0 at the first failure of an allocation, then 1 and so on
    pub retry: ::core::option::Option<
        unsafe extern "C" fn(context: *mut ::core::ffi::c_void, size: u64, attempt: u64) -> i32,
    >,
    /// for retry; belongs to the manager once that is created
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
/// Counts of "statistics", "limiting" and "tracking". Each count is exact; while other threads
/// allocate or free, the counts may be of different moments. A block whose free has failed counts as
/// allocated, until the capture ends or for good. It grows at the tail. 64 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_statistics {
    /// in: sizeof([`cai_statistics`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// 0
    pub reserved: u32,
    /// bytes allocated now, by [`cai_block.size`](cai_block::size)
    pub bytes: u64,
    /// the most bytes allocated at a time
    pub bytes_peak: u64,
    /// bytes ever allocated
    pub bytes_total: u64,
    /// allocations now
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
/// An allocation that is not freed. Valid during the callback. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_allocation {
    /// bytes of this struct; it grows at the tail
    pub struct_size: u32,
    /// `CAI_KIND_*`
    pub kind: u32,
    /// its address; of memhostalloc, the host's
    pub data: u64,
    pub size: u64,
    pub stream: u64,
    /// time of the allocation, since the manager was created
    pub seconds: f64,
    /// as [`cai_caller_fn`] wrote it
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
/// A request for memory. Zero it, then set struct_size, kind and size. It grows at the tail. 88
/// bytes. Since 0.1.
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
/// freed by [`cai_memory_free()`], or by a reset of the
/// device
pub const CAI_MEMORY_FREED: u32 = 2;
/// from [`cai_memory_wrap()`], or of another process
pub const CAI_MEMORY_FOREIGN: u32 = 4;
/// [`cai_memory_view()`]
pub const CAI_MEMORY_VIEW: u32 = 8;
/// must not be written; arrays of it are read-only
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
    /// bytes in all, padding of rows included
    pub size: u64,
    /// bytes used of a row, as requested; size if there are no rows
    pub row: u64,
    /// bytes from one row to the next; size if there are no rows
    pub pitch: u64,
    /// 1 if there are no rows
    pub rows: u64,
    /// 1 if there is no third dimension
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
/// The allocated and the pending memory of a device. It grows at the tail. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_usage {
    /// in: sizeof([`cai_usage`]), at least 8; as in [`cai_device_info`]
    pub struct_size: u32,
    /// calls of [`cai_pending_defer()`] that have not ended
    pub deferred: u32,
    /// bytes of allocated [`cai_memory`], without the memory that a manager
    /// allocates inside of its own functions; pinned and managed memory of a
    /// GPU counts for the CPU, too. Memory counts until its last release or
    /// [`cai_memory_free()`], even if its free is deferred then; memory that a
    /// built-in manager has from a pool, until [`CAI_RESET_CONTEXT`], too
    pub bytes: u64,
    /// allocations of these bytes
    pub count: u64,
    /// bytes of pending frees
    pub pending_bytes: u64,
    /// pending frees, and streams and events to be destroyed
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
/// in place: on its own device, or on a device that can access that one
pub const CAI_OPEN_DIRECT: u32 = 1;
/// as a copy in new memory, queued on the stream; the original is closed
/// once the copy is complete
pub const CAI_OPEN_STAGED: u32 = 2;
/// DIRECT where possible, else STAGED
pub const CAI_OPEN_AUTO: u32 = 3;
functions! {
    memory:
    /// Parses a device: "cpu", "gpu" (the thread's current GPU), "gpu:1" or "cuda:1", "gpu:free" (the
    /// GPU with the most free memory). "cuda" means the same as "gpu". Case does not matter, nor do
    /// blanks at both ends and around the colon.
    ///
    /// # Arguments
    ///
    /// - `text`: NUL-terminated UTF-8
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for any other text; [`CAI_ERR_DEVICE`] if there is no such GPU;
    /// [`CAI_ERR_DRIVER`] and [`CAI_ERR_CUDA`] for GPUs; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_parse(
        text: *const ::core::ffi::c_char,
        out: *mut cai_device,
        error: *mut cai_error,
    ) -> cai_status;
    /// Writes a device as "cpu" or "gpu:1". It does not check whether there is such a GPU.
    ///
    /// # Arguments
    ///
    /// - `text`: [`CAI_DEVICE_TEXT_SIZE`] bytes; receives the text and its NUL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] if the type or the id is invalid; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_format(
        device: cai_device,
        text: *mut ::core::ffi::c_char,
        error: *mut cai_error,
    ) -> cai_status;
    /// Counts the devices of a type: 1 for the CPU; 0 for GPUs if there is no driver that libcai can
    /// use.
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
    /// Returns the calling thread's current device of a type: the CPU, or the GPU of its current
    /// context, or GPU 0 if no context is current.
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
    /// Makes a GPU's primary context current on the calling thread, in place of the current one. Does
    /// nothing for the CPU.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if there is no such device; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_STATE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_device_set_current(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Makes a device current until [`cai_device_leave()`] with the same guard on the same thread: pushes a
    /// GPU's primary context. Does nothing for the CPU.
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
    /// Restores the context that was current before [`cai_device_enter()`]. Leave guards in the reverse
    /// order.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`], with nothing changed, on another thread, for a guard that was
    /// left already, and if the entered context is not the current one; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_device_leave(guard: *mut cai_device_guard, error: *mut cai_error) -> cai_status;
    /// Returns the properties of a device.
    ///
    /// # Arguments
    ///
    /// - `out`: the caller sets struct_size
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
    /// Writes a few lines for people: name, UUID, memory, capabilities.
    ///
    /// # Arguments
    ///
    /// - `text`: `size` bytes; receives the lines, cut to fit, and a NUL. May be NULL if size is 0
    /// - `length`: may be NULL; receives the bytes of the whole text, without the NUL
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
    /// Finds the GPU with a UUID, whatever its ordinal in this process.
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
    /// Returns a device's free and total memory; for the CPU, the machine's.
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
    /// Returns the device of a type with the most free memory; of several, the first.
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
    /// Reports whether kernels on a device can be given access to another device's memory. A device can
    /// access its own memory; a GPU and the CPU cannot access each other's.
    ///
    /// # Arguments
    ///
    /// - `yes`: receives 1 or 0
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
    /// Waits for the calling thread's current stream of the device, and then for all other work queued
    /// in the GPU's primary context.
    ///
    /// The driver refuses this while any stream of the context is being captured, and invalidates the
    /// capture. libcai checks first the streams that it has handles for, and those ordered with the
    /// legacy stream. It cannot see other streams: make a handle for such a stream with
    /// [`cai_stream_wrap()`], or do not call this while it is being captured.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if a stream that it sees is being captured, and the capture
    /// goes on; [`CAI_ERR_CUDA`] with 900 in `native` if another stream is being captured, and the
    /// driver has invalidated that capture; a failure of earlier work as
    /// [`cai_stream_synchronize()`]; the rest as [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_device_synchronize(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Adds a callback. Each [`cai_device_reset()`] of any device calls it once, after it has synchronised
    /// and before it resets. A pair of function and context that is registered already is not added
    /// again.
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
    /// Removes a callback; does nothing if it is not registered. A reset that has begun may still call
    /// it.
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
    /// Synchronises a device, calls the callbacks, runs the pending frees ([`cai_pending_add()`]), resets
    /// the managers of the device, and drops the calling thread's current streams of it. Callbacks run
    /// in the order in which they were added, with no lock held. It waits for frees and ends that other
    /// threads are running, where [`cai_pending_flush()`] does, and for that no lock that they need may be
    /// held: release the GIL first.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_RESET_*`. With [`CAI_RESET_CONTEXT`] no other thread may be in a call that uses the
    ///   device, of libcai or of the driver, until this one returns; nor in [`cai_drain()`] or
    ///   [`cai_pending_flush()`], or in a use, a copy, an allocation or a free on another GPU,
    ///   which look at what is pending on all GPUs. It waits for the work of CPU streams on
    ///   memory that ends with the context, but not for that of other GPUs: synchronise
    ///   these before. If work of a CPU stream calls it, it does not wait, since that would
    ///   be for itself: then no other stream's work on such memory may be pending. It frees
    ///   what libcai's managers have allocated from pools, which outlive the context, and
    ///   calls the `release` of wrapped streams of the context, while these exist. Close
    ///   open uses on the context's streams before. After it, using memory, streams and
    ///   events of the device that are still referenced returns [`CAI_ERR_STATE`]; releasing
    ///   them is safe. The context stays current wherever it was, and the next function that
    ///   works on the device creates it again
    ///
    /// # Returns
    ///
    /// as [`cai_device_synchronize()`], after which nothing but synchronising has happened;
    /// [`CAI_ERR_CUDA`], also for the reset itself; [`CAI_ERR_STATE`] inside of a callback;
    /// [`CAI_ERR_ARGUMENT`] for other flags.
    ///
    /// Since 0.1.
    pub fn cai_device_reset(device: cai_device, flags: u32, error: *mut cai_error) -> cai_status;
    /// Sets how much freed memory the device's current pool caches: the driver releases the excess
    /// whenever streams synchronise. Does nothing for the CPU.
    ///
    /// # Arguments
    ///
    /// - `bytes`: 0 by default
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
    /// Releases cached memory of the device's current pool, down to `keep` bytes. Does nothing for the
    /// CPU.
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
    /// Creates a stream.
    ///
    /// # Arguments
    ///
    /// - `mode`: `CAI_MODE_*`
    /// - `priority`: 0 is the default, and lower is more urgent; the driver clips it. Must be 0 for
    ///   the CPU and for [`CAI_MODE_DEFAULT`]
    /// - `out`: the stream; the caller owns one reference. The last [`cai_stream_release()`] does
    ///   not wait: queued work still runs, and a GPU stream is destroyed with the pending
    ///   frees
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for another mode or priority; the rest as
    /// [`cai_device_set_current()`], and [`CAI_ERR_UNSUPPORTED`] if a thread cannot be created.
    ///
    /// Since 0.1.
    pub fn cai_stream_create(
        device: cai_device,
        mode: u32,
        priority: i32,
        out: *mut *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a handle for a GPU stream that other code created. Two handles mean the same stream if
    /// their values, contexts and (for 2) threads are the same.
    ///
    /// # Arguments
    ///
    /// - `device`: the stream's device
    /// - `value`: 1 or 2 of the device's primary context, or a CUstream. 2 is the calling thread's:
    ///   using the handle on another thread returns [`CAI_ERR_STATE`]
    /// - `release`: called when libcai no longer needs the stream, to destroy it; runs once, on any
    ///   thread, with no lock held; may be NULL
    /// - `context`: for release. On success it belongs to the handle; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for 0; [`CAI_ERR_DEVICE`] if the stream is not of that device, or
    /// the device is the CPU; [`CAI_ERR_ARGUMENT`]; the rest as [`cai_device_set_current()`].
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
    /// Adds a reference. Since 0.1.
    pub fn cai_stream_retain(stream: *mut cai_stream);
    /// Releases a reference. Work on a CPU stream may release that stream, even the last reference.
    /// Since 0.1.
    pub fn cai_stream_release(stream: *mut cai_stream);
    /// Returns the stream's value for the functions under "Order" in cai.h and for the dict: 1, 2 or a
    /// CUstream; 0 for a CPU stream, and for NULL. Since 0.1.
    pub fn cai_stream_value(stream: *const cai_stream) -> u64;
    /// Returns the properties of a stream.
    ///
    /// # Arguments
    ///
    /// - `out`: the caller sets struct_size
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
    /// Sets how many threads the work on a CPU stream may use; the work must read it itself.
    ///
    /// # Arguments
    ///
    /// - `threads`: at least 1; the default is the machine's number of processors
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
    /// The first failure of work on a stream is returned once, by the next call for the handle of
    /// [`cai_stream_enqueue()`], which then queues nothing, [`cai_stream_query()`], [`cai_stream_synchronize()`],
    /// [`cai_stream_follow()`], [`cai_event_wait()`], or, on the CPU, [`cai_event_record()`]. If there is no such
    /// call, the failure goes to the hook of [`cai_on_failure()`]. On a CPU stream the failure also drops
    /// all work queued after it (`done` is still called), but not the stream's waits for other streams
    /// and events. Then a call that waits for dropped work on an array, or for the failed work if that
    /// was recorded, returns the failure unless an earlier call did, or the stream was released, and the
    /// hook has it. Such a call may have waited for no other work: repeat it. A call that waits for
    /// earlier work of the stream returns no failure.
    ///
    /// Work on a CPU stream may use arrays. A call inside it that waits for pending work (a use,
    /// [`cai_array_copy()`], [`cai_array_item()`], [`cai_array_eval()`], [`cai_array_sync_host()`], writing the dict)
    /// waits for what was queued on CPU streams before this work, and not for what was queued after it,
    /// not even by this work. For later uses to wait for this work, record it: [`cai_memory_record()`].
    ///
    /// The work must not wait for work on another stream that waits for it, for example because it
    /// uses memory on which this work was recorded ([`cai_memory_record()`]): both would wait forever.
    ///
    /// # Arguments
    ///
    /// - `work`: the function; NULL: there is only `done`, as by [`cai_stream_attach()`]
    /// - `done`: called once after `work`, or when the work is dropped; it frees `context`. On a
    ///   GPU stream it is called by a later call for this stream or by [`cai_drain()`], not by
    ///   the driver's thread, so it may call the driver. May be NULL
    /// - `context`: for both. On failure it is the caller's, and `done` is never called
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the failure of earlier work; the failure of `work` if it ran at once (the
    /// context is the caller's then, too); [`CAI_ERR_CAPTURE`] if `work` and `done` are given and
    /// the stream is being captured, and if its capture was invalidated; [`CAI_ERR_STATE`] after a
    /// reset; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_enqueue(
        stream: *mut cai_stream,
        work: cai_work_fn,
        done: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Keeps an object until the work queued on the stream so far is complete. In a capture, the graph
    /// keeps it.
    ///
    /// # Arguments
    ///
    /// - `release`: frees the object. It is called once, by a later call for the stream, a later call
    ///   under "Order" or [`cai_drain()`], never by the driver's thread; on a CPU stream, by
    ///   the thread that runs its work
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
    /// Reports whether work is pending on a stream.
    ///
    /// # Arguments
    ///
    /// - `busy`: receives 1 or 0
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
    /// Waits until the queued work is complete; then releases what was attached. What another thread is
    /// releasing at that moment it does not wait for: [`cai_drain()`] with `wait` does. Release the GIL
    /// first.
    ///
    /// # Returns
    ///
    /// as [`cai_stream_query()`]; [`CAI_ERR_STATE`] also on the CPU stream's own thread.
    ///
    /// Since 0.1.
    pub fn cai_stream_synchronize(stream: *mut cai_stream, error: *mut cai_error) -> cai_status;
    /// Makes later work on `stream` wait for the work queued on `other` so far. The host waits only if
    /// a GPU stream follows an ASYNC stream of the CPU, or if a CPU stream that works at once follows
    /// any stream. A GPU stream that follows a stream that is being captured joins the capture; the
    /// captured stream must follow it back before the capture ends.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] where a capture allows no such order; the failure of earlier
    /// work on either; [`CAI_ERR_STATE`] after a reset, and where a CPU stream would wait for
    /// itself; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_stream_follow(
        stream: *mut cai_stream,
        other: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the calling thread's current stream of a device; the default is a stream of
    /// [`CAI_MODE_DEFAULT`]. A thread that ends releases its current streams; what it calls after that, in
    /// destructors of static and thread-local objects or in functions of atexit(), gets the default.
    ///
    /// # Arguments
    ///
    /// - `out`: the stream, with a new reference
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
    /// Makes a stream the calling thread's current stream of the stream's device.
    ///
    /// # Arguments
    ///
    /// - `stream`: the function adds a reference to it, and releases the reference to the stream that
    ///   it replaces
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] after a reset, and once the ending thread has released its
    /// current streams: pass the stream to each call instead; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
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
    /// Synchronises the stream, and makes the previous stream current again. Leave the guards of a
    /// device in the reverse order; in any, once the ending thread has released its current streams
    /// ([`cai_stream_current()`]): then nothing is made current, and all else is the same.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_LEAVE_*`
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`], with nothing changed, on another thread, for a guard that was
    /// left already, and out of order; a failure as [`cai_stream_synchronize()`], its
    /// [`CAI_ERR_STATE`] included, and the guard is left all the same: its thread is 0 then;
    /// [`CAI_ERR_ARGUMENT`], also for other flags.
    ///
    /// Since 0.1.
    pub fn cai_stream_leave(
        guard: *mut cai_stream_guard,
        flags: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Creates an event. It is complete until it is recorded.
    ///
    /// # Arguments
    ///
    /// - `flags`: `CAI_EVENT_*`
    /// - `out`: the event; the caller owns one reference. The last [`cai_event_release()`] does not
    ///   wait
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
    /// Adds a reference. Since 0.1.
    pub fn cai_event_retain(event: *mut cai_event);
    /// Releases a reference. Since 0.1.
    pub fn cai_event_release(event: *mut cai_event);
    /// Returns the CUevent, as in arrays of [`CAI_STREAM_EVENT`]; 0 for a CPU event, and for NULL. Since
    /// 0.1.
    pub fn cai_event_value(event: *const cai_event) -> u64;
    /// Records the event after the work queued on a stream so far. Work that waits for an earlier
    /// record of the event still waits for that.
    ///
    /// # Arguments
    ///
    /// - `stream`: of the event's device
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] for a stream of another device, or of another context than the
    /// GPU's primary context; [`CAI_ERR_CAPTURE`] if the capture was invalidated; the failure of
    /// earlier work on a CPU stream; [`CAI_ERR_STATE`] after a reset; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_event_record(
        event: *mut cai_event,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes later work on a stream wait for the last record of the event; does nothing if it was never
    /// recorded.
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
    /// Reports whether work before the event is pending.
    ///
    /// # Arguments
    ///
    /// - `busy`: receives 1 or 0
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if it was recorded in a capture; [`CAI_ERR_STATE`] after a reset,
    /// and in a forked child if work of the parent's is pending; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_ARGUMENT`].
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
    /// as [`cai_event_query()`]; [`CAI_ERR_STATE`], also on the thread of the CPU stream that must
    /// complete it.
    ///
    /// Since 0.1.
    pub fn cai_event_synchronize(event: *mut cai_event, error: *mut cai_error) -> cai_status;
    /// Returns the time between two events of one device.
    ///
    /// # Arguments
    ///
    /// - `start`: made with [`CAI_EVENT_TIMING`], recorded, and complete
    /// - `end`: likewise
    /// - `milliseconds`: negative if `end` came first
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] if one was not recorded or is not complete, and after a reset;
    /// [`CAI_ERR_DEVICE`] if their devices differ; [`CAI_ERR_VALUE`] if one was made without
    /// [`CAI_EVENT_TIMING`]; [`CAI_ERR_CAPTURE`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_event_elapsed(
        start: *mut cai_event,
        end: *mut cai_event,
        milliseconds: *mut f64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns a kind's name, as quoted above; NULL if the kind is invalid. Since 0.1.
    pub fn cai_kind_name(kind: u32) -> *const ::core::ffi::c_char;
    /// Parses the name of a kind. Case and blanks at both ends do not matter. "unified",
    /// "unified_global" and "pitched_unified" are other names of the managed kinds.
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
    /// Returns 1 if the host may use memory of a kind on a device, else 0. The host may use all memory
    /// of the CPU that has an address, and pinned, mapped, managed and host memory of GPUs. Since
    /// 0.1.
    pub fn cai_is_dereferenceable(device: cai_device, kind: u32) -> i32;
    /// Registers a table under a name, for the life of the process.
    ///
    /// # Arguments
    ///
    /// - `name`: letters, digits, '_', '-' and '.'; copied
    /// - `table`: must stay valid for the life of the process, with its code
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VERSION`] for a table of another version, and the message names the
    /// version needed; [`CAI_ERR_VALUE`] if the name is already registered or invalid, or if the
    /// table lacks a required function or has only one of a pair; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_register(
        name: *const ::core::ffi::c_char,
        table: *const cai_manager_table,
        error: *mut cai_error,
    ) -> cai_status;
    /// Creates a manager. These are built in:
    ///
    /// - "default": allocates each kind in its own way; DEFAULT is plain device memory, freed in
    /// batches;
    /// - "async": DEFAULT is stream-ordered, too, from the device's current pool;
    /// - "pool": likewise, from its own pool, see [`cai_pool_params`];
    /// - "managed", or "unified": all memory is managed;
    /// - "host": the heap; for the CPU only, as the others are for GPUs only;
    ///
    /// and these wrap an upstream manager, for device and host memory alike:
    ///
    /// - "statistics": counts allocations, see [`cai_manager_statistics()`];
    /// - "limiting": refuses what exceeds a limit, see [`cai_limit_params`];
    /// - "logging": writes a line for each call, see [`cai_log_params`];
    /// - "tracking": lists what is allocated, see [`cai_manager_outstanding()`];
    /// - "retrying": calls a function when memory is short, see [`cai_retry_params`].
    ///
    /// # Arguments
    ///
    /// - `name`: one of these, or a name of [`cai_manager_register()`]. A text with a slash is the
    ///   path of a library, as dlopen() takes it: "/path/lib.so" or "./lib.so:symbol". It
    ///   exports a [`cai_manager_table`] under that symbol (default
    ///   `cai_manager_table_export`), and is never unloaded
    /// - `params`: the manager's params; may be NULL where the manager says so
    /// - `device`: the GPU, or the CPU
    /// - `upstream`: the manager to wrap; the function adds a reference to it. NULL for a manager
    ///   that wraps none
    /// - `out`: the manager; the caller owns one reference; release it with
    ///   [`cai_manager_release()`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for an unknown name, a library that cannot be loaded, a missing
    /// symbol, invalid params, and an upstream manager that is missing or of another device;
    /// [`CAI_ERR_VERSION`]; [`CAI_ERR_UNSUPPORTED`] if the device does not have that memory; the
    /// status of `create`; the rest as [`cai_device_set_current()`].
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
    /// Adds a reference. Since 0.1.
    pub fn cai_manager_retain(manager: *mut cai_manager);
    /// Releases a reference. Memory that the manager allocated holds references, too. Since 0.1.
    pub fn cai_manager_release(manager: *mut cai_manager);
    /// Returns the name of the manager's table; NULL for NULL. Since 0.1.
    pub fn cai_manager_name(manager: *const cai_manager) -> *const ::core::ffi::c_char;
    /// Returns the manager's device. Since 0.1.
    pub fn cai_manager_device(manager: *const cai_manager) -> cai_device;
    /// Returns a device's manager. Unless one was installed, libcai creates it on first need: the CPU's
    /// is "host"; a GPU's goes by the name passed to [`cai_manager_choose()`], else by the environment
    /// variable `CAI_MEMORY_MANAGER` (a name or path as for [`cai_manager_create()`]), else it is "default".
    /// After [`CAI_RESET_CONTEXT`] it is created again, also where one was installed.
    ///
    /// # Arguments
    ///
    /// - `out`: the manager, with a new reference
    ///
    /// # Returns
    ///
    /// as [`cai_manager_create()`]; for an invalid `CAI_MEMORY_MANAGER` each call fails, and the
    /// message names it.
    ///
    /// Since 0.1.
    pub fn cai_manager_of(
        device: cai_device,
        out: *mut *mut cai_manager,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a manager the device's manager. Memory that is already allocated stays with its own
    /// manager.
    ///
    /// # Arguments
    ///
    /// - `manager`: the function adds a reference to it; NULL: the manager that [`cai_manager_of()`]
    ///   would create
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if the manager is another device's; [`CAI_ERR_STATE`] if a reset
    /// with [`CAI_RESET_CONTEXT`] has ended it; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_manager_install(
        device: cai_device,
        manager: *mut cai_manager,
        error: *mut cai_error,
    ) -> cai_status;
    /// Chooses by name the manager of every GPU that has none yet. Overrides the environment.
    ///
    /// # Arguments
    ///
    /// - `name`: as for [`cai_manager_create()`]; params are NULL and there is no upstream manager. If
    ///   the manager needs them, [`cai_manager_of()`] fails. NULL: use the environment again
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_manager_create()`], with nothing
    /// changed; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_manager_choose(
        name: *const ::core::ffi::c_char,
        error: *mut cai_error,
    ) -> cai_status;
    /// Allocates from a manager, as [`cai_memory_alloc()`] does, but without a handle; for adaptors. If
    /// memory is short, libcai frees what is pending and asks the manager once more, on the condition
    /// that memalloc names. libcai checks the manager's block: if it is too small or misaligned, libcai
    /// frees it at once by the manager's memfree or memhostfree, and returns [`CAI_ERR_STATE`]; a block at
    /// address 0 is refused likewise, and not freed.
    ///
    /// # Arguments
    ///
    /// - `size`: 0: the block is all zeros, and the manager is not called
    /// - `align`: a power of two; 0: 256
    /// - `kind`: DEFAULT, ASYNC, MANAGED or MANAGED_GLOBAL (memalloc), PINNED, MAPPED or HOST
    ///   (memhostalloc, flags 0)
    /// - `stream`: 1 or 2 of the primary context, or a CUstream; 0 for the CPU
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`], with native 2 if the driver has no more; [`CAI_ERR_VALUE`] for an
    /// invalid alignment, kind or stream; [`CAI_ERR_UNSUPPORTED`] for a kind that the manager does
    /// not have; [`CAI_ERR_CAPTURE`] on a stream that is being captured: for ASYNC memory (no
    /// manager is asked), and, by the built-in managers, for MANAGED memory and for DEFAULT
    /// memory of "async" and "pool"; [`CAI_ERR_STATE`] after a reset with [`CAI_RESET_CONTEXT`], and
    /// if the manager returned a block that is too small or misaligned; [`CAI_ERR_ARGUMENT`]; the
    /// manager's status. Since 0.1.
    pub fn cai_manager_alloc(
        manager: *mut cai_manager,
        size: u64,
        align: u64,
        kind: u32,
        stream: u64,
        out: *mut cai_block,
        error: *mut cai_error,
    ) -> cai_status;
    /// Frees a block of [`cai_manager_alloc()`]. A block of ASYNC memory, or of "async" and "pool", must be
    /// freed before a reset with [`CAI_RESET_CONTEXT`]: its pool outlives the context, and keeps it.
    ///
    /// # Arguments
    ///
    /// - `kind`: as for the allocation; within memfree, which gets no kind, DEFAULT stands for all
    ///   kinds of memalloc: libcai has looked for captures already
    /// - `stream`: the free happens in the order of this stream
    ///
    /// # Returns
    ///
    /// [`CAI_OK`], also for a block of zeros, and, without doing anything, after a reset with
    /// [`CAI_RESET_CONTEXT`] and once the driver is unloaded; [`CAI_ERR_VALUE`] for an invalid kind or
    /// stream; [`CAI_ERR_CAPTURE`] on a stream that is being captured, for ASYNC memory, for
    /// DEFAULT memory of "async" and "pool", and where the manager returns it: the block is not
    /// freed, and can be freed once the capture has ended; the manager's status, or the failure
    /// that kept libcai from calling the manager: after these the block must not be freed again;
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_manager_free(
        manager: *mut cai_manager,
        block: *const cai_block,
        kind: u32,
        stream: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the free and total memory that the manager reports.
    ///
    /// # Arguments
    ///
    /// - `free`: bytes; may be NULL
    /// - `total`: bytes; may be NULL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`]; the manager's status; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, get_memory_info. Since 0.1.
    pub fn cai_manager_memory(
        manager: *mut cai_manager,
        free: *mut u64,
        total: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Releases memory that the manager caches, down to `keep` bytes.
    ///
    /// # Returns
    ///
    /// as [`cai_manager_memory()`], except [`CAI_ERR_UNSUPPORTED`].
    ///
    /// Since 0.1.
    pub fn cai_manager_trim(
        manager: *mut cai_manager,
        keep: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the counts of a manager, or of the first upstream manager that counts.
    ///
    /// # Arguments
    ///
    /// - `out`: the caller sets struct_size
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
    /// Calls `visit` for each allocation that is not freed, the oldest first, of a manager or of the
    /// first upstream manager that tracks. Blocks whose free has failed are included. `visit` runs with
    /// no lock held.
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
    /// Allocates memory. If size, rows or depth is 0 where the kind needs a number, the memory has no
    /// address, and no manager is asked.
    ///
    /// # Arguments
    ///
    /// - `request`: libcai adds references to its stream and manager as long as it needs them
    /// - `out`: the memory; the caller owns one reference; release it with [`cai_memory_release()`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`], with native 2 if the driver has no more; [`CAI_ERR_VALUE`] for a
    /// field with an invalid value, for sizes whose product overflows, and for a stream or
    /// manager of another device; [`CAI_ERR_UNSUPPORTED`] for a kind that the device does not have;
    /// [`CAI_ERR_CAPTURE`] if the stream's capture, or one on this thread, forbids it;
    /// [`CAI_ERR_STATE`] if a reset has ended the stream; the rest as [`cai_manager_alloc()`] and
    /// [`cai_device_set_current()`].
    ///
    /// Since 0.1.
    pub fn cai_memory_alloc(
        device: cai_device,
        request: *const cai_request,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Pins existing host memory until the last release and until the recorded uses are complete. It is
    /// then unpinned at once, since the host memory may be pinned again or freed, and the driver waits
    /// for the device first: release it where the host may wait. The last release does not ask whether
    /// uses are complete. If there are any, a later call unpins the memory: [`cai_drain()`],
    /// [`cai_pending_flush()`], another [`cai_memory_pin()`] that overlaps it, or a wait for the stream. Work of
    /// CPU streams has references to the memory until it is over: wait for those streams first. So
    /// without `release`, wait for the CPU streams that work on it, and then call [`cai_drain()`] with
    /// `wait`, before you free the host memory or pin it again. If its `left` is not 0, the memory may
    /// be pinned still. Another [`cai_memory_pin()`] also waits for what other threads are ending, as
    /// [`cai_drain()`] with `wait` does.
    ///
    /// # Arguments
    ///
    /// - `host`: `size` bytes
    /// - `kind`: PINNED or MAPPED
    /// - `flags`: `CAI_HOST_*`
    /// - `release`: frees the host memory after it was unpinned; may be NULL. If unpinning fails, it
    ///   is never called: a GPU may still use the memory. In captures it is called as
    ///   that of [`cai_memory_wrap()`]
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
    /// Wraps memory that other code allocated. It has no free stream until [`cai_memory_set_stream()`].
    ///
    /// # Arguments
    ///
    /// - `info`: the call reads device, kind, data, host, size, pitch (0: the size), row (0: the
    ///   pitch, or the size if that is less; else at most `pitch`, which is then not 0),
    ///   rows (0: 1), and of the flags [`CAI_MEMORY_READONLY`]; the rest must be 0. To check
    ///   them against the driver, call [`cai_memory_validate()`]
    /// - `release`: frees the memory. It runs once, with no lock held, on the host, when the recorded
    ///   uses are complete; it is not ordered with any stream. For memory of a GPU the
    ///   thread's capture mode is relaxed then: release may free memory, whatever the
    ///   thread captures, but not in the order of a stream that is being captured. May be
    ///   NULL
    /// - `context`: for release; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for a field with an invalid value; [`CAI_ERR_DEVICE`];
    /// [`CAI_ERR_DRIVER`] and [`CAI_ERR_CUDA`] for GPUs; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_wrap(
        info: *const cai_memory_info,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        out: *mut *mut cai_memory,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a view of a part of the memory. The view holds a reference to the whole.
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
    /// Adds a reference. Since 0.1.
    pub fn cai_memory_retain(memory: *mut cai_memory);
    /// Releases a reference. Since 0.1.
    pub fn cai_memory_release(memory: *mut cai_memory);
    /// Frees memory now, even if references to it remain, in the order of its free stream and after the
    /// recorded uses. If [`cai_memory_find()`] finds it, fills and copies by CPU streams of imports of it
    /// come before, too. Its views are freed with it. The handle stays valid until the last reference is
    /// released. Its arrays stay, marked [`CAI_OWNER_FREED`]: no use of one can begin, and none can be
    /// exported. Dicts, tensors and columns that were exported before cannot be revoked: their consumers
    /// use freed memory.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`], also if a reset has freed it; [`CAI_ERR_STATE`] if this function has freed it
    /// already; [`CAI_ERR_UNSUPPORTED`] for a view; the manager's status, after which the memory
    /// counts as freed; the driver's status if it kept libcai from calling the manager, which
    /// libcai then calls later; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, MemoryPointer.free. Since 0.1.
    pub fn cai_memory_free(memory: *mut cai_memory, error: *mut cai_error) -> cai_status;
    /// Describes memory.
    ///
    /// # Arguments
    ///
    /// - `out`: the caller sets struct_size
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
    /// Finds the memory around an address, for kernels or for the host, if [`cai_memory_alloc()`] of this
    /// copy of libcai allocated it. It never finds views, memory that was pinned, wrapped or opened
    /// (other code may know it under another handle), or memory that a manager allocated inside of its
    /// own functions; none of these hides the memory that it is part of. If a manager returns parts of
    /// memory that it had allocated before by [`cai_memory_alloc()`], a part may hide the whole: at the
    /// part's addresses either is found, at higher ones perhaps neither as long as the part exists. Of
    /// two that begin at the same address, the earlier may never be found again.
    ///
    /// # Arguments
    ///
    /// - `out`: the memory, with a new reference
    /// - `offset`: may be NULL; receives the bytes from its beginning to the address
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
    /// Checks with the driver whether memory has the device, kind and size that the caller states.
    ///
    /// On the CPU, and for HOST on a GPU, the memory must not be a GPU's own. If the driver does not
    /// know it, the kind must be DEFAULT, ASYNC, PITCHED, HOST or, on the CPU, a managed one, since all
    /// these are of the heap there; without a driver any kind is. Pinned memory must be PINNED or
    /// MAPPED, and managed memory must be of a managed kind. For other kinds on a GPU the driver must
    /// know the memory; device memory must be that device's own; managed memory must be of a managed
    /// kind; pinned memory must be PINNED or MAPPED. The range must not leave the allocation.
    ///
    /// # Arguments
    ///
    /// - `size`: 0: only the kind is checked; for address 0 not even the kind
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`] if the memory is another device's, or of another kind;
    /// [`CAI_ERR_BOUNDS`]; [`CAI_ERR_VALUE`] for address 0 with a size, for an unknown kind, and for
    /// CUDA_ARRAY; [`CAI_ERR_CUDA`]; [`CAI_ERR_DRIVER`] for GPUs.
    ///
    /// Since 0.1.
    pub fn cai_memory_validate(
        address: u64,
        size: u64,
        device: cai_device,
        kind: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Sets the stream in whose order memory is freed. The free, and uses of the memory's arrays, still
    /// come after the work that is pending on the old stream. The new stream counts as an array that
    /// comes with another stream: before its own work on the new stream the producer must call
    /// [`cai_array_reclaim()`], and after its own work on any stream it must publish: arrays that were made
    /// before come with the old stream.
    ///
    /// # Arguments
    ///
    /// - `stream`: of the memory's device; the function adds a reference to it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_DEVICE`]; [`CAI_ERR_STATE`] if it was freed, or if the old stream is another
    /// thread's stream 2; [`CAI_ERR_UNSUPPORTED`] for a view; [`CAI_ERR_CAPTURE`] if the old stream is
    /// being captured; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_set_stream(
        memory: *mut cai_memory,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Records that the work queued on a stream so far uses the memory. The memory is not freed before
    /// that work is complete, and later uses of its arrays wait for it, as for a write. Unlike the end
    /// of a use, it does not make the array's stream wait: to work on that stream without a use, call
    /// [`cai_array_reclaim()`] before. What a function on a CPU stream queues on other streams is not work
    /// of its stream: the function must wait for it, or record it as well.
    ///
    /// # Arguments
    ///
    /// - `memory`: for a view, the whole memory counts as used
    /// - `stream`: of any device
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] if the memory was freed, or a reset has ended the stream;
    /// [`CAI_ERR_CAPTURE`] if the stream is being captured; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_memory_record(
        memory: *mut cai_memory,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an array of memory. The array holds a reference to the memory, and keeps uses: it ends
    /// once they are complete. Its stream is the memory's free stream; NONE if there is none, and for
    /// the CPU.
    ///
    /// # Arguments
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `dtype`: of an element
    /// - `shape`: `ndim` extents, elements; may be NULL if ndim is 0
    /// - `strides`: `ndim` strides, bytes; NULL: C order, with the pitch for the next to last axis of
    ///   pitched memory
    /// - `out`: owned; release it with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_BOUNDS`] if the array leaves the memory; [`CAI_ERR_UNSUPPORTED`] for a CUDA
    /// array; [`CAI_ERR_STATE`] if it was freed; [`CAI_ERR_VALUE`] as [`cai_array_validate()`];
    /// [`CAI_ERR_ORDER`] if arrays of it came with another thread's stream 2; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
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
    /// Makes an array of memory like another array: with its dtype, descr, shape and strides, and with
    /// a mask if it has one. Only these members of `like`, and its ABI, are read, and they are copied.
    /// Without such an array, zero a [`cai_array`] and set abi_major, dtype, descr, ndim and shape;
    /// likewise for the mask. Elements and mask are in this memory, and have one owner; the rest is as
    /// [`cai_memory_array()`].
    ///
    /// # Arguments
    ///
    /// - `offset`: bytes from the beginning of the memory to the first element
    /// - `like`: its strides, and the mask's, may be NULL: C order, for the elements as in
    ///   [`cai_memory_array()`]. [`CAI_FLAG_SWAPPED`] follows from dtype and descr, and
    ///   [`CAI_FLAG_READONLY`] from the memory
    /// - `mask_offset`: bytes to the first element of the mask; ignored without a mask
    /// - `out`: owned; release it with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// as [`cai_memory_array()`]; [`CAI_ERR_VALUE`] also for an invalid descr (entry descr), and for a
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
    /// Makes an uninitialised array like `like` in new memory, in C order. If `like` has a mask, the
    /// array gets a mask of the mask's dtype and shape (also if it broadcasts), after the elements. An
    /// axis of stride 0 is not repeated: each element has its own place. [`cai_array_copy()`] then copies
    /// elements and mask.
    ///
    /// # Arguments
    ///
    /// - `like`: as for [`cai_memory_array_like()`]; its strides are ignored
    /// - `request`: kind, align, flags, stream and manager; size, rows and depth are 0. For the kinds
    ///   PITCHED and PITCHED_MANAGED, each row holds the last axis. NULL: of kind DEFAULT
    /// - `out`: owned; release it with [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// as [`cai_memory_alloc()`] and [`cai_memory_array_like()`]; [`CAI_ERR_UNSUPPORTED`] for a mask in
    /// pitched memory (entry mask), and for CUDA_ARRAY.
    ///
    /// The text, "descr" and "mask". Since 0.1.
    pub fn cai_array_empty_like(
        like: *const cai_array,
        device: cai_device,
        request: *const cai_request,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the memory of an array. For an array of [`cai_memory_array()`], and for its views, that is
    /// the memory it was made of (the whole, if it was made of a view of memory).
    ///
    /// For any other array it is new memory of the extent of its elements, without the mask. That memory
    /// holds a reference to the array until its own last reference is released, also if it is freed by
    /// [`cai_memory_free()`], and it is an owner of its own. Until it is released, uses of its arrays and of
    /// `array` do not see each other, so use only one of the two. Its stream is the thread's current
    /// stream, which waits for the array's stream; when the memory is released, the array's stream waits
    /// for that stream. If by then one of the two streams is in a capture that the other is not in, or
    /// that has begun since, the array's stream does not wait, and only the array's owner keeps the
    /// work: later uses wait for it, and a producer must reclaim. An owner with functions of its own is
    /// told of work that is still pending once the capture has ended. Arrays of such memory can be used
    /// in a capture only if the memory's stream is in it. Work of CPU streams is always ordered between
    /// the two. A release in a function on a GPU stream, or while a blocking stream is being captured
    /// and the memory's stream is 1, or in which the driver fails (the hook of [`cai_on_failure()`] receives
    /// that), is completed by a later call: call [`cai_drain()`], after the capture, before `array` is used.
    ///
    /// For a read-only array the memory is [`CAI_MEMORY_READONLY`]; it is a view if the whole may be
    /// written. It is [`CAI_MEMORY_FREED`] once the array's owner is [`CAI_OWNER_FREED`].
    ///
    /// # Arguments
    ///
    /// - `array`: owned
    /// - `out`: the memory; the caller owns a reference
    /// - `offset`: may be NULL; receives the bytes from the beginning of the memory to the first
    ///   element
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`], also for a borrowed array; [`CAI_ERR_DEVICE`] for ROCm, and if
    /// the driver does not know the memory; [`CAI_ERR_STATE`] if the memory was freed
    /// ([`CAI_OWNER_FREED`]) and is not of [`cai_memory_array()`]; the rest as [`cai_array_locate()`] and
    /// [`cai_use_begin()`].
    ///
    /// Since 0.1.
    pub fn cai_memory_of(
        array: *const cai_array,
        out: *mut *mut cai_memory,
        offset: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Copies the elements of an array to another array, in the order of a stream, between any two
    /// devices. It begins and ends the use of both. If a GPU copies from or to an array on the CPU, the
    /// host waits until the copy is complete. A CPU stream waits for pending work of other CPU streams
    /// on the arrays; for pending work of a GPU on pinned memory, the host waits.
    ///
    /// On a GPU most layouts take one driver call. Axes that run in opposite directions, are repeated
    /// (stride 0) or do not nest take one call for each step of such an axis. A CPU stream with
    /// [`CAI_MODE_ASYNC`] holds references to both arrays until the copy is complete, and their owners keep
    /// the work: later uses wait for it, on GPUs too. If one array is borrowed, or its owner's used_on
    /// is not [`cai_owner_used_on()`], the call waits for the copy.
    ///
    /// A mask is copied, too: `to` must have a mask of the same type, not read-only, whose shape
    /// `from`'s mask broadcasts to; masks of bits must have the same shape, and fill whole bytes. If
    /// `from` has no mask, `to`'s mask is set to true. Elements and masks are one use: if it is refused,
    /// neither has changed. If the driver fails, work may have been queued, whose use is abandoned, as
    /// by [`cai_use_abandon()`]: call [`cai_drain()`] with `wait` before other code uses the arrays. If a mask
    /// must be copied or set by another GPU than the stream's, the thread's current stream of that GPU
    /// does it, between what the stream has done and what it does next; not in a capture.
    ///
    /// # Arguments
    ///
    /// - `from`: any strides; [`CAI_ACCESS_READ`]
    /// - `to`: not read-only; of the same shape and dtype, and with fields of the same types if
    ///   both are of kind V and have a descr; their names may differ. Must not overlap
    ///   `from`
    /// - `stream`: of the device of either array, or of the device that either's memory was allocated
    ///   for. It must be a GPU's unless the host may use both arrays (memory of the CPU,
    ///   and pinned memory). NULL: the thread's current stream of `to`'s device; of
    ///   `from`'s device if `to` is on the host, or if `to` is managed and `from` is a
    ///   GPU's own memory
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] if shapes or types differ, if `to` is read-only, and (entry mask)
    /// if `to` has no mask for `from`'s or its mask does not match; [`CAI_ERR_LAYOUT`] if elements
    /// of `to` overlap each other or `from`'s; [`CAI_ERR_UNSUPPORTED`] for bits, except masks whose
    /// bits fill whole bytes; [`CAI_ERR_DEVICE`] for a stream of a third device; [`CAI_ERR_CAPTURE`],
    /// also if the stream is being captured and the host, or another GPU, must do a part;
    /// [`CAI_ERR_STATE`] if the memory was freed, or a reset has ended the stream; the failure of
    /// earlier work on a CPU stream, once; the rest as [`cai_use_begin()`], of a mask's stream with
    /// "mask: " before the message.
    ///
    /// Since 0.1.
    pub fn cai_array_copy(
        from: *const cai_array,
        to: *const cai_array,
        stream: *mut cai_stream,
        error: *mut cai_error,
    ) -> cai_status;
    /// Sets all elements of an array, in the order of a stream. It begins and ends the use. Elements
    /// that the mask marks invalid are set, too; the mask does not change.
    ///
    /// # Arguments
    ///
    /// - `array`: not read-only
    /// - `value`: itemsize bytes of host memory, in the array's byte order; read before the call
    ///   returns. They are copied unchanged, whatever the type: for bfloat16 and float8
    ///   they are the bits
    /// - `stream`: of the array's device, or of the device that its memory was allocated for; or a
    ///   CPU stream for memory of the CPU and pinned memory. NULL: the thread's current
    ///   stream of the array's device
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
    /// Copies one element to the host, from any memory. It waits for pending work on the array; for an
    /// array on the CPU, also for the work queued on the thread's current CPU stream.
    ///
    /// # Arguments
    ///
    /// - `index`: `ndim` indices, elements; a negative index counts from the end; may be NULL if ndim
    ///   is 0
    /// - `out`: receives itemsize bytes, in the array's byte order
    ///
    /// # Returns
    ///
    /// as [`cai_array_copy()`]; [`CAI_ERR_UNSUPPORTED`] for a masked array; [`CAI_ERR_ARGUMENT`] for an
    /// index out of range ([`cai_error.index`](cai_error::index) is the axis).
    ///
    /// Since 0.1.
    pub fn cai_array_item(
        array: *const cai_array,
        index: *const i64,
        out: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Copies the first element of an array to the host, as [`cai_array_item()`] does.
    ///
    /// # Arguments
    ///
    /// - `out`: receives itemsize bytes, in the array's byte order
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
    /// Waits for the thread's current stream of the array's device, and for all pending work on the
    /// array and its mask. Does not wait if the array has no elements.
    ///
    /// # Returns
    ///
    /// as [`cai_stream_synchronize()`] and [`cai_array_sync_host()`].
    ///
    /// Since 0.1.
    pub fn cai_array_eval(array: *const cai_array, error: *mut cai_error) -> cai_status;
    /// Returns the allocated and the pending memory of a device.
    ///
    /// # Arguments
    ///
    /// - `out`: the caller sets struct_size
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
    /// Adds a pending free, for managers. `free` runs once, later or before the call returns, on any
    /// thread, with the GPU's primary context current and no lock held. It may run after the manager's
    /// `destroy`, unless that calls [`cai_pending_flush()`]; even then another thread may be running it. A
    /// reset of the device runs it at the latest. If it is added while [`CAI_RESET_CONTEXT`] destroys the
    /// context, `free` does not run: the addresses may belong to other memory by then.
    ///
    /// # Arguments
    ///
    /// - `bytes`: bytes that `free` frees; may be 0
    /// - `free`: the function; returns a status, and writes the error on failure
    /// - `context`: for free; on failure it is the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_DEVICE`]; [`CAI_ERR_VALUE`] as [`cai_device_format()`];
    /// [`CAI_ERR_ARGUMENT`], also if a limit in the environment is not a number; [`CAI_ERR_DRIVER`];
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
    /// Runs all pending frees of a device; none while [`cai_pending_defer()`] is open. It also retries to
    /// free memory of any device whose free failed because of a capture, out of memory or the driver, as
    /// [`cai_memory_alloc()`] does; it waits for the work that uses that memory, as [`cai_memory_alloc()`] does
    /// not. It waits for the pending frees, of any device, and for the deferred ends of arrays that
    /// other threads are running at that moment, unless it is called within one, within a manager's
    /// function, in a function on a GPU stream, or by work of a CPU stream. So none of them may wait for
    /// the caller, or need a lock that the caller holds. A free that a free adds may stay pending.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the first failure of a free, retried frees included (the others are freed all
    /// the same); [`CAI_ERR_CAPTURE`] if anything is pending while libcai sees a capture, and then
    /// nothing of it is freed; [`CAI_ERR_VALUE`] as [`cai_device_format()`] (nothing is pending on a
    /// device that does not exist); the rest as [`cai_device_set_current()`]. A retried free that
    /// cannot run yet is no failure: it stays deferred, and what hinders it, unless that is a
    /// capture, goes to [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_pending_flush(device: cai_device, error: *mut cai_error) -> cai_status;
    /// Begins or ends a period in which only a reset runs pending frees, even if memory is short.
    /// Periods nest, and may overlap. If the device's manager has defer_cleanup, libcai calls it, too;
    /// it calls it for an end once the manager has had more beginnings than are open, since an end does
    /// not name its beginning. Any thread may end a period; an end frees nothing by itself. Frees that
    /// another thread is running as a period begins go on.
    ///
    /// # Arguments
    ///
    /// - `defer`: 1 begins it, 0 ends it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] for an end without a beginning; the manager's status;
    /// [`CAI_ERR_VALUE`] for another value of `defer`; [`CAI_ERR_DEVICE`]; [`CAI_ERR_MEMORY`]; the rest
    /// as [`cai_manager_of()`].
    /// NBEP 7, defer_cleanup. Since 0.1.
    pub fn cai_pending_defer(device: cai_device, defer: i32, error: *mut cai_error) -> cai_status;
    /// Makes a handle that another process can open. libcai does not order work between processes: wait
    /// for the work on the memory, then tell the other process by a message.
    ///
    /// # Arguments
    ///
    /// - `memory`: a GPU's, of the kind DEFAULT or ASYNC, as its manager has it: plain memory of the
    ///   driver's, or memory of an exportable pool; may be a view. Hold a reference until
    ///   the other processes have closed theirs, which is not before the work on it there
    ///   is complete
    /// - `fd`: receives the pool's descriptor, which the caller must close; -1 for
    ///   [`CAI_IPC_LEGACY`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] for other kinds and pools, for managed memory, and for
    /// memory that is the CPU's or another library's, was opened, is read-only or has no bytes;
    /// [`CAI_ERR_STATE`] if it was freed, or if the manager returned an invalid handle;
    /// [`CAI_ERR_CUDA`]; the manager's status; [`CAI_ERR_ARGUMENT`].
    /// NBEP 7, get_ipc_handle. Since 0.1.
    pub fn cai_memory_share(
        memory: *mut cai_memory,
        out: *mut cai_ipc_handle,
        fd: *mut i32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Opens memory of another process. Memory that is already open on this device is shared, not
    /// opened again.
    ///
    /// # Arguments
    ///
    /// - `handle`: its process must be alive, and must not have freed the memory
    /// - `fd`: for [`CAI_IPC_POOL`] the received descriptor, which stays the caller's to close; else
    ///   -1
    /// - `device`: the device that will use the memory; libcai finds the memory's own device by its
    ///   UUID, whatever its ordinal
    /// - `stream`: the stream in whose order it is copied and closed; NULL: the thread's current
    ///   stream of `device`. A copy is not captured: [`CAI_ERR_CAPTURE`]
    /// - `how`: `CAI_OPEN_*`
    /// - `out`: the memory; the caller owns one reference, and the last release closes it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_STATE`] for a handle of this process, or of a process that has ended;
    /// [`CAI_ERR_DEVICE`] if this process does not see the device, or, for DIRECT, `device` cannot
    /// access it; [`CAI_ERR_VALUE`] for an invalid handle; [`CAI_ERR_CUDA`]; the rest as
    /// [`cai_memory_alloc()`].
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
    /// - `size`: bytes; 0 returns NULL, which is no failure
    /// - `device`: ordinal
    ///
    /// # Returns
    ///
    /// the address; NULL on failure, which goes to the hook of [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_torch_alloc(
        size: u64,
        device: i32,
        stream: *mut ::core::ffi::c_void,
    ) -> *mut ::core::ffi::c_void;
    /// Frees in the order of a stream: the free_fn. A pointer that is not from [`cai_torch_alloc()`], or
    /// was freed already, is not freed: the failure goes to the hook of [`cai_on_failure()`]. If the memory
    /// comes from another stream, which is being captured, it is freed in the order of that stream once
    /// the capture has ended, and after the work on this one. If this stream cannot be waited for, since
    /// it is being captured, too, or is no stream, the memory is never freed: the failure goes to the
    /// hook.
    ///
    /// # Arguments
    ///
    /// - `ptr`: may be NULL
    /// - `size`: ignored
    /// - `device`: ignored
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
    /// - `size`: receives its bytes; may be NULL
    ///
    /// # Returns
    ///
    /// its beginning; NULL for an address that is not libcai's, a failure that goes to the hook
    /// of [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_torch_base(
        ptr: *mut ::core::ffi::c_void,
        size: *mut u64,
    ) -> *mut ::core::ffi::c_void;
    /// Records that the work queued on a stream so far uses memory of [`cai_torch_alloc()`]. The memory is
    /// not freed before that work is complete. For set_record_stream_fn.
    ///
    /// # Arguments
    ///
    /// - `ptr`: the beginning of an allocation; NULL does nothing
    /// - `stream`: of any GPU; NULL, 1 and 2 mean streams of the memory's device
    ///
    /// Since 0.1.
    pub fn cai_torch_record_stream(ptr: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
    /// Compares PyTorch's number of devices with libcai's. If they differ, the failure goes to the hook
    /// of [`cai_on_failure()`]. For set_init_fn. Since 0.1.
    pub fn cai_torch_init(device_count: i32);
    /// Runs the pending frees and releases cached memory, on all devices that these functions have
    /// allocated on. For set_reset_fn, which torch.cuda.empty_cache() calls. Since 0.1.
    pub fn cai_torch_reset();
    /// Allocates.
    ///
    /// # Arguments
    ///
    /// - `param`: stream, as above
    /// - `size`: bytes; 0 returns NULL, which is no failure
    /// - `device`: ordinal
    ///
    /// # Returns
    ///
    /// the address; NULL on failure, which goes to the hook of [`cai_on_failure()`].
    ///
    /// Since 0.1.
    pub fn cai_cupy_alloc(
        param: *mut ::core::ffi::c_void,
        size: u64,
        device: i32,
    ) -> *mut ::core::ffi::c_void;
    /// Frees memory of [`cai_cupy_alloc()`] or `cai_cupy_malloc()`, as [`cai_torch_free()`] does. Any other
    /// pointer is not freed: the failure goes to the hook of [`cai_on_failure()`].
    ///
    /// # Arguments
    ///
    /// - `param`: stream, as above
    /// - `ptr`: may be NULL
    /// - `device`: ignored
    ///
    /// Since 0.1.
    pub fn cai_cupy_free(
        param: *mut ::core::ffi::c_void,
        ptr: *mut ::core::ffi::c_void,
        device: i32,
    );
}
