//! A description of the C ABI as a declaration of the catalogue.

use std::ffi::CStr;

use earlydrop_aqm::abi;
use earlydrop_aqm::catalogue::{self, AqmSpec, Built, Link};
use earlydrop_aqm::default_limit::DefaultLimit;
use earlydrop_aqm::params::{Kind, Param, ParamError, Unit, Value, Values};

use crate::policy::{text, Code, Foreign};

/// The family of disciplines from outside.
pub const FAMILY: &str = "your own";
/// Largest block of state, bytes.
const MOST_STATE: u64 = 1 << 30;
/// Most parameters.
const MOST_PARAMS: u32 = 256;
/// Keys of every queue, which no parameter may be called.
const TAKEN: [&str; 4] = ["aqm", "limit", "ecn", "random"];

/// A declaration that lives as long as the process.
pub type Declaration = &'static AqmSpec;

/// The declaration made from the description at `aqm`.
///
/// # Errors
/// What is wrong with the description.
///
/// # Safety
/// `aqm` points to an `ed_aqm` of the header, whose pointers are valid for ever and as the header says.
pub unsafe fn describe(aqm: *const abi::Aqm) -> Result<Declaration, String> {
    // The version comes first: a library of another version need not have the rest.
    let version = unsafe { (*aqm).abi };
    if version != abi::VERSION {
        return Err(format!(
            "was built for version {version} of earlydrop_aqm.h; this program speaks {}",
            abi::VERSION
        ));
    }
    let (size, expected) = (unsafe { (*aqm).size }, size_of::<abi::Aqm>());
    if size as usize != expected {
        return Err(format!("describes itself in {size} bytes; ed_aqm has {expected}"));
    }
    let aqm: &'static abi::Aqm = unsafe { &*aqm };
    let name = unsafe { text(aqm.name) }.filter(|name| is_name(name)).ok_or("has no name of a-z, 0-9 and _")?;
    let fault = |message: String| format!("{name}: {message}");
    if catalogue::find(name).is_some() {
        return Err(fault("there is a discipline of that name in the catalogue".into()));
    }
    let decide = aqm.on_enqueue.ok_or_else(|| fault("has no on_enqueue".into()))?;
    if aqm.next_timer.is_some() != aqm.on_timer.is_some() {
        return Err(fault("has one of next_timer and on_timer; both are needed, or none".into()));
    }
    if aqm.state_size > MOST_STATE {
        return Err(fault(format!("wants {} bytes of state; allowed are {MOST_STATE}", aqm.state_size)));
    }
    if aqm.needs & !abi::NEEDS_CONTENTS != 0 {
        return Err(fault(format!("has needs = {:#x}; allowed are 0 and ED_NEEDS_CONTENTS (1)", aqm.needs)));
    }
    let params = unsafe { params(aqm) }.map_err(fault)?;
    let gauges = unsafe { gauges(aqm) }.map_err(fault)?;
    let code = Code::of(aqm);
    let or = |pointer, other: &'static str| unsafe { text(pointer) }.unwrap_or(other);
    let doc: String = or(aqm.doc, "").lines().map(|line| format!("//! {line}\n")).collect();
    let groups: &'static [&'static [Param]] = Box::leak(Box::new([params]));
    Ok(Box::leak(Box::new(AqmSpec {
        name,
        title: or(aqm.title, name),
        family: FAMILY,
        year: 0,
        summary: or(aqm.summary, ""),
        source: or(aqm.source, ""),
        file: doc.leak(),
        params: groups,
        linux: false,
        limit: DefaultLimit::DEVICE,
        check: Box::leak(Box::new(move |values: &Values, link: &Link| {
            let numbers = numbers(params, values)?;
            let Some(check) = code.get().check else { return Ok(()) };
            // SAFETY: as the header says.
            let complaint = unsafe { check(numbers.as_ptr(), link.rate_bps, link.delay_s) };
            unsafe { text(complaint) }.map_or(Ok(()), |allowed| Err(misfit(params, values, allowed)))
        })),
        build: Box::leak(Box::new(move |values: &Values, link: &Link, limit| {
            let numbers = numbers(params, values)?;
            Ok(Built::Policy(Box::new(Foreign::new(name, code, decide, gauges, &numbers, link, limit))))
        })),
        curve: aqm.curve.map(|curve| -> catalogue::DropCurve {
            Box::leak(Box::new(move |values: &Values, link: &Link, average| {
                let Ok(numbers) = numbers(params, values) else { return f64::NAN };
                // SAFETY: as the header says.
                unsafe { curve(numbers.as_ptr(), link.rate_bps, link.delay_s, average) }
            }))
        }),
    })))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && text.len() <= 64
}

