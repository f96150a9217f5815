// SPDX-License-Identifier: BSD-3-Clause
//! Memory of every kind: what it says, who keeps it, and when it is freed.

mod gpu;
mod other;

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gpu::{Gone, driver, gpu, stream};
use libcai::memory::{
    self, Foreign, HostFlags, IpcHandle, OpenMode, Request, copy, fill, item, usage, validate,
};
use libcai::{
    Array, ArrayBuilder, DType, Descr, Device, DeviceType, Element, Entry, Error, Field, Manager,
    Memory, MemoryKind, Result, manager::PoolOptions,
};
use other::{COUNT, Other, VALUE, share_if_asked};

const KINDS: [MemoryKind; 9] = [
    MemoryKind::Default,
    MemoryKind::Async,
    MemoryKind::Pitched,
    MemoryKind::PitchedManaged,
    MemoryKind::Pinned,
    MemoryKind::Mapped,
    MemoryKind::Managed,
    MemoryKind::ManagedGlobal,
    MemoryKind::Host,
];

const F32: DType = f32::DTYPE;

fn dropped(gone: &'static AtomicUsize) -> usize {
    libcai::drain(true).unwrap();
    gone.load(Ordering::SeqCst)
}

// ---- Kinds --------------------------------------------------------------------------------------

#[test]
fn kinds_have_names() {
    for kind in KINDS.into_iter().chain([MemoryKind::CudaArray]) {
        assert_eq!(format!("\t{kind} ").to_uppercase().parse(), Ok(kind));
    }
    for none in ["", "none", "pinned\0", "p"] {
        assert!(matches!(none.parse::<MemoryKind>(), Err(Error::Value(_))), "{none:?}");
    }
    assert_eq!(MemoryKind::Unknown(77).to_string(), "kind 77");
    assert!(!MemoryKind::Unknown(77).is_dereferenceable(Device::Cpu));
}

#[test]
fn memory_of_every_kind_on_every_device() {
    for device in [gpu(), Device::Cpu] {
        for kind in KINDS {
            let request = Request::on(device).kind(kind).align(512);
            let pitched = [MemoryKind::Pitched, MemoryKind::PitchedManaged].contains(&kind);
            let memory = if pitched { request.rows(40, 3) } else { request.bytes(120) };
            let memory = memory.unwrap();
            let known = memory.describe().unwrap();
            assert_eq!(known.kind, kind);
            assert_eq!((known.row, known.rows), if pitched { (40, 3) } else { (120, 1) });
            assert_eq!(known.pitch, if pitched { 256.max(known.pitch) } else { 120 });
            assert_eq!(known.data % 512, 0, "{kind} on {device}");
            assert!(!known.is_freed && !known.is_foreign && !known.is_view);
            let usable = kind.is_dereferenceable(device);
            assert_eq!(memory.host().is_ok(), usable, "{kind} on {device}");
            assert!(usable || matches!(memory.host(), Err(Error::Unsupported(_))));

            let mut array = memory.array(F32, &[3, 10]).unwrap();
            assert_eq!(
                array.strides(),
                [known.pitch.min(256) as i64, 4]
                    .map(|stride| { if pitched || stride == 4 { stride } else { 40 } })
            );
            fill(&mut array, 2.5_f32, None).unwrap();
            drop(memory); // the array has it
            assert_eq!(item::<f32>(&array, &[-1, 9]).unwrap(), 2.5);
        }
    }
}

#[test]
fn textures() {
    let memory = Request::on(gpu()).texture(F32, 2, 64, 4, 3).unwrap();
    let known = memory.describe().unwrap();
    assert_eq!((known.kind, known.data, known.channels), (MemoryKind::CudaArray, 0, 2));
    assert_eq!((known.row, known.rows, known.depth), (64, 4, 3));
    assert_ne!(known.array, 0);
    assert!(matches!(memory.array(F32, &[1]), Err(Error::Unsupported(_))));
    assert!(matches!(memory.view(0, 1), Err(Error::Unsupported(_))));
    assert!(matches!(Request::on(gpu()).texture(F32, 3, 64, 4, 0), Err(Error::Value(_))));
    assert!(matches!(Request::on(gpu()).texture(f64::DTYPE, 1, 64, 4, 0), Err(Error::Value(_))));
    assert!(Request::on(Device::Cpu).texture(F32, 1, 64, 4, 0).is_err());
}

