// SPDX-License-Identifier: BSD-3-Clause
//! Managers: the built-in ones around each other, and ones that are written in Rust and misbehave.

mod gpu;
mod other;

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use gpu::{Gone, gpu, stream};
use libcai::manager::{Block, Optional, PoolOptions};
use libcai::memory::{
    DeferCleanup, HostFlags, IpcHandle, OpenMode, Request, SharedMemory, add_pending,
    flush_pending, usage,
};
use libcai::{
    Device, Error, Manager, Memory, MemoryAmount, MemoryKind, MemoryManager, Result, on_failure,
    sys,
};
use other::{Other, share_if_asked};

/// What nobody could be told of, in a process of the test's own.
static UNHEARD: Mutex<Vec<Error>> = Mutex::new(Vec::new());

fn hear() {
    on_failure(Some(|error| UNHEARD.lock().unwrap().push(error.clone())));
}

fn unheard() -> Vec<Error> {
    std::mem::take(&mut UNHEARD.lock().unwrap())
}

fn default_of(device: Device) -> Manager {
    let name = if device == Device::Cpu { "host" } else { "default" };
    Manager::create(name, device, None).unwrap()
}

// ---- Built in -----------------------------------------------------------------------------------

#[test]
fn managers_are_made_by_name() {
    for (name, device) in [
        ("default", gpu()),
        ("async", gpu()),
        ("pool", gpu()),
        ("managed", gpu()),
        ("host", Device::Cpu),
    ] {
        let manager = Manager::create(name, device, None).unwrap();
        assert_eq!((manager.name(), manager.device()), (name, device));
        let memory = Request::on(device).manager(&manager).bytes(100).unwrap();
        assert_eq!(memory.describe().unwrap().size, 100);
    }
}

#[test]
fn bad_names_and_upstreams_are_refused() {
    let refused = |name: &str, device, upstream: Option<&Manager>| {
        let error = Manager::create(name, device, upstream).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{name}: {error:?}");
        error.to_string()
    };
    assert!(refused("nobody", gpu(), None).contains("\"nobody\""));
    assert!(refused("/lib/libnone.so", gpu(), None).contains("create_raw"));
    assert!(refused("a\0b", gpu(), None).contains("NUL"));
    refused("", gpu(), None);
    refused("statistics", gpu(), None);
    refused("limiting", gpu(), Some(&default_of(gpu()))); // its params are missing
    refused("statistics", gpu(), Some(&default_of(Device::Cpu)));
    assert!(matches!(Manager::choose(Some("nobody")), Err(Error::Value(_))));
    assert!(matches!(Manager::choose(Some("/lib/libnone.so")), Err(Error::Value(_))));
    assert!(matches!(Manager::of(Device::Cuda(77)), Err(Error::Device(_))));
    // SAFETY: there is no such library.
    let missing = unsafe { Manager::create_raw("/lib/libnone.so", std::ptr::null(), gpu(), None) };
    assert!(matches!(missing, Err(Error::Value(_))));
    let unsized_pool = PoolOptions { maximum: 1, initial: 1 << 20, ..Default::default() };
    assert!(Manager::pool(gpu(), &unsized_pool).is_err());
    assert!(Manager::pool(Device::Cpu, &PoolOptions::default()).is_err());
}

#[test]
fn managers_are_put_around_each_other() {
    for device in [gpu(), Device::Cpu] {
        let counted = Manager::counting(&default_of(device)).unwrap();
        let tracked = Manager::tracking(&counted).unwrap();
        let limited = Manager::limiting(&tracked, 1000).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let hears = asked.clone();
        let retried = Manager::retrying(&limited, move |size, attempt| {
            hears.lock().unwrap().push((size, attempt));
            attempt == 0
        });
        let retried = retried.unwrap();

        let held = Request::on(device).manager(&retried).bytes(600).unwrap();
        let refused = Request::on(device).manager(&retried).bytes(601).unwrap_err();
        assert!(matches!(refused, Error::Memory(_)), "{refused:?}");
        assert_eq!(*asked.lock().unwrap(), [(601, 0), (601, 1)]);

        let out = retried.outstanding().unwrap();
        assert_eq!(out.len(), 1);
        assert_eq!((out[0].size, out[0].kind), (600, MemoryKind::Default));
        assert_eq!(out[0].data, held.describe().unwrap().data);
        let counts = counted.statistics().unwrap();
        assert_eq!((counts.bytes, counts.count, counts.failures), (600, 1, 0));
        assert!(retried.statistics().unwrap().failures > 0); // the limit's own
        assert!(matches!(default_of(device).statistics(), Err(Error::Unsupported(_))));
        assert!(matches!(counted.outstanding(), Err(Error::Unsupported(_))));

        drop(held);
        assert!(retried.outstanding().unwrap().is_empty());
        let counts = counted.statistics().unwrap();
        assert_eq!((counts.bytes, counts.bytes_peak, counts.count_total), (0, 600, 1));
    }
}

