// SPDX-License-Identifier: BSD-3-Clause
//! Arrays, owned and borrowed.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

use crate::descr::{self, Descr};
use crate::dtype::{DType, Element};
use crate::error::{Error, Result, ask, call};
use crate::index::{Index, with_slices};
use crate::numbered::numbered;
use crate::sys;
use crate::view::{View, ViewMut};

numbered! {
    /// The kind of device of an array's memory, with DLPack's numbers.
    DeviceType: i32 {
        /// The host's memory.
        Cpu = sys::CAI_DEVICE_CPU,
        /// A GPU's memory.
        Cuda = sys::CAI_DEVICE_CUDA,
        /// Pinned host memory.
        CudaHost = sys::CAI_DEVICE_CUDA_HOST,
        /// Memory of AMD GPUs: exchanged as metadata, and cannot be used on a stream.
        Rocm = sys::CAI_DEVICE_ROCM,
        /// Managed memory.
        CudaManaged = sys::CAI_DEVICE_CUDA_MANAGED,
    }
}

/// What an array's producer states about pending work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pending {
    /// No work is pending: no order is needed. A dict's `None`.
    Nothing,
    /// Unknown: the producer's version of the interface, 0 to 2, does not state it.
    Unstated,
    /// Work may be pending on this stream: 1, the legacy default stream, 2, the per-thread one of
    /// the thread that made the array, or a `CUstream`.
    Stream(u64),
    /// Wait for this `CUevent`.
    Event(u64),
}

impl Pending {
    pub(crate) fn to_raw(self) -> (u32, u64) {
        match self {
            Self::Nothing => (sys::CAI_STREAM_NONE, 0),
            Self::Unstated => (sys::CAI_STREAM_UNSTATED, 0),
            Self::Stream(stream) => (sys::CAI_STREAM_STREAM, stream),
            Self::Event(event) => (sys::CAI_STREAM_EVENT, event),
        }
    }
}

/// What follows from shape, strides and item size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Number of elements.
    pub size: usize,
    /// Bytes of all elements; bits are rounded up to bytes.
    pub nbytes: usize,
    /// The bytes touched are `lo..hi`, relative to [`ArrayRef::data()`]: `lo` is 0 or less.
    pub lo: i64,
    /// Likewise; both are 0 if there are no elements.
    pub hi: i64,
    /// Whether the elements follow each other in C order, by NumPy's rules: an axis of extent 1 does
    /// not matter, an empty array is both, stride 0 over a larger extent is neither.
    pub c_contiguous: bool,
    /// Likewise in Fortran's order.
    pub f_contiguous: bool,
}

/// A reference to an owned array. A clone adds a reference to the same array. Dropping the last
/// reference ends the array, on any thread, once all kept uses are complete.
///
/// ```
/// use libcai::{Array, DType};
///
/// let array = Array::from_vec(vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.strides(), [12, 4]);
/// assert_eq!(array.dtype(), DType::of::<f32>());
/// assert_eq!(array.transpose()?.shape(), [3, 2]);
/// # Ok::<(), libcai::Error>(())
/// ```
pub struct Array {
    raw: NonNull<sys::cai_array>,
}

// SAFETY: an array is never changed once a second party has seen it, and any thread may read,
// retain and release it: cai.h, "Threads". Its maker has promised so: `from_raw`, `own`.
unsafe impl Send for Array {}
// SAFETY: likewise.
unsafe impl Sync for Array {}

impl Array {
    /// Takes over the caller's reference to an owned array, as C functions return it.
    ///
    /// # Safety
    /// `raw` is valid by `cai_array_validate()`, owned, and in its owner's block, as all arrays
    /// that libcai makes are; the caller owns the reference.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<sys::cai_array>) -> Self {
        Self { raw }
    }

    /// Returns the reference to the caller, who must release it with `cai_array_release()`.
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::cai_array> {
        std::mem::ManuallyDrop::new(self).raw
    }

    /// The array for C functions, borrowed from this object.
    #[inline]
    pub fn as_ptr(&self) -> *const sys::cai_array {
        self.raw.as_ptr()
    }

    /// The array as a borrow, as functions that read take it.
    #[inline]
    pub fn borrow(&self) -> ArrayRef<'_> {
        // SAFETY: this reference keeps the array alive as long as it is borrowed.
        ArrayRef { raw: self.raw, lives: PhantomData }
    }

    /// The elements as `T`, for reading and writing: see [`ViewMut`]. This object is borrowed
    /// meanwhile; its clones are not, and show the same elements.
    ///
    /// # Errors
    /// As [`view()`](Self::view); and [`Error::Value`] if the array is marked read-only.
    #[inline]
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>> {
        ViewMut::new(self.borrow())
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
        // SAFETY: this is the reference that from_raw() took over.
        unsafe { sys::cai_array_release(self.raw.as_ptr()) };
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// A borrowed array, which its owner keeps valid for `'a`.
#[derive(Clone, Copy)]
#[repr(transparent)] // a slice of them is one of C's pointers
pub struct ArrayRef<'a> {
    raw: NonNull<sys::cai_array>,
    lives: PhantomData<&'a sys::cai_array>,
}

