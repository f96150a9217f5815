// SPDX-License-Identifier: BSD-3-Clause
//! The fields of a structured type.

use std::ffi::{CStr, CString};
use std::ptr;

use crate::dtype::{ByteOrder, DType};
use crate::error::{Entry, Error, Result};
use crate::sys;

/// One field of a structured type: one item of a dict's "descr".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty for padding, and for a type with no name.
    pub name: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Bytes from the start of the enclosing item: those of all fields before, padding among them.
    pub offset: u64,
    /// The type of one element, of kind [`Void`](crate::Kind::Void) if there are nested fields.
    pub dtype: DType,
    /// Extents of a sub-array, in elements; mostly none.
    pub shape: Vec<i64>,
    /// The nested fields.
    pub fields: Vec<Field>,
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
            fields: Vec::new(),
        }
    }

    /// Whether the byte order of the field, or of one nested in it, is not the host's.
    pub(crate) fn is_swapped(&self) -> bool {
        is_swapped(self.dtype) || self.fields.iter().any(Self::is_swapped)
    }
}

/// Whether the byte order is not the host's.
pub(crate) fn is_swapped(dtype: DType) -> bool {
    ![ByteOrder::NATIVE, ByteOrder::Irrelevant].contains(&dtype.byte_order())
}

/// Copies fields of C's.
///
/// # Safety
/// There are `count` of them, valid as a valid array's are, and they can be read.
pub(crate) unsafe fn read(fields: *const sys::cai_field, count: u32) -> Vec<Field> {
    // SAFETY: the caller's word.
    let field = |i| unsafe { read_one(&*fields.add(i)) };
    (0..count as usize).map(field).collect()
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
    /// Gives C's form of `fields`, NULL if there are none. It points into `self` and `fields`.
    pub(crate) fn add(&mut self, fields: &[Field]) -> Result<*const sys::cai_field> {
        self.add_list(fields, 0)
    }

    fn add_list(&mut self, fields: &[Field], depth: usize) -> Result<*const sys::cai_field> {
        if fields.is_empty() {
            return Ok(ptr::null());
        }
        if depth >= sys::CAI_MAX_DESCR_DEPTH || fields.len() > sys::CAI_MAX_DESCR_FIELDS {
            let message = format!("descr has {} fields at depth {depth}", fields.len());
            return Err(Error::of(sys::CAI_ERR_VALUE, Entry::Descr, message));
        }
        let list =
            fields.iter().map(|field| self.add_field(field, depth)).collect::<Result<_>>()?;
        self.lists.push(list);
        Ok(self.lists[self.lists.len() - 1].as_ptr())
    }

    fn add_field(&mut self, field: &Field, depth: usize) -> Result<sys::cai_field> {
        Ok(sys::cai_field {
            name: self.add_text(&field.name)?,
            title: field.title.as_ref().map_or(Ok(ptr::null()), |title| self.add_text(title))?,
            fields: self.add_list(&field.fields, depth + 1)?,
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
