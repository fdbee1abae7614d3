//! The link's namespaces, and the processes in them.
//!
//! A network namespace, a mount namespace and a PID namespace hold the command. They have no names, and exist as long
//! as the thread that created them and the processes in them. The first process of the PID namespace is the link's own;
//! when it ends, the kernel kills all others there, whatever they did to get away. It ends when the link stops, and
//! also when the link is killed.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::mount::{mount, umount2, MntFlags, MsFlags};
use nix::sched::{setns, unshare, CloneFlags};
use nix::sys::signal::{kill, Signal};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use crate::netlink::Netlink;
use crate::sys::{self, RunAs};

/// How long processes have to end on their own when the link stops.
const GRACE: Duration = Duration::from_secs(2);
/// How long killed processes may take to disappear.
const KILL_TIME: Duration = Duration::from_secs(2);

/// Work for the namespaces' thread.
type Request = Box<dyn FnOnce() + Send>;

/// The namespaces of a link.
pub struct Space {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    inode: u64,
    /// The first process of the PID namespace.
    init: Pid,
    /// While this is open, `init` lives.
    alive: Option<OwnedFd>,
    /// Inode number of the PID namespace.
    processes: u64,
}

impl Space {
    /// Creates the namespaces and calls `set_up` in them, on the thread that stays there. `resolv_conf` is the text of
    /// their `/etc/resolv.conf`, if not this machine's.
    ///
    /// # Errors
    /// Without the permission to create them (CAP_SYS_ADMIN), or if `set_up` fails; nothing remains then.
    pub fn new<T: Send + 'static>(
        resolv_conf: Option<String>,
        set_up: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<(Space, T)> {
        let (requests, inbox) = channel::<Request>();
        let (answer, outcome) = channel();
        let prepare = move || -> Result<_> {
            unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID)?;
            let inode = fs::metadata("/proc/thread-self/ns/net")?.ino();
            // What is mounted outside appears in the namespace too, but not the reverse.
            change_mount(None, "/", None, MsFlags::MS_REC | MsFlags::MS_SLAVE)?;
            if let Some(text) = resolv_conf {
                replace_resolv_conf(&text)
                    .map_err(|error| Error::new(error.kind(), format!("replacing /etc/resolv.conf: {error}")))?;
            }
            let (init, alive) = sys::start_init()?;
            Netlink::new()?.up("lo")?;
            Ok((inode, init, alive, set_up()?))
        };
        let body = move || {
            let outcome = prepare();
            let good = outcome.is_ok();
            if answer.send(outcome).is_ok() && good {
                for request in inbox {
                    request();
                }
            }
        };
        let thread = thread::Builder::new().name("link-space".to_string()).spawn(body)?;
        let (inode, init, alive, made) = outcome.recv().map_err(|_| Error::from(ErrorKind::BrokenPipe))??;
        let mut space =
            Space { requests: Some(requests), thread: Some(thread), inode, init, alive: Some(alive), processes: 0 };
        // The calling thread's /proc shows the process; that of the new mount namespace does not show this program.
        space.processes = fs::metadata(format!("/proc/{init}/ns/pid"))?.ino();
        Ok((space, made))
    }

    /// Runs `work` on the namespaces' thread.
    ///
    /// # Errors
    /// If the thread has ended.
    pub fn within<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (answer, outcome) = channel();
        let request: Request = Box::new(move || drop(answer.send(work())));
        let gone = || Error::from(ErrorKind::BrokenPipe);
        self.requests.as_ref().ok_or_else(gone)?.send(request).map_err(|_| gone())?;
        outcome.recv().map_err(|_| gone())
    }

    /// Starts a command in the namespaces.
    ///
    /// # Errors
    /// As [`sys::spawn`].
    pub fn spawn(&self, command: Command, run_as: Option<RunAs>) -> Result<Child> {
        self.within(move || sys::spawn(command, run_as))?
    }

    /// Inode number of the network namespace, as `lsns` shows it.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Ends every process in the namespaces: SIGTERM (and SIGCONT, for stopped ones), and after two seconds SIGKILL.
    pub fn end_processes(&mut self) {
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            for pid in self.others() {
                // Fails for processes that have ended meanwhile.
                let _ = kill(pid, signal);
            }
        }
        wait_until(GRACE, || self.others().is_empty());
        self.alive = None;
        // The end of `init` kills all others. This fails if it has ended already.
        let _ = kill(self.init, Signal::SIGKILL);
        wait_until(KILL_TIME, || self.others().is_empty());
        // `init` becomes a zombie only after whoever started the commands has waited for them.
        let init = self.init;
        let reap = move || waitpid(init, None).map(drop);
        drop(thread::Builder::new().name("link-reaper".to_string()).spawn(reap));
    }

    /// Processes in the PID namespace, except the first and zombies.
    fn others(&self) -> Vec<Pid> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_inside = |pid: &i32| {
            fs::metadata(format!("/proc/{pid}/ns/pid")).is_ok_and(|namespace| namespace.ino() == self.processes)
        };
        let found = numbers.filter(is_inside).map(Pid::from_raw);
        found.filter(|&pid| pid != self.init && start_time(pid).is_some()).collect()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if self.alive.is_some() {
            self.end_processes();
        }
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panicked thread has ended too.
            drop(thread.join());
        }
    }
}

