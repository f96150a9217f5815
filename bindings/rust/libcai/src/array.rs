// SPDX-License-Identifier: BSD-3-Clause
//! Arrays, owned and borrowed.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

use crate::error::{Error, Result, call};
use crate::sys;

/// An owned array: one holder of it. A clone is another holder of the same array, and the last one
/// that is dropped ends it, on whatever thread that happens, once all uses that are kept are
/// complete.
pub struct Array {
    raw: NonNull<sys::cai_array>,
}

// SAFETY: an array is never changed once a second party has seen it, and any thread may read,
// retain and release it: cai.h, "Threads". Who owns it has promised so: `from_raw`, `own`.
unsafe impl Send for Array {}
// SAFETY: likewise.
unsafe impl Sync for Array {}

impl Array {
    /// Takes over the caller's holder of an owned array, as C functions give it.
    ///
    /// # Safety
    /// `raw` is valid by `cai_array_validate()`, owned, lies in its owner's block as all that libcai
    /// makes do, and has a holder that is the caller's to give.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_array>) -> Self {
        Self { raw }
    }

    /// Gives the holder to the caller, who ends it with `cai_array_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_array> {
        std::mem::ManuallyDrop::new(self).raw
    }

    /// The array for C functions, borrowed from this holder.
    #[inline]
    pub fn as_ptr(&self) -> *const sys::cai_array {
        self.raw.as_ptr()
    }

    /// The array without its holder: what all that reads takes.
    #[inline]
    pub fn borrow(&self) -> ArrayRef<'_> {
        // SAFETY: this holder keeps the array as long as it is borrowed.
        ArrayRef { raw: self.raw, lives: PhantomData }
    }
}

impl Clone for Array {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: the array is held.
        unsafe { sys::cai_array_retain(self.raw.as_ptr()) };
        Self { raw: self.raw }
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the holder that from_raw() took over.
        unsafe { sys::cai_array_release(self.raw.as_ptr()) };
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// A borrowed array: somebody else keeps it for `'a`.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a> {
    raw: NonNull<sys::cai_array>,
    lives: PhantomData<&'a sys::cai_array>,
}

// SAFETY: as for Array.
unsafe impl Send for ArrayRef<'_> {}
// SAFETY: as for Array.
unsafe impl Sync for ArrayRef<'_> {}

impl<'a> ArrayRef<'a> {
    /// Judges a struct that somebody else filled in, and borrows it.
    ///
    /// # Safety
    /// The struct, and all that it points to, can be read and stays as it is for `'a`, by any thread.
    /// Its numbers may be anything; they are judged.
    ///
    /// # Errors
    /// As `cai_array_validate()`: [`Error::Argument`] for a null pointer, [`Error::Value`], which names
    /// the entry, and [`Error::Version`].
    pub unsafe fn from_raw(raw: *const sys::cai_array) -> Result<Self> {
        // SAFETY: the caller's word.
        call(|error| unsafe { sys::cai_array_validate(raw, error) })?;
        match NonNull::new(raw.cast_mut()) {
            Some(raw) => Ok(Self { raw, lives: PhantomData }),
            None => Err(Error::say(sys::CAI_ERR_ARGUMENT, "array is NULL")),
        }
    }

    /// The struct itself.
    #[inline]
    pub fn as_raw(self) -> &'a sys::cai_array {
        // SAFETY: it can be read for 'a.
        unsafe { self.raw.as_ref() }
    }

    /// Extents, in elements.
    #[inline]
    pub fn shape(self) -> &'a [i64] {
        self.dims(self.as_raw().shape)
    }

    /// Steps, in bytes, of any sign.
    #[inline]
    pub fn strides(self) -> &'a [i64] {
        self.dims(self.as_raw().strides)
    }

    #[inline]
    fn dims(self, values: *const i64) -> &'a [i64] {
        match self.as_raw().ndim {
            0 => &[],
            // SAFETY: a valid array has ndim of them.
            ndim => unsafe { slice::from_raw_parts(values, ndim as usize) },
        }
    }

    /// Address of the first element; 0 if there are none.
    #[inline]
    pub fn data(self) -> u64 {
        self.as_raw().data
    }

    /// Whether the memory must not be written.
    #[inline]
    pub fn is_readonly(self) -> bool {
        self.as_raw().flags & sys::CAI_FLAG_READONLY != 0
    }
}

impl<'a> From<&'a Array> for ArrayRef<'a> {
    fn from(array: &'a Array) -> Self {
        array.borrow()
    }
}

impl fmt::Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("data", &format_args!("{:#x}", self.data()))
            .finish_non_exhaustive()
    }
}
