//! Large tables on large pages. On small pages nearly every access to a table of some hundred megabytes also misses the
//! cache of address translations. No result depends on it.
#![allow(unsafe_code)]

/// Tables below this many bytes stay as they are.
const LARGE: usize = 4 << 20;

/// An empty table with memory for `rows` rows.
pub fn space<T>(rows: usize) -> Vec<T> {
    let space = Vec::with_capacity(rows);
    prefer_large(&space);
    space
}

/// Asks the system for large pages for the memory of `rows`, if that is large.
pub fn prefer_large<T>(rows: &Vec<T>) {
    let bytes = rows.capacity().saturating_mul(std::mem::size_of::<T>());
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= LARGE {
        const PAGE: usize = 4096;
        let first = rows.as_ptr().addr().next_multiple_of(PAGE);
        let bytes = (rows.as_ptr().addr() + bytes - first) & !(PAGE - 1);
        // SAFETY: advice on how to back whole pages of our own memory; their contents stay as they are.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(first), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (bytes, LARGE);
}

/// From now on each table of a megabyte or more has pages of its own, which it can give back. Once one is freed, glibc
/// would put tables of up to 32 MB between others, and with a million flows 30 MB would remain in use.
pub fn keep_apart() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: it has no precondition.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20);
    }
}

/// Gives free memory, which the set-up has needed, back to the system.
pub fn give_back_free() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: it has no precondition.
    unsafe {
        libc::malloc_trim(0);
    }
}
