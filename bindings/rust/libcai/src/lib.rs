// SPDX-License-Identifier: BSD-3-Clause
//! GPU arrays shared between libraries: the CUDA Array Interface, with stream order and lifetimes.
//!
//! All that is here is there since 0.1.

mod array;
mod dtype;
mod error;
mod numbered;

pub use array::{Array, ArrayRef};
pub use dtype::{ByteOrder, DType, Element, Ext, Kind, TimeUnit};
pub use error::{Detail, Entry, Error, Result};
pub use libcai_sys as sys;
