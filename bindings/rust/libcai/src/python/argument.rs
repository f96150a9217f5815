// SPDX-License-Identifier: BSD-3-Clause
//! Arguments of functions: arrays of objects that the caller holds.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use ::pyo3::prelude::*;

use super::raw::{CAI_PY_WRITES, cai_py_api, cai_py_argument};
use super::{Package, answered, package};
use crate::ArrayRef;
use crate::sys::cai_array;

/// An array that is read: `fn sum(x: Readable<'_>)`. It may be marked read-only although the object
/// is not.
pub type Readable<'a> = Argument<'a, false>;

/// An array that is written, and may be read: `fn scale(x: Writable<'_>, by: f64)`. A read-only
/// array is refused.
pub type Writable<'a> = Argument<'a, true>;

/// The array of an object that the caller holds for `'a`: an argument of a function. Everything
/// that `libcai.asarray()` takes is accepted. A `libcai.Array` is used directly. If the type
/// describes or lends its array, and for a NumPy array, the memory is neither copied nor held; so
/// it costs some nanoseconds.
///
/// The types are [`Readable`] and [`Writable`]; to keep an array, take an [`Array`](crate::Array).
/// An argument stays on its thread, and a closure for [`Python::detach`] may borrow it.
pub struct Argument<'a, const WRITES: bool> {
    array: NonNull<cai_array>,
    /// None for a `libcai.Array`, which needs no close.
    _opened: Option<Opened>,
    object: PhantomData<(&'a PyAny, Python<'a>)>,
}

// SAFETY: a shared argument only shows its array, which any thread may read.
unsafe impl<const WRITES: bool> Sync for Argument<'_, WRITES> {}

impl<const WRITES: bool> Argument<'_, WRITES> {
    /// The array, borrowed from this argument.
    #[inline]
    pub fn borrow(&self) -> ArrayRef<'_> {
        // SAFETY: open() gives valid arrays, and this one is not closed yet.
        unsafe { ArrayRef::from_valid(self.array) }
    }
}

impl<'a, 'py: 'a, const WRITES: bool> FromPyObject<'a, 'py> for Argument<'a, WRITES> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let package = package(object.py())?;
        let flags = if WRITES { CAI_PY_WRITES } else { 0 };
        let (array, opened) = if package.is_array(object) {
            (array_of(package.api, object, flags)?, None)
        } else {
            let opened = Opened::new(package, object, flags)?;
            (opened.array(), Some(opened))
        };
        Ok(Self { array, _opened: opened, object: PhantomData })
    }
}

impl<'a, const WRITES: bool> From<&'a Argument<'_, WRITES>> for ArrayRef<'a> {
    fn from(argument: &'a Argument<'_, WRITES>) -> Self {
        argument.borrow()
    }
}

impl<const WRITES: bool> fmt::Debug for Argument<'_, WRITES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// The array of a `libcai.Array`, which needs no close.
#[inline]
fn array_of(
    api: &cai_py_api,
    object: Borrowed<'_, '_, PyAny>,
    flags: u32,
) -> PyResult<NonNull<cai_array>> {
    let mut room = MaybeUninit::<cai_py_argument>::uninit();
    // SAFETY: the object is alive, and there is room.
    let answer = unsafe { (api.open)(object.as_ptr(), flags, room.as_mut_ptr()) };
    answered(object.py(), answer)?;
    // SAFETY: open() has written the pointer, which is not null.
    Ok(unsafe { NonNull::new_unchecked((*room.as_ptr()).array.cast_mut()) })
}

/// The argument of open(), which must not move until it is closed.
struct Opened {
    room: Room,
    package: &'static Package,
}

impl Opened {
    #[inline]
    fn new(
        package: &'static Package,
        object: Borrowed<'_, '_, PyAny>,
        flags: u32,
    ) -> PyResult<Self> {
        let py = object.py();
        let room = Room::new(package, py);
        // SAFETY: the object is alive, and there is room.
        let answer = unsafe { (package.api.open)(object.as_ptr(), flags, room.argument()) };
        answered(py, answer).inspect_err(|_| room.keep(package, py))?;
        Ok(Self { room, package })
    }

    #[inline]
    fn array(&self) -> NonNull<cai_array> {
        // SAFETY: open() has written the pointer, which is not null.
        unsafe { NonNull::new_unchecked((*self.room.argument()).array.cast_mut()) }
    }
}

impl Drop for Opened {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: open() has filled it in, and where an argument is, there is a Python<'_>.
        unsafe {
            (self.package.api.close)(self.room.argument());
            self.room.keep(self.package, Python::assume_attached());
        }
    }
}

/// Room for the argument of open(), which points into itself. It is more than a kilobyte, and
/// allocating it takes longer than opening most arrays, so some are kept for later calls.
#[derive(Clone, Copy)]
struct Room(NonNull<MaybeUninit<cai_py_argument>>);

/// Accessed with the GIL only, if there is one.
struct Kept(UnsafeCell<Vec<Room>>);

// SAFETY: the GIL makes it one thread's at a time.
unsafe impl Sync for Kept {}

static KEPT: Kept = Kept(UnsafeCell::new(Vec::new()));

impl Room {
    #[inline]
    fn new(package: &Package, _: Python<'_>) -> Self {
        if package.has_gil {
            // SAFETY: this is Python's one thread, and nothing in here runs Python.
            if let Some(room) = unsafe { (*KEPT.0.get()).pop() } {
                return room;
            }
        }
        Self(NonNull::from(Box::leak(Box::new_uninit())))
    }

    #[inline]
    fn argument(self) -> *mut cai_py_argument {
        self.0.as_ptr().cast()
    }

    /// Frees the room, or keeps it for later calls.
    #[inline]
    fn keep(self, package: &Package, _: Python<'_>) {
        const MOST: usize = 8;
        if package.has_gil {
            // SAFETY: likewise.
            let kept = unsafe { &mut *KEPT.0.get() };
            if kept.len() < MOST {
                kept.push(self);
                return;
            }
        }
        // SAFETY: new() made it of a box.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