#[test]
fn a_retry_may_free_something() {
    let limited = Manager::limiting(&default_of(Device::Cpu), 1000).unwrap();
    let reserve = Mutex::new(Some(Request::on(Device::Cpu).manager(&limited).bytes(900).unwrap()));
    let retried =
        Manager::retrying(&limited, move |_, _| reserve.lock().unwrap().take().is_some()).unwrap();
    Request::on(Device::Cpu).manager(&retried).bytes(500).unwrap();
}

#[test]
fn a_log_goes_to_a_file_and_to_a_function() {
    let path = std::env::temp_dir().join(format!("libcai-log-{}.csv", std::process::id()));
    let lines = Arc::new(Mutex::new(String::new()));
    let takes = lines.clone();
    let to_file = Manager::logging(&default_of(Device::Cpu), &path).unwrap();
    let both =
        Manager::logging_to(&to_file, move |line: &str| takes.lock().unwrap().push_str(line));
    drop(Request::on(Device::Cpu).manager(&both.unwrap()).bytes(777).unwrap());
    drop(to_file);
    let file = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for text in [file, lines.lock().unwrap().clone()] {
        assert_eq!(text.lines().count(), 3, "{text}"); // columns, allocation, free
        assert_eq!(text.matches(",777,").count(), 2, "{text}");
    }
    let nowhere = Manager::logging(&default_of(Device::Cpu), "/nowhere/log".as_ref());
    assert!(matches!(nowhere, Err(Error::Value(_))));
}

#[test]
fn functions_go_with_their_manager_and_its_memory() {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    let (one, two) = (Gone(&GONE), Gone(&GONE));
    let logging = Manager::logging_to(&default_of(Device::Cpu), move |_: &str| {
        let _held = &one;
    });
    let retrying = Manager::retrying(&logging.unwrap(), move |_, _| {
        let _held = &two;
        false
    });
    let retrying = retrying.unwrap();
    let memory = Request::on(Device::Cpu).manager(&retrying).bytes(1).unwrap();
    drop(retrying);
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    drop(memory);
    assert_eq!(GONE.load(Ordering::SeqCst), 2);
}

