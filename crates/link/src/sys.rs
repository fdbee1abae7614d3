//! System calls that no safe crate wraps, each with the reason why it is sound. The crate's other unsafe code is in
//! [`burst`](crate::burst).
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Gid, Pid, Uid};

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

/// Starts the first process of the PID namespace that the calling thread's children get (its `init`): it mounts that
/// namespace's `/proc` in the thread's mount namespace, reaps orphans, and ends when the returned file is closed or the
/// calling thread ends. The kernel then kills every process of the namespace.
///
/// # Errors
/// If it cannot be started, or `/proc` cannot be mounted.
pub fn start_init() -> Result<(Pid, OwnedFd)> {
    let (wait, alive) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    let (outcome, report) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: other threads may hold locks at the moment of the fork, so the child must not allocate or take any lock.
    // `init` makes system calls only and never returns.
    let pid = match unsafe { nix::unistd::fork() }? {
        ForkResult::Child => init(wait.as_raw_fd(), report.as_raw_fd()),
        ForkResult::Parent { child } => child,
    };
    drop(report);
    let mut answer = [0; 4];
    let failure = match File::from(outcome).read_exact(&mut answer) {
        Ok(()) if i32::from_ne_bytes(answer) == 0 => return Ok((pid, alive)),
        Ok(()) => Error::from_raw_os_error(i32::from_ne_bytes(answer)),
        Err(error) => error,
    };
    drop(alive);
    let _ = nix::sys::wait::waitpid(pid, None);
    Err(Error::new(failure.kind(), format!("mounting /proc of the PID namespace behind the link: {failure}")))
}

/// The life of the first process: it reads `wait` until its end, and writes the outcome of its start to `report`.
fn init(wait: i32, report: i32) -> ! {
    let (first, second) = (wait.min(report) as u32, wait.max(report) as u32);
    // SAFETY: system calls with numbers, with pointers to values on this stack and to constant strings. Nothing is
    // allocated. The closed files belong to the parent's objects, none of which is used or dropped here.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        // Children that end are reaped by the kernel.
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"earlydrop-init".as_ptr(), 0, 0, 0);
        // Away from the terminal, the folder and the files of the caller.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        for (from, end) in [(0, first), (first + 1, second), (second + 1, u32::MAX)] {
            if from < end {
                libc::syscall(libc::SYS_close_range, from, end - 1, 0);
            }
        }
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let proc = c"proc".as_ptr();
        let mounted = libc::mount(proc, c"/proc".as_ptr(), proc, flags, std::ptr::null());
        let answer = if mounted == 0 { 0 } else { Errno::last_raw() }.to_ne_bytes();
        libc::write(report, answer.as_ptr().cast(), answer.len());
        libc::close(report);
        if mounted == 0 {
            let mut byte = 0_u8;
            // Nobody writes to `wait`. Interruptions are impossible: every signal is blocked.
            libc::read(wait, (&raw mut byte).cast(), 1);
        }
        libc::_exit(0)
    }
}

/// Starts `command` from the calling thread, in its namespaces, as `run_as` if given. It has no ambient capabilities,
/// no inherited files but the standard three, and the default action for signals that this program ignores. If it does
/// not run as root, it can also never gain privileges: its bounding set is empty and `no_new_privs` is set.
///
/// # Errors
/// If the command cannot be started.
pub fn spawn(mut command: Command, run_as: Option<RunAs>) -> Result<Child> {
    let is_root = run_as.as_ref().map_or_else(|| nix::unistd::geteuid().is_root(), |who| who.uid == 0);
    let prepare = move || -> Result<()> {
        // SAFETY: takes numbers only. The files close when the program is executed; std needs one of them until then.
        if unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } < 0 {
            return Err(Error::last_os_error());
        }
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: sets the default action; the Python interpreter ignores these signals.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        if !is_root {
            // Fails at the first number that is no capability of this kernel, and without CAP_SETPCAP; then
            // `no_new_privs` alone keeps the command from gaining any.
            // SAFETY: takes numbers only.
            (0..64).take_while(|&one| unsafe { libc::prctl(libc::PR_CAPBSET_DROP, one, 0, 0, 0) } == 0).count();
        }
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
        if !is_root {
            nix::sys::prctl::set_no_new_privs()?;
        }
        Ok(())
    };
    // SAFETY: the closure runs in the child between fork and exec. It allocates nothing and takes no lock: it only
    // makes system calls, on values created before the fork.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// The number of the calling thread's network namespace, which no other namespace has until the next boot.
///
/// # Errors
/// On kernels before 5.14.
pub fn namespace_cookie() -> Result<u64> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    let mut cookie = 0_u64;
    let mut length = std::mem::size_of::<u64>() as libc::socklen_t;
    let to = (&raw mut cookie).cast();
    // SAFETY: writes at most `length` bytes to `cookie`, which has as many.
    let answer =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, to, &mut length) };
    if answer < 0 {
        return Err(Error::last_os_error());
    }
    Ok(cookie)
}
