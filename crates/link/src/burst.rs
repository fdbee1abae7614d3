//! Several packets read or written in one system call (io_uring), for traffic that arrives faster than single calls can
//! serve. Where entering the kernel is expensive, as in virtual machines, a system call costs as much as all other work
//! on a packet.
//!
//! Unsafe because the kernel gets addresses of buffers. The caller lends them for one call, which does not return
//! before the kernel has finished with all of them.
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, squeue, types, IoUring};

/// Most packets in one call.
pub const MOST: usize = 16;

/// An io_uring; empty between two calls.
pub struct Burst {
    /// `None` after a call that failed or panicked, and while one is under way.
    ring: Option<IoUring>,
    results: [i32; MOST],
}

impl Burst {
    /// Opens a ring; `None` where the kernel offers none (too old, switched off, or forbidden to this process).
    pub fn open() -> Option<Burst> {
        IoUring::new(MOST as u32).ok().map(|ring| Burst { ring: Some(ring), results: [0; MOST] })
    }

    /// Reads a packet into each of the first [`MOST`] `buffers`, in order, while there are packets; returns their
    /// lengths, or negative error numbers.
    ///
    /// # Errors
    /// If the kernel refuses the call, or the device has no non-blocking calls (`EOPNOTSUPP`, TUN devices of old
    /// kernels). Nothing has been read then, and every later call fails too.
    pub fn read(&mut self, from: &OwnedFd, buffers: &mut [Vec<u8>]) -> Result<&[i32]> {
        let from = types::Fd(from.as_raw_fd());
        self.submit(buffers.iter_mut().map(|buffer| {
            // A packet has at most 64 KiB, so the length fits.
            opcode::Read::new(from, buffer.as_mut_ptr(), buffer.len() as u32).rw_flags(libc::RWF_NOWAIT).build()
        }))
    }

