// SPDX-License-Identifier: BSD-3-Clause
//! Columns of Arrow's C Device Data Interface: one axis of numbers. Feature `arrow`.
//!
//! The structs are Arrow's own, in [`sys`]: those of other crates have the same layout.
//!
//! ```
//! use libcai::{Array, Legacy, arrow::Column};
//!
//! let array = Array::from_vec(vec![1i32, 2, 3], &[3])?;
//! // SAFETY: whatever context is current stays so.
//! let stream = unsafe { Legacy::new() };
//! let column = Column::from_array(&array, stream)?;
//! assert_eq!(column.array().array.length, 3);
//!
//! let back = column.into_array()?;
//! assert_eq!(back.data(), array.data());
//! assert!(back.is_readonly()); // as all of Arrow's data
//! # Ok::<(), libcai::Error>(())
//! ```

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};

use crate::array::Array;
use crate::as_stream::AsStream;
use crate::error::{Result, ask, call};
use crate::failure::Failed;
use crate::sys;
#[cfg(doc)]
use crate::{ArrayRef, Error};

/// A column and its type, owned: each is released once, when this is dropped; a column that was
/// made into an array, when that array ends. The release does not wait: work on the memory must be
/// complete before a column is dropped.
#[derive(Debug)]
pub struct Column {
    schema: sys::ArrowSchema,
    array: sys::ArrowDeviceArray,
}

// SAFETY: `from_raw` requires that any thread may release them; until then they are only read.
unsafe impl Send for Column {}
// SAFETY: likewise.
unsafe impl Sync for Column {}

impl Column {
    /// Takes over a column and its type, and releases them. Put a column of the plain C Data
    /// Interface into a [`sys::ArrowDeviceArray`] of the CPU, with id -1.
    ///
    /// # Safety
    /// Both are as Arrow specifies, or released already. No other code releases them, and any
    /// thread may; until then what they point to stays valid, and the values are not written.
    pub unsafe fn from_raw(schema: sys::ArrowSchema, array: sys::ArrowDeviceArray) -> Self {
        Self { schema, array }
    }

    /// Returns the column and its type to the caller, who must release them.
    pub fn into_raw(self) -> (sys::ArrowSchema, sys::ArrowDeviceArray) {
        let this = ManuallyDrop::new(self);
        (this.schema, this.array)
    }

    /// Its type.
    pub fn schema(&self) -> &sys::ArrowSchema {
        &self.schema
    }

    /// The column itself. Wait for its `sync_event`, if there is one.
    pub fn array(&self) -> &sys::ArrowDeviceArray {
        &self.array
    }

    /// Exports an array as a column, which keeps it alive. If work may be pending on the array,
    /// `stream` waits for it, and the column comes with an event that is recorded there. Otherwise
    /// the stream is ignored, and the driver is not called.
    ///
    /// # Errors
    /// [`Error::Export`], with the entry, if a column cannot express the array: more than one axis,
    /// elements that do not follow each other, another type than integers and floats of 16 to 64
    /// bits, a mask that is not made of bits; [`Error::Device`] for ROCm; [`Error::Memory`]; the
    /// rest as [`ArrayRef::locate`] and [`Array::publish_event`].
    pub fn from_array(array: &Array, stream: impl AsStream) -> Result<Self> {
        let mut schema = MaybeUninit::uninit();
        let mut column = MaybeUninit::uninit();
        stream.on(|stream| {
            let (schema, column) = (schema.as_mut_ptr(), column.as_mut_ptr());
            // SAFETY: the array is kept alive, the stream is valid, and the outputs can be written.
            call(|error| unsafe {
                sys::cai_arrow_write(array.as_ptr(), stream, schema, column, error)
            })
        })?;
        // SAFETY: a function that succeeds writes its outputs; they are new, and any thread may
        // release them.
        Ok(unsafe { Self::from_raw(schema.assume_init(), column.assume_init()) })
    }

    /// Makes an array of the column. Dropping the last reference releases the column, once all kept
    /// uses are complete. The array is read-only, and comes with the column's event; a validity
    /// bitmap becomes its mask.
    ///
    /// # Errors
    /// The column comes back, with [`Error::Unsupported`] for another type than integers and floats
    /// of 16 to 64 bits, for children, a dictionary, and a bitmap that begins within a byte;
    /// [`Error::Device`] for another kind of device; [`Error::Value`], with the entry;
    /// [`Error::Memory`]; [`Error::Argument`] for a column that is released already.
    #[allow(clippy::result_large_err)] // what comes back is what was given
    pub fn into_array(mut self) -> Result<Array, Failed<Self>> {
        let (schema, column) = (ptr::from_ref(&self.schema), ptr::from_mut(&mut self.array));
        // SAFETY: both are ours, and as Arrow specifies; a column that is taken is marked so.
        match ask(|out, error| unsafe { sys::cai_arrow_own(schema, column, out, error) }) {
            // SAFETY: C made an owned array with one reference.
            Ok(raw) => Ok(unsafe { Array::from_raw(NonNull::new_unchecked(raw)) }),
            Err(error) => Err(Failed { error, value: self }),
        }
    }
}

impl Drop for Column {
    fn drop(&mut self) {
        if let Some(release) = self.array.array.release {
            // SAFETY: it is ours, and not released.
            unsafe { release(&mut self.array.array) };
        }
        if let Some(release) = self.schema.release {
            // SAFETY: likewise.
            unsafe { release(&mut self.schema) };
        }
    }
}
