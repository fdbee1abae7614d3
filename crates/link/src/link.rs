//! A link: two TUN devices, the namespace behind it, and the loop between them. Sets them up and takes them down.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::errno::Errno;

use crate::block::{Block, BLOCKS};
use crate::nat::{self, Nat};
use crate::netlink::{Netlink, OUTER};
use crate::one_way::OneWaySpec;
use crate::registry::{self, AtWork};
use crate::run::{Direction, PathOutcome, RealTime, Running, Settings, View};
use crate::space::{self, Space};
use crate::sys::{self, RunAs};

/// Name of the device behind the link.
pub const INNER: &str = "edlup";
/// Prefix of the names of devices that join two namespaces; a number follows.
const JOINT: &str = "edlj";

/// A step that failed, and why.
#[derive(Debug)]
pub struct Failure {
    /// The step.
    pub doing: String,
    /// The error.
    pub error: io::Error,
}

impl Failure {
    fn while_doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let doing = doing.into();
        move |error| Failure { doing, error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.error)
    }
}

impl std::error::Error for Failure {}

impl From<(String, io::Error)> for Failure {
    fn from((doing, error): (String, io::Error)) -> Failure {
        Failure { doing, error }
    }
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A new device in the namespace of that name (`ip netns add NAME`).
    Namespace(String),
    /// An existing TUN device (`ip tuntap add NAME mode tun`).
    Device(String),
}

/// How to set a link up.
#[derive(Clone, Debug)]
pub struct SetUp {
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Packets that the kernel holds at a device until the loop reads them.
    pub ring: u32,
    /// Sysctls of the namespace behind the link.
    pub sysctls: Vec<(String, String)>,
    /// Let commands behind the link reach what this machine reaches.
    pub nat: bool,
    /// Text of `/etc/resolv.conf` behind the link, if it is not this machine's.
    pub resolv_conf: Option<String>,
}

/// Smallest MTU with which a device has IPv6 (RFC 8200, 5), bytes.
const MTU_IPV6: u32 = 1280;

impl SetUp {
    /// The addresses of an end that its device can have.
    fn usable(&self, ends: [(IpAddr, u8); 2]) -> impl Iterator<Item = (IpAddr, u8)> {
        let all = self.mtu >= MTU_IPV6;
        ends.into_iter().filter(move |(address, _)| all || address.is_ipv4())
    }
}

/// A link in operation.
pub struct Link {
    running: Running,
    space: Option<Space>,
    /// Dropped after the processes behind the link have ended.
    _nat: Option<Nat>,
    /// The device of each direction from which its packets are read.
    devices: [Device; 2],
    block: Option<Block>,
    /// Dropped last.
    _at_work: Option<AtWork>,
}

/// A device whose overruns are counted.
struct Device {
    name: String,
    place: Place,
    /// Overruns before the measured window.
    before: AtomicU64,
}

/// Where a device is.
enum Place {
    /// In the caller's namespace.
    Here,
    /// In the namespace behind the link.
    Behind,
    /// In this one.
    Named(File),
}

impl Device {
    fn new(name: impl Into<String>, place: Place) -> Device {
        Device { name: name.into(), place, before: AtomicU64::new(0) }
    }

    /// All of its overruns; `None` if the kernel cannot be asked.
    fn all(&self, space: Option<&Space>) -> Option<u64> {
        let name = self.name.clone();
        let ask = move || Netlink::new().and_then(|netlink| netlink.overruns(&name));
        match &self.place {
            Place::Here => ask().ok(),
            Place::Behind => space?.within(ask).ok()?.ok(),
            Place::Named(file) => space::enter(file.try_clone().ok()?, ask).ok(),
        }
    }

    fn restart(&self, space: Option<&Space>) {
        self.before.store(self.all(space).unwrap_or(0), Ordering::Relaxed);
    }

    /// Its overruns in the measured window.
    fn overruns(&self, space: Option<&Space>) -> Option<u64> {
        Some(self.all(space)?.saturating_sub(self.before.load(Ordering::Relaxed)))
    }
}

/// What a link measured.
pub struct Outcome {
    /// Both directions; the first carries what is sent from behind the link.
    pub paths: [PathOutcome; 2],
    /// Packets that the kernel dropped in front of each direction, because its device's ring was full.
    pub overruns: [Option<u64>; 2],
    /// Whether the link ran with real-time priority.
    pub real_time: bool,
}

