// SPDX-License-Identifier: BSD-3-Clause
//! The library that these bindings are linked to, at work on one array of the host's.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;

use libcai_sys::*;

fn empty_error() -> cai_error {
    cai_error { status: CAI_OK, native: 0, entry: 0, index: 0, message: [0; 240] }
}

fn message(error: &cai_error) -> &str {
    // SAFETY: the library ends every message with a NUL.
    unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_str().expect("UTF-8")
}

/// A borrowed array of the host's, of int64.
fn borrow(items: &mut [i64], shape: &[i64], strides: &[i64]) -> cai_array {
    // SAFETY: zero always means absent.
    let mut array: cai_array = unsafe { std::mem::zeroed() };
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.data = items.as_mut_ptr().expose_provenance() as u64;
    array.device_type = CAI_DEVICE_CPU;
    array.dtype = cai_dtype {
        kind: b'i',
        byteorder: b'<',
        ext: CAI_EXT_NONE,
        time_unit: CAI_TIME_GENERIC,
        itemsize: 8,
        time_step: 0,
    };
    array.ndim = i32::try_from(shape.len()).expect("few axes");
    array.shape = shape.as_ptr();
    array.strides = strides.as_ptr();
    array.stream_kind = CAI_STREAM_NONE;
    array.version = CAI_INTERFACE_VERSION;
    array
}

#[test]
fn the_library_is_of_the_headers_version() {
    // SAFETY: it has no requirements.
    let version = unsafe { cai_version() };
    assert_eq!(u32::try_from(version), Ok(CAI_HEADER_VERSION));
}

#[test]
fn an_array_is_made_sliced_and_released_once() {
    unsafe extern "C" fn count(context: *mut c_void) {
        // SAFETY: the context is the counter below.
        let released = unsafe { &*context.cast::<Cell<u32>>() };
        released.set(released.get() + 1);
    }
    let released = Cell::new(0);
    let mut items = [0_i64, 1, 2, 3, 4, 5];
    let (shape, strides) = ([2, 3], [24, 8]);
    let borrowed = borrow(&mut items, &shape, &strides);
    let mut error = empty_error();
    let (mut owned, mut view) = (ptr::null_mut(), ptr::null_mut());
    // `a[:, 1]`
    let axes = [
        cai_slice {
            start: 0,
            stop: 0,
            step: 1,
            kind: CAI_SLICE_RANGE | CAI_SLICE_NO_START | CAI_SLICE_NO_STOP,
            reserved: 0,
        },
        cai_slice { start: 1, stop: 0, step: 1, kind: CAI_SLICE_INDEX, reserved: 0 },
    ];
    // SAFETY: all pointers are good for the calls; what they give is released below.
    unsafe {
        let context = (&raw const released).cast_mut().cast();
        let status = cai_array_own(&borrowed, Some(count), context, &mut owned, &mut error);
        assert_eq!(status, CAI_OK, "{}", message(&error));
        let status = cai_array_slice(owned, axes.as_ptr(), 2, &mut view, &mut error);
        assert_eq!(status, CAI_OK, "{}", message(&error));
        assert_eq!(cai_array_refuses(view, 0), 0);
        assert_eq!((*view).data, borrowed.data + 8);
        assert_eq!(std::slice::from_raw_parts((*view).shape, 1), [2]);
        assert_eq!(std::slice::from_raw_parts((*view).strides, 1), [24]);

        cai_array_retain(owned);
        cai_array_release(owned);
        cai_array_release(owned);
        assert_eq!(released.get(), 0, "the view holds it");
        cai_array_release(view);
    }
    assert_eq!(released.get(), 1);
}

#[test]
fn a_failure_says_which_entry_it_is_about() {
    let mut items = [0; 6];
    let mut array = borrow(&mut items, &[2, -3], &[24, 8]);
    array.ndim = 2;
    let mut error = empty_error();
    // SAFETY: the pointers are good for the call.
    let status = unsafe { cai_array_validate(&array, &mut error) };
    assert_eq!((status, error.status, error.entry), (CAI_ERR_VALUE, status, CAI_ENTRY_SHAPE));
    assert!(message(&error).contains("-3"), "{}", message(&error));
}

#[test]
fn the_inline_functions_take_null_and_other_majors() {
    let mut items = [0; 6];
    let mut array = borrow(&mut items, &[6], &[8]);
    array.flags = CAI_FLAG_READONLY | CAI_FLAG_SWAPPED;
    // SAFETY: the arrays are NULL, or stay.
    unsafe {
        cai_array_retain(ptr::null());
        cai_array_release(ptr::null());
        cai_array_retain(&array); // borrowed: nothing
        assert_eq!(cai_array_refuses(ptr::null(), u32::MAX), 0xFFFF_0000);
        assert_eq!(cai_array_refuses(&array, CAI_FLAG_READONLY), CAI_FLAG_SWAPPED);
        assert_eq!(cai_array_contiguous_nbytes(&array), 48);
        assert_eq!(cai_array_contiguous_nbytes(&borrow(&mut items, &[3], &[16])), -1);
        assert_eq!(cai_array_contiguous_nbytes(&borrow(&mut items, &[3, 1], &[8, 5])), 24);
        assert_eq!(cai_array_contiguous_nbytes(&borrow(&mut items, &[0], &[16])), 0);
        assert_eq!(cai_array_contiguous_nbytes(ptr::null()), -1);
        array.abi_major += 1;
        assert_eq!(cai_array_refuses(&array, u32::MAX), 0xFFFF_0000);
        assert_eq!(cai_array_contiguous_nbytes(&array), -1);
    }
}
