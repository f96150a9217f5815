// SPDX-License-Identifier: BSD-3-Clause
//! A module for tests/python/test_rust.py: what a function of PyO3's can do with arrays.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::sync::Mutex;
use std::thread;

use libcai::python::raw::{cai_py_api, cai_py_argument};
use libcai::python::{self, Exporter, Readable, Writable};
use libcai::{Array, ArrayRef, Options, sys};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

unsafe extern "C" {
    fn dlopen(name: *const std::ffi::c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
}

/// Zeros a GPU's memory, on a stream.
fn clear_on_gpu(array: ArrayRef<'_>, stream: u64) -> PyResult<()> {
    const LAZY: c_int = 1;
    type Memset = unsafe extern "C" fn(u64, u8, usize, *mut c_void) -> c_int;
    let bytes = count(array) as usize * array.as_raw().dtype.itemsize as usize;
    // SAFETY: the names end in NUL, and the driver's function is of this type. It takes any number
    // for an address, and rejects invalid ones.
    let status = unsafe {
        let memset = dlsym(
            dlopen(c"libcuda.so.1".as_ptr(), LAZY),
            c"cuMemsetD8Async".as_ptr(),
        );
        assert!(!memset.is_null());
        let memset: Memset = std::mem::transmute(memset);
        memset(array.data(), 0, bytes, stream as *mut c_void)
    };
    match status {
        0 => Ok(()),
        _ => Err(PyRuntimeError::new_err(format!(
            "cuMemsetD8Async() returned {status}"
        ))),
    }
}

fn count(array: ArrayRef<'_>) -> i64 {
    array.shape().iter().product()
}

#[pyfunction]
fn elements(x: Readable<'_>, y: Readable<'_>, z: Readable<'_>) -> i64 {
    count(x.borrow()) + count(y.borrow()) + count(z.borrow())
}

#[pyfunction]
fn owned(x: Array, y: Array) -> i64 {
    count(x.borrow()) + count(y.borrow())
}

#[pyfunction]
fn shape(x: Readable<'_>) -> Vec<i64> {
    x.borrow().shape().to_vec()
}

#[pyfunction]
fn writes(x: Writable<'_>) -> bool {
    !x.borrow().is_readonly()
}

#[pyfunction]
#[pyo3(signature = (x=None))]
fn maybe(x: Option<Array>) -> Option<Array> {
    x
}

#[pyfunction]
fn many(many: Vec<Array>) -> Vec<Array> {
    many
}

static KEPT: Mutex<Option<Array>> = Mutex::new(None);

#[pyfunction]
fn keep(x: Option<Array>) {
    let old = std::mem::replace(&mut *KEPT.lock().unwrap(), x);
    drop(old);
}

#[pyfunction]
fn kept() -> Option<Array> {
    KEPT.lock().unwrap().clone()
}

/// Drops what is kept on a thread that Python knows nothing of, and waits for it with the GIL.
#[pyfunction]
fn drop_elsewhere() {
    let array = KEPT.lock().unwrap().take();
    thread::spawn(move || drop(array)).join().unwrap();
}

/// The sum of all extents, seen by another thread while this one has released the GIL.
#[pyfunction]
fn extents_elsewhere(
    py: Python<'_>,
    x: Readable<'_>,
    function: &Bound<'_, PyAny>,
) -> PyResult<i64> {
    function.call0()?;
    let array = x.borrow();
    Ok(py.detach(|| {
        thread::scope(|scope| {
            scope
                .spawn(|| array.shape().iter().sum::<i64>())
                .join()
                .unwrap()
        })
    }))
}

#[pyfunction]
fn during(x: Readable<'_>, function: &Bound<'_, PyAny>) -> PyResult<i64> {
    function.call0()?;
    Ok(count(x.borrow()))
}

#[pyfunction]
#[pyo3(signature = (x, stream=None))]
fn clear(py: Python<'_>, x: Writable<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    python::with(py, stream, [&x], Options::write(), |stream| {
        clear_on_gpu(x.borrow(), stream)
    })
}

#[pyfunction]
fn clear_without_order(x: Writable<'_>, stream: u64) -> PyResult<()> {
    clear_on_gpu(x.borrow(), stream)
}