#[test]
fn no_bytes_have_no_address() {
    for device in [gpu(), Device::Cpu] {
        let memory = Request::on(device).bytes(0).unwrap();
        let known = memory.describe().unwrap();
        assert_eq!((known.data, known.size), (0, 0));
        assert_eq!(memory.array(F32, &[0, 3]).unwrap().size(), 0);
        assert_eq!(Request::on(device).zeros(F32, &[4, 0]).unwrap().data(), 0);
        assert_eq!(Request::on(device).zeros(F32, &[]).unwrap().size(), 1);
    }
    let none = Request::on(Device::Cpu).bytes(0).unwrap();
    assert_eq!(none.host().unwrap().len(), 0);
}

#[test]
fn bad_requests_are_refused() {
    let on_cpu = stream_of(Device::Cpu);
    let of_cpu = Manager::of(Device::Cpu).unwrap();
    let request = Request::on(gpu());
    for refused in [
        request.align(3).bytes(8),
        request.kind(MemoryKind::Unknown(77)).bytes(8),
        request.kind(MemoryKind::CudaArray).bytes(8),
        request.rows(8, 8), // of the kind default
        request.flags(HostFlags::PORTABLE).bytes(8),
        request.kind(MemoryKind::Pitched).rows(1 << 40, 1 << 40),
        request.stream(&on_cpu).bytes(8),
        request.manager(&of_cpu).bytes(8),
        Request::on(Device::Cuda(-1)).bytes(8),
    ] {
        assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
    }
    assert!(matches!(request.bytes(1 << 50), Err(Error::Memory(_))));
    assert!(matches!(Request::on(Device::Cpu).bytes(1 << 60), Err(Error::Memory(_))));
    assert!(matches!(Request::on(Device::Cuda(77)).bytes(8), Err(Error::Device(_))));

    for (shape, axis) in [(&[2, -1][..], Some(1)), (&[1 << 40, 1 << 40], None)] {
        let error = request.empty(F32, shape).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert_eq!((error.entry(), error.detail().index()), (Some(Entry::Shape), axis));
    }
    assert!(matches!(request.empty(F32, &[1; 65]), Err(Error::Value(_))));
}

#[test]
fn arrays_of_fields() {
    let descr = Descr::new(vec![Field::new("a", F32, 0)]).unwrap();
    let made = Request::on(gpu()).empty_with_fields("|V4".parse().unwrap(), &descr, &[3]).unwrap();
    assert_eq!((made.descr(), made.shape(), made.strides()), (descr.clone(), &[3][..], &[4][..]));
    let error = Request::on(gpu()).empty_with_fields(f64::DTYPE, &descr, &[3]).unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    assert_eq!(error.entry(), Some(Entry::Descr));
}

static ITEMS: [u8; 36] = [7; 36];
static VALID: [u8; 3] = [1, 0, 1];

#[test]
fn arrays_like_others_keep_fields_and_mask() {
    let fields = vec![Field::new("a", F32, 0), Field::new("b", i16::DTYPE, 4)];
    let (descr, row) = (Descr::new(fields).unwrap(), [3]);
    let dtype: DType = "|V6".parse().unwrap();
    let at = |bytes: &'static [u8]| bytes.as_ptr().expose_provenance() as u64;
    let mask = ArrayBuilder::new(at(&VALID), u8::DTYPE, &row).device(DeviceType::Cpu, Some(0));
    // SAFETY: both are static, and must not be written.
    let mask = unsafe { mask.readonly().own(()) }.unwrap();
    let given = ArrayBuilder::new(at(&ITEMS), dtype, &[2, 3]).device(DeviceType::Cpu, Some(0));
    let given = given.descr(&descr).mask(mask.borrow()).readonly();
    // SAFETY: likewise.
    let given = unsafe { given.own(()) }.unwrap();

    for device in [gpu(), Device::Cpu] {
        let mut made = Request::on(device).empty_like(&given).unwrap();
        copy(&given, &mut made, None).unwrap();
        assert_eq!((made.dtype(), made.descr()), (dtype, descr.clone()));
        let of_mask = made.mask().unwrap();
        assert_eq!((of_mask.dtype(), of_mask.shape()), (u8::DTYPE, &row[..]));
        assert_eq!(memory::to_vec::<u8>(of_mask).unwrap(), VALID);
        assert!(!made.is_readonly());
        let mut back = Request::on(Device::Cpu).empty_like(&made).unwrap();
        copy(&made, &mut back, None).unwrap();
        memory::eval(&back).unwrap();
        let data: *const [u8; 36] = ptr::with_exposed_provenance(back.data() as usize);
        // SAFETY: that many bytes, and nobody writes them.
        assert_eq!(unsafe { data.read() }, ITEMS);

        let whole = Request::on(device).bytes(64).unwrap();
        let placed = whole.array_like(8, &given, 48).unwrap();
        assert_eq!(placed.mask().unwrap().data(), whole.describe().unwrap().data + 48);
        let error = whole.array_like(8, &given, 40).unwrap_err();
        assert!(matches!(error, Error::Layout(_)), "{error:?}");
        assert_eq!(error.entry(), Some(Entry::Mask));
    }
    let rows = Request::on(gpu()).kind(MemoryKind::Pitched).empty_like(&given).unwrap_err();
    assert!(matches!(rows, Error::Unsupported(_)), "{rows:?}");
}

