// SPDX-License-Identifier: BSD-3-Clause
//! Arrays in use on a stream.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

use ::pyo3::exceptions::PyValueError;
use ::pyo3::prelude::*;

use super::raw::cai_py_api;
use super::{answered, package};
use crate::order::pointers;
use crate::sys::{cai_array, cai_use, cai_use_options};
use crate::{Access, ArrayRef, Options};

/// Uses arrays on a stream while `work` runs, which queues its work on the given stream, and on no
/// other. The work comes after pending work on the arrays, and later uses of them come after it.
/// Pass arrays on the host, too: a CPU stream may have pending work on one, and the host waits for
/// that.
///
/// `stream` is as for `libcai.use()`, except -1; None, Python's too, is libcai's current stream of
/// the first array's device. `work` gets it as 1, 2 or a `CUstream`; for arrays on the host it is
/// meaningless. The use ends in any case, also if `work` fails or panics.
///
/// The GIL is held while `work` runs, and released where the driver is called before and after it.
/// (Where there is no GIL, and no Python's stream, [`libcai::with`](crate::with) does the same.)
///
/// # Errors
/// What `work` returns, and libcai's exceptions where the order cannot be had. If a use has begun and
/// cannot end, the host waits for the stream; where it cannot, libcai holds the arrays until the work
/// is complete, so that the memory is safe all the same. What goes wrong besides is told to
/// `sys.unraisablehook`.
pub fn with<'a, 'py, T, const N: usize>(
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    arrays: [impl Into<ArrayRef<'a>>; N],
    options: Options,
    work: impl FnOnce(u64) -> PyResult<T>,
) -> PyResult<T> {
    while_in_use(py, stream, arrays.map(Into::into), options.to_raw(ptr::null()), work)
}

/// [`with()`] with an access for each array, whatever the options say of it: so what is only read does
/// not wait for other readers, beside what is written.
///
/// # Errors
/// As [`with()`].
pub fn with_each<'a, 'py, T, const N: usize>(
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    arrays: [(impl Into<ArrayRef<'a>>, Access); N],
    options: Options,
    work: impl FnOnce(u64) -> PyResult<T>,
) -> PyResult<T> {
    let accesses = arrays.each_ref().map(|&(_, access)| access.to_raw());
    let arrays = arrays.map(|(array, _)| array.into());
    while_in_use(py, stream, arrays, options.to_raw(accesses.as_ptr()), work)
}

fn while_in_use<'py, T, const N: usize>(
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
    arrays: [ArrayRef<'_>; N],
    options: cai_use_options,
    work: impl FnOnce(u64) -> PyResult<T>,
) -> PyResult<T> {
    const { assert!(N > 0, "a use has an array") };
    let api = package(py)?.api;
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
    open: MaybeUninit<cai_use>, // what begin() has written of it; not to be copied
    lives: PhantomData<&'a [ArrayRef<'a>]>,
}

impl<'a, 'py> InUse<'a, 'py> {
    fn begin(
        py: Python<'py>,
        api: &'static cai_py_api,
        arrays: &'a [ArrayRef<'a>],
        stream: u64,
        options: cai_use_options,
    ) -> PyResult<Self> {
        let (all, count) = pointers(arrays)?;
        let mut open = MaybeUninit::uninit();
        // SAFETY: the arrays are borrowed, and there is room for the use.
        answered(py, unsafe { (api.begin)(open.as_mut_ptr(), all, count, stream, &options) })?;
        Ok(Self { py, api, open, lives: PhantomData })
    }

    fn end(self) -> PyResult<()> {
        ManuallyDrop::new(self).end_or_wait()
    }

    fn end_or_wait(&mut self) -> PyResult<()> {
        let open = self.open.as_mut_ptr();
        // SAFETY: the use is this one's, and the arrays are borrowed.
        let ended = answered(self.py, unsafe { (self.api.end)(open) });
        if ended.is_err() {
            // SAFETY: likewise.
            let finished = answered(self.py, unsafe { (self.api.finish)(open, 1) });
            if finished.is_err() {
                // SAFETY: likewise. It takes references of its own, where it needs any.
                unsafe { (self.api.abandon)(open) };
            }
            tell(self.py, finished);
        }
        ended
    }
}

impl Drop for InUse<'_, '_> {
    fn drop(&mut self) {
        tell(self.py, self.end_or_wait());
    }
}

/// Reports an exception that no call can raise to sys.unraisablehook.
fn tell(py: Python<'_>, result: PyResult<()>) {
    if let Err(error) = result {
        error.write_unraisable(py, None);
    }
}
