//! Protocol stacks at hosts, and the loop that runs them with a network.

use crate::error::Error;
use crate::network::{Counts, Delivery, Event, Host, Network};
use earlydrop_aqm::Ecn;

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Payload. On the wire the datagram has the network's overhead more.
    pub payload: Vec<u8>,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

/// What an application thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// It waits for something.
    Wait,
    /// It has all that it wanted; it may still answer.
    Done,
}

/// A protocol stack with its application at a host, without input or output of its own: [`run`] calls it.
///
/// Times are in seconds from the start of the network. After each [`handle`](Self::handle) and
/// [`handle_timeout`](Self::handle_timeout), and once at the start, come [`drive`](Self::drive) and
/// [`poll_transmit`](Self::poll_transmit), again and again until there is nothing left to send, then
/// [`poll_timeout`](Self::poll_timeout).
pub trait Endpoint {
    /// A datagram arrives.
    fn handle(&mut self, now: f64, datagram: Delivery);
    /// The next datagram to be sent now.
    fn poll_transmit(&mut self, now: f64) -> Option<Transmit>;
    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if nothing else happens before.
    fn poll_timeout(&mut self) -> Option<f64>;
    /// The time that [`poll_timeout`](Self::poll_timeout) gave has come.
    fn handle_timeout(&mut self, now: f64);
    /// The application has its turn: it reads what has arrived, and writes.
    fn drive(&mut self, now: f64) -> Drive;
    /// What the stack counts, if it does: then the result has its goodput, not the payload of its datagrams, and what it
    /// sent again. It is asked after each turn.
    fn counts(&self) -> Option<Counts> {
        None
    }
}

/// Why [`run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All applications are done.
    Done,
    /// The time is up.
    Until,
    /// Nothing will ever happen: no packet is under way, and no timer is set, also none of a queue.
    Idle,
}

/// Calls of one endpoint at one instant, or datagrams sent in one turn, beyond which it does not make progress.
const MOST_AT_ONCE: u32 = 100_000;

/// Runs `endpoints` at their hosts from the network's present time on until all are [`Drive::Done`], or up to `until`, s,
/// or until nothing happens any more. The network is then at `until`.
///
/// What an endpoint sends in answer to a datagram or a timer sets out in the same event of the network, before anything
/// else happens there. Among events at one time the network has its usual order, in which a timer comes last; endpoints
/// that start together have the order of the list.
///
/// # Errors
/// If a host has two endpoints or none of its own, if the network has ended before `until`, if a datagram is too large, or
/// if an endpoint does not make progress: if it sends without end, or sets its timer to a time that has passed after every
/// call.
pub fn run(network: &mut Network, endpoints: &mut [(Host, &mut dyn Endpoint)], until: f64) -> Result<Stop, Error> {
    network.start()?;
    let mut at = vec![usize::MAX; network.hosts()];
    for (index, (host, _)) in endpoints.iter().enumerate() {
        let place = at.get_mut(host.index()).ok_or_else(|| Error::call("an endpoint at a host of another network"))?;
        if *place != usize::MAX {
            return Err(Error::call(format!("two endpoints at {}", network.name(*host))));
        }
        *place = index;
    }
    network.must_be_ahead(until)?;
    let mut done = vec![false; endpoints.len()];
    let now = network.now();
    for (index, (host, endpoint)) in endpoints.iter_mut().enumerate() {
        done[index] = turn(network, *host, *endpoint, now)?;
    }
    loop {
        if done.iter().all(|&done| done) {
            return Ok(Stop::Done);
        }
        let Some((host, event)) = network.next_of(until) else {
            // After the end nothing happens either.
            let idle = network.next_event()?.is_none() && until < network.end()?;
            return Ok(if idle { Stop::Idle } else { Stop::Until });
        };
        let now = network.now();
        let Some((_, endpoint)) = at.get(host.index()).and_then(|&index| endpoints.get_mut(index)) else {
            // A host without an endpoint takes what comes.
            if let Event::Arrival(delivery) = event {
                network.keep(host, delivery);
            }
            continue;
        };
        match event {
            Event::Arrival(delivery) => endpoint.handle(now, delivery),
            Event::Timer => endpoint.handle_timeout(now),
        }
        done[at[host.index()]] = turn(network, host, *endpoint, now)?;
    }
}

/// The turn of an endpoint after something has happened; whether its application is done.
fn turn(network: &mut Network, host: Host, endpoint: &mut dyn Endpoint, now: f64) -> Result<bool, Error> {
    let mut sent = 0;
    for _ in 0..MOST_AT_ONCE {
        let drive = endpoint.drive(now);
        let before = sent;
        while let Some(Transmit { payload, ecn }) = endpoint.poll_transmit(now) {
            network.send(host, payload, ecn)?;
            sent += 1;
            if sent > MOST_AT_ONCE {
                let name = network.name(host);
                return Err(Error::call(format!("the endpoint at {name} sends without end at {now} s")));
            }
        }
        if sent > before {
            // What has left may be what the application waited for.
            continue;
        }
        let timer = endpoint.poll_timeout().unwrap_or(f64::INFINITY);
        if timer.is_nan() {
            return Err(Error::call(format!(
                "the endpoint at {} sets its timer to no number at {now} s",
                network.name(host)
            )));
        }
        if timer > now {
            network.wake(host, timer);
            if let Some(counts) = endpoint.counts() {
                network.count(host, counts);
            }
            return Ok(drive == Drive::Done);
        }
        endpoint.handle_timeout(now);
    }
    let name = network.name(host);
    Err(Error::call(format!(
        "the endpoint at {name} sets its timer to a time that is over, again and again, at {now} s"
    )))
}
