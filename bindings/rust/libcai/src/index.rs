// SPDX-License-Identifier: BSD-3-Clause
//! Items of an index expression.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::sys;

/// One item of an index expression, as Python's `a[...]` takes them: an integer, a range, a
/// [`NEW_AXIS`](Self::NEW_AXIS) or the [`ELLIPSIS`](Self::ELLIPSIS). Negative numbers count from the
/// end, and ranges are clipped. [`index!`](crate::index) makes several.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    slice: sys::cai_slice,
    last: Option<i64>, // of an inclusive range
}

impl Index {
    /// A new axis of extent 1.
    pub const NEW_AXIS: Self = Self::new(None, None, sys::CAI_SLICE_NEWAXIS);

    /// All axes that the other items leave; at most once.
    pub const ELLIPSIS: Self = Self::new(None, None, sys::CAI_SLICE_ELLIPSIS);

    /// The same range by steps of `step` elements, as `a[start:stop:step]`; other items do not
    /// change. An inclusive range has its end in either direction: `5..=2` by -1 is 5, 4, 3, 2. A
    /// step of 0 is refused when the array is sliced.
    ///
    /// ```
    /// use libcai::{Array, Index, index};
    ///
    /// let array = Array::from_vec(vec![0i32, 1, 2, 3, 4, 5], &[6])?;
    /// let backwards = array.slice(index![Index::from(..).step(-2)])?;
    /// assert_eq!((backwards.shape(), backwards.strides()), (&[3][..], &[-8][..]));
    /// # Ok::<(), libcai::Error>(())
    /// ```
    #[must_use]
    pub const fn step(mut self, step: i64) -> Self {
        self.slice.step = step;
        match self.last {
            Some(last) => self.ending_at(last),
            None => self,
        }
    }

    const fn new(start: Option<i64>, stop: Option<i64>, kind: i32) -> Self {
        let (start, stop) = (
            match start {
                Some(start) => start,
                None => 0,
            },
            match stop {
                Some(stop) => stop,
                None => 0,
            },
        );
        Self { slice: sys::cai_slice { start, stop, step: 1, kind, reserved: 0 }, last: None }
    }

    /// The range up to an element: nothing is after -1, the end, nor before 0.
    const fn ending_at(mut self, last: i64) -> Self {
        let stop = match (self.slice.step < 0, last) {
            (false, -1) | (true, 0) => None,
            (false, last) => last.checked_add(1),
            (true, last) => last.checked_sub(1),
        };
        self.last = Some(last);
        self.slice.kind &= !sys::CAI_SLICE_NO_STOP;
        match stop {
            Some(stop) => self.slice.stop = stop,
            None => self.slice.kind |= sys::CAI_SLICE_NO_STOP,
        }
        self
    }

    fn range(start: Option<i64>, stop: Option<i64>) -> Self {
        let no_start = if start.is_none() { sys::CAI_SLICE_NO_START } else { 0 };
        let no_stop = if stop.is_none() { sys::CAI_SLICE_NO_STOP } else { 0 };
        Self::new(start, stop, sys::CAI_SLICE_RANGE | no_start | no_stop)
    }
}

/// Calls a function with the items as C takes them; few of them are not allocated.
pub(crate) fn with_slices<T>(items: &[Index], function: impl FnOnce(&[sys::cai_slice]) -> T) -> T {
    let mut few = [Index::ELLIPSIS.slice; 8];
    if items.len() > few.len() {
        return function(&items.iter().map(|item| item.slice).collect::<Vec<_>>());
    }
    for (slice, item) in few.iter_mut().zip(items) {
        *slice = item.slice;
    }
    function(&few[..items.len()])
}

impl From<i64> for Index {
    /// Removes the axis.
    fn from(index: i64) -> Self {
        Self::new(Some(index), None, sys::CAI_SLICE_INDEX)
    }
}

impl From<Range<i64>> for Index {
    fn from(range: Range<i64>) -> Self {
        Self::range(Some(range.start), Some(range.end))
    }
}

impl From<RangeFrom<i64>> for Index {
    fn from(range: RangeFrom<i64>) -> Self {
        Self::range(Some(range.start), None)
    }
}

impl From<RangeTo<i64>> for Index {
    fn from(range: RangeTo<i64>) -> Self {
        Self::range(None, Some(range.end))
    }
}

impl From<RangeInclusive<i64>> for Index {
    fn from(range: RangeInclusive<i64>) -> Self {
        Self::range(Some(*range.start()), None).ending_at(*range.end())
    }
}

impl From<RangeToInclusive<i64>> for Index {
    fn from(range: RangeToInclusive<i64>) -> Self {
        Self::range(None, None).ending_at(range.end)
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Self {
        Self::range(None, None)
    }
}

/// An index expression: integers, ranges and [`Index`] items, for
/// [`Array::slice()`](crate::Array::slice).
///
/// ```
/// use libcai::{Array, Index, index};
///
/// let array = Array::from_vec(vec![0f32; 24], &[2, 3, 4])?;
/// assert_eq!(array.slice(index![0])?.shape(), [3, 4]);
/// assert_eq!(array.slice(index![.., 1.., -1])?.shape(), [2, 2]);
/// assert_eq!(array.slice(index![Index::ELLIPSIS, Index::NEW_AXIS])?.shape(), [2, 3, 4, 1]);
/// # Ok::<(), libcai::Error>(())
/// ```
#[macro_export]
macro_rules! index {
    ($($item:expr),* $(,)?) => {
        &{
            #[allow(clippy::reversed_empty_ranges)] // `1..-1` is all but the first and the last
            let items = [$($crate::Index::from($item)),*];
            items
        }
    };
}
