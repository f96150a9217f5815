// SPDX-License-Identifier: BSD-3-Clause
//! Arrays of memory that Rust owns.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use crate::array::{Array, ArrayRef, DeviceType, Pending};
use crate::descr::{Descr, RawFields, is_swapped};
use crate::dtype::{DType, Element};
use crate::error::{Entry, Error, Result, ask};
use crate::failure::{Failed, Release, give};
use crate::sys;

/// The description of an array for [`own()`](Self::own): memory of a GPU with a type, a shape and
/// an address. By default it is C-contiguous, writable, without mask or fields, and has no pending
/// work.
///
/// ```
/// use libcai::{ArrayBuilder, DType, DeviceType, Pending};
///
/// struct Buffer {
///     address: u64,
/// }
///
/// impl Drop for Buffer {
///     fn drop(&mut self) { /* frees it */ }
/// }
///
/// let buffer = Buffer { address: 0x7f00_0000_0000 };
/// let array = ArrayBuilder::new(buffer.address, DType::of::<f32>(), &[2, 3])
///     .device(DeviceType::Cuda, Some(0))
///     .pending(Pending::Stream(1));
/// // SAFETY: the buffer is that large, lives until it is dropped, and is written on stream 1 only.
/// let array = unsafe { array.own(buffer) }?;
/// assert_eq!(array.strides(), [12, 4]);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ArrayBuilder<'a> {
    data: u64,
    dtype: DType,
    shape: &'a [i64],
    strides: Option<&'a [i64]>,
    device_type: DeviceType,
    device_id: Option<u32>,
    pending: Pending,
    is_readonly: bool,
    mask: Option<ArrayRef<'a>>,
    descr: &'a Descr,
}

impl<'a> ArrayBuilder<'a> {
    /// Begins with the address of the first element (ignored if there are no elements), the
    /// elements' type, and the extents in elements.
    pub fn new(data: u64, dtype: DType, shape: &'a [i64]) -> Self {
        Self {
            data,
            dtype,
            shape,
            strides: None,
            device_type: DeviceType::Cuda,
            device_id: None,
            pending: Pending::Nothing,
            is_readonly: false,
            mask: None,
            descr: Descr::NONE,
        }
    }

    /// Sets the steps, in bytes, of any sign; one for each extent.
    pub fn strides(mut self, strides: &'a [i64]) -> Self {
        self.strides = Some(strides);
        self
    }

    /// Sets the device of the memory; its ordinal is `None` if it is not known.
    pub fn device(mut self, device_type: DeviceType, id: Option<u32>) -> Self {
        self.device_type = device_type;
        self.device_id = id;
        self
    }

    /// Sets the work that may be pending on the memory.
    pub fn pending(mut self, pending: Pending) -> Self {
        self.pending = pending;
        self
    }

    /// Marks the memory as read-only.
    pub fn readonly(mut self) -> Self {
        self.is_readonly = true;
        self
    }

    /// Sets the mask: elements are valid where `mask`, which broadcasts to this array's shape, is
    /// true. The owner must keep the mask's memory alive as well.
    pub fn mask(mut self, mask: ArrayRef<'a>) -> Self {
        self.mask = Some(mask);
        self
    }

    /// Sets the fields of an element. Its [`DType`] may be of any kind, and is authoritative. The
    /// sizes of the fields add up to the item's; padding is a field with no name.
    pub fn descr(mut self, descr: &'a Descr) -> Self {
        self.descr = descr;
        self
    }

    /// Makes the array: `cai_array_own()`. `owner` is moved to the heap, and dropped once, on any
    /// thread, when the last reference is dropped and all kept uses are complete. If it panics
    /// then, the panic stops there, and is reported as a failure.
    ///
    /// # Safety
    /// While the owner is not dropped:
    /// - the memory is as described: all of it is valid, and may be read, and, unless it is marked
    ///   read-only, written; so is the mask's.
    /// - the given stream or event lives, and pending work on the memory comes before it; and code
    ///   that uses the memory other than by this array does so in that stream's order.
    ///
    /// # Errors
    /// [`Error::Value`], with the entry, if the array is invalid; [`Error::Argument`] if there is
    /// not one stride for each extent; [`Error::Memory`]. The owner is returned with it.
    pub unsafe fn own<T: Send + 'static>(self, owner: T) -> Result<Array, Failed<T>> {
        let raw = give(owner, |release, context| {
            // SAFETY: the struct is filled in, and what it points to is there.
            self.with_raw(|raw| unsafe { own_raw(raw, release, context) })
        })?;
        // SAFETY: C made an owned array with one reference.
        Ok(unsafe { Array::from_raw(raw) })
    }

    /// Calls `body` with the C array, which points into the builder.
    fn with_raw<R>(&self, body: impl FnOnce(&sys::cai_array) -> Result<R>) -> Result<R> {
        let ndim = self.shape.len();
        if ndim > MAX_NDIM {
            let message = format!("shape has {ndim} dimensions, more than {MAX_NDIM}");
            return Err(Error::of(sys::CAI_ERR_VALUE, Entry::Shape, message));
        }
        let contiguous = c_strides(self.shape, self.dtype.itemsize());
        let strides = self.strides.unwrap_or(&contiguous[..ndim]);
        if strides.len() != ndim {
            let message = format!("strides are {strides:?}, but there are {ndim} dimensions");
            return Err(Error::of(sys::CAI_ERR_ARGUMENT, Entry::Strides, message));
        }
        let device_id = self.device_id.map_or(Ok(-1), i32::try_from).map_err(|_| {
            let message = format!("data is on device {:?}", self.device_id);
            Error::of(sys::CAI_ERR_ARGUMENT, Entry::Data, message)
        })?;
        let mut fields = RawFields::default();
        let descr = fields.add(self.descr)?;
        // A mask's owner could only be this array's, which does not exist yet.
        let mask =
            self.mask.map(|mask| sys::cai_array { owner: ptr::null_mut(), ..*mask.as_raw() });
        let (stream_kind, stream) = self.pending.to_raw();
        body(&sys::cai_array {
            abi_major: sys::CAI_ABI_MAJOR,
            abi_minor: sys::CAI_ABI_MINOR,
            flags: self.flags(),
            owner: ptr::null_mut(),
            data: if self.shape.contains(&0) { 0 } else { self.data },
            device_type: self.device_type.to_raw(),
            device_id,
            dtype: self.dtype.to_raw(),
            ndim: ndim as i32,
            shape: self.shape.as_ptr(),
            strides: strides.as_ptr(),
            stream,
            stream_kind,
            version: sys::CAI_INTERFACE_VERSION,
            mask: mask.as_ref().map_or(ptr::null(), ptr::from_ref),
            descr,
            reserved0: 0,
            descr_count: self.descr.len() as u32,
            reserved1: 0,
            reserved2: 0,
            reserved3: 0,
        })
    }

    fn flags(&self) -> u32 {
        let swapped = is_swapped(self.dtype) || self.descr.is_swapped();
        [
            (self.strides.is_none(), sys::CAI_FLAG_STRIDES_NONE),
            (self.is_readonly, sys::CAI_FLAG_READONLY),
            (self.mask.is_some(), sys::CAI_FLAG_MASKED),
            (swapped, sys::CAI_FLAG_SWAPPED),
        ]
        .iter()
        .fold(0, |flags, &(is_set, flag)| if is_set { flags | flag } else { flags })
    }
}

