// SPDX-License-Identifier: BSD-3-Clause
//! Views whose elements are of a Rust type.

use libcai::{
    Array, ArrayBuilder, DType, DeviceType, Element, Entry, Error, Index, Result, View, index,
};

const ADDRESS: u64 = 0x7f55_0000_0400;

fn array(builder: ArrayBuilder<'_>) -> Array {
    // SAFETY: nobody uses the memory.
    unsafe { builder.own(()) }.unwrap()
}

fn of(dtype: &str, shape: &[i64]) -> Array {
    array(ArrayBuilder::new(ADDRESS, dtype.parse().unwrap(), shape))
}

fn check<T>(viewed: Result<T>, status: fn(&Error) -> bool, entry: Entry, shown: &str) {
    let Err(error) = viewed else { panic!("viewed, though {entry} is wrong") };
    let message = error.to_string();
    assert!(status(&error), "{error:?}");
    assert_eq!(error.entry(), Some(entry), "{error:?}");
    assert!(message.contains(&entry.to_string()) && message.contains(shown), "{message}");
}

#[test]
fn shows_address_shape_and_strides() {
    let mut array = of("<f4", &[2, 3]);
    let view: View<'_, f32> = array.view().unwrap();
    assert_eq!((view.data(), view.len(), view.is_empty()), (ADDRESS, 6, false));
    assert_eq!((view.shape(), view.strides()), (&[2, 3][..], &[12, 4][..]));
    assert_eq!(view.element_strides(), Some(vec![3, 1]));
    assert_eq!(view.array().data(), ADDRESS);

    let mut view = array.view_mut::<f32>().unwrap();
    assert_eq!((view.data(), view.len(), view.is_empty()), (ADDRESS, 6, false));
    assert_eq!((view.shape(), view.strides()), (&[2, 3][..], &[12, 4][..]));
    assert_eq!(view.reborrow().data(), view.as_view().data());
}

#[test]
fn refuses_another_type_or_byte_order() {
    let argument = |error: &Error| matches!(error, Error::Argument(_));
    check(of("<f4", &[1]).view::<f64>(), argument, Entry::Typestr, "<f4");
    check(of("<f4", &[1]).view::<i32>(), argument, Entry::Typestr, "<i4");
    check(of("<i4", &[1]).view::<u32>(), argument, Entry::Typestr, "<u4");
    check(of(">f4", &[1]).view::<f32>(), argument, Entry::Typestr, ">f4");
    check(of("|u1", &[1]).view::<bool>(), argument, Entry::Typestr, "|b1");
    #[cfg(feature = "half")]
    {
        check(of("|V2", &[1]).view::<half::bf16>(), argument, Entry::Typestr, "Bfloat16");
        check(of("<f2", &[1]).view::<half::bf16>(), argument, Entry::Typestr, "Bfloat16");
    }
}

#[test]
fn refuses_what_is_not_aligned() {
    let layout = |error: &Error| matches!(error, Error::Layout(_));
    let f64s =
        |data, shape, strides| array(ArrayBuilder::new(data, f64::DTYPE, shape).strides(strides));
    check(f64s(ADDRESS + 4, &[2], &[8]).view::<f64>(), layout, Entry::Data, "0x7f5500000404");
    let strided = f64s(ADDRESS, &[2, 2], &[16, -12]);
    check(strided.view::<f64>(), layout, Entry::Strides, "-12");
    assert_eq!(strided.view::<f64>().unwrap_err().detail().index(), Some(1));

    // Unused strides do not matter.
    assert!(f64s(ADDRESS, &[2, 1], &[16, 3]).view::<f64>().is_ok());
    assert!(f64s(ADDRESS + 4, &[2, 0], &[3, 3]).view::<f64>().is_ok());
    // Nor does an element's size, only its alignment.
    let records = f64s(ADDRESS, &[2], &[24]).view::<f64>().unwrap().element_strides();
    assert_eq!(records, Some(vec![3]));
    assert!(of("|i1", &[3]).slice(index![1..]).unwrap().view::<i8>().is_ok());
    #[cfg(feature = "num-complex")]
    {
        use num_complex::Complex;
        let builder = ArrayBuilder::new(ADDRESS, DType::of::<Complex<f64>>(), &[2]);
        let between = array(builder.strides(&[24]));
        assert_eq!(between.view::<Complex<f64>>().unwrap().element_strides(), None);
    }
}