/// Queues its work, and fails; with True, panics.
#[pyfunction]
fn clear_and_fail(
    py: Python<'_>,
    x: Writable<'_>,
    stream: &Bound<'_, PyAny>,
    panics: bool,
) -> PyResult<()> {
    python::with(py, Some(stream), [&x], Options::write(), |stream| {
        clear_on_gpu(x.borrow(), stream)?;
        assert!(!panics, "after the work was queued");
        Err(PyRuntimeError::new_err("after the work was queued"))
    })
}

/// The stream that two arrays are used on while a function is called.
#[pyfunction]
#[pyo3(signature = (x, y, stream, function=None))]
fn use_both(
    py: Python<'_>,
    x: Readable<'_>,
    y: Array,
    stream: Option<&Bound<'_, PyAny>>,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    python::with(
        py,
        stream,
        [x.borrow(), y.borrow()],
        Options::read(),
        |stream| {
            function.map(|function| function.call0()).transpose()?;
            Ok(stream)
        },
    )
}

#[pyfunction]
fn empty_like<'py>(like: &Bound<'py, PyAny>, shape: Vec<i64>) -> PyResult<Bound<'py, PyAny>> {
    python::empty_like(like, &shape, None)
}

/// What is wrong with an array of 65 dimensions, or with none at all.
#[pyfunction]
fn judge(none: bool) -> PyResult<()> {
    let mut array = sys::cai_array {
        ndim: 65,
        ..empty()
    };
    array.abi_major = sys::CAI_ABI_MAJOR;
    let raw = if none {
        std::ptr::null()
    } else {
        &raw const array
    };
    // SAFETY: null, or a struct with no pointers.
    unsafe { ArrayRef::from_raw(raw) }?;
    Ok(())
}

fn empty() -> sys::cai_array {
    // SAFETY: numbers and pointers, all of which may be 0.
    unsafe { std::mem::zeroed() }
}

#[pyclass(frozen)]
struct Picture(Array);

impl Exporter for Picture {
    fn array(&self) -> &Array {
        &self.0
    }
}

#[pymethods]
impl Picture {
    #[new]
    fn new(array: Array) -> Self {
        Self(array)
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        python::cuda_array_interface(py, &self.0)
    }
}

/// The same with a table.
#[pyclass(frozen)]
struct Described(Array);

impl Exporter for Described {
    fn array(&self) -> &Array {
        &self.0
    }
}

#[pymethods]
impl Described {
    #[new]
    fn new(array: Array) -> Self {
        Self(array)
    }

    #[classattr]
    fn __cai_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        python::exchange_api::<Self>(py)
    }
}

/// One that panics instead.
#[pyclass(frozen)]
struct Panicking;

impl Exporter for Panicking {
    fn array(&self) -> &Array {
        panic!("the array was lost")
    }
}

#[pymethods]
impl Panicking {
    #[new]
    fn new() -> Self {
        Self
    }

    #[classattr]
    fn __cai_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        python::exchange_api::<Self>(py)
    }
}

/// Where the members are that cai/python.h has, and how long its structs.
#[pyfunction]
fn layout() -> Vec<(&'static str, usize)> {
    macro_rules! members {
        ($($type:ident { $($member:ident),* })*) => {
            vec![$(
                $((concat!(stringify!($type), ".", stringify!($member)), offset_of!($type, $member)),)*
                (stringify!($type), size_of::<$type>()),
            )*]
        };
    }
    members! {
        cai_py_argument { array, held, described, buffer, dims }
        cai_py_api {
            struct_size, abi_major, abi_minor, open, close, own, wrap, empty_like, stream,
            current_stream, begin, end, finish, abandon, raise
        }
    }
}

// libcai's package is made for the GIL, too.
#[pymodule(gil_used = true)]
mod bridges {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        Described, Panicking, Picture, clear, clear_and_fail, clear_without_order, drop_elsewhere,
        during, elements, empty_like, extents_elsewhere, judge, keep, kept, layout, many, maybe,
        owned, shape, use_both, writes,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        libcai::python::import(module.py())
    }
}
