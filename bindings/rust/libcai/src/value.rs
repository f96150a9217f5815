// SPDX-License-Identifier: BSD-3-Clause
//! Raw values of an interface's dict, before they are judged.

use std::borrow::Cow;
use std::ffi::c_char;
use std::ops::Deref;
use std::ptr;
use std::slice;

use crate::interface::Interface;
use crate::sys;

/// A producer's value. The names are Python's, whose types the text of the interface distinguishes;
/// other languages use `Missing`, `None`, `Int`, `Bool`, `Float`, `Text` and `Tuple`.
///
/// ```
/// use libcai::Value;
///
/// assert_eq!(Value::from(3), Value::Int(3));
/// assert_eq!(Value::from("<f4"), Value::Text(b"<f4".into()));
/// assert_eq!(Value::from([2, 3]), Value::Tuple([Value::Int(2), Value::Int(3)].into()));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Value<'a> {
    /// The dict has no such key.
    #[default]
    Missing,
    /// `None`.
    None,
    /// Exactly an `int`.
    Int(i128),
    /// An integer by `__index__`; subclasses of `int` too.
    Index(i128),
    /// A `bool`.
    Bool(bool),
    /// A `float`, in printed form.
    Float(Cow<'a, str>),
    /// Exactly a `str`: UTF-8 is expected, and checked.
    Text(Cow<'a, [u8]>),
    /// A subclass of `str`.
    TextSubclass(Cow<'a, [u8]>),
    /// `bytes`.
    Bytes(Cow<'a, [u8]>),
    /// Exactly a `tuple`.
    Tuple(Items<'a>),
    /// A subclass of `tuple`.
    TupleSubclass(Items<'a>),
    /// A `list`, or a subclass of it.
    List(Items<'a>),
    /// Exactly a `dict`, in printed form.
    Dict(Cow<'a, str>),
    /// A subclass of `dict`, in printed form.
    DictSubclass(Cow<'a, str>),
    /// An object that is no dict but has its items, in printed form.
    Mapping(Cow<'a, str>),
    /// Any other object, in printed form.
    Object(Cow<'a, str>),
    /// An object with an interface of its own: a mask.
    Interface(MaskInterface<'a>),
}

impl Value<'_> {
    /// The number of levels in it.
    fn levels(&self) -> usize {
        match self {
            Self::Tuple(items) | Self::TupleSubclass(items) | Self::List(items) => items.levels,
            Self::Interface(mask) => mask.levels,
            _ => 0,
        }
    }
}

/// More levels than any readable descr has: two for each of `CAI_MAX_DESCR_DEPTH` lists.
const MAX_LEVELS: usize = 2 * sys::CAI_MAX_DESCR_DEPTH + 6;

/// The level above these values, if it can be.
fn level_above<'v, 'a: 'v>(values: impl IntoIterator<Item = &'v Value<'a>>) -> Option<usize> {
    let levels = 1 + values.into_iter().map(Value::levels).max().unwrap_or(0);
    (levels <= MAX_LEVELS).then_some(levels)
}

/// The items of a tuple or a list. Items that are nested deeper than any readable value are
/// dropped, so that every value can be copied, printed and dropped; only their number is kept, and
/// such a value is refused as nested too deep.
///
/// ```
/// use libcai::{Interface, Strictness, Value};
///
/// let mut interface = Interface::default();
/// for _ in 0..1000 {
///     interface.descr = Value::List([interface.descr].into());
/// }
/// assert!(interface.read(Strictness::Lenient).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Items<'a> {
    values: Vec<Value<'a>>, // none if they were dropped
    length: u32,
    levels: usize,
}

impl<'a> From<Vec<Value<'a>>> for Items<'a> {
    fn from(values: Vec<Value<'a>>) -> Self {
        let length = length_of(&values);
        match level_above(&values) {
            Some(levels) => Self { values, length, levels },
            None => Self { values: Vec::new(), length, levels: 1 },
        }
    }
}

impl<'a, const N: usize> From<[Value<'a>; N]> for Items<'a> {
    fn from(values: [Value<'a>; N]) -> Self {
        Vec::from(values).into()
    }
}

impl<'a> FromIterator<Value<'a>> for Items<'a> {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<'a> Deref for Items<'a> {
    type Target = [Value<'a>];

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

/// The interface of a mask, of `Value::from(interface)`.
#[derive(Debug, Clone, PartialEq)]
pub struct MaskInterface<'a> {
    interface: Box<Interface<'a>>,
    levels: usize,
}

impl<'a> Deref for MaskInterface<'a> {
    type Target = Interface<'a>;

    fn deref(&self) -> &Self::Target {
        &self.interface
    }
}

impl<'a> From<Interface<'a>> for Value<'a> {
    /// A mask. One that is nested deeper than any readable value, see [`Items`], becomes an object
    /// without an interface.
    fn from(interface: Interface<'a>) -> Self {
        match level_above(interface.values()) {
            Some(levels) => {
                Self::Interface(MaskInterface { interface: Box::new(interface), levels })
            }
            None => Self::Object("an object that is nested too deep".into()),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value.as_bytes().into())
    }
}

impl<'a, T: Into<Value<'a>>, const N: usize> From<[T; N]> for Value<'a> {
    /// A tuple.
    fn from(items: [T; N]) -> Self {
        Self::Tuple(items.into_iter().map(Into::into).collect())
    }
}

/// Values for C. The vectors do not move what they hold when they are moved themselves.
#[derive(Default)]
pub(crate) struct RawValues {
    items: Vec<Vec<sys::cai_value>>,
    digits: Vec<Vec<u8>>,
}

impl RawValues {
    /// Returns the C form of a value, which points into `self` and `value`.
    pub(crate) fn add(&mut self, value: &Value<'_>) -> sys::cai_value {
        match value {
            Value::Missing => of_form(sys::CAI_FORM_MISSING),
            Value::None => of_form(sys::CAI_FORM_NONE),
            Value::Int(value) => self.add_integer(sys::CAI_FORM_INT, *value),
            Value::Index(value) => self.add_integer(sys::CAI_FORM_INDEX, *value),
            Value::Bool(value) => {
                sys::cai_value { integer: (*value).into(), ..of_form(sys::CAI_FORM_BOOL) }
            }
            Value::Float(text) => of_text(sys::CAI_FORM_FLOAT, text.as_bytes()),
            Value::Text(text) => of_text(sys::CAI_FORM_TEXT, text),
            Value::TextSubclass(text) => of_text(sys::CAI_FORM_TEXT_SUBCLASS, text),
            Value::Bytes(text) => of_text(sys::CAI_FORM_BYTES, text),
            Value::Tuple(items) => self.add_items(sys::CAI_FORM_TUPLE, items),
            Value::TupleSubclass(items) => self.add_items(sys::CAI_FORM_TUPLE_SUBCLASS, items),
            Value::List(items) => self.add_items(sys::CAI_FORM_LIST, items),
            Value::Dict(text) => of_text(sys::CAI_FORM_DICT, text.as_bytes()),
            Value::DictSubclass(text) => of_text(sys::CAI_FORM_DICT_SUBCLASS, text.as_bytes()),
            Value::Mapping(text) => of_text(sys::CAI_FORM_MAPPING, text.as_bytes()),
            Value::Object(text) => of_text(sys::CAI_FORM_OBJECT, text.as_bytes()),
            Value::Interface(_) => of_form(sys::CAI_FORM_INTERFACE),
        }
    }

    fn add_integer(&mut self, form: u8, value: i128) -> sys::cai_value {
        let (integer, range) = match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => (value as u64, sys::CAI_RANGE_INT64),
            (_, Ok(value)) => (value, sys::CAI_RANGE_UINT64),
            _ => {
                self.digits.push(value.to_string().into_bytes());
                let digits = of_text(form, &self.digits[self.digits.len() - 1]);
                return sys::cai_value { range: sys::CAI_RANGE_BEYOND, ..digits };
            }
        };
        sys::cai_value { integer, range, ..of_form(form) }
    }

    fn add_items(&mut self, form: u8, items: &Items<'_>) -> sys::cai_value {
        let all = sys::cai_value { length: items.length, ..of_form(form) };
        if items.is_empty() {
            return all; // NULL: there are none, or they were dropped
        }
        let raw = items.iter().map(|item| self.add(item)).collect();
        self.items.push(raw);
        sys::cai_value { items: self.items[self.items.len() - 1].as_ptr(), ..all }
    }
}

fn of_form(form: u8) -> sys::cai_value {
    sys::cai_value {
        integer: 0,
        text: ptr::null(),
        items: ptr::null(),
        length: 0,
        form,
        range: sys::CAI_RANGE_INT64,
        reserved: 0,
    }
}

fn of_text(form: u8, text: &[u8]) -> sys::cai_value {
    let start = text.as_ptr().cast::<c_char>();
    sys::cai_value { text: start, length: length_of(text), ..of_form(form) }
}

/// A length that C cannot count is cut; it is invalid in any case.
fn length_of<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// Copies a C value; the caller copies a mask's own interface.
///
/// # Safety
/// What `raw` points to can be read, as its form says.
pub(crate) unsafe fn read(raw: &sys::cai_value) -> Value<'static> {
    let bytes = || match raw.text.is_null() {
        true => Vec::new(),
        // SAFETY: as many bytes can be read.
        false => unsafe { slice::from_raw_parts(raw.text.cast(), raw.length as usize) }.to_vec(),
    };
    let text = || String::from_utf8_lossy(&bytes()).into_owned().into();
    let items = || {
        let length = if raw.items.is_null() { 0 } else { raw.length as usize };
        // SAFETY: as many items can be read.
        (0..length).map(|i| unsafe { read(&*raw.items.add(i)) }).collect()
    };
    match raw.form {
        sys::CAI_FORM_MISSING => Value::Missing,
        sys::CAI_FORM_NONE => Value::None,
        sys::CAI_FORM_INT | sys::CAI_FORM_INDEX if raw.range == sys::CAI_RANGE_BEYOND => {
            Value::Object(text())
        }
        sys::CAI_FORM_INT => Value::Int(integer(raw)),
        sys::CAI_FORM_INDEX => Value::Index(integer(raw)),
        sys::CAI_FORM_BOOL => Value::Bool(raw.integer != 0),
        sys::CAI_FORM_FLOAT => Value::Float(text()),
        sys::CAI_FORM_TEXT => Value::Text(bytes().into()),
        sys::CAI_FORM_TEXT_SUBCLASS => Value::TextSubclass(bytes().into()),
        sys::CAI_FORM_BYTES => Value::Bytes(bytes().into()),
        sys::CAI_FORM_TUPLE => Value::Tuple(items()),
        sys::CAI_FORM_TUPLE_SUBCLASS => Value::TupleSubclass(items()),
        sys::CAI_FORM_LIST => Value::List(items()),
        sys::CAI_FORM_DICT => Value::Dict(text()),
        sys::CAI_FORM_DICT_SUBCLASS => Value::DictSubclass(text()),
        sys::CAI_FORM_MAPPING => Value::Mapping(text()),
        _ => Value::Object(text()),
    }
}

fn integer(raw: &sys::cai_value) -> i128 {
    match raw.range {
        sys::CAI_RANGE_UINT64 => raw.integer.into(),
        _ => (raw.integer as i64).into(),
    }
}