#[test]
fn refuses_to_write_what_is_read_only() {
    let mut array = array(ArrayBuilder::new(ADDRESS, f32::DTYPE, &[2]).readonly());
    assert!(array.view::<f32>().is_ok());
    let value = |error: &Error| matches!(error, Error::Value(_));
    check(array.view_mut::<f32>(), value, Entry::Data, "read-only");
    let mut large = of("<f4", &[1]).broadcast(&[4]).unwrap();
    check(large.view_mut::<f32>(), value, Entry::Data, "read-only");
}

#[test]
fn refuses_a_mask() {
    let mask = of("|b1", &[2]);
    let masked = array(ArrayBuilder::new(ADDRESS, f32::DTYPE, &[2]).mask(mask.borrow()));
    let unsupported = |error: &Error| matches!(error, Error::Unsupported(_));
    check(masked.view::<f32>(), unsupported, Entry::Mask, "mask");
}

#[test]
fn gives_the_hosts_elements() {
    let mut array = Array::from_vec((0..6).collect::<Vec<i32>>(), &[2, 3]).unwrap();
    let row = array.slice(index![1]).unwrap();
    let column = array.slice(index![.., 0]).unwrap();
    let none = array.slice(index![5..]).unwrap();
    let backwards = row.slice(index![Index::from(..).step(-1)]).unwrap();
    // SAFETY: here and below, nobody else has the memory in use.
    unsafe {
        array.view_mut::<i32>().unwrap().as_mut_slice().unwrap()[5] = 50;
        assert_eq!(array.view::<i32>().unwrap().as_slice().unwrap(), [0, 1, 2, 3, 4, 50]);
        assert_eq!(row.view::<i32>().unwrap().as_slice().unwrap(), [3, 4, 50]);
        assert!(none.view::<i32>().unwrap().as_slice().unwrap().is_empty());
        let layout = |error: &Error| matches!(error, Error::Layout(_));
        check(column.view::<i32>().unwrap().as_slice(), layout, Entry::Strides, "[12]");
        check(backwards.view::<i32>().unwrap().as_slice(), layout, Entry::Strides, "[-4]");
    }
    let empty = Array::from_vec(Vec::<f64>::new(), &[3, 0]).unwrap();
    // SAFETY: there is nothing to use.
    assert!(unsafe { empty.view::<f64>().unwrap().as_slice() }.unwrap().is_empty());
}

#[test]
fn gives_no_elements_of_a_device() {
    let unsupported = |error: &Error| matches!(error, Error::Unsupported(_));
    let slice = |array: &Array| {
        // SAFETY: it is refused.
        unsafe { array.view::<f32>().unwrap().as_slice() }.map(<[f32]>::len)
    };
    check(slice(&of("<f4", &[2])), unsupported, Entry::Data, "Cuda");
    let rocm = array(ArrayBuilder::new(ADDRESS, f32::DTYPE, &[2]).device(DeviceType::Rocm, None));
    check(slice(&rocm), unsupported, Entry::Data, "Rocm");
}

#[test]
fn takes_back_a_vector_that_does_not_fit() {
    for shape in [&[3, 2][..], &[-4], &[i64::MAX, i64::MAX], &[0]] {
        let failed = Array::from_vec(vec![1u8, 2, 3, 4], shape).unwrap_err();
        assert_eq!((failed.error.entry(), failed.value), (Some(Entry::Shape), vec![1, 2, 3, 4]));
    }
}