/// # Safety
/// As [`describe`].
unsafe fn params(aqm: &'static abi::Aqm) -> Result<&'static [Param], String> {
    if aqm.param_count > MOST_PARAMS || (aqm.param_count > 0 && aqm.params.is_null()) {
        return Err(format!("declares {} parameters; allowed are {MOST_PARAMS}, in a list", aqm.param_count));
    }
    let mut declared: Vec<Param> = Vec::new();
    for index in 0..aqm.param_count as usize {
        let param = unsafe { param(&*aqm.params.add(index)) }
            .map_err(|message| format!("parameter {}: {message}", index + 1))?;
        if TAKEN.contains(&param.name) || declared.iter().any(|other| other.name == param.name) {
            return Err(format!("parameter {}: {:?} is taken", index + 1, param.name));
        }
        declared.push(param);
    }
    Ok(declared.leak())
}

unsafe fn param(given: &'static abi::Param) -> Result<Param, String> {
    let or = |pointer| unsafe { text(pointer) }.unwrap_or("");
    let name = unsafe { text(given.name) }.filter(|name| is_name(name)).ok_or("has no name of a-z, 0-9 and _")?;
    let unit = match given.unit {
        0 => Unit::None,
        1 => Unit::QueueLength,
        2 => Unit::Seconds,
        3 => Unit::Bytes,
        other => return Err(format!("{name} has unit {other}; allowed are 0 to 3")),
    };
    let whole = |x: f64| if x.fract() == 0.0 { Ok(x as i64) } else { Err(format!("{name}: {x} is no whole number")) };
    let (kind, default) = match given.kind {
        0 => {
            if given.open > 3 {
                return Err(format!("{name} has open = {}; allowed are 0 to 3", given.open));
            }
            let (open_low, open_high) = (given.open & 1 != 0, given.open & 2 != 0);
            let kind = Kind::Real { low: given.low, high: given.high, open_low, open_high, auto: false };
            (kind, Value::Real(given.initial))
        }
        1 => {
            let bound = |x: f64, infinite| if x.is_infinite() { Ok(infinite) } else { whole(x) };
            let kind = Kind::Whole { low: bound(given.low, i64::MIN)?, high: bound(given.high, i64::MAX)? };
            (kind, Value::Whole(whole(given.initial)?))
        }
        2 => (Kind::Flag { auto: false }, Value::Flag(given.initial != 0.0)),
        3 => {
            let words = unsafe { words(given.words) };
            let default = words.get(given.initial as usize).ok_or(format!("{name} has no word {}", given.initial))?;
            (Kind::Choice(words), Value::Choice(default))
        }
        other => return Err(format!("{name} is of kind {other}; allowed are 0 to 3")),
    };
    let param =
        Param { name, symbol: or(given.symbol), unit, kind, default, source: or(given.source), doc: or(given.doc) };
    if param.allows(default) {
        Ok(param)
    } else {
        Err(format!("{name} = {default} by default; allowed: {}", param.range()))
    }
}

unsafe fn words(list: *const *const std::ffi::c_char) -> &'static [&'static str] {
    let mut found = Vec::new();
    if !list.is_null() {
        for index in 0..1000 {
            let word = unsafe { *list.add(index) };
            if word.is_null() {
                break;
            }
            found.push(unsafe { CStr::from_ptr(word) }.to_str().unwrap_or(""));
        }
    }
    found.leak()
}

unsafe fn gauges(aqm: &'static abi::Aqm) -> Result<&'static [&'static str], String> {
    let count = aqm.gauge_count as usize;
    if count > abi::MOST_GAUGES {
        return Err(format!("declares {count} gauges; allowed are {}", abi::MOST_GAUGES));
    }
    if count > 0 && (aqm.gauges.is_null() || aqm.read_gauges.is_none()) {
        return Err("declares gauges without their names, or without read_gauges".into());
    }
    let names = (0..count).map(|index| unsafe { text(*aqm.gauges.add(index)) }.ok_or("has a gauge without a name"));
    Ok(names.collect::<Result<Vec<_>, _>>()?.leak())
}

/// The values in the order of the declaration, as the ABI hands them over.
///
/// # Errors
/// Where a length is given in bytes: the ABI knows packets.
pub fn numbers(params: &[Param], values: &Values) -> Result<Vec<f64>, ParamError> {
    let number = |param: &Param| match values.get(param) {
        Value::Real(x) => Ok(x),
        Value::Whole(x) => Ok(x as f64),
        Value::Flag(on) => Ok(f64::from(u8::from(on))),
        Value::Choice(word) => match param.kind {
            Kind::Choice(words) => Ok(words.iter().position(|&other| other == word).unwrap_or(0) as f64),
            _ => Ok(0.0),
        },
        given @ (Value::QueueBytes(_) | Value::Text(_) | Value::Auto) => {
            Err(ParamError::new(param.name, given, "a number of packets"))
        }
    };
    params.iter().map(number).collect()
}

/// A complaint of `check`, about the parameter that it names first.
fn misfit(params: &[Param], values: &Values, allowed: &str) -> ParamError {
    let said =
        |param: &&Param| allowed.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == param.name);
    match params.iter().filter(said).min_by_key(|param| allowed.find(param.name)) {
        Some(param) => ParamError::new(param.name, values.get(param), allowed),
        None => ParamError::new("aqm", "these parameters", allowed),
    }
}
