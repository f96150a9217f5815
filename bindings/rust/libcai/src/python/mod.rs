// SPDX-License-Identifier: BSD-3-Clause
//! Functions of Python modules that take and return arrays of any library, by PyO3.
//!
//! It is made of what the Python package libcai offers to compiled modules (cai/python.h). So a
//! module takes and refuses what the package does, with its exceptions; arrays that Python owns end
//! through its queue, on whatever thread they are dropped; and the package must be installed.
//!
//! ```no_run
//! use libcai::{Access, Options};
//! use libcai::python::{self, Readable, Writable};
//! use pyo3::prelude::*;
//!
//! /// Adds x to y, in order with their other uses.
//! #[pyfunction]
//! #[pyo3(signature = (x, y, stream=None))]
//! fn add(
//!     py: Python<'_>,
//!     x: Readable<'_>,
//!     y: Writable<'_>,
//!     stream: Option<&Bound<'_, PyAny>>,
//! ) -> PyResult<()> {
//!     let arrays = [(x.borrow(), Access::Read), (y.borrow(), Access::Write)];
//!     python::with_each(py, stream, arrays, Options::new(), |stream| {
//!         # fn launch(_: u64, _: u64, _: u64) -> PyResult<()> { Ok(()) }
//!         launch(x.borrow().data(), y.borrow().data(), stream)
//!     })
//! }
//! ```
//!
//! - An argument is a [`Readable`] or a [`Writable`], for the length of the call; or an
//!   [`Array`], to keep.
//! - A result is an [`Array`], which becomes a `libcai.Array`; or what [`empty_like()`] makes, of the
//!   type of an argument.
//! - [`Error`] becomes libcai's exception, so `?` does what one expects.
//! - A class of yours that holds an [`Array`] exports it by [`cuda_array_interface()`], and to compiled
//!   code by [`exchange_api()`].
//!
//! Drop an [`Array`] that is not Python's with the GIL released: its end may wait for the
//! driver, which may wait for the GIL.
//!
//! A module has best the features `pyo3` and `dynamic`, and not `bundled`: then [`import()`] loads the
//! library that the package has, and nothing is linked. It may be built for the stable ABI of Python
//! (`abi3-py310`) or for one version, and is as quick. Like the package it wants the GIL: say
//! `#[pymodule(gil_used = true)]`.

mod argument;
mod convert;
mod export;
pub mod raw;
mod work;

use ::pyo3::exceptions::PyImportError;
use ::pyo3::ffi::Py_TYPE;
use ::pyo3::prelude::*;
use ::pyo3::sync::PyOnceLock;
use ::pyo3::types::{PyCapsule, PyType};

pub use argument::{Argument, Readable, Writable};
pub use convert::empty_like;
pub use export::{Exporter, cuda_array_interface, exchange_api};
pub use work::{with, with_each};

use crate::sys::CAI_ABI_MAJOR;
#[cfg(doc)]
use crate::{Array, Error};
use raw::cai_py_api;

/// Imports the Python package libcai. Call it where the module begins, so that the module's import
/// fails without the package; else the first array does it. With the feature `dynamic` the
/// package's library is loaded for this crate, unless another one is.
///
/// # Errors
/// Those of the import, which a sub-interpreter is refused; and `ImportError` for a libcai that is
/// older than this crate.
pub fn import(py: Python<'_>) -> PyResult<()> {
    py.import("libcai")?; // which a sub-interpreter is refused, also when another one has it
    package(py).map(|_| ())
}

/// What is needed of the package.
struct Package {
    api: &'static cai_py_api,
    array: Py<PyType>,
    /// Whether Python runs one thread at a time. An interpreter without a GIL takes one for good when
    /// libcai is imported, unless its user has forbidden that.
    has_gil: bool,
}

impl Package {
    /// Whether an object is a `libcai.Array`, which has no subclasses.
    #[inline]
    fn is_array(&self, object: Borrowed<'_, '_, PyAny>) -> bool {
        // SAFETY: the object is alive.
        unsafe { Py_TYPE(object.as_ptr()).cast() == self.array.as_ptr() }
    }
}

#[inline]
fn package(py: Python<'_>) -> PyResult<&'static Package> {
    static PACKAGE: PyOnceLock<Package> = PyOnceLock::new();
    match PACKAGE.get(py) {
        Some(package) => Ok(package),
        None => PACKAGE.get_or_try_init(py, || find(py)),
    }
}

#[cold]
fn find(py: Python<'_>) -> PyResult<Package> {
    let module = py.import("libcai._core")?;
    let capsule = module.getattr("_C_API")?.cast_into::<PyCapsule>()?;
    let api = capsule.pointer_checked(Some(c"libcai._core._C_API"))?.cast::<cai_py_api>().as_ptr();
    // SAFETY: by its name the capsule has this table, of which every version begins with the same 8
    // bytes. It may be shorter than this one.
    let (size, major) = unsafe { ((*api).struct_size, (*api).abi_major) };
    if major != CAI_ABI_MAJOR || (size as usize) < size_of::<cai_py_api>() {
        return Err(PyImportError::new_err("the installed libcai is older than this module wants"));
    }
    // SAFETY: it has all of this one, never changes, and stays: Python unloads no module.
    let api = unsafe { &*api };
    #[cfg(feature = "dynamic")]
    load(py)?;
    let array = module.getattr("Array")?.cast_into::<PyType>()?.unbind();
    let asks = py.import("sys")?.getattr_opt("_is_gil_enabled")?; // from 3.13 on
    let has_gil = asks.map_or(Ok(true), |asks| asks.call0()?.extract())?;
    Ok(Package { api, array, has_gil })
}

/// Loads the library that the package has.
#[cfg(feature = "dynamic")]
fn load(py: Python<'_>) -> PyResult<()> {
    let path = py.import("libcai._library")?.getattr("LIBRARY")?.extract::<std::ffi::CString>()?;
    // SAFETY: by its name it is libcai, of the ABI that find() has looked at.
    unsafe { crate::sys::dynamic::load(Some(&path)) }
        .map_err(|error| PyImportError::new_err(error.to_string()))
}

/// What a function of the table has answered: 0, or -1 with an exception set.
#[inline]
fn answered(py: Python<'_>, answer: i32) -> PyResult<()> {
    if answer < 0 { Err(PyErr::fetch(py)) } else { Ok(()) }
}
