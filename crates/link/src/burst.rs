//! Several packets read or written in one system call (io_uring), for the times when they come faster than one at a time
//! can be handled. A system call costs as much as the rest of a packet's way through the link where entering the kernel is
//! dear, as in virtual machines.
//!
//! Unsafe for one reason: the kernel is given addresses of buffers. They are the caller's for the length of one call, and
//! that call does not return before the kernel is done with all of them.
#![allow(unsafe_code)]

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, squeue, types, IoUring};

/// Most packets in a call.
pub const MOST: usize = 16;

/// A ring of the kernel's. Nothing is under way in it between two calls.
pub struct Burst {
    ring: IoUring,
    results: [i32; MOST],
}

impl Burst {
    /// A ring; `None` where the kernel gives none (too old, switched off, forbidden to this process).
    pub fn open() -> Option<Burst> {
        IoUring::new(MOST as u32).ok().map(|ring| Burst { ring, results: [0; MOST] })
    }

    /// Reads a packet into each of the first [`MOST`] `buffers`, in order, as far as there are packets: their lengths, or
    /// negative error numbers.
    ///
    /// # Errors
    /// If the kernel does not take the call, or the device has none that does not wait (`EOPNOTSUPP`, in kernels whose TUN
    /// devices do not know of it). The ring is of no use then, and nothing has been read.
    pub fn read(&mut self, from: &OwnedFd, buffers: &mut [Vec<u8>]) -> Result<&[i32]> {
        let from = types::Fd(from.as_raw_fd());
        self.submit(buffers.iter_mut().map(|buffer| {
            // Nothing of a file is after 4 GiB: a packet has 64 KiB at most.
            opcode::Read::new(from, buffer.as_mut_ptr(), buffer.len() as u32).rw_flags(libc::RWF_NOWAIT).build()
        }))
    }

    /// Writes the first [`MOST`] `packets`, in order: their lengths, or negative error numbers.
    ///
    /// # Errors
    /// As of [`Burst::read`]; nothing has been written.
    pub fn write<'a>(&mut self, to: &OwnedFd, packets: impl Iterator<Item = &'a [u8]>) -> Result<&[i32]> {
        let to = types::Fd(to.as_raw_fd());
        self.submit(packets.map(|packet| {
            opcode::Write::new(to, packet.as_ptr(), packet.len() as u32).rw_flags(libc::RWF_NOWAIT).build()
        }))
    }

    /// Has the kernel do the first [`MOST`] `entries`, and waits for all of them. They do not wait for anything themselves.
    fn submit(&mut self, entries: impl Iterator<Item = squeue::Entry>) -> Result<&[i32]> {
        let mut count = 0;
        {
            let mut queue = self.ring.submission();
            for entry in entries.take(MOST) {
                // SAFETY: the buffers are borrowed by the caller of this function's callers, until all entries are done
                // (below). If the kernel refuses the call, the entries that it has not taken are never looked at again,
                // for the ring is dropped; those that it has taken are done, since none of them waits.
                unsafe { queue.push(&entry.user_data(count as u64)) }.map_err(|_| Error::other("the ring is full"))?;
                count += 1;
            }
        }
        let mut done = 0;
        while done < count {
            match self.ring.submit_and_wait(count - done) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
            for entry in self.ring.completion() {
                self.results[entry.user_data() as usize] = entry.result();
                done += 1;
            }
        }
        // Said of one by what the device is, so of all.
        match self.results[..count].first() {
            Some(&first) if first == -libc::EOPNOTSUPP => Err(Error::from_raw_os_error(libc::EOPNOTSUPP)),
            _ => Ok(&self.results[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixDatagram;

    /// Both ends of a pair that keeps packets apart, as a TUN device does.
    fn pair() -> (OwnedFd, OwnedFd) {
        let (a, b) = UnixDatagram::pair().expect("a pair of sockets");
        a.set_nonblocking(true).expect("a flag");
        b.set_nonblocking(true).expect("a flag");
        (a.into(), b.into())
    }

    /// `None` leaves a test out, for a kernel without rings; not where everything must be there.
    fn ring() -> Option<Burst> {
        let ring = Burst::open();
        assert!(ring.is_some() || std::env::var_os("EARLYDROP_REQUIRE_PEERS").is_none(), "this kernel gives no ring");
        ring
    }

    #[test]
    fn packets_keep_their_order_and_an_empty_device_says_so() {
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
        // Single calls and bursts may be mixed.
        File::from(near.try_clone().expect("a copy")).write_all(b"single").expect("room");
        let mut buffers = vec![vec![0; 10]];
        assert_eq!(burst.read(&far, &mut buffers).expect("the kernel takes it"), [6]);
        burst.write(&near, std::iter::once(&b"burst"[..])).expect("the kernel takes it");
        let mut bytes = [0; 10];
        assert_eq!(File::from(far).read(&mut bytes).expect("a packet"), 5);
    }

    #[test]
    fn a_device_that_cannot_but_wait_is_an_error() {
        let Some(mut burst) = ring() else { return };
        // Files of /proc know of no call that does not wait.
        let file = OwnedFd::from(File::open("/proc/self/comm").expect("a file of /proc"));
        let error = burst.read(&file, &mut [vec![0; 10], vec![0; 10]]).expect_err("it would have to wait");
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    }

    #[test]
    fn an_error_is_that_packets_alone() {
        let Some(mut burst) = ring() else { return };
        let (near, far) = pair();
        // A datagram that no buffer has room for.
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