fn stream_of(device: Device) -> libcai::Stream {
    libcai::Stream::new(device).unwrap()
}

alone! {
    fn a_call_of_the_driver_that_fails_is_told() {
        let gpu = gpu();
        gpu.synchronize().unwrap();
        for (kind, function) in [
            (MemoryKind::Default, c"cuMemAlloc"),
            (MemoryKind::Async, c"cuMemAllocAsync"),
            (MemoryKind::Pinned, c"cuMemHostAlloc"),
            (MemoryKind::Managed, c"cuMemAllocManaged"),
        ] {
            let before = usage(gpu).unwrap();
            driver().fail(function, 1, 999);
            let error = Request::on(gpu).kind(kind).bytes(8).unwrap_err();
            assert!(matches!(error, Error::Cuda(_)), "{kind}: {error:?}");
            assert_eq!(error.detail().native(), 999);
            assert_eq!(usage(gpu).unwrap(), before);
            Request::on(gpu).kind(kind).bytes(8).unwrap();
        }
        driver().fail(c"cuMemHostRegister", 1, 999);
        let failed = Memory::pin(gpu, vec![7_u8; 8], MemoryKind::Pinned, HostFlags::NONE).unwrap_err();
        assert_eq!((failed.error.detail().native(), failed.value), (999, vec![7; 8]));
    }

    fn what_is_out_is_known() {
        let before = usage(Device::Cpu).unwrap();
        let one = Request::on(Device::Cpu).bytes(1000).unwrap();
        let pinned = Request::on(gpu()).kind(MemoryKind::Pinned).bytes(500).unwrap();
        let now = usage(Device::Cpu).unwrap();
        assert_eq!((now.bytes - before.bytes, now.count - before.count), (1500, 2));
        let view = one.view(10, 20).unwrap();
        drop((one, pinned));
        libcai::drain(true).unwrap();
        assert_eq!(usage(Device::Cpu).unwrap().bytes - before.bytes, 1000);
        drop(view);
        assert_eq!(usage(Device::Cpu).unwrap(), before);
    }
}

// ---- Memory of others ---------------------------------------------------------------------------

/// Elements of a vector that is pinned, and what was dropped.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Item(u16);

// SAFETY: an integer.
unsafe impl Element for Item {
    const DTYPE: DType = u16::DTYPE;
}

#[test]
fn pinned_vectors_are_kept() {
    for device in [gpu(), Device::Cpu] {
        let host = (0..600).map(Item).collect::<Vec<_>>();
        let memory = Memory::pin(device, host, MemoryKind::Pinned, HostFlags::PORTABLE).unwrap();
        assert_eq!(memory.describe().unwrap().size, 1200);
        let array = memory.array(u16::DTYPE, &[20, 30]).unwrap();
        drop(memory);
        let mut to = Request::on(gpu()).empty(u16::DTYPE, &[20, 30]).unwrap();
        copy(&array, &mut to, None).unwrap();
        assert_eq!(item::<Item>(&to, &[19, 29]).unwrap().0, 599);
    }
    for (kind, device) in [(MemoryKind::Default, gpu()), (MemoryKind::Pinned, Device::Cuda(77))] {
        let failed = Memory::pin(device, vec![1, 2, 3], kind, HostFlags::NONE).unwrap_err();
        assert!(matches!(failed.error, Error::Value(_) | Error::Device(_)), "{failed:?}");
        assert_eq!(failed.value, [1, 2, 3]);
    }
}

