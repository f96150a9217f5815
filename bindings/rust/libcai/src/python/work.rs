// SPDX-License-Identifier: BSD-3-Clause
//! Arrays in use on a stream.

use std::mem::ManuallyDrop;

use ::pyo3::exceptions::PyValueError;
use ::pyo3::prelude::*;

use super::raw::cai_py_api;
use super::{answered, package};
use crate::order::pointers;
use crate::sys::cai_array;
use crate::{ArrayRef, Options, Order};

/// Has arrays in use on a stream while `work` runs, which queues its work on the stream that it is
/// given, and on no other: it comes after what is pending on the arrays, and whoever uses them next
/// comes after it. The host's arrays, too: a stream of the CPU's may have work on one, and the host
/// waits for that.
///
/// `stream` is what `libcai.use()` takes, but for -1; None, Python's too, is libcai's current stream
/// of the first array's device. `work` is given it as 1, 2 or a `CUstream`; for the host's arrays it
/// means nothing. The use ends in any case, if `work` fails or panics, too.
///
/// The GIL is held while `work` runs, and released where the driver is called before and after it.
/// (Where there is no GIL, and no Python's stream, [`libcai::with`](crate::with) does the same.)
///
/// # Errors
/// What `work` returns, and libcai's exceptions where the order cannot be had. If a use has begun and
/// cannot end, the host waits for the stream, so that the memory is safe all the same; what goes wrong
/// besides is told to `sys.unraisablehook`.
pub fn with<'a, 'py, T, const N: usize>(
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    arrays: [impl Into<ArrayRef<'a>>; N],
    options: Options,
    work: impl FnOnce(u64) -> PyResult<T>,
) -> PyResult<T> {
    const { assert!(N > 0, "a use has an array") };
    let api = package(py)?.api;
    let arrays = arrays.map(Into::into);
    let stream = number_of(py, api, stream, arrays[0].as_raw())?;
    let in_use = InUse::begin(py, api, &arrays, stream, options)?;
    let result = work(stream);
    match (result, in_use.end()) {
        (Ok(value), ended) => ended.map(|()| value),
        (Err(error), ended) => {
            tell(py, ended);
            Err(error)
        }
    }
}

/// 1, 2 or a CUstream.
fn number_of<'py>(
    py: Python<'py>,
    api: &cai_py_api,
    stream: Option<&Bound<'py, PyAny>>,
    array: *const cai_array,
) -> PyResult<u64> {
    let mut number = 0;
    // SAFETY: the object and the array are alive, and the number may be written.
    answered(py, unsafe {
        match stream.filter(|stream| !stream.is_none()) {
            Some(stream) => (api.stream)(stream.as_ptr(), &mut number),
            None => (api.current_stream)(array, &mut number),
        }
    })?;
    if number == u64::MAX {
        return Err(PyValueError::new_err(
            "stream -1 means no order, and no work can be queued on it",
        ));
    }
    Ok(number)
}

/// A use that has begun. It ends when it goes, if it has not before.
struct InUse<'a, 'py> {
    py: Python<'py>,
    api: &'static cai_py_api,
    arrays: &'a [ArrayRef<'a>],
    stream: u64,
    options: Options,
}

impl<'a, 'py> InUse<'a, 'py> {
    fn begin(
        py: Python<'py>,
        api: &'static cai_py_api,
        arrays: &'a [ArrayRef<'a>],
        stream: u64,
        options: Options,
    ) -> PyResult<Self> {
        let (all, count) = pointers(arrays)?;
        // SAFETY: the arrays are borrowed.
        answered(py, unsafe { (api.begin)(all, count, stream, options.as_raw()) })?;
        Ok(Self { py, api, arrays, stream, options })
    }

    fn end(self) -> PyResult<()> {
        ManuallyDrop::new(self).end_or_wait()
    }

    fn end_or_wait(&self) -> PyResult<()> {
        let ended = self.end_as(self.options);
        if ended.is_err() {
            tell(self.py, self.end_as(self.options.order(Order::Host)));
        }
        ended
    }

    fn end_as(&self, options: Options) -> PyResult<()> {
        let (all, count) = pointers(self.arrays)?;
        // SAFETY: the arrays are borrowed.
        answered(self.py, unsafe { (self.api.end)(all, count, self.stream, options.as_raw()) })
    }
}

impl Drop for InUse<'_, '_> {
    fn drop(&mut self) {
        tell(self.py, self.end_or_wait());
    }
}

/// Tells sys.unraisablehook of an exception that nobody can be given.
fn tell(py: Python<'_>, result: PyResult<()>) {
    if let Err(error) = result {
        error.write_unraisable(py, None);
    }
}
