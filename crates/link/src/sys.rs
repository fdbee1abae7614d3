//! The system calls that no safe crate wraps, each with the reason why it is sound. Nothing else in this crate is unsafe
//! but what [`burst`](crate::burst) gives the kernel.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};

/// Longest name of a device, in bytes.
pub const NAME: usize = libc::IFNAMSIZ - 1;

/// Opens the TUN device `name` in the calling thread's namespace, and makes it unless it is there. It vanishes when it is
/// closed, unless somebody has made it to stay. Packets are read and written whole, without a header of the device's, and
/// without segmentation offload: nothing is said of offload (no IFF_VNET_HDR), so the kernel hands over only packets that
/// it has segmented and checksummed itself.
///
/// # Errors
/// As the kernel says: no such device file, no permission, or the device is another's (`EBUSY`).
pub fn open_tun(name: &str) -> Result<OwnedFd> {
    if name.is_empty() || name.len() > NAME {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    // SAFETY: an ifreq is plain data, for which zero bytes are a value.
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

/// Whether this kernel has TUN devices. Where the file is root's alone (EACCES) there are some, for root: to say that is
/// for who opens a link. A container whose root may not open it (EPERM) has none.
pub fn has_tun() -> bool {
    match OpenOptions::new().read(true).open("/dev/net/tun") {
        Ok(_) => true,
        Err(error) => error.raw_os_error() == Some(libc::EACCES),
    }
}

/// Gives the calling thread real-time priority (SCHED_FIFO), which its children do not inherit.
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

/// Asks the kernel that no processor sleeps so deeply that waking it takes time (`/dev/cpu_dma_latency`, 0 us), for as long
/// as the file is open. `None` where that cannot be asked: then waking takes as long as it takes.
pub fn stay_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Whom a command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunAs {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

/// Starts `command` from the calling thread, whose namespaces it gets. It dies with this thread. It has no capabilities
/// but those that root has by being root, and is `run_as` if given.
///
/// # Errors
/// If the command cannot be started.
pub fn spawn(mut command: Command, run_as: Option<RunAs>) -> Result<Child> {
    let parent = nix::unistd::getpid();
    let prepare = move || -> Result<()> {
        if let Some(who) = &run_as {
            // The glibc and musl functions would act on all threads of the parent's copy; there is one.
            let groups = &who.groups;
            // SAFETY: reads that many group numbers.
            if unsafe { libc::setgroups(groups.len(), groups.as_ptr()) } < 0 {
                return Err(Error::last_os_error());
            }
            let (uid, gid) = (Uid::from_raw(who.uid), Gid::from_raw(who.gid));
            nix::unistd::setresgid(gid, gid, gid)?;
            nix::unistd::setresuid(uid, uid, uid)?;
        }
        // Capabilities that were given to this program (by file or ambient) are not for the command.
        // SAFETY: takes four numbers.
        unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
        // After the change of user, which resets it.
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        if nix::unistd::getppid() != parent {
            return Err(Error::from(ErrorKind::Interrupted));
        }
        Ok(())
    };
    // SAFETY: the closure runs in the child between fork and exec. It allocates nothing and takes no lock: it makes
    // system calls on values that were made before the fork.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}