impl Link {
    /// A link between the calling thread's namespace and a new one behind it. `there` carries what is sent from behind.
    ///
    /// # Errors
    /// Names the step that failed; nothing remains then.
    pub fn open(set_up: &SetUp, there: OneWaySpec, back: OneWaySpec, settings: &Settings) -> Result<Link, Failure> {
        nat::sweep().map_err(Failure::while_doing("undoing what an earlier link has left"))?;
        let (outer, name, block, at_work) = outer_device(set_up)?;
        let nat = if set_up.nat { Some(Nat::open(&name, block).map_err(Failure::from)?) } else { None };
        let (doing, done) = std::sync::mpsc::channel();
        let inner_set_up = set_up.clone();
        // Of this namespace, not of the one behind the link.
        let ipv6_beyond = !set_up.nat || nat::forwards_ipv6();
        let made = Space::new(set_up.resolv_conf.clone(), move || {
            let mut step = "setting up the namespace behind the link".to_string();
            let outcome = inner_device(&inner_set_up, block, ipv6_beyond, &mut step);
            if outcome.is_err() {
                // Fails only if the receiver is gone.
                drop(doing.send(step));
            }
            outcome
        });
        let (space, inner) = made.map_err(|error| {
            let doing = done.try_recv().unwrap_or_else(|_| "making the namespaces behind the link".to_string());
            Failure { doing, error }
        })?;
        let running = start(inner, outer, there, back, settings)?;
        let devices = [Device::new(INNER, Place::Behind), Device::new(name, Place::Here)];
        Ok(Link { running, space: Some(space), _nat: nat, devices, block: Some(block), _at_work: at_work })
    }

    /// A link that joins two ends; `there` carries what comes from the first.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn join(
        ends: [End; 2],
        set_up: &SetUp,
        there: OneWaySpec,
        back: OneWaySpec,
        settings: &Settings,
    ) -> Result<Link, Failure> {
        nat::sweep().map_err(Failure::while_doing("undoing what an earlier link has left"))?;
        let (joint, at_work) = joint(&ends)?;
        let block = joint.map(Block::number);
        let name_of_device = format!("{JOINT}{}", joint.unwrap_or(0));
        let addresses = block.map(|block| [block.inner(), block.outer()]);
        let (mut fds, mut devices) = (Vec::with_capacity(2), Vec::with_capacity(2));
        for (at, end) in ends.into_iter().enumerate() {
            fds.push(match end {
                End::Device(name) => {
                    let opened = existing_device(&name)?;
                    devices.push(Device::new(name, Place::Here));
                    opened
                }
                End::Namespace(name) => {
                    let namespace = named(&name)?;
                    let again = namespace.try_clone().map_err(Failure::while_doing("joining"))?;
                    devices.push(Device::new(&name_of_device, Place::Named(again)));
                    let (mtu, ring) = (set_up.mtu, set_up.ring);
                    let mine: Vec<_> = addresses.into_iter().flat_map(|both| set_up.usable(both[at])).collect();
                    let device = name_of_device.clone();
                    let make = move || {
                        let opened = sys::open_tun(&device)?;
                        let netlink = Netlink::new()?;
                        netlink.size(&device, mtu, ring)?;
                        quiet(&device);
                        netlink.up(&device)?;
                        for (address, prefix) in mine {
                            add_address(&netlink, &device, address, prefix)?;
                        }
                        Ok(opened)
                    };
                    let doing = format!("making the device {name_of_device} in the namespace {name}");
                    space::enter(namespace, make).map_err(Failure::while_doing(doing))?
                }
            });
        }
        let two = || Failure { doing: "joining".into(), error: Errno::EINVAL.into() };
        let [first, second] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| two())?;
        let devices = <[Device; 2]>::try_from(devices).map_err(|_| two())?;
        // A device that was there may have lost packets before.
        devices.iter().for_each(|device| device.restart(None));
        let running = start(first, second, there, back, settings)?;
        Ok(Link { running, space: None, _nat: None, devices, block, _at_work: at_work })
    }

    /// The loop.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// The state of both directions; `None` before the first one is taken.
    pub fn view(&self) -> Option<[View; 2]> {
        self.running.view()
    }

    /// Packets that the kernel dropped in front of each direction in the measured window, because its device's ring was
    /// full; `None` if the kernel cannot be asked.
    pub fn overruns(&self) -> [Option<u64>; 2] {
        self.devices.each_ref().map(|device| device.overruns(self.space.as_ref()))
    }

    /// Starts a new measured window, within some milliseconds.
    pub fn restart(&self) {
        self.devices.iter().for_each(|device| device.restart(self.space.as_ref()));
        self.running.restart();
    }

    /// Name of the device in front of the link, if a namespace is behind it.
    pub fn outer_device(&self) -> Option<&str> {
        self.space.as_ref().map(|_| self.devices[1].name.as_str())
    }

    /// The addresses of its ends.
    pub fn block(&self) -> Option<Block> {
        self.block
    }

    /// Inode number of the namespace behind the link.
    pub fn namespace(&self) -> Option<u64> {
        self.space.as_ref().map(Space::inode)
    }

    /// Starts a command behind the link.
    ///
    /// # Errors
    /// If no namespace is behind it, or the command cannot be started.
    pub fn spawn(&self, command: Command, run_as: Option<RunAs>) -> io::Result<Child> {
        let space = self.space.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))?;
        space.spawn(command, run_as)
    }

    /// Stops it: ends the processes left behind it, then the loop once no packet is queued or in flight, or after
    /// `patience`, and removes its devices and its namespace.
    ///
    /// # Errors
    /// If the loop has failed.
    pub fn stop(mut self, patience: Duration) -> Result<Outcome, Failure> {
        if let Some(space) = &mut self.space {
            space.end_processes();
        }
        let (overruns, real_time) = (self.overruns(), self.running.real_time());
        let paths = self.running.stop(patience).map_err(Failure::while_doing("carrying packets"))?;
        Ok(Outcome { paths, overruns, real_time })
    }
}

