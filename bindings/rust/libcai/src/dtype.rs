// SPDX-License-Identifier: BSD-3-Clause
//! The type of an element.

use std::ffi::CStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::error::{Error, Result, ask, call};
use crate::numbered::numbered;
use crate::sys;

numbered! {
    /// The kind of an element, by the letter of its typestr.
    Kind: u8 {
        /// `b`: true or false, in one byte.
        Bool = b'b',
        /// `i`: a signed integer.
        Int = b'i',
        /// `u`: an unsigned integer.
        Uint = b'u',
        /// `f`: a floating-point number.
        Float = b'f',
        /// `c`: two floating-point numbers, the real one first.
        Complex = b'c',
        /// `m`: a span of time.
        Timedelta = b'm',
        /// `M`: a point in time.
        Datetime = b'M',
        /// `S`: bytes, filled up with zeros.
        Bytes = b'S',
        /// `U`: UCS-4 text.
        Unicode = b'U',
        /// `V`: anything else; see [`DType::ext()`] and [`ArrayRef::descr()`](crate::ArrayRef::descr).
        Void = b'V',
        /// `t`: one bit. Of a mask only.
        Bits = b't',
    }
}

numbered! {
    /// A type that a typestr cannot express.
    #[allow(missing_docs)] // the formats' own names
    Ext: u8 {
        Bfloat16 = sys::CAI_EXT_BFLOAT16,
        Float8E4m3fn = sys::CAI_EXT_FLOAT8_E4M3FN,
        Float8E5m2 = sys::CAI_EXT_FLOAT8_E5M2,
        Float8E4m3fnuz = sys::CAI_EXT_FLOAT8_E4M3FNUZ,
        Float8E5m2fnuz = sys::CAI_EXT_FLOAT8_E5M2FNUZ,
        Float8E4m3 = sys::CAI_EXT_FLOAT8_E4M3,
        Float8E3m4 = sys::CAI_EXT_FLOAT8_E3M4,
        Float8E4m3b11fnuz = sys::CAI_EXT_FLOAT8_E4M3B11FNUZ,
        Float8E8m0fnu = sys::CAI_EXT_FLOAT8_E8M0FNU,
    }
}

numbered! {
    /// The unit of a [`Kind::Timedelta`] or [`Kind::Datetime`].
    #[allow(missing_docs)] // units of time
    TimeUnit: u8 {
        Year = sys::CAI_TIME_Y,
        Month = sys::CAI_TIME_M,
        Week = sys::CAI_TIME_W,
        Day = sys::CAI_TIME_D,
        Hour = sys::CAI_TIME_H,
        Minute = sys::CAI_TIME_MIN,
        Second = sys::CAI_TIME_S,
        Millisecond = sys::CAI_TIME_MS,
        Microsecond = sys::CAI_TIME_US,
        Nanosecond = sys::CAI_TIME_NS,
        Picosecond = sys::CAI_TIME_PS,
        Femtosecond = sys::CAI_TIME_FS,
        Attosecond = sys::CAI_TIME_AS,
    }
}

/// The byte order of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// `<`: the least significant byte first.
    Little,
    /// `>`: the most significant byte first.
    Big,
    /// `|`: the order does not matter.
    Irrelevant,
}

impl ByteOrder {
    /// The host's.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };

    const fn to_raw(self) -> u8 {
        match self {
            Self::Little => b'<',
            Self::Big => b'>',
            Self::Irrelevant => b'|',
        }
    }
}

/// The type of an element: a typestr, and the extensions of [`Ext`].
///
/// ```
/// use libcai::{ByteOrder, DType, Kind};
///
/// let dtype: DType = "<f4".parse()?;
/// assert_eq!(dtype, DType::of::<f32>());
/// assert_eq!((dtype.kind(), dtype.itemsize()), (Kind::Float, 4));
/// assert_eq!(dtype.byte_order(), ByteOrder::Little);
/// assert_eq!(dtype.to_string(), "<f4");
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct DType(sys::cai_dtype);

impl DType {
    /// The type of a Rust type's values.
    #[inline]
    pub const fn of<T: Element>() -> Self {
        T::DTYPE
    }

    /// A type that a typestr cannot express.
    ///
    /// ```
    /// use libcai::{DType, Ext};
    ///
    /// let dtype = DType::extended(Ext::Float8E5m2)?;
    /// assert_eq!((dtype.itemsize(), dtype.to_string().as_str()), (1, "|V1"));
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for a type that the library does not know.
    pub fn extended(ext: Ext) -> Result<Self> {
        let itemsize = if ext == Ext::Bfloat16 { 2 } else { 1 };
        let raw = raw(Kind::Void, ByteOrder::Irrelevant, itemsize);
        Self::from_raw(sys::cai_dtype { ext: ext.to_raw(), ..raw })
    }

    /// Validates a C struct.
    ///
    /// # Errors
    /// [`Error::Value`], with entry typestr, if it is invalid.
    pub fn from_raw(raw: sys::cai_dtype) -> Result<Self> {
        let dtype = Self(raw);
        dtype.format(&mut [0; sys::CAI_TYPESTR_SIZE])?;
        Ok(dtype)
    }

    /// A type that C has validated.
    #[inline]
    pub(crate) const fn from_valid(raw: sys::cai_dtype) -> Self {
        Self(raw)
    }

    /// The type for C.
    #[inline]
    pub const fn to_raw(self) -> sys::cai_dtype {
        self.0
    }

