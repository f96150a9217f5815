// SPDX-License-Identifier: BSD-3-Clause
//! Arrays from objects and to objects, and errors to exceptions.

use std::ptr::{self, NonNull};

use ::pyo3::exceptions::PyRuntimeError;
use ::pyo3::prelude::*;

use super::{answered, package};
use crate::{Array, DType, Error};

/// An argument to keep; everything that `libcai.asarray()` takes. It may be marked read-only.
impl FromPyObject<'_, '_> for Array {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let mut array = ptr::null_mut();
        // SAFETY: the object is alive, and the pointer may be written.
        answered(py, unsafe { (package(py)?.api.own)(object.as_ptr(), 0, &mut array) })?;
        // SAFETY: own() returns a valid array, with a reference.
        Ok(unsafe { Array::from_raw(NonNull::new_unchecked(array)) })
    }
}

/// A `libcai.Array`.
impl<'py> IntoPyObject<'py> for Array {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let api = package(py)?.api;
        // SAFETY: the array is owned, and a new reference or null comes back.
        let made =
            unsafe { Bound::from_owned_ptr_or_err(py, (api.wrap)(self.as_ptr().cast_mut())) }?;
        let _ = self.into_raw(); // the object's now
        Ok(made)
    }
}

/// A `libcai.Array` with a new reference.
impl<'py> IntoPyObject<'py> for &Array {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.clone().into_pyobject(py)
    }
}

/// Makes an array for a result, on the device of `like`, in C order and uninitialised. If `like`'s
/// type has an allocator, the result is of that type, and allocated by it, in the order of that
/// library. Else the memory is libcai's, ordered on libcai's current stream, and the result is of
/// `like`'s type if that wraps libcai's arrays, else a `libcai.Array`. Write to it within a use,
/// which knows the order of both.
///
/// `like` is anything that an argument takes, `shape` is in elements; `dtype` None: the type of
/// `like`.
///
/// # Errors
/// libcai's exceptions: for an invalid shape or type, for an object without an array, and for the
/// memory.
pub fn empty_like<'py>(
    like: &Bound<'py, PyAny>,
    shape: &[i64],
    dtype: Option<DType>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = like.py();
    let api = package(py)?.api;
    let ndim = i32::try_from(shape.len()).unwrap_or(i32::MAX); // more than 64 are refused
    let dtype = dtype.map(DType::to_raw);
    let dtype = dtype.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the object, `ndim` extents and the type can be read; a new reference or null comes
    // back.
    unsafe {
        let made = (api.empty_like)(like.as_ptr(), ndim, shape.as_ptr(), dtype);
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// libcai's exception for an error: `InterfaceError`, `ViewError`, `CudaError` and so on.
impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| match package(py) {
            Ok(package) => {
                // SAFETY: the error is written out in full. The function sets an exception.
                unsafe { (package.api.raise)(&error.to_raw()) };
                PyErr::fetch(py)
            }
            Err(missing) => {
                let exception = PyRuntimeError::new_err(error.to_string());
                exception.set_cause(py, Some(missing));
                exception
            }
        })
    }
}
