//! Queue disciplines on real traffic.
//!
//! [`one_way`] decides what happens to a packet, and when: arrivals with their times go in, departures with their times
//! come out. It has no socket and no clock, so a recorded trace can be replayed through it, and the simulator's port
//! makes the same decisions. [`header`] parses IP headers. The Linux modules touch the machine: TUN devices, network
//! namespaces, and the loop that reads, sleeps and writes. Unsafe code is in `sys` and `burst` only.

pub mod header;
pub mod one_way;
pub mod record;
pub mod seconds;

pub mod block;
#[cfg(target_os = "linux")]
pub mod burst;
pub mod flows;
#[cfg(target_os = "linux")]
pub mod link;
#[cfg(target_os = "linux")]
pub mod nat;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
pub mod nftables;
#[cfg(target_os = "linux")]
pub mod registry;
pub mod roles;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
pub mod space;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod trust;