alone! {
    fn a_panicking_function_is_heard_of() {
        hear();
        let limited = Manager::limiting(&default_of(Device::Cpu), 10).unwrap();
        let retried = Manager::retrying(&limited, |_, _| panic!("no idea")).unwrap();
        let refused = Request::on(Device::Cpu).manager(&retried).bytes(11).unwrap_err();
        assert!(matches!(refused, Error::Memory(_)));
        assert_eq!(unheard()[0].to_string(), "a retry panicked: no idea");

        let logged = Manager::logging_to(&default_of(Device::Cpu), |_: &str| panic!("no paper"));
        drop(Request::on(Device::Cpu).manager(&logged.unwrap()).bytes(1).unwrap());
        let failures = unheard();
        assert!(failures.iter().all(|one| one.to_string() == "a log panicked: no paper"));
        assert_eq!(failures.len(), 3);
    }

    fn a_device_has_the_manager_that_was_installed() {
        let counting = Manager::counting(&default_of(gpu())).unwrap();
        counting.install().unwrap();
        assert_eq!(Manager::of(gpu()).unwrap().name(), "statistics");
        let held = Request::on(gpu()).bytes(100).unwrap();
        assert_eq!(counting.statistics().unwrap().count, 1);
        Manager::uninstall(gpu()).unwrap();
        assert_eq!(Manager::of(gpu()).unwrap().name(), "default");
        drop(held); // stays with its own
        assert_eq!(counting.statistics().unwrap().count, 0);

        Manager::choose(Some("managed")).unwrap();
        Manager::uninstall(gpu()).unwrap();
        assert_eq!(Manager::of(gpu()).unwrap().name(), "managed");
        Manager::choose(None).unwrap();
        Manager::uninstall(gpu()).unwrap();
        assert_eq!(Manager::of(gpu()).unwrap().name(), "default");
    }

    fn what_is_short_is_told_with_the_drivers_number() {
        let gpu = gpu();
        let manager = default_of(gpu);
        gpu::driver().fail(c"cuMemAlloc", 1, 2);
        Request::on(gpu).manager(&manager).bytes(100).unwrap(); // it asks once more
        gpu::driver().fail(c"cuMemAlloc", 1, 2);
        gpu::driver().fail(c"cuMemAlloc", 2, 2);
        let error = Request::on(gpu).manager(&manager).bytes(100).unwrap_err();
        assert!(matches!(error, Error::Memory(_)), "{error:?}");
        assert_eq!(error.detail().native(), 2);
        gpu::driver().fail(c"cuMemAlloc", 1, 999);
        let error = Request::on(gpu).manager(&manager).bytes(100).unwrap_err();
        assert!(matches!(error, Error::Cuda(_)), "{error:?}");
        assert_eq!(error.detail().native(), 999);
    }

    fn pending_frees_are_deferred() {
        let gpu = gpu();
        flush_pending(gpu).unwrap();
        let defer = DeferCleanup::new(gpu).unwrap();
        static RAN: AtomicU64 = AtomicU64::new(0);
        add_pending(gpu, 64, || { RAN.fetch_add(1, Ordering::SeqCst); Ok(()) }).unwrap();
        add_pending(gpu, 0, || panic!("no way")).unwrap();
        add_pending(gpu, 0, || Err(Error::say(0, "claims to be fine"))).unwrap();
        flush_pending(gpu).unwrap();
        let waiting = usage(gpu).unwrap();
        assert_eq!((waiting.deferred, waiting.pending_count), (1, 3));
        assert_eq!(waiting.pending_bytes, 64);
        let nested = DeferCleanup::new(gpu).unwrap();
        thread::spawn(move || defer.end().unwrap()).join().unwrap();
        drop(nested);
        assert_eq!(usage(gpu).unwrap().deferred, 0);
        let first = flush_pending(gpu).unwrap_err();
        assert_eq!(first.to_string(), "a pending free panicked: no way");
        assert_eq!(RAN.load(Ordering::SeqCst), 1);
        assert_eq!(usage(gpu).unwrap().pending_count, 0);
        let refused = add_pending(Device::Cuda(77), 0, || Ok(())).unwrap_err();
        assert!(matches!(refused.error, Error::Device(_)));
        (refused.value)().unwrap(); // it came back
    }
}

// ---- Written in Rust ----------------------------------------------------------------------------

/// What a function of a manager does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Panics(&'static str),
    Fails(&'static str),
}

/// A manager with every function, each of which may be at fault; or all but `get_ipc_handle`.
struct Full<const SHARES: bool> {
    upstream: Manager,
    fault: Fault,
    called: Arc<Mutex<Vec<&'static str>>>,
    gone: Gone,
}

impl<const SHARES: bool> Full<SHARES> {
    fn enter(&self, function: &'static str) -> Result<()> {
        self.called.lock().unwrap().push(function);
        match self.fault {
            Fault::Panics(at) if at == function => panic!("at {function}"),
            Fault::Fails(at) if at == function => {
                Err(Error::say(sys::CAI_ERR_ORDER, format!("not at {function}")))
            }
            _ => Ok(()),
        }
    }

    unsafe fn memhostalloc(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        flags: HostFlags,
    ) -> Result<Block> {
        self.enter("memhostalloc")?;
        assert_eq!((kind, flags), (MemoryKind::Pinned, HostFlags::PORTABLE));
        // SAFETY: the legacy stream.
        unsafe { self.upstream.alloc(size, align, kind, 1) }
    }