#[test]
fn owners_are_dropped_once_after_the_last_holder() {
    static PINNED: AtomicUsize = AtomicUsize::new(0);
    static WRAPPED: AtomicUsize = AtomicUsize::new(0);
    let mut host = vec![0_u8; 4096].into_boxed_slice();
    let address = host.as_mut_ptr();
    let owner = (host, Gone(&PINNED));
    // SAFETY: the box has that many bytes, and nobody else has it.
    let pinned = unsafe {
        Memory::pin_raw(gpu(), address, 4096, MemoryKind::Pinned, HostFlags::NONE, owner)
    };
    let pinned = pinned.unwrap();
    let view = pinned.view(16, 32).unwrap();
    let array = view.array(u8::DTYPE, &[16]).unwrap();
    assert_eq!(array.data(), pinned.describe().unwrap().data + 16);
    let clones = [pinned.clone(), view.clone()];
    drop((pinned, view));
    thread::spawn(|| drop(clones)).join().unwrap();
    assert_eq!(dropped(&PINNED), 0);
    drop(array);
    assert_eq!(dropped(&PINNED), 1);

    let data = driver().fresh();
    let foreign = Foreign::new(gpu(), MemoryKind::Default, data, gpu::BYTES as u64);
    // SAFETY: the memory is so large, and stays.
    let wrapped = unsafe { Memory::wrap(&foreign, Gone(&WRAPPED)) }.unwrap();
    let known = wrapped.describe().unwrap();
    assert!(known.is_foreign);
    assert_eq!((known.data, known.size, known.stream), (data, gpu::BYTES as u64, 0));
    let on = stream();
    wrapped.set_stream(&on).unwrap();
    assert_eq!(wrapped.describe().unwrap().stream, on.value());
    drop(wrapped);
    assert_eq!(dropped(&WRAPPED), 1);

    let nowhere = Foreign { kind: MemoryKind::Unknown(9999), ..foreign };
    // SAFETY: it is refused.
    let failed = unsafe { Memory::wrap(&nowhere, Gone(&WRAPPED)) }.unwrap_err();
    assert!(matches!(failed.error, Error::Value(_)));
    assert_eq!(dropped(&WRAPPED), 1); // it came back
    drop(failed);
    assert_eq!(dropped(&WRAPPED), 2);
}

#[test]
fn memory_is_found_by_address_and_by_array() {
    let memory = Request::on(gpu()).bytes(4000).unwrap();
    let data = memory.describe().unwrap().data;
    let (found, offset) = Memory::find(data + 3999).unwrap();
    assert_eq!((found.describe().unwrap(), offset), (memory.describe().unwrap(), 3999));
    assert!(matches!(Memory::find(8), Err(Error::Device(_))));

    let array = memory.array_at(40, F32, &[10], &[8]).unwrap();
    let (whole, offset) = Memory::of(&array).unwrap();
    assert_eq!((whole.describe().unwrap().data, offset), (data, 40));
    let (held, offset) = Memory::of(&array.slice(&[libcai::Index::from(1..3)]).unwrap()).unwrap();
    assert_eq!((held.describe().unwrap().data, offset), (data, 48));
}

static READ_ONLY: [u8; 8] = *b"constant";

#[test]
fn memory_of_a_read_only_array_is_read_only() {
    let array = ArrayBuilder::new(READ_ONLY.as_ptr() as u64, u8::DTYPE, &[8])
        .device(DeviceType::Cpu, None)
        .readonly();
    // SAFETY: the bytes are static, and only read.
    let array = unsafe { array.own(()) }.unwrap();
    let (found, _) = Memory::of(&array).unwrap();
    assert!(found.describe().unwrap().is_readonly);
    assert!(found.view(1, 3).unwrap().describe().unwrap().is_readonly);
    let mut again = found.array(u8::DTYPE, &[8]).unwrap();
    assert!(again.is_readonly());
    assert!(matches!(fill(&mut again, 0_u8, None), Err(Error::Value(_))));
    assert_eq!(&READ_ONLY, b"constant");
}

