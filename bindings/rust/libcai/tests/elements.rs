// SPDX-License-Identifier: BSD-3-Clause
//! Elements of other crates' types: half, num-complex, bytemuck.

use bytemuck::{Pod, TransparentWrapper, Zeroable};
use half::{bf16, f16};
use libcai::{
    Array, ArrayBuilder, DType, Descr, DeviceType, Element, Entry, Error, Field, Record, View,
};
use num_complex::Complex;

/// What goes into an array comes out of it, as one type and no other.
fn round_trip<T: Element + PartialEq + std::fmt::Debug>(values: &[T], typestr: &str) {
    let array = Array::from_vec(values.to_vec(), &[values.len() as i64]).unwrap();
    assert_eq!(array.dtype().to_string(), typestr);
    // SAFETY: nobody else has the array.
    assert_eq!(unsafe { array.view::<T>().unwrap().as_slice() }.unwrap(), values);
    let error = array.view::<u64>().unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Typestr), "{error}");
}

#[test]
fn half_precision() {
    round_trip(&[f16::from_f32(1.5), f16::MAX], "<f2");
    round_trip(&[bf16::from_f32(-2.0), bf16::MIN], "<V2");
    let array = Array::from_vec(vec![bf16::ONE], &[1]).unwrap();
    let error = array.view::<f16>().unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Typestr), "{error}");
    let error = array.view::<Record<[u8; 2]>>().unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Typestr), "bfloat16 is no struct: {error}");
}

#[test]
fn complex() {
    round_trip(&[Complex::new(1f32, -2.0), Complex::new(0.0, 3.0)], "<c8");
    round_trip(&[Complex::new(1f64, -2.0)], "<c16");
}

#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i32,
}

const PARTICLE: Particle = Particle { position: [1.0, 2.0, 3.0], charge: -1 };

#[test]
fn structs() {
    round_trip(&[Record(PARTICLE); 3], "|V16");
    let array = Array::from_vec(vec![Record(PARTICLE)], &[1]).unwrap();
    // SAFETY: nobody else has the array.
    let records = unsafe { array.view::<Record<Particle>>().unwrap().as_slice() }.unwrap();
    assert_eq!(Record::peel_slice(records), [PARTICLE]);
}

#[test]
fn structs_of_another_size_or_alignment_are_refused() {
    let array = Array::from_vec(vec![Record(PARTICLE); 2], &[2]).unwrap();
    let error = array.view::<Record<[u8; 15]>>().unwrap_err();
    assert!(matches!(error, Error::Argument(_)), "{error:?}");
    assert_eq!(error.entry(), Some(Entry::Typestr));

    let odd = ArrayBuilder::new(0x1001, DType::of::<Record<Particle>>(), &[2]);
    // SAFETY: nobody uses the memory.
    let odd = unsafe { odd.own(()) }.unwrap();
    let error = odd.view::<Record<Particle>>().unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error:?}");
    let _: View<'_, Record<[u8; 16]>> = odd.view().unwrap();
}

#[test]
fn structs_of_the_other_byte_order_are_refused() {
    let position = Field::new("position", ">f4".parse().unwrap(), 0);
    let descr = Descr::new(vec![Field { shape: vec![3], ..position }]).unwrap();
    let dtype = "|V12".parse().unwrap();
    let array =
        ArrayBuilder::new(0x1000, dtype, &[2]).descr(&descr).device(DeviceType::Cuda, Some(0));
    // SAFETY: nobody uses the memory.
    let array = unsafe { array.own(()) }.unwrap();
    let error = array.view::<Record<[f32; 3]>>().unwrap_err();
    assert_eq!(error.entry(), Some(Entry::Descr), "{error:?}");
}