    unsafe fn memhostfree(&self, block: &Block) -> Result<()> {
        self.enter("memhostfree")?;
        // SAFETY: the block came from there.
        unsafe { self.upstream.free(block, MemoryKind::Pinned, 1) }
    }

    unsafe fn mempin(
        &self,
        host: NonNull<u8>,
        size: u64,
        kind: MemoryKind,
        _flags: HostFlags,
    ) -> Result<Block> {
        self.enter("mempin")?;
        assert_eq!(kind, MemoryKind::Mapped);
        let address = host.as_ptr() as u64;
        Ok(Block { data: address, host: address, size, cookie: 5 })
    }

    unsafe fn memunpin(&self, block: &Block) -> Result<()> {
        self.enter("memunpin")?;
        assert_eq!(block.cookie, 5);
        Ok(())
    }

    fn base(&self, address: u64) -> Result<(u64, u64)> {
        self.enter("base")?;
        Ok((address, 100))
    }

    unsafe fn get_ipc_handle(&self, block: &Block) -> Result<SharedMemory> {
        self.enter("get_ipc_handle")?;
        let mut bytes = [0; IpcHandle::SIZE];
        bytes[4..8].copy_from_slice(&libcai::sys::CAI_IPC_POOL.to_ne_bytes());
        bytes[8..16].copy_from_slice(&block.size.to_ne_bytes());
        let descriptor = Some(OwnedFd::from(File::open("/dev/null").unwrap()));
        Ok(SharedMemory { handle: IpcHandle::from_bytes(bytes), descriptor })
    }

    unsafe fn open_ipc_handle(
        &self,
        handle: &IpcHandle,
        descriptor: Option<BorrowedFd<'_>>,
        stream: u64,
    ) -> Result<Block> {
        self.enter("open_ipc_handle")?;
        assert!(descriptor.is_none());
        // SAFETY: libcai's stream.
        unsafe { self.upstream.alloc(handle.size(), 0, MemoryKind::Default, stream) }
    }

    unsafe fn close_ipc_handle(&self, block: &Block, stream: u64) -> Result<()> {
        self.enter("close_ipc_handle")?;
        // SAFETY: the block came from there.
        unsafe { self.upstream.free(block, MemoryKind::Default, stream) }
    }

    fn get_memory_info(&self) -> Result<MemoryAmount> {
        self.enter("get_memory_info")?;
        Ok(MemoryAmount { free: 1, total: 2 })
    }

    fn defer_cleanup(&self, enter: bool) -> Result<()> {
        self.enter(if enter { "defer_cleanup" } else { "defer_cleanup, leaving" })
    }

    fn trim(&self, keep: u64) -> Result<()> {
        assert_eq!(keep, 7);
        self.enter("trim")
    }
}

// SAFETY: blocks are the upstream manager's, or host memory that is there.
unsafe impl<const SHARES: bool> MemoryManager for Full<SHARES> {
    const NAME: &'static CStr = if SHARES { c"full" } else { c"full-but-one" };

    const OPTIONAL: Optional<Self> = {
        let all = Optional::none()
            .memhostalloc(Self::memhostalloc, Self::memhostfree)
            .mempin(Self::mempin, Self::memunpin)
            .base(Self::base)
            .open_ipc_handle(Self::open_ipc_handle, Self::close_ipc_handle)
            .get_memory_info(Self::get_memory_info)
            .defer_cleanup(Self::defer_cleanup)
            .trim(Self::trim);
        if SHARES { all.get_ipc_handle(Self::get_ipc_handle) } else { all }
    };

    fn initialize(&self) -> Result<()> {
        self.enter("initialize")
    }

    fn reset(&self) -> Result<()> {
        self.enter("reset")
    }

    unsafe fn memalloc(
        &self,
        size: u64,
        align: u64,
        kind: MemoryKind,
        stream: u64,
    ) -> Result<Block> {
        self.enter("memalloc")?;
        // SAFETY: libcai's stream.
        unsafe { self.upstream.alloc(size, align, kind, stream) }
    }