fn start(
    inner: OwnedFd,
    outer: OwnedFd,
    there: OneWaySpec,
    back: OneWaySpec,
    settings: &Settings,
) -> Result<Running, Failure> {
    let directions = [Direction { from: inner, spec: there }, Direction { from: outer, spec: back }];
    let [there, back] = directions;
    let doing = if settings.real_time == RealTime::On { "asking for real-time priority" } else { "starting" };
    Running::start(there, back, settings).map_err(Failure::while_doing(doing))
}

/// Opens a namespace by its name.
fn named(name: &str) -> Result<File, Failure> {
    let path = Path::new("/run/netns").join(name);
    File::open(&path).map_err(Failure::while_doing(format!("opening the namespace {name} ({})", path.display())))
}

/// A number whose addresses are free in every joined namespace, at work from now on; `None` if two devices are joined.
fn joint(ends: &[End; 2]) -> Result<(Option<u32>, Option<AtWork>), Failure> {
    let names: Vec<&String> = ends
        .iter()
        .filter_map(|end| match end {
            End::Namespace(name) => Some(name),
            End::Device(_) => None,
        })
        .collect();
    if names.is_empty() {
        return Ok((None, None));
    }
    let (mut routes, mut namespaces) = (Vec::new(), Vec::new());
    for name in names {
        let read = space::enter(named(name)?, || Ok((Netlink::new()?.ipv4_routes()?, sys::namespace_cookie().ok())));
        let (own, cookie) =
            read.map_err(Failure::while_doing(format!("reading the routes of the namespace {name}")))?;
        routes.extend(own);
        namespaces.extend(cookie);
    }
    let free = |number: &u32| !routes.iter().any(|&(to, prefix)| Block::number(*number).overlaps(to, prefix));
    let rested = registry::rested(&namespaces, (0..BLOCKS).filter(free).collect());
    let found = rested.map_err(Failure::while_doing(ADDRESSES))?.first().copied().ok_or_else(no_addresses)?;
    let at_work = AtWork::begin(namespaces, found).map_err(Failure::while_doing(ADDRESSES))?;
    Ok((Some(found), Some(at_work)))
}

/// What is done while a block is chosen.
const ADDRESSES: &str = "looking for free addresses";

fn no_addresses() -> Failure {
    Failure { doing: ADDRESSES.into(), error: io::ErrorKind::AddrNotAvailable.into() }
}

