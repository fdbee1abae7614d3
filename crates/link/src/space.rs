//! The link's network namespace, and the processes in it.
//!
//! The namespace has no name and no mount: it exists as long as the thread that created it and the processes in it. So
//! nothing remains when the link stops or is killed, except processes that outlive their parents. A file in the
//! registry lets the next link find and end those.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{setns, unshare, CloneFlags};
use nix::sys::signal::{kill, Signal};
use nix::unistd::{getpid, Pid};

use crate::netlink::Netlink;
use crate::sys::{self, RunAs};

/// How long processes have to end on their own when the link stops.
const GRACE: Duration = Duration::from_secs(2);
/// How long killed processes may take to disappear.
const KILL_TIME: Duration = Duration::from_secs(2);

/// Work for the namespace's thread.
type Request = Box<dyn FnOnce() + Send>;

/// A namespace.
pub struct Space {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    inode: u64,
    entry: PathBuf,
}

impl Space {
    /// Creates a namespace and calls `set_up` in it, on the thread that stays there.
    ///
    /// # Errors
    /// Without the permission to create one (CAP_SYS_ADMIN), or if `set_up` fails; nothing remains then.
    pub fn new<T: Send + 'static>(set_up: impl FnOnce() -> Result<T> + Send + 'static) -> Result<(Space, T)> {
        let (requests, inbox) = channel::<Request>();
        let (answer, outcome) = channel();
        let registry = registry()?;
        let prepare = move || -> Result<_> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            let inode = fs::metadata("/proc/thread-self/ns/net")?.ino();
            let name = entry_name(inode)?;
            let netlink = Netlink::new()?;
            netlink.up("lo")?;
            netlink.set_alias("lo", &name)?;
            let entry = registry.join(&name);
            File::create(&entry)?;
            let made = set_up().inspect_err(|_| drop(fs::remove_file(&entry)))?;
            Ok((inode, entry, made))
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
        let (inode, entry, made) = outcome.recv().map_err(|_| Error::from(ErrorKind::BrokenPipe))??;
        Ok((Space { requests: Some(requests), thread: Some(thread), inode, entry }, made))
    }

    /// Runs `work` on the namespace's thread.
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

    /// Starts a command in the namespace.
    ///
    /// # Errors
    /// As [`sys::spawn`].
    pub fn spawn(&self, command: Command, run_as: Option<RunAs>) -> Result<Child> {
        self.within(move || sys::spawn(command, run_as))?
    }

    /// Inode number of the namespace, as `lsns` shows it.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Ends every process in it: SIGTERM, and after two seconds SIGKILL.
    pub fn end_processes(&self) {
        end_processes(self.inode);
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.end_processes();
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panicked thread has ended too.
            drop(thread.join());
        }
        drop(fs::remove_file(&self.entry));
    }
}

/// Runs `work` on a new thread in the namespace of this file.
///
/// # Errors
/// Without the permission to enter it, or if `work` fails.
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
/// If it is not a sysctl of the network, does not exist, or refuses the value.
pub fn sysctl(name: &str, value: &str) -> Result<()> {
    let path = name.replace('.', "/");
    let plain = |part: &str| !part.is_empty() && part != "..";
    if !path.starts_with("net/") || !path.split('/').all(plain) {
        return Err(Error::new(ErrorKind::InvalidInput, "only sysctls of the network (net.*) belong to a namespace"));
    }
    fs::write(Path::new("/proc/sys").join(path), value)
}

// ---- leftovers -----------------------------------------------------------------------------------------------------

/// The folder where links register their namespaces; only this user may write to it.
fn registry() -> Result<PathBuf> {
    let user = nix::unistd::geteuid();
    let run = PathBuf::from("/run");
    let of_user = run.join("user").join(user.to_string());
    let folder = if user.is_root() {
        run.join("earlydrop")
    } else if of_user.is_dir() {
        of_user.join("earlydrop")
    } else {
        std::env::temp_dir().join(format!("earlydrop-{user}"))
    };
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let about = fs::symlink_metadata(&folder)?;
    if !about.is_dir() || about.uid() != user.as_raw() {
        return Err(Error::new(ErrorKind::PermissionDenied, format!("{} is not this user's", folder.display())));
    }
    Ok(folder)
}

