// SPDX-License-Identifier: BSD-3-Clause
//! Finds libcai, or builds it. README.md has the order in which it is looked for.

#[cfg(feature = "bundled")]
mod bundled;
mod installed;
#[cfg(not(feature = "bundled"))]
mod search;

use std::env;
use std::path::{Path, PathBuf};

/// Where a library is; what Cargo needs to be told to link it has been told.
struct Library {
    include: PathBuf,
    lib: PathBuf,
}

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=LIBCAI_DIR");
    if env::var_os("DOCS_RS").is_some() {
        return; // nothing is linked there
    }
    if cfg!(feature = "dynamic") {
        println!("cargo::metadata=include={}", own_sources().join("include").display());
        return; // nor here: the library is loaded at run time
    }
    match find() {
        Ok(Library { include, lib }) => {
            println!("cargo::metadata=include={}", include.display());
            println!("cargo::metadata=lib={}", lib.display());
        }
        Err(reasons) => {
            for line in reasons.lines() {
                println!("cargo::error={line}");
            }
        }
    }
}

fn find() -> Result<Library, String> {
    // A caller that names a folder wants only the library in it.
    if let Some(prefix) = env::var_os("LIBCAI_DIR") {
        return installed::in_prefix(Path::new(&prefix))
            .map_err(|why| format!("LIBCAI_DIR: {why}"));
    }
    #[cfg(feature = "bundled")]
    return bundled::build(&own_sources());
    #[cfg(not(feature = "bundled"))]
    search::by_pkg_config().or_else(|no_package| {
        search::in_wheel().map_err(|no_wheel| {
            format!(
                "libcai was not found. Tried:\n\
                 - LIBCAI_DIR: it is not set (a prefix, with include/cai.h and lib/libcai.so)\n\
                 - pkg-config: {no_package}\n\
                 - the Python package: {no_wheel}\n\
                 Or let the feature `bundled` build it."
            )
        })
    })
}

/// libcai's own headers and sources, which the crate has with it.
fn own_sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("libcai")
}
