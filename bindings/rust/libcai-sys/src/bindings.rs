// SPDX-License-Identifier: BSD-3-Clause
// Written by `cargo run -p xtask -- bindings` from the headers named in headers/.

pub const CAI_HEADER_VERSION: u32 = 100;
pub const ARROW_FLAG_DICTIONARY_ORDERED: u32 = 1;
pub const ARROW_FLAG_NULLABLE: u32 = 2;
pub const ARROW_FLAG_MAP_KEYS_SORTED: u32 = 4;
pub const ARROW_DEVICE_CPU: u32 = 1;
pub const ARROW_DEVICE_CUDA: u32 = 2;
pub const ARROW_DEVICE_CUDA_HOST: u32 = 3;
pub const ARROW_DEVICE_OPENCL: u32 = 4;
pub const ARROW_DEVICE_VULKAN: u32 = 7;
pub const ARROW_DEVICE_METAL: u32 = 8;
pub const ARROW_DEVICE_VPI: u32 = 9;
pub const ARROW_DEVICE_ROCM: u32 = 10;
pub const ARROW_DEVICE_ROCM_HOST: u32 = 11;
pub const ARROW_DEVICE_EXT_DEV: u32 = 12;
pub const ARROW_DEVICE_CUDA_MANAGED: u32 = 13;
pub const ARROW_DEVICE_ONEAPI: u32 = 14;
pub const ARROW_DEVICE_WEBGPU: u32 = 15;
pub const ARROW_DEVICE_HEXAGON: u32 = 16;
pub const DLPACK_MAJOR_VERSION: u32 = 1;
pub const DLPACK_MINOR_VERSION: u32 = 3;
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u32 = 1;
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u32 = 2;
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u32 = 4;
pub const CAI_EXCHANGE_ATTRIBUTE: &[u8; 23] = b"__cai_c_exchange_api__\0";
pub const CAI_EXCHANGE_CAPSULE: &[u8; 17] = b"cai_exchange_api\0";
pub const CAI_VERSION_MAJOR: u32 = 0;
pub const CAI_VERSION_MINOR: u32 = 1;
pub const CAI_VERSION_PATCH: u32 = 0;
pub const CAI_ABI_MAJOR: u16 = 1;
pub const CAI_ABI_MINOR: u16 = 0;
/// of the CUDA Array Interface; 0 to 3 are read
pub const CAI_INTERFACE_VERSION: u32 = 3;
/// What a function returns: 0 or one of the negative values below. Since 0.1.
pub type cai_status = i32;
pub const CAI_OK: cai_status = 0;
/// an argument of the call itself is wrong, or NULL
pub const CAI_ERR_ARGUMENT: cai_status = -1;
/// an entry of the interface or a field of the array has a value that
/// the text forbids; [`cai_error.entry`](cai_error::entry) says which
pub const CAI_ERR_VALUE: cai_status = -2;
/// an entry has the wrong form: a list for a tuple, a float for an int
pub const CAI_ERR_TYPE: cai_status = -3;
/// made for another ABI major, or marked with an unknown critical flag
pub const CAI_ERR_VERSION: cai_status = -4;
/// out of memory: of the host, or, if native is 2, of the device
pub const CAI_ERR_MEMORY: cai_status = -5;
/// the caller's storage is too small
pub const CAI_ERR_STORAGE: cai_status = -6;
/// the view asked for needs a copy
pub const CAI_ERR_LAYOUT: cai_status = -7;
/// valid, but libcai does not support it
pub const CAI_ERR_UNSUPPORTED: cai_status = -8;
/// that form cannot express the array
pub const CAI_ERR_EXPORT: cai_status = -9;
/// there is no CUDA driver or no device, or the driver is too old
pub const CAI_ERR_DRIVER: cai_status = -10;
/// a driver call failed; [`cai_error.native`](cai_error::native) is its CUresult
pub const CAI_ERR_CUDA: cai_status = -11;
/// a stream is being captured into a graph: refused, and nothing has
/// changed
pub const CAI_ERR_CAPTURE: cai_status = -12;
/// the driver does not know the memory, or it is on a device of
/// another kind
pub const CAI_ERR_DEVICE: cai_status = -13;
/// the array reaches outside its allocation
pub const CAI_ERR_BOUNDS: cai_status = -14;
/// the arrays' streams allow no such order
pub const CAI_ERR_ORDER: cai_status = -15;
/// the state allows no such call: freed, reset or left already, or in
/// a forked child
pub const CAI_ERR_STATE: cai_status = -16;
pub const CAI_ENTRY_NONE: i32 = 0;
/// the dict as a whole
pub const CAI_ENTRY_INTERFACE: i32 = 1;
pub const CAI_ENTRY_VERSION: i32 = 2;
pub const CAI_ENTRY_SHAPE: i32 = 3;
pub const CAI_ENTRY_STRIDES: i32 = 4;
pub const CAI_ENTRY_TYPESTR: i32 = 5;
pub const CAI_ENTRY_DESCR: i32 = 6;
pub const CAI_ENTRY_DATA: i32 = 7;
pub const CAI_ENTRY_STREAM: i32 = 8;
pub const CAI_ENTRY_MASK: i32 = 9;
/// of NumPy's `__array_interface__` only
pub const CAI_ENTRY_OFFSET: i32 = 10;
/// dimensions, as in NumPy
pub const CAI_MAX_NDIM: i32 = 64;
/// descr lists within descr lists
pub const CAI_MAX_DESCR_DEPTH: usize = 64;
/// fields of a descr, nested ones included
pub const CAI_MAX_DESCR_FIELDS: usize = 65536;
/// bytes that hold any typestr and its NUL
pub const CAI_TYPESTR_SIZE: usize = 32;
/// Why a call failed. 256 bytes, never more; the caller provides it, and there is nothing to free.
/// Every function writes all of it on failure and nothing on success. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_error {
    /// what the function returned
    pub status: cai_status,
    /// the driver's CUresult, or 0
    pub native: i32,
    /// `CAI_ENTRY_*`: the entry at fault, or [`CAI_ENTRY_NONE`]
    pub entry: i32,
    /// the axis, field, item or array at fault, counted from 0, or -1
    pub index: i32,
    /// NUL-terminated UTF-8: names the entry and shows the value
    pub message: [::core::ffi::c_char; 240usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_error"][::core::mem::size_of::<cai_error>() - 256usize];
    ["Alignment of cai_error"][::core::mem::align_of::<cai_error>() - 4usize];
    ["Offset of field: cai_error::status"][::core::mem::offset_of!(cai_error, status) - 0usize];
    ["Offset of field: cai_error::native"][::core::mem::offset_of!(cai_error, native) - 4usize];
    ["Offset of field: cai_error::entry"][::core::mem::offset_of!(cai_error, entry) - 8usize];
    ["Offset of field: cai_error::index"][::core::mem::offset_of!(cai_error, index) - 12usize];
    ["Offset of field: cai_error::message"][::core::mem::offset_of!(cai_error, message) - 16usize];
};
/// advisory: the producer gave no strides (None or missing)
pub const CAI_FLAG_STRIDES_NONE: u32 = 1;
/// critical: "data", second item: must not be written
pub const CAI_FLAG_READONLY: u32 = 65536;
/// critical: `mask` is not NULL; some elements are invalid
pub const CAI_FLAG_MASKED: u32 = 131072;
/// critical: the byte order of the items, or of a field of descr,
/// is not the host's
pub const CAI_FLAG_SWAPPED: u32 = 262144;
pub const CAI_DEVICE_CPU: i32 = 1;
pub const CAI_DEVICE_CUDA: i32 = 2;
/// pinned host memory
pub const CAI_DEVICE_CUDA_HOST: i32 = 3;
/// exchanged as metadata; the functions under "Order" refuse it
pub const CAI_DEVICE_ROCM: i32 = 10;
pub const CAI_DEVICE_CUDA_MANAGED: i32 = 13;
/// the producer states that no order is needed ("stream": None)
pub const CAI_STREAM_NONE: u32 = 1;
/// versions 0 to 2, which have no such entry: order is unknown
pub const CAI_STREAM_UNSTATED: u32 = 2;
/// `stream` is 1, 2 or a CUstream: work may be pending there
pub const CAI_STREAM_STREAM: u32 = 3;
/// `stream` is a CUevent to wait for. It must not be recorded in a
/// capture: waiting would draw the consumer into the capture, and
/// libcai cannot detect that
pub const CAI_STREAM_EVENT: u32 = 4;
pub const CAI_EXT_NONE: u8 = 0;
/// 2 bytes; exported as "\<V2"
pub const CAI_EXT_BFLOAT16: u8 = 1;
/// 1 byte, as the other float8 types; exported as "|V1"
pub const CAI_EXT_FLOAT8_E4M3FN: u8 = 2;
pub const CAI_EXT_FLOAT8_E5M2: u8 = 3;
pub const CAI_EXT_FLOAT8_E4M3FNUZ: u8 = 4;
pub const CAI_EXT_FLOAT8_E5M2FNUZ: u8 = 5;
pub const CAI_EXT_FLOAT8_E4M3: u8 = 6;
pub const CAI_EXT_FLOAT8_E3M4: u8 = 7;
pub const CAI_EXT_FLOAT8_E4M3B11FNUZ: u8 = 8;
pub const CAI_EXT_FLOAT8_E8M0FNU: u8 = 9;
/// no unit: "\<M8"
pub const CAI_TIME_GENERIC: u8 = 0;
pub const CAI_TIME_Y: u8 = 1;
/// months
pub const CAI_TIME_M: u8 = 2;
pub const CAI_TIME_W: u8 = 3;
pub const CAI_TIME_D: u8 = 4;
/// "h"
pub const CAI_TIME_H: u8 = 5;
/// "m": minutes
pub const CAI_TIME_MIN: u8 = 6;
pub const CAI_TIME_S: u8 = 7;
pub const CAI_TIME_MS: u8 = 8;
pub const CAI_TIME_US: u8 = 9;
pub const CAI_TIME_NS: u8 = 10;
pub const CAI_TIME_PS: u8 = 11;
pub const CAI_TIME_FS: u8 = 12;
pub const CAI_TIME_AS: u8 = 13;
/// The type of an element, parsed from "typestr". 12 bytes. The text, "typestr", which refers to
/// NumPy's array interface. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_dtype {
    /// one of `b i u f c m M S U V`, or `t` for the bits of a mask
    pub kind: u8,
    /// '\<' or '>'; '|' where the order does not matter
    pub byteorder: u8,
    /// `CAI_EXT_*`; 0 for every type that a typestr can express
    pub ext: u8,
    /// `CAI_TIME_*`; 0 unless kind is 'm' or 'M'
    pub time_unit: u8,
    /// bytes, never 0 (4 \* n for "\<Un"); 1 for kind 't', meaning one bit
    pub itemsize: u32,
    /// multiples of time_unit in a tick: 25 for "\<M8\[25s]", else 1; 0 if
    /// there is no unit
    pub time_step: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_dtype"][::core::mem::size_of::<cai_dtype>() - 12usize];
    ["Alignment of cai_dtype"][::core::mem::align_of::<cai_dtype>() - 4usize];
    ["Offset of field: cai_dtype::kind"][::core::mem::offset_of!(cai_dtype, kind) - 0usize];
    ["Offset of field: cai_dtype::byteorder"]
        [::core::mem::offset_of!(cai_dtype, byteorder) - 1usize];
    ["Offset of field: cai_dtype::ext"][::core::mem::offset_of!(cai_dtype, ext) - 2usize];
    ["Offset of field: cai_dtype::time_unit"]
        [::core::mem::offset_of!(cai_dtype, time_unit) - 3usize];
    ["Offset of field: cai_dtype::itemsize"][::core::mem::offset_of!(cai_dtype, itemsize) - 4usize];
    ["Offset of field: cai_dtype::time_step"]
        [::core::mem::offset_of!(cai_dtype, time_step) - 8usize];
};
/// One field of an element: one item of "descr". 64 bytes. The text, "descr", and NumPy's
/// array interface. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_field {
    /// UTF-8; "" for padding and for a type with no name
    pub name: *const ::core::ffi::c_char,
    /// UTF-8, or NULL
    pub title: *const ::core::ffi::c_char,
    /// the nested fields, or NULL
    pub fields: *const cai_field,
    /// of a sub-array, in elements; NULL if ndim is 0
    pub shape: *const i64,
    /// bytes from the start of the enclosing item
    pub offset: u64,
    /// of one element; kind 'V' if there are nested fields
    pub dtype: cai_dtype,
    /// dimensions of the sub-array; usually 0
    pub ndim: i32,
    /// of `fields`
    pub field_count: u32,
    /// 0
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_field"][::core::mem::size_of::<cai_field>() - 64usize];
    ["Alignment of cai_field"][::core::mem::align_of::<cai_field>() - 8usize];
    ["Offset of field: cai_field::name"][::core::mem::offset_of!(cai_field, name) - 0usize];
    ["Offset of field: cai_field::title"][::core::mem::offset_of!(cai_field, title) - 8usize];
    ["Offset of field: cai_field::fields"][::core::mem::offset_of!(cai_field, fields) - 16usize];
    ["Offset of field: cai_field::shape"][::core::mem::offset_of!(cai_field, shape) - 24usize];
    ["Offset of field: cai_field::offset"][::core::mem::offset_of!(cai_field, offset) - 32usize];
    ["Offset of field: cai_field::dtype"][::core::mem::offset_of!(cai_field, dtype) - 40usize];
    ["Offset of field: cai_field::ndim"][::core::mem::offset_of!(cai_field, ndim) - 52usize];
    ["Offset of field: cai_field::field_count"]
        [::core::mem::offset_of!(cai_field, field_count) - 56usize];
    ["Offset of field: cai_field::reserved"]
        [::core::mem::offset_of!(cai_field, reserved) - 60usize];
};
/// a write, or a read if the array is marked read-only
pub const CAI_ACCESS_DEFAULT: u32 = 0;
/// waits only for kept writes, and is kept as a read
pub const CAI_ACCESS_READ: u32 = 1;
/// reads or writes; refused for an array that is marked read-only
pub const CAI_ACCESS_WRITE: u32 = 2;
/// only in [`cai_owner.used_on`](cai_owner::used_on), added to one of the others: the use is in
/// a capture
pub const CAI_ACCESS_CAPTURED: u32 = 4;
/// `release` frees the memory in the order of the stream [`cai_owner.freed_on`](cai_owner::freed_on): a use that this
/// stream waits for need not delay the release; a use in a capture does.
pub const CAI_OWNER_STREAM_ORDERED: u32 = 1;
/// The producer calls [`cai_array_reclaim()`] before it writes again, so its stream need not wait at
/// the end of a use.
pub const CAI_OWNER_RECLAIMS: u32 = 2;
/// The memory belongs to an exporter that keeps no uses, and frees the memory in the order of the
/// array's stream, [`cai_owner.freed_on`](cai_owner::freed_on): a use on that stream need not delay the release. It frees
/// the mask in the order of the mask's stream, and memory that came with None in no order. The
/// exporter may give the memory to other consumers: a use of a view that is published with another
/// stream, or an event, waits for the array's stream, too. Imports of the same memory that come
/// with another stream do not: an exporter that names another stream ("a stream upon which
/// synchronization must take place") guarantees that it comes after the work queued on the stream
/// that it named before.
///
/// Imports find each other's uses by address: each use, and, with [`CAI_OWNER_ARRAY_FOLLOWS`] or in a
/// block of [`cai_array_own()`], also uses that only [`cai_owner_used_on()`] keeps. If [`cai_owner_used_on()`]
/// keeps a use for any other owner, all imports find it, whatever their memory: they wait for more
/// than they need, and are refused in a capture while that use is pending.
pub const CAI_OWNER_IMPORTED: u32 = 4;
/// In the owner's block a [`cai_array`] follows, `struct_size` bytes from its start. It stays valid
/// as long as the block.
pub const CAI_OWNER_ARRAY_FOLLOWS: u32 = 8;
/// With [`CAI_OWNER_IMPORTED`]: the arrays' stream is not the exporter's own, but one that the
/// exporter was asked to put in order, as by `__dlpack__(stream=)`. Another import of the memory
/// may ask for another stream, so uses on this stream are kept for other imports, too. No stream
/// is known on which work needs no event ([`cai_arrays_same_stream()`]), nor one in whose order the
/// memory is freed.
pub const CAI_OWNER_ASKED: u32 = 16;
/// The memory was freed while references to it remain, by `cai_memory_free()`, or with its context
/// by `cai_device_reset()`. It may be set at any time, by an atomic operation. From then on these
/// return [`CAI_ERR_STATE`], entry data, for its arrays: to export them as a dict, a tensor or a
/// column, to publish or reclaim them, to begin a use, and to copy, fill or read them.
pub const CAI_OWNER_FREED: u32 = 32;
/// Arrays of the owner have come with different streams, so that uses of each are kept. Who gives
/// a view another stream or an event, and does not store the owner's uses, as another copy of
/// libcai does not, sets it by an atomic operation. Nobody clears it.
pub const CAI_OWNER_STREAMS_DIFFER: u32 = 64;
/// The owner that keeps an array alive. The producer's own block begins with it. Every array in the
/// block points to it, and comes with the same stream as the others, an event of that stream, or
/// None; publish an array to give it another stream ([`cai_array_publish()`]). The first 24 bytes never
/// change, in any ABI major. It grows at the tail: test struct_size before using more. 72 bytes.
///
/// The members from `used_on` on keep uses of the memory: work queued on streams that the array's
/// own stream need not wait for. A producer has three choices. It fills in the owner of its own
/// block by [`cai_owner_init()`], and ends the block through [`cai_owner_end()`]. Or it provides functions
/// of its own. Or its struct ends after `release`, and then no use is kept: two consumers are
/// ordered through the array's stream alone, so the array must have a stream, not [`CAI_STREAM_NONE`],
/// unless it is never written. The block of a view names the owner that it holds in `keeper`
/// instead. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_owner {
    /// bytes of this struct that the producer filled in, at least 24
    pub struct_size: u32,
    /// `CAI_OWNER_*`
    pub flags: u32,
    /// Adds a reference. Any thread, no GIL, no context; must not fail.
    pub retain: ::core::option::Option<unsafe extern "C" fn(self_: *mut cai_owner)>,
    /// Releases a reference; the last release ends the block, and may run the producer's code. Any
    /// thread, no GIL, no context; must not fail. It does not wait for work on the GPU (but for one
    /// case, see [`cai_array_publish()`]): while uses are kept, the end of the block is deferred. It may
    /// record an event on the array's stream, but does not ask the driver whether the uses are
    /// complete; [`cai_owner_pending()`], [`cai_drain()`] and other calls ask. If no use is kept, the
    /// producer's code runs at once, on the calling thread, in a capture too: code that frees memory
    /// by calls that a capture forbids must allow for that (cuThreadExchangeStreamCaptureMode).
    pub release: ::core::option::Option<unsafe extern "C" fn(self_: *mut cai_owner)>,
    /// Keeps a use: the work queued on `stream` so far reads the memory, or ([`CAI_ACCESS_WRITE`]) also
    /// writes it. As [`cai_owner_used_on()`]. NULL: uses are not kept. If the owner has an await_uses of
    /// its own, it is called for every use; otherwise not for uses that are ordered with the array's
    /// stream.
    pub used_on: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut cai_owner,
            stream: u64,
            access: u32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// Makes `stream` wait for the kept uses that `access` conflicts with. As [`cai_owner_await_uses()`].
    /// NULL if and only if used_on is. An owner with an await_uses of its own keeps all uses itself,
    /// and decides when the block may end. When a view is published that comes with another stream
    /// than the array, or for work on other streams, used_on is called for the target. In captures it
    /// is called with [`CAI_ACCESS_CAPTURED`]: such a use is for other streams in the same capture, and
    /// not pending outside, see [`cai_owner_used_on()`]. An owner that cannot keep such uses returns
    /// [`CAI_ERR_CAPTURE`] from await_uses for a stream in a capture, and no use begins. used_on is not
    /// called for a consumer that reads a dict or gets a tensor, and queues work on the stream that it
    /// names: uses of arrays that come with another stream do not wait for that work. Read the dict
    /// anew for each reader; and before those other uses, publish again, with that stream among
    /// `streams`.
    pub await_uses: ::core::option::Option<
        unsafe extern "C" fn(
            self_: *mut cai_owner,
            stream: u64,
            access: u32,
            error: *mut cai_error,
        ) -> cai_status,
    >,
    /// reserved for used_on; NULL before the first use, odd until a use is kept. In
    /// a view's owner reserved for the library, or NULL: a block that wraps the
    /// view, and holds it, copies this member with `keeper`
    pub uses: *mut ::core::ffi::c_void,
    /// [`cai_this_thread()`] of the thread whose stream 2 an array of the block came
    /// with; 0 if there is none, or it is not known
    pub thread: u64,
    /// NULL, or an owner that this one holds. Its flags, used_on and later
    /// members are used in place of this owner's. It has no keeper
    /// itself
    pub keeper: *mut cai_owner,
    /// With [`CAI_OWNER_STREAM_ORDERED`] or [`CAI_OWNER_IMPORTED`], the stream in whose order `release`
    /// frees the memory: 1, of the context that is current then; 2, of `thread`; or a CUstream. 0: the
    /// stream that the first array came with (not valid if a mask comes with another stream). For an
    /// import it is that stream, or UINT64_MAX if the stream is unknown or another one; then all uses
    /// delay the release. [`cai_array_own()`] fills it in.
    pub freed_on: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_owner"][::core::mem::size_of::<cai_owner>() - 72usize];
    ["Alignment of cai_owner"][::core::mem::align_of::<cai_owner>() - 8usize];
    ["Offset of field: cai_owner::struct_size"]
        [::core::mem::offset_of!(cai_owner, struct_size) - 0usize];
    ["Offset of field: cai_owner::flags"][::core::mem::offset_of!(cai_owner, flags) - 4usize];
    ["Offset of field: cai_owner::retain"][::core::mem::offset_of!(cai_owner, retain) - 8usize];
    ["Offset of field: cai_owner::release"][::core::mem::offset_of!(cai_owner, release) - 16usize];
    ["Offset of field: cai_owner::used_on"][::core::mem::offset_of!(cai_owner, used_on) - 24usize];
    ["Offset of field: cai_owner::await_uses"]
        [::core::mem::offset_of!(cai_owner, await_uses) - 32usize];
    ["Offset of field: cai_owner::uses"][::core::mem::offset_of!(cai_owner, uses) - 40usize];
    ["Offset of field: cai_owner::thread"][::core::mem::offset_of!(cai_owner, thread) - 48usize];
    ["Offset of field: cai_owner::keeper"][::core::mem::offset_of!(cai_owner, keeper) - 56usize];
    ["Offset of field: cai_owner::freed_on"]
        [::core::mem::offset_of!(cai_owner, freed_on) - 64usize];
};
/// An array, with the dict's names: 128 bytes, never more; callers may keep it on the stack. The
/// first cache line is what a kernel needs. Zero always means absent. If abi_major is not yours, you
/// may only read bytes 0 to 15 and release the array. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_array {
    /// [`CAI_ABI_MAJOR`] of the code that filled the struct; 0 is
    /// invalid
    pub abi_major: u16,
    /// [`CAI_ABI_MINOR`], likewise
    pub abi_minor: u16,
    /// `CAI_FLAG_*`
    pub flags: u32,
    /// NULL: borrowed
    pub owner: *mut cai_owner,
    /// "data", first item: the device address of the first element,
    /// which need not be the lowest address; 0 if there are no
    /// elements
    pub data: u64,
    /// `CAI_DEVICE_*`
    pub device_type: i32,
    /// ordinal; -1: not known, see [`cai_array_locate()`]
    pub device_id: i32,
    /// "typestr", parsed: the authoritative type. [`cai_dtype_format()`]
    /// writes it as text
    pub dtype: cai_dtype,
    /// 0 to [`CAI_MAX_NDIM`]
    pub ndim: i32,
    /// "shape": ndim extents, elements; may be NULL if ndim is 0
    pub shape: *const i64,
    /// "strides": ndim steps, bytes, always filled in, any sign; may
    /// be NULL if ndim is 0
    pub strides: *const i64,
    /// "stream", see stream_kind; 0 for NONE and UNSTATED
    pub stream: u64,
    /// `CAI_STREAM_*`
    pub stream_kind: u32,
    /// "version" of the producer's interface. For information only: a
    /// version above 3 is valid, since the flags and kinds guard what
    /// is unknown
    pub version: u32,
    /// "mask", which has no mask itself; its owner is this array's, or
    /// NULL. It is on the CPU if this array is, else in memory of any
    /// other device_type: look before the host reads it. NULL if all
    /// elements are valid. Of kind b, i, u, f, c or t. As in C, a
    /// value other than 0 is true, NaN too; a complex number is true
    /// if one of its parts is
    pub mask: *const cai_array,
    /// "descr": NULL if it adds nothing to typestr. Allowed for a
    /// dtype of any kind but 't': the parts of a complex number, or
    /// the fields packed in an integer. Its sizes add up to the item
    /// size
    pub descr: *const cai_field,
    /// 0, as the other three reserved members; ignored if abi_minor is
    /// newer than yours
    pub reserved0: u64,
    /// of `descr`
    pub descr_count: u32,
    /// 0
    pub reserved1: u32,
    /// 0
    pub reserved2: u64,
    /// 0
    pub reserved3: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_array"][::core::mem::size_of::<cai_array>() - 128usize];
    ["Alignment of cai_array"][::core::mem::align_of::<cai_array>() - 8usize];
    ["Offset of field: cai_array::abi_major"]
        [::core::mem::offset_of!(cai_array, abi_major) - 0usize];
    ["Offset of field: cai_array::abi_minor"]
        [::core::mem::offset_of!(cai_array, abi_minor) - 2usize];
    ["Offset of field: cai_array::flags"][::core::mem::offset_of!(cai_array, flags) - 4usize];
    ["Offset of field: cai_array::owner"][::core::mem::offset_of!(cai_array, owner) - 8usize];
    ["Offset of field: cai_array::data"][::core::mem::offset_of!(cai_array, data) - 16usize];
    ["Offset of field: cai_array::device_type"]
        [::core::mem::offset_of!(cai_array, device_type) - 24usize];
    ["Offset of field: cai_array::device_id"]
        [::core::mem::offset_of!(cai_array, device_id) - 28usize];
    ["Offset of field: cai_array::dtype"][::core::mem::offset_of!(cai_array, dtype) - 32usize];
    ["Offset of field: cai_array::ndim"][::core::mem::offset_of!(cai_array, ndim) - 44usize];
    ["Offset of field: cai_array::shape"][::core::mem::offset_of!(cai_array, shape) - 48usize];
    ["Offset of field: cai_array::strides"][::core::mem::offset_of!(cai_array, strides) - 56usize];
    ["Offset of field: cai_array::stream"][::core::mem::offset_of!(cai_array, stream) - 64usize];
    ["Offset of field: cai_array::stream_kind"]
        [::core::mem::offset_of!(cai_array, stream_kind) - 72usize];
    ["Offset of field: cai_array::version"][::core::mem::offset_of!(cai_array, version) - 76usize];
    ["Offset of field: cai_array::mask"][::core::mem::offset_of!(cai_array, mask) - 80usize];
    ["Offset of field: cai_array::descr"][::core::mem::offset_of!(cai_array, descr) - 88usize];
    ["Offset of field: cai_array::reserved0"]
        [::core::mem::offset_of!(cai_array, reserved0) - 96usize];
    ["Offset of field: cai_array::descr_count"]
        [::core::mem::offset_of!(cai_array, descr_count) - 104usize];
    ["Offset of field: cai_array::reserved1"]
        [::core::mem::offset_of!(cai_array, reserved1) - 108usize];
    ["Offset of field: cai_array::reserved2"]
        [::core::mem::offset_of!(cai_array, reserved2) - 112usize];
    ["Offset of field: cai_array::reserved3"]
        [::core::mem::offset_of!(cai_array, reserved3) - 120usize];
};
/// Receives a failure that no call can return. The error is valid during the call. It may run on
/// any thread, including threads of libcai and of the driver: it must not throw, call the driver, or
/// block. Since 0.1.
pub type cai_failure_fn = ::core::option::Option<
    unsafe extern "C" fn(context: *mut ::core::ffi::c_void, error: *const cai_error),
