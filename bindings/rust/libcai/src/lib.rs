// SPDX-License-Identifier: BSD-3-Clause
#![doc = include_str!("../README.md")]
//!
//! Everything here is available since 0.1.

mod array;
mod as_stream;
mod descr;
mod device;
mod dtype;
mod error;
mod event;
mod failure;
mod finding;
mod index;
mod interface;
mod location;
pub mod manager;
pub mod memory;
mod numbered;
mod order;
mod own;
mod producer;
mod stream;
mod text;
mod uses;
mod value;
mod view;

#[cfg(feature = "arrow")]
pub mod arrow;
#[cfg(feature = "bytemuck")]
mod bytemuck;
#[cfg(feature = "cudarc")]
pub mod cudarc;
#[cfg(feature = "dlpack")]
pub mod dlpack;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "pyo3")]
pub mod python;

pub use array::{Array, ArrayRef, DeviceType, Layout, Pending};
pub use as_stream::{AsStream, Legacy, PerThread, RawStream};
pub use descr::{Descr, Field};
pub use device::{Device, DeviceGuard, DeviceInfo, MemoryAmount};
pub use dtype::{ByteOrder, DType, Element, Ext, Kind, TimeUnit};
pub use error::{Detail, Entry, Error, Result};
pub use event::Event;
pub use failure::{Failed, FailureHook, on_failure};
pub use finding::{Finding, Severity};
pub use index::Index;
pub use interface::{Described, Interface, Protocol, Strictness};
pub use libcai_sys as sys;
pub use location::Location;
pub use manager::{Manager, MemoryManager};
pub use memory::{Memory, MemoryKind};
pub use order::{Access, Options, Order, drain, same_stream};
pub use own::ArrayBuilder;
pub use producer::provide_streams;
pub use stream::{Capture, Mode, Stream, StreamGuard, StreamInfo};
pub use uses::{Arrays, Reading, Use, Writing, with, with_each};
pub use value::{Items, MaskInterface, Value};
pub use view::{View, ViewMut};

#[cfg(feature = "bytemuck")]
pub use bytemuck::Record;
