// SPDX-License-Identifier: BSD-3-Clause
//! What the driver says of an array's memory.

use std::mem;

use crate::array::{Array, ArrayRef, DeviceType};
use crate::error::{Result, call};
use crate::sys;

/// What the driver reports of an array's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The kind of device of the memory, now known exactly.
    pub device_type: DeviceType,
    /// Ordinal of the device.
    pub device_id: i32,
    /// Whether the host may dereference the address.
    pub host_accessible: bool,
    /// Whether it is managed (unified) memory.
    pub managed: bool,
    /// The `CUcontext`; `None` if the memory belongs to no context, as pool memory.
    pub context: Option<u64>,
    /// Address of the first element, as kernels of the current context use it. It may differ from the
    /// array's for registered host memory; `None` if they cannot use it.
    pub device_pointer: Option<u64>,
    /// Address of the allocation, if it is known.
    pub base: Option<u64>,
    /// Bytes of the allocation, if they are known.
    pub size: Option<u64>,
}

impl ArrayRef<'_> {
    /// Asks the driver about the array's memory. The driver is not asked about an empty array,
    /// whose location is its own device, nor about a host array.
    ///
    /// # Errors
    /// [`Error::Bounds`](crate::Error::Bounds) if the extent leaves the allocation;
    /// [`Error::Device`](crate::Error::Device) if the driver does not know the pointer, or for ROCm;
    /// [`Error::Driver`](crate::Error::Driver); [`Error::Cuda`](crate::Error::Cuda);
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn locate(self) -> Result<Location> {
        let mut raw = sys::cai_location {
            struct_size: mem::size_of::<sys::cai_location>() as u32,
            // SAFETY: numbers, for which 0 is a value.
            ..unsafe { mem::zeroed() }
        };
        // SAFETY: the array is borrowed; the outputs can be written.
        call(|error| unsafe { sys::cai_array_locate(self.as_raw(), &mut raw, error) })?;
        let known = |number: u64| (number != 0).then_some(number);
        Ok(Location {
            device_type: DeviceType::from_raw(raw.device_type),
            device_id: raw.device_id,
            host_accessible: raw.flags & sys::CAI_LOCATION_HOST_ACCESSIBLE != 0,
            managed: raw.flags & sys::CAI_LOCATION_MANAGED != 0,
            context: known(raw.context),
            device_pointer: known(raw.device_pointer),
            base: known(raw.base),
            size: known(raw.size),
        })
    }
}

impl Array {
    /// As [`ArrayRef::locate`].
    ///
    /// # Errors
    /// As that.
    pub fn locate(&self) -> Result<Location> {
        self.borrow().locate()
    }
}