#[test]
fn pinned_memory_with_two_addresses() {
    let combined = Request::on(gpu()).kind(MemoryKind::Pinned).flags(HostFlags::WRITE_COMBINED);
    let combined = combined.bytes(64).unwrap();
    let registered =
        Memory::pin(gpu(), vec![0_u8; 64], MemoryKind::Pinned, HostFlags::NONE).unwrap();
    for memory in [combined, registered] {
        let known = memory.describe().unwrap();
        assert_ne!(known.data, known.host);
        let mut array = memory.array(u8::DTYPE, &[64]).unwrap();
        let on_cpu = libcai::Stream::new(Device::Cpu).unwrap();
        fill(&mut array, 7_u8, Some(&on_cpu)).unwrap();
        memory::eval(&array).unwrap();
        on_cpu.synchronize().unwrap();
        // SAFETY: nobody else has the array, and nothing is pending.
        let seen = unsafe { array.view::<u8>().unwrap().as_slice() }.unwrap();
        assert_eq!((seen.as_ptr() as u64, seen), (known.host, &[7; 64][..]));
        assert_eq!(memory::first::<u8>(&array).unwrap(), 7);
        assert_eq!(memory::to_vec::<u8>(&array).unwrap(), [7; 64]);
    }
}

#[test]
fn arrays_come_as_vectors() {
    for device in [Device::Cpu, gpu()] {
        let array = Request::on(device).zeros(i32::DTYPE, &[2, 3]).unwrap();
        let mut row = array.slice(&[libcai::Index::from(1)]).unwrap();
        fill(&mut row, 5_i32, None).unwrap();
        assert_eq!(memory::to_vec::<i32>(&array).unwrap(), [0, 0, 0, 5, 5, 5]);
        assert_eq!(memory::to_vec::<i32>(&row).unwrap(), [5; 3]);
        assert!(matches!(memory::to_vec::<u32>(&array), Err(Error::Value(_))));
        let none = Request::on(device).empty(bool::DTYPE, &[0]).unwrap();
        assert!(memory::to_vec::<bool>(&none).unwrap().is_empty());
        assert!(matches!(memory::first::<bool>(&none), Err(Error::Argument(_))));
        let mask = Request::on(device).zeros(u8::DTYPE, &[2, 3]).unwrap();
        let masked = ArrayBuilder::new(array.data(), i32::DTYPE, &[2, 3])
            .device(array.device_type(), array.device_id())
            .mask(mask.borrow());
        // SAFETY: the memory is the array's, which stays that long.
        let masked = unsafe { masked.own(array) }.unwrap();
        let error = memory::to_vec::<i32>(&masked).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
    }
}

#[test]
fn elements_with_swapped_fields_are_no_numbers() {
    let host = Array::from_vec(vec![1.5_f32, 2.5], &[2]).unwrap();
    let descr = Descr::new(vec![Field::new("x", ">f4".parse().unwrap(), 0)]).unwrap();
    let builder = ArrayBuilder::new(host.data(), F32, &[2])
        .device(host.device_type(), host.device_id())
        .descr(&descr);
    // SAFETY: the memory is the array's, which stays that long.
    let mut array = unsafe { builder.own(host) }.unwrap();
    let refused = [
        fill(&mut array, 1.0_f32, None),
        item::<f32>(&array, &[0]).map(drop),
        memory::first::<f32>(&array).map(drop),
        memory::to_vec::<f32>(&array).map(drop),
    ];
    for answer in refused {
        let error = answer.unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
        assert_eq!(error.detail().entry(), Some(Entry::Descr));
    }
}

#[test]
fn no_vector_is_larger_than_memory() {
    // An array of one element's bytes, for which there would not be enough memory.
    let one = Array::from_vec(vec![7_u64], &[1]).unwrap();
    let many = one.broadcast(&[1 << 46]).unwrap();
    let error = memory::to_vec::<u64>(&many).unwrap_err();
    assert!(matches!(error, Error::Memory(_)), "{error}");
    assert!(
        error.to_string().contains("no room for 70368744177664 elements of 8 bytes"),
        "{error}"
    );
    assert_eq!(memory::to_vec::<u64>(&one.broadcast(&[3]).unwrap()).unwrap(), [7; 3]);
}

