//! Stored results: the same bytes on any machine and in any build.

mod drawn;
mod stored;
