// SPDX-License-Identifier: BSD-3-Clause
//! The fields of a structured type.

use std::ffi::{CStr, CString};
use std::ops::Deref;
use std::ptr;

use crate::dtype::{ByteOrder, DType};
use crate::error::{Entry, Error, Result};
use crate::sys;

/// The fields of a structured type, a dict's "descr", or of a nested field. Empty if they add
/// nothing to the [`DType`].
///
/// ```
/// use libcai::{DType, Descr, Field};
///
/// let (f32, u8) = (DType::of::<f32>(), DType::of::<u8>());
/// let pixel = Descr::new(vec![Field::new("value", f32, 0), Field::new("valid", u8, 4)])?;
/// assert_eq!(pixel[1].name, "valid");
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descr {
    fields: Vec<Field>,
    depth: usize,
}

impl Descr {
    /// No fields.
    pub(crate) const NONE: &'static Self = &Self { fields: Vec::new(), depth: 0 };

    /// Takes the fields of one list. [`ArrayBuilder::own()`] validates the rest.
    ///
    /// [`ArrayBuilder::own()`]: crate::ArrayBuilder::own
    ///
    /// # Errors
    /// [`Error::Value`], of entry descr, for more than `CAI_MAX_DESCR_FIELDS` of them, and for lists
    /// within lists that are deeper than `CAI_MAX_DESCR_DEPTH`.
    pub fn new(fields: Vec<Field>) -> Result<Self> {
        let (count, descr) = (fields.len(), Self::of(fields));
        if count > sys::CAI_MAX_DESCR_FIELDS || descr.depth > sys::CAI_MAX_DESCR_DEPTH {
            let message = format!("descr has {count} fields in {} nested lists", descr.depth);
            return Err(Error::of(sys::CAI_ERR_VALUE, Entry::Descr, message));
        }
        Ok(descr)
    }

    fn of(fields: Vec<Field>) -> Self {
        let depth = fields.iter().map(|field| 1 + field.fields.depth).max().unwrap_or(0);
        Self { fields, depth }
    }

    /// Whether the byte order of a field, or of one nested in it, is not the host's.
    pub(crate) fn is_swapped(&self) -> bool {
        self.iter().any(|field| is_swapped(field.dtype) || field.fields.is_swapped())
    }
}

impl Deref for Descr {
    type Target = [Field];

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

/// One field of a structured type: one item of a dict's "descr".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty for padding, and for a type with no name.
    pub name: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Bytes from the start of the enclosing item: those of all fields before, padding included.
    pub offset: u64,
    /// The type of one element, of kind [`Void`](crate::Kind::Void) if there are nested fields.
    pub dtype: DType,
    /// Extents of a sub-array, in elements; usually empty.
    pub shape: Vec<i64>,
    /// The nested fields.
    pub fields: Descr,
}

impl Field {
    /// A field of one element.
    ///
    /// ```
    /// use libcai::{DType, Field};
    ///
    /// let y = Field::new("y", DType::of::<f32>(), 4);
    /// assert_eq!((y.name.as_str(), y.offset), ("y", 4));
    /// ```
    pub fn new(name: impl Into<String>, dtype: DType, offset: u64) -> Self {
        Self {
            name: name.into(),
            title: None,
            offset,
            dtype,
            shape: Vec::new(),
            fields: Descr::default(),
        }
    }
}

/// Whether the byte order is not the host's.
pub(crate) fn is_swapped(dtype: DType) -> bool {
    ![ByteOrder::NATIVE, ByteOrder::Irrelevant].contains(&dtype.byte_order())
}

/// Copies C fields.
///
/// # Safety
/// There are `count` fields, valid as in a valid array, and they can be read.
pub(crate) unsafe fn read(fields: *const sys::cai_field, count: u32) -> Descr {
    // SAFETY: the caller guarantees it.
    let field = |i| unsafe { read_one(&*fields.add(i)) };
    Descr::of((0..count as usize).map(field).collect())
}

/// Likewise of one.
unsafe fn read_one(field: &sys::cai_field) -> Field {
    // SAFETY: a valid field's strings end in NUL.
    let text = |text| unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() };
    // SAFETY: a valid field has as many extents.
    let extent = |i| unsafe { *field.shape.add(i) };
    Field {
        name: text(field.name),
        title: (!field.title.is_null()).then(|| text(field.title)),
        offset: field.offset,
        dtype: DType::from_valid(field.dtype),
        shape: (0..field.ndim as usize).map(extent).collect(),
        // SAFETY: a valid field has as many, no deeper than CAI_MAX_DESCR_DEPTH.
        fields: unsafe { read(field.fields, field.field_count) },
    }
}

/// Fields for C. The vectors do not move what they hold when they are moved themselves.
#[derive(Default)]
pub(crate) struct RawFields {
    lists: Vec<Vec<sys::cai_field>>,
    texts: Vec<CString>,
}

impl RawFields {
    /// Returns the C form of `descr`, NULL if it is empty. It points into `self` and `descr`.
    pub(crate) fn add(&mut self, descr: &Descr) -> Result<*const sys::cai_field> {
        if descr.is_empty() {
            return Ok(ptr::null());
        }
        let list = descr.iter().map(|field| self.add_field(field)).collect::<Result<_>>()?;
        self.lists.push(list);
        Ok(self.lists[self.lists.len() - 1].as_ptr())
    }

    fn add_field(&mut self, field: &Field) -> Result<sys::cai_field> {
        Ok(sys::cai_field {
            name: self.add_text(&field.name)?,
            title: field.title.as_ref().map_or(Ok(ptr::null()), |title| self.add_text(title))?,
            fields: self.add(&field.fields)?,
            shape: field.shape.as_ptr(),
            offset: field.offset,
            dtype: field.dtype.to_raw(),
            // More than an i32 counts are refused in any case.
            ndim: i32::try_from(field.shape.len()).unwrap_or(i32::MAX),
            field_count: field.fields.len() as u32,
            reserved: 0,
        })
    }

    fn add_text(&mut self, text: &str) -> Result<*const std::ffi::c_char> {
        let text = CString::new(text).map_err(|_| {
            let message = format!("descr has the name {text:?}, which has a NUL");
            Error::of(sys::CAI_ERR_VALUE, Entry::Descr, message)
        })?;
        self.texts.push(text);
        Ok(self.texts[self.texts.len() - 1].as_ptr())
    }
}