#[test]
fn a_guard_makes_its_stream() {
    let before = libcai::Stream::current(gpu()).unwrap().value();
    let guard = libcai::StreamGuard::new(gpu(), libcai::Mode::Async).unwrap();
    assert_ne!(libcai::Stream::current(gpu()).unwrap().value(), before);
    guard.try_leave().unwrap();
    assert_eq!(libcai::Stream::current(gpu()).unwrap().value(), before);
}

#[test]
fn parts_and_arrays_stay_inside() {
    let memory = Request::on(gpu()).bytes(100).unwrap();
    assert_eq!(memory.view(100, 100).unwrap().describe().unwrap().size, 0);
    for (start, stop) in [(0, 101), (60, 50), (u64::MAX, 0)] {
        assert!(matches!(memory.view(start, stop), Err(Error::Bounds(_))), "{start} {stop}");
    }
    assert!(memory.array(F32, &[25]).is_ok());
    assert!(memory.array_at(96, F32, &[25], &[-4]).is_ok());
    for refused in [
        memory.array(F32, &[26]),
        memory.array_at(4, F32, &[25], &[4]),
        memory.array_at(92, F32, &[25], &[-4]),
        memory.array_at(u64::MAX, F32, &[1], &[4]),
    ] {
        assert!(matches!(refused, Err(Error::Bounds(_))), "{refused:?}");
    }
    assert!(matches!(memory.array_at(0, F32, &[5], &[]), Err(Error::Argument(_))));
    let error = memory.array(F32, &[-1]).unwrap_err();
    assert_eq!((error.status(), error.entry()), (libcai::sys::CAI_ERR_VALUE, Some(Entry::Shape)));
}

#[test]
fn what_is_freed_is_dead() {
    let memory = Request::on(Device::Cpu).bytes(100).unwrap();
    let (view, mut array) = (memory.view(0, 50).unwrap(), memory.array(u8::DTYPE, &[100]).unwrap());
    // SAFETY: nobody uses it.
    unsafe {
        assert!(matches!(view.free(), Err(Error::Unsupported(_))));
        memory.free().unwrap();
        assert!(matches!(memory.free(), Err(Error::State(_))));
    }
    let on = stream_of(Device::Cpu);
    let dead: [Result<()>; 9] = [
        memory.host().map(drop),
        memory.view(0, 1).map(drop),
        memory.array(u8::DTYPE, &[1]).map(drop),
        view.array(u8::DTYPE, &[1]).map(drop),
        memory.record(&on),
        memory.set_stream(&on),
        fill(&mut array, 1_u8, None),
        // SAFETY: no other code has the array.
        unsafe { array.view::<u8>().unwrap().as_slice() }.map(drop),
        // SAFETY: likewise.
        unsafe { array.view_mut::<u8>().unwrap().as_mut_slice() }.map(drop),
    ];
    for refused in dead {
        assert!(matches!(refused, Err(Error::State(_))), "{refused:?}");
    }
    assert!(memory.describe().unwrap().is_freed);
}

#[test]
fn the_driver_is_asked_what_memory_is() {
    let host = Request::on(Device::Cpu).bytes(64).unwrap();
    let address = host.describe().unwrap().data;
    validate(address, 64, Device::Cpu, MemoryKind::Host).unwrap();
    assert!(matches!(validate(address, 64, gpu(), MemoryKind::Default), Err(Error::Device(_))));
    assert!(matches!(validate(0, 1, gpu(), MemoryKind::Default), Err(Error::Value(_))));
    assert!(matches!(validate(address, 64, gpu(), MemoryKind::Unknown(99)), Err(Error::Value(_))));
}

// ---- Work on arrays -----------------------------------------------------------------------------

fn counted(device: Device, kind: MemoryKind) -> Array {
    let from = Array::from_vec((0..60).collect::<Vec<i32>>(), &[6, 10]).unwrap();
    let mut to = Request::on(device).kind(kind).empty(i32::DTYPE, &[6, 10]).unwrap();
    copy(&from, &mut to, None).unwrap();
    to
}

