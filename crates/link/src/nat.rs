//! Address translation (NAT): a command behind a link reaches what this machine reaches.
//!
//! Two things are needed. Rules of the firewall translate source addresses and keep the outside from reaching the
//! command other than by replies; they vanish with the process. And the devices through which replies come must forward
//! (`net.ipv4.conf.DEVICE.forwarding`). Devices that do not are switched on and back off; a file, the claim, names them
//! while they are on, so that what a killed link left on can be switched off: by the keeper, a process that waits for
//! the end of the link (python/earlydrop/links/keeper.py), or by the next link. IPv6 is translated only if this machine
//! forwards it already: switching forwarding on would make it forget routes that it learned from routers.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use nix::unistd::{getpid, Pid};

use crate::block::Block;
use crate::netlink::OUTER;
use crate::nftables::{Action, Match, Rules};
use crate::registry::Registry;
use crate::space::start_time;
use crate::sys;

/// Settings of each device, and of all devices together.
const DEVICES: &str = "/proc/sys/net/ipv4/conf";
const ALL: &str = "/proc/sys/net/ipv4/ip_forward";
const ALL_IPV6: &str = "/proc/sys/net/ipv6/conf/all/forwarding";
/// The kernel's table of IPv4 routes, in the calling thread's namespace.
const ROUTES: &str = "/proc/thread-self/net/route";

/// Translation for one link, as long as this exists.
pub struct Nat {
    // Dropped first: no packet is forwarded without rules.
    claim: Option<Claim>,
    _rules: Rules,
}

/// Whether this machine forwards IPv6.
pub fn forwards_ipv6() -> bool {
    is_on(Path::new(ALL_IPV6))
}

impl Nat {
    /// Translates for the link whose device in front is called `device`.
    ///
    /// # Errors
    /// The step that failed, and why; nothing remains then.
    pub fn open(device: &str, block: Block) -> std::result::Result<Nat, (String, Error)> {
        let routed = routed().map_err(|error| ("reading the routes".to_string(), error))?;
        let to_command =
            [(vec![Match::To(device), Match::Reply], Action::Accept), (vec![Match::To(device)], Action::Drop)];
        // Devices that begin to forward do so only for replies to commands behind links.
        let from_others = routed.iter().filter(|name| !forwards(name)).flat_map(|name| {
            [vec![Match::From(name), Match::NotTo(OUTER)], vec![Match::From(name), Match::NoReply]]
                .map(|matches| (matches, Action::Drop))
        });
        let forwarded: Vec<(Vec<Match>, Action)> = to_command.into_iter().chain(from_others).collect();
        let leaving = block.outer().map(|(address, prefix)| (vec![Match::Source(address, prefix)], Action::Masquerade));
        let rules = Rules::new(&format!("earlydrop_{device}"), &forwarded, &leaving)
            .map_err(|error| ("making a table of nftables (Linux 5.12 or later)".to_string(), error))?;
        let own = switch(device);
        fs::write(&own, "1").map_err(|error| (format!("writing {}", own.display()), error))?;
        let claim = Claim::take(&routed)?;
        Ok(Nat { claim, _rules: rules })
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        if let Some(claim) = self.claim.take() {
            // The next link undoes what cannot be undone now.
            drop(claim.give_back());
        }
    }
}

