// SPDX-License-Identifier: BSD-3-Clause
//! Builds libcai of the sources that the crate has with it, as a static library.

use std::path::Path;
use std::{env, fs};

use crate::Library;

/// The folders of sources that need no other.
const EXCHANGE: [&str; 4] = ["core", "driver", "order", "exchange"];

pub fn build(root: &Path) -> Result<Library, String> {
    let (include, src) = (root.join("include"), root.join("src"));
    println!("cargo::rerun-if-changed={}", include.display());
    println!("cargo::rerun-if-changed={}", src.display());
    // Meson's own list.
    let list = src.join("sources.txt");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let is_wanted = |line: &&str| {
        let room = line.split('/').next();
        let in_exchange = room.is_some_and(|room| EXCHANGE.contains(&room));
        !line.is_empty() && !line.starts_with('#') && (in_exchange || cfg!(feature = "memory"))
    };
    let sources = list.lines().filter(is_wanted);

    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .includes([&include, &src])
        .files(sources.map(|source| src.join(source)))
        // No internal symbol may clash with another copy of libcai in the program.
        .flag("-fvisibility=hidden")
        .warnings(false)
        .try_compile("cai")
        .map_err(|error| {
            format!(
                "libcai's sources, which the feature `bundled` builds, do not compile:\n{error}\n\
                 They need a compiler of C++20: GCC 12, clang 16 or newer; the variable CXX names it."
            )
        })?;
    cc::Build::new()
        .cpp(true)
        .cpp_link_stdlib(None)
        .file("build/stay.cpp")
        .link_lib_modifier("+whole-archive") // nobody calls its functions
        .try_compile("cai_stay")
        .map_err(|error| error.to_string())?;
    // Libraries of their own before glibc 2.34.
    println!("cargo::rustc-link-lib=dl");
    println!("cargo::rustc-link-lib=pthread");
    let lib = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    Ok(Library { include, lib: lib.into() })
}
