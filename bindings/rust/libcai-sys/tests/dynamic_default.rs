// SPDX-License-Identifier: BSD-3-Clause
//! The first call loads the library, whichever thread makes it, from where the environment says.
//! LIBCAI_DIR is a prefix with libcai in it.
#![cfg(feature = "dynamic")]

use std::env;
use std::sync::Barrier;
use std::thread;

use libcai_sys::{CAI_HEADER_VERSION, cai_version, dynamic};

#[test]
fn the_first_calls_load_the_library() {
    let prefix = env::var("LIBCAI_DIR").expect("LIBCAI_DIR is a prefix with libcai in it");
    // SAFETY: no other thread is there that reads the environment.
    unsafe { env::set_var("LIBCAI_LIBRARY", format!("{prefix}/lib/libcai.so.1")) };
    let start = Barrier::new(8);
    let call = || {
        start.wait();
        // SAFETY: it has no requirements.
        unsafe { cai_version() }
    };
    let versions: Vec<i32> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for version in versions {
        assert_eq!(u32::try_from(version), Ok(CAI_HEADER_VERSION));
    }
    // SAFETY: nothing is loaded any more.
    let again = unsafe { dynamic::load(Some(c"/nowhere/libcai.so")) };
    assert_eq!(again, Ok(()));
}