>;
/// The layout that follows from shape, strides and item size. 40 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_layout {
    /// number of elements: the product of the shape
    pub size: i64,
    /// size \* itemsize; for kind 't', bits rounded up to bytes
    pub nbytes: i64,
    /// the bytes touched are \[lo, hi) relative to `data`: the extent, summed
    pub lo: i64,
    /// over all axes; lo \<= 0, and both are 0 if there are no elements
    pub hi: i64,
    /// 1 or 0. NumPy's rules: an axis of extent 1 does not matter, an empty
    pub c_contiguous: i32,
    /// array is both; but stride 0 over a larger extent is neither
    pub f_contiguous: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_layout"][::core::mem::size_of::<cai_layout>() - 40usize];
    ["Alignment of cai_layout"][::core::mem::align_of::<cai_layout>() - 8usize];
    ["Offset of field: cai_layout::size"][::core::mem::offset_of!(cai_layout, size) - 0usize];
    ["Offset of field: cai_layout::nbytes"][::core::mem::offset_of!(cai_layout, nbytes) - 8usize];
    ["Offset of field: cai_layout::lo"][::core::mem::offset_of!(cai_layout, lo) - 16usize];
    ["Offset of field: cai_layout::hi"][::core::mem::offset_of!(cai_layout, hi) - 24usize];
    ["Offset of field: cai_layout::c_contiguous"]
        [::core::mem::offset_of!(cai_layout, c_contiguous) - 32usize];
    ["Offset of field: cai_layout::f_contiguous"]
        [::core::mem::offset_of!(cai_layout, f_contiguous) - 36usize];
};
/// the dict has no such key
pub const CAI_FORM_MISSING: u8 = 0;
pub const CAI_FORM_NONE: u8 = 1;
/// exactly int
pub const CAI_FORM_INT: u8 = 2;
/// an integer by `__index__`; subclasses of int too
pub const CAI_FORM_INDEX: u8 = 3;
/// integer is 0 or 1
pub const CAI_FORM_BOOL: u8 = 4;
/// text: its printed form
pub const CAI_FORM_FLOAT: u8 = 5;
/// exactly str; text, length
pub const CAI_FORM_TEXT: u8 = 6;
/// likewise
pub const CAI_FORM_TEXT_SUBCLASS: u8 = 7;
/// text, length
pub const CAI_FORM_BYTES: u8 = 8;
/// exactly tuple; items, length
pub const CAI_FORM_TUPLE: u8 = 9;
/// likewise
pub const CAI_FORM_TUPLE_SUBCLASS: u8 = 10;
/// list, and subclasses; likewise
pub const CAI_FORM_LIST: u8 = 11;
/// exactly dict
pub const CAI_FORM_DICT: u8 = 12;
pub const CAI_FORM_DICT_SUBCLASS: u8 = 13;
/// any other object. text: its printed form, or NULL
pub const CAI_FORM_OBJECT: u8 = 14;
/// for "mask": an object with an interface of its own
pub const CAI_FORM_INTERFACE: u8 = 15;
/// for the dict: an object that is no dict but has its items, as
/// versions 0 and 1 of the text allowed
pub const CAI_FORM_MAPPING: u8 = 16;
/// `integer` is an int64 in two's complement
pub const CAI_RANGE_INT64: u8 = 0;
/// above that: `integer` is a uint64
pub const CAI_RANGE_UINT64: u8 = 1;
/// fits neither; text: its digits, or how many it has
pub const CAI_RANGE_BEYOND: u8 = 2;
/// One raw value. 32 bytes. A zeroed one is MISSING. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_value {
    /// for INT, INDEX and BOOL, as `range` says
    pub integer: u64,
    /// for TEXT and BYTES the contents; for a value that no other
    /// member can hold, its printed form, or NULL. UTF-8 is expected
    /// and checked; a NUL does not end it
    pub text: *const ::core::ffi::c_char,
    /// for TUPLE and LIST: `length` items; NULL means that the
    /// binding did not go so deep (see [`CAI_MAX_DESCR_DEPTH`])
    pub items: *const cai_value,
    /// items, or bytes of text
    pub length: u32,
    /// `CAI_FORM_*`
    pub form: u8,
    /// `CAI_RANGE_*`, for INT and INDEX
    pub range: u8,
    /// 0
    pub reserved: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_value"][::core::mem::size_of::<cai_value>() - 32usize];
    ["Alignment of cai_value"][::core::mem::align_of::<cai_value>() - 8usize];
    ["Offset of field: cai_value::integer"][::core::mem::offset_of!(cai_value, integer) - 0usize];
    ["Offset of field: cai_value::text"][::core::mem::offset_of!(cai_value, text) - 8usize];
    ["Offset of field: cai_value::items"][::core::mem::offset_of!(cai_value, items) - 16usize];
    ["Offset of field: cai_value::length"][::core::mem::offset_of!(cai_value, length) - 24usize];
    ["Offset of field: cai_value::form"][::core::mem::offset_of!(cai_value, form) - 28usize];
    ["Offset of field: cai_value::range"][::core::mem::offset_of!(cai_value, range) - 29usize];
    ["Offset of field: cai_value::reserved"]
        [::core::mem::offset_of!(cai_value, reserved) - 30usize];
};
/// `__cuda_array_interface__`
pub const CAI_PROTOCOL_CUDA: u32 = 0;
/// NumPy's `__array_interface__`: device CPU, no stream
pub const CAI_PROTOCOL_HOST: u32 = 1;
/// The raw values of a dict. A binding only unpacks: it sets what it finds, and judges nothing.
/// Zero the struct, then set struct_size, dict and the entries that the dict has. It grows at the
/// tail; members that this library does not know must be zero. struct_size must be at least 336
/// bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_interface {
    /// sizeof([`cai_interface`])
    pub struct_size: u32,
    /// `CAI_PROTOCOL_*`
    pub protocol: u32,
    /// the dict itself: its form, and its printed form
    pub dict: cai_value,
    pub shape: cai_value,
    pub typestr: cai_value,
    pub data: cai_value,
    pub version: cai_value,
    pub strides: cai_value,
    pub descr: cai_value,
    /// INTERFACE if mask_interface is set
    pub mask: cai_value,
    /// [`CAI_PROTOCOL_CUDA`] only
    pub stream: cai_value,
    /// [`CAI_PROTOCOL_HOST`] only
    pub offset: cai_value,
    /// the mask's own dict, or NULL
    pub mask_interface: *const cai_interface,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_interface"][::core::mem::size_of::<cai_interface>() - 336usize];
    ["Alignment of cai_interface"][::core::mem::align_of::<cai_interface>() - 8usize];
    ["Offset of field: cai_interface::struct_size"]
        [::core::mem::offset_of!(cai_interface, struct_size) - 0usize];
    ["Offset of field: cai_interface::protocol"]
        [::core::mem::offset_of!(cai_interface, protocol) - 4usize];
    ["Offset of field: cai_interface::dict"][::core::mem::offset_of!(cai_interface, dict) - 8usize];
    ["Offset of field: cai_interface::shape"]
        [::core::mem::offset_of!(cai_interface, shape) - 40usize];
    ["Offset of field: cai_interface::typestr"]
        [::core::mem::offset_of!(cai_interface, typestr) - 72usize];
    ["Offset of field: cai_interface::data"]
        [::core::mem::offset_of!(cai_interface, data) - 104usize];
    ["Offset of field: cai_interface::version"]
        [::core::mem::offset_of!(cai_interface, version) - 136usize];
    ["Offset of field: cai_interface::strides"]
        [::core::mem::offset_of!(cai_interface, strides) - 168usize];
    ["Offset of field: cai_interface::descr"]
        [::core::mem::offset_of!(cai_interface, descr) - 200usize];
    ["Offset of field: cai_interface::mask"]
        [::core::mem::offset_of!(cai_interface, mask) - 232usize];
    ["Offset of field: cai_interface::stream"]
        [::core::mem::offset_of!(cai_interface, stream) - 264usize];
    ["Offset of field: cai_interface::offset"]
        [::core::mem::offset_of!(cai_interface, offset) - 296usize];
    ["Offset of field: cai_interface::mask_interface"]
        [::core::mem::offset_of!(cai_interface, mask_interface) - 328usize];
};
/// import: accepts every value whose meaning is certain
pub const CAI_LENIENT: u32 = 0;
/// lint for producers: the text of version 3 to the letter
pub const CAI_STRICT: u32 = 1;
/// reading fails for it
pub const CAI_SEVERITY_ERROR: i32 = 1;
/// accepted, although the text forbids it
pub const CAI_SEVERITY_WARNING: i32 = 2;
/// valid, but likely a mistake, or hard for consumers
pub const CAI_SEVERITY_ADVICE: i32 = 3;
/// One remark on an interface. Its strings live during the callback. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_finding {
    /// bytes of this struct; it grows at the tail
    pub struct_size: u32,
    /// `CAI_SEVERITY_*`
    pub severity: i32,
    /// `CAI_ENTRY_*`; of a mask's own dict, always [`CAI_ENTRY_MASK`]
    pub entry: i32,
    /// axis, item or field, from 0; -1 for the whole
    pub index: i32,
    /// the status that reading returns for it, if severity is ERROR; else 0
    pub status: cai_status,
    /// 0
    pub reserved: u32,
    /// the value, printed
    pub value: *const ::core::ffi::c_char,
    /// the rule: which text, and what it says
    pub clause: *const ::core::ffi::c_char,
    /// the remark, one line; names the entry and shows the value
    pub text: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_finding"][::core::mem::size_of::<cai_finding>() - 48usize];
    ["Alignment of cai_finding"][::core::mem::align_of::<cai_finding>() - 8usize];
    ["Offset of field: cai_finding::struct_size"]
        [::core::mem::offset_of!(cai_finding, struct_size) - 0usize];
    ["Offset of field: cai_finding::severity"]
        [::core::mem::offset_of!(cai_finding, severity) - 4usize];
    ["Offset of field: cai_finding::entry"][::core::mem::offset_of!(cai_finding, entry) - 8usize];
    ["Offset of field: cai_finding::index"][::core::mem::offset_of!(cai_finding, index) - 12usize];
    ["Offset of field: cai_finding::status"]
        [::core::mem::offset_of!(cai_finding, status) - 16usize];
    ["Offset of field: cai_finding::reserved"]
        [::core::mem::offset_of!(cai_finding, reserved) - 20usize];
    ["Offset of field: cai_finding::value"][::core::mem::offset_of!(cai_finding, value) - 24usize];
    ["Offset of field: cai_finding::clause"]
        [::core::mem::offset_of!(cai_finding, clause) - 32usize];
    ["Offset of field: cai_finding::text"][::core::mem::offset_of!(cai_finding, text) - 40usize];
};
/// Receives one finding. `context` is the caller's. Must not throw. Since 0.1.
pub type cai_finding_fn = ::core::option::Option<
    unsafe extern "C" fn(context: *mut ::core::ffi::c_void, finding: *const cai_finding),
