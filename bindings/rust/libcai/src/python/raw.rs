// SPDX-License-Identifier: BSD-3-Clause
//! cai/python.h as it is: for who wants the functions themselves.

use std::ffi::c_void;

use ::pyo3::ffi::PyObject;
use ::pyo3::prelude::*;

use super::package;
use crate::sys::{CAI_MAX_NDIM, cai_array, cai_dtype, cai_error, cai_use, cai_use_options};

/// Flag of [`cai_py_api::open`] and [`cai_py_api::own`]: the array will be written; one that is
/// read-only is refused.
pub const CAI_PY_WRITES: u32 = 1 << 0;

/// Likewise: for an object that has no array, 1 is returned and no exception set.
pub const CAI_PY_TRY: u32 = 1 << 1;

/// Python's `Py_buffer`, reserved for the functions.
type Buffer = [u64; 10];

/// The array of an object that the caller holds. It must not move once it is opened.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cai_py_argument {
    /// Valid until [`cai_py_api::close`], as long as the caller holds the object.
    pub array: *const cai_array,
    /// `close`'s own.
    pub held: *mut c_void,
    /// Where `array` may point.
    pub described: cai_array,
    /// `open`'s own.
    pub buffer: Buffer,
    /// Where the shape and the strides of `described` may be.
    pub dims: [i64; 2 * CAI_MAX_NDIM as usize],
}

/// The functions, all called with the GIL. What returns an int returns 0; or -1 with a Python
/// exception set, and has then written nothing and taken nothing. What returns a pointer returns
/// null then. cai/python.h tells what each one does.
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct cai_py_api {
    /// Bytes.
    pub struct_size: u32,
    /// `CAI_ABI_MAJOR`.
    pub abi_major: u16,
    /// `CAI_ABI_MINOR`.
    pub abi_minor: u16,
    /// Takes the array of an object, without what need not be owned.
    pub open: unsafe extern "C" fn(*mut PyObject, u32, *mut cai_py_argument) -> i32,
    /// Ends what `open` has begun. An exception that is set stays.
    pub close: unsafe extern "C" fn(*mut cai_py_argument),
    /// Returns an owned array of an object, with a new reference.
    pub own: unsafe extern "C" fn(*mut PyObject, u32, *mut *mut cai_array) -> i32,
    /// Makes a `libcai.Array` of an owned array. On success it takes over one reference.
    pub wrap: unsafe extern "C" fn(*mut cai_array) -> *mut PyObject,
    /// Makes an array for a result.
    pub empty_like:
        unsafe extern "C" fn(*mut PyObject, i32, *const i64, *const cai_dtype) -> *mut PyObject,
    /// Reads a stream as `libcai.use()` takes it; `u64::MAX` for -1.
    pub stream: unsafe extern "C" fn(*mut PyObject, *mut u64) -> i32,
    /// Finds libcai's current stream of the array's device; 1 for the host's arrays.
    pub current_stream: unsafe extern "C" fn(*const cai_array, *mut u64) -> i32,
    /// `cai_use_begin()`, with the GIL released.
    pub begin: unsafe extern "C" fn(
        *mut cai_use,
        *const *const cai_array,
        i32,
        u64,
        *const cai_use_options,
    ) -> i32,
    /// `cai_use_end()`, likewise.
    pub end: unsafe extern "C" fn(*mut cai_use) -> i32,
    /// `cai_use_finish()`, likewise.
    pub finish: unsafe extern "C" fn(*mut cai_use, i32) -> i32,
    /// `cai_use_abandon()`.
    pub abandon: unsafe extern "C" fn(*mut cai_use),
    /// Sets the exception for an error that a function of libcai's has written: returns -1.
    pub raise: unsafe extern "C" fn(*const cai_error) -> i32,
}

/// The functions of the libcai package that is installed, which is imported if it is not yet. They
/// are never unloaded.
///
/// # Errors
/// As [`import()`](super::import()).
pub fn api(py: Python<'_>) -> PyResult<&'static cai_py_api> {
    Ok(package(py)?.api)
}
