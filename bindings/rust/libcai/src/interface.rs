// SPDX-License-Identifier: BSD-3-Clause
//! The dict of the interface, read and written.

use std::fmt;
use std::mem;
use std::ptr;

use crate::array::ArrayRef;
use crate::error::{Error, Result, ask, call};
use crate::finding::{self, Finding};
use crate::sys;
use crate::value::{self, RawValues, Value};

/// The interface that a dict belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Protocol {
    /// `__cuda_array_interface__`.
    #[default]
    Cuda,
    /// NumPy's `__array_interface__`: host memory, and no stream.
    Host,
}

/// How strictly an interface is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// For import: accepts every value whose meaning is certain.
    Lenient,
    /// For producers: the text of version 3 to the letter.
    Strict,
}

impl Strictness {
    fn to_raw(self) -> u32 {
        match self {
            Self::Lenient => sys::CAI_LENIENT,
            Self::Strict => sys::CAI_STRICT,
        }
    }
}

/// The raw values of a dict, by its keys. Set the values that the dict has, without judging them.
///
/// ```
/// use libcai::{Entry, Interface, Strictness, Value};
///
/// let mut interface = Interface::default();
/// interface.shape = [2, 3].into();
/// interface.typestr = "<f4".into();
/// interface.data = Value::Tuple([0x7f00_0000_0000.into(), false.into()].into());
/// interface.version = 3.into();
/// let described = interface.read(Strictness::Strict)?;
/// // SAFETY: the array is only inspected.
/// let array = unsafe { described.borrow() };
/// assert_eq!(array.strides(), [12, 4]);
///
/// interface.shape = [2, -3].into();
/// assert_eq!(interface.read(Strictness::Lenient).unwrap_err().entry(), Some(Entry::Shape));
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the dict's own keys
pub struct Interface<'a> {
    /// The interface that it belongs to.
    pub protocol: Protocol,
    /// The dict itself, or the object in its place.
    pub dict: Value<'a>,
    pub shape: Value<'a>,
    pub typestr: Value<'a>,
    pub data: Value<'a>,
    pub version: Value<'a>,
    pub strides: Value<'a>,
    pub descr: Value<'a>,
    pub mask: Value<'a>,
    /// Of [`Protocol::Cuda`] only.
    pub stream: Value<'a>,
    /// Of [`Protocol::Host`] only.
    pub offset: Value<'a>,
}

impl Default for Interface<'_> {
    /// A dict of [`Protocol::Cuda`] with no keys.
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            dict: Value::Dict("a dict".into()),
            shape: Value::Missing,
            typestr: Value::Missing,
            data: Value::Missing,
            version: Value::Missing,
            strides: Value::Missing,
            descr: Value::Missing,
            mask: Value::Missing,
            stream: Value::Missing,
            offset: Value::Missing,
        }
    }
}

impl<'a> Interface<'a> {
    pub(crate) fn values(&self) -> [&Value<'a>; 10] {
        [
            &self.dict,
            &self.shape,
            &self.typestr,
            &self.data,
            &self.version,
            &self.strides,
            &self.descr,
            &self.mask,
            &self.stream,
            &self.offset,
        ]
    }

    /// Reads the dict: `cai_interface_read()`, the one place that applies the rules of the text.
    ///
    /// # Errors
    /// [`Error::Value`] or [`Error::Type`], with the entry; [`Error::Memory`].
    pub fn read(&self, strictness: Strictness) -> Result<Described> {
        self.read_with(strictness, None)
    }

    /// Likewise, and returns all findings; errors come in the order in which they are found.
    ///
    /// ```
    /// use libcai::{Entry, Interface, Strictness, Severity};
    ///
    /// let findings = Interface::default().findings(Strictness::Strict)?;
    /// assert!(findings.iter().any(|finding| finding.entry == Some(Entry::Shape)));
    /// assert_eq!(findings[0].severity, Severity::Error);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Memory`]. A refused dict is a finding, not an error.
    pub fn findings(&self, strictness: Strictness) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        match self.read_with(strictness, Some(&mut findings)) {
            Ok(_) | Err(Error::Value(_) | Error::Type(_)) => Ok(findings),
            Err(error) => Err(error),
        }
    }

    fn read_with(
        &self,
        strictness: Strictness,
        findings: Option<&mut Vec<Finding>>,
    ) -> Result<Described> {
        let mut values = RawValues::default();
        let mask = match &self.mask {
            Value::Interface(mask) => Some(mask.to_raw(&mut values, ptr::null())),
            _ => None,
        };
        let raw = self.to_raw(&mut values, mask.as_ref().map_or(ptr::null(), ptr::from_ref));
        let (on_finding, context) = finding::collect(findings);
        // SAFETY: the struct is filled in, and all that it points to lives.
        let size = unsafe { sys::cai_interface_storage(&raw) };
        let mut storage = vec![0u64; size.div_ceil(8) as usize];
        // SAFETY: likewise; the storage is as large as C is told, and the context is what
        // on_finding takes.
        let array = ask(|out, error| unsafe {
            let storage = storage.as_mut_ptr().cast();
            sys::cai_interface_read(
                &raw,
                strictness.to_raw(),
                on_finding,
                context,
                storage,
                size,
                out,
                error,
            )
        })?;
        Ok(Described { array, _storage: storage })
    }

    /// The struct for C, which points into `values` and `self`. A mask has no mask, so that there is
    /// none to unpack.
    fn to_raw(
        &self,
        values: &mut RawValues,
        mask_interface: *const sys::cai_interface,
    ) -> sys::cai_interface {
        sys::cai_interface {
            struct_size: size_of::<sys::cai_interface>() as u32,
            protocol: match self.protocol {
                Protocol::Cuda => sys::CAI_PROTOCOL_CUDA,
                Protocol::Host => sys::CAI_PROTOCOL_HOST,
            },
            dict: values.add(&self.dict),
            shape: values.add(&self.shape),
            typestr: values.add(&self.typestr),
            data: values.add(&self.data),
            version: values.add(&self.version),
            strides: values.add(&self.strides),
            descr: values.add(&self.descr),
            mask: values.add(&self.mask),
            stream: values.add(&self.stream),
            offset: values.add(&self.offset),
            mask_interface,
        }
    }
}

