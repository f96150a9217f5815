// SPDX-License-Identifier: BSD-3-Clause
//! Arrays in host memory, from ndarray and for it. Feature `ndarray`.

use std::ptr;

use ::ndarray::{ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};

use crate::array::{Array, DeviceType};
use crate::dtype::Element;
use crate::error::{Entry, Error, Result};
use crate::failure::Failed;
use crate::own::ArrayBuilder;
use crate::sys;
use crate::view::{View, ViewMut};

impl Array {
    /// Makes an array in host memory of an ndarray array of any layout, without a copy.
    ///
    /// ```
    /// use libcai::Array;
    ///
    /// let mut table = ndarray::array![[1i16, 2, 3], [4, 5, 6]];
    /// table.invert_axis(ndarray::Axis(1));
    /// let array = Array::from_ndarray(table)?;
    /// assert_eq!((array.shape(), array.strides()), ([2, 3].as_slice(), [6, -2].as_slice()));
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ArrayBuilder::own()`]: [`Error::Value`], with entry shape, for more than 64 dimensions.
    /// The array is returned with it.
    pub fn from_ndarray<T, D>(
        mut array: ::ndarray::Array<T, D>,
    ) -> Result<Self, Failed<::ndarray::Array<T, D>>>
    where
        T: Element,
        D: Dimension + 'static,
    {
        // ndarray's numbers fit in an isize, and so do their products, except of unused strides.
        let shape: Vec<_> = array.shape().iter().map(|&extent| extent as i64).collect();
        let in_bytes = |&step: &isize| (step as i64).saturating_mul(size_of::<T>() as i64);
        let strides: Vec<_> = array.strides().iter().map(in_bytes).collect();
        let data = array.as_mut_ptr().expose_provenance() as u64;
        let builder = ArrayBuilder::new(data, T::DTYPE, &shape)
            .strides(&strides)
            .device(DeviceType::Cpu, Some(0));
        // SAFETY: the array keeps its memory where it is until it is dropped, and nobody else has it.
        unsafe { builder.own(array) }
    }
}

impl<'a, T: Element> View<'a, T> {
    /// The elements for ndarray, if the host may read them: in host, pinned or managed memory.
    /// Strides may be of any sign, and 0.
    ///
    /// ```
    /// use libcai::Array;
    ///
    /// let array = Array::from_vec(vec![1i32, 2, 3, 4, 5, 6], &[2, 3])?.transpose()?;
    /// // SAFETY: no other code has the array.
    /// let table = unsafe { array.view::<i32>()?.as_ndarray() }?;
    /// assert_eq!(table, ndarray::array![[1, 4], [2, 5], [3, 6]].into_dyn());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Safety
    /// As [`as_slice()`](Self::as_slice).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for memory of a device; [`Error::Layout`] for steps that are no
    /// multiple of an element, as in a field of records; [`Error::State`] if libcai has freed the
    /// memory.
    pub unsafe fn as_ndarray(self) -> Result<ArrayViewD<'a, T>> {
        let layout = Layout::of(self)?;
        let start = ptr::with_exposed_provenance(layout.start);
        // SAFETY: aligned and in range, as the array was judged; the caller guarantees the rest.
        let mut array = unsafe { ArrayViewD::from_shape_ptr(layout.shape(), start) };
        for axis in layout.backward {
            array.invert_axis(axis);
        }
        Ok(array)
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// The elements for ndarray, as [`View::as_ndarray()`] returns them, for writing as well.
    ///
    /// ```
    /// use libcai::Array;
    ///
    /// let mut array = Array::from_vec(vec![0u8; 6], &[2, 3])?;
    /// // SAFETY: no other code has the array.
    /// let mut table = unsafe { array.view_mut::<u8>()?.as_ndarray_mut() }?;
    /// table[[0, 1]] = 7;
    /// assert_eq!(table, ndarray::array![[0, 7, 0], [0, 0, 0]].into_dyn());
    /// # Ok::<(), libcai::Error>(())
    /// ```
    ///
    /// # Safety
    /// As [`as_mut_slice()`](Self::as_mut_slice).
    ///
    /// # Errors
    /// As [`View::as_ndarray()`]; [`Error::Layout`] also if two elements may share memory.
    pub unsafe fn as_ndarray_mut(self) -> Result<ArrayViewMutD<'a, T>> {
        let layout = Layout::of(self.as_view())?;
        layout.check_distinct()?;
        let start = ptr::with_exposed_provenance_mut(layout.start);
        // SAFETY: aligned, in range and none twice, as the array was judged; the rest is the caller's
        // word.
        let mut array = unsafe { ArrayViewMutD::from_shape_ptr(layout.shape(), start) };
        for axis in layout.backward {
            array.invert_axis(axis);
        }
        Ok(array)
    }
}

/// An array in ndarray's form, which counts steps in elements, and has no negative steps: such axes
/// are inverted here, and inverted back there.
struct Layout {
    /// Address of the lowest element, never 0.
    start: usize,
    extents: Vec<usize>,
    steps: Vec<usize>,
    backward: Vec<Axis>,
}

impl Layout {
    fn of<T: Element>(view: View<'_, T>) -> Result<Self> {
        view.check_host()?;
        let itemsize = size_of::<T>() as i64;
        let mut layout = Self {
            start: if view.is_empty() { align_of::<T>() } else { view.host_address()? as usize },
            // libcai refuses extents whose product overflows, of empty arrays, too; as ndarray does.
            extents: view.shape().iter().map(|&extent| extent as usize).collect(),
            steps: Vec::with_capacity(view.shape().len()),
            backward: Vec::new(),
        };
        for (axis, (&extent, &stride)) in view.shape().iter().zip(view.strides()).enumerate() {
            if extent <= 1 || view.is_empty() {
                layout.steps.push(0); // never used
                continue;
            }
            if stride % itemsize != 0 {
                let message = format!("strides {:?} are not of whole elements", view.strides());
                return Err(refused(message).with_index(Some(axis)));
            }
            if stride < 0 {
                layout.start -= ((extent - 1) * -stride) as usize;
                layout.backward.push(Axis(axis));
            }
            layout.steps.push((stride / itemsize).unsigned_abs() as usize);
        }
        Ok(layout)
    }

    fn shape(&self) -> StrideShape<IxDyn> {
        let extents = IxDyn(&self.extents);
        match self.extents.contains(&0) {
            true => extents.into(), // ndarray checks strides that are never used, too
            false => extents.strides(IxDyn(&self.steps)),
        }
    }

    /// Whether no two elements share memory: each step exceeds the extent of all smaller steps.
    fn check_distinct(&self) -> Result<()> {
        let mut axes: Vec<_> =
            self.steps.iter().zip(&self.extents).filter(|&(_, &extent)| extent > 1).collect();
        axes.sort();
        let mut reach = 0;
        for (&step, &extent) in axes {
            if step <= reach && !self.extents.contains(&0) {
                let message = format!(
                    "strides: elements of shape {:?} overlap with steps {:?}",
                    self.extents, self.steps
                );
                return Err(refused(message));
            }
            reach += step * (extent - 1);
        }
        Ok(())
    }
}

#[cold]
fn refused(message: String) -> Error {
    Error::of(sys::CAI_ERR_LAYOUT, Entry::Strides, message)
}