/// Creates the device in front of the link, with addresses that are free here and, of links that are behind no other,
/// at work from now on.
fn outer_device(set_up: &SetUp) -> Result<(OwnedFd, String, Block, Option<AtWork>), Failure> {
    let netlink = Netlink::new().map_err(Failure::while_doing("asking the kernel"))?;
    let routes = netlink.ipv4_routes().map_err(Failure::while_doing("reading the routes"))?;
    let around = block_around(&netlink);
    let block = |number: u32| match around {
        // It fits: a block has fewer children than an address has bits.
        Some(outer) => outer.inside(number as u8),
        None => Some(Block::number(number)),
    };
    // The route of the enclosing link covers the whole block; it is no conflict.
    let mine = around.map(|outer| outer.prefix());
    let is_free = |block: Block| !routes.iter().any(|&(to, prefix)| mine != Some(prefix) && block.overlaps(to, prefix));
    let free = |numbers: std::ops::Range<u32>| -> Vec<u32> {
        numbers.filter(|&number| block(number).is_some_and(is_free)).collect()
    };
    // Kernels without these numbers have no rest either.
    let namespaces = Vec::from_iter(sys::namespace_cookie());
    let numbers = match around {
        Some(block) => free(1..u32::from(block.children()) + 1),
        None => registry::rested(&namespaces, free(0..BLOCKS)).map_err(Failure::while_doing(ADDRESSES))?,
    };
    for number in numbers {
        let Some(block) = block(number) else { continue };
        let name = format!("{OUTER}{number}");
        let device = match sys::open_tun(&name) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure {
                    doing: "opening /dev/net/tun (is the kernel's module tun there?)".into(),
                    error,
                });
            }
            other => other.map_err(Failure::while_doing(format!("making the TUN device {name}")))?,
        };
        let configure = || -> io::Result<()> {
            netlink.size(&name, set_up.mtu, set_up.ring)?;
            quiet(&name);
            netlink.up(&name)?;
            set_up.usable(block.outer()).try_for_each(|(address, prefix)| add_address(&netlink, &name, address, prefix))
        };
        configure().map_err(Failure::while_doing(format!("setting up the device {name}")))?;
        let at_work = match around {
            Some(_) => None,
            None => Some(AtWork::begin(namespaces, number).map_err(Failure::while_doing(ADDRESSES))?),
        };
        return Ok((device, name, block, at_work));
    }
    Err(no_addresses())
}

/// The block of the enclosing link, if this namespace is behind one.
fn block_around(netlink: &Netlink) -> Option<Block> {
    let addresses = netlink.ipv4_addresses(INNER).ok()?;
    addresses.into_iter().find_map(|(address, prefix)| Block::of_inner_end(address, prefix))
}

/// Creates the device behind the link, in the calling thread's namespace, which is the link's own. Its default route of
/// IPv6 is there only if the other side forwards that.
fn inner_device(set_up: &SetUp, block: Block, ipv6_beyond: bool, step: &mut String) -> io::Result<OwnedFd> {
    let device = sys::open_tun(INNER)?;
    let netlink = Netlink::new()?;
    netlink.size(INNER, set_up.mtu, set_up.ring)?;
    quiet(INNER);
    netlink.up(INNER)?;
    for (address, prefix) in set_up.usable(block.inner()) {
        add_address(&netlink, INNER, address, prefix)?;
        // Without a route the command's programs try IPv4 at once; packets without an answer would keep them waiting.
        let everywhere = address.is_ipv4() || ipv6_beyond;
        let to = if everywhere { Block::everywhere(address) } else { Block::all_ipv6() };
        match netlink.add_route(INNER, to) {
            Err(error) if address.is_ipv6() && is_without_ipv6(&error) => {}
            other => other?,
        }
    }
    // This namespace forwards for links nested behind it.
    space::sysctl("net.ipv4.ip_forward", "1")?;
    match space::sysctl("net.ipv6.conf.all.forwarding", "1") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    // Users without privileges may ping.
    space::sysctl("net.ipv4.ping_group_range", "0 2147483647")?;
    for (name, value) in &set_up.sysctls {
        *step = format!("setting {name} = {value}");
        space::sysctl(name, value)?;
    }
    Ok(device)
}

fn existing_device(name: &str) -> Result<OwnedFd, Failure> {
    let doing = || format!("opening the TUN device {name}");
    let netlink = Netlink::new().map_err(Failure::while_doing("asking the kernel"))?;
    // Opening a missing device would create it.
    netlink.index(name).map_err(Failure::while_doing(doing()))?;
    sys::open_tun(name).map_err(Failure::while_doing(doing()))
}

fn add_address(netlink: &Netlink, device: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
    match netlink.add_address(device, address, prefix) {
        // A kernel without IPv6, or with IPv6 switched off.
        Err(error) if address.is_ipv6() && is_without_ipv6(&error) => Ok(()),
        other => other,
    }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EACCES | libc::EPERM | libc::ENODEV)
    )
}

/// Stops the kernel from sending packets of its own (IPv6 neighbours, routers) over a device.
fn quiet(device: &str) {
    for (name, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("router_solicitations", "0"),
        ("mldv1_unsolicited_report_interval", "0"),
    ] {
        // Fails without IPv6, where there is nothing to stop.
        drop(space::sysctl(&format!("net.ipv6.conf.{device}.{name}"), value));
    }
}
