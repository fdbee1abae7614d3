#!/bin/sh
# Suites of tests that take longer than `make test` may, by name: `make test-more SUITE=NAME`.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')

case ${1:-networks} in
networks) # 600 drawn networks in every way to run one, and all cases of ns-2 and ns-3. Minutes.
    EARLYDROP_NETWORKS=100 cargo test --quiet -p earlydrop-sim --test same_results
    .venv/bin/earlydrop validate
    ;;
adapters) # Other people's protocol stacks behind six queues: the same datagrams in three processes; and the lesson on them. Cargo
    # and pip fetch the stacks.
    cd adapters
    cargo fmt --all --check
    cargo clippy --quiet --release --all-targets -- -D warnings
    cargo test --quiet --release
    for queue in droptail red codel pie fq_codel dualpi2; do # Without optimisation too.
        debug=$(cargo run --quiet --bin transfer-quinn -- "$queue" 20000000 1)
        release=$(cargo run --quiet --release --bin transfer-quinn -- "$queue" 20000000 1)
        if [ "$debug" != "$release" ]; then
            printf 'adapters: a debug build says\n%s\na release build\n%s\n' "$debug" "$release" >&2
            exit 1
        fi
    done
    cd ..
    .venv/bin/python -m pip install --quiet -r adapters/aioquic/requirements.txt
    .venv/bin/python -m pytest -q adapters
    ;;
digests) # The stored results in a release build; `make test` has them with little optimisation.
    cargo test --quiet --release -p earlydrop-sim --test golden
    ;;
vectors) # Which step of the decision vectors decides over each option, searched anew; EARLYDROP_BLESS=1 writes the table.
    cargo test --quiet --release -p earlydrop-sim --lib vectors -- --include-ignored
    ;;
adding) # A planted discipline: one file, one line and `make pages`, in a copy of the checkout.
    .venv/bin/python tools/planted.py
    ;;
conform) # Faults planted in congestion controls, in a copy of the checkout: its case must notice each, and no other. Ten
    # minutes of a processor.
    .venv/bin/python tools/planted_controls.py
    ;;
break) # Ten planted defects, two of them in a copy of the checkout, and the known failures on new seeds. An hour.
    .venv/bin/python tools/planted_queues.py defects
    .venv/bin/earlydrop break --known
    ;;
c) # The C library: every discipline under valgrind, and the queue disc in ns-3. Minutes.
    cargo test --quiet -p earlydrop-capi -- --include-ignored
    ;;
checked) # All Rust tests with checks of overflow and debug assertions, at nearly the speed of a release.
    cargo test --profile checked
    ;;
sanitize) # The crates with unsafe code under the sanitizer of addresses: needs a nightly compiler. A loaded library and
    # its declaration stay to the end, so leaks are meant.
    ASAN_OPTIONS=detect_leaks=0 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize \
        cargo +nightly test --target "$host" --lib --tests -p earlydrop-link -p earlydrop-plugin
    ;;
miri) # Tests of the queue's memory under Miri, which is slow: needs a nightly compiler.
    MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri cargo +nightly miri test -p earlydrop-aqm --lib -- \
        ring:: slots:: gate:: parts::slot_heap parts::rank_index parts::flow_table
    ;;
aarch64) # The stored results on another processor, emulated: needs qemu-user and gcc-aarch64-linux-gnu.
    rustup target add aarch64-unknown-linux-gnu
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
        cargo test --target aarch64-unknown-linux-gnu -p earlydrop-sim --test golden
    ;;
systems) # Everything compiles for Windows, macOS and Linux on aarch64. PyO3 then asks no Python.
    set -- x86_64-pc-windows-msvc aarch64-apple-darwin aarch64-unknown-linux-gnu
    rustup target add "$@"
    for target; do
        PYO3_NO_PYTHON=1 cargo check --workspace --quiet --target "$target"
    done
    ;;
*)
    echo "test-more: SUITE is $1; allowed $(sed -n 's/^\([a-z0-9]*\)) #.*/\1/p' "$0" | tr '\n' ' ')" >&2
    exit 2
    ;;
esac