#[test]
fn copies_between_all_kinds() {
    let places: Vec<_> =
        [Device::Cpu, gpu()].into_iter().flat_map(|on| KINDS.map(|kind| (on, kind))).collect();
    for &(from, from_kind) in &places {
        for &(to, to_kind) in &places {
            let array = counted(from, from_kind);
            let mut copied = Request::on(to).kind(to_kind).empty(i32::DTYPE, &[10, 6]).unwrap();
            copy(&array.transpose().unwrap(), &mut copied, None).unwrap();
            let last = item::<i32>(&copied, &[9, 4]).unwrap();
            assert_eq!(last, 49, "{from_kind} on {from} to {to_kind} on {to}");
        }
    }
}

#[test]
fn bad_copies_are_refused() {
    let mut array = counted(gpu(), MemoryKind::Default);
    let zeros = |dtype, shape: &[i64]| Request::on(gpu()).zeros(dtype, shape).unwrap();
    let readonly = zeros(i32::DTYPE, &[10]).broadcast(&[6, 10]).unwrap();
    for mut to in [zeros(i32::DTYPE, &[60]), zeros(F32, &[6, 10]), readonly] {
        let refused = copy(&array, &mut to, None);
        assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
    }
    let rows = array.slice(&[libcai::Index::from(1..)]).unwrap();
    let mut before = array.slice(&[libcai::Index::from(..5)]).unwrap();
    assert!(matches!(copy(&rows, &mut before, None), Err(Error::Layout(_))));
    let on_cpu = stream_of(Device::Cpu);
    let refused = copy(&array, &mut zeros(i32::DTYPE, &[6, 10]), Some(&on_cpu));
    assert!(matches!(refused, Err(Error::Device(_))), "{refused:?}");

    let refused = fill(&mut array, 1.0_f32, None).unwrap_err();
    assert_eq!(refused.entry(), Some(Entry::Typestr));
    assert!(refused.to_string().contains("<i4"), "{refused}");
    assert!(matches!(
        fill(&mut zeros(i32::DTYPE, &[1]).broadcast(&[2]).unwrap(), 1, None),
        Err(Error::Value(_))
    ));

    assert_eq!(item::<u32>(&array, &[0, 0]).unwrap_err().entry(), Some(Entry::Typestr));
    assert!(matches!(item::<i32>(&array, &[0]), Err(Error::Argument(_))));
    let beyond = item::<i32>(&array, &[0, 10]).unwrap_err();
    assert!(matches!(beyond, Error::Argument(_)));
    assert_eq!(beyond.detail().index(), Some(1));
    assert!(item::<i32>(&array, &[-7, 0]).is_err());
}

#[test]
fn truth_is_one_byte() {
    let memory = Request::on(Device::Cpu).bytes(3).unwrap();
    fill(&mut memory.array(u8::DTYPE, &[2]).unwrap(), 0xEE_u8, None).unwrap();
    let truth = memory.array(bool::DTYPE, &[3]).unwrap();
    fill(&mut memory.view(2, 3).unwrap().array(bool::DTYPE, &[1]).unwrap(), false, None).unwrap();
    assert!(item::<bool>(&truth, &[0]).unwrap());
    assert!(!item::<bool>(&truth, &[2]).unwrap());
}

#[test]
fn threads_make_and_let_go() {
    let shared = Request::on(gpu()).kind(MemoryKind::Async).bytes(4096).unwrap();
    thread::scope(|scope| {
        for thread in 0..8_u8 {
            let shared = shared.clone();
            scope.spawn(move || {
                for on in [gpu(), Device::Cpu].repeat(10) {
                    let mut array = Request::on(on).zeros(u8::DTYPE, &[64]).unwrap();
                    fill(&mut array, thread, None).unwrap();
                    assert_eq!(item::<u8>(&array, &[63]).unwrap(), thread);
                    shared.view(0, 64).unwrap().array(u8::DTYPE, &[64]).unwrap();
                }
            });
        }
    });
    assert!(!shared.describe().unwrap().is_freed);
}

// ---- Order --------------------------------------------------------------------------------------

/// Memory of the device's pool, and another stream than its own.
fn pooled() -> (libcai::Stream, libcai::Stream, Memory) {
    let (one, two) = (stream(), stream());
    let request = Request::on(gpu()).kind(MemoryKind::Async).stream(&one);
    let memory = request.bytes(gpu::BYTES as u64).unwrap();
    one.synchronize().unwrap();
    (one, two, memory)
}

