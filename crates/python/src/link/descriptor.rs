//! Duplicates of file descriptors of Python objects: the only unsafe code of this crate.
#![allow(unsafe_code)]

use pyo3::exceptions::PyValueError;
use pyo3::PyResult;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A new descriptor of the same file.
pub fn duplicate(fd: i32) -> PyResult<OwnedFd> {
    if fd < 0 {
        return Err(PyValueError::new_err("no file descriptor"));
    }
    // SAFETY: the number came from a Python file object that lives until this call returns. If it does not, the kernel
    // refuses to duplicate it, or the command gets another file.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(borrowed.try_clone_to_owned()?)
}