const MAX_NDIM: usize = sys::CAI_MAX_NDIM as usize;

/// The steps, in bytes, of contiguous elements; C checks for overflow.
fn c_strides(shape: &[i64], itemsize: usize) -> [i64; MAX_NDIM] {
    let mut strides = [0; MAX_NDIM];
    let mut step = itemsize as i64;
    for (stride, &extent) in strides[..shape.len()].iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(extent.max(1));
    }
    strides
}

/// Makes an owned array; the caller owns one reference.
///
/// # Safety
/// What `raw` points to can be read, and `release` may be called once with `context`.
unsafe fn own_raw(
    raw: &sys::cai_array,
    release: Release,
    context: *mut c_void,
) -> Result<NonNull<sys::cai_array>> {
    // SAFETY: the caller guarantees it.
    let made = ask(|out, error| unsafe { sys::cai_array_own(raw, release, context, out, error) })?;
    // SAFETY: a call that succeeds gives an array.
    Ok(unsafe { NonNull::new_unchecked(made) })
}

impl ArrayRef<'_> {
    /// Makes an owned array of a borrowed one: `cai_array_own()`. The memory is not copied, and no
    /// reference to the array's own owner, if any, is added. `owner` is dropped as with
    /// [`ArrayBuilder::own()`].
    ///
    /// # Safety
    /// As [`ArrayBuilder::own()`], for this array's description.
    ///
    /// # Errors
    /// [`Error::Memory`]. The owner is returned with it.
    pub unsafe fn own<T: Send + 'static>(self, owner: T) -> Result<Array, Failed<T>> {
        // SAFETY: the array is valid.
        let raw =
            give(owner, |release, context| unsafe { own_raw(self.as_raw(), release, context) })?;
        // SAFETY: C made an owned array with one reference.
        Ok(unsafe { Array::from_raw(raw) })
    }
}

impl Array {
    /// Makes an array in host memory, in C order, of a vector, without a copy.
    ///
    /// ```
    /// use libcai::{Array, DeviceType};
    ///
    /// let array = Array::from_vec(vec![1.5f64, 2.5], &[2, 1])?;
    /// assert_eq!(array.device_type(), DeviceType::Cpu);
    ///
    /// let refused = Array::from_vec(vec![1.5f64, 2.5], &[3]).unwrap_err();
    /// assert_eq!(refused.value, [1.5, 2.5]);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`], with entry shape, if the vector does not have as many elements; else as
    /// [`ArrayBuilder::own()`]. The vector is returned with it.
    pub fn from_vec<T: Element>(mut vec: Vec<T>, shape: &[i64]) -> Result<Self, Failed<Vec<T>>> {
        if let Err(error) = check_size(shape, vec.len()) {
            return Err(Failed { error, value: vec });
        }
        let data = vec.as_mut_ptr().expose_provenance() as u64;
        let array = ArrayBuilder::new(data, T::DTYPE, shape).device(DeviceType::Cpu, Some(0));
        // SAFETY: the vector keeps its memory where it is until it is dropped, and nobody else has it.
        unsafe { array.own(vec) }
    }
}

/// Whether a shape holds `len` elements.
pub(crate) fn check_size(shape: &[i64], len: usize) -> Result<()> {
    let size = shape.iter().try_fold(1usize, |size, &extent| {
        usize::try_from(extent).ok().and_then(|extent| size.checked_mul(extent))
    });
    if size == Some(len) {
        return Ok(());
    }
    let message = format!("shape {shape:?} does not hold {len} elements");
    Err(Error::of(sys::CAI_ERR_ARGUMENT, Entry::Shape, message))
}
