//! Libraries in C, built by the machine's own compiler: they decide as the catalogue does, and broken ones are refused.
#![allow(missing_docs)]

use std::mem::offset_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command;

use earlydrop_aqm::catalogue::{AqmSpec, Link};
use earlydrop_aqm::fault::Fault;
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::{abi, catalogue};
use earlydrop_plugin::library;
use earlydrop_sim::vectors::vectors_of;
use serde_json::Value as Json;

const LINK: Link = Link { rate_bps: 1e6, delay_s: 0.01 };

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

fn cc(arguments: &[&str]) {
    let include = format!("-I{}/../aqm/include", env!("CARGO_MANIFEST_DIR"));
    let made = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-std=c11"])
        .arg(include)
        .args(arguments)
        .output();
    let made = made.expect("there is a C compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The library made from this source in C.
fn built(name: &str, source: &str) -> PathBuf {
    let (file, library) = (folder().join(format!("{name}.c")), folder().join(format!("lib{name}.so")));
    std::fs::write(&file, source).unwrap();
    cc(&["-shared", "-fPIC", "-o", library.to_str().unwrap(), file.to_str().unwrap()]);
    library
}

fn red() -> &'static AqmSpec {
    library::load(&built("c_red", include_str!("red.c"))).unwrap()
}

/// A discipline without a parameter, whose members and functions are `more`.
fn small(name: &str, functions: &str, members: &str) -> PathBuf {
    let source = format!(
        "#include \"earlydrop_aqm.h\"\n{functions}\nstatic const ed_aqm d = {{.abi = EARLYDROP_AQM_ABI, .size = \
         sizeof(ed_aqm), .name = \"{name}\", {members}}};\nconst ed_aqm *earlydrop_aqm(void) {{ return &d; }}\n"
    );
    built(name, &source)
}

const PASS: &str = "static ed_verdict pass(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) \
                    { (void)s, (void)p, (void)q, (void)c; return ED_PASS; }";

fn cases(vectors: &str) -> Vec<(String, Vec<Json>)> {
    let mut found: Vec<(String, Vec<Json>)> = Vec::new();
    for line in vectors.lines() {
        let step: Json = serde_json::from_str(line).unwrap();
        match step["case"].as_str() {
            Some(case) => found.push((case.to_string(), Vec::new())),
            None => found.last_mut().unwrap().1.push(step),
        }
    }
    found
}

#[test]
fn structs_are_those_of_the_header() {
    let source = r#"
#include <stddef.h>
#include <stdio.h>
#include "earlydrop_aqm.h"
#define S(t) printf("%zu\n", sizeof(t))
#define O(t, f) printf("%zu\n", offsetof(t, f))
int main(void) {
    S(ed_packet); O(ed_packet, enqueued); O(ed_packet, size); O(ed_packet, rtt_hint_ms); O(ed_packet, ecn);
    O(ed_packet, priority); O(ed_packet, ttl); O(ed_packet, initial_ttl); O(ed_packet, final_ttl);
    S(ed_queue); O(ed_queue, bytes); O(ed_queue, limit); O(ed_queue, idle_since); O(ed_queue, limit_in_bytes);
    S(ed_context); O(ed_context, link_rate); O(ed_context, link_delay); O(ed_context, can_mark);
    O(ed_context, has_room); O(ed_context, host); O(ed_context, random); O(ed_context, exp); O(ed_context, log);
    O(ed_context, log1p); O(ed_context, pow); O(ed_context, peek); O(ed_context, victim);
    O(ed_context, fault);
    S(ed_param); O(ed_param, symbol); O(ed_param, doc); O(ed_param, source); O(ed_param, words); O(ed_param, low);
    O(ed_param, high); O(ed_param, initial); O(ed_param, kind); O(ed_param, unit); O(ed_param, open);
    S(ed_aqm); O(ed_aqm, size); O(ed_aqm, name); O(ed_aqm, title); O(ed_aqm, summary); O(ed_aqm, source);
    O(ed_aqm, doc); O(ed_aqm, params); O(ed_aqm, gauges); O(ed_aqm, param_count); O(ed_aqm, gauge_count);
    O(ed_aqm, state_size); O(ed_aqm, needs); O(ed_aqm, check); O(ed_aqm, init); O(ed_aqm, on_enqueue);
    O(ed_aqm, on_dequeue); O(ed_aqm, next_timer); O(ed_aqm, on_timer); O(ed_aqm, average); O(ed_aqm, read_gauges);
    O(ed_aqm, curve);
    return 0;
}"#;
    let (file, program) = (folder().join("layout.c"), folder().join("layout"));
    std::fs::write(&file, source).unwrap();
    cc(&["-o", program.to_str().unwrap(), file.to_str().unwrap()]);
    let said = Command::new(program).output().unwrap().stdout;
    let theirs: Vec<usize> = String::from_utf8(said).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    macro_rules! layout {
        ($($of:ident: $($field:ident)*;)*) => {
            vec![$(size_of::<abi::$of>(), $(offset_of!(abi::$of, $field),)*)*]
        };
    }
    let ours = layout! {
        Packet: enqueued size rtt_hint_ms ecn priority ttl initial_ttl final_ttl;
        Queue: bytes limit idle_since limit_in_bytes;
        Context: link_rate link_delay can_mark has_room host random exp log log1p pow peek victim fault;
        Param: symbol doc source words low high initial kind unit open;
        Aqm: size name title summary source doc params gauges param_count gauge_count state_size needs check init
            on_enqueue on_dequeue next_timer on_timer average read_gauges curve;
    };
    assert_eq!(ours, theirs);
}

#[test]
fn red_in_c_decides_as_red_in_every_step() {
    let ours = cases(&vectors_of(catalogue::find("red").unwrap()));
    let theirs = cases(&vectors_of(red()));
    assert_eq!(theirs.len(), 4);
    for (case, steps) in theirs {
        let (_, expected) = ours.iter().find(|(name, _)| *name == case).unwrap();
        assert!(steps.len() > 300, "{case}");
        for (at, (step, expected)) in steps.iter().zip(expected).enumerate() {
            assert_eq!(step, expected, "{case}, step {at}");
        }
        assert_eq!(steps.len(), expected.len());
    }
}

#[test]
fn declarations_are_read_and_checked() {
    let red = red();
    assert_eq!((red.name, red.title, red.params[0].len()), ("c_red", "RED in C", 5));
    let values = Values::of(&[("max_th", Value::Real(4.0))]);
    let error = (red.check)(&values, &LINK).unwrap_err();
    assert_eq!((error.name, error.given.as_str()), ("max_th", "4"));
    assert_eq!(error.allowed, "max_th must be more than min_th");
    assert!(((red.curve.unwrap())(&Values::new(), &LINK, 10.0) - 0.01).abs() < 1e-12);
}

#[test]
fn broken_libraries_are_refused_with_the_reason() {
    let refused = |path: &Path| library::load(path).err().expect("it is broken");
    let text = folder().join("libtext.so");
    std::fs::write(&text, "no library\n").unwrap();
    assert!(refused(&text).contains("cannot be loaded"));
    assert!(refused(Path::new("/nowhere/libnone.so")).contains("/nowhere/libnone.so: cannot be loaded"));
    assert!(refused(&built("nothing", "int other(void) { return 1; }\n")).contains("has no function earlydrop_aqm()"));
    let null = "#include \"earlydrop_aqm.h\"\nconst ed_aqm *earlydrop_aqm(void) { return 0; }\n";
    assert!(refused(&built("null", null)).contains("returned NULL"));
    for (name, members, reason) in [
        ("abi_of_99", ".on_enqueue = pass, .abi = 99", "built for version 99 of earlydrop_aqm.h; this program speaks 1"),
        ("short", ".on_enqueue = pass, .size = 8", "describes itself in 8 bytes"),
        ("Upper", ".on_enqueue = pass", "has no name of a-z"),
        ("red", ".on_enqueue = pass", "there is a discipline of that name"),
        ("idle", ".title = \"x\"", "has no on_enqueue"),
        ("half", ".on_enqueue = pass, .on_timer = timer", "both are needed, or none"),
        ("greedy", ".on_enqueue = pass, .state_size = 1ull << 40", "bytes of state; allowed are"),
        ("taken", ".on_enqueue = pass, .params = (const ed_param[]){{.name = \"limit\"}}, .param_count = 1", "is taken"),
        ("needy", ".on_enqueue = pass, .needs = 6", "needy: has needs = 0x6; allowed are 0 and ED_NEEDS_CONTENTS (1)"),
        ("wanting", ".on_enqueue = pass, .needs = 0xffffffff", "has needs = 0xffffffff; allowed are"),
        ("open", ".on_enqueue = pass, .params = (const ed_param[]){{.name = \"x\", .high = 1, .open = 4}}, .param_count = 1", "x has open = 4; allowed are 0 to 3"),
        ("outside", ".on_enqueue = pass, .params = (const ed_param[]){{.name = \"x\", .high = 1, .initial = 2}}, .param_count = 1", "x = 2 by default; allowed: [0, 1]"),
    ] {
        let timer = "void timer(void *s, const ed_queue *q, const ed_context *c) { (void)s, (void)q, (void)c; }";
        let functions = format!("{PASS}\n{timer}\nvoid *keep = (void *)pass;");
        // A member may be given twice: the last counts.
        let source = small_with_overrides(name, &functions, members);
        assert!(refused(&source).contains(reason), "{name}: {}", refused(&source));
    }
}

// A cut-off file is SIGBUS in the loader, which ends the process: each length, and ends that lie beyond the file.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn libraries_that_are_cut_off_or_no_files_are_refused() {
    let whole = std::fs::read(built("whole", "int other(void) { return 1; }\n")).unwrap();
    let made = folder().join("libcut.so");
    let refused = |content: &[u8]| {
        std::fs::write(&made, content).unwrap();
        library::load(&made).err().expect("it is broken")
    };
    let word = |at: usize| u64::from_ne_bytes(whole[at..at + 8].try_into().unwrap());
    let count = usize::from(u16::from_ne_bytes([whole[56], whole[57]]));
    let headers: Vec<usize> = (0..count).map(|number| word(32) as usize + 56 * number).collect();
    let end = headers.iter().map(|&at| (word(at + 8) + word(at + 32)) as usize).max().unwrap();
    for length in (0..end).step_by(97).chain([63, 64, end - 1]) {
        let said = refused(&whole[..length]);
        assert!(said.contains("libcut.so: cannot be loaded: is cut off: "), "{length}: {said}");
    }
    // What follows the segments is not loaded.
    assert!(refused(&whole[..end]).contains("has no function earlydrop_aqm()"));
    for (at, value, reason) in [
        (32, u64::MAX - 5, "program header 0 ends at"),
        (headers[0] + 8, u64::MAX, "segment 0 ends at 18446744073709551615 B"),
        (headers[0] + 32, 1 << 40, "segment 0 ends at"),
    ] {
        let mut damaged = whole.clone();
        damaged[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        assert!(refused(&damaged).contains(reason), "{}", refused(&damaged));
    }
    let mut other = whole.clone();
    other[4] = 1;
    assert!(refused(&other).contains("is an ELF file for another word length or byte order"));
    for path in ["/dev/zero", env!("CARGO_TARGET_TMPDIR")] {
        let said = library::load(Path::new(path)).err().expect("it is no file");
        assert!(said.contains("cannot be loaded: is no regular file"), "{said}");
    }
}

/// As [`small`], where `members` may set again what it sets.
fn small_with_overrides(name: &str, functions: &str, members: &str) -> PathBuf {
    let pragma = "#pragma GCC diagnostic ignored \"-Woverride-init\"\n#pragma GCC diagnostic ignored \"-Wpedantic\"";
    small(name, &format!("{pragma}\n{functions}"), members)
}

/// The fault that the vectors of this discipline end with.
fn fault(library: &Path) -> String {
    let spec = library::load(library).unwrap();
    let payload = catch_unwind(AssertUnwindSafe(|| vectors_of(spec))).expect_err("it is broken");
    Fault::of(payload.as_ref()).expect("a fault").0.clone()
}

#[test]
fn answers_that_mean_nothing_end_the_run_with_a_fault() {
    let answer = |name: &str, code: &str| {
        let function = format!(
            "static ed_verdict on(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) \
             {{ (void)s, (void)p, (void)q, (void)c; return {code}; }}"
        );
        fault(&small(name, &function, ".on_enqueue = on"))
    };
    assert_eq!(answer("seven", "7"), "seven: on_enqueue returned 7, which is no verdict here");
    let gives_up = answer("tired", "(c->fault(c->host, \"the table is full\"), ED_PASS)");
    assert_eq!(gives_up, "tired: the table is full");
    assert_eq!(answer("blind", "ED_VICTIMS"), "blind: on_enqueue returned 4, which is no verdict here");
    let drops = "static ed_verdict out(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) \
                 { (void)s, (void)p, (void)q, (void)c; return ED_DROP; }";
    let hasty = small("hasty", &format!("{PASS}\n{drops}"), ".on_enqueue = pass, .on_dequeue = out");
    assert_eq!(fault(&hasty), "hasty: on_dequeue returned 3 where no packet was");
    let timer = |name: &str, at: &str| {
        let functions = format!(
            "{PASS}\nstatic void timer(void *s, const ed_queue *q, const ed_context *c) {{ (void)s, (void)q, (void)c; }}\n\
             static double next(const void *s) {{ (void)s; return {at}; }}"
        );
        fault(&small(name, &functions, ".on_enqueue = pass, .next_timer = next, .on_timer = timer"))
    };
    assert_eq!(timer("stuck", "0.5"), "stuck: next_timer asks for 0.5 s at 0.5 s; allowed are later times");
    assert_eq!(timer("nan", "0.0/0.0"), "nan: next_timer returned no number");
}

#[test]
fn packets_that_wait_can_be_looked_at_and_named_victims() {
    // Drops the oldest packet for each arrival of flow 1.
    let function = "static ed_verdict on(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) {
        (void)s; ed_packet head; (void)q;
        if (p->flow != 1 || !c->peek(c->host, 0, &head) || !c->victim(c->host, 0)) return ED_PASS;
        return head.enqueued <= c->now ? ED_VICTIMS | ED_FORCED : 9; }";
    let spec = library::load(&small("front", function, ".on_enqueue = on, .needs = ED_NEEDS_CONTENTS")).unwrap();
    let text = vectors_of(spec);
    let (_, steps) = &cases(&text)[0];
    let hit = steps.iter().filter(|step| {
        step["op"] == "enqueue"
            && step["verdict"] == "admit"
            && step["dropped"].as_array().is_some_and(|d| d.len() == 1)
    });
    assert!(hit.count() > 100);
}
