//! System calls that no safe crate wraps, each with the reason why it is sound. The crate's other unsafe code is in
//! [`burst`](crate::burst).
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};

/// Longest device name, bytes.
pub const NAME: usize = libc::IFNAMSIZ - 1;

/// Opens the TUN device `name` in the calling thread's namespace; creates it if it does not exist. It disappears when
/// it is closed, unless it is persistent. Packets are read and written whole, without a device header (IFF_NO_PI) and
/// without offload: IFF_VNET_HDR is not set, so the kernel segments and checksums packets before it hands them over.
///
/// # Errors
/// The kernel's error: no such device file, no permission, or the device is in use (`EBUSY`).
pub fn open_tun(name: &str) -> Result<OwnedFd> {
    if name.is_empty() || name.len() > NAME {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    // SAFETY: an ifreq is plain data, for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq, which lives until the call returns; the file is open.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) };
    if answer < 0 {
        return Err(Error::last_os_error());
    }
    Ok(file.into())
}

/// Whether this kernel has TUN devices. EACCES means that it has, for root only; opening a link then reports the
/// missing permission. EPERM (a container whose root may not open the file) means that it has none.
pub fn has_tun() -> bool {
    match OpenOptions::new().read(true).open("/dev/net/tun") {
        Ok(_) => true,
        Err(error) => error.raw_os_error() == Some(libc::EACCES),
    }
}

/// Gives the calling thread real-time priority (SCHED_FIFO); its children do not inherit it.
///
/// # Errors
/// Without the permission (CAP_SYS_NICE, or RLIMIT_RTPRIO).
pub fn real_time(priority: i32) -> Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: reads one sched_param; 0 is the calling thread.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter) };
    if answer < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// Keeps all processors out of idle states that take time to leave (`/dev/cpu_dma_latency`, 0 us), as long as the file
/// is open. `None` where the kernel does not offer this.
pub fn stay_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// The user that a command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAs {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// Starts `command` from the calling thread, in its namespaces. It is killed when this thread ends. It has no ambient
/// capabilities, and runs as `run_as` if given.
///
/// # Errors
/// If the command cannot be started.
pub fn spawn(mut command: Command, run_as: Option<RunAs>) -> Result<Child> {
    let parent = nix::unistd::getpid();
    let prepare = move || -> Result<()> {
        if let Some(who) = &run_as {
            // The child of a fork has one thread, so glibc's and musl's handling of other threads does nothing.
            let groups = &who.groups;
            // SAFETY: reads `groups.len()` group numbers.
            if unsafe { libc::setgroups(groups.len(), groups.as_ptr()) } < 0 {
                return Err(Error::last_os_error());
            }
            let (uid, gid) = (Uid::from_raw(who.uid), Gid::from_raw(who.gid));
            nix::unistd::setresgid(gid, gid, gid)?;
            nix::unistd::setresuid(uid, uid, uid)?;
        }
        // Ambient capabilities of this program are not for the command.
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
        // After the change of user, which clears it.
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        if nix::unistd::getppid() != parent {
            return Err(Error::from(ErrorKind::Interrupted));
        }
        Ok(())
    };
    // SAFETY: the closure runs in the child between fork and exec. It allocates nothing and takes no lock: it only
    // makes system calls, on values created before the fork.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}
