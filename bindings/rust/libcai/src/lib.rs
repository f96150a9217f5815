// SPDX-License-Identifier: BSD-3-Clause
//! GPU arrays shared between libraries.
pub use libcai_sys as sys;
