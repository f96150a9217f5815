// SPDX-License-Identifier: BSD-3-Clause
//! Arrays whose elements are of a Rust type.

use std::fmt;
use std::marker::PhantomData;
use std::{ptr, slice};

use crate::array::{ArrayRef, DeviceType};
use crate::dtype::{DType, Element};
use crate::error::{Entry, Error, Result, ask};
use crate::sys;

/// An array with elements of type `T`, for reading: in the host's byte order, aligned, and all
/// valid.
///
/// The memory stays in place, usually on a GPU: a view provides its address for queued work, and
/// never reads or writes it.
///
/// ```
/// use libcai::Array;
///
/// let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], &[2, 3])?;
/// let view = array.view::<i32>()?;
/// assert_eq!(view.element_strides(), Some(vec![3, 1]));
/// assert!(array.view::<f32>().is_err());
/// # Ok::<(), libcai::Error>(())
/// ```
pub struct View<'a, T> {
    array: ArrayRef<'a>,
    elements: PhantomData<&'a [T]>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T: Element> View<'a, T> {
    #[inline]
    pub(crate) fn new(array: ArrayRef<'a>) -> Result<Self> {
        if array.dtype() != T::DTYPE {
            return Err(other_type(array.dtype(), T::DTYPE));
        }
        let refused = array.as_raw().flags & (sys::CAI_FLAG_MASKED | sys::CAI_FLAG_SWAPPED);
        if refused != 0 {
            return Err(if refused & sys::CAI_FLAG_MASKED != 0 { masked() } else { swapped() });
        }
        check_alignment(array, align_of::<T>())?;
        Ok(Self { array, elements: PhantomData })
    }

    /// The array itself.
    #[inline]
    pub fn array(self) -> ArrayRef<'a> {
        self.array
    }

    /// Address of the first element, which need not be the lowest; 0 if there are no elements.
    #[inline]
    pub fn data(self) -> u64 {
        self.array.data()
    }

    /// Extents, in elements.
    #[inline]
    pub fn shape(self) -> &'a [i64] {
        self.array.shape()
    }

    /// Steps, in bytes, of any sign.
    #[inline]
    pub fn strides(self) -> &'a [i64] {
        self.array.strides()
    }

    /// Steps, in elements, of any sign; `None` if one of them is no multiple of an element's size, as
    /// in a field of records.
    pub fn element_strides(self) -> Option<Vec<i64>> {
        let size = size_of::<T>() as i64;
        self.strides().iter().map(|&stride| (stride % size == 0).then(|| stride / size)).collect()
    }

    /// Number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.array.size()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The elements themselves, in C order, if the host may read them: in host, pinned or managed
    /// memory.
    ///
    /// ```
    /// use libcai::Array;
    ///
    /// let array = Array::from_vec(vec![1f64, 2.0, 3.0], &[3])?;
    /// // SAFETY: no other code has the array.
    /// let values = unsafe { array.view::<f64>()?.as_slice() }?;
    /// assert_eq!(values, [1.0, 2.0, 3.0]);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Safety
    /// The array describes its memory correctly. No work that writes it is pending, and no code
    /// writes it for `'a`, neither on a stream nor on the host: code with another reference could.
    /// Each element is a valid `T`, which matters for `bool`. The host may use managed memory now.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for memory of a device; [`Error::Layout`] if the array is not
    /// C-contiguous; [`Error::State`] if libcai has freed the memory.
    pub unsafe fn as_slice(self) -> Result<&'a [T]> {
        let (data, len) = self.host_elements()?;
        // SAFETY: aligned and in range, since the array was validated; the caller guarantees the
        // rest.
        Ok(unsafe { slice::from_raw_parts(data, len) })
    }

    /// Whether the host may use the memory.
    pub(crate) fn check_host(self) -> Result<()> {
        let device = self.array.device_type();
        match device {
            DeviceType::Cpu | DeviceType::CudaHost | DeviceType::CudaManaged => Ok(()),
            _ => {
                let message = format!("data is {device:?} memory, which the host cannot use");
                Err(Error::of(sys::CAI_ERR_UNSUPPORTED, Entry::Data, message))
            }
        }
    }

    /// Address and number of the elements that the host may use; the address is never null.
    fn host_elements(self) -> Result<(*mut T, usize)> {
        self.check_host()?;
        if !self.array.layout().c_contiguous {
            let message = format!("strides {:?} are not C-contiguous", self.strides());
            return Err(Error::of(sys::CAI_ERR_LAYOUT, Entry::Strides, message));
        }
        let len = self.len();
        let data = match len {
            0 => ptr::dangling_mut(),
            _ => ptr::with_exposed_provenance_mut(self.host_address()? as usize),
        };
        Ok((data, len))
    }

    /// The host's address of the first element; for pinned memory it may differ from the GPU's.
    /// Memory that has an owner may have been freed.
    pub(crate) fn host_address(self) -> Result<u64> {
        if self.array.device_type() != DeviceType::CudaHost && self.array.as_raw().owner.is_null() {
            return Ok(self.data());
        }
        // SAFETY: the array is borrowed during the call; the outputs can be written.
        ask(|out, error| unsafe { sys::cai_array_host(self.array.as_raw(), out, error) })
    }
}

