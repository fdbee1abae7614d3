//! A hint to the processor, for networks whose state does not fit into the caches. No result depends on it.
#![allow(unsafe_code)]

/// Asks for the cache lines of `items[index]`; nothing happens where there is no such item or no such instruction.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_lines(std::ptr::from_ref(item).cast(), std::mem::size_of::<T>().div_ceil(64));
    }
}

/// Asks for the cache lines in which so many bytes from `first` on lie.
#[inline(always)]
pub fn prefetch_bytes(first: *const u8, bytes: usize) {
    let before = first.addr() % 64;
    prefetch_lines(first.wrapping_sub(before).cast(), (before + bytes).div_ceil(64));
}

/// Asks for so many cache lines from `first` on.
#[inline(always)]
pub fn prefetch_lines(first: *const i8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing that the program could see, and cannot fault at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, lines);
}
