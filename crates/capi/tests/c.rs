//! Programs in C, built by the machine's own compiler with the header and the library: every stored decision is the same
//! through them, wrong calls are refused, and the page's example prints what the page says.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{fed, folder, libraries, root, succeeds, unpacked};
use earlydrop::packet::{CHeader, Tcp};
use earlydrop_aqm::gate::Counters;
use earlydrop_sim::vectors;

/// The program made from a source in C.
fn built(name: &str, source: &Path) -> PathBuf {
    let (root, program, there) = (root(), folder().join(name), libraries());
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
    cc.args(["crates/aqm/include", "crates/capi/include"].map(|folder| format!("-I{}", root.join(folder).display())));
    cc.arg(format!("-L{}", there.display())).arg(format!("-Wl,-rpath,{}", there.display()));
    succeeds(cc.args(["-learlydrop", "-lm"]));
    program
}

fn test_source(name: &str) -> PathBuf {
    root().join("crates/capi/tests").join(name)
}

fn stored(name: &str) -> String {
    unpacked(&format!("vectors/{name}.jsonl.gz"))
}

/// Cases, steps, and those that differ, as the program prints them.
fn replayed(command: &mut Command, text: &str) -> [usize; 3] {
    let ran = fed(command, text.as_bytes());
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let mut numbers = said.split_whitespace().filter_map(|word| word.parse().ok());
    let found = [(); 3].map(|()| numbers.next().unwrap_or_else(|| panic!("{said}")));
    assert_eq!(ran.status.success(), found[2] == 0, "{said}");
    found
}

#[test]
fn every_vector_is_decided_the_same_through_c() {
    let program = built("capi_vectors", &test_source("vectors.c"));
    for name in vectors::names() {
        let text = stored(name);
        let cases = text.lines().filter(|line| line.starts_with("{\"format\"")).count();
        assert_eq!(replayed(&mut Command::new(&program), &text), [cases, text.lines().count() - cases, 0], "{name}");
    }
}

/// The replay notices what differs: a time, a random number, a packet, a mark, a drop, a gauge, a header.
#[test]
fn a_slip_in_a_vector_is_noticed() {
    let program = built("capi_slips", &test_source("vectors.c"));
    for (name, from, to) in [
        ("red", "\"u\":[0.", "\"u\":[0.9,0."),
        ("red", "\"verdict\":\"mark\"", "\"verdict\":\"admit\""),
        ("red", "\"early\"]", "\"forced\"]"),
        ("red", "\"gauges\":[0.8334378356", "\"gauges\":[0.8334379356"),
        ("red", "\"max_p\":0.02", "\"max_p\":0.03"),
        ("red", "\"limit\":120", "\"limit\":119"),
        ("pie", "\"op\":\"timer\",\"t\":0.015", "\"op\":\"timer\",\"t\":0.0151"),
        ("cake", "\"dscp\":8", "\"dscp\":46"),
        ("cake", "\"ack\":", "\"ack\":1"),
        ("codel", "\"ecn\":3", "\"ecn\":2"),
        ("srtcm", "\"class\":2", "\"class\":1"),
        ("tbf", "{\"rate\":\"auto\"", "{\"rate\":500000.0"),
    ] {
        let text = stored(name);
        let slip = text.replace(from, to);
        assert_ne!(slip, text, "{name} has {from}");
        let [.., wrong] = replayed(&mut Command::new(&program), &slip);
        assert!(wrong > 0, "{name}: {to}");
    }
}

#[test]
fn wrong_calls_are_errors_and_structs_are_those_of_the_header() {
    let said = succeeds(&mut Command::new(built("capi_misuse", &test_source("misuse.c"))));
    let sizes: Vec<usize> = said.lines().map(|line| line.parse().unwrap()).collect();
    let mut ours = vec![size_of::<Tcp>()];
    ours.extend([offset_of!(Tcp, stamps), offset_of!(Tcp, blocks), offset_of!(Tcp, block_count)]);
    ours.extend([offset_of!(Tcp, has_stamps), offset_of!(Tcp, plain_ack), offset_of!(Tcp, acknowledges)]);
    ours.extend([offset_of!(Tcp, ecn_flags), offset_of!(Tcp, data), offset_of!(Tcp, other_options)]);
    ours.extend([size_of::<CHeader>(), offset_of!(CHeader, destination), offset_of!(CHeader, tcp)]);
    ours.extend([offset_of!(CHeader, offset), offset_of!(CHeader, dscp), size_of::<Counters>()]);
    ours.extend([offset_of!(Counters, arrived_bytes), offset_of!(Counters, departures)]);
    ours.extend([offset_of!(Counters, departed_bytes), offset_of!(Counters, early_drops)]);
    ours.extend([
        offset_of!(Counters, forced_drops),
        offset_of!(Counters, overflow_drops),
        offset_of!(Counters, marks),
    ]);
    assert_eq!(sizes, ours);
}