// SAFETY: as for Array.
unsafe impl Send for ArrayRef<'_> {}
// SAFETY: as for Array.
unsafe impl Sync for ArrayRef<'_> {}

impl<'a> ArrayRef<'a> {
    /// Validates a struct that other code filled in, and borrows it.
    ///
    /// # Safety
    /// The struct, and all that it points to, can be read by any thread and does not change for
    /// `'a`. If it has an owner, what it points to lives as long as the owner, and the owner's
    /// functions do what `cai.h` says. The numbers may be anything, since they are validated. But
    /// wherever the array is used, the caller guarantees what cannot be checked: the data is memory
    /// of that device, and the stream or event is valid.
    ///
    /// # Errors
    /// As `cai_array_validate()`: [`Error::Argument`] for a null pointer, [`Error::Value`], which names
    /// the entry, and [`Error::Version`].
    #[inline]
    pub unsafe fn from_raw(raw: *const sys::cai_array) -> Result<Self> {
        // SAFETY: the caller guarantees it.
        call(|error| unsafe { sys::cai_array_validate(raw, error) })?;
        match NonNull::new(raw.cast_mut()) {
            Some(raw) => Ok(Self { raw, lives: PhantomData }),
            None => Err(Error::say(sys::CAI_ERR_ARGUMENT, "array is NULL")),
        }
    }

    /// Adds a reference to an owned array. [`slice()`](Self::slice) with no items does so for any
    /// struct of an owned array.
    ///
    /// # Safety
    /// If the struct has an owner, it is in the owner's block, as all arrays that libcai makes are:
    /// it is no copy on the stack.
    ///
    /// # Errors
    /// [`Error::Argument`] for a borrowed array.
    pub unsafe fn retain(self) -> Result<Array> {
        if self.as_raw().owner.is_null() {
            let message = "a borrowed array cannot be held: own it";
            return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
        }
        // SAFETY: the array can be read.
        unsafe { sys::cai_array_retain(self.raw.as_ptr()) };
        Ok(Array { raw: self.raw })
    }

    /// Borrows an array that has been validated.
    ///
    /// # Safety
    /// As [`ArrayRef::from_raw`]; and `raw` is valid by `cai_array_validate()`.
    #[cfg(feature = "pyo3")]
    #[inline]
    pub(crate) unsafe fn from_valid(raw: NonNull<sys::cai_array>) -> Self {
        Self { raw, lives: PhantomData }
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

    /// Number of dimensions, 64 at most.
    #[inline]
    pub fn ndim(self) -> usize {
        self.as_raw().ndim as usize
    }

    /// Number of elements.
    #[inline]
    pub fn size(self) -> usize {
        // A valid array's fits in 63 bits.
        self.shape().iter().fold(1, |size, &extent| size.wrapping_mul(extent as usize))
    }

    /// The type of an element.
    #[inline]
    pub fn dtype(self) -> DType {
        DType::from_valid(self.as_raw().dtype)
    }

    /// The fields of a structured type; empty if they add nothing to [`dtype()`](Self::dtype).
    pub fn descr(self) -> Descr {
        let raw = self.as_raw();
        // SAFETY: a valid array has as many fields, and they stay for 'a.
        unsafe { descr::read(raw.descr, raw.descr_count) }
    }

    /// Address of the first element, which need not be the lowest; 0 if there are no elements.
    #[inline]
    pub fn data(self) -> u64 {
        self.as_raw().data
    }

    /// Whether the memory must not be written.
    #[inline]
    pub fn is_readonly(self) -> bool {
        self.as_raw().flags & sys::CAI_FLAG_READONLY != 0
    }

    /// Whether the producer gave strides; without, the array is C-contiguous.
    #[inline]
    pub fn strides_given(self) -> bool {
        self.as_raw().flags & sys::CAI_FLAG_STRIDES_NONE == 0
    }

    /// The kind of device of the memory.
    #[inline]
    pub fn device_type(self) -> DeviceType {
        DeviceType::from_raw(self.as_raw().device_type)
    }

    /// The device's ordinal; `None` if it is not known without asking the driver.
    #[inline]
    pub fn device_id(self) -> Option<u32> {
        u32::try_from(self.as_raw().device_id).ok()
    }

    /// What the producer states about pending work on the array.
    #[inline]
    pub fn pending(self) -> Pending {
        let raw = self.as_raw();
        match raw.stream_kind {
            sys::CAI_STREAM_STREAM => Pending::Stream(raw.stream),
            sys::CAI_STREAM_EVENT => Pending::Event(raw.stream),
            sys::CAI_STREAM_NONE => Pending::Nothing,
            _ => Pending::Unstated,
        }
    }

    /// The version of the producer's interface, for information only.
    #[inline]
    pub fn version(self) -> u32 {
        self.as_raw().version
    }

    /// The mask, an array of its own, whose elements are true where this one's are valid, and whose
    /// shape broadcasts to this one's. `None`: all are valid.
    #[inline]
    pub fn mask(self) -> Option<ArrayRef<'a>> {
        NonNull::new(self.as_raw().mask.cast_mut()).map(|raw| ArrayRef { raw, lives: PhantomData })
    }