/// `link-PID-START-NAMESPACE`: the process, its start time (process numbers are reused, this pair is not), and the
/// namespace. Namespace numbers are reused too, so the same text is the alias of the namespace's loopback device.
fn entry_name(inode: u64) -> Result<String> {
    let pid = getpid();
    let start = start_time(pid).ok_or_else(|| Error::from(ErrorKind::NotFound))?;
    Ok(format!("link-{pid}-{start}-{inode}"))
}

/// Start time of a process, in clock ticks since boot; `None` if it has ended.
fn start_time(pid: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in parentheses, may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A zombie has ended.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Processes in a namespace.
fn processes(inode: u64) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut found: Vec<i32> = numbers
        .filter(|pid: &i32| fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|namespace| namespace.ino() == inode))
        .collect();
    found.sort_unstable();
    // This process has a thread in it and is not in it itself.
    found.into_iter().map(Pid::from_raw).filter(|&pid| pid != getpid()).collect()
}

fn wait_until_empty(inode: u64, limit: Duration) -> bool {
    let begin = Instant::now();
    loop {
        let left = processes(inode).into_iter().any(|pid| start_time(pid).is_some());
        if !left {
            return true;
        }
        if begin.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn end_processes(inode: u64) {
    for (signal, limit) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, KILL_TIME)] {
        for pid in processes(inode) {
            // Fails for processes that have ended meanwhile, or may not be signalled.
            let _ = kill(pid, signal);
        }
        if wait_until_empty(inode, limit) {
            return;
        }
    }
}

/// Kills the processes in namespaces of links that were killed, and with them the namespaces; returns how many.
///
/// # Errors
/// If the registry cannot be read.
pub fn sweep() -> Result<usize> {
    let mut ended = 0;
    for entry in fs::read_dir(registry()?)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((owner, start, inode)) = name.to_str().and_then(parse_entry) else { continue };
        if start_time(Pid::from_raw(owner)) == Some(start) {
            continue;
        }
        for _ in 0..3 {
            let left = processes(inode);
            // Namespace numbers are reused: the alias shows whether it is the same one.
            let Some(&first) = left.iter().find(|&&pid| is_ours(pid, &name.to_string_lossy())) else { break };
            debug_assert!(left.contains(&first));
            ended += left.len();
            for pid in left {
                // Fails if the process has ended meanwhile.
                let _ = kill(pid, Signal::SIGKILL);
            }
            wait_until_empty(inode, KILL_TIME);
        }
        match fs::remove_file(entry.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(ended)
}

fn parse_entry(name: &str) -> Option<(i32, u64, u64)> {
    let mut parts = name.strip_prefix("link-")?.split('-');
    let parsed = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(parsed)
}

/// Whether the process is in the namespace whose loopback device has this alias.
fn is_ours(pid: Pid, alias: &str) -> bool {
    let Ok(namespace) = File::open(format!("/proc/{pid}/ns/net")) else { return false };
    let found = enter(namespace, || Netlink::new()?.alias("lo"));
    found.is_ok_and(|found| found.as_deref() == Some(alias))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_a_process_by_number_and_start_time() {
        let name = entry_name(4_026_531_840).expect("this process lives");
        let (pid, start, inode) = parse_entry(&name).expect("an entry");
        assert_eq!((Pid::from_raw(pid), inode), (getpid(), 4_026_531_840));
        assert_eq!(start_time(getpid()), Some(start));
        for other in ["", "link-", "link-1-2", "link-1-2-3-4", "link-x-2-3", "other-1-2-3"] {
            assert_eq!(parse_entry(other), None, "{other}");
        }
    }

    #[test]
    fn only_sysctls_of_the_network_are_accepted() {
        for name in ["kernel.panic", "net", "net..x", "net/../kernel/panic", "vm.swappiness", ""] {
            let error = sysctl(name, "0").expect_err(name);
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
        }
    }
}
