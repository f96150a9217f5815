// SPDX-License-Identifier: BSD-3-Clause
//! Work on arrays: copies, fills, single elements.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use crate::array::{Array, ArrayRef};
use crate::device::Device;
use crate::dtype::{Element, Kind};
use crate::error::{Entry, Error, Result, call};
use crate::memory::{Request, raw_stream};
use crate::stream::Stream;
use crate::sys;
use crate::view::swapped;

/// Copies the elements of an array to another array of the same shape and type, in the order of a
/// stream, between any two devices: `cai_array_copy()`. It begins and ends the use of both.
///
/// If a GPU copies from or to an array on the CPU, the host waits until the copy is complete;
/// otherwise it does not wait. `stream` is of the device of either array, or a CPU stream if the
/// host may use both; `None`: the thread's current stream of `to`'s device, or of `from`'s if `to`
/// is on the host.
///
/// ```
/// use libcai::{DType, Device, memory::{self, Request}};
///
/// let f32 = DType::of::<f32>();
/// let mut host = Request::on(Device::Cpu).zeros(f32, &[3])?;
/// memory::fill(&mut host, 1.5_f32, None)?;
/// let mut gpu = Request::on(Device::Cuda(0)).empty(f32, &[3])?;
/// memory::copy(&host, &mut gpu, None)?;
/// assert_eq!(memory::item::<f32>(&gpu, &[-1])?, 1.5);
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Errors
/// [`Error::Value`] if shapes or types differ, or `to` is read-only, and if `to` has no mask for
/// `from`'s or its mask does not match; [`Error::Layout`] if elements of `to` overlap each other or
/// `from`'s; [`Error::Unsupported`] for bits, except masks whose bits fill whole bytes;
/// [`Error::Device`] for a stream of a third device; [`Error::Capture`]; [`Error::State`] if the
/// memory was freed, or a reset has ended the stream; the failure of earlier work on a CPU stream,
/// once. After [`Error::Cuda`] part of the work may be queued, and in no order with other streams:
/// synchronise the device before you use the arrays.
pub fn copy<'f>(
    from: impl Into<ArrayRef<'f>>,
    to: &mut Array,
    stream: Option<&Stream>,
) -> Result<()> {
    let from = from.into();
    let stream = raw_stream(stream);
    // SAFETY: the arrays are borrowed, and the stream is held, during the call; the library keeps
    // what it needs after that.
    call(|error| unsafe { sys::cai_array_copy(from.as_raw(), to.as_ptr(), stream, error) })
}

/// Sets all elements of an array, in the order of a stream: `cai_array_fill()`. It begins and ends
/// the use. `stream` is of the array's device, or a CPU stream for memory of the CPU and pinned
/// memory; `None`: the thread's current stream of the array's device.
///
/// # Errors
/// [`Error::Value`], with entry typestr, if `T` is not the array's own type;
/// [`Error::Unsupported`], with entry descr, if a field is not in the host's byte order; the rest
/// as [`copy()`].
pub fn fill<T: Element>(array: &mut Array, value: T, stream: Option<&Stream>) -> Result<()> {
    must_hold::<T>(array.borrow())?;
    let stream = raw_stream(stream);
    let value: *const T = &value;
    // SAFETY: the value has the item's bytes, and is read before the call returns; the rest as for
    // copy().
    call(|error| unsafe { sys::cai_array_fill(array.as_ptr(), value.cast(), stream, error) })
}

/// Copies one element to the host, from any memory: `cai_array_item()`. It waits for pending work
/// on the array; for an array on the CPU, also for the thread's current CPU stream. A negative
/// index counts from the end.
///
/// # Errors
/// [`Error::Value`], with entry typestr, if `T` is not the array's own type;
/// [`Error::Unsupported`], with entry descr, if a field is not in the host's byte order;
/// [`Error::Argument`] if there is not one index for each axis, and for one out of range,
/// [`Detail::index`] being the axis; the rest as [`copy()`].
///
/// [`Detail::index`]: crate::Detail::index
pub fn item<'a, T: Element>(array: impl Into<ArrayRef<'a>>, index: &[i64]) -> Result<T> {
    let array = array.into();
    must_hold::<T>(array)?;
    let ndim = array.ndim();
    if index.len() != ndim {
        let message = format!("index: {} are given for {ndim} axes", index.len());
        return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
    }
    // SAFETY: there is an index for each axis, and room for the item's bytes.
    element(|out, error| unsafe { sys::cai_array_item(array.as_raw(), index.as_ptr(), out, error) })
}

/// Copies the first element to the host, as [`item()`] does.
///
/// # Errors
/// [`Error::Argument`] if there are no elements; the rest as [`item()`].
pub fn first<'a, T: Element>(array: impl Into<ArrayRef<'a>>) -> Result<T> {
    let array = array.into();
    must_hold::<T>(array)?;
    // SAFETY: there is room for the item's bytes.
    element(|out, error| unsafe { sys::cai_array_first(array.as_raw(), out, error) })
}

