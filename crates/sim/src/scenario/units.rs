//! Numbers with units: `"10 Mbit/s"`, `"20 ms"`, `"1000 B"`, `"120 packets"`.
//!
//! A value is the written number times the unit's factor, one multiplication, so that `"20 ms"` is exactly
//! `20.0 * 1e-3` wherever the scenario is read. The factor tables below are also what the JSON schema is made from.

/// Unit names and their factors to the base unit.
pub type Factors = [(&'static str, f64)];

/// Rates, in bit/s.
pub const RATE: &Factors = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
    ("Tb/s", 1e12),
    ("bit", 1.0), // from here on as `tc` writes them
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("Kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("Tbit", 1e12),
];

/// Spellings that people use for bits and `tc` for bytes per second.
const AMBIGUOUS: &[(&str, &str)] =
    &[("Kbps", "k"), ("KBps", "k"), ("mbps", "M"), ("gbps", "G"), ("tbps", "T"), ("MBps", "M"), ("GBps", "G")];

/// Times, in seconds.
pub const TIME: &Factors = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6), // micro sign
    ("μs", 1e-6), // Greek mu
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];

/// Sizes, in bytes.
pub const SIZE: &Factors = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("byte", 1.0),
    ("bytes", 1.0),
];

/// Numbers of packets.
pub const PACKETS: &Factors = &[("packets", 1.0), ("packet", 1.0), ("p", 1.0)];

/// What a rate may look like.
pub const RATE_FORM: &str = "a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as \"10 Mbit/s\"";
/// What a time may look like.
pub const TIME_FORM: &str = "a time in ns, us, ms, s, min or h, such as \"20 ms\"";
/// What a size may look like.
pub const SIZE_FORM: &str = "a size in B, kB or MB, such as \"1000 B\"";
/// What a probability may look like.
pub const PROBABILITY_FORM: &str = "a number from 0 to 1, or a percentage such as \"1%\"";
/// What a queue length may look like.
pub const QUEUE_FORM: &str = "packets or bytes, such as \"120 packets\", \"120p\" or \"15 kB\"";

/// A queue length, in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLength {
    /// Packets, perhaps a fraction (thresholds may be).
    Packets(f64),
    /// Bytes.
    Bytes(f64),
}

/// Why a text is not a value; the caller adds the field and the allowed form.
pub type Complaint = String;

/// Refuses a text where only a plain number is allowed.
pub(super) fn number(_: &str) -> Result<f64, Complaint> {
    Err("cannot be a text".to_string())
}

/// A probability: `0.01` or `1 %`.
pub(super) fn probability(text: &str) -> Result<f64, Complaint> {
    match split(text)? {
        (number, "%") => Ok(number / 100.0),
        (number, "") => Ok(number),
        _ => Err("is neither a number nor a percentage".to_string()),
    }
}

/// A rate in bit/s.
pub fn rate(text: &str) -> Result<f64, Complaint> {
    measure(text, RATE)
}

/// A time in seconds.
pub fn time(text: &str) -> Result<f64, Complaint> {
    measure(text, TIME)
}

/// A size in bytes.
pub fn size(text: &str) -> Result<f64, Complaint> {
    measure(text, SIZE)
}

/// A queue length.
pub fn queue_length(text: &str) -> Result<QueueLength, Complaint> {
    let (number, unit) = split(text)?;
    if let Some(factor) = factor(unit, PACKETS) {
        return finite(number * factor).map(QueueLength::Packets);
    }
    match factor(unit, SIZE) {
        Some(factor) => finite(number * factor).map(QueueLength::Bytes),
        None => Err(wrong_unit(unit, PACKETS.iter().chain(SIZE))),
    }
}

/// A text with a unit, of whatever dimension: the written number, its unit, the unit's factor, and the base unit.
pub fn quantity(text: &str) -> Option<(f64, &'static str, f64, &'static str)> {
    let (number, unit) = split(text).ok()?;
    [RATE, TIME, SIZE, PACKETS].into_iter().find_map(|units| {
        let (name, factor) = units.iter().find(|(name, _)| *name == unit)?;
        let (base, _) = units.iter().find(|(_, factor)| *factor == 1.0)?;
        Some((number, *name, *factor, *base))
    })
}

fn measure(text: &str, units: &Factors) -> Result<f64, Complaint> {
    let (number, unit) = split(text)?;
    match factor(unit, units) {
        Some(factor) => finite(number * factor),
        None => Err(wrong_unit(unit, units.iter())),
    }
}

fn factor(unit: &str, units: &Factors) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

fn finite(x: f64) -> Result<f64, Complaint> {
    if x.is_finite() {
        Ok(x)
    } else {
        Err("is too large a number".to_string())
    }
}

