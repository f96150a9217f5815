// SPDX-License-Identifier: BSD-3-Clause
//! Finds libcai.

fn main() {
    println!("cargo::rerun-if-env-changed=LIBCAI_DIR");
    if let Ok(dir) = std::env::var("LIBCAI_DIR") {
        println!("cargo::rustc-link-search=native={dir}/lib");
        println!("cargo::rustc-link-lib=dylib=cai");
    }
}