impl<T: Element> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(&self.array).finish()
    }
}

/// An array with elements of type `T`, for writing as well. An [`Array`](crate::Array) has one at a
/// time, and no [`View`] beside it.
///
/// ```
/// use libcai::Array;
///
/// let mut array = Array::from_vec(vec![0u16; 4], &[2, 2])?;
/// // SAFETY: no other code has the array.
/// unsafe { array.view_mut::<u16>()?.as_mut_slice() }?[3] = 7;
/// // SAFETY: likewise.
/// assert_eq!(unsafe { array.view::<u16>()?.as_slice() }?, [0, 0, 0, 7]);
/// # Ok::<(), libcai::Error>(())
/// ```
pub struct ViewMut<'a, T> {
    array: ArrayRef<'a>,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element> ViewMut<'a, T> {
    #[inline]
    pub(crate) fn new(array: ArrayRef<'a>) -> Result<Self> {
        if array.is_readonly() {
            return Err(readonly());
        }
        let View { array, .. } = View::<T>::new(array)?;
        Ok(Self { array, elements: PhantomData })
    }

    /// The array itself, which can have no other view meanwhile.
    #[cfg(feature = "cudarc")]
    pub(crate) fn array(&self) -> ArrayRef<'a> {
        self.array
    }

    /// The same elements for reading, as long as this view is not used to write.
    #[inline]
    pub fn as_view(&self) -> View<'_, T> {
        View { array: self.array, elements: PhantomData }
    }

    /// A reborrow of the same elements, after which this view can be used again.
    #[inline]
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut { array: self.array, elements: PhantomData }
    }

    /// Address of the first element, which need not be the lowest; 0 if there are no elements.
    #[inline]
    pub fn data(&self) -> u64 {
        self.array.data()
    }

    /// Extents, in elements.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.array.shape()
    }

    /// Steps, in bytes, of any sign.
    #[inline]
    pub fn strides(&self) -> &'a [i64] {
        self.array.strides()
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.array.size()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements themselves, in C order, as [`View::as_slice()`] returns them, for writing as
    /// well.
    ///
    /// # Safety
    /// As [`View::as_slice()`]; and no other code reads the memory for `'a`, either.
    ///
    /// # Errors
    /// As [`View::as_slice()`].
    pub unsafe fn as_mut_slice(self) -> Result<&'a mut [T]> {
        let (data, len) = View::<T> { array: self.array, elements: PhantomData }.host_elements()?;
        // SAFETY: aligned, in range and not overlapping, since the array was validated; the caller
        // guarantees the rest.
        Ok(unsafe { slice::from_raw_parts_mut(data, len) })
    }
}

impl<T: Element> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ViewMut").field(&self.array).finish()
    }
}

/// Strides over an extent of 1, and of arrays without elements, are not used, and may have any
/// value.
#[inline]
fn check_alignment(array: ArrayRef<'_>, align: usize) -> Result<()> {
    let data = array.data();
    if data == 0 || align == 1 {
        return Ok(());
    }
    let mask = align as u64 - 1;
    if data & mask != 0 {
        return Err(misaligned_data(data, align));
    }
    for (axis, (&stride, &extent)) in array.strides().iter().zip(array.shape()).enumerate() {
        if stride as u64 & mask != 0 && extent > 1 {
            return Err(misaligned_strides(array, axis, align));
        }
    }
    Ok(())
}

#[cold]
fn misaligned_data(data: u64, align: usize) -> Error {
    misaligned(Entry::Data, format!("data is {data:#x}"), None, align)
}

#[cold]
fn misaligned_strides(array: ArrayRef<'_>, axis: usize, align: usize) -> Error {
    let what = format!("strides are {:?}", array.strides());
    misaligned(Entry::Strides, what, Some(axis), align)
}

#[cold]
fn other_type(found: DType, asked: DType) -> Error {
    let message = format!("typestr: the elements are {found:?}, but {asked:?} was asked for");
    Error::of(sys::CAI_ERR_ARGUMENT, Entry::Typestr, message)
}

#[cold]
fn masked() -> Error {
    let message = "mask: not all elements are valid, as those of a typed view must be";
    Error::of(sys::CAI_ERR_UNSUPPORTED, Entry::Mask, message)
}

/// The type's own byte order was compared; the byte order of its fields is no part of it.
#[cold]
pub(crate) fn swapped() -> Error {
    let message = "descr: a field is not in the host's byte order";
    Error::of(sys::CAI_ERR_UNSUPPORTED, Entry::Descr, message)
}

#[cold]
fn readonly() -> Error {
    let message = "data: the array is marked read-only, and a view to write was asked for";
    Error::of(sys::CAI_ERR_VALUE, Entry::Data, message)
}

#[cold]
fn misaligned(entry: Entry, what: String, axis: Option<usize>, align: usize) -> Error {
    let message = format!("{what}: not all elements are aligned to {align} bytes");
    Error::of(sys::CAI_ERR_LAYOUT, entry, message).with_index(axis)
}
