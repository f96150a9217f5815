// SPDX-License-Identifier: BSD-3-Clause
//! DLPack tensors, owned and borrowed. Feature `dlpack`.
//!
//! The memory is never copied. A tensor carries no stream, so its consumer names one, or none.
//! Without one no stream is ordered, which is right for host memory, and for tensors whose work is
//! complete.
//!
//! ```
//! use libcai::{Array, dlpack::Tensor};
//!
//! let array = Array::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
//! let tensor = Tensor::unordered(&array)?;
//! assert_eq!(tensor.as_raw().dl_tensor.ndim, 2);
//!
//! let back = tensor.into_array()?;
//! assert_eq!(back.data(), array.data());
//! # Ok::<(), libcai::Error>(())
//! ```

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

#[cfg(doc)]
use crate::Error;
use crate::error::{Result, ask};
use crate::failure::Failed;
use crate::sys;
use crate::{Array, ArrayRef};

/// The value for no stream: the -1 of `__dlpack__`.
const NO_STREAM: u64 = u64::MAX;

type Own<F> =
    unsafe extern "C" fn(*mut F, u64, *mut *mut sys::cai_array, *mut sys::cai_error) -> i32;
type Write<F> =
    unsafe extern "C" fn(*const sys::cai_array, u64, *mut *mut F, *mut sys::cai_error) -> i32;
type Deleter<F> = unsafe extern "C" fn(*mut F);

/// A form of owned tensor: DLPack's struct of version 1, or the one before it.
pub trait Form: Sized + sealed::Form {}

mod sealed {
    pub trait Form: Sized {
        const OWN: super::Own<Self>;
        const WRITE: super::Write<Self>;

        fn deleter(&self) -> Option<super::Deleter<Self>>;
    }
}

impl Form for sys::DLManagedTensorVersioned {}
impl sealed::Form for sys::DLManagedTensorVersioned {
    const OWN: Own<Self> = sys::cai_dlpack_own;
    const WRITE: Write<Self> = sys::cai_dlpack_write;

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

impl Form for sys::DLManagedTensor {}
impl sealed::Form for sys::DLManagedTensor {
    const OWN: Own<Self> = sys::cai_dlpack_own_legacy;
    const WRITE: Write<Self> = sys::cai_dlpack_write_legacy;

    fn deleter(&self) -> Option<Deleter<Self>> {
        self.deleter
    }
}

/// An owned tensor of DLPack 1.
pub type Tensor = ManagedTensor<sys::DLManagedTensorVersioned>;

/// An owned tensor as before DLPack 1, which cannot be read-only.
pub type LegacyTensor = ManagedTensor<sys::DLManagedTensor>;

/// An owned tensor: its deleter is called once, when it is dropped or when the array that was made
/// of it ends. The deleter does not wait: work on the memory must be complete before a tensor is
/// dropped, or be ordered before the producer's next work.
pub struct ManagedTensor<F: Form> {
    raw: NonNull<F>,
}

// SAFETY: the caller of `from_raw` guarantees that the deleter may run on any thread; until then
// the tensor is only read.
unsafe impl<F: Form> Send for ManagedTensor<F> {}
// SAFETY: likewise.
unsafe impl<F: Form> Sync for ManagedTensor<F> {}

impl<F: Form> ManagedTensor<F> {
    /// Takes over a tensor, and calls its deleter in the end.
    ///
    /// # Safety
    /// The tensor is as DLPack specifies; a tensor of another major version, which is refused
    /// later, can be read up to the size of this struct. No other code calls the deleter. It may be
    /// called on any thread. Until then the struct and what it points to do not change, and the
    /// memory is valid and, unless flagged read-only, may be written.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<F>) -> Self {
        Self { raw }
    }

    /// Returns the tensor to the caller, who must call its deleter.
    #[inline]
    pub fn into_raw(self) -> NonNull<F> {
        ManuallyDrop::new(self).raw
    }

    /// The struct itself.
    #[inline]
    pub fn as_raw(&self) -> &F {
        // SAFETY: it can be read until the deleter is called.
        unsafe { self.raw.as_ref() }
    }

    /// Exports an array as a tensor, which keeps it alive. No stream is ordered: the consumer must
    /// know by other means that work on the array is complete.
    ///
    /// # Errors
    /// [`Error::Export`], with the entry, if a tensor cannot express the array: a mask, a foreign
    /// byte order, a type that DLPack lacks, strides that are no multiple of the item size, and for
    /// a [`LegacyTensor`] a read-only array; [`Error::Device`] for ROCm; [`Error::State`] if the
    /// memory was freed; [`Error::Memory`]; as `cai_array_locate()` for a GPU array whose device is
    /// not known.
    pub fn unordered(array: &Array) -> Result<Self> {
        // SAFETY: the array is held, and no stream is named.
        unsafe { Self::ordered(array, NO_STREAM) }
    }

