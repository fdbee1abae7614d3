//! Files that links of one user share while this machine runs: claims of devices that forward ([`nat`](crate::nat)), and
//! which blocks of addresses rest.
//!
//! A block whose link has ended rests for a minute, as long as others are free: TCP keeps its connections in TIME_WAIT
//! for that time (tcp(7)), and programs may keep addresses that they have looked up. Links behind another link share its
//! few blocks, and do not rest.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::fcntl::{Flock, FlockArg};
use nix::time::{clock_gettime, ClockId};
use nix::unistd::{getpid, Pid};

use crate::space::start_time;

/// How long a block rests, s.
const REST_S: i64 = 60;

/// The folder, and the lock of everyone who reads or writes in it.
pub struct Registry {
    /// Where the files are.
    pub folder: PathBuf,
    _lock: Flock<File>,
}

impl Registry {
    /// Opens the folder, makes it if need be, and waits for the lock.
    ///
    /// # Errors
    /// If the folder cannot be made, or is not this user's.
    pub fn open() -> Result<Registry> {
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
        let file = File::create(folder.join("lock"))?;
        let lock = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| Error::from(errno))?;
        Ok(Registry { folder, _lock: lock })
    }

    fn blocks(&self, namespace: u64) -> PathBuf {
        self.folder.join(format!("blocks-{namespace}"))
    }

    /// The blocks of links in a network namespace that are at work or rest. A link that was killed counts as ended now,
    /// when that is first seen.
    fn used(&self, namespace: u64, now: i64) -> Vec<Used> {
        // What cannot be read is of no use to anyone: without it, blocks do not rest.
        let text = fs::read_to_string(self.blocks(namespace)).unwrap_or_default();
        let found = text.lines().filter_map(Used::parse);
        found.map(|one| one.seen(now)).filter(|one| one.rest(now) > 0).collect()
    }

    /// Notes links that were killed as ended, and forgets namespaces whose blocks have all rested.
    fn tidy(&self, now: i64) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let namespace = name.to_str().and_then(|name| name.strip_prefix("blocks-")?.parse().ok());
            let Some(namespace) = namespace else { continue };
            match self.used(namespace, now)[..] {
                [] => fs::remove_file(self.blocks(namespace))?,
                ref used => self.note(namespace, used)?,
            }
        }
        Ok(())
    }

    fn note(&self, namespace: u64, used: &[Used]) -> Result<()> {
        let text: String = used.iter().map(|one| format!("{one}\n")).collect();
        let (file, new) = (self.blocks(namespace), self.folder.join(format!("new-{}", getpid())));
        fs::write(&new, text)?;
        fs::rename(new, file)
    }
}

/// A block that is at work, or rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    number: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At work for the process of this number and start time.
    Work(i32, u64),
    /// Since this time, s since the start of the machine.
    Rest(i64),
}

impl std::fmt::Display for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.state {
            State::Work(pid, start) => write!(f, "{} {pid} {start}", self.number),
            State::Rest(since) => write!(f, "{} {since}", self.number),
        }
    }
}

impl Used {
    fn parse(line: &str) -> Option<Used> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = words.first()?.parse().ok()?;
        let state = match words[1..] {
            [since] => State::Rest(since.parse().ok()?),
            [pid, start] => State::Work(pid.parse().ok()?, start.parse().ok()?),
            _ => return None,
        };
        Some(Used { number, state })
    }

    fn seen(self, now: i64) -> Used {
        match self.state {
            State::Work(pid, start) if start_time(Pid::from_raw(pid)) != Some(start) => {
                Used { state: State::Rest(now), ..self }
            }
            _ => self,
        }
    }

    /// How long it must rest from `now` on, s: 0 if it may be used.
    fn rest(self, now: i64) -> i64 {
        match self.state {
            State::Work(..) => REST_S,
            // A later time is of an earlier start of the machine.
            State::Rest(since) if since > now => 0,
            State::Rest(since) => (since + REST_S - now).max(0),
        }
    }
}

fn now() -> Result<i64> {
    Ok(clock_gettime(ClockId::CLOCK_BOOTTIME)?.tv_sec())
}

/// `free` in the order in which they should be taken: those that have rested, then those whose rest ends first.
pub fn rested(namespaces: &[u64], free: Vec<u32>) -> Result<Vec<u32>> {
    let (registry, now) = (Registry::open()?, now()?);
    registry.tidy(now)?;
    let used: Vec<Used> = namespaces.iter().flat_map(|&namespace| registry.used(namespace, now)).collect();
    Ok(in_order(free, &used, now))
}

fn in_order(mut free: Vec<u32>, used: &[Used], now: i64) -> Vec<u32> {
    let rest = |number: u32| used.iter().filter(|one| one.number == number).map(|one| one.rest(now)).max();
    free.sort_by_key(|&number| rest(number).unwrap_or(0));
    free
}

/// A block at work, as long as this exists; then it rests.
pub struct AtWork {
    namespaces: Vec<u64>,
    number: u32,
}

impl AtWork {
    /// Notes that the block works in these network namespaces.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn begin(namespaces: Vec<u64>, number: u32) -> Result<AtWork> {
        let pid = getpid();
        let start = start_time(pid).ok_or(ErrorKind::NotFound)?;
        let work = AtWork { namespaces, number };
        work.note(State::Work(pid.as_raw(), start))?;
        Ok(work)
    }

    fn note(&self, state: State) -> Result<()> {
        let (registry, now) = (Registry::open()?, now()?);
        for &namespace in &self.namespaces {
            let mut used = registry.used(namespace, now);
            used.retain(|one| one.number != self.number);
            used.push(Used { number: self.number, state });
            registry.note(namespace, &used)?;
        }
        Ok(())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        // What is not written now is noticed when the process has ended.
        drop(now().and_then(|now| self.note(State::Rest(now))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_rest_while_others_are_free() {
        let me = start_time(getpid()).expect("this process lives");
        let at = |number, state| Used { number, state };
        let used = [
            at(0, State::Rest(100)),
            at(1, State::Rest(70)),
            at(3, State::Work(getpid().as_raw(), me)),
            at(4, State::Rest(41)),
            at(5, State::Rest(40)),
            at(6, State::Rest(500)),
        ];
        let rests = used.map(|one| one.seen(100).rest(100));
        assert_eq!(rests, [60, 30, 60, 1, 0, 0], "the last is of an earlier start of the machine");
        assert_eq!(in_order((0..6).collect(), &used, 100), [2, 5, 4, 1, 0, 3]);
        assert_eq!(in_order(vec![0, 1], &used, 100), [1, 0], "none has rested: the one that has most");
        // A process that was killed counts from when that is seen.
        assert_eq!(at(3, State::Work(getpid().as_raw(), me + 1)).seen(100), at(3, State::Rest(100)));
        for one in used {
            assert_eq!(Used::parse(&one.to_string()), Some(one));
        }
        for wrong in ["", "1", "x 1", "1 x", "1 2 3 4", "-1 2"] {
            assert_eq!(Used::parse(wrong), None, "{wrong}");
        }
    }
}
