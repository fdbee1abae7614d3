//! Whether a library's file is as long as its header says. The loader maps the segments that the header names without
//! comparing them with the file; reading behind its end kills the process (SIGBUS).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a 64-bit file's header, and of a program header.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// # Errors
/// If it is no regular file, cannot be read, or ends too early.
pub(crate) fn is_whole(path: &Path) -> Result<(), String> {
    // Asked before it is opened: opening a FIFO would wait.
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("is no regular file".into());
    }
    if cfg!(any(target_vendor = "apple", windows, not(target_pointer_width = "64"))) {
        return Ok(());
    }
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    segments(&mut file, about.len())
}

/// Checks that the program headers of a file of `length` bytes, and all that they name, lie inside it.
fn segments(file: &mut (impl Read + Seek), length: u64) -> Result<(), String> {
    let header: [u8; HEADER] = read(file, 0, length, "the ELF header")?;
    if !header.starts_with(b"\x7fELF") {
        return Err("is no ELF file".into());
    }
    if header[4..6] != [2, if cfg!(target_endian = "big") { 2 } else { 1 }] {
        return Err("is an ELF file for another word length or byte order".into());
    }
    let half = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
    let (start, size, count) = (word(&header, 32), half(54), half(56));
    if usize::from(size) != PROGRAM_HEADER {
        return Err(format!("has program headers of {size} B; allowed are {PROGRAM_HEADER}"));
    }
    for number in 0..count {
        let at = start.saturating_add(u64::from(number) * u64::from(size));
        let program: [u8; PROGRAM_HEADER] = read(file, at, length, &format!("program header {number}"))?;
        let end = word(&program, 8).saturating_add(word(&program, 32));
        if end > length {
            return Err(format!("is cut off: segment {number} ends at {end} B, the file at {length}"));
        }
    }
    Ok(())
}

fn read<const N: usize>(file: &mut (impl Read + Seek), at: u64, length: u64, what: &str) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    if at.saturating_add(N as u64) > length {
        return Err(format!("is cut off: {what} ends at {} B, the file at {length}", at.saturating_add(N as u64)));
    }
    let found = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes));
    found.map(|()| bytes).map_err(|error| error.to_string())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
