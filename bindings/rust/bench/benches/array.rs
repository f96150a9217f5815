// SPDX-License-Identifier: BSD-3-Clause
//! What is done with arrays that needs no driver, through the crate and through the C functions
//! themselves, in one run: `cargo bench -p bench --bench array`.

#![allow(missing_docs)] // of what criterion_group! makes

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;

use criterion::{Criterion, criterion_group, criterion_main};
use libcai::{Array, ArrayBuilder, ArrayRef, DType, Pending, index, sys};

fn array() -> Array {
    let array = ArrayBuilder::new(0x7f00_0000_0000, DType::of::<f32>(), &[64, 64])
        .pending(Pending::Stream(1));
    // SAFETY: nobody uses the memory.
    unsafe { array.own(()) }.expect("an array")
}

fn borrow_by_c(raw: *const sys::cai_array) -> bool {
    let mut error = MaybeUninit::uninit();
    // SAFETY: the array is held.
    unsafe { sys::cai_array_validate(raw, error.as_mut_ptr()) == sys::CAI_OK }
}

/// What a consumer in C asks before it takes `data` for the address of floats.
fn view_by_c(raw: *const sys::cai_array) -> u64 {
    // SAFETY: the array is held, and has ndim strides and extents.
    unsafe {
        let array = &*raw;
        let is_float = (array.dtype.kind, array.dtype.itemsize) == (b'f', 4)
            && array.dtype.byteorder == b'<'
            && array.dtype.ext == sys::CAI_EXT_NONE;
        let refused = sys::cai_array_refuses(raw, sys::CAI_FLAG_READONLY);
        let aligned = (0..array.ndim as usize)
            .all(|i| *array.strides.add(i) % 4 == 0 || *array.shape.add(i) <= 1);
        assert!(is_float && refused == 0 && aligned && array.data % 4 == 0);
        array.data
    }
}

fn slice_by_c(raw: *const sys::cai_array) {
    let rows = sys::cai_slice {
        start: 1,
        stop: 0,
        step: 1,
        kind: sys::CAI_SLICE_RANGE | sys::CAI_SLICE_NO_STOP,
        reserved: 0,
    };
    let (mut out, mut error) = (ptr::null_mut(), MaybeUninit::uninit());
    // SAFETY: the array is held, and there is one item.
    unsafe {
        let status = sys::cai_array_slice(raw, &rows, 1, &mut out, error.as_mut_ptr());
        assert_eq!(status, sys::CAI_OK);
        sys::cai_array_release(black_box(out));
    }
}

fn arrays(c: &mut Criterion) {
    let array = array();
    let raw = array.as_ptr();

    let mut group = c.benchmark_group("borrow");
    group.bench_function("C", |b| b.iter(|| borrow_by_c(black_box(raw))));
    group.bench_function("Rust", |b| {
        // SAFETY: the array is held.
        b.iter(|| unsafe { ArrayRef::from_raw(black_box(raw)) }.is_ok())
    });
    group.finish();

    let mut group = c.benchmark_group("clone and drop");
    group.bench_function("C", |b| {
        // SAFETY: the array is held.
        b.iter(|| unsafe {
            sys::cai_array_retain(black_box(raw));
            sys::cai_array_release(black_box(raw));
        })
    });
    group.bench_function("Rust", |b| b.iter(|| drop(black_box(black_box(&array).clone()))));
    group.finish();

    let mut group = c.benchmark_group("view");
    group.bench_function("C", |b| b.iter(|| view_by_c(black_box(raw))));
    group.bench_function("Rust", |b| {
        b.iter(|| black_box(&array).view::<f32>().expect("floats").data())
    });
    group.finish();

    let mut group = c.benchmark_group("slice and drop");
    group.bench_function("C", |b| b.iter(|| slice_by_c(black_box(raw))));
    group.bench_function("Rust", |b| {
        b.iter(|| drop(black_box(black_box(&array).slice(index![1..]).expect("a view"))))
    });
    group.finish();
}

criterion_group!(benches, arrays);
criterion_main!(benches);
