// SPDX-License-Identifier: BSD-3-Clause
//! Structs as elements. Feature `bytemuck`.

use ::bytemuck::{Pod, TransparentWrapper};

use crate::dtype::{DType, Element};
use crate::sys;

/// A struct as an element: NumPy's `|V12`, usually with fields. The view of an array checks the
/// size of its elements only; their fields are in its [`descr`](crate::ArrayRef::descr).
///
/// ```
/// use bytemuck::{Pod, TransparentWrapper, Zeroable};
/// use libcai::{Array, Record};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     charge: i32,
/// }
///
/// let particles = vec![Record(Particle { position: [0.0, 1.0, 2.0], charge: -1 }); 3];
/// let array = Array::from_vec(particles, &[3])?;
/// assert_eq!(array.dtype().to_string(), "|V16");
///
/// let view = array.view::<Record<Particle>>()?;
/// // SAFETY: no other code has the array.
/// let particles: &[Particle] = Record::peel_slice(unsafe { view.as_slice() }?);
/// assert_eq!(particles[2].charge, -1);
/// # Ok::<(), libcai::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Record<T>(pub T);

// SAFETY: it is a T and nothing else.
unsafe impl<T> TransparentWrapper<T> for Record<T> {}

// SAFETY: a Pod has no padding and no pointers, and its size is the item's.
unsafe impl<T: Pod + Send + Sync> Element for Record<T> {
    const DTYPE: DType = {
        assert!(size_of::<T>() != 0, "an element has at least one byte");
        assert!(size_of::<T>() <= u32::MAX as usize, "an element has less than 4 GiB");
        DType::from_valid(sys::cai_dtype {
            kind: b'V',
            byteorder: b'|',
            ext: sys::CAI_EXT_NONE,
            time_unit: sys::CAI_TIME_GENERIC,
            itemsize: size_of::<T>() as u32,
            time_step: 0,
        })
    };
}