/// Devices of this machine's IPv4 routes, other than those of links.
fn routed() -> Result<Vec<String>> {
    let text = fs::read_to_string(ROUTES)?;
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<String> =
        names.filter(|name| *name != "lo" && !name.starts_with(OUTER)).map(str::to_string).collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn is_on(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

fn switch(device: &str) -> PathBuf {
    Path::new(DEVICES).join(device).join("forwarding")
}

fn forwards(device: &str) -> bool {
    is_on(&switch(device))
}

// ---- claims --------------------------------------------------------------------------------------------------------

/// The devices that forward because of one link.
struct Claim {
    path: PathBuf,
}

/// A claim's name: `nat-PID-START-NAMESPACE`, with the process, its start time, and the network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    pid: i32,
    start: u64,
    namespace: u64,
}

impl Name {
    fn parse(text: &str) -> Option<Name> {
        let mut parts = text.strip_prefix("nat-")?.split('-');
        let (pid, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let namespace = parts.next()?.parse().ok()?;
        // A process has one claim for each of its links; a number tells them apart.
        let _number: u32 = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Name { pid, start, namespace })
    }

    fn is_alive(self) -> bool {
        start_time(Pid::from_raw(self.pid)) == Some(self.start)
    }
}

impl Registry {
    /// All claims in the network namespace of this number: path, name, devices.
    fn claims(&self, namespace: u64) -> Result<Vec<(PathBuf, Name, Vec<String>)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().and_then(Name::parse) else { continue };
            if name.namespace == namespace {
                let text = fs::read_to_string(entry.path())?;
                found.push((entry.path(), name, text.lines().map(str::to_string).collect()));
            }
        }
        Ok(found)
    }

    /// Removes a claim, and switches off the devices that no other claim needs.
    fn remove(&self, path: &Path, namespace: u64) -> Result<usize> {
        let (mine, others): (Vec<_>, Vec<_>) =
            self.claims(namespace)?.into_iter().partition(|(other, ..)| other == path);
        let mut off = 0;
        for device in mine.into_iter().flat_map(|(_, _, devices)| devices) {
            // Another program may have switched on forwarding for good; or the device is gone.
            if others.iter().any(|(.., devices)| devices.contains(&device)) || is_on(Path::new(ALL)) {
                continue;
            }
            let switch = switch(&device);
            if switch.exists() {
                fs::write(&switch, "0")?;
                off += 1;
            }
        }
        fs::remove_file(path)?;
        Ok(off)
    }
}

impl Claim {
    /// Lets the devices forward; `None` if no claim is needed, as all forward already.
    fn take(devices: &[String]) -> std::result::Result<Option<Claim>, (String, Error)> {
        let plain = |error| ("claiming the devices that have to forward".to_string(), error);
        let registry = Registry::open().map_err(plain)?;
        let namespace = sys::namespace_cookie().map_err(plain)?;
        let claims = registry.claims(namespace).map_err(plain)?;
        let is_claimed = |device: &String| claims.iter().any(|(.., devices)| devices.contains(device));
        let mine: Vec<&str> =
            devices.iter().filter(|device| !forwards(device) || is_claimed(device)).map(String::as_str).collect();
        if mine.is_empty() {
            return Ok(None);
        }
        let pid = getpid();
        let start = start_time(pid).ok_or_else(|| plain(ErrorKind::NotFound.into()))?;
        let path = (0..u32::MAX)
            .map(|number| registry.folder.join(format!("nat-{pid}-{start}-{namespace}-{number}")))
            .find(|path| !path.exists())
            .ok_or_else(|| plain(ErrorKind::AlreadyExists.into()))?;
        // Before anything is switched on: a kill at any moment leaves what the next link can undo.
        fs::write(&path, mine.join("\n")).map_err(plain)?;
        for device in mine {
            let switch = switch(device);
            if let Err(error) = fs::write(&switch, "1") {
                drop(registry.remove(&path, namespace));
                return Err((format!("writing {}", switch.display()), error));
            }
        }
        Ok(Some(Claim { path }))
    }

    fn give_back(&self) -> Result<()> {
        let name = self.path.file_name().and_then(|name| name.to_str()).and_then(Name::parse);
        let namespace = name.ok_or(ErrorKind::InvalidData)?.namespace;
        Registry::open()?.remove(&self.path, namespace).map(drop)
    }
}

/// Switches off what links that were killed have left on in this network namespace; returns the number of devices.
///
/// # Errors
/// If the claims cannot be read, or a device cannot be switched off.
pub fn sweep() -> Result<usize> {
    let registry = Registry::open()?;
    // Kernels without these numbers have no claims either.
    let Ok(namespace) = sys::namespace_cookie() else { return Ok(0) };
    let dead = registry.claims(namespace)?.into_iter().filter(|(_, name, _)| !name.is_alive());
    dead.map(|(path, ..)| registry.remove(&path, namespace)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_name_a_process_by_number_and_start_time() {
        let start = start_time(getpid()).expect("this process lives");
        let name = Name::parse(&format!("nat-{}-{start}-4096-0", getpid())).expect("a claim");
        assert_eq!((name.pid, name.start, name.namespace), (getpid().as_raw(), start, 4096));
        assert!(name.is_alive());
        assert!(!Name { start: start + 1, ..name }.is_alive());
        for other in ["", "nat-", "nat-1-2-3", "nat-1-2-3-4-5", "nat-x-2-3-4", "link-1-2-3-4", "lock"] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
