// SPDX-License-Identifier: BSD-3-Clause
//! Arrays of the host's memory, from ndarray and for it.

use std::sync::Arc;

use libcai::{Array, ArrayBuilder, DType, DeviceType, Element, Entry, Error, Index, Pending};
use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, array, aview0, s};
use num_complex::Complex;

/// The array's elements: nobody else has the arrays of these tests.
fn elements<T: Element>(array: &Array) -> libcai::Result<ArrayViewD<'_, T>> {
    // SAFETY: nobody writes the memory.
    unsafe { array.view()?.as_ndarray() }
}

/// An array over `values`, laid out otherwise; it keeps them.
fn strided(values: Vec<i32>, first: usize, shape: &[i64], strides: &[i64]) -> Array {
    let data = &raw const values[first] as u64;
    let builder = ArrayBuilder::new(data, DType::of::<i32>(), shape)
        .strides(strides)
        .device(DeviceType::Cpu, Some(0));
    // SAFETY: the tests stay within the values, which stay where they are.
    unsafe { builder.own(values) }.unwrap()
}

#[test]
fn ndarrays_become_arrays_and_come_back() {
    let table = Array2::from_shape_fn((3, 4), |(row, column)| (row * 10 + column) as i32);
    let mut turned = table.clone();
    turned.invert_axis(Axis(0));
    let mut sliced = table.clone();
    sliced.slice_collapse(s![..;2, 1..3]);
    let fortran = table.clone().reversed_axes();
    for (name, table) in
        [("plain", table), ("turned", turned), ("sliced", sliced), ("fortran", fortran)]
    {
        let address = table.as_ptr();
        let array = Array::from_ndarray(table.clone()).unwrap();
        assert_ne!(array.data(), address as u64, "{name}: a clone has its own memory");
        assert_eq!(elements::<i32>(&array).unwrap(), table.into_dyn(), "{name}");
    }
}

#[test]
fn nothing_is_copied() {
    let table = array![[1u8, 2], [3, 4]];
    let address = table.as_ptr() as u64;
    let array = Array::from_ndarray(table).unwrap();
    assert_eq!(array.data(), address);
    assert_eq!((array.device_type(), array.pending()), (DeviceType::Cpu, Pending::Nothing));
    assert_eq!(elements::<u8>(&array).unwrap().as_ptr() as u64, address);
}

#[test]
fn an_array_keeps_its_ndarray() {
    let array = Array::from_ndarray(array![1i64, 2, 3].into_dyn()).unwrap();
    let other = array.slice(&[Index::from(1..)]).unwrap();
    drop(array);
    assert_eq!(elements::<i64>(&other).unwrap(), array![2i64, 3].into_dyn());
}

#[test]
fn scalars_and_empty_ones() {
    let scalar = Array::from_ndarray(ndarray::arr0(7f64)).unwrap();
    assert_eq!(elements::<f64>(&scalar).unwrap(), aview0(&7f64).into_dyn());
    let empty = Array::from_ndarray(Array2::<f64>::zeros((3, 0))).unwrap();
    assert_eq!((empty.shape(), empty.data()), (&[3, 0][..], 0));
    assert_eq!(elements::<f64>(&empty).unwrap().shape(), [3, 0]);
}

#[test]
fn too_many_dimensions_are_refused() {
    let deep = ArrayD::<u8>::zeros(IxDyn(&[1; 65]));
    let refused = Array::from_ndarray(deep).unwrap_err();
    assert!(matches!(refused.error, Error::Value(_)), "{:?}", refused.error);
    assert_eq!(refused.error.entry(), Some(Entry::Shape));
    assert_eq!(refused.value.ndim(), 65);
}

#[test]
fn steps_of_any_sign_and_none() {
    let backward = strided((0..6).collect(), 5, &[2, 3], &[-12, -4]);
    assert_eq!(elements::<i32>(&backward).unwrap(), array![[5, 4, 3], [2, 1, 0]].into_dyn());
    let mixed = strided((0..6).collect(), 2, &[2, 3], &[12, -4]);
    assert_eq!(elements::<i32>(&mixed).unwrap(), array![[2, 1, 0], [5, 4, 3]].into_dyn());
    let repeated = strided(vec![4, 5], 0, &[3, 2], &[0, 4]);
    assert_eq!(elements::<i32>(&repeated).unwrap(), array![[4, 5], [4, 5], [4, 5]].into_dyn());
    let unread = strided(vec![4, 5], 0, &[1, 2], &[7, 4]);
    assert_eq!(elements::<i32>(&unread).unwrap(), array![[4, 5]].into_dyn());
}