/// The element that a function writes.
fn element<T: Element>(
    function: impl FnOnce(*mut c_void, *mut sys::cai_error) -> sys::cai_status,
) -> Result<T> {
    let mut out = MaybeUninit::<T>::zeroed();
    call(|error| function(out.as_mut_ptr().cast(), error))?;
    if T::DTYPE.kind() == Kind::Bool {
        // SAFETY: a bool of an array is one byte, of which any value but 0 is true.
        unsafe {
            let byte = out.as_mut_ptr().cast::<u8>();
            *byte = (*byte != 0).into();
        }
    }
    // SAFETY: the function has written all of its bytes, and any bytes are a number.
    Ok(unsafe { out.assume_init() })
}

/// Waits for the current stream of the array's device, and for all pending work on the array:
/// `cai_array_eval()`.
///
/// # Errors
/// The failure of work on that stream; [`Error::Capture`] if the stream is being captured;
/// [`Error::Driver`]; [`Error::Cuda`]; [`Error::Device`] for ROCm.
pub fn eval<'a>(array: impl Into<ArrayRef<'a>>) -> Result<()> {
    let array = array.into();
    // SAFETY: the array is borrowed during the call.
    call(|error| unsafe { sys::cai_array_eval(array.as_raw(), error) })
}

/// Copies all elements to the host, in C order, from any memory and any strides. It waits for
/// pending work on the array, and for the copy, which is in the order of the thread's current
/// stream.
///
/// ```
/// use libcai::{DType, Device, memory::{self, Request}};
///
/// let mut gpu = Request::on(Device::Cuda(0)).zeros(DType::of::<f32>(), &[2, 3])?;
/// memory::fill(&mut gpu, 1.5_f32, None)?;
/// assert_eq!(memory::to_vec::<f32>(&gpu)?, [1.5; 6]);
/// # Ok::<(), libcai::Error>(())
/// ```
///
/// # Errors
/// [`Error::Value`], with entry typestr, if `T` is not the array's own type;
/// [`Error::Unsupported`] for a masked array, and, with entry descr, if a field is not in the
/// host's byte order; [`Error::Memory`]; the rest as [`copy()`].
pub fn to_vec<'a, T: Element>(array: impl Into<ArrayRef<'a>>) -> Result<Vec<T>> {
    let array = array.into();
    must_hold::<T>(array)?;
    if array.mask().is_some() {
        let message = "mask: a vector cannot say which elements are valid";
        return Err(Error::say(sys::CAI_ERR_UNSUPPORTED, message));
    }
    let count = array.layout().size;
    // Before anything is waited for: an array of few bytes may have any number of elements.
    let mut elements: Vec<T> = room_for(count)?;
    if count != 0 {
        // What a stream of the CPU's is to write must not go before it has.
        let mut host = Request::on(Device::Cpu).empty(T::DTYPE, array.shape())?;
        copy(array, &mut host, None)?;
        eval(&host)?;
        let data: *const MaybeUninit<T> = ptr::with_exposed_provenance(host.data() as usize);
        let room = elements.spare_capacity_mut();
        // SAFETY: the memory has so many elements, which nobody else knows of, and there is room.
        unsafe { ptr::copy_nonoverlapping(data, room.as_mut_ptr(), count) };
        if T::DTYPE.kind() == Kind::Bool {
            for byte in &mut room[..count] {
                // SAFETY: a bool of an array is one byte, of which any value but 0 is true.
                unsafe {
                    let byte = byte.as_mut_ptr().cast::<u8>();
                    *byte = (*byte != 0).into();
                }
            }
        }
    }
    // SAFETY: all is written, and any bytes are a number.
    unsafe { elements.set_len(count) };
    Ok(elements)
}

/// An empty vector with room for the elements of an array, which may be more than memory has.
pub(super) fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut empty = Vec::new();
    match empty.try_reserve_exact(count) {
        Ok(()) => Ok(empty),
        Err(error) => {
            let bytes = size_of::<T>();
            let message = format!("no room for {count} elements of {bytes} bytes: {error}");
            Err(Error::say(sys::CAI_ERR_MEMORY, message))
        }
    }
}

fn must_hold<T: Element>(array: ArrayRef<'_>) -> Result<()> {
    let (is, wanted) = (array.dtype(), T::DTYPE);
    if is != wanted {
        let message = format!("typestr: the elements are {is}, and the type asked for is {wanted}");
        return Err(Error::of(sys::CAI_ERR_VALUE, Entry::Typestr, message));
    }
    if array.as_raw().flags & sys::CAI_FLAG_SWAPPED != 0 { Err(swapped()) } else { Ok(()) }
}
