//! Stored results: the same bytes on any machine and in any build.

mod digests;
mod drawn;
mod stored;
