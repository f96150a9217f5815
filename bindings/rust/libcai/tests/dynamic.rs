// SPDX-License-Identifier: BSD-3-Clause
//! What the crate comes to without a library, and that one may still be loaded then: errors that name
//! it, and what was given comes back. LIBCAI_DIR is a prefix with libcai in it.
#![cfg(feature = "dynamic")]

use std::env;
use std::ffi::CString;

use libcai::{Array, ArrayBuilder, DType, Device, Error, Failed, Interface, Strictness};

#[test]
fn nothing_then_something_is_loaded() {
    // SAFETY: no other thread is there that reads the environment.
    unsafe { env::set_var("LIBCAI_LIBRARY", "/nowhere/libcai.so.1") };
    let is_unloaded = |error: &Error| {
        assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
        assert!(error.to_string().contains("/nowhere/libcai.so.1"), "{error}");
    };

    let Failed { error, value } = Array::from_vec(vec![1i32, 2, 3], &[3]).unwrap_err();
    is_unloaded(&error);
    assert_eq!(value, [1, 2, 3]);
    // SAFETY: nobody uses the memory.
    let owned = unsafe { ArrayBuilder::new(0x1000, DType::of::<f32>(), &[3]).own("an owner") };
    assert_eq!(owned.unwrap_err().value, "an owner");
    is_unloaded(&Device::all().err().unwrap());
    is_unloaded(&libcai::drain(false).unwrap_err());
    is_unloaded(&Interface::default().read(Strictness::Strict).unwrap_err());
    is_unloaded(&Interface::default().findings(Strictness::Strict).unwrap_err());
    is_unloaded(&"<f4".parse::<DType>().unwrap_err());
    assert_eq!(
        (DType::of::<f32>().to_string(), format!("{:?}", DType::of::<f32>())),
        ("?".into(), "DType(?)".into())
    );

    let prefix = env::var("LIBCAI_DIR").expect("LIBCAI_DIR is a prefix with libcai in it");
    let good = CString::new(format!("{prefix}/lib/libcai.so.1")).unwrap();
    // SAFETY: it is libcai.
    unsafe { libcai::sys::dynamic::load(Some(&good)) }.unwrap();
    let array = Array::from_vec(value, &[3]).unwrap();
    assert_eq!(format!("{:?} {}", array.dtype(), array.dtype()), "DType(<i4) <i4");
    assert_eq!(libcai::drain(false), Ok(0));
}
