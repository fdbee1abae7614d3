//! Cache prefetch hints, for networks whose state exceeds the caches. No result depends on them.
#![allow(unsafe_code)]

/// Prefetches `items[index]`; does nothing if there is no such item or instruction.
#[inline(always)]
pub fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_lines(std::ptr::from_ref(item).cast(), std::mem::size_of::<T>().div_ceil(64));
    }
}

/// Prefetches `count` items from `items[first]` on, as far as there are any.
#[inline(always)]
pub fn prefetch_rows<T>(items: &[T], first: usize, count: usize) {
    if let Some(item) = items.get(first) {
        prefetch_bytes(std::ptr::from_ref(item).cast(), count * std::mem::size_of::<T>());
    }
}

/// Prefetches the cache lines of `bytes` bytes at `first`.
#[inline(always)]
pub fn prefetch_bytes(first: *const u8, bytes: usize) {
    let before = first.addr() % 64;
    prefetch_lines(first.wrapping_sub(before).cast(), (before + bytes).div_ceil(64));
}

/// Prefetches `lines` cache lines from `first` on.
#[inline(always)]
pub fn prefetch_lines(first: *const i8, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch has no visible effect, and cannot fault at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, lines);
}
