// SPDX-License-Identifier: BSD-3-Clause
//! The C API of libcai: GPU arrays shared between libraries, as the CUDA Array Interface has them.
//!
//! Everything has its name of C, and what the header says of it is said here. The rules that hold
//! for all of it are at the head of `cai.h`: a function that can fail returns a [`cai_status`], takes
//! a [`cai_error`] last, which may be null, and writes its outputs on success only. The crate
//! `libcai` is the safe side of this.
//!
//! Devices, streams, memory and managers are there with the feature `memory`, which is on by default;
//! they are provisional, and may change from one version to the next.
//!
//! libcai itself is built from its sources (feature `bundled`), found on the machine, or loaded at
//! run time (feature `dynamic`): the crate's README has the rules.
//!
//! All of this is there since 0.1.
#![no_std]

#[cfg(feature = "dynamic")]
extern crate alloc;

#[cfg(feature = "dynamic")]
#[macro_use]
pub mod dynamic;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Declares the functions of the headers; the linker finds them.
#[cfg(not(feature = "dynamic"))]
macro_rules! functions {
    ($table:ident: $($functions:tt)*) => {
        unsafe extern "C" { $($functions)* }
    };
}

// The headers document what needs it, and in the headers' own way.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::missing_safety_doc
)]
mod bindings;
pub use bindings::*;

#[cfg(feature = "memory")]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::missing_safety_doc
)]
mod memory;
#[cfg(feature = "memory")]
pub use memory::*;

/// Flags that a reader must understand to use an array.
const CRITICAL: u32 = 0xFFFF_0000;

/// Adds one holder to an owned array, or to the owner of a view or copy of the struct. Nothing for
/// a borrowed array or NULL.
///
/// # Safety
/// `array` is NULL, or its first 16 bytes can be read and its owner, if any, is alive.
#[inline]
pub unsafe extern "C" fn cai_array_retain(array: *const cai_array) {
    // No references are made: others may use the owner meanwhile, and know less of either struct.
    // SAFETY: the caller guarantees it.
    unsafe {
        if !array.is_null() && !(*array).owner.is_null() {
            let owner = (*array).owner;
            if let Some(retain) = (*owner).retain {
                retain(owner);
            }
        }
    }
}

/// Takes one holder away; after the last one the array and all it points to are gone. Nothing for a
/// borrowed array or NULL. It may run the producer's code: hold no lock that this may want, and do
/// not call it from a CUDA host callback.
///
/// # Safety
/// As [`cai_array_retain`]; and the caller has a holder to give.
#[inline]
pub unsafe extern "C" fn cai_array_release(array: *const cai_array) {
    // SAFETY: the caller guarantees it.
    unsafe {
        if !array.is_null() && !(*array).owner.is_null() {
            let owner = (*array).owner;
            if let Some(release) = (*owner).release {
                release(owner);
            }
        }
    }
}

/// The critical flags of an array that are not among `understood`; all of them if the array is NULL
/// or of another ABI major. 0: the array may be used.
///
/// # Safety
/// `array` is NULL, or its first 16 bytes can be read.
#[inline]
pub unsafe extern "C" fn cai_array_refuses(array: *const cai_array, understood: u32) -> u32 {
    // SAFETY: the caller guarantees it.
    unsafe {
        if array.is_null() || (*array).abi_major != CAI_ABI_MAJOR {
            return CRITICAL;
        }
        (*array).flags & CRITICAL & !understood
    }
}

/// The size in bytes of an array whose elements lie in C order without gaps; the elements of kind
/// `t` fill the last byte in part. 0: it has no elements. -1: they lie otherwise, or the array is
/// NULL or of another ABI major.
///
/// # Safety
/// `array` is NULL, of another ABI major, or valid, as [`cai_array_validate`] says.
#[inline]
pub unsafe extern "C" fn cai_array_contiguous_nbytes(array: *const cai_array) -> i64 {
    // SAFETY: the caller guarantees it.
    unsafe {
        if array.is_null() || (*array).abi_major != CAI_ABI_MAJOR {
            return -1;
        }
        let array = &*array;
        let mut units = i64::from(array.dtype.itemsize);
        let mut has_gaps = false;
        for axis in (0..array.ndim as usize).rev() {
            let extent = *array.shape.add(axis);
            has_gaps |= extent != 1 && *array.strides.add(axis) != units;
            units = units.wrapping_mul(extent);
        }
        if has_gaps && units != 0 {
            return -1;
        }
        if array.dtype.kind == b't' { (units as u64).div_ceil(8) as i64 } else { units }
    }
}