    /// Writes the first [`MOST`] `packets`, in order; returns their lengths, or negative error numbers.
    ///
    /// # Errors
    /// As [`Burst::read`]; nothing has been written.
    pub fn write<'a>(&mut self, to: &OwnedFd, packets: impl Iterator<Item = &'a [u8]>) -> Result<&[i32]> {
        let to = types::Fd(to.as_raw_fd());
        self.submit(packets.map(|packet| {
            opcode::Write::new(to, packet.as_ptr(), packet.len() as u32).rw_flags(libc::RWF_NOWAIT).build()
        }))
    }

    /// Submits the first [`MOST`] `entries`, which do not block, and waits until all of them have completed.
    fn submit(&mut self, entries: impl Iterator<Item = squeue::Entry>) -> Result<&[i32]> {
        // The ring is put back when nothing is pending in it. On every other way out, even by a panic of `entries`, the
        // ring is dropped: the kernel never reads entries that it has not taken.
        let mut ring = self.ring.take().ok_or_else(|| Error::other("the ring failed before"))?;
        let mut count = 0;
        {
            let mut queue = ring.submission();
            for entry in entries.take(MOST) {
                // SAFETY: the buffers stay borrowed until all entries have completed (below), or the ring is dropped
                // with the entries not taken; entries taken have completed then, since none blocks.
                unsafe { queue.push(&entry.user_data(count as u64)) }.map_err(|_| Error::other("the ring is full"))?;
                count += 1;
            }
        }
        let mut done = 0;
        while done < count {
            match ring.submit_and_wait(count - done) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
            for entry in ring.completion() {
                self.results[entry.user_data() as usize] = entry.result();
                done += 1;
            }
        }
        // This error depends on the device only, so it holds for all entries.
        match self.results[..count].first() {
            Some(&first) if first == -libc::EOPNOTSUPP => Err(Error::from_raw_os_error(libc::EOPNOTSUPP)),
            _ => {
                self.ring = Some(ring);
                Ok(&self.results[..count])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixDatagram;

    /// A pair of sockets that preserves packet boundaries, as a TUN device does.
    fn pair() -> (OwnedFd, OwnedFd) {
        let (a, b) = UnixDatagram::pair().expect("a pair of sockets");
        a.set_nonblocking(true).expect("a flag");
        b.set_nonblocking(true).expect("a flag");
        (a.into(), b.into())
    }

    /// The ring; `None` skips a test on a kernel without rings, except where the environment requires all peers.
    fn ring() -> Option<Burst> {
        let ring = Burst::open();
        assert!(ring.is_some() || std::env::var_os("EARLYDROP_REQUIRE_PEERS").is_none(), "this kernel gives no ring");
        ring
    }

    #[test]
    fn packets_keep_their_order_and_an_empty_device_reports_eagain() {
        let Some(mut burst) = ring() else { return };
        let (near, far) = pair();
        for round in 0..5_u8 {
            let packets: Vec<Vec<u8>> = (0..11).map(|i| vec![round * 16 + i; usize::from(i) + 1]).collect();
            let written = burst.write(&near, packets.iter().map(Vec::as_slice)).expect("the kernel takes it");
            assert_eq!(written, (1..=11).collect::<Vec<i32>>());
            let mut buffers = vec![vec![0; 100]; MOST + 3];
            let read = burst.read(&far, &mut buffers).expect("the kernel takes it").to_vec();
            assert_eq!(read.len(), MOST);
            for (i, packet) in packets.iter().enumerate() {
                assert_eq!(&buffers[i][..read[i] as usize], packet);
            }
            assert!(read[11..].iter().all(|&one| one == -libc::EAGAIN), "{read:?}");
        }
        // Single calls and bursts can be mixed.
        File::from(near.try_clone().expect("a copy")).write_all(b"single").expect("buffer space");
        let mut buffers = vec![vec![0; 10]];
        assert_eq!(burst.read(&far, &mut buffers).expect("the kernel takes it"), [6]);
        burst.write(&near, std::iter::once(&b"burst"[..])).expect("the kernel takes it");
        let mut bytes = [0; 10];
        assert_eq!(File::from(far).read(&mut bytes).expect("a packet"), 5);
    }

    #[test]
    fn a_device_without_non_blocking_calls_is_an_error() {
        let Some(mut burst) = ring() else { return };
        // Files of /proc have no non-blocking calls.
        let file = OwnedFd::from(File::open("/proc/self/comm").expect("a file of /proc"));
        let error = burst.read(&file, &mut [vec![0; 10], vec![0; 10]]).expect_err("it would have to wait");
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        assert!(burst.read(&file, &mut [vec![0; 10]]).is_err());
    }

    /// If the caller panics between two packets, the first is lent to the ring already: it must never be sent.
    #[test]
    fn nothing_is_pending_after_a_call_that_failed() {
        let Some(mut burst) = ring() else { return };
        let (near, far) = pair();
        let packets = [&b"first"[..]].into_iter().chain(std::iter::from_fn(|| panic!("no second packet")));
        let call = std::panic::AssertUnwindSafe(|| burst.write(&near, packets).map(<[i32]>::to_vec));
        assert!(std::panic::catch_unwind(call).is_err());
        assert!(burst.write(&near, std::iter::once(&b"second"[..])).is_err(), "the ring is gone");
        let mut other = ring().expect("a second ring");
        assert_eq!(other.read(&far, &mut [vec![0; 10]]).expect("the kernel takes it"), [-libc::EAGAIN]);
    }

    #[test]
    fn an_error_concerns_its_packet_alone() {
        let Some(mut burst) = ring() else { return };
        let (near, far) = pair();
        // Larger than any socket buffer.
        let long = vec![0; 64 << 20];
        let packets = [&b"one"[..], &long, b"two"];
        let written = burst.write(&near, packets.into_iter()).expect("the kernel takes it");
        assert_eq!((written[0], written[2]), (3, 3));
        assert!(written[1] < 0, "{written:?}");
        let mut buffers = vec![vec![0; 10]; 3];
        assert_eq!(burst.read(&far, &mut buffers).expect("the kernel takes it"), [3, 3, -libc::EAGAIN]);
        assert_eq!((&buffers[0][..3], &buffers[1][..3]), (&b"one"[..], &b"two"[..]));
    }
}