fn wrong_unit<'a>(unit: &str, units: impl Iterator<Item = &'a (&'static str, f64)>) -> Complaint {
    if unit.is_empty() {
        return "has no unit".to_string();
    }
    if let Some((_, prefix)) = AMBIGUOUS.iter().find(|(name, _)| *name == unit) {
        return format!(
            "has the ambiguous unit \"{unit}\", which is bytes per second in tc; write \"{prefix}bit/s\", and 8 times as \
             many if bytes are meant"
        );
    }
    let message = format!("has the wrong unit {}", super::error::quoted(unit));
    // A slip of case is allowed except between bits and bytes.
    let meant = |name: &&str| name.eq_ignore_ascii_case(unit) && name.contains('B') == unit.contains('B');
    match units.map(|(name, _)| *name).find(meant) {
        Some(name) => format!("{message}; did you mean \"{name}\"?"),
        None => message,
    }
}

/// The number at the start of `text`, and what follows it.
fn split(text: &str) -> Result<(f64, &str), Complaint> {
    let text = text.trim();
    let (number, unit) = text.split_at(number_length(text.as_bytes()));
    match number.parse::<f64>() {
        Ok(x) => Ok((finite(x)?, unit.trim_start())),
        Err(_) => Err("does not start with a number".to_string()),
    }
}

/// Length of the decimal number with which `text` starts. An `e` belongs to it only if digits follow.
fn number_length(text: &[u8]) -> usize {
    let sign = |at: usize| usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let digits = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = sign(0);
    end += digits(end);
    if text.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let start = end + 1 + sign(end + 1);
        let exponent = digits(start);
        if exponent > 0 {
            end = start + exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_multiplication_gives_the_exact_value() {
        assert_eq!(time("20ms"), Ok(20.0 * 1e-3));
        assert_eq!(time("5us"), Ok(5.0 * 1e-6));
        assert_eq!(time(" 1 min "), Ok(60.0));
        assert_eq!(time("200 s"), Ok(200.0));
        assert_eq!(rate("5 Mbit/s"), Ok(5e6));
        assert_eq!(rate("10Mbps"), Ok(10.0 * 1e6));
        assert_eq!(rate("1.5 Gbit/s"), Ok(1.5 * 1e9));
        assert_eq!(rate("500 kbit/s"), Ok(500.0 * 1e3));
        assert_eq!(rate("1e3 bit/s"), Ok(1000.0));
        assert_eq!(rate("100kbit"), Ok(100.0 * 1e3));
        assert_eq!(rate("50mbit"), Ok(50.0 * 1e6));
        assert_eq!(rate("10Mbit"), Ok(10.0 * 1e6));
        assert_eq!(rate("1gbit"), Ok(1e9));
        assert_eq!(size("1000 B"), Ok(1000.0));
        assert_eq!(size("1 kB"), Ok(1000.0));
    }

    #[test]
    fn queue_lengths_are_packets_or_bytes() {
        assert_eq!(queue_length("120 packets"), Ok(QueueLength::Packets(120.0)));
        assert_eq!(queue_length("120p"), Ok(QueueLength::Packets(120.0)));
        assert_eq!(queue_length("1 packet"), Ok(QueueLength::Packets(1.0)));
        assert_eq!(queue_length("15 kB"), Ok(QueueLength::Bytes(15e3)));
        assert!(queue_length("15 ms").is_err());
    }

    #[test]
    fn complaints_say_what_is_wrong() {
        assert_eq!(time("20").unwrap_err(), "has no unit");
        assert_eq!(time("20 sec").unwrap_err(), "has the wrong unit \"sec\"");
        assert_eq!(rate("5 mbit/s").unwrap_err(), "has the wrong unit \"mbit/s\"; did you mean \"Mbit/s\"?");
        assert_eq!(size("1 KB").unwrap_err(), "has the wrong unit \"KB\"; did you mean \"kB\"?");
        assert_eq!(
            rate("5mbps").unwrap_err(),
            "has the ambiguous unit \"mbps\", which is bytes per second in tc; write \"Mbit/s\", and 8 times as many if \
             bytes are meant"
        );
        assert_eq!(rate("5 MB/s").unwrap_err(), "has the wrong unit \"MB/s\"");
        assert_eq!(time("soon").unwrap_err(), "does not start with a number");
        assert_eq!(rate("1e308 Gbit/s").unwrap_err(), "is too large a number");
        assert_eq!(rate("1e999 bit/s").unwrap_err(), "is too large a number");
    }

    #[test]
    fn odd_texts_are_refused() {
        for text in
            ["", " ", "nan s", "inf s", "-", "+", ".", "e5 s", "1e", "1e+", "--1 s", "1_000 s", "0x10 s", "1 2 s", "é"]
        {
            assert!(time(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn signs_fractions_and_exponents_are_numbers() {
        assert_eq!(time("-1 s"), Ok(-1.0));
        assert_eq!(time("+.5s"), Ok(0.5));
        assert_eq!(time("5.s"), Ok(5.0));
        assert_eq!(time("2E-3 s"), Ok(0.002));
    }
}
