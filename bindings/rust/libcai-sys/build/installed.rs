// SPDX-License-Identifier: BSD-3-Clause
//! A libcai that is there already.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::{Library, own_sources};

/// Below a prefix, as `meson install` fills it.
pub fn in_prefix(prefix: &Path) -> Result<Library, String> {
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default() + "-linux-gnu";
    let folders = [prefix.join("lib"), prefix.join("lib64"), prefix.join("lib").join(machine)];
    let lib = folders
        .into_iter()
        .find(|folder| folder.join("libcai.so").exists())
        .ok_or_else(|| format!("there is no lib/libcai.so in {}", prefix.display()))?;
    link(prefix.join("include"), lib)
}

/// Tells Cargo to link the library, if it is one that has all that these bindings declare.
pub fn link(include: PathBuf, lib: PathBuf) -> Result<Library, String> {
    let found = header_version(&include)?;
    let needed = header_version(&own_sources().join("include"))?;
    if found < needed {
        return Err(format!("{} is of libcai {found}, and {needed} is needed", include.display()));
    }
    if cfg!(feature = "memory") && !include.join("cai/memory.h").exists() {
        return Err(format!("{} is of a libcai without memory", include.display()));
    }
    println!("cargo::rustc-link-search=native={}", lib.display());
    println!("cargo::rustc-link-lib=dylib=cai");
    Ok(Library { include, lib })
}

/// 10000 * major + 100 * minor + patch, as cai/array.h says it.
fn header_version(include: &Path) -> Result<u32, String> {
    let header = include.join("cai/array.h");
    println!("cargo::rerun-if-changed={}", header.display());
    let text =
        fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    text.lines()
        .find_map(|line| line.strip_prefix("#define CAI_HEADER_VERSION "))
        .and_then(|number| number.trim().parse().ok())
        .ok_or_else(|| format!("{} says no CAI_HEADER_VERSION", header.display()))
}