    unsafe fn memfree(&self, block: &Block, stream: u64) -> Result<()> {
        self.enter("memfree")?;
        // SAFETY: the block came from there.
        unsafe { self.upstream.free(block, MemoryKind::Default, stream) }
    }
}

impl<const SHARES: bool> Drop for Full<SHARES> {
    fn drop(&mut self) {
        let _ = &self.gone; // dropped after this, even after a panic
        self.enter("drop").unwrap_or(());
    }
}

/// Has every function called; returns all that failed.
fn call_all<const SHARES: bool>(fault: Fault, other: &Other) -> (Vec<&'static str>, Vec<Error>) {
    static GONE: AtomicUsize = AtomicUsize::new(0);
    GONE.store(0, Ordering::SeqCst);
    let (gpu, on) = (gpu(), stream());
    let called = Arc::new(Mutex::new(Vec::new()));
    let gone = Gone(&GONE);
    let full = Full::<SHARES> { upstream: default_of(gpu), fault, called: called.clone(), gone };
    let manager = Manager::new(gpu, full, None).unwrap();
    manager.install().unwrap();

    let mut failed = Vec::new();
    {
        let mut note = |result: Result<()>| failed.extend(result.err());
        let request = Request::on(gpu).manager(&manager);
        note(request.bytes(100).and_then(|memory| {
            memory.record(&on)?;
            let shared = memory.share()?;
            assert_eq!(shared.handle.size(), 100);
            assert_eq!(shared.descriptor.is_some(), SHARES);
            Ok(())
        }));
        let pinned = request.kind(MemoryKind::Pinned).flags(HostFlags::PORTABLE);
        note(pinned.bytes(100).map(drop));
        let host = vec![0_u8; 100];
        note(
            Memory::pin(gpu, host, MemoryKind::Mapped, HostFlags::NONE)
                .map(drop)
                .map_err(Error::from),
        );
        note(manager.memory().map(|amount| assert_eq!((amount.free, amount.total), (1, 2))));
        note(manager.trim(7));
        note(DeferCleanup::new(gpu).and_then(DeferCleanup::end));
        note(Memory::open(&other.handle, None, gpu, Some(&on), OpenMode::Direct).map(drop));
        note(on.synchronize());
        note(libcai::drain(true).map(drop));
        note(gpu.reset());
    }
    Manager::uninstall(gpu).unwrap();
    assert_eq!(GONE.load(Ordering::SeqCst), 0);
    drop(manager);
    assert_eq!(GONE.load(Ordering::SeqCst), 1);
    failed.extend(unheard());
    let called = called.lock().unwrap().clone();
    (called, failed)
}

const FUNCTIONS: [&str; 18] = [
    "initialize",
    "reset",
    "memalloc",
    "memfree",
    "memhostalloc",
    "memhostfree",
    "mempin",
    "memunpin",
    "base",
    "get_ipc_handle",
    "open_ipc_handle",
    "close_ipc_handle",
    "get_memory_info",
    "defer_cleanup",
    "defer_cleanup, leaving",
    "trim",
    "drop",
    "", // none of them
];

fn call_all_but(fault: Fault, other: &Other) -> (Vec<&'static str>, Vec<Error>) {
    match fault {
        Fault::Panics("base") | Fault::Fails("base") => call_all::<false>(fault, other),
        _ => call_all::<true>(fault, other),
    }
}

#[test]
fn every_function_may_be_at_fault() {
    if share_if_asked() {
        return;
    }
    gpu::alone("every_function_may_be_at_fault", || {
        hear();
        let other = Other::start("every_function_may_be_at_fault");
        let (mut called, failed) = call_all::<true>(Fault::None, &other);
        assert!(failed.is_empty(), "{failed:?}");
        let (more, failed) = call_all::<false>(Fault::None, &other);
        assert!(failed.is_empty(), "{failed:?}");
        called.extend(more);
        for function in FUNCTIONS {
            assert!(function.is_empty() || called.contains(&function), "{function}: {called:?}");

            let (_, failed) = call_all_but(Fault::Panics(function), &other);
            assert_eq!(failed.is_empty(), function.is_empty(), "{function}");
            for error in failed {
                let is_told = error.to_string().contains(&format!("panicked: at {function}"));
                assert!(is_told && matches!(error, Error::Argument(_)), "{function}: {error:?}");
            }
            let (_, failed) = call_all_but(Fault::Fails(function), &other);
            assert_eq!(failed.is_empty(), ["", "drop"].contains(&function), "{function}");
            for error in failed {
                let is_told = error.to_string().contains(&format!("not at {function}"));
                assert!(is_told && matches!(error, Error::Order(_)), "{function}: {error:?}");
            }
        }
    });
}