/// Calls `done` until it returns true, for `limit` at most.
fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() && begin.elapsed() < limit {
        thread::sleep(Duration::from_millis(10));
    }
}

fn change_mount(from: Option<&str>, to: &str, kind: Option<&str>, flags: MsFlags) -> Result<()> {
    mount(from, to, kind, flags, None::<&str>)
        .map_err(|errno| Error::new(Error::from(errno).kind(), format!("mounting {to}: {}", errno.desc())))
}

/// Puts a file with this text in the place of `/etc/resolv.conf`, in the calling thread's mount namespace.
fn replace_resolv_conf(text: &str) -> Result<()> {
    // A file system in memory holds it, so that nothing is left on disk however the link ends. It only needs a place
    // while the file is written: /proc exists everywhere, and gets its own mount afterwards.
    const PLACE: &str = "/proc";
    change_mount(Some("tmpfs"), PLACE, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC)?;
    let file = format!("{PLACE}/resolv.conf");
    let written =
        fs::write(&file, text).and_then(|()| change_mount(Some(&file), "/etc/resolv.conf", None, MsFlags::MS_BIND));
    umount2(PLACE, MntFlags::MNT_DETACH)?;
    written
}

/// Runs `work` on a new thread in the namespace of this file.
///
/// # Errors
/// Without the permission to enter the namespace, or if `work` fails.
pub fn enter<T: Send + 'static>(namespace: File, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let body = move || {
        setns(&namespace, CloneFlags::CLONE_NEWNET)?;
        work()
    };
    thread::Builder::new().name("link-enter".to_string()).spawn(body)?.join().unwrap_or_else(|_| {
        // The panic hook has reported it.
        Err(Error::from(ErrorKind::Other))
    })
}

/// Writes a sysctl (`net.ipv4.tcp_ecn`) of the calling thread's namespace.
///
/// # Errors
/// If `name` is not a sysctl of the network, does not exist, or refuses the value.
pub fn sysctl(name: &str, value: &str) -> Result<()> {
    let path = name.replace('.', "/");
    let plain = |part: &str| !part.is_empty() && part != "..";
    if !path.starts_with("net/") || !path.split('/').all(plain) {
        return Err(Error::new(ErrorKind::InvalidInput, "only sysctls of the network (net.*) belong to a namespace"));
    }
    fs::write(Path::new("/proc/sys").join(path), value)
}

/// Start time of a process, in clock ticks since boot; `None` if it has ended. Process numbers are reused, but not with
/// the same start time.
pub fn start_time(pid: Pid) -> Option<u64> {
    start_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The start time in a process's `stat`; `None` if it has ended.
fn start_in(stat: &str) -> Option<u64> {
    // The program's name, in parentheses, may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A zombie has ended, and so has a process (X) on its way out of the table.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_has_no_start_time() {
        assert!(start_time(nix::unistd::getpid()).is_some());
        assert_eq!(start_time(Pid::from_raw(i32::MAX)), None);
        let stat = |state: &str| format!("7 (a) b) {state} {}77 88", "1 ".repeat(18));
        assert_eq!(["R", "S", "T"].map(|state| start_in(&stat(state))), [Some(77); 3]);
        assert_eq!(["Z", "X"].map(|state| start_in(&stat(state))), [None; 2], "as the keeper has it");
    }

    #[test]
    fn only_sysctls_of_the_network_are_accepted() {
        for name in ["kernel.panic", "net", "net..x", "net/../kernel/panic", "vm.swappiness", ""] {
            let error = sysctl(name, "0").expect_err(name);
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
    }
}
