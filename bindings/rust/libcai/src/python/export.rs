// SPDX-License-Identifier: BSD-3-Clause
//! Classes that export arrays.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use ::pyo3::exceptions::PyRuntimeError;
use ::pyo3::prelude::*;
use ::pyo3::pyclass::boolean_struct::True;
use ::pyo3::types::{PyCapsule, PyDict};
use ::pyo3::{PyClass, intern};

use crate::Array;
use crate::failure::caught;
use crate::sys::{CAI_ABI_MAJOR, CAI_ABI_MINOR, cai_array, cai_exchange_api};

/// The `__cuda_array_interface__` of an array, for the property of this name in your class. The
/// array must live as long as the object.
///
/// ```no_run
/// # mod class {
/// use libcai::Array;
/// use pyo3::prelude::*;
/// use pyo3::types::PyDict;
///
/// #[pyclass(frozen)]
/// struct Picture(Array);
///
/// #[pymethods]
/// impl Picture {
///     #[getter]
///     fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
///         libcai::python::cuda_array_interface(py, &self.0)
///     }
/// }
/// # }
/// ```
///
/// # Errors
/// `AttributeError` for an array on the host, which has `__array_interface__` instead.
pub fn cuda_array_interface<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyDict>> {
    let object = array.into_pyobject(py)?;
    Ok(object.getattr(intern!(py, "__cuda_array_interface__"))?.cast_into::<PyDict>()?)
}

/// A class whose objects each have an array. See [`exchange_api()`].
pub trait Exporter: PyClass<Frozen = True> + Sync {
    /// The array of an object.
    fn array(&self) -> &Array;
}

/// The table by which a class hands its arrays to compiled code, without a dict (cai/exchange.h),
/// for the attribute `__cai_c_exchange_api__` of your class. The exported arrays are independent of
/// the object.
///
/// ```no_run
/// # mod class {
/// use libcai::Array;
/// use libcai::python::{self, Exporter};
/// use pyo3::prelude::*;
/// use pyo3::types::PyCapsule;
///
/// #[pyclass(frozen)]
/// struct Picture(Array);
///
/// impl Exporter for Picture {
///     fn array(&self) -> &Array {
///         &self.0
///     }
/// }
///
/// #[pymethods]
/// impl Picture {
///     #[classattr]
///     fn __cai_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
///         python::exchange_api::<Self>(py)
///     }
/// }
/// # }
/// ```
///
/// # Errors
/// `MemoryError`.
pub fn exchange_api<T: Exporter>(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let api: &'static cai_exchange_api = &const {
        cai_exchange_api {
            struct_size: size_of::<cai_exchange_api>() as u32,
            abi_major: CAI_ABI_MAJOR,
            abi_minor: CAI_ABI_MINOR,
            older: ptr::null(),
            describe: None,
            order: None,
            used: None,
            own: Some(own::<T>),
            wrap: None,
        }
    };
    // SAFETY: a capsule of this name is of such a table, which never changes and never goes.
    unsafe { PyCapsule::new_with_pointer(py, NonNull::from(api).cast(), c"cai_exchange_api") }
}

/// cai_exchange_api.own: a new reference for the caller.
unsafe extern "C" fn own<T: Exporter>(object: *mut c_void, out: *mut *mut cai_array) -> i32 {
    // It is attached already; PyO3 must know that.
    Python::attach(|py| {
        // SAFETY: the caller holds the object.
        let object = unsafe { Borrowed::from_ptr(py, object.cast()) };
        let array = caught("an exporter", || Ok(object.cast::<T>()?.get().array().clone()));
        match array.unwrap_or_else(|panic| Err(PyRuntimeError::new_err(panic.to_string()))) {
            Ok(array) => {
                // SAFETY: the caller's, to be written.
                unsafe { *out = array.into_raw().as_ptr() };
                0
            }
            Err(error) => {
                error.restore(py);
                -1
            }
        }
    })
}
