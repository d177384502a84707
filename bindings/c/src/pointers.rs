//! What C hands over: looked at before it is used, as far as that can be.

use crate::error::Error;
use std::ffi::{CStr, c_char};

/// Where a figure goes.
///
/// # Safety
/// A pointer that is neither NULL nor misaligned points to a `T` that nobody else uses meanwhile.
pub unsafe fn out<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T, Error> {
    check(pointer, name)?;
    // SAFETY: the caller says that there is a T; it is not NULL and aligned.
    Ok(unsafe { &mut *pointer })
}

/// What C has filled in.
///
/// # Safety
/// As for [`out`].
pub unsafe fn given<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T, Error> {
    check(pointer, name)?;
    // SAFETY: the caller says that there is a T; it is not NULL and aligned.
    Ok(unsafe { &*pointer })
}

/// `length` values in a row. Of none the pointer may be anything.
///
/// # Safety
/// As for [`out`], for each of the values.
pub unsafe fn slice<'a, T>(pointer: *const T, length: usize, name: &'static str) -> Result<&'a [T], Error> {
    if length == 0 {
        return Ok(&[]);
    }
    check(pointer, name)?;
    bounded::<T>(length, name)?;
    // SAFETY: the caller says that there are so many; the first is not NULL and aligned.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The same to be written.
///
/// # Safety
/// As for [`slice`].
pub unsafe fn slice_out<'a, T>(
    pointer: *mut T,
    length: usize,
    name: &'static str,
) -> Result<&'a mut [T], Error> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer, name)?;
    bounded::<T>(length, name)?;
    // SAFETY: the caller says that there are so many; the first is not NULL and aligned.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// A text that ends with a NUL.
///
/// # Safety
/// A pointer that is not NULL points to such a text.
pub unsafe fn text<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str, Error> {
    check(pointer, name)?;
    // SAFETY: the caller says that it ends with a NUL.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Error::Text(name))
}

fn check<T>(pointer: *const T, name: &'static str) -> Result<(), Error> {
    if pointer.is_null() || !pointer.is_aligned() { Err(Error::Pointer(name)) } else { Ok(()) }
}

/// No object is larger than this; a length of -1 is one.
fn bounded<T>(length: usize, name: &'static str) -> Result<(), Error> {
    let most = isize::MAX as usize / size_of::<T>().max(1);
    match length <= most {
        true => Ok(()),
        false => Err(Error::Value { what: name, value: length as u64, expected: format!("at most {most}") }),
    }
}
