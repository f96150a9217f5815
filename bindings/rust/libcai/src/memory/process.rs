// SPDX-License-Identifier: BSD-3-Clause
//! Memory of other processes.

use std::fmt;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::device::Device;
use crate::error::{Result, ask};
use crate::memory::{Memory, raw_stream};
use crate::stream::Stream;
use crate::sys;

/// A handle of memory for another process. Send its bytes unchanged.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct IpcHandle(sys::cai_ipc_handle);

impl IpcHandle {
    /// The size of the handle, in bytes.
    pub const SIZE: usize = size_of::<sys::cai_ipc_handle>();

    /// Its bytes, for sending.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        // SAFETY: numbers that leave no gap between them: all of its bytes are there.
        unsafe { std::mem::transmute(self.0) }
    }

    /// A handle of received bytes; [`Memory::open()`] checks them.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        // SAFETY: numbers, for which any bytes are a value.
        Self(unsafe { std::mem::transmute::<[u8; Self::SIZE], sys::cai_ipc_handle>(bytes) })
    }

    /// Bytes of the memory.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// The C struct.
    pub fn to_raw(self) -> sys::cai_ipc_handle {
        self.0
    }

    /// A handle of a C struct.
    pub fn from_raw(raw: sys::cai_ipc_handle) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for IpcHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IpcHandle")
            .field("size", &self.0.size)
            .field("process", &self.0.process)
            .finish_non_exhaustive()
    }
}

/// Memory for another process, from [`Memory::share()`]: send both parts.
#[derive(Debug)]
pub struct SharedMemory {
    /// The handle.
    pub handle: IpcHandle,
    /// The pool's file descriptor, for memory of a pool: send it by `SCM_RIGHTS`.
    pub descriptor: Option<OwnedFd>,
}

/// How [`Memory::open()`] opens memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OpenMode {
    /// In place: on its own device, or on a device that can access that one.
    Direct,
    /// As a copy in new memory, queued on the stream, which must not be captured; the original is
    /// closed once the copy is complete.
    Staged,
    /// Direct where possible, else staged.
    #[default]
    Auto,
}

impl Memory {
    /// Makes a handle that another process can open: `cai_memory_share()`. libcai does not order
    /// work between processes: wait for the work on the memory, then tell the other process by a
    /// message. Keep the memory until the other processes have closed theirs.
    ///
    /// ```
    /// use libcai::{Device, memory::{IpcHandle, Request}};
    ///
    /// let memory = Request::on(Device::Cuda(0)).bytes(4096)?;
    /// let shared = memory.share()?;
    /// let sent: [u8; IpcHandle::SIZE] = shared.handle.to_bytes();
    /// assert_eq!(IpcHandle::from_bytes(sent).size(), 4096);
    /// assert!(shared.descriptor.is_none());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for kinds other than
    /// [`Default`](crate::MemoryKind::Default), and [`Async`](crate::MemoryKind::Async) of an
    /// exportable pool, and for memory that is read-only or has no bytes;
    /// [`Error::State`](crate::Error::State) if it was freed, or if the manager returned an invalid
    /// handle; [`Error::Cuda`](crate::Error::Cuda); the manager's error.
    pub fn share(&self) -> Result<SharedMemory> {
        let mut fd = -1;
        // SAFETY: the memory is held; the outputs can be written.
        let handle =
            ask(|out, error| unsafe { sys::cai_memory_share(self.as_ptr(), out, &mut fd, error) })?;
        // SAFETY: the descriptor is the caller's to close.
        let descriptor = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(SharedMemory { handle: IpcHandle(handle), descriptor })
    }

    /// Opens memory of another process, which must be alive and not have freed it:
    /// `cai_memory_open()`. Memory that is already open on this device is shared, not opened again.
    ///
    /// - `descriptor`: the descriptor received with the handle
    /// - `device`: the device that will use it; libcai finds the memory's own device by its UUID,
    ///   whatever its ordinal
    /// - `stream`: the stream in whose order it is copied and closed; `None`: the thread's current
    ///   stream of `device`
    ///
    /// # Errors
    /// [`Error::State`](crate::Error::State) for a handle of this process, or of a process that has
    /// ended; [`Error::Device`](crate::Error::Device) if this process does not see the device, or
    /// cannot access it directly; [`Error::Value`](crate::Error::Value) for an invalid handle;
    /// [`Error::Cuda`](crate::Error::Cuda); the rest as
    /// [`Request::bytes()`](crate::memory::Request::bytes).
    pub fn open(
        handle: &IpcHandle,
        descriptor: Option<BorrowedFd<'_>>,
        device: Device,
        stream: Option<&Stream>,
        mode: OpenMode,
    ) -> Result<Self> {
        let fd = descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd());
        let how = match mode {
            OpenMode::Direct => sys::CAI_OPEN_DIRECT,
            OpenMode::Staged => sys::CAI_OPEN_STAGED,
            OpenMode::Auto => sys::CAI_OPEN_AUTO,
        };
        let stream = raw_stream(stream);
        // SAFETY: the stream is held during the call; the outputs can be written.
        ask(|out, error| unsafe {
            sys::cai_memory_open(&handle.0, fd, device.to_raw(), stream, how, out, error)
        })
        .map(Self::adopt)
    }
}
