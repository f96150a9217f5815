// SPDX-License-Identifier: BSD-3-Clause
//! What the API comes to without a library, and that one may still be loaded then.
//! LIBCAI_DIR is a prefix with libcai in it.
#![cfg(feature = "dynamic")]

use std::env;
use std::ffi::{CStr, CString};
use std::ptr;

use libcai_sys::*;

const NOWHERE: &CStr = c"/nowhere/libcai.so.1";

fn load(path: &CStr) -> Result<(), String> {
    // SAFETY: it is libcai, or refused.
    unsafe { dynamic::load(Some(path)) }.map_err(|error| error.to_string())
}

unsafe extern "C" fn marked(owner: *mut cai_owner) {
    // SAFETY: the test's own.
    unsafe { (*owner).flags += 1 };
}

#[test]
fn nothing_then_something_is_loaded() {
    // SAFETY: no other thread is there that reads the environment.
    unsafe { env::set_var("LIBCAI_LIBRARY", NOWHERE.to_str().expect("ASCII")) };

    let error = load(NOWHERE).expect_err("there is no such library");
    assert!(error.contains("/nowhere/libcai.so.1"), "{error}");
    let error = load(c"libm.so.6").expect_err("it has none of the functions");
    assert!(error.contains("libm.so.6") && error.contains("cai_version"), "{error}");

    // SAFETY: the pointers are null or good for the calls.
    unsafe {
        assert_eq!(cai_version(), 0);
        assert_eq!(CStr::from_ptr(cai_status_name(CAI_OK)), c"");
        assert_eq!(cai_stream_value(ptr::null()), 0);
        assert!(cai_torch_alloc(64, 0, ptr::null_mut()).is_null());
        assert_eq!(cai_manager_device(ptr::null()).type_, 0);
        cai_stream_release(ptr::null_mut());

        let mut owner: cai_owner = std::mem::zeroed();
        cai_owner_end(&mut owner, Some(marked));
        assert_eq!(owner.flags, 1, "an owner ends without a library, too");
        owner.uses = ptr::dangling_mut();
        cai_owner_end(&mut owner, Some(marked));
        assert_eq!(owner.flags, 1, "but not while it is in use");

        let mut count = -1;
        let mut error: cai_error = std::mem::zeroed();
        assert_eq!(cai_device_count(CAI_DEVICE_CPU, &mut count, &mut error), CAI_ERR_UNSUPPORTED);
        assert_eq!(count, -1, "outputs are written on success only");
        assert_eq!((error.status, error.native), (CAI_ERR_UNSUPPORTED, 0));
        assert_eq!((error.entry, error.index), (CAI_ENTRY_NONE, -1));
        let message = CStr::from_ptr(error.message.as_ptr()).to_str().expect("UTF-8");
        assert!(message.contains("/nowhere/libcai.so.1"), "{message}");
        let status = cai_device_count(CAI_DEVICE_CPU, &mut count, ptr::null_mut());
        assert_eq!(status, CAI_ERR_UNSUPPORTED);
    }

    // A message that is longer than there is room for ends between two characters.
    let long = CString::new(format!("/nowhere/{}", "€".repeat(100))).expect("no NUL");
    let text = load(&long).expect_err("there is no such library");
    assert!(text.contains(long.to_str().expect("UTF-8")), "{text}");
    // SAFETY: no other thread is there that reads the environment; the pointers are good.
    unsafe {
        env::set_var("LIBCAI_LIBRARY", long.to_str().expect("UTF-8"));
        let mut error: cai_error = std::mem::zeroed();
        cai_drain(0, ptr::null_mut(), &mut error);
        let message = CStr::from_ptr(error.message.as_ptr()).to_str().expect("UTF-8");
        assert!((236..240).contains(&message.len()) && message.ends_with('€'), "{message}");
    }

    let prefix = env::var("LIBCAI_DIR").expect("LIBCAI_DIR is a prefix with libcai in it");
    let good = CString::new(format!("{prefix}/lib/libcai.so.1")).expect("no NUL");
    assert_eq!(load(&good), Ok(()));
    // SAFETY: the pointers are good for the calls.
    unsafe {
        assert_eq!(u32::try_from(cai_version()), Ok(CAI_HEADER_VERSION));
        let mut count = -1;
        assert_eq!(cai_device_count(CAI_DEVICE_CPU, &mut count, ptr::null_mut()), CAI_OK);
        assert_eq!(count, 1);
    }
}