    /// The layout that follows from shape, strides and item size.
    ///
    /// # Panics
    /// Never, for an array that is valid, as they all are.
    pub fn layout(self) -> Layout {
        // SAFETY: the array is valid.
        let layout: sys::cai_layout =
            ask(|out, error| unsafe { sys::cai_array_layout(self.raw.as_ptr(), out, error) })
                .expect("a valid array has a layout");
        Layout {
            size: layout.size as usize,
            nbytes: layout.nbytes as usize,
            lo: layout.lo,
            hi: layout.hi,
            c_contiguous: layout.c_contiguous != 0,
            f_contiguous: layout.f_contiguous != 0,
        }
    }

    /// The elements as `T`: see [`View`].
    ///
    /// # Errors
    /// [`Error::Argument`], with entry typestr, if the elements are of another type or byte order;
    /// [`Error::Layout`] if an element is misaligned for `T`; [`Error::Unsupported`] for an array
    /// with a mask, since not all its elements are valid, and, with entry descr, if a field is not
    /// in the host's byte order.
    #[inline]
    pub fn view<T: Element>(self) -> Result<View<'a, T>> {
        View::new(self)
    }

    /// The elements as a `T` each, to be written as well: see [`ViewMut`].
    ///
    /// # Safety
    /// For `'a`, no other code reads or writes the elements of this view, except through the view
    /// or in order with it.
    ///
    /// # Errors
    /// As [`view()`](Self::view); and [`Error::Value`] if the array is marked read-only.
    #[inline]
    pub unsafe fn view_mut<T: Element>(self) -> Result<ViewMut<'a, T>> {
        ViewMut::new(self)
    }

    /// A view of part of the array, as Python's `a[...]` makes it: `cai_array_slice()`. It keeps
    /// this array's memory alive; memory, stream, descr and read-only mark are the same, and the
    /// mask is viewed likewise. [`index!`](crate::index) makes the items.
    ///
    /// # Errors
    /// [`Error::Argument`] for an index out of range ([`Detail::index()`](crate::Detail::index) is
    /// the item), a step of 0, too many items or a borrowed array, which cannot be kept alive;
    /// [`Error::Unsupported`] for a mask of bits, unless all elements stay the same;
    /// [`Error::Memory`].
    pub fn slice(self, items: &[Index]) -> Result<Array> {
        with_slices(items, |slices| {
            // SAFETY: the count is correct.
            self.made(|array, out, error| unsafe {
                sys::cai_array_slice(array, slices.as_ptr(), count(slices), out, error)
            })
        })
    }

    /// A view of another shape, in C order; one extent may be -1: then it is computed:
    /// `cai_array_reshape()`.
    ///
    /// # Errors
    /// [`Error::Layout`] if the strides would need a copy; [`Error::Argument`] if the number of
    /// elements differs; else as [`slice()`](Self::slice).
    pub fn reshape(self, shape: &[i64]) -> Result<Array> {
        // SAFETY: the number of extents is correct.
        self.made(|array, out, error| unsafe {
            sys::cai_array_reshape(array, shape.as_ptr(), count(shape), out, error)
        })
    }

    /// A view with its axes reversed: `cai_array_transpose()`.
    ///
    /// # Errors
    /// As [`slice()`](Self::slice).
    pub fn transpose(self) -> Result<Array> {
        // SAFETY: NULL reverses the axes.
        self.made(|array, out, error| unsafe {
            sys::cai_array_transpose(array, ptr::null(), out, error)
        })
    }

    /// A view with its axes in another order: axis `i` is axis `axes[i]` of the array; negative ones
    /// count from the end.
    ///
    /// # Errors
    /// [`Error::Argument`] if the number of axes differs from the array's, or one is out of range
    /// or repeated; else as [`slice()`](Self::slice).
    pub fn permute(self, axes: &[i32]) -> Result<Array> {
        if axes.len() != self.ndim() {
            let message = format!("permute: {} axes for {} dimensions", axes.len(), self.ndim());
            return Err(Error::say(sys::CAI_ERR_ARGUMENT, message));
        }
        // SAFETY: there are as many axes as dimensions. No axes are not NULL.
        self.made(|array, out, error| unsafe {
            sys::cai_array_transpose(array, axes.as_ptr(), out, error)
        })
    }

    /// A read-only view of a larger shape, by NumPy's broadcasting: stride 0 over axes that are new or
    /// had extent 1. `cai_array_broadcast()`.
    ///
    /// # Errors
    /// [`Error::Argument`] if the shapes do not agree; else as [`slice()`](Self::slice).
    pub fn broadcast(self, shape: &[i64]) -> Result<Array> {
        // SAFETY: the number of extents is correct.
        self.made(|array, out, error| unsafe {
            sys::cai_array_broadcast(array, shape.as_ptr(), count(shape), out, error)
        })
    }

    pub(crate) fn made(
        self,
        function: impl FnOnce(
            *const sys::cai_array,
            *mut *mut sys::cai_array,
            *mut sys::cai_error,
        ) -> sys::cai_status,
    ) -> Result<Array> {
        let raw = ask(|out, error| function(self.raw.as_ptr(), out, error))?;
        // SAFETY: C made an owned array with one reference.
        Ok(unsafe { Array::from_raw(NonNull::new_unchecked(raw)) })
    }
}