impl Interface<'static> {
    /// Writes an array as a dict: `cai_interface_write()`. Strides are `None` if and only if the
    /// array is C-contiguous. For an unstated stream the dict names the stream that a provider
    /// returns, or 1.
    ///
    /// The dict's stream comes after the uses that the owner has kept: where it does not already,
    /// it is made to wait. So write an array anew for each reader. The host waits for pending work
    /// of CPU streams.
    ///
    /// `version` is 3, or 2, which has no "stream".
    ///
    /// ```
    /// use libcai::{Array, Interface, Value};
    ///
    /// let array = Array::from_vec(vec![0f32; 6], &[2, 3])?;
    /// let interface = Interface::write(array.borrow(), 3)?;
    /// assert_eq!(interface.shape, Value::from([2, 3]));
    /// assert_eq!(interface.strides, Value::None);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Export`] if a dict cannot express the array: an event, a stream in version 2, a
    /// device that is neither CPU nor CUDA, another thread's stream 2, and no stream where the
    /// owner has kept uses; [`Error::State`] if the memory was freed; [`Error::Argument`] for
    /// another version; and, where the stream has to wait, as `cai_array_publish()`.
    pub fn write(array: ArrayRef<'_>, version: u32) -> Result<Self> {
        let array = ptr::from_ref(array.as_raw());
        // SAFETY: the array is valid.
        let size = unsafe { sys::cai_interface_write_storage(array) };
        let mut storage = vec![0u64; size.div_ceil(8) as usize];
        // SAFETY: all zeros is a struct of numbers and pointers.
        let mut raw: sys::cai_interface = unsafe { mem::zeroed() };
        raw.struct_size = size_of_val(&raw) as u32;
        // SAFETY: the array is valid, and the storage is as large as C is told.
        call(|error| unsafe {
            let storage = storage.as_mut_ptr().cast();
            sys::cai_interface_write(array, version, storage, size, &mut raw, error)
        })?;
        // SAFETY: it points into the storage and the array, which are both there.
        Ok(unsafe { Self::from_raw(&raw) })
    }

    /// Copies a C struct.
    ///
    /// # Safety
    /// What it points to can be read; its mask's interface, if any, has none itself.
    unsafe fn from_raw(raw: &sys::cai_interface) -> Self {
        // SAFETY: the caller guarantees it.
        let value = |raw| unsafe { value::read(raw) };
        Self {
            protocol: match raw.protocol {
                sys::CAI_PROTOCOL_HOST => Protocol::Host,
                _ => Protocol::Cuda,
            },
            dict: value(&raw.dict),
            shape: value(&raw.shape),
            typestr: value(&raw.typestr),
            data: value(&raw.data),
            version: value(&raw.version),
            strides: value(&raw.strides),
            descr: value(&raw.descr),
            // SAFETY: NULL, or the mask's struct.
            mask: match unsafe { raw.mask_interface.as_ref() } {
                // SAFETY: likewise.
                Some(mask) => unsafe { Self::from_raw(mask) }.into(),
                None => value(&raw.mask),
            },
            stream: value(&raw.stream),
            offset: value(&raw.offset),
        }
    }
}

/// An array as an interface describes it, not yet checked against memory.
pub struct Described {
    array: sys::cai_array,
    /// What the array points to.
    _storage: Vec<u64>,
}

// SAFETY: nothing changes what was read.
unsafe impl Send for Described {}
// SAFETY: likewise.
unsafe impl Sync for Described {}

impl Described {
    /// The array; its device is CUDA with no ordinal, or the CPU. [`ArrayRef::own()`] makes an
    /// owned array of it.
    ///
    /// # Safety
    /// Wherever the array is used, the memory and the stream are as the interface states.
    /// Inspecting the array has no requirement.
    ///
    /// # Panics
    /// Never: what was read is valid.
    pub unsafe fn borrow(&self) -> ArrayRef<'_> {
        // SAFETY: the storage lives as long as this does; the caller guarantees the rest.
        unsafe { ArrayRef::from_raw(&self.array) }.expect("what was read is valid")
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the array is only looked at.
        f.debug_tuple("Described").field(&unsafe { self.borrow() }).finish()
    }
}