    /// The kind of an element.
    pub fn kind(self) -> Kind {
        Kind::from_raw(self.0.kind)
    }

    /// Its byte order.
    pub fn byte_order(self) -> ByteOrder {
        match self.0.byteorder {
            b'<' => ByteOrder::Little,
            b'>' => ByteOrder::Big,
            _ => ByteOrder::Irrelevant,
        }
    }

    /// Bytes of an element, never 0; 1 for [`Kind::Bits`], where it means one bit.
    #[inline]
    pub fn itemsize(self) -> usize {
        self.0.itemsize as usize
    }

    /// The type that its typestr, of kind `V`, cannot express.
    pub fn ext(self) -> Option<Ext> {
        (self.0.ext != sys::CAI_EXT_NONE).then(|| Ext::from_raw(self.0.ext))
    }

    /// The unit of time, and the units in one tick: `(Second, 25)` for `<M8[25s]`. `None` if there
    /// is no unit.
    ///
    /// ```
    /// use libcai::{DType, TimeUnit};
    ///
    /// assert_eq!("<M8[25s]".parse::<DType>()?.time_unit(), Some((TimeUnit::Second, 25)));
    /// assert_eq!("<M8".parse::<DType>()?.time_unit(), None);
    /// # Ok::<(), libcai::Error>(())
    /// ```
    pub fn time_unit(self) -> Option<(TimeUnit, u32)> {
        (self.0.time_unit != sys::CAI_TIME_GENERIC)
            .then(|| (TimeUnit::from_raw(self.0.time_unit), self.0.time_step))
    }

    fn format(self, text: &mut [u8; sys::CAI_TYPESTR_SIZE]) -> Result<&str> {
        // SAFETY: the text has the size that the function asks for.
        call(|error| unsafe { sys::cai_dtype_format(&self.0, text.as_mut_ptr().cast(), error) })?;
        let text = CStr::from_bytes_until_nul(text).ok().and_then(|text| text.to_str().ok());
        Ok(text.unwrap_or_default()) // always text: it is ASCII
    }

    /// The whole type in as few numbers as possible: types are compared at each view.
    #[inline]
    fn key(self) -> (u32, u32, u32) {
        let sys::cai_dtype { kind, byteorder, ext, time_unit, itemsize, time_step } = self.0;
        (u32::from_ne_bytes([kind, byteorder, ext, time_unit]), itemsize, time_step)
    }
}

impl PartialEq for DType {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for DType {}

impl Hash for DType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Parses a typestr: `cai_dtype_parse()`. A missing byte order, `=` and `|` mean the host's.
    ///
    /// # Errors
    /// [`Error::Value`], of entry typestr.
    fn from_str(typestr: &str) -> Result<Self> {
        // SAFETY: the number of bytes is correct.
        let raw = ask(|out, error| unsafe {
            sys::cai_dtype_parse(typestr.as_ptr().cast(), typestr.len() as u64, out, error)
        })?;
        Ok(Self(raw))
    }
}

impl fmt::Display for DType {
    /// The canonical typestr; `<V2` for bfloat16, `|V1` for the float8 types; `?` if no library is
    /// loaded (feature `dynamic`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.format(&mut [0; sys::CAI_TYPESTR_SIZE]).unwrap_or("?"))
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ext() {
            Some(ext) => write!(f, "DType({ext:?})"),
            None => write!(f, "DType({self})"),
        }
    }
}

const fn raw(kind: Kind, order: ByteOrder, itemsize: u32) -> sys::cai_dtype {
    sys::cai_dtype {
        kind: kind.to_raw(),
        byteorder: order.to_raw(),
        ext: sys::CAI_EXT_NONE,
        time_unit: sys::CAI_TIME_GENERIC,
        itemsize,
        time_step: 0,
    }
}

/// The type, in the host's byte order, of values of the size of `T`.
const fn native<T>(kind: Kind) -> DType {
    let order = if size_of::<T>() == 1 { ByteOrder::Irrelevant } else { ByteOrder::NATIVE };
    DType(raw(kind, order, size_of::<T>() as u32))
}

/// A Rust type whose values are an array's elements.
///
/// # Safety
/// A value has the memory layout of an element of type [`DTYPE`](Self::DTYPE): the same size, no
/// padding, and no pointers. Any bytes are a valid value, except for kind `b`, where the byte is 0
/// or 1.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The type of such an element.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty: $kind:ident),+ $(,)?) => {$(
        // SAFETY: a plain number of the host's, or a bool, which is one byte.
        unsafe impl Element for $type {
            const DTYPE: DType = native::<Self>(Kind::$kind);
        }
    )+};
}

elements! {
    bool: Bool,
    i8: Int, i16: Int, i32: Int, i64: Int,
    u8: Uint, u16: Uint, u32: Uint, u64: Uint,
    f32: Float, f64: Float,
}

#[cfg(feature = "half")]
elements! { half::f16: Float }

#[cfg(feature = "half")]
// SAFETY: the upper half of an f32, in two bytes of the host's order.
unsafe impl Element for half::bf16 {
    const DTYPE: DType = DType(sys::cai_dtype {
        ext: sys::CAI_EXT_BFLOAT16,
        ..raw(Kind::Void, ByteOrder::Irrelevant, 2)
    });
}

#[cfg(feature = "num-complex")]
elements! { num_complex::Complex<f32>: Complex, num_complex::Complex<f64>: Complex }