/// C takes the number of items as an i32, and refuses larger numbers.
fn count<T>(items: &[T]) -> i32 {
    i32::try_from(items.len()).unwrap_or(i32::MAX)
}

/// Gives an owned array the functions of a borrowed one.
macro_rules! as_borrowed {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident$(<$type:ident: $bound:ident>)?(&self $(, $argument:ident: $taken:ty)*) -> $given:ty;
    )+) => {
        impl Array {
            $(
                #[doc = concat!("As [`ArrayRef::", stringify!($name), "()`].")]
                $(#[$attribute])*
                #[inline]
                pub fn $name$(<$type: $bound>)?(&self $(, $argument: $taken)*) -> $given {
                    self.borrow().$name($($argument),*)
                }
            )+
        }
    };
}

as_borrowed! {
    fn as_raw(&self) -> &sys::cai_array;
    /// Extents, in elements.
    fn shape(&self) -> &[i64];
    /// Steps, in bytes, of any sign.
    fn strides(&self) -> &[i64];
    /// Number of dimensions.
    fn ndim(&self) -> usize;
    /// Number of elements.
    fn size(&self) -> usize;
    /// The type of an element.
    fn dtype(&self) -> DType;
    /// The fields of a structured type.
    fn descr(&self) -> Descr;
    /// Address of the first element; 0 if there are no elements.
    fn data(&self) -> u64;
    /// Whether the memory must not be written.
    fn is_readonly(&self) -> bool;
    /// Whether the producer gave strides.
    fn strides_given(&self) -> bool;
    /// The kind of device of the memory.
    fn device_type(&self) -> DeviceType;
    /// The device's ordinal, if it is known.
    fn device_id(&self) -> Option<u32>;
    /// What the producer states about pending work on the array.
    fn pending(&self) -> Pending;
    /// The version of the producer's interface, for information only.
    fn version(&self) -> u32;
    /// The mask, if not all elements are valid.
    fn mask(&self) -> Option<ArrayRef<'_>>;
    /// What follows from shape, strides and item size.
    fn layout(&self) -> Layout;
    /// The elements as a `T` each.
    ///
    /// # Errors
    /// As there.
    fn view<T: Element>(&self) -> Result<View<'_, T>>;
    /// A view of part of the array.
    ///
    /// # Errors
    /// As there.
    fn slice(&self, items: &[Index]) -> Result<Array>;
    /// A view of another shape.
    ///
    /// # Errors
    /// As there.
    fn reshape(&self, shape: &[i64]) -> Result<Array>;
    /// A view with its axes reversed.
    ///
    /// # Errors
    /// As there.
    fn transpose(&self) -> Result<Array>;
    /// A view with its axes in another order.
    ///
    /// # Errors
    /// As there.
    fn permute(&self, axes: &[i32]) -> Result<Array>;
    /// A read-only view of a larger shape.
    ///
    /// # Errors
    /// As there.
    fn broadcast(&self, shape: &[i64]) -> Result<Array>;
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
            .field("dtype", &self.dtype())
            .field("data", &format_args!("{:#x}", self.data()))
            .field("device", &(self.device_type(), self.device_id()))
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}
