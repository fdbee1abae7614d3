//! What the tests of the adapters share: the six queues, and runs in processes of their own.

use std::env;
use std::process::Command;

/// The queues that each stack is tried behind.
pub const QUEUES: [&str; 6] = ["droptail", "red", "codel", "pie", "fq_codel", "dualpi2"];

/// Set in the processes that [`same_in_three_processes`] starts.
const CHILD: &str = "EARLYDROP_CHILD";
/// Begins the lines that are compared.
const MARK: &str = "run: ";

/// Asserts that `run` gives the same lines in this process and in two others.
///
/// The others run the test of this name in the same test executable, so `name` must be that of the test that calls this,
/// with its modules.
///
/// # Panics
/// If the lines differ, there are none, or another process fails.
pub fn same_in_three_processes(name: &str, run: impl FnOnce() -> Vec<String>) {
    let here = run();
    if env::var_os(CHILD).is_some() {
        for line in here {
            println!("{MARK}{line}");
        }
        return;
    }
    assert!(!here.is_empty(), "{name} compares nothing");
    for _ in 0..2 {
        let test = env::current_exe().expect("the path of the tests");
        let child = Command::new(test).args([name, "--exact", "--nocapture"]).env(CHILD, "1").output();
        let child = child.expect("another process");
        let text = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{name} in another process: {text}{}", String::from_utf8_lossy(&child.stderr));
        // The name of the test may stand before the first mark.
        let there: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(MARK)?.1)).collect();
        assert_eq!(here, there, "{name} differs between processes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_lines_pass() {
        same_in_three_processes("tests::the_same_lines_pass", || vec!["a".into(), "b".into()]);
    }

    #[test]
    fn what_depends_on_the_process_fails() {
        let name = "tests::what_depends_on_the_process_fails";
        let compared = std::panic::catch_unwind(|| {
            same_in_three_processes(name, || vec![std::process::id().to_string()]);
        });
        // The others say what they have, and compare nothing.
        assert_eq!(compared.is_err(), env::var_os(CHILD).is_none());
    }
}
