// SPDX-License-Identifier: BSD-3-Clause
//! A module by PyO3 that takes arrays from any library, and works on a GPU's through cudarc. Neither
//! libcai nor CUDA is linked.

use std::ptr;

use cudarc::driver::result;
use cudarc::driver::sys::CUstream;
use libcai::python::{self, Readable, Writable};
use libcai::{Access, ArrayRef, DeviceType, Options};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The bytes of an array without gaps.
fn bytes_of(x: ArrayRef<'_>) -> PyResult<usize> {
    if x.mask().is_some() {
        return Err(PyValueError::new_err("a masked array is not taken"));
    }
    let layout = x.layout();
    if !layout.c_contiguous {
        return Err(PyValueError::new_err("the array is not C-contiguous"));
    }
    Ok(layout.nbytes)
}

fn is_on_host(x: ArrayRef<'_>) -> bool {
    x.device_type() == DeviceType::Cpu
}

fn done(answer: Result<(), result::DriverError>) -> PyResult<()> {
    answer.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Zeros an array, on the host or on a GPU.
#[pyfunction]
#[pyo3(signature = (array, stream=None))]
fn clear(py: Python<'_>, array: Writable<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let x = array.borrow();
    let bytes = bytes_of(x)?;
    if bytes == 0 {
        return Ok(());
    }
    // The work goes on the stream that the use is on; also on the host, where a stream of the CPU's
    // may have work on the array yet.
    python::with(py, stream, [x], Options::write(), |stream| {
        if is_on_host(x) {
            // SAFETY: so many bytes are the array's, which may be written, and is in use here.
            unsafe { ptr::write_bytes(x.data() as *mut u8, 0, bytes) };
            return Ok(());
        }
        // SAFETY: likewise, on the stream.
        done(unsafe { result::memset_d8_async(x.data(), 0, bytes, stream as CUstream) })
    })
}

/// Copies an array: the result is on its device and, where its type offers that, of its type.
#[pyfunction]
#[pyo3(signature = (array, stream=None))]
fn copy<'py>(
    array: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let from: Readable<'_> = array.extract()?;
    let bytes = bytes_of(from.borrow())?;
    let made = python::empty_like(array, from.borrow().shape(), None)?;
    let to: Writable<'_> = made.extract()?;
    let (x, y) = (from.borrow(), to.borrow());
    let arrays = [(x, Access::Read), (y, Access::Write)];
    python::with_each(array.py(), stream, arrays, Options::new(), |stream| {
        if bytes == 0 {
            return Ok(());
        }
        if is_on_host(x) {
            // SAFETY: so many bytes are each one's, the copy's are new, and both are in use here.
            unsafe { ptr::copy_nonoverlapping(x.data() as *const u8, y.data() as *mut u8, bytes) };
            return Ok(());
        }
        // SAFETY: likewise, on the stream.
        done(unsafe { result::memcpy_dtod_async(y.data(), x.data(), bytes, stream as CUstream) })
    })?;
    drop(to);
    Ok(made)
}

#[pymodule(gil_used = true)] // as libcai itself
mod clear_rust {
    #[pymodule_export]
    use super::{clear, copy};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        libcai::python::import(module.py())
    }
}