/// The header is one for C++ too, and the guide's example prints what the guide says, built as the guide says.
#[test]
fn the_guide_installs_builds_and_prints() {
    let guide = fs::read_to_string(root().join("docs/how-to/queue-from-c.md")).unwrap();
    let between = |from: &str, to: &str| {
        let after = guide.split_once(from).unwrap_or_else(|| panic!("the guide has {from}")).1;
        after.split_once(to).unwrap().0.to_string()
    };
    let (place, prefix) = (folder().join("capi_guide"), folder().join("capi_guide/prefix"));
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("example.c"), between("```c\n", "```")).unwrap();
    let install = root().join("crates/capi/install.sh");
    succeeds(Command::new("sh").arg(&install).arg(&prefix).arg(libraries()));
    let missing = Command::new("sh").arg(&install).arg(&prefix).arg("/nowhere").output().unwrap();
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no /nowhere/libearlydrop.a"), "{missing:?}");
    let version = format!("Version: {}\n", env!("CARGO_PKG_VERSION"));
    let pc = fs::read_to_string(prefix.join("lib/pkgconfig/earlydrop.pc")).unwrap();
    assert!(pc.contains(&version) && !pc.contains('@'), "{pc}");
    let command = between("    cc -o example", "\n");
    let expected = between("$ ./example\n", "\n\n");
    let run = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", line]).current_dir(&place);
        shell.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix.join("lib"));
        succeeds(&mut shell)
    };
    if Command::new("pkg-config").arg("--version").output().is_err() {
        assert!(std::env::var_os("EARLYDROP_REQUIRE_PEERS").is_none(), "no pkg-config on the path");
        return;
    }
    assert_eq!(run(&format!("cc -o example{command} && ./example")).trim(), expected.trim());
    // The static library, and C++.
    let flags = "$(pkg-config --cflags earlydrop) $(pkg-config --static --libs-only-l earlydrop)";
    run("printf '#include <earlydrop_queue.h>\\nint main(void) { ed_queue_free(ed_queue_new(\"red\", 1e6, 0, 1)); }\\n' > a.cc");
    let only = prefix.join("only");
    fs::create_dir_all(&only).unwrap();
    fs::copy(prefix.join("lib/libearlydrop.a"), only.join("libearlydrop.a")).unwrap();
    let link =
        format!("c++ -Wall -Wextra -Werror -o a a.cc -L{} {flags} && env -u LD_LIBRARY_PATH ./a", only.display());
    run(&link);
}

/// The replay under valgrind, which finds nothing that is read, written or lost, of the first `steps` steps of each case.
fn checked(program: &Path, name: &str, steps: usize) {
    let (mut lines, mut taken) = (String::new(), 0);
    for line in stored(name).split_inclusive('\n') {
        taken = if line.starts_with("{\"format\"") { 0 } else { taken + 1 };
        if taken <= steps {
            lines.push_str(line);
        }
    }
    let [_, replayed, wrong] = replayed(&mut valgrind(program), &lines);
    assert!(replayed > 0 && wrong == 0, "{name}: {wrong} of {replayed} steps");
}

fn valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--leak-check=full", "--show-leak-kinds=all", "--error-exitcode=9"]).arg(program);
    command
}

fn has_valgrind() -> bool {
    let has = Command::new("valgrind").arg("--version").output().is_ok();
    assert!(has || std::env::var_os("EARLYDROP_REQUIRE_PEERS").is_none(), "no valgrind on the path");
    has
}

#[test]
fn valgrind_finds_nothing() {
    if !has_valgrind() {
        return;
    }
    succeeds(&mut valgrind(&built("capi_misuse_checked", &test_source("misuse.c"))));
    let program = built("capi_vectors_checked", &test_source("vectors.c"));
    ["red", "cake", "fq_codel", "srtcm", "htb"].into_iter().for_each(|name| checked(&program, name, 15));
}

#[test]
#[ignore = "a minute: make test-more SUITE=c"]
fn valgrind_finds_nothing_in_any_discipline() {
    if has_valgrind() {
        let program = built("capi_all_checked", &test_source("vectors.c"));
        vectors::names().into_iter().for_each(|name| checked(&program, name, 250));
    }
}