>;
/// start:stop:step on one axis
pub const CAI_SLICE_RANGE: i32 = 1;
/// one index, `start`; removes the axis
pub const CAI_SLICE_INDEX: i32 = 2;
/// a new axis of extent 1
pub const CAI_SLICE_NEWAXIS: i32 = 3;
/// all axes that the other items leave; at most once
pub const CAI_SLICE_ELLIPSIS: i32 = 4;
/// with RANGE: start is left out
pub const CAI_SLICE_NO_START: i32 = 256;
/// with RANGE: stop is left out
pub const CAI_SLICE_NO_STOP: i32 = 512;
/// One item of an index expression. 32 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_slice {
    /// elements; negative counts from the end, as in Python
    pub start: i64,
    /// likewise, exclusive
    pub stop: i64,
    /// elements, not 0
    pub step: i64,
    /// `CAI_SLICE_*`
    pub kind: i32,
    /// 0
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_slice"][::core::mem::size_of::<cai_slice>() - 32usize];
    ["Alignment of cai_slice"][::core::mem::align_of::<cai_slice>() - 8usize];
    ["Offset of field: cai_slice::start"][::core::mem::offset_of!(cai_slice, start) - 0usize];
    ["Offset of field: cai_slice::stop"][::core::mem::offset_of!(cai_slice, stop) - 8usize];
    ["Offset of field: cai_slice::step"][::core::mem::offset_of!(cai_slice, step) - 16usize];
    ["Offset of field: cai_slice::kind"][::core::mem::offset_of!(cai_slice, kind) - 24usize];
    ["Offset of field: cai_slice::reserved"]
        [::core::mem::offset_of!(cai_slice, reserved) - 28usize];
};
/// what the text requires: both the beginning and the end make streams
/// wait
pub const CAI_ORDER_BOTH: u32 = 0;
/// the end does nothing
pub const CAI_ORDER_BEGIN: u32 = 1;
/// the beginning makes no stream wait
pub const CAI_ORDER_END: u32 = 2;
/// neither makes a stream wait
pub const CAI_ORDER_NONE: u32 = 3;
/// the host waits: at the beginning for the producers' streams, at the end
/// for the consumer's stream
pub const CAI_ORDER_HOST: u32 = 4;
/// the consumer captures; the producer does not, and has work
/// pending. Each launch of the graph waits for the work that was
/// pending at the beginning (and for no later work: order each launch
/// with a use of its own). That is work on the array's stream, or its
/// event; kept uses must be complete. The event of a borrowed array
/// must outlive the graph
pub const CAI_USE_EXTERNAL: u32 = 1;
/// the producer captures; the consumer does not. The consumer's stream,
/// which must not be 1, joins the capture at the beginning, and is joined
/// back at the end. It stays in the capture until that ends: until then no
/// other code may use the stream or arrays that come with it, and both
/// streams must live. Code that queues more work there after the end must
/// join it back; a further use does so at its end, if an array came with
/// another stream of the capture and its owner is not [`CAI_OWNER_RECLAIMS`].
/// If one of the two streams is 2, end or abandon the use on the thread
/// that began it: on another thread the streams cannot be joined, and the
/// capture is lost (904 at cuStreamEndCapture())
pub const CAI_USE_FORK: u32 = 2;
/// Options of a use. It grows at the tail; members that this library does not know must be zero, or
/// the call fails. NULL, or all 0 after struct_size, means the full order. 24 bytes; struct_size
/// must be at least 8. If struct_size ends before `flags`, error messages do not suggest a flag.
/// Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_use_options {
    /// sizeof([`cai_use_options`])
    pub struct_size: u32,
    /// `CAI_ORDER_*`
    pub order: u32,
    /// `CAI_ACCESS_*`, for all arrays; ignored if `accesses` is set
    pub access: u32,
    /// `CAI_USE_*`
    pub flags: u32,
    /// NULL, or one `CAI_ACCESS_*` for each array, which replaces `access`;
    /// read during the call
    pub accesses: *const u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_use_options"][::core::mem::size_of::<cai_use_options>() - 24usize];
    ["Alignment of cai_use_options"][::core::mem::align_of::<cai_use_options>() - 8usize];
    ["Offset of field: cai_use_options::struct_size"]
        [::core::mem::offset_of!(cai_use_options, struct_size) - 0usize];
    ["Offset of field: cai_use_options::order"]
        [::core::mem::offset_of!(cai_use_options, order) - 4usize];
    ["Offset of field: cai_use_options::access"]
        [::core::mem::offset_of!(cai_use_options, access) - 8usize];
    ["Offset of field: cai_use_options::flags"]
        [::core::mem::offset_of!(cai_use_options, flags) - 12usize];
    ["Offset of field: cai_use_options::accesses"]
        [::core::mem::offset_of!(cai_use_options, accesses) - 16usize];
};
/// An open use: what its end must know of its beginning. The caller provides it, usually on the
/// stack, and must not read its members. All 0 is a use that is not open. Its bytes may be moved but
/// not copied: only one of the two may be used. 352 bytes; never more. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_use {
    pub state: [u64; 44usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_use"][::core::mem::size_of::<cai_use>() - 352usize];
    ["Alignment of cai_use"][::core::mem::align_of::<cai_use>() - 8usize];
    ["Offset of field: cai_use::state"][::core::mem::offset_of!(cai_use, state) - 0usize];
};
/// A framework's stream for its UNSTATED arrays: the stream that is current where they were made.
/// 24 bytes; it grows at the tail. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_stream_provider {
    /// sizeof([`cai_stream_provider`])
    pub struct_size: u32,
    /// must be 0, or registering the provider fails
    pub reserved: u32,
    /// Returns the stream on which work on the array is pending.
    ///
    /// # Arguments
    ///
    /// - `array`: valid, stream_kind UNSTATED; do not keep it
    /// - `stream`: receives 1, 2 or a CUstream of the array's context. 0 is invalid: the call that
    ///   asked then returns [`CAI_ERR_ORDER`]
    ///
    /// # Returns
    ///
    /// 1 if the array is the framework's own and \*stream is set; 0 to ask the next provider. 2
    /// means the stream of the first thread for which it is returned for an array's owner; on
    /// other threads uses of the array fail. Any thread, with or without the GIL; no lock is
    /// held. It must not call the functions under "Order".
    pub current: ::core::option::Option<
        unsafe extern "C" fn(
            context: *mut ::core::ffi::c_void,
            array: *const cai_array,
            stream: *mut u64,
        ) -> i32,
    >,
    /// for `current`
    pub context: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_stream_provider"][::core::mem::size_of::<cai_stream_provider>() - 24usize];
    ["Alignment of cai_stream_provider"][::core::mem::align_of::<cai_stream_provider>() - 8usize];
    ["Offset of field: cai_stream_provider::struct_size"]
        [::core::mem::offset_of!(cai_stream_provider, struct_size) - 0usize];
    ["Offset of field: cai_stream_provider::reserved"]
        [::core::mem::offset_of!(cai_stream_provider, reserved) - 4usize];
    ["Offset of field: cai_stream_provider::current"]
        [::core::mem::offset_of!(cai_stream_provider, current) - 8usize];
    ["Offset of field: cai_stream_provider::context"]
        [::core::mem::offset_of!(cai_stream_provider, context) - 16usize];
};
/// the host may dereference `data`
pub const CAI_LOCATION_HOST_ACCESSIBLE: u32 = 1;
/// managed (unified) memory
pub const CAI_LOCATION_MANAGED: u32 = 2;
/// What the driver reports of an array's memory. It grows at the tail. 48 bytes. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_location {
    /// in: sizeof([`cai_location`]), at least 8. The library fills in at most
    /// that many bytes, and only members that it knows: zero the rest
    pub struct_size: u32,
    /// `CAI_LOCATION_*`
    pub flags: u32,
    /// `CAI_DEVICE_*`, now known exactly
    pub device_type: i32,
    /// ordinal
    pub device_id: i32,
    /// CUcontext; 0 if the memory belongs to no context, as pool memory
    pub context: u64,
    /// of the first element, as kernels of the current context use it; may
    /// differ from `data` for registered host memory; 0 if they cannot
    pub device_pointer: u64,
    /// address of the allocation; 0 if it is not known
    pub base: u64,
    /// bytes of the allocation; 0 if it is not known
    pub size: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_location"][::core::mem::size_of::<cai_location>() - 48usize];
    ["Alignment of cai_location"][::core::mem::align_of::<cai_location>() - 8usize];
    ["Offset of field: cai_location::struct_size"]
        [::core::mem::offset_of!(cai_location, struct_size) - 0usize];
    ["Offset of field: cai_location::flags"][::core::mem::offset_of!(cai_location, flags) - 4usize];
    ["Offset of field: cai_location::device_type"]
        [::core::mem::offset_of!(cai_location, device_type) - 8usize];
    ["Offset of field: cai_location::device_id"]
        [::core::mem::offset_of!(cai_location, device_id) - 12usize];
    ["Offset of field: cai_location::context"]
        [::core::mem::offset_of!(cai_location, context) - 16usize];
    ["Offset of field: cai_location::device_pointer"]
        [::core::mem::offset_of!(cai_location, device_pointer) - 24usize];
    ["Offset of field: cai_location::base"][::core::mem::offset_of!(cai_location, base) - 32usize];
    ["Offset of field: cai_location::size"][::core::mem::offset_of!(cai_location, size) - 40usize];
};
/// Arrow's: the type of a column.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowSchema {
    /// "i" is int32, "g" is float64, ...
    pub format: *const ::core::ffi::c_char,
    /// or NULL
    pub name: *const ::core::ffi::c_char,
    /// or NULL
    pub metadata: *const ::core::ffi::c_char,
    /// ARROW_FLAG_\*
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    /// sets itself NULL; NULL: released, or moved
    pub release: ::core::option::Option<unsafe extern "C" fn(self_: *mut ArrowSchema)>,
    pub private_data: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowSchema"][::core::mem::size_of::<ArrowSchema>() - 72usize];
    ["Alignment of ArrowSchema"][::core::mem::align_of::<ArrowSchema>() - 8usize];
    ["Offset of field: ArrowSchema::format"][::core::mem::offset_of!(ArrowSchema, format) - 0usize];
    ["Offset of field: ArrowSchema::name"][::core::mem::offset_of!(ArrowSchema, name) - 8usize];
    ["Offset of field: ArrowSchema::metadata"]
        [::core::mem::offset_of!(ArrowSchema, metadata) - 16usize];
    ["Offset of field: ArrowSchema::flags"][::core::mem::offset_of!(ArrowSchema, flags) - 24usize];
    ["Offset of field: ArrowSchema::n_children"]
        [::core::mem::offset_of!(ArrowSchema, n_children) - 32usize];
    ["Offset of field: ArrowSchema::children"]
        [::core::mem::offset_of!(ArrowSchema, children) - 40usize];
    ["Offset of field: ArrowSchema::dictionary"]
        [::core::mem::offset_of!(ArrowSchema, dictionary) - 48usize];
    ["Offset of field: ArrowSchema::release"]
        [::core::mem::offset_of!(ArrowSchema, release) - 56usize];
    ["Offset of field: ArrowSchema::private_data"]
        [::core::mem::offset_of!(ArrowSchema, private_data) - 64usize];
};
/// Arrow's: a column.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowArray {
    /// elements
    pub length: i64,
    /// elements that are not valid; -1: not known
    pub null_count: i64,
    /// elements of the buffers that come before the first
    pub offset: i64,
    /// 2 for numbers: validity bitmap or NULL, and values
    pub n_buffers: i64,
    pub n_children: i64,
    /// the list is the host's, the buffers are the device's
    pub buffers: *mut *const ::core::ffi::c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    /// sets itself NULL; NULL: released, or moved
    pub release: ::core::option::Option<unsafe extern "C" fn(self_: *mut ArrowArray)>,
    pub private_data: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowArray"][::core::mem::size_of::<ArrowArray>() - 80usize];
    ["Alignment of ArrowArray"][::core::mem::align_of::<ArrowArray>() - 8usize];
    ["Offset of field: ArrowArray::length"][::core::mem::offset_of!(ArrowArray, length) - 0usize];
    ["Offset of field: ArrowArray::null_count"]
        [::core::mem::offset_of!(ArrowArray, null_count) - 8usize];
    ["Offset of field: ArrowArray::offset"][::core::mem::offset_of!(ArrowArray, offset) - 16usize];
    ["Offset of field: ArrowArray::n_buffers"]
        [::core::mem::offset_of!(ArrowArray, n_buffers) - 24usize];
    ["Offset of field: ArrowArray::n_children"]
        [::core::mem::offset_of!(ArrowArray, n_children) - 32usize];
    ["Offset of field: ArrowArray::buffers"]
        [::core::mem::offset_of!(ArrowArray, buffers) - 40usize];
    ["Offset of field: ArrowArray::children"]
        [::core::mem::offset_of!(ArrowArray, children) - 48usize];
    ["Offset of field: ArrowArray::dictionary"]
        [::core::mem::offset_of!(ArrowArray, dictionary) - 56usize];
    ["Offset of field: ArrowArray::release"]
        [::core::mem::offset_of!(ArrowArray, release) - 64usize];
    ["Offset of field: ArrowArray::private_data"]
        [::core::mem::offset_of!(ArrowArray, private_data) - 72usize];
};
/// Arrow's: the numbers of [`cai_array.device_type`](cai_array::device_type).
pub type ArrowDeviceType = i32;
/// Arrow's: a column on a device.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowDeviceArray {
    pub array: ArrowArray,
    /// ordinal; -1 where there is none, as for the CPU
    pub device_id: i64,
    pub device_type: ArrowDeviceType,
    /// points to a CUevent to wait for; or NULL
    pub sync_event: *mut ::core::ffi::c_void,
    /// 0, as Arrow asks of producers; not read here
    pub reserved: [i64; 3usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowDeviceArray"][::core::mem::size_of::<ArrowDeviceArray>() - 128usize];
    ["Alignment of ArrowDeviceArray"][::core::mem::align_of::<ArrowDeviceArray>() - 8usize];
    ["Offset of field: ArrowDeviceArray::array"]
        [::core::mem::offset_of!(ArrowDeviceArray, array) - 0usize];
    ["Offset of field: ArrowDeviceArray::device_id"]
        [::core::mem::offset_of!(ArrowDeviceArray, device_id) - 80usize];
    ["Offset of field: ArrowDeviceArray::device_type"]
        [::core::mem::offset_of!(ArrowDeviceArray, device_type) - 88usize];
    ["Offset of field: ArrowDeviceArray::sync_event"]
        [::core::mem::offset_of!(ArrowDeviceArray, sync_event) - 96usize];
    ["Offset of field: ArrowDeviceArray::reserved"]
        [::core::mem::offset_of!(ArrowDeviceArray, reserved) - 104usize];
};
/// A version. Of a tensor of another major, only the deleter may be called.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLPackVersion {
    /// changes with the layout
    pub major: u32,
    /// changes with the set of values
    pub minor: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLPackVersion"][::core::mem::size_of::<DLPackVersion>() - 8usize];
    ["Alignment of DLPackVersion"][::core::mem::align_of::<DLPackVersion>() - 4usize];
    ["Offset of field: DLPackVersion::major"]
        [::core::mem::offset_of!(DLPackVersion, major) - 0usize];
    ["Offset of field: DLPackVersion::minor"]
        [::core::mem::offset_of!(DLPackVersion, minor) - 4usize];
};
pub const kDLCPU: DLDeviceType = 1;
pub const kDLCUDA: DLDeviceType = 2;
pub const kDLCUDAHost: DLDeviceType = 3;
pub const kDLOpenCL: DLDeviceType = 4;
pub const kDLVulkan: DLDeviceType = 7;
pub const kDLMetal: DLDeviceType = 8;
pub const kDLVPI: DLDeviceType = 9;
pub const kDLROCM: DLDeviceType = 10;
pub const kDLROCMHost: DLDeviceType = 11;
pub const kDLExtDev: DLDeviceType = 12;
pub const kDLCUDAManaged: DLDeviceType = 13;
pub const kDLOneAPI: DLDeviceType = 14;
pub const kDLWebGPU: DLDeviceType = 15;
pub const kDLHexagon: DLDeviceType = 16;
pub const kDLMAIA: DLDeviceType = 17;
pub const kDLTrn: DLDeviceType = 18;
/// Kinds of device. [`cai_array.device_type`](cai_array::device_type) has the same numbers.
pub type DLDeviceType = ::core::ffi::c_uint;
/// A device.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    /// ordinal; 0 for host, pinned and managed memory
    pub device_id: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLDevice"][::core::mem::size_of::<DLDevice>() - 8usize];
    ["Alignment of DLDevice"][::core::mem::align_of::<DLDevice>() - 4usize];
    ["Offset of field: DLDevice::device_type"]
        [::core::mem::offset_of!(DLDevice, device_type) - 0usize];
    ["Offset of field: DLDevice::device_id"][::core::mem::offset_of!(DLDevice, device_id) - 4usize];
};
pub const kDLInt: DLDataTypeCode = 0;
pub const kDLUInt: DLDataTypeCode = 1;
pub const kDLFloat: DLDataTypeCode = 2;
pub const kDLOpaqueHandle: DLDataTypeCode = 3;
pub const kDLBfloat: DLDataTypeCode = 4;
pub const kDLComplex: DLDataTypeCode = 5;
pub const kDLBool: DLDataTypeCode = 6;
pub const kDLFloat8_e3m4: DLDataTypeCode = 7;
pub const kDLFloat8_e4m3: DLDataTypeCode = 8;
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = 9;
pub const kDLFloat8_e4m3fn: DLDataTypeCode = 10;
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = 11;
pub const kDLFloat8_e5m2: DLDataTypeCode = 12;
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = 13;
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = 14;
pub const kDLFloat6_e2m3fn: DLDataTypeCode = 15;
pub const kDLFloat6_e3m2fn: DLDataTypeCode = 16;
pub const kDLFloat4_e2m1fn: DLDataTypeCode = 17;
/// Values of [`DLDataType.code`](DLDataType::code).
pub type DLDataTypeCode = ::core::ffi::c_uint;
/// The type of an element, in the host's byte order.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLDataType {
    /// [`kDLInt`] and so on
    pub code: u8,
    /// of one lane
    pub bits: u8,
    /// of a vector; else 1
    pub lanes: u16,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLDataType"][::core::mem::size_of::<DLDataType>() - 4usize];
    ["Alignment of DLDataType"][::core::mem::align_of::<DLDataType>() - 2usize];
    ["Offset of field: DLDataType::code"][::core::mem::offset_of!(DLDataType, code) - 0usize];
    ["Offset of field: DLDataType::bits"][::core::mem::offset_of!(DLDataType, bits) - 1usize];
    ["Offset of field: DLDataType::lanes"][::core::mem::offset_of!(DLDataType, lanes) - 2usize];
};
/// A tensor that owns nothing, and does not tell whether it may be written.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLTensor {
    /// in the device's address space; NULL if there are no elements
    pub data: *mut ::core::ffi::c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    /// ndim extents; may be NULL if ndim is 0
    pub shape: *mut i64,
    /// ndim steps, in elements; NULL, before 1.2, means C order
    pub strides: *mut i64,
    /// of the first element from `data`
    pub byte_offset: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLTensor"][::core::mem::size_of::<DLTensor>() - 48usize];
    ["Alignment of DLTensor"][::core::mem::align_of::<DLTensor>() - 8usize];
    ["Offset of field: DLTensor::data"][::core::mem::offset_of!(DLTensor, data) - 0usize];
    ["Offset of field: DLTensor::device"][::core::mem::offset_of!(DLTensor, device) - 8usize];
    ["Offset of field: DLTensor::ndim"][::core::mem::offset_of!(DLTensor, ndim) - 16usize];
    ["Offset of field: DLTensor::dtype"][::core::mem::offset_of!(DLTensor, dtype) - 20usize];
    ["Offset of field: DLTensor::shape"][::core::mem::offset_of!(DLTensor, shape) - 24usize];
    ["Offset of field: DLTensor::strides"][::core::mem::offset_of!(DLTensor, strides) - 32usize];
    ["Offset of field: DLTensor::byte_offset"]
        [::core::mem::offset_of!(DLTensor, byte_offset) - 40usize];
};
/// A tensor that owns its memory: the struct used before 1.0, which has no read-only flag.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    /// the producer's
    pub manager_ctx: *mut ::core::ffi::c_void,
    /// ends the tensor and this struct; or NULL
    pub deleter: ::core::option::Option<unsafe extern "C" fn(self_: *mut DLManagedTensor)>,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLManagedTensor"][::core::mem::size_of::<DLManagedTensor>() - 64usize];
    ["Alignment of DLManagedTensor"][::core::mem::align_of::<DLManagedTensor>() - 8usize];
    ["Offset of field: DLManagedTensor::dl_tensor"]
        [::core::mem::offset_of!(DLManagedTensor, dl_tensor) - 0usize];
    ["Offset of field: DLManagedTensor::manager_ctx"]
        [::core::mem::offset_of!(DLManagedTensor, manager_ctx) - 48usize];
    ["Offset of field: DLManagedTensor::deleter"]
        [::core::mem::offset_of!(DLManagedTensor, deleter) - 56usize];
};
/// A tensor that owns its memory. What comes before dl_tensor is the same in every major.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    /// the producer's
    pub manager_ctx: *mut ::core::ffi::c_void,
    /// ends the tensor and this struct;
    /// or NULL
    pub deleter: ::core::option::Option<unsafe extern "C" fn(self_: *mut DLManagedTensorVersioned)>,
    /// DLPACK_FLAG_BITMASK_\*
    pub flags: u64,
    pub dl_tensor: DLTensor,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLManagedTensorVersioned"]
        [::core::mem::size_of::<DLManagedTensorVersioned>() - 80usize];
    ["Alignment of DLManagedTensorVersioned"]
        [::core::mem::align_of::<DLManagedTensorVersioned>() - 8usize];
    ["Offset of field: DLManagedTensorVersioned::version"]
        [::core::mem::offset_of!(DLManagedTensorVersioned, version) - 0usize];
    ["Offset of field: DLManagedTensorVersioned::manager_ctx"]
        [::core::mem::offset_of!(DLManagedTensorVersioned, manager_ctx) - 8usize];
    ["Offset of field: DLManagedTensorVersioned::deleter"]
        [::core::mem::offset_of!(DLManagedTensorVersioned, deleter) - 16usize];
    ["Offset of field: DLManagedTensorVersioned::flags"]
        [::core::mem::offset_of!(DLManagedTensorVersioned, flags) - 24usize];
    ["Offset of field: DLManagedTensorVersioned::dl_tensor"]
        [::core::mem::offset_of!(DLManagedTensorVersioned, dl_tensor) - 32usize];
};
/// Allocates a tensor by the producer; returns 0 on success, else has called `set_error`.
pub type DLPackManagedTensorAllocator = ::core::option::Option<
    unsafe extern "C" fn(
        prototype: *mut DLTensor,
        out: *mut *mut DLManagedTensorVersioned,
        error_ctx: *mut ::core::ffi::c_void,
        set_error: ::core::option::Option<
            unsafe extern "C" fn(
                error_ctx: *mut ::core::ffi::c_void,
                kind: *const ::core::ffi::c_char,
                message: *const ::core::ffi::c_char,
            ),
        >,
    ) -> ::core::ffi::c_int,
