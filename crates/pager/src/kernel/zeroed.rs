//! Tables of zeros.

use super::memory::{protect, READ_WRITE};
use super::{own, PAGE};
use rustix::io::Result;
use std::ops::{Deref, DerefMut};

/// A table of zeros, which takes memory only for the pages that are accessed.
pub struct Zeroed<T: Copy> {
    start: usize,
    len: usize,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Zeroed<T> {
    /// Reserve a table of `len` elements.
    ///
    /// # Safety
    /// All bits zero must be a value of `T`.
    pub unsafe fn new(len: usize) -> Result<Zeroed<T>> {
        let size = (len * size_of::<T>()).next_multiple_of(PAGE).max(PAGE);
        let start = own::take(size)?;
        // SAFETY: the range was taken on the line above.
        unsafe { protect(start..start + size, READ_WRITE) }?;
        Ok(Zeroed { start, len, kind: std::marker::PhantomData })
    }
}

impl<T: Copy> Deref for Zeroed<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` mapped `len` zeroed elements, and only this value refers to them.
        unsafe { std::slice::from_raw_parts(self.start as *const T, self.len) }
    }
}

impl<T: Copy> DerefMut for Zeroed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut T, self.len) }
    }
}

impl<T: Copy> Drop for Zeroed<T> {
    fn drop(&mut self) {
        let size = (self.len * size_of::<T>()).next_multiple_of(PAGE).max(PAGE);
        // SAFETY: mapped by `new`, and no borrow exists any more.
        let _ = unsafe { own::give_back(self.start..self.start + size) };
    }
}