/// A manager of the host's heap.
struct Heap {
    /// Bytes less, or further on, than was asked for.
    short: u64,
    shift: u64,
    out: Arc<AtomicU64>,
    ready: AtomicU64,
}

impl Heap {
    fn new(short: u64, shift: u64) -> Self {
        Self { short, shift, out: Arc::default(), ready: AtomicU64::new(0) }
    }
}

// SAFETY: blocks are the heap's; invalid ones are smaller than the allocation, or not aligned.
unsafe impl MemoryManager for Heap {
    const NAME: &'static CStr = c"heap";

    fn create(device: Device, upstream: Option<Manager>) -> Result<Self> {
        assert_eq!(device, Device::Cpu, "the heap is the CPU's");
        match upstream {
            Some(other) => Err(Error::say(sys::CAI_ERR_VALUE, format!("around {}", other.name()))),
            None => Ok(Self::new(0, 0)),
        }
    }

    fn initialize(&self) -> Result<()> {
        self.ready.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    unsafe fn memalloc(&self, size: u64, align: u64, _: MemoryKind, stream: u64) -> Result<Block> {
        assert_ne!(self.ready.load(Ordering::SeqCst), 0, "it was made ready");
        assert_eq!(stream, 0);
        let bytes = vec![0_u8; (size + self.shift + align) as usize];
        let begin = Box::into_raw(bytes.into_boxed_slice());
        let data = (begin.cast::<u8>() as u64).next_multiple_of(align) + self.shift;
        self.out.fetch_add(1, Ordering::SeqCst);
        Ok(Block {
            data,
            host: data,
            size: size - self.short,
            cookie: Box::into_raw(Box::new(begin)) as u64,
        })
    }

    unsafe fn memfree(&self, block: &Block, _: u64) -> Result<()> {
        // SAFETY: memalloc() gave both.
        unsafe { drop(Box::from_raw(*Box::from_raw(block.cookie as *mut *mut [u8]))) };
        self.out.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn lies_are_found_and_the_memory_given_back() {
    for (short, shift) in [(1, 0), (0, 8)] {
        let heap = Heap::new(short, shift);
        let out = heap.out.clone();
        let manager = Manager::new(Device::Cpu, heap, None).unwrap();
        let error = Request::on(Device::Cpu).manager(&manager).bytes(100).unwrap_err();
        assert!(matches!(error, Error::State(_)), "{error:?}");
        assert!(error.to_string().contains("manager heap: memalloc was asked for 100 bytes"));
        assert_eq!(out.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_manager_is_shared_by_threads() {
    let heap = Heap::new(0, 0);
    let out = heap.out.clone();
    let manager = Manager::new(Device::Cpu, heap, None).unwrap();
    let kept: Vec<Memory> = thread::scope(|scope| {
        let threads: Vec<_> = (1..=8)
            .map(|thread| {
                let manager = &manager;
                scope.spawn(move || {
                    let mut last = None;
                    for round in 1..=200 {
                        let manager = manager.clone();
                        let request = Request::on(Device::Cpu).manager(&manager);
                        last = Some(request.bytes(thread * round).unwrap());
                    }
                    last.unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(out.load(Ordering::SeqCst), 8);
    drop(manager); // the memory holds it
    drop(kept);
    assert_eq!(out.load(Ordering::SeqCst), 0);
}

#[test]
fn blocks_without_a_handle() {
    let heap = Heap::new(0, 0);
    let out = heap.out.clone();
    let manager = Manager::new(Device::Cpu, heap, None).unwrap();
    // SAFETY: the CPU's stream; each block is freed once.
    unsafe {
        let block = manager.alloc(100, 64, MemoryKind::Default, 0).unwrap();
        assert_eq!((block.data % 64, out.load(Ordering::SeqCst)), (0, 1));
        manager.free(&block, MemoryKind::Default, 0).unwrap();
        assert_eq!(out.load(Ordering::SeqCst), 0);
        assert_eq!(manager.alloc(0, 0, MemoryKind::Default, 0).unwrap(), Block::default());
        for (align, kind) in [(3, MemoryKind::Default), (0, MemoryKind::Pitched)] {
            let refused = manager.alloc(8, align, kind, 0);
            assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
        }
    }
}

#[test]
fn a_name_is_one_managers() {
    Manager::register::<Heap>().unwrap();
    Manager::register::<Heap>().unwrap(); // has it already
    let manager = Manager::create("heap", Device::Cpu, None).unwrap();
    assert_eq!((manager.name(), manager.device()), ("heap", Device::Cpu));
    drop(Request::on(Device::Cpu).manager(&manager).bytes(10).unwrap());
    let around = Manager::create("heap", Device::Cpu, Some(&default_of(Device::Cpu)));
    let error = around.unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    assert_eq!(error.to_string(), "around host");
    let error = Manager::create("heap", gpu(), None).unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    assert!(error.to_string().contains("heap panicked"), "{error}");

    macro_rules! named {
        ($($manager:ident = $name:literal),+) => {$(
            struct $manager(#[allow(dead_code)] Gone);
            // SAFETY: it allocates nothing.
            unsafe impl MemoryManager for $manager {
                const NAME: &'static CStr = $name;
                unsafe fn memalloc(&self, _: u64, _: u64, _: MemoryKind, _: u64) -> Result<Block> {
                    Err(Error::say(0, "claims to be fine"))
                }
                unsafe fn memfree(&self, _: &Block, _: u64) -> Result<()> {
                    Ok(())
                }
            }
        )+};
    }
    named!(
        SecondHeap = c"heap",
        Host = c"host",
        Spaced = c"a heap",
        Path = c"/heap",
        Poor = c"poor"
    );
    static GONE: AtomicUsize = AtomicUsize::new(0);
    for refused in [
        Manager::new(Device::Cpu, SecondHeap(Gone(&GONE)), None),
        Manager::new(Device::Cpu, Host(Gone(&GONE)), None),
        Manager::new(Device::Cpu, Spaced(Gone(&GONE)), None),
        Manager::new(Device::Cpu, Path(Gone(&GONE)), None),
        Manager::new(Device::Cpu, Poor(Gone(&GONE)), Some(&default_of(gpu()))),
    ] {
        assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
    }
    assert_eq!(GONE.load(Ordering::SeqCst), 5); // each was dropped

    let poor = Manager::new(Device::Cpu, Poor(Gone(&GONE)), None).unwrap();
    let error = Request::on(Device::Cpu).manager(&poor).bytes(1).unwrap_err();
    assert_eq!(
        (error.status(), error.to_string().as_str()),
        (sys::CAI_ERR_ARGUMENT, "claims to be fine")
    );
    let unmade = Manager::create("poor", Device::Cpu, None).unwrap_err();
    assert!(matches!(unmade, Error::Unsupported(_)), "{unmade:?}");
    drop(poor);
    assert_eq!(GONE.load(Ordering::SeqCst), 6);
}

#[test]
fn a_table_of_another_version_is_refused() {
    // SAFETY: zeros are no functions; the table and the texts stay.
    let status = unsafe {
        let mut table: sys::cai_manager_table = std::mem::zeroed();
        table.struct_size = size_of::<sys::cai_manager_table>() as u32;
        table.version = sys::CAI_MANAGER_VERSION + 1;
        table.name = c"tomorrow".as_ptr();
        let table = Box::leak(Box::new(table));
        sys::cai_manager_register(c"tomorrow".as_ptr(), table, std::ptr::null_mut())
    };
    assert_eq!(status, sys::CAI_ERR_VERSION);
}
