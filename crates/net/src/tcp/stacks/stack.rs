//! The declaration of a TCP stack.

use super::options::Value;
use std::fmt;

/// A default of a stack.
pub struct Row {
    /// The option's key.
    pub key: &'static str,
    /// The option's value. A window is in segments.
    pub value: Value,
    /// The TCPs that have this default; empty: all.
    pub only: &'static [&'static str],
    /// The value's source: a section of an RFC, a function of the kernel.
    pub source: &'static str,
}

/// A TCP stack.
pub struct Stack {
    /// The stack's name.
    pub name: &'static str,
    /// A one-sentence description.
    pub about: &'static str,
    /// The TCPs that the stack has.
    pub tcps: &'static [&'static str],
    /// The stack's defaults, where they differ from those of [`super::rfc::STACK`].
    pub rows: &'static [Row],
    /// Whether the stack is ns-2's, which does not use [`super::options`] ([`crate::tcp::ns2`]).
    pub is_ns2: bool,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stack({:?})", self.name)
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
