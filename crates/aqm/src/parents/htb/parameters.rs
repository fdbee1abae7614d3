//! Parameters of HTB and of its classes.

use crate::params::{Kind, Link, Param, ParamError, Unit, Value, Values};
use crate::parents::spec::beyond;
use crate::parts::class_weights::CLASSES;

const fn rate(name: &'static str, doc: &'static str) -> Param {
    Param::new(name, Unit::Rate, Kind::real(64.0, 1e12).or_auto(), Value::Auto).says("ours", doc)
}

const fn bytes(name: &'static str, high: f64, source: &'static str, doc: &'static str) -> Param {
    Param::new(name, Unit::Bytes, Kind::real(1.0, high).or_auto(), Value::Auto).says(source, doc)
}

const fn prio(name: &'static str, doc: &'static str) -> Param {
    Param::whole(name, Unit::None, (0, 7), 0).says("Linux", doc)
}

pub(super) const PARAMS: &[Param] = &[
    rate("rate", "Rate in the long run; auto is the link's."),
    Param::whole("classes", Unit::None, (1, CLASSES as i64), 8)
        .says("ours: as many as packets have", "Number of classes."),
    bytes("burst", 4e9, "tc: 1600 B and what the rate is in a nanosecond", "Size of the buckets of rates."),
    bytes("cburst", 4e9, "tc: 1600 B and what the ceil is in a nanosecond", "Size of the buckets of ceils."),
    bytes(
        "quantum",
        1e9,
        "Linux: a tenth of a second's at the rate, 1 to 200 kB",
        "Bytes that a class earns in a turn.",
    ),
    rate("rate_0", "Rate of class 0; auto is an equal share."),
    rate("rate_1", "Rate of class 1."),
    rate("rate_2", "Rate of class 2."),
    rate("rate_3", "Rate of class 3."),
    rate("rate_4", "Rate of class 4."),
    rate("rate_5", "Rate of class 5."),
    rate("rate_6", "Rate of class 6."),
    rate("rate_7", "Rate of class 7."),
    rate("ceil_0", "Up to what class 0 borrows; auto is `rate`."),
    rate("ceil_1", "Up to what class 1 borrows."),
    rate("ceil_2", "Up to what class 2 borrows."),
    rate("ceil_3", "Up to what class 3 borrows."),
    rate("ceil_4", "Up to what class 4 borrows."),
    rate("ceil_5", "Up to what class 5 borrows."),
    rate("ceil_6", "Up to what class 6 borrows."),
    rate("ceil_7", "Up to what class 7 borrows."),
    prio("prio_0", "Priority of class 0; the lowest is served first."),
    prio("prio_1", "Priority of class 1."),
    prio("prio_2", "Priority of class 2."),
    prio("prio_3", "Priority of class 3."),
    prio("prio_4", "Priority of class 4."),
    prio("prio_5", "Priority of class 5."),
    prio("prio_6", "Priority of class 6."),
    prio("prio_7", "Priority of class 7."),
];

/// Names of each class's parameters, by its number.
pub(super) const OF_CLASS: [[&str; 3]; CLASSES] = [
    ["rate_0", "ceil_0", "prio_0"],
    ["rate_1", "ceil_1", "prio_1"],
    ["rate_2", "ceil_2", "prio_2"],
    ["rate_3", "ceil_3", "prio_3"],
    ["rate_4", "ceil_4", "prio_4"],
    ["rate_5", "ceil_5", "prio_5"],
    ["rate_6", "ceil_6", "prio_6"],
    ["rate_7", "ceil_7", "prio_7"],
];

pub(super) fn classes(values: &Values) -> usize {
    values.whole(PARAMS, "classes") as usize
}

pub(super) fn root_rate(values: &Values, link: &Link) -> f64 {
    values.number(PARAMS, "rate").unwrap_or(link.rate_bps)
}

/// Rate and ceil of a class, bit/s.
pub(super) fn rates(values: &Values, link: &Link, class: usize) -> (f64, f64) {
    let (root, [rate, ceil, _]) = (root_rate(values, link), OF_CLASS[class]);
    let rate = values.number(PARAMS, rate).unwrap_or(root / classes(values) as f64);
    (rate, values.number(PARAMS, ceil).unwrap_or(root.max(rate)))
}

pub(super) fn check(values: &Values, link: &Link) -> Result<(), ParamError> {
    beyond(values, &OF_CLASS, classes(values), "classes")?;
    for (class, names) in OF_CLASS.iter().enumerate().take(classes(values)) {
        let (rate, ceil) = rates(values, link, class);
        if ceil < rate {
            return Err(ParamError::new(names[1], ceil, format!("at least its rate, {rate} bit/s")));
        }
    }
    Ok(())
}
