// SPDX-License-Identifier: BSD-3-Clause
//! Types of elements: what a typestr says, and which Rust types have one.

use std::collections::HashSet;

use libcai::{ByteOrder, DType, Element, Entry, Error, Ext, Kind, TimeUnit, sys};

fn parsed(typestr: &str) -> DType {
    typestr.parse().unwrap()
}

#[test]
fn parses_and_prints() {
    use ByteOrder::{Big, Irrelevant, Little};
    let cases = [
        ("|b1", Kind::Bool, Irrelevant, 1),
        ("|i1", Kind::Int, Irrelevant, 1),
        ("<i8", Kind::Int, Little, 8),
        (">u2", Kind::Uint, Big, 2),
        ("<f2", Kind::Float, Little, 2),
        ("<f16", Kind::Float, Little, 16),
        (">c16", Kind::Complex, Big, 16),
        ("<m8[ns]", Kind::Timedelta, Little, 8),
        ("<M8[25s]", Kind::Datetime, Little, 8),
        ("|S5", Kind::Bytes, Irrelevant, 5),
        ("<U3", Kind::Unicode, Little, 12),
        ("|V7", Kind::Void, Irrelevant, 7),
        ("|t1", Kind::Bits, Irrelevant, 1),
    ];
    for (typestr, kind, order, itemsize) in cases {
        let dtype = parsed(typestr);
        assert_eq!((dtype.kind(), dtype.byte_order(), dtype.itemsize()), (kind, order, itemsize));
        assert_eq!(dtype.to_string(), typestr);
        assert_eq!(dtype.ext(), None);
        assert_eq!(DType::from_raw(dtype.to_raw()).unwrap(), dtype);
        assert!(format!("{dtype:?} {dtype:>8}").contains(typestr));
    }
    assert_eq!(parsed("=f4"), parsed("f4"));
    assert_eq!(parsed("|f4").byte_order(), ByteOrder::NATIVE);
}

#[test]
fn refuses_what_is_no_type() {
    for typestr in ["", "<", "f", "<f3", "<f99999999999", "@f4", "<f4 ", "<f4[s]", "|O8", "ü4"] {
        let error = typestr.parse::<DType>().unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{typestr}: {error}");
        assert_eq!(error.entry(), Some(Entry::Typestr));
        assert!(error.to_string().contains("typestr"), "{error}");
    }
    let raw = DType::of::<f32>().to_raw();
    for wrong in [
        sys::cai_dtype { kind: 0, ..raw },
        sys::cai_dtype { itemsize: 0, ..raw },
        sys::cai_dtype { byteorder: b'|', ..raw },
        sys::cai_dtype { ext: 1, ..raw },
        sys::cai_dtype { time_step: 1, ..raw },
    ] {
        assert_eq!(DType::from_raw(wrong).unwrap_err().entry(), Some(Entry::Typestr));
    }
    assert!(DType::extended(Ext::Unknown(99)).is_err());
}

#[test]
fn says_units_of_time() {
    assert_eq!(parsed("<M8[Y]").time_unit(), Some((TimeUnit::Year, 1)));
    assert_eq!(parsed("<m8[10as]").time_unit(), Some((TimeUnit::Attosecond, 10)));
    assert_eq!(parsed("<m8").time_unit(), None);
    assert_ne!(parsed("<M8[s]"), parsed("<M8[2s]"));
}

#[test]
fn says_what_typestrs_cannot() {
    let bfloat16 = DType::extended(Ext::Bfloat16).unwrap();
    assert_eq!((bfloat16.itemsize(), bfloat16.ext()), (2, Some(Ext::Bfloat16)));
    assert_eq!(bfloat16.to_string(), "<V2");
    assert_ne!(bfloat16, parsed("|V2"));
    assert!(format!("{bfloat16:?}").contains("Bfloat16"));
    let types: HashSet<_> = [
        Ext::Float8E4m3fn,
        Ext::Float8E5m2,
        Ext::Float8E4m3fnuz,
        Ext::Float8E5m2fnuz,
        Ext::Float8E4m3,
        Ext::Float8E3m4,
        Ext::Float8E4m3b11fnuz,
        Ext::Float8E8m0fnu,
    ]
    .map(|ext| DType::extended(ext).unwrap())
    .into();
    assert_eq!(types.len(), 8);
}

#[test]
fn elements_are_what_their_typestrs_say() {
    fn check<T: Element>(typestr: &str) {
        assert_eq!(DType::of::<T>(), parsed(typestr));
        assert_eq!(DType::of::<T>().itemsize(), size_of::<T>());
    }
    check::<bool>("b1");
    check::<i8>("i1");
    check::<i16>("i2");
    check::<i32>("i4");
    check::<i64>("i8");
    check::<u8>("u1");
    check::<u16>("u2");
    check::<u32>("u4");
    check::<u64>("u8");
    check::<f32>("f4");
    check::<f64>("f8");
    #[cfg(feature = "num-complex")]
    {
        check::<num_complex::Complex<f32>>("c8");
        check::<num_complex::Complex<f64>>("c16");
    }
    #[cfg(feature = "half")]
    {
        check::<half::f16>("f2");
        assert_eq!(DType::of::<half::bf16>(), DType::extended(Ext::Bfloat16).unwrap());
    }
}
