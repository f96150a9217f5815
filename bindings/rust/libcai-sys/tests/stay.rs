// SPDX-License-Identifier: BSD-3-Clause
//! A library that libcai is linked into stays after it was closed: what the feature `bundled` adds.

use std::env;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;

const NOW: c_int = 2;
const LOADED: c_int = NOW | 4;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

/// Whether a library of these sources is there after it was opened and closed.
fn stays(name: &str, sources: &[&str]) -> bool {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = env::var("CXX").unwrap_or("c++".into());
    let mut command = compiler.split_whitespace();
    let compiled = Command::new(command.next().expect("a compiler"))
        .args(command)
        .args(["-shared", "-fPIC", "-xc++", "-o"])
        .arg(&library)
        .arg("/dev/null")
        .args(sources)
        .arg("-ldl")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(compiled.expect("a compiler runs").success());
    let library = CString::new(library.to_str().expect("UTF-8")).expect("no NUL");
    // SAFETY: the library is the one above, of which nothing is in use.
    unsafe {
        let opened = dlopen(library.as_ptr(), NOW);
        assert!(!opened.is_null());
        assert_eq!(dlclose(opened), 0);
        !dlopen(library.as_ptr(), LOADED).is_null()
    }
}

#[test]
fn a_library_with_libcai_in_it_stays() {
    assert!(stays("libstays.so", &["build/stay.cpp"]));
    assert!(!stays("libgoes.so", &[]), "any other goes");
}
