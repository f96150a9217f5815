// SPDX-License-Identifier: BSD-3-Clause
//! An allocation and its free, by this crate and by the C functions themselves: on simcuda,
//! `simcuda/sim cargo bench -p bench --bench memory`.

use std::hint::black_box;
use std::mem::MaybeUninit;

use criterion::Criterion;
use libcai::manager::{Block, Manager, MemoryManager};
use libcai::memory::Request;
use libcai::{Device, MemoryKind, Result, Stream, sys};

const SIZE: u64 = 4096;

fn pair_by_c(device: Device, request: &sys::cai_request) {
    let (mut memory, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the request's stream and manager are held; the outputs can be written.
    unsafe {
        let (device, out) = (device.to_raw(), memory.as_mut_ptr());
        let status = sys::cai_memory_alloc(device, request, out, error.as_mut_ptr());
        assert_eq!(status, sys::CAI_OK);
        sys::cai_memory_release(memory.assume_init());
    }
}

fn handles(c: &mut Criterion, name: &str, device: Device, kind: MemoryKind) {
    let stream = Stream::current(device).expect("a stream");
    // SAFETY: a C struct whose zeros mean nothing in particular.
    let mut raw: sys::cai_request = unsafe { std::mem::zeroed() };
    raw.struct_size = size_of::<sys::cai_request>() as u32;
    (raw.kind, raw.size, raw.stream) = (kind.to_raw(), SIZE, stream.as_ptr());
    let request = Request::on(device).kind(kind).stream(&stream);

    let mut group = c.benchmark_group(name);
    group.bench_function("C", |b| b.iter(|| pair_by_c(device, black_box(&raw))));
    group.bench_function("Rust", |b| {
        b.iter(|| drop(black_box(request).bytes(SIZE).expect("memory")))
    });
    group.finish();
}

/// A manager of one block, so that the way to it is all there is to measure.
struct Same(Block);

// SAFETY: the block is there as long as the manager; nobody uses what it allocates.
unsafe impl MemoryManager for Same {
    const NAME: &'static std::ffi::CStr = c"same";

    unsafe fn memalloc(&self, _: u64, _: u64, _: MemoryKind, _: u64) -> Result<Block> {
        Ok(self.0)
    }

    unsafe fn memfree(&self, _: &Block, _: u64) -> Result<()> {
        Ok(())
    }
}

/// A manager that is written in Rust, and the same by functions of C's.
fn managers(c: &mut Criterion) {
    let memory = Request::on(Device::Cpu).bytes(SIZE).expect("memory");
    let data = memory.describe().expect("memory").data;
    let block = Block { data, host: data, size: SIZE, cookie: 0 };
    let by_rust = Manager::new(Device::Cpu, Same(block), None).expect("a manager");
    let by_c = plain::manager(block);
    let mut group = c.benchmark_group("a manager");
    for (name, manager) in [("C", &by_c), ("Rust", &by_rust)] {
        group.bench_function(name, |b| {
            // SAFETY: the CPU's stream; what is allocated is freed.
            b.iter(|| unsafe {
                let block = manager.alloc(SIZE, 64, MemoryKind::Default, 0).expect("a block");
                manager.free(black_box(&block), MemoryKind::Default, 0).expect("a free");
            })
        });
    }
    group.finish();
}

/// What `Same` is, without the crate's trait.
mod plain {
    use std::ffi::c_void;
    use std::ptr;

    use super::{Block, Device, Manager, sys};

    type Status = sys::cai_status;
    type Error = *mut sys::cai_error;

    unsafe extern "C" fn create(
        params: *const c_void,
        _: sys::cai_device,
        _: *mut sys::cai_manager,
        this: *mut *mut c_void,
        _: Error,
    ) -> Status {
        // SAFETY: the output can be written.
        unsafe { this.write(params.cast_mut()) };
        sys::CAI_OK
    }

    extern "C" fn destroy(_: *mut c_void) {}

    extern "C" fn nothing(_: *mut c_void, _: Error) -> Status {
        sys::CAI_OK
    }

    unsafe extern "C" fn memalloc(
        this: *mut c_void,
        _: u64,
        _: u64,
        _: u32,
        _: u64,
        out: *mut sys::cai_block,
        _: Error,
    ) -> Status {
        // SAFETY: manager() made the block; the output can be written.
        unsafe { out.write(*this.cast()) };
        sys::CAI_OK
    }

    extern "C" fn memfree(_: *mut c_void, _: *const sys::cai_block, _: u64, _: Error) -> Status {
        sys::CAI_OK
    }

    pub fn manager(block: Block) -> Manager {
        // SAFETY: all zeros is a valid table without functions.
        let mut table: sys::cai_manager_table = unsafe { std::mem::zeroed() };
        table.struct_size = size_of::<sys::cai_manager_table>() as u32;
        table.version = sys::CAI_MANAGER_VERSION;
        table.name = c"plain".as_ptr();
        table.create = Some(create);
        table.destroy = Some(destroy);
        table.initialize = Some(nothing);
        table.reset = Some(nothing);
        table.memalloc = Some(memalloc);
        table.memfree = Some(memfree);
        let (table, block) = (Box::leak(Box::new(table)), Box::leak(Box::new(block.to_raw())));
        // SAFETY: table and block stay; the params are those of create().
        unsafe {
            let status = sys::cai_manager_register(table.name, table, ptr::null_mut());
            assert_eq!(status, sys::CAI_OK);
            let params = ptr::from_ref(block).cast();
            Manager::create_raw("plain", params, Device::Cpu, None).expect("a manager")
        }
    }
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    handles(&mut c, "the heap", Device::Cpu, MemoryKind::Default);
    let gpu = Device::Cuda(0);
    gpu.set_current().expect("a GPU: run this on simcuda");
    handles(&mut c, "stream-ordered memory", gpu, MemoryKind::Async);
    managers(&mut c);
    c.final_summary();
}