>;
/// Exports a Python object. Like the next four, it returns 0 on success, else -1 with a Python
/// exception set. It orders no stream: the caller must, see [`DLPackCurrentWorkStream`].
pub type DLPackManagedTensorFromPyObjectNoSync = ::core::option::Option<
    unsafe extern "C" fn(
        py_object: *mut ::core::ffi::c_void,
        out: *mut *mut DLManagedTensorVersioned,
    ) -> ::core::ffi::c_int,
>;
/// Exports a Python object for as long as control does not return to its owner.
pub type DLPackDLTensorFromPyObjectNoSync = ::core::option::Option<
    unsafe extern "C" fn(
        py_object: *mut ::core::ffi::c_void,
        out: *mut DLTensor,
    ) -> ::core::ffi::c_int,
>;
/// Returns the producer's current stream; NULL is the legacy default stream.
pub type DLPackCurrentWorkStream = ::core::option::Option<
    unsafe extern "C" fn(
        device_type: DLDeviceType,
        device_id: i32,
        out_current_stream: *mut *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
>;
/// Makes a Python object from a tensor, and takes over the tensor.
pub type DLPackManagedTensorToPyObjectNoSync = ::core::option::Option<
    unsafe extern "C" fn(
        tensor: *mut DLManagedTensorVersioned,
        out_py_object: *mut *mut ::core::ffi::c_void,
    ) -> ::core::ffi::c_int,
>;
/// The members that are the same in every version of [`DLPackExchangeAPI`].
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLPackExchangeAPIHeader {
    pub version: DLPackVersion,
    /// a table of an older major, or NULL
    pub prev_api: *mut DLPackExchangeAPIHeader,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLPackExchangeAPIHeader"]
        [::core::mem::size_of::<DLPackExchangeAPIHeader>() - 16usize];
    ["Alignment of DLPackExchangeAPIHeader"]
        [::core::mem::align_of::<DLPackExchangeAPIHeader>() - 8usize];
    ["Offset of field: DLPackExchangeAPIHeader::version"]
        [::core::mem::offset_of!(DLPackExchangeAPIHeader, version) - 0usize];
    ["Offset of field: DLPackExchangeAPIHeader::prev_api"]
        [::core::mem::offset_of!(DLPackExchangeAPIHeader, prev_api) - 8usize];
};
/// A type's functions for exchange without Python calls: a static table in a capsule named
/// "dlpack_exchange_api", in the type's attribute `__dlpack_c_exchange_api__`. In DLPack 1.2 the
/// attribute was `__c_dlpack_exchange_api__`, and some libraries store the address there as an int.
/// libcai accepts no int, since it may be any number.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct DLPackExchangeAPI {
    pub header: DLPackExchangeAPIHeader,
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    /// may be NULL
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    pub current_work_stream: DLPackCurrentWorkStream,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of DLPackExchangeAPI"][::core::mem::size_of::<DLPackExchangeAPI>() - 56usize];
    ["Alignment of DLPackExchangeAPI"][::core::mem::align_of::<DLPackExchangeAPI>() - 8usize];
    ["Offset of field: DLPackExchangeAPI::header"]
        [::core::mem::offset_of!(DLPackExchangeAPI, header) - 0usize];
    ["Offset of field: DLPackExchangeAPI::managed_tensor_allocator"]
        [::core::mem::offset_of!(DLPackExchangeAPI, managed_tensor_allocator) - 16usize];
    ["Offset of field: DLPackExchangeAPI::managed_tensor_from_py_object_no_sync"][::core::mem::offset_of!(
        DLPackExchangeAPI,
        managed_tensor_from_py_object_no_sync
    ) - 24usize];
    ["Offset of field: DLPackExchangeAPI::managed_tensor_to_py_object_no_sync"]
        [::core::mem::offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) - 32usize];
    ["Offset of field: DLPackExchangeAPI::dltensor_from_py_object_no_sync"]
        [::core::mem::offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) - 40usize];
    ["Offset of field: DLPackExchangeAPI::current_work_stream"]
        [::core::mem::offset_of!(DLPackExchangeAPI, current_work_stream) - 48usize];
};
/// Where work on an array is pending: the dict's "stream" and "data"\[1]. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_exchange_order {
    /// 1, 2, a CUstream or a CUevent; 0 if the kind is NONE or UNSTATED
    pub stream: u64,
    /// `CAI_STREAM_*`
    pub stream_kind: u32,
    /// [`CAI_FLAG_READONLY`], or 0
    pub flags: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_exchange_order"][::core::mem::size_of::<cai_exchange_order>() - 16usize];
    ["Alignment of cai_exchange_order"][::core::mem::align_of::<cai_exchange_order>() - 8usize];
    ["Offset of field: cai_exchange_order::stream"]
        [::core::mem::offset_of!(cai_exchange_order, stream) - 0usize];
    ["Offset of field: cai_exchange_order::stream_kind"]
        [::core::mem::offset_of!(cai_exchange_order, stream_kind) - 8usize];
    ["Offset of field: cai_exchange_order::flags"]
        [::core::mem::offset_of!(cai_exchange_order, flags) - 12usize];
};
/// A type's functions. It grows at the tail. Since 0.1.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct cai_exchange_api {
    /// bytes that the type filled in, at least 16
    pub struct_size: u32,
    /// [`CAI_ABI_MAJOR`] at compile time, and the minor. Of another major
    pub abi_major: u16,
    /// no more than the first 16 bytes may be read
    pub abi_minor: u16,
    /// the same for an older major, or NULL
    pub older: *const cai_exchange_api,
    /// Describes the object's array, which the object still owns. The description is valid until the
    /// caller releases its reference to the object, or any thread changes the object. A consumer that
    /// needs the array beyond the call must keep the reference, and rely on other code not giving the
    /// object other memory meanwhile, as users of the object itself do; or call `own`.
    ///
    /// # Arguments
    ///
    /// - `out`: all of it is written, valid by [`cai_array_validate()`], with `owner` NULL. It points
    ///   into `dims`, or into the object if no thread can change that part before the
    ///   caller has copied it
    /// - `dims`: the caller's 2 \* [`CAI_MAX_NDIM`] uninitialised elements: room for `shape` and
    ///   `strides`
    pub describe: ::core::option::Option<
        unsafe extern "C" fn(
            object: *mut ::core::ffi::c_void,
            out: *mut cai_array,
            dims: *mut i64,
        ) -> i32,
    >,
    /// Returns where work on the object's array is pending, and whether the array may be written. For
    /// a type that has DLPack's table and not `describe`.
    pub order: ::core::option::Option<
        unsafe extern "C" fn(object: *mut ::core::ffi::c_void, out: *mut cai_exchange_order) -> i32,
    >,
    /// Called after a consumer has queued work on the array on `stream`. The type must keep such
    /// uses, and wait for them before it works on the memory or reuses it for another array, even if
    /// the object ends first.
    ///
    /// # Arguments
    ///
    /// - `stream`: 1, 2 or a CUstream, of the current context
    /// - `access`: [`CAI_ACCESS_READ`] or [`CAI_ACCESS_WRITE`]
    pub used: ::core::option::Option<
        unsafe extern "C" fn(object: *mut ::core::ffi::c_void, stream: u64, access: u32) -> i32,
    >,
    /// Returns an owned array; the caller owns one reference. The array is valid until its last
    /// reference is released, on any thread, attached or not, without a reference to the object. If
    /// `own` is NULL, use `describe` and keep a reference to the object.
    pub own: ::core::option::Option<
        unsafe extern "C" fn(object: *mut ::core::ffi::c_void, out: *mut *mut cai_array) -> i32,
    >,
    /// Makes an object of the type from an array.
    ///
    /// # Arguments
    ///
    /// - `array`: owned; the object takes over one reference on success, which stays the caller's
    ///   on failure. The object releases it when it ends
    /// - `out`: a new reference, to a PyObject
    pub wrap: ::core::option::Option<
        unsafe extern "C" fn(array: *mut cai_array, out: *mut *mut ::core::ffi::c_void) -> i32,
    >,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of cai_exchange_api"][::core::mem::size_of::<cai_exchange_api>() - 56usize];
    ["Alignment of cai_exchange_api"][::core::mem::align_of::<cai_exchange_api>() - 8usize];
    ["Offset of field: cai_exchange_api::struct_size"]
        [::core::mem::offset_of!(cai_exchange_api, struct_size) - 0usize];
    ["Offset of field: cai_exchange_api::abi_major"]
        [::core::mem::offset_of!(cai_exchange_api, abi_major) - 4usize];
    ["Offset of field: cai_exchange_api::abi_minor"]
        [::core::mem::offset_of!(cai_exchange_api, abi_minor) - 6usize];
    ["Offset of field: cai_exchange_api::older"]
        [::core::mem::offset_of!(cai_exchange_api, older) - 8usize];
    ["Offset of field: cai_exchange_api::describe"]
        [::core::mem::offset_of!(cai_exchange_api, describe) - 16usize];
    ["Offset of field: cai_exchange_api::order"]
        [::core::mem::offset_of!(cai_exchange_api, order) - 24usize];
    ["Offset of field: cai_exchange_api::used"]
        [::core::mem::offset_of!(cai_exchange_api, used) - 32usize];
    ["Offset of field: cai_exchange_api::own"]
        [::core::mem::offset_of!(cai_exchange_api, own) - 40usize];
    ["Offset of field: cai_exchange_api::wrap"]
        [::core::mem::offset_of!(cai_exchange_api, wrap) - 48usize];
};
functions! {
    exchange:
    /// Returns the version of the library in use, 10000 \* major + 100 \* minor + patch.
    /// Compare with `CAI_VERSION_*` to find a header that is newer than the library. Since 0.1.
    pub fn cai_version() -> i32;
    /// Returns the name of a status, such as "[`CAI_ERR_VALUE`]"; "`CAI_ERR_UNKNOWN`" for a value that this
    /// library does not know. The string is static. Since 0.1.
    pub fn cai_status_name(status: cai_status) -> *const ::core::ffi::c_char;
    /// Returns the dict's key for a `CAI_ENTRY_*`, such as "shape"; "interface" for the dict as a whole;
    /// "" for any other value. The string is static. Since 0.1.
    pub fn cai_entry_name(entry: i32) -> *const ::core::ffi::c_char;
    /// Sets the hook that receives failures that no call can return. NULL, the default, drops them.
    ///
    /// # Arguments
    ///
    /// - `hook`: the function; its code and its context must stay valid for the life of the
    ///   process
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_on_failure(
        hook: cai_failure_fn,
        context: *mut ::core::ffi::c_void,
        error: *mut cai_error,
    ) -> cai_status;
    /// Parses a typestr. Accepts what the text and NumPy's array interface allow. Like lenient reading,
    /// it also accepts a missing byte order, '=' and '|' (all three mean the host's order), and leading
    /// zeros in a number.
    ///
    /// # Arguments
    ///
    /// - `typestr`: UTF-8, need not end in NUL
    /// - `length`: bytes of it
    /// - `out`: the type. Bits are accepted as "|t1" only
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] (entry typestr); [`CAI_ERR_ARGUMENT`].
    ///
    /// The text, "typestr". Since 0.1.
    pub fn cai_dtype_parse(
        typestr: *const ::core::ffi::c_char,
        length: u64,
        out: *mut cai_dtype,
        error: *mut cai_error,
    ) -> cai_status;
    /// Writes the canonical typestr of a type: byte order '|' where it does not matter, else '\<' or
    /// '>'; "\<V2" for bfloat16 and "|V1" for the float8 types.
    ///
    /// # Arguments
    ///
    /// - `out`: [`CAI_TYPESTR_SIZE`] bytes; receives the text and its NUL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] (entry typestr) if the type is invalid; [`CAI_ERR_ARGUMENT`].
    ///
    /// The text, "typestr". Since 0.1.
    pub fn cai_dtype_format(
        dtype: *const cai_dtype,
        out: *mut ::core::ffi::c_char,
        error: *mut cai_error,
    ) -> cai_status;
    /// Computes the layout of an array. Checks every product and sum for overflow.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] (entry shape, strides or typestr) if one of them is wrong or a
    /// size does not fit in 63 bits; [`CAI_ERR_VERSION`] as [`cai_array_validate()`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// The text, "strides". Since 0.1.
    pub fn cai_array_layout(
        array: *const cai_array,
        out: *mut cai_layout,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the address by which the host uses an array. Pinned memory may have two addresses:
    /// `data` is the device's, as kernels use it; tensors, columns and libcai's own host work use the
    /// host's. For memory that libcai did not allocate, libcai asks the driver, if there is one, in the
    /// current context; it makes no context for that. So it does for an array that says CUDA, as a dict
    /// of pinned or managed memory does. It does not wait for pending work.
    ///
    /// # Arguments
    ///
    /// - `out`: receives the address of the first element; 0 if there are no elements
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] for a device's own memory; [`CAI_ERR_DEVICE`] for ROCm;
    /// [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; [`CAI_ERR_ARGUMENT`];
    /// [`CAI_ERR_STATE`], entry data, for memory that was freed or reset; [`CAI_ERR_CUDA`] if the
    /// driver fails.
    ///
    /// Since 0.1.
    pub fn cai_array_host(
        array: *const cai_array,
        out: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Validates a struct that other code filled in: prefix, critical flags, reserved words, kinds,
    /// null pointers, dimensions, sizes and extents, the mask and the descr. It reads everything the
    /// struct points to, so the pointers themselves must be valid. It never asks the driver. A mask may
    /// be validated by itself, so kind 't' is valid here; in a dict only a mask may have it.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`], with the entry; [`CAI_ERR_VERSION`] for another ABI major or an
    /// unknown critical flag; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_array_validate(array: *const cai_array, error: *mut cai_error) -> cai_status;
    /// Returns the number of bytes of storage that [`cai_interface_read()`] needs at most for this
    /// interface; it may be 0. Returns 0 too if `in` is NULL, or if this library cannot read its
    /// struct_size or that of mask_interface. It judges nothing else. Since 0.1.
    pub fn cai_interface_storage(in_: *const cai_interface) -> u64;
    /// Reads an interface, and is the one place that applies the rules of the text.
    ///
    /// # Arguments
    ///
    /// - `in`: the raw values
    /// - `mode`: [`CAI_LENIENT`] or [`CAI_STRICT`]
    /// - `on_finding`: receives every finding; errors come in the order in which they are found. May
    ///   be NULL: then reading ends at the first error
    /// - `context`: for on_finding; may be NULL
    /// - `storage`: holds shape, strides, descr and mask; aligned to 8 bytes. May be NULL
    ///   if storage_size is 0
    /// - `storage_size`: bytes; [`cai_interface_storage(in)`](cai_interface_storage) is always enough. Contents are unspecified
    ///   after a failure
    /// - `out`: a borrowed array that points into `storage`, never into `in`. Its device is
    ///   CUDA with id -1, or CPU with id 0. An array without elements gets data 0.
    ///   Stream 0 becomes 1. A version below 3 without a stream becomes UNSTATED
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] or [`CAI_ERR_TYPE`], with the entry; [`CAI_ERR_STORAGE`];
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// The text, "Python Interface Specification". Since 0.1.
    pub fn cai_interface_read(
        in_: *const cai_interface,
        mode: u32,
        on_finding: cai_finding_fn,
        context: *mut ::core::ffi::c_void,
        storage: *mut ::core::ffi::c_void,
        storage_size: u64,
        out: *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns the number of bytes of storage that [`cai_interface_write()`] needs for this array; 0 if
    /// `array` is NULL, or [`cai_array_validate()`] rejects it. Since 0.1.
    pub fn cai_interface_write_storage(array: *const cai_array) -> u64;
    /// Writes an array as the values of a dict: the reverse of [`cai_interface_read()`]. Strides are NONE
    /// if and only if the array is C-contiguous. For an UNSTATED stream the dict names the stream that a
    /// provider returns, or 1. A mask is written as mask_interface. A trivial descr is left out; one
    /// with the type's name is written for a type that a typestr cannot express (`CAI_EXT_*`). A mask may
    /// be written by itself. A dict cannot name pending work of CPU streams (cai/device.h) on the
    /// memory: the host waits for that work.
    ///
    /// The dict's stream comes after the uses that the owner has kept: where it does not already, it is
    /// made to wait, as by [`cai_array_publish()`]. So write an array anew for each reader. From then on,
    /// uses of the owner's arrays that come with another stream wait for the dict's stream, unless the
    /// owner has an await_uses of its own.
    ///
    /// # Arguments
    ///
    /// - `array`: valid; on the CPU it is written as [`CAI_PROTOCOL_HOST`], else as
    ///   [`CAI_PROTOCOL_CUDA`]
    /// - `version`: 3, or 2, which has no "stream": then the array's stream must be NONE or
    ///   UNSTATED (synchronise, and set NONE in a copy of the struct)
    /// - `storage`: aligned to 8 bytes; holds the items of the values
    /// - `storage_size`: bytes; [`cai_interface_write_storage(array)`](cai_interface_write_storage) is enough
    /// - `out`: the caller sets struct_size, and no more than that is written. Points into
    ///   `storage`, `array` and what the array points to
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_EXPORT`] if a dict cannot express the array: an event, a stream in
    /// version 2, a device that is neither CPU nor CUDA, another thread's stream 2, and NONE
    /// where the owner has kept uses or was told of a stream, or another import of the memory
    /// has (publish it); [`CAI_ERR_STORAGE`]; [`CAI_ERR_STATE`] if the memory was freed;
    /// [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; [`CAI_ERR_ARGUMENT`]; where the
    /// stream has to wait, as [`cai_array_publish()`].
    ///
    /// The text, "Python Interface Specification". Since 0.1.
    pub fn cai_interface_write(
        array: *const cai_array,
        version: u32,
        storage: *mut ::core::ffi::c_void,
        storage_size: u64,
        out: *mut cai_interface,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an owned array in one allocation that holds copies of the dims, the mask and the descr,
    /// and that calls `release` when its last reference is released. The memory of the array itself is
    /// not copied. The copy has this library's ABI minor: unknown advisory flags and the reserved words
    /// of a newer minor are left out, as in a view.
    ///
    /// # Arguments
    ///
    /// - `borrowed`: valid. Its owner, if any, is neither retained nor released, and uses kept by the
    ///   one owner are not seen by the other: for an array that has an owner, make a view
    ///   instead ([`cai_array_slice()`] with no items)
    /// - `release`: runs once, with no lock held, on the thread that releases the last reference, or
    ///   later, see [`cai_owner.release`](cai_owner::release); may be NULL
    /// - `context`: for release. On success it belongs to the array; on failure it stays the
    ///   caller's, and `release` is not called
    /// - `out`: the owned array; the caller owns one reference; release it with
    ///   [`cai_array_release()`](crate::cai_array_release)
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_array_own(
        borrowed: *const cai_array,
        release: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a view as Python's `a[...]` does: ranges are clipped, an index out of range is an error,
    /// missing items mean whole axes.
    ///
    /// A view is an owned array whose owner holds a reference to the original array; the memory, stream,
    /// descr and read-only mark are the same. The mask is viewed likewise; if it cannot be, the call
    /// fails with the entry mask. A mask of bits cannot be viewed, unless shape and elements stay the
    /// same. On failure no reference is added.
    ///
    /// # Arguments
    ///
    /// - `array`: owned (a borrowed array cannot be held)
    /// - `slices`: `count` items; may be NULL if count is 0
    /// - `out`: an owned array; the caller owns one reference
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`] for an index out of range ([`cai_error.index`](cai_error::index) is the item), a
    /// step of 0, too many items or a borrowed array; [`CAI_ERR_UNSUPPORTED`] for a mask of bits;
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`].
    ///
    /// Since 0.1.
    pub fn cai_array_slice(
        array: *const cai_array,
        slices: *const cai_slice,
        count: i32,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a view of another shape, in C order. As [`cai_array_slice()`] but for:
    ///
    /// # Arguments
    ///
    /// - `shape`: `ndim` extents, elements; one may be -1: then it is computed; may be NULL if ndim
    ///   is 0
    ///
    /// # Returns
    ///
    /// also [`CAI_ERR_LAYOUT`] if the strides allow no such view without a copy;
    /// [`CAI_ERR_ARGUMENT`] if the number of elements differs.
    ///
    /// Since 0.1.
    pub fn cai_array_reshape(
        array: *const cai_array,
        shape: *const i64,
        ndim: i32,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a view with its axes in another order. As [`cai_array_slice()`] but for:
    ///
    /// # Arguments
    ///
    /// - `axes`: array->ndim of them: axis i of the view is axis axes\[i] of the array; negative
    ///   counts from the end. NULL reverses the axes
    ///
    /// # Returns
    ///
    /// also [`CAI_ERR_ARGUMENT`] if an axis is out of range or repeated.
    ///
    /// Since 0.1.
    pub fn cai_array_transpose(
        array: *const cai_array,
        axes: *const i32,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes a read-only view of a larger shape by NumPy's broadcasting: stride 0 over axes that are
    /// new or had extent 1. As [`cai_array_slice()`] but for:
    ///
    /// # Arguments
    ///
    /// - `shape`: `ndim` extents, elements; may be NULL if ndim is 0
    ///
    /// # Returns
    ///
    /// also [`CAI_ERR_ARGUMENT`] if the shapes do not agree.
    ///
    /// Since 0.1.
    pub fn cai_array_broadcast(
        array: *const cai_array,
        shape: *const i64,
        ndim: i32,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Begins a use. Call it before work on `stream` reads or writes the arrays. It makes the stream
    /// wait for the producers' pending work on the arrays and their masks, and for kept uses that
    /// conflict with the access. It takes one event record and one wait for each distinct producer
    /// stream, and one wait for each kept use that these do not cover. It takes none for `stream`
    /// itself, for NONE, for empty arrays, for host arrays, and where the legacy stream and a blocking
    /// stream of one context are ordered by the driver. The host does not wait (except with
    /// [`CAI_ORDER_HOST`]). To wait for `stream` is not to wait for the arrays: `stream` may be idle.
    /// UNSTATED means the stream that a provider returns ([`cai_provide_streams()`]), else the legacy stream
    /// of the array's device.
    ///
    /// Queue the work on `stream`, and on no other stream. Uses that conflict must not overlap: begin
    /// one after the other has ended. Readers may overlap. A mask is used with the access of its array,
    /// since a writer of elements may mark them as valid; a mask that is read-only is only read. To
    /// write elements and not wait for the mask's readers, pass the array without its mask.
    ///
    /// No GPU stream can wait for pending work of CPU streams (cai/device.h): the host waits for it, and
    /// the call returns its failure, once; in a forked child it returns [`CAI_ERR_STATE`]. The thread of a
    /// CPU stream does not wait for that stream's own work, nor for work that was queued after it.
    ///
    /// For an array, 1 and 2 mean streams of the context of its memory. A pool's memory has no context:
    /// then they mean the primary context of its device if that is active, else the current context if
    /// it is on that device. For `stream`, they mean the current context; if none is current,
    /// [`cai_arrow_write()`] uses the array's context. A 2 is valid only on the thread that named it.
    ///
    /// Captures: streams of one capture are ordered within it. If only `stream` captures, a producer
    /// with nothing pending needs no order (the caller orders the launch); with work pending, the call
    /// fails, see [`CAI_USE_EXTERNAL`]. If only the producer captures, see [`CAI_USE_FORK`]. No capture that
    /// has begun before the call is ever invalidated. One that another thread begins meanwhile, on a
    /// stream that the call works on, may be: the driver cannot be asked and called at once.
    ///
    /// The environment relaxes this; it is read once. `CAI_SYNC`=0 turns every order except
    /// [`CAI_ORDER_HOST`] into [`CAI_ORDER_NONE`]. `CAI_NONE`=legacy treats NONE as UNSTATED. `CAI_TRACE`=1 prints
    /// each edge that a function under "Order" makes or leaves out to stderr, and why.
    ///
    /// Call one of the next three functions in the end; otherwise a use of more than 8 arrays, or of
    /// more than 4 if one has a mask, leaks memory. With [`CAI_ORDER_BEGIN`], and without [`CAI_USE_FORK`],
    /// there is nothing to end. Keep references to the arrays until then: the use takes none.
    ///
    /// # Arguments
    ///
    /// - `use`: receives the open use; its previous contents do not matter. On failure it is not
    ///   open
    /// - `arrays`: `count` arrays; may be NULL if count is 0. The structs need not outlive the call
    /// - `stream`: the consumer's: 1, 2 or a CUstream. It must live until the use is ended, finished
    ///   or abandoned: the driver may give its handle to another stream
    /// - `options`: may be NULL
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if a capture allows no such order (the streams are asked first,
    /// and nothing has changed); [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`], after which some of the waits
    /// may be queued; [`CAI_ERR_DEVICE`] for ROCm, and for an array whose 1 or 2 has no context;
    /// [`CAI_ERR_ORDER`] for a 2 of another thread, for an array for which a provider returned
    /// stream 0, and for an array that came with an event and whose owner keeps no uses, since
    /// no end is possible (except with [`CAI_ORDER_HOST`], and with [`CAI_ORDER_BEGIN`], after which
    /// [`cai_array_release_on()`] is required); [`CAI_ERR_VALUE`] for a write to a read-only array;
    /// [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; [`CAI_ERR_STATE`] if the memory
    /// was freed; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`], also for stream 0, for 1 or 2 if no
    /// context is current, for 2 (entry stream) if a green context is current, which has no
    /// stream 2, and for an environment variable with an invalid value. [`cai_error.index`](cai_error::index) is the
    /// array, or -1 for the consumer's stream. The driver is neither needed nor loaded if no
    /// array needs order, before or after the work.
    ///
    /// The text, "Synchronization". Since 0.1.
    pub fn cai_use_begin(
        use_: *mut cai_use,
        arrays: *const *const cai_array,
        count: i32,
        stream: u64,
        options: *const cai_use_options,
        error: *mut cai_error,
    ) -> cai_status;
    /// Ends a use. Call it after the work on the stream was queued. It makes every producer stream wait
    /// for the work, after reads too, so that the producer may write, free or reuse the memory in its
    /// own order; and it lets the owners keep the use. It takes one event record in all. Any thread may
    /// call it, unless the stream or a producer's is 2: then only the thread that began the use.
    ///
    /// If one producer cannot be ordered, for example since its stream is being captured, the others
    /// still are; its owner keeps the use, and the call returns the first failure. Call it again once
    /// the capture has ended, or let the producer reclaim. In a consumer's capture the call does nothing
    /// if one producer cannot be ordered. It does nothing either if the stream is being captured now and
    /// was not at the beginning: end the use once that capture has ended. A beginning that needed no
    /// order has not asked whether the stream captures: where all arrays came with `stream`, the end
    /// fails only if an array of an owner has since been published with another stream, outside that
    /// capture. A stream that [`CAI_USE_FORK`] has taken into a capture is joined back on every path,
    /// except a 2 on another thread than the one that began.
    ///
    /// Every owner that has `used_on` keeps the use, with that event, except where the array's stream
    /// waits for it and the owner is [`CAI_OWNER_STREAM_ORDERED`], where the array's stream is `stream`,
    /// and in a capture. The owner keeps it even so where its arrays come with different streams, and
    /// where a blocking stream, or 2, uses an array of stream 1. A use that is not kept marks the
    /// array's stream, on which the last release records an event. If the owner is [`CAI_OWNER_RECLAIMS`],
    /// the array's stream does not wait. Where no owner keeps the use of an array of stream 1, stream 1
    /// waits for a blocking stream, too: a barrier for its context. In a capture, conflicting uses are
    /// ordered where the owner keeps uses.
    ///
    /// # Arguments
    ///
    /// - `use`: closed on success, still open on failure. If it is not open, the call does nothing
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`]; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_ORDER`] on another
    /// thread than that of a 2; [`CAI_ERR_STATE`] in a forked child; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`] if `use` is NULL. [`cai_error.index`](cai_error::index) as for [`cai_use_begin()`].
    ///
    /// The text, "Synchronization", Consumer. Since 0.1.
    pub fn cai_use_end(use_: *mut cai_use, error: *mut cai_error) -> cai_status;
    /// Ends a use whose work is complete, or was never queued. It orders nothing, and keeps nothing.
    /// Call it when other code did the work and the host has waited for it, as for a message that was
    /// sent, and for a use whose end fails.
    ///
    /// # Arguments
    ///
    /// - `use`: closed on success, still open on failure. If it is not open, as after
    ///   [`CAI_ORDER_NONE`], the call does nothing
    /// - `wait`: not 0: the host waits for the stream first. If no array needed order at the
    ///   beginning, 1 and 2 mean streams of the current context. Release the GIL first
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; with `wait`, [`CAI_ERR_CAPTURE`] if the stream is being captured;
    /// [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_ORDER`] on another thread than that of a 2;
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_use_finish(use_: *mut cai_use, wait: i32, error: *mut cai_error) -> cai_status;
    /// Abandons a use that cannot be ended in another way, usually in a destructor. It does not wait,
    /// and does not fail. The producers' streams do not wait for the work. The owners keep the use if an
    /// event can be recorded on the stream, which must still live; [`cai_drain()`] with `wait` waits for
    /// that event. No event can be recorded if the stream is another thread's 2, or is in a capture that
    /// it was not in at the beginning (or that a beginning without order has not asked about), or if the
    /// driver fails. Then the use takes references to the owners, which [`cai_drain()`] with `wait` releases
    /// (if there is no memory to record them, they leak, and nothing waits for the work: the hook of
    /// [`cai_on_failure()`] receives that). The call does not return which case it was: after every abandon,
    /// call [`cai_drain()`] with `wait`, outside of captures and with the stream's context current, before
    /// other code uses the arrays. In a capture the graph takes references, too. A stream that
    /// [`CAI_USE_FORK`] has taken into a capture is joined back, except if it is a 2 on another thread than
    /// the one that began, or if the driver fails: then that capture is lost, and the hook of
    /// [`cai_on_failure()`] receives that.
    ///
    /// # Arguments
    ///
    /// - `use`: closed. If it is NULL or not open, the call does nothing
    ///
    /// Since 0.1.
    pub fn cai_use_abandon(use_: *mut cai_use);
    /// Returns the one stream on which the arrays can be used without any event: the producer's own.
    /// The function makes that stream wait for kept uses, and records it as used, until its producer
    /// publishes an event of it: then call the function again before more work. An owner whose array,
    /// or mask, came with None is told of the stream, as by a dict; the stream must then live as long as
    /// that owner.
    ///
    /// # Arguments
    ///
    /// - `out`: 1, 2 or a CUstream; 0 if no array names a stream: then nothing is pending. The owners
    ///   do not learn of work on a stream of the caller's: begin a use for that
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ORDER`] if there is no such stream; if it is 1 or 2 of another context
    /// than the current one; if arrays of an owner, or its memory (`cai_memory_set_stream()`),
    /// have come with different streams; if all came with None, and an owner has kept uses; or
    /// if an owner cannot be told of the stream, since it has an await_uses of its own, or is
    /// [`CAI_OWNER_IMPORTED`] and the array, or its mask, came with None; the rest as
    /// [`cai_use_begin()`].
    ///
    /// The text, "Synchronization". Since 0.1.
    pub fn cai_arrays_same_stream(
        arrays: *const *const cai_array,
        count: i32,
        out: *mut u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Blocks the calling thread until the producer's pending work on the array and its mask, and all
    /// uses that its owner has kept, are complete; work of CPU streams included. It records an event on
    /// the array's stream, since an idle stream 1 does not wait for the blocking streams. If
    /// `cai_device_reset()` has destroyed the context of the memory, nothing is pending on the array's
    /// stream. Use it as the last resort. Release the GIL first.
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; the rest as [`cai_use_begin()`], [`cai_error.index`](cai_error::index) as [`cai_array_validate()`].
    ///
    /// The text, "Synchronization". Since 0.1.
    pub fn cai_array_sync_host(array: *const cai_array, error: *mut cai_error) -> cai_status;
    /// Producer's side: reclaims an array. Call it before the producer's own work on `stream` reads or
    /// writes an array that others may have used. It makes `stream` wait for the array's own stream,
    /// which consumers made wait at the end of their uses, and for kept uses that conflict with the
    /// access. After the work, publish the array again, unless `stream` is the array's own and that of
    /// all arrays of the owner. Within a capture that began on another stream, call it for the array's
    /// own stream, too: that stream may have joined the capture after uses there, which it would
    /// otherwise not wait for.
    ///
    /// # Arguments
    ///
    /// - `stream`: 1, 2 or a CUstream
    /// - `access`: `CAI_ACCESS_*`: what the producer will do with the array and its mask. It may write
    ///   an array that it has marked read-only for others
    ///
    /// # Returns
    ///
    /// as [`cai_use_begin()`], [`cai_error.index`](cai_error::index) as [`cai_array_validate()`].
    ///
    /// The text, "Synchronization", Producer. Since 0.1.
    pub fn cai_array_reclaim(
        array: *const cai_array,
        stream: u64,
        access: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Producer's side: returns a view that names one stream for work that is pending on several. Makes
    /// `target` wait for `streams`, for the stream or event that the array comes with, and for kept
    /// uses. The array itself does not change. A producer that writes the memory again must publish it
    /// again.
    ///
    /// The view has an owner of its own, which holds a reference to the array's owner. When the view's
    /// last reference is released, its stream is forgotten. If a dict or a tensor has named that stream
    /// to a consumer, an event is recorded there first, and kept as a write. If the driver fails to
    /// record it, or there is no memory, the host waits for the stream, unless that is 1: then later
    /// uses wait for it. If `target` is being captured by then, no event can be recorded, and the stream
    /// must live as long as the array.
    ///
    /// The array's owner keeps the pending work on `streams` as a write, with the event that `target`
    /// waits for: consumers of the array itself, or of another view of it, wait for that event, and not
    /// for `target`. They wait for work on `target` itself, and so does the release of the memory, only
    /// if `target` is among `streams`, too. As long as the view lives, arrays of the owner come with
    /// different streams, and all their uses are kept. An owner with functions of its own is told of
    /// `target` by used_on.
    ///
    /// Within a capture, `target` and the streams it waits for must be in that capture, or idle. No
    /// event covers work that was pending on the stream of the array, or of its mask, before that stream
    /// joined the capture. Uses of the owner's arrays that come with another stream therefore wait for
    /// that stream, in the capture too, as if a dict had named it; it must live as long as such a dict
    /// requires. Work that was pending on `streams` before the capture is not kept: publish it before
    /// the capture. An owner that keeps uses by itself cannot be told of that: the call returns
    /// [`CAI_ERR_CAPTURE`], unless `target` is the array's stream.
    ///
    /// The call does not wait for pending work of CPU streams (cai/device.h): a later use of the view
    /// does.
    ///
    /// Before the producer works on one of `streams` again, it calls [`cai_array_reclaim()`] for that
    /// stream. If the array came from another producer, its own stream must in the end wait for
    /// `target`: call [`cai_use_begin()`] and [`cai_use_end()`] with the original array.
    ///
    /// # Arguments
    ///
    /// - `array`: valid, and not on the CPU. The view of a borrowed array holds no reference: the
    ///   memory, and all that `array` points to, must live as long as the view and the
    ///   work on it
    /// - `streams`: `count` streams, each 1, 2 or a CUstream; may be NULL if count is 0
    /// - `target`: 1 or 2 of the context of the array's memory, or a CUstream; must live as long as
    ///   the view, and all that is made from it. If a function on a GPU stream releases
    ///   the view, that is until the later call that ends it
    /// - `out`: the view, with one reference: stream `target`, stream_kind STREAM, version 3; so
    ///   has its mask. Unchanged on failure
    ///
    /// # Returns
    ///
    /// as [`cai_use_begin()`]; [`CAI_ERR_ARGUMENT`] also for an array on the CPU, which has no stream,
    /// and [`CAI_ERR_ORDER`] for a target 2 if arrays of the owner come with another thread's;
    /// [`cai_error.index`](cai_error::index) is the stream of `streams`, or -1.
    ///
    /// The text, "Synchronization", Producer: streams 7, 9, 15 exported as 3. Since 0.1.
    pub fn cai_array_publish(
        array: *const cai_array,
        streams: *const u64,
        count: i32,
        target: u64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Producer's side: returns a view that comes with an event instead of a stream. The stream may
    /// then be destroyed, but not its context. If arrays of the owner are used on the stream again, the
    /// event does not cover that: the stream must live until they have ended. With an event, work on a
    /// stream 2 can be handed to another thread. A dict cannot carry the view. `stream` waits as for
    /// [`cai_array_publish()`]; then an event is recorded there, which lives as long as the view. The owner
    /// keeps that event as a write, for consumers that have the array already. CPU streams are as for
    /// [`cai_array_publish()`].
    ///
    /// # Arguments
    ///
    /// - `array`: as for [`cai_array_publish()`]
    /// - `out`: the view, with one reference: the event, stream_kind EVENT, version 3; so has its
    ///   mask. Unchanged on failure
    ///
    /// # Returns
    ///
    /// as [`cai_array_publish()`]; [`CAI_ERR_CAPTURE`] if `stream` is being captured.
    ///
    /// Since 0.1.
    pub fn cai_array_publish_event(
        array: *const cai_array,
        stream: u64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Releases a reference, as [`cai_array_release()`](crate::cai_array_release), once all work queued on `stream` so far is
    /// complete. For a consumer that does not end its use, or does not know whether the memory's
    /// allocation stream is the array's. The array's stream waits for the work, as at the end of a use.
    /// The host does not wait, and no CUDA callback is used: a later call under "Order" or [`cai_drain()`]
    /// finds the work complete. If `stream` is being captured, the graph takes over the reference, and
    /// releases it when the graph, and all that was made from it, is destroyed. Work that was queued
    /// before the capture began is in no graph, so call the function before the capture, or after its
    /// end. Without a capture the owner keeps the use, if it keeps uses; an owner with functions of its
    /// own is told by used_on. CPU streams (cai/device.h) are not waited for.
    ///
    /// # Arguments
    ///
    /// - `array`: owned. On failure the reference is still the caller's
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`], also for a borrowed array; the rest as [`cai_use_begin()`].
    ///
    /// Since 0.1.
    pub fn cai_array_release_on(
        array: *const cai_array,
        stream: u64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Ends the arrays whose release was deferred until kept uses were complete, if they are complete
    /// now. It runs the producers' code on this thread; that code may make calls that a capture
    /// elsewhere would forbid. The functions under "Order" also do so, for a few of the contexts that
    /// they work in. This function does it for the current context and the active primary contexts: if
    /// there are others, call it in each of them until `left` is 0. No array ends while a stream that
    /// the call works on, or that is current on the thread (cai/device.h), is being captured, since
    /// memory must not be freed into a graph; a later call ends it. Call the function with `wait`, and
    /// with that context current, before destroying or resetting a context in which arrays were used.
    /// For arrays that still have references, call [`cai_owner_pending()`] with 2; and release them before
    /// memory is allocated in a new context, since the driver is asked about their address to learn that
    /// they went with the old one. A use that was not drained is dropped once a context with the same
    /// handle is met, and then the producer's code runs; until then it stays deferred. If the driver
    /// does not report whether a use is complete, the use is kept, unless its context was destroyed or
    /// has failed for good. Where no event could be recorded (for a use that was abandoned, or at a last
    /// release, in a capture, in a function on a GPU stream or because the driver failed), the host must
    /// wait for the context; if the context is not known either, it waits for each context that the
    /// function is called for. Like `cai_device_synchronize()`, that is allowed only outside of captures,
    /// on other threads too: while libcai sees a capture there, it does not wait, and those are left.
    /// Memory whose free a capture has put off is no array: this function retries the free, too, but
    /// `left` does not count it; `cai_pending_flush()` frees it.
    ///
    /// # Arguments
    ///
    /// - `wait`: not 0: the host waits for the uses of what was released before the call, and of what
    ///   the code that then runs releases: while that always releases something, the call
    ///   does not return. It does not wait for what other threads release meanwhile. Within
    ///   an end, what was deferred before ends after that end. The call also waits for
    ///   deferred ends, and pending frees (cai/memory.h), that other threads are running at
    ///   that moment, unless it is called within one, within a manager's function, in a
    ///   function on a GPU stream, or by work of a CPU stream. So none of them may wait for
    ///   the caller, or need a lock that the caller holds: release the GIL first
    /// - `left`: may be NULL; receives the number of arrays whose end is still deferred, plus the
    ///   abandoned uses that are pending. References that CPU streams hold do not count: wait
    ///   for those streams by their own functions. Nor do ends that another thread is running
    ///   at that moment, or, where the caller must not wait for those, has found possible;
    ///   nor, within an end, those that follow it; nor references that living graphs hold:
    ///   they are released when the graph is destroyed, or some time after, by a thread of
    ///   the driver
    ///
    /// # Returns
    ///
    /// [`CAI_OK`], also without a driver if nothing was deferred; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`],
    /// also in a function on a GPU stream, which must not call the driver; [`CAI_ERR_STATE`] in a
    /// forked child, if anything is deferred: what was before the fork never ends there;
    /// [`CAI_ERR_MEMORY`]. Since 0.1.
    pub fn cai_drain(wait: i32, left: *mut i64, error: *mut cai_error) -> cai_status;
    /// Calls body(context) so that it may free memory and harms no capture. For callers that defer
    /// releases themselves, as a language binding does that must not run producers' code on every
    /// thread. `body` runs on this thread, and may make calls that a capture elsewhere would forbid.
    /// While `stream`, or a stream that is current on the thread (cai/device.h), is being captured,
    /// `body` is not called: try again later. The functions under "Order" and [`cai_drain()`] run deferred
    /// releases in the same way. `body` is called without this protection if there is no driver, if the
    /// driver fails, and if `stream` is 0 and no other call has needed the driver yet. No lock is held.
    /// Any thread.
    ///
    /// # Arguments
    ///
    /// - `stream`: the stream that the caller works on: 1, 2 (of the current context) or a CUstream;
    ///   0 for none
    /// - `body`: may run any code; must not throw. NULL: nothing is called
    /// - `context`: for `body`; may be NULL
    ///
    /// # Returns
    ///
    /// 1 if `body` was called, else 0.
    ///
    /// Since 0.1.
    pub fn cai_spare_captures(
        stream: u64,
        body: ::core::option::Option<unsafe extern "C" fn(context: *mut ::core::ffi::c_void)>,
        context: *mut ::core::ffi::c_void,
    ) -> i32;
    /// Registers a provider for the life of the process; providers are asked in order of registration.
    ///
    /// # Arguments
    ///
    /// - `provider`: copied; its code and its context must stay valid for the life of the process
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_provide_streams(
        provider: *const cai_stream_provider,
        error: *mut cai_error,
    ) -> cai_status;
    /// Returns a number that identifies the calling thread among all threads since the machine started.
    /// It is never 0, and the same in every copy of the library: the low 22 bits are the kernel's id of
    /// the thread; above them is the time at which it began (field 22 of /proc/thread-self/stat), or 0
    /// if that cannot be read. For [`cai_owner.thread`](cai_owner::thread). Since 0.1.
    pub fn cai_this_thread() -> u64;
    /// Fills in the owner of a producer's own block, whose uses this copy of the library keeps. It
    /// writes every member, and sets no flags. This copy always recognises the used_on and await_uses
    /// that it writes. It may not recognise the addresses of [`cai_owner_used_on()`] and
    /// [`cai_owner_await_uses()`] in a program that is not position-independent, or has two copies of the
    /// library.
    ///
    /// # Arguments
    ///
    /// - `owner`: all members are written, struct_size too
    /// - `retain`: as [`cai_owner.retain`](cai_owner::retain)
    /// - `release`: as [`cai_owner.release`](cai_owner::release); ends the block through [`cai_owner_end()`]
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_owner_init(
        owner: *mut cai_owner,
        retain: ::core::option::Option<unsafe extern "C" fn(self_: *mut cai_owner)>,
        release: ::core::option::Option<unsafe extern "C" fn(self_: *mut cai_owner)>,
        error: *mut cai_error,
    ) -> cai_status;
    /// Keeps a use in [`cai_owner.uses`](cai_owner::uses), one for each stream, and records an event on `stream`. It is the
    /// implementation of [`cai_owner.used_on`](cai_owner::used_on), or is called by the producer's own used_on. With
    /// [`CAI_ACCESS_CAPTURED`] it records no event: it keeps what `stream` has captured so far, for other
    /// streams in the same capture only. Any thread.
    ///
    /// # Arguments
    ///
    /// - `self`: filled in by [`cai_owner_init()`]; for a view, its owner's keeper. A view's own
    ///   owner is [`CAI_ERR_ARGUMENT`]. So is an owner with an await_uses of its own: if that
    ///   calls libcai's function, it must pass another owner of the block, which
    ///   [`cai_owner_init()`] has filled in, and which [`cai_owner_end()`] ends
    /// - `stream`: 1, 2 (of the current context) or a CUstream. 0 means the host: in
    ///   [`cai_owner_await_uses()`] it waits until the uses are complete; in
    ///   [`cai_owner_used_on()`] it is [`CAI_ERR_ARGUMENT`], since the host queues no work
    /// - `access`: [`CAI_ACCESS_READ`] or [`CAI_ACCESS_WRITE`]; and [`CAI_ACCESS_CAPTURED`], if used_on
    ///   received it
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_CAPTURE`] if the stream is being captured, and `access` does not say so;
    /// [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`]; [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_owner_used_on(
        self_: *mut cai_owner,
        stream: u64,
        access: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes `stream` wait for the uses kept in [`cai_owner.uses`](cai_owner::uses) that conflict with the access: a read
    /// conflicts with writes, a write with all. It is the implementation of [`cai_owner.await_uses`](cai_owner::await_uses). In a
    /// capture, `stream` is ordered after the uses kept in that capture. Any thread.
    ///
    /// # Arguments
    ///
    /// - `self`: as [`cai_owner_used_on()`]
    /// - `stream`: as for [`cai_owner_used_on()`]; may be 0
    /// - `access`: [`CAI_ACCESS_READ`] or [`CAI_ACCESS_WRITE`]
    ///
    /// # Returns
    ///
    /// as [`cai_owner_used_on()`]; [`CAI_ERR_CAPTURE`] if the stream is being captured, and a use that
    /// was kept outside of the capture is pending.
    ///
    /// Since 0.1.
    pub fn cai_owner_await_uses(
        self_: *mut cai_owner,
        stream: u64,
        access: u32,
        error: *mut cai_error,
    ) -> cai_status;
    /// Ends a producer's block. The producer's [`cai_owner.release`](cai_owner::release) calls it after the last reference is
    /// released. It calls end(self) now if no use is kept, else once the uses are complete, on a thread
    /// that calls a function under "Order" or [`cai_drain()`]. It does not wait, does not ask the driver
    /// whether the uses are complete, and does not fail. It records an event on a stream that uses are
    /// ordered with and that the memory is not freed on. The block stays valid until `end` is called.
    ///
    /// # Arguments
    ///
    /// - `self`: filled in by [`cai_owner_init()`]. used_on may have been replaced by a function that
    ///   calls the original. If await_uses has been replaced, `end` is called at once, since
    ///   only that function knows which uses are kept
    /// - `end`: frees the block, and may run any code; no lock is held
    ///
    /// Since 0.1.
    pub fn cai_owner_end(
        self_: *mut cai_owner,
        end: ::core::option::Option<unsafe extern "C" fn(self_: *mut cai_owner)>,
    );
    /// Counts the uses that are kept in [`cai_owner.uses`](cai_owner::uses), and the streams that other uses are ordered
    /// with. For a binding whose garbage collector must not free the producer before these are complete.
    /// Any thread.
    ///
    /// # Arguments
    ///
    /// - `self`: an owner with an await_uses of its own counts as 0: only that function knows which
    ///   uses are kept
    /// - `ask`: 0: counts all, without a driver call. 1: records an event on those streams, asks the
    ///   driver about uses of the current context and of the active primary contexts, and
    ///   forgets those that are complete. 2: the host waits for them, as [`cai_drain()`] does
    /// - `left`: the uses still kept, plus the streams on which no event is recorded
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_VALUE`] for another value of `ask`; [`CAI_ERR_DRIVER`]; [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_MEMORY`]; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_owner_pending(
        self_: *mut cai_owner,
        ask: i32,
        left: *mut i64,
        error: *mut cai_error,
    ) -> cai_status;
    /// Asks the driver about an array's memory; the array itself is not changed. The driver is not
    /// asked about an empty array: its location is its own device, with all else 0. Nor is it asked
    /// about a host array: device_pointer is `data`, flags is HOST_ACCESSIBLE, and all else is 0.
    ///
    /// # Arguments
    ///
    /// - `array`: valid
    /// - `out`: the caller sets struct_size
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_BOUNDS`] if the extent leaves the allocation; [`CAI_ERR_DEVICE`] if the
    /// driver does not know the pointer, or for ROCm; [`CAI_ERR_DRIVER`], [`CAI_ERR_CUDA`];
    /// [`CAI_ERR_VALUE`] and [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// The text, "data". Since 0.1.
    pub fn cai_array_locate(
        array: *const cai_array,
        out: *mut cai_location,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an owned array of a column, and moves the column into it. The column's release is called
    /// once, on any thread, when the last reference is released and all kept uses are complete. For a
    /// column of the plain C Data Interface, fill in a struct [`ArrowDeviceArray`]: device type CPU, id -1.
    ///
    /// # Arguments
    ///
    /// - `schema`: the type: a format of c C s S i I l L e f g. Not changed; still the caller's
    /// - `column`: on success its array.release is NULL, Arrow's mark of a moved column; on failure
    ///   it is unchanged, and the caller's
    /// - `out`: the owned array, read-only as columns are; the caller owns one reference. A bitmap
    ///   becomes its mask, unless null_count is 0
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] for another format, children, a dictionary, and a bitmap
    /// that begins within a byte (offset no multiple of 8; entry mask); [`CAI_ERR_DEVICE`] for a
    /// device that is neither CPU nor CUDA; [`CAI_ERR_VALUE`], with the entry; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_arrow_own(
        schema: *const ArrowSchema,
        column: *mut ArrowDeviceArray,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Exports an array as a column. The column holds a reference to the array until its release is
    /// called, on any thread.
    ///
    /// If work may be pending, `stream` waits for it, and for kept uses, as for
    /// [`cai_array_publish_event()`], and an event is recorded there as the column's sync_event. Otherwise
    /// the driver is not called. The column's release does not wait: the consumer's work on the memory
    /// must be complete before it is called.
    ///
    /// # Arguments
    ///
    /// - `array`: valid, owned, of one axis, contiguous; its mask, if any, of bits and of its shape.
    ///   If its device is CUDA with id -1, [`cai_array_locate()`] finds the id
    /// - `stream`: 1, 2 or a CUstream, for the event; may be the array's own
    /// - `schema`: receives the type; may be NULL
    /// - `column`: receives the array; null_count is -1 if there is a mask
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_EXPORT`], with the entry, if a column cannot express the array;
    /// [`CAI_ERR_DEVICE`] for ROCm; [`CAI_ERR_STATE`] if the memory was freed; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`], also for a borrowed array and for stream 0; [`CAI_ERR_VALUE`] and
    /// [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; the rest as [`cai_array_locate()`] and
    /// [`cai_array_publish_event()`]. Since 0.1.
    pub fn cai_arrow_write(
        array: *const cai_array,
        stream: u64,
        schema: *mut ArrowSchema,
        column: *mut ArrowDeviceArray,
        error: *mut cai_error,
    ) -> cai_status;
    /// Reads a tensor for a read-only use. A [`DLTensor`] does not say whether it may be written, so the
    /// array is marked read-only.
    ///
    /// # Arguments
    ///
    /// - `tensor`: its strides may be NULL, which means C order
    /// - `stream`: the stream that the tensor is ordered for; UINT64_MAX: unknown, and the array's
    ///   stream is then UNSTATED
    /// - `strides`: room for `tensor->ndim` strides; [`CAI_MAX_NDIM`] are always enough. May be NULL if
    ///   ndim is 0. Contents are unspecified after a failure
    /// - `out`: a borrowed array: it points into `strides` and to the tensor's shape
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_UNSUPPORTED`] for a type that [`cai_dtype`] cannot express; [`CAI_ERR_DEVICE`]
    /// for another kind of device; [`CAI_ERR_VALUE`], with the entry; [`CAI_ERR_ARGUMENT`].
    ///
    /// Since 0.1.
    pub fn cai_dlpack_read(
        tensor: *const DLTensor,
        stream: u64,
        strides: *mut i64,
        out: *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Makes an owned array of a tensor, and takes over the tensor. The deleter is called once, on any
    /// thread, when the last reference is released and all kept uses are complete. The array is
    /// read-only if the tensor is flagged so. Unknown flags are ignored.
    ///
    /// The array is an import ([`CAI_OWNER_IMPORTED`], with [`CAI_OWNER_ASKED`] unless `stream` is
    /// UINT64_MAX): two tensors of one memory find each other's uses. If `stream` is the exporter's own
    /// stream, and not one that the consumer asked for, the caller may clear [`CAI_OWNER_ASKED`] in the
    /// owner's flags before the first use: uses on that stream are then ordered with each other, and
    /// need no event. Do not publish an array made of a tensor: consumers of the exporter's array would
    /// not wait for the new stream. A tensor that was asked for in a capture, and the array made of it,
    /// is valid for that capture only. A tensor that was asked for outside is not valid for a capture in
    /// which other code uses the exporter's array.
    ///
    /// # Arguments
    ///
    /// - `tensor`: on failure the caller still owns it, and must delete it
    /// - `stream`: as for [`cai_dlpack_read()`]; must live as long as the array
    /// - `out`: the owned array; the caller owns one reference
    ///
    /// # Returns
    ///
    /// as [`cai_dlpack_read()`]; [`CAI_ERR_VERSION`] for a DLPack major other than 1;
    /// [`CAI_ERR_MEMORY`].
    ///
    /// Since 0.1.
    pub fn cai_dlpack_own(
        tensor: *mut DLManagedTensorVersioned,
        stream: u64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// As [`cai_dlpack_own()`], for the struct used before DLPack 1.0. Such a tensor must not be read-only.
    /// Since 0.1.
    pub fn cai_dlpack_own_legacy(
        tensor: *mut DLManagedTensor,
        stream: u64,
        out: *mut *mut cai_array,
        error: *mut cai_error,
    ) -> cai_status;
    /// Exports an array as a tensor. The tensor holds a reference to the array until its deleter is
    /// called, on any thread.
    ///
    /// The call orders the consumer's stream like the stream of a view by [`cai_array_publish()`]: the
    /// stream waits for pending work on the array and for kept uses, and later uses of the array wait
    /// for the stream until the deleter is called. The deleter does not wait, but where the release of
    /// such a view does; it keeps the work queued on the stream by then as a write. The driver is not
    /// called if the array comes with the same stream. If the owner keeps no uses, or the consumer has
    /// worked on another stream, the work must be complete before the deleter is called, or be ordered
    /// before the owner's release reuses the memory.
    ///
    /// The tensor is ordered after earlier work only: after another use of the array, export a new
    /// tensor. Captures: if `stream` is in a capture, the tensor, and everything made of it, is valid
    /// for that capture only, since once the capture has ended `stream` is not ordered after the work
    /// that was pending before it. If `stream` is in no capture, the tensor is not valid for a capture
    /// in which other code uses the array, since it is not ordered with those uses. Export one tensor on
    /// each side.
    ///
    /// # Arguments
    ///
    /// - `array`: valid and owned (a borrowed array cannot be held). If its device is CUDA with id
    ///   -1, [`cai_array_locate()`] finds the id; without elements the id is 0
    /// - `stream`: the consumer's stream, as `target` of [`cai_array_publish()`]. It must live until the
    ///   deleter is called (in a function on a GPU stream: until the later call that ends
    ///   the view); if it is the array's own, as long as the array's owner.
    ///   UINT64_MAX: no order
    /// - `out`: a tensor; end it with its deleter. Its shape and strides are copies; an axis of
    ///   one element may have any stride
    ///
    /// # Returns
    ///
    /// [`CAI_OK`]; [`CAI_ERR_EXPORT`], with the entry, if a tensor cannot express the array: a mask, a
    /// foreign byte order, a type that DLPack lacks, strides that are no multiple of the item
    /// size; [`CAI_ERR_DEVICE`] for ROCm; [`CAI_ERR_STATE`] if the memory was freed; [`CAI_ERR_MEMORY`];
    /// [`CAI_ERR_ARGUMENT`], also for a borrowed array and for stream 0; [`CAI_ERR_VALUE`] and
    /// [`CAI_ERR_VERSION`] as [`cai_array_validate()`]; the rest as [`cai_array_locate()`] and
    /// [`cai_array_publish()`].
    ///
    /// Since 0.1.
    pub fn cai_dlpack_write(
        array: *const cai_array,
        stream: u64,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut cai_error,
    ) -> cai_status;
    /// As [`cai_dlpack_write()`], with the struct used before DLPack 1.0.
    ///
    /// # Returns
    ///
    /// also [`CAI_ERR_EXPORT`] (entry data) for a read-only array, which that struct cannot
    /// express.
    ///
    /// Since 0.1.
    pub fn cai_dlpack_write_legacy(
        array: *const cai_array,
        stream: u64,
        out: *mut *mut DLManagedTensor,
        error: *mut cai_error,
    ) -> cai_status;
    /// Describes an array as a tensor without a reference, for a call during which the array stays
    /// valid. It allocates nothing, and orders nothing. The caller orders the work, with [`cai_use_begin()`]
    /// and [`cai_use_end()`] for the consumer's stream.
    ///
    /// # Arguments
    ///
    /// - `array`: as for [`cai_dlpack_write()`], but it may be borrowed, and must not be read-only
    /// - `strides`: room for `array->ndim` strides; receives the strides in elements. May be NULL if
    ///   ndim is 0. Contents are unspecified after a failure
    /// - `out`: points into `strides` and to the array's shape, which must not be written to
    ///
    /// # Returns
    ///
    /// as [`cai_dlpack_write_legacy()`], without the statuses of holding and ordering.
    ///
    /// Since 0.1.
    pub fn cai_dlpack_lend(
        array: *const cai_array,
        strides: *mut i64,
        out: *mut DLTensor,
        error: *mut cai_error,
    ) -> cai_status;
}
