//! Errors: a message of this thread, which `ed_error` shows. What fails returns only that it did, so that what does not
//! fail need not carry a text.

use std::cell::RefCell;
use std::ffi::{c_char, CString};
use std::fmt::Display;

thread_local! {
    static SAID: RefCell<CString> = RefCell::default();
}

/// A call failed, and its message was kept.
#[derive(Clone, Copy, Debug)]
pub struct Failed(());

/// What a call gives, or that it failed.
pub type Checked<T> = Result<T, Failed>;

impl Failed {
    /// Keeps the message.
    #[cold]
    pub fn new(said: impl Display) -> Failed {
        let text = CString::new(said.to_string().replace('\0', "\\0")).unwrap_or_default();
        SAID.with(|last| *last.borrow_mut() = text);
        Failed(())
    }
}

/// The latest message of this thread; empty if there is none.
pub fn latest() -> *const c_char {
    SAID.with(|said| said.borrow().as_ptr())
}
