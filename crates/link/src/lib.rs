//! Queue disciplines on real traffic.
//!
//! What is decided, and when, is the [`path`]'s: packets and times come in, departures with their times go out. It knows
//! no socket and no clock, so a recorded trace can be run through it again, and the same discipline in the simulator
//! decides the same. Around it stand the reading of IP headers ([`header`]), and on Linux what touches the machine: TUN
//! devices, network namespaces, and the loop that reads, waits and writes.

pub mod header;
pub mod path;
pub mod record;
pub mod seconds;

pub mod block;
#[cfg(target_os = "linux")]
pub mod burst;
pub mod flows;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
pub mod space;
#[cfg(target_os = "linux")]
pub mod sys;