#[test]
fn what_is_written_is_there() {
    let mut mixed = strided((0..6).collect(), 2, &[2, 3], &[12, -4]);
    // SAFETY: nobody else has the array.
    let mut table = unsafe { mixed.view_mut::<i32>().unwrap().as_ndarray_mut() }.unwrap();
    table.index_axis_mut(Axis(0), 1).fill(9);
    table[[0, 0]] = -1;
    assert_eq!(elements::<i32>(&mixed).unwrap(), array![[-1, 1, 0], [9, 9, 9]].into_dyn());
}

/// Why the elements cannot be written.
fn refused(array: &mut Array) -> Error {
    // SAFETY: nobody else has the array.
    unsafe { array.view_mut::<i32>().and_then(|view| view.as_ndarray_mut()) }.unwrap_err()
}

#[test]
fn elements_at_one_place_are_not_written() {
    let values = || (0..12).collect();
    for (shape, strides) in [
        ([3, 2], [0, 4]),  // the same row again and again
        ([3, 2], [4, 4]),  // a window
        ([2, 3], [8, 4]),  // rows that reach into the next one
        ([2, 2], [-4, 4]), // backward and forward
    ] {
        let error = refused(&mut strided(values(), 3, &shape, &strides));
        assert!(matches!(error, Error::Layout(_)), "{strides:?}: {error:?}");
        assert_eq!(error.entry(), Some(Entry::Strides));
    }
    let mut apart = strided(values(), 0, &[2, 3], &[24, 8]);
    // SAFETY: nobody else has the array.
    unsafe { apart.view_mut::<i32>().unwrap().as_ndarray_mut() }.unwrap();
}

#[test]
fn steps_that_lead_nowhere_may_be_anything() {
    let far = isize::MAX as usize;
    let table = ndarray::Array::from_shape_vec((1, 3).strides((far, 1)), vec![1i64, 2, 3]).unwrap();
    let array = Array::from_ndarray(table).unwrap();
    assert_eq!(elements::<i64>(&array).unwrap(), array![[1, 2, 3]].into_dyn());
    let none =
        ndarray::Array::<i64, _>::from_shape_vec((0, 1).strides((far, far)), vec![]).unwrap();
    assert_eq!(Array::from_ndarray(none).unwrap().shape(), [0, 1]);
    let mut none = strided(vec![0], 0, &[1, 3, 0], &[i64::MIN, 4, 0]);
    // SAFETY: nobody else has the array.
    let table = unsafe { none.view_mut::<i32>().unwrap().as_ndarray_mut() }.unwrap();
    assert_eq!(table.shape(), [1, 3, 0]);
}

#[test]
fn steps_of_parts_of_elements_are_refused() {
    // A field of 8 bytes in records of 12.
    let records = vec![0f32; 6];
    let builder = ArrayBuilder::new(records.as_ptr() as u64, DType::of::<Complex<f32>>(), &[2]);
    let builder = builder.strides(&[12]).device(DeviceType::Cpu, Some(0));
    // SAFETY: the records stay where they are.
    let field = unsafe { builder.own(records) }.unwrap();
    let error = elements::<Complex<f32>>(&field).unwrap_err();
    assert!(matches!(error, Error::Layout(_)), "{error:?}");
    assert_eq!((error.entry(), error.detail().index()), (Some(Entry::Strides), Some(0)));
}

#[test]
fn devices_and_read_only_arrays_are_refused() {
    let mut gpu =
        ArrayBuilder::new(0x1000, DType::of::<i32>(), &[2]).device(DeviceType::Cuda, None);
    // SAFETY: nobody uses the memory.
    let array = unsafe { gpu.clone().own(()) }.unwrap();
    let error = elements::<i32>(&array).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
    gpu = gpu.device(DeviceType::Cpu, Some(0)).readonly();
    // SAFETY: likewise.
    let error = refused(&mut unsafe { gpu.own(()) }.unwrap());
    assert!(matches!(error, Error::Value(_)), "{error:?}");
    assert_eq!(error.entry(), Some(Entry::Data));
    let kept = Arc::new(());
    // SAFETY: likewise.
    let other = unsafe {
        ArrayBuilder::new(0x1000, DType::of::<f32>(), &[2])
            .device(DeviceType::Cpu, Some(0))
            .own(kept.clone())
    }
    .unwrap();
    assert!(elements::<i32>(&other).is_err());
    drop(other);
    assert_eq!(Arc::strong_count(&kept), 1);
}