    /// Likewise, for a consumer that works on `stream`: the stream waits for pending work on the
    /// array, and later uses of the array wait for the stream. If it is in a capture, the tensor,
    /// and everything made of it, is valid for that capture only; else it is not valid for a
    /// capture in which other code uses the array. Export one tensor on each side.
    ///
    /// # Errors
    /// Also as `cai_array_publish()`.
    ///
    /// # Safety
    /// `stream` is 1, 2 or a `CUstream` of the context of the array's memory, which lives as long as
    /// the array.
    pub unsafe fn ordered(array: &Array, stream: u64) -> Result<Self> {
        let raw =
            // SAFETY: the array is held, and the stream is as the caller says.
            ask(|out, error| unsafe { F::WRITE(array.as_ptr(), stream, out, error) })?;
        // SAFETY: the tensor is new, and libcai's deleter may run on any thread.
        Ok(unsafe { Self::from_raw(written(raw)) })
    }

    /// Makes an array of the tensor. Dropping the last reference calls the deleter, once all kept
    /// uses are complete. Pending work on GPU memory is not known: the array's stream is
    /// `UNSTATED`, and uses wait for the legacy stream.
    ///
    /// # Errors
    /// The tensor is returned, with [`Error::Unsupported`] for a type that typestrs and their
    /// extensions cannot express; [`Error::Device`] for another kind of device; [`Error::Value`],
    /// with the entry; [`Error::Version`] for a DLPack major other than 1; [`Error::Memory`].
    pub fn into_array(self) -> Result<Array, Failed<Self>> {
        // SAFETY: no stream is named.
        unsafe { self.into_array_on(NO_STREAM) }
    }

    /// Likewise, for a tensor whose producer has ordered its work for `stream`. The array is valid
    /// for the same captures as the tensor, see [`ordered`](Self::ordered).
    ///
    /// # Errors
    /// As [`into_array`](Self::into_array).
    ///
    /// # Safety
    /// `stream` is 1, 2 or a `CUstream` that lives as long as the array.
    pub unsafe fn into_array_on(self, stream: u64) -> Result<Array, Failed<Self>> {
        // SAFETY: the tensor is ours, and its creator guarantees that it is well-formed.
        match ask(|out, error| unsafe { F::OWN(self.raw.as_ptr(), stream, out, error) }) {
            Ok(array) => {
                // The array calls the deleter now.
                let _ = self.into_raw();
                // SAFETY: the array is new, and its reference ours.
                Ok(unsafe { Array::from_raw(written(array)) })
            }
            Err(error) => Err(Failed { error, value: self }),
        }
    }
}

impl<F: Form> Drop for ManagedTensor<F> {
    fn drop(&mut self) {
        if let Some(delete) = self.as_raw().deleter() {
            // SAFETY: this is the one call of it.
            unsafe { delete(self.raw.as_ptr()) };
        }
    }
}

impl<F: Form> fmt::Debug for ManagedTensor<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManagedTensor").field(&self.raw).finish()
    }
}

/// Describes an array as a tensor without a reference, for a call during which the array stays
/// valid. No stream is ordered: begin a use on the consumer's stream, and end it afterwards. The
/// shape and the strides must not be written.
///
/// # Errors
/// [`Error::Export`] as [`ManagedTensor::unordered`], also for a read-only array, which such a
/// tensor cannot express; [`Error::Device`] for ROCm; [`Error::State`] if the memory was freed.
pub fn lend<R>(array: ArrayRef<'_>, call: impl FnOnce(&sys::DLTensor) -> R) -> Result<R> {
    let mut strides = [0; sys::CAI_MAX_NDIM as usize];
    // SAFETY: the array is valid, and there is room for all the strides that one can have.
    let tensor = ask(|out, error| unsafe {
        sys::cai_dlpack_lend(array.as_raw(), strides.as_mut_ptr(), out, error)
    })?;
    Ok(call(&tensor))
}

/// Reads a tensor that the caller keeps alive, for a call. The array is borrowed, and read-only,
/// since a tensor does not tell whether it may be written.
///
/// # Errors
/// As [`ManagedTensor::into_array`]. [`Error::Argument`] for stream 0.
///
/// # Safety
/// What the tensor points to can be read, and does not change during the call. `stream`, if any, is
/// the stream that the tensor is ordered for: 1, 2 or a `CUstream`, alive during the call.
pub unsafe fn read<R>(
    tensor: &sys::DLTensor,
    stream: Option<u64>,
    call: impl FnOnce(ArrayRef<'_>) -> R,
) -> Result<R> {
    let mut strides = [0; sys::CAI_MAX_NDIM as usize];
    let stream = stream.unwrap_or(NO_STREAM);
    // SAFETY: the caller guarantees the rest; there is room for all strides of a tensor.
    let array = ask(|out, error| unsafe {
        sys::cai_dlpack_read(tensor, stream, strides.as_mut_ptr(), out, error)
    })?;
    // SAFETY: the array, the strides and the tensor's shape stay during the call.
    Ok(call(unsafe { ArrayRef::from_raw(&array) }?))
}

/// The output of a call that succeeded.
fn written<T>(raw: *mut T) -> NonNull<T> {
    NonNull::new(raw).expect("libcai gives no null pointer on success")
}
