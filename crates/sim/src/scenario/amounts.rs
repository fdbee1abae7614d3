//! Traffic that no run could carry: so many packets that the run would not end, or web objects beyond all memory.

use super::bounds;
use super::error::ScenarioError;
use super::fields::Checked;
use super::traffic::{Ftp, Load, Traffic};

/// What an entry sends at its own pace.
struct Amount {
    /// The key that says how fast it sends.
    key: &'static str,
    what: &'static str,
    /// Mean number of packets or objects in a run.
    number: f64,
    /// Largest number that is allowed.
    most: f64,
}

/// Refuses an entry without feedback, or web sessions, beyond what a run can have in `duration`, s.
pub(super) fn check(traffic: &[Traffic], duration: f64) -> Checked<()> {
    for (index, entry) in traffic.iter().enumerate() {
        let Some(Amount { key, what, number, most }) = amount(entry, duration) else { continue };
        if number > most {
            return Err(ScenarioError::new(format!("traffic[{index}].{key}"), format!("makes too many {what}"))
                .given(format!("{number:.1e} {what} on average in {duration} s"))
                .allowed(format!("{most:.0e} {what} of an entry in a run")));
        }
    }
    Ok(())
}

fn amount(entry: &Traffic, duration: f64) -> Option<Amount> {
    let flows = f64::from(entry.count);
    let packets = |key, per_second: f64, stop: Option<f64>| {
        let number = flows * per_second * stop.unwrap_or(duration).min(duration);
        Some(Amount { key, what: "packets", number, most: bounds::PACKETS })
    };
    match &entry.load {
        Load::Cbr(load) => {
            let bytes = load.packets.segment.mean() + f64::from(load.packets.header);
            packets("rate", load.rate / (8.0 * bytes), load.packets.stop)
        }
        Load::Poisson(load) => {
            let bytes = load.packets.segment.mean() + f64::from(load.packets.header);
            packets("rate", load.rate / (8.0 * bytes), load.packets.stop)
        }
        Load::OnOff(load) => {
            let interval = 8.0 * f64::from(load.segment + load.header) / load.rate;
            packets("rate", in_bursts(interval, load.on, load.off), load.stop)
        }
        Load::Voip(load) => packets("interval", in_bursts(load.interval, load.on, load.off), load.stop),
        Load::Video(load) => {
            let frame = (load.frame.mean() / f64::from(load.segment)).max(1.0);
            packets("interval", frame / load.interval, load.stop)
        }
        Load::Media(load) => {
            let packets = (load.max_rate / 8.0 / f64::from(load.segment + load.header)).max(load.frame_rate);
            let number = flows * packets * load.stop.unwrap_or(duration).min(duration);
            Some(Amount { key: "max_rate", what: "packets", number, most: bounds::NUMBERED })
        }
        Load::Web(load) => {
            let number = duration / load.session_gap * load.pages.mean() * load.objects.mean();
            Some(Amount { key: "session_gap", what: "objects", number, most: bounds::OBJECTS })
        }
        Load::Ftp(Ftp { tcp, writes: Some(writes), lifetime, .. }) => {
            let (on, off) = writes.periods.unwrap_or((1.0, 0.0));
            packets("rate", in_bursts(writes.interval(tcp.segment), on, off), *lifetime)
        }
        // Transfers wait for their answers; see `round_trips_take_time`.
        Load::Ftp(_) | Load::Transfers(_) | Load::Requests(_) | Load::Pages(_) | Load::Outside(_) => None,
    }
}

/// Packets a second in bursts of mean length `on`, one each `interval`, with pauses `off`; at least one a burst.
fn in_bursts(interval: f64, on: f64, off: f64) -> f64 {
    let burst = (on / interval).max(1.0);
    burst / (burst * interval + off)
}
