//! Duplicates of file descriptors of Python objects: the only unsafe code of this crate.
#![allow(unsafe_code)]

use pyo3::exceptions::PyOSError;
use pyo3::PyResult;
use std::io::Error;
use std::os::fd::{FromRawFd, OwnedFd};

/// A new descriptor of the same file.
///
/// # Errors
/// `OSError` if `fd` is not open.
pub fn duplicate(fd: i32) -> PyResult<OwnedFd> {
    // SAFETY: the kernel gets two numbers. It refuses a descriptor that is not open.
    let new = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if new < 0 {
        let error = Error::last_os_error();
        return Err(PyOSError::new_err((
            error.raw_os_error().unwrap_or(libc::EBADF),
            format!("file descriptor {fd} is not open"),
        )));
    }
    // SAFETY: the kernel has just made this descriptor, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(new) })
}
