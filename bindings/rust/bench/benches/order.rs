// SPDX-License-Identifier: BSD-3-Clause
//! The beginning and the end of a use, by guards and by the C functions themselves, where the driver
//! has little to do: on simcuda, `simcuda/sim cargo bench -p bench --bench order`.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;

use criterion::Criterion;
use libcai::{Array, ArrayBuilder, DType, Device, DeviceType, Options, Pending, Stream, Use, sys};

fn array(pending: Pending) -> Array {
    let array = ArrayBuilder::new(0x7f00_0000_0000, DType::of::<f32>(), &[64])
        .device(DeviceType::Cuda, Some(0))
        .pending(pending);
    // SAFETY: nobody queues work on the memory, which does not exist.
    unsafe { array.own(()) }.expect("an array")
}

fn options(order: u32) -> sys::cai_use_options {
    let struct_size = size_of::<sys::cai_use_options>() as u32;
    let (access, accesses) = (sys::CAI_ACCESS_READ, ptr::null());
    sys::cai_use_options { struct_size, order, access, flags: 0, accesses }
}

/// What a guard does, without one.
fn use_by_c(arrays: &[*const sys::cai_array], stream: u64, options: &sys::cai_use_options) {
    let (mut open, mut error) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let (open, error) = (open.as_mut_ptr(), error.as_mut_ptr());
    let (all, count) = (arrays.as_ptr(), arrays.len() as i32);
    // SAFETY: the arrays are held, the stream is one, and there is room.
    unsafe {
        let status = sys::cai_use_begin(open, all, count, stream, options, error);
        assert_eq!(status, sys::CAI_OK);
        arrays.iter().for_each(|&array| sys::cai_array_retain(array));
        let status = sys::cai_use_end(open, error);
        assert_eq!(status, sys::CAI_OK);
        arrays.iter().for_each(|&array| sys::cai_array_release(array));
    }
}

fn uses(c: &mut Criterion) {
    let gpu = Device::Cuda(0);
    gpu.set_current().expect("a GPU: run this on simcuda");
    let stream = Stream::new(gpu).expect("a stream");
    let value = stream.value();
    let arrays: [Array; 4] = std::array::from_fn(|_| array(Pending::Stream(value)));
    let raw = arrays.each_ref().map(Array::as_ptr);
    let full = options(sys::CAI_ORDER_BOTH);
    let none = options(sys::CAI_ORDER_NONE);

    let mut group = c.benchmark_group("its own stream");
    group.bench_function("C", |b| b.iter(|| use_by_c(black_box(&raw[..1]), value, &full)));
    group.bench_function("Rust", |b| {
        b.iter(|| drop(black_box(&arrays[0]).read_on(&stream).expect("a use")))
    });
    group.finish();

    let mut group = c.benchmark_group("its own stream, 4 arrays");
    group.bench_function("C", |b| b.iter(|| use_by_c(black_box(&raw), value, &full)));
    group.bench_function("Rust", |b| {
        b.iter(|| {
            drop(
                Use::begin(&stream, black_box(&arrays).each_ref(), Options::read()).expect("a use"),
            )
        })
    });
    group.finish();

    let mut group = c.benchmark_group("Order::None");
    let no_order = Options::read().order(libcai::Order::None);
    group.bench_function("C", |b| b.iter(|| use_by_c(black_box(&raw[..1]), value, &none)));
    group.bench_function("Rust", |b| {
        b.iter(|| drop(Use::begin(&stream, [black_box(&arrays[0])], no_order).expect("a use")))
    });
    group.finish();

    // No stream is pending, so nothing is waited for, and nothing is kept of a borrowed array.
    let nothing = array(Pending::Nothing);
    let raw = sys::cai_array { owner: ptr::null_mut(), ..*nothing.borrow().as_raw() };
    // SAFETY: the struct stays as it is.
    let borrowed = unsafe { libcai::ArrayRef::from_raw(&raw) }.expect("an array");
    let begin = options(sys::CAI_ORDER_BEGIN);
    let mut group = c.benchmark_group("nothing pending");
    group.bench_function("C", |b| b.iter(|| use_by_c(black_box(&[&raw]), value, &begin)));
    group.bench_function("Rust", |b| {
        let options = Options::read().order(libcai::Order::Begin);
        b.iter(|| drop(Use::begin(&stream, [black_box(borrowed)], options).expect("a use")))
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    uses(&mut criterion);
    criterion.final_summary();
}