pairs! {
    fn the_free_waits_for_what_was_recorded(ordered) {
        let (one, two, memory) = pooled();
        driver().fill(memory.describe().unwrap().data, 7, two.value());
        if ordered {
            memory.record(&two).unwrap();
        }
        drop(memory);
        drop(one);
    }

    fn the_free_waits_for_uses_of_arrays(ordered) {
        let (one, two, memory) = pooled();
        let mut array = memory.array(u8::DTYPE, &gpu::SHAPE).unwrap();
        let using = ordered.then(|| array.write_on(&two).unwrap());
        driver().fill(memory.describe().unwrap().data, 7, two.value());
        drop(using);
        drop((array, memory, one));
    }

    fn the_free_is_in_the_order_of_the_stream_that_was_set(ordered) {
        let (one, two, memory) = pooled();
        if ordered {
            memory.set_stream(&two).unwrap();
        }
        driver().fill(memory.describe().unwrap().data, 7, two.value());
        drop(memory);
        drop(one);
    }

    fn a_copy_comes_after_uses_and_before_them(ordered) {
        let (one, two) = (stream(), stream());
        let on_one = Request::on(gpu()).stream(&one);
        let from = on_one.zeros(u8::DTYPE, &gpu::SHAPE).unwrap();
        let mut to = on_one.empty(u8::DTYPE, &gpu::SHAPE).unwrap();
        copy(&from, &mut to, Some(&two)).unwrap();
        let user = if ordered { one } else { stream() };
        driver().take(to.data(), user.value());
    }
}

// ---- Other processes ----------------------------------------------------------------------------

#[test]
fn memory_of_another_process() {
    if share_if_asked() {
        return;
    }
    gpu::alone("memory_of_another_process", || {
        let other = Other::start("memory_of_another_process");
        for mode in [OpenMode::Direct, OpenMode::Staged, OpenMode::Auto] {
            let memory = Memory::open(&other.handle, None, gpu(), None, mode).unwrap();
            let known = memory.describe().unwrap();
            assert_eq!(
                (known.size, known.is_foreign),
                (4 * COUNT as u64, mode != OpenMode::Staged)
            );
            let array = memory.array(u32::DTYPE, &[COUNT]).unwrap();
            assert_eq!(item::<u32>(&array, &[COUNT - 1]).unwrap(), VALUE);
            // A size at byte 8, an offset at 16: what they name must be within the memory.
            for (at, wrong) in [(8, 0), (8, 1 << 40), (8, u64::MAX), (16, 1), (16, u64::MAX)] {
                let mut bytes = other.handle.to_bytes();
                bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(wrong));
                let opened = Memory::open(&IpcHandle::from_bytes(bytes), None, gpu(), None, mode);
                assert!(matches!(opened, Err(Error::Value(_))), "{wrong:#x} at {at}: {opened:?}");
            }
        }
        libcai::drain(true).unwrap();
        drop(other);
    });
}

#[test]
fn bad_handles_are_refused() {
    let own = Request::on(gpu()).bytes(64).unwrap().share().unwrap().handle;
    let open = |handle: &IpcHandle| Memory::open(handle, None, gpu(), None, OpenMode::Auto);
    assert!(matches!(open(&own), Err(Error::State(_))));
    for at in 0..IpcHandle::SIZE {
        let mut bytes = own.to_bytes();
        bytes[at] ^= 0x5A;
        assert!(open(&IpcHandle::from_bytes(bytes)).is_err(), "byte {at}");
    }
    for kind in [MemoryKind::Pinned, MemoryKind::Managed] {
        let memory = Request::on(gpu()).kind(kind).bytes(64).unwrap();
        assert!(matches!(memory.share(), Err(Error::Unsupported(_))), "{kind}");
    }
    let nothing = Request::on(gpu()).bytes(64).unwrap().view(32, 32).unwrap();
    assert!(matches!(nothing.share(), Err(Error::Unsupported(_))));
}

#[test]
fn memory_of_a_pool_is_shared_by_its_descriptor() {
    let options = PoolOptions { exportable: true, ..Default::default() };
    let pool = Manager::pool(gpu(), &options).unwrap();
    let request = Request::on(gpu()).kind(MemoryKind::Async).manager(&pool);
    let shared = request.bytes(64).unwrap().share().unwrap();
    assert_eq!(shared.handle.size(), 64);
    assert!(shared.descriptor.is_some());
    assert_eq!(memory::IpcHandle::SIZE, shared.handle.to_bytes().len());
}
