# Everything lives in .venv and target of this checkout; nothing is installed outside.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
# Python compiles the modules that it loads when it first does; most of those installed are never loaded. It must keep
# what it has compiled: else every command that a test runs compiles all of it again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Nothing is edited and compiled again within a run of make.
export CARGO_INCREMENTAL ?= 0

RUST_SOURCES := $(shell find crates -name target -prune -o \( -name '*.rs' -o -name 'Cargo.toml' \) -print) \
	Cargo.toml $(wildcard Cargo.lock)

.PHONY: build demo test test-rust test-python test-more web test-web test-web-engine lint validate bench bench-decisions bench-against bench-instructions bench-link bench-sweep soak crosscheck crosscheck-requests crosscheck-unseen kernel-qdiscs kernel-transport home-lines coverage docs pages readings studies claims peers wheels check-systems release clean bit-flips faults torture digests web-engine web-page

# EXTRAS=tune, or several with commas between them: optional extras of the package. PGO=yes: with the profile below.
build: $(if $(filter yes,$(PGO)),$(VENV)/.built-pgo,$(VENV)/.built)
	$(if $(EXTRAS),$(PIP) "earlydrop[$(EXTRAS)]")

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "earlydrop needs Python >= 3.11: make PYTHON=/path/to/python3.11"; exit 1; }
	@command -v $(CARGO) >/dev/null || { echo "earlydrop needs Rust: cargo is not on the path"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.requirements: requirements.txt | $(BIN)/python
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.requirements-release: requirements-release.txt $(VENV)/.requirements
	$(PIP) -r requirements-release.txt
	@touch $@

$(VENV)/.requirements-dev: requirements-dev.txt $(VENV)/.requirements
	$(PIP) -r requirements-dev.txt
	@touch $@

# Python compiles what the commands load, so that the first of them does not wait for it.
PRELOAD = $(BIN)/python -c "import earlydrop.cli.commands as cli, earlydrop.study.report, earlydrop.sweeps.report, jinja2, \
	matplotlib.backends.backend_svg, polars, rich.progress, scipy.special; [cli.app[name] for name in cli.COMMANDS]"

# The extension goes into python/earlydrop, the command into .venv/bin.
$(VENV)/.built: $(VENV)/.requirements $(RUST_SOURCES) pyproject.toml
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	@rm -f $(VENV)/.built-pgo
	@$(PRELOAD)
	@touch $@

# What the compiler is told about the runs of tools/pgo_training.py. A profile names functions as they are for a target.
PROFILE := target/pgo/earlydrop.profdata
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
$(PROFILE): $(VENV)/.requirements $(RUST_SOURCES) tools/pgo.py tools/pgo_training.py
	$(BIN)/python tools/pgo.py

$(VENV)/.built-pgo: $(PROFILE) pyproject.toml
	RUSTFLAGS="-Cprofile-use=$(abspath $(PROFILE))" VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 \
		$(BIN)/maturin develop --release --quiet --target $(HOST) --target-dir target/pgo/use
	@$(PRELOAD)
	@touch $(VENV)/.built $@

demo: build
	$(BIN)/earlydrop reproduce tred --quick --out demo --store out/store
	@echo
	@echo "open $(abspath demo/report.html) in a browser"

# Two halves side by side, each of which leaves cores idle for part of its time: first what is fetched and compiled,
# then what runs. Real links keep real time, so nothing runs beside them.
test: | $(BIN)/python
	+@$(MAKE) --no-print-directory --jobs=2 --output-sync=line ready-python ready-rust
	+@$(MAKE) --no-print-directory test-link
	+@$(MAKE) --no-print-directory --jobs=2 --output-sync=line test-rust check-and-test-python

.PHONY: ready-python ready-rust check-and-test-python lint-python lint-rust test-link
# One after the other: both install packages.
ready-python: $(VENV)/.requirements-dev
	+@$(MAKE) --no-print-directory build

ready-rust: lint-rust
	$(CARGO) test --quiet --no-run

check-and-test-python: lint-python
	+@$(MAKE) --no-print-directory test-python

lint: lint-rust lint-python

lint-rust:
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
		{ echo "lint: rustfmt or clippy is missing: rustup component add rustfmt clippy"; exit 1; }
	@# The disciplines are named in a macro, where cargo fmt does not find their files.
	$(CARGO) fmt --all --check
	@rustfmt --edition 2021 --check crates/aqm/src/*.rs
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	@# Advisories need the network; the workflow asks for them.
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --offline --log-level error check bans licenses sources; \
		else echo "lint: cargo-deny is missing, licences and sources are not checked: cargo install cargo-deny --locked"; fi

lint-python: $(VENV)/.requirements-dev
	$(BIN)/ruff check python benches tools
	$(BIN)/ruff format --check python benches tools
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/python tools/import_circles.py

test-rust:
	+$(CARGO) test --quiet --no-fail-fast

test-link: build $(VENV)/.requirements-dev
	$(BIN)/python -m pytest python/tests/test_link.py python/tests/test_link_pages.py

test-python: build $(VENV)/.requirements-dev
	@$(BIN)/python python/tests/page_runner.py
	@# A file's tests share costly fixtures: they stay in one process.
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(foreach name,link link_pages $(WEB_TESTS), \
		--ignore python/tests/test_$(name).py)

# What takes longer than `make test` may: 600 drawn networks in every way to run one, and all cases of ns-2. Minutes.
test-more: build
	EARLYDROP_NETWORKS=100 $(CARGO) test --quiet -p earlydrop-sim --test same_results
	$(BIN)/earlydrop validate

# The playground: its engine (docs/web.md), target/web/earlydrop.wasm, which must not be larger than a page may load; and
# its page, target/web/index.html.
web: web-engine web-page

web-engine: web/node_modules/.installed
	$(PYTHON) tools/wasm.py

web-page: web-engine
	@cd web && npm run --silent check && npm run --silent build

web/node_modules/.installed: web/package.json web/package-lock.json
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
		2>/dev/null && command -v npm >/dev/null || { echo "the page needs node >= 20.19 and npm"; exit 1; }
	cd web && npm ci --silent
	@touch $@

# The page's models and stories, and the page in Chromium; the engine in node.
# The playground's own tests, and those in Python that need Chromium or the engine for pages.
WEB_TESTS := page play wasm
test-web: web build test-web-engine $(VENV)/.requirements-dev
	cd web && npm run --silent test
	$(BIN)/python -m pytest $(foreach name,$(WEB_TESTS),python/tests/test_$(name).py)

# The engine in node: every stored result byte for byte, and the program of its page.
test-web-engine: web-engine
	@command -v node >/dev/null || { echo "test-web needs node: validation/peers/install.sh node"; exit 1; }
	node crates/web/tests/equality.mjs target/web/earlydrop.wasm
	node crates/web/tests/page.mjs target/web/earlydrop.wasm

# What a run costs in WebAssembly, against the native engine (docs/web.md).
.PHONY: bench-web
bench-web: web-engine build
	$(BIN)/python benches/web.py A B

# The stored results once more: natively in a release build, and in WebAssembly. (`make test` has them with little
# optimisation.)
digests: test-web-engine
	$(CARGO) test --quiet --release -p earlydrop-sim --test golden

validate: build
	$(BIN)/earlydrop validate

bench: build
	$(CARGO) build --release --quiet -p earlydrop-sim --bin earlydrop-engine
	$(BIN)/earlydrop bench

# What a sweep costs beside the engine (docs/sweeps.md); RUNS=10000 for the full size.
bench-sweep: build $(VENV)/.requirements-dev
	$(BIN)/python benches/sweep.py --runs $(or $(RUNS),1000) --cluster

# What docs/statistics.md says of them: how often intervals cover the truth, how often a null effect gets a star or a verdict,
# and how often a window is warned of. Four minutes on two cores, and half an hour for the windows of the studies.
coverage: build
	$(BIN)/python tools/interval_coverage.py docs
	$(BIN)/python tools/window_coverage.py docs

# How much of the code the tests reach, onto CONTRIBUTING.md: cargo-llvm-cov, and coverage.py in every process that the
# tests start. Half an hour.
.PHONY: code-coverage
code-coverage: COUNTS := $(abspath target/coverage)
code-coverage: build $(VENV)/.requirements-dev
	@$(CARGO) llvm-cov --version >/dev/null 2>&1 || { echo "code-coverage: cargo-llvm-cov is missing:" \
		"cargo install cargo-llvm-cov --locked && rustup component add llvm-tools"; exit 1; }
	rm -rf $(COUNTS) && mkdir -p $(COUNTS)
	$(CARGO) llvm-cov --quiet --no-fail-fast --json --summary-only --output-path $(COUNTS)/rust.json
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage run -m pytest -n logical --maxprocesses 4 --dist loadfile
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage combine --quiet
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage json --quiet -o $(COUNTS)/python.json
	$(BIN)/python tools/code_coverage.py --rust $(COUNTS)/rust.json --python $(COUNTS)/python.json

# WRITE=docs/performance.md puts the tables there; with TIMES=no its times stay.
bench-decisions: build
	$(BIN)/python benches/decisions.py $(if $(WRITE),--write $(WRITE)) $(if $(filter no,$(TIMES)),--no-times)

# Speed beside ns-2 and htsim (HTSIM=FOLDER, a checkout of csg-htsim); WRITE=docs/performance.md renews the table.
bench-against: build
	cargo build --release -p earlydrop-sim --bin earlydrop-engine
	RUSTFLAGS="--cfg no_statistics" cargo build --release -p earlydrop-sim --bin earlydrop-engine --target-dir target/bare
	$(BIN)/python benches/against.py --runs $(or $(RUNS),9) $(if $(HTSIM),--htsim $(HTSIM)) $(if $(WRITE),--write $(WRITE))

# Instructions of the engine against benches/instructions.csv, by valgrind; WRITE=yes renews the table. Minutes.
bench-instructions:
	$(PYTHON) benches/instructions.py $(if $(WRITE),--write)

# Instructions per packet against the number of flows, for all traffic and TCPs, by valgrind. Half an hour;
# WRITE=docs/performance.md renews its table.
.PHONY: complexity
complexity:
	$(PYTHON) benches/complexity.py $(if $(WRITE),--write $(WRITE))

# Every fuzz target for SECONDS, 60 by default, under libFuzzer with the sanitizer of addresses: needs cargo-fuzz and a
# nightly compiler. RANDOM=yes: with random bytes instead, which needs neither. The sanitizer keeps little freed memory:
# it counts against the limit.
SECONDS ?= 60
FUZZ_TARGETS ?= documents scenarios hostile networks events disciplines headers paths
.PHONY: fuzz fuzz-python
fuzz:
ifdef RANDOM
	$(CARGO) build --profile checked --quiet -p earlydrop-fuzz
	@for target in $(FUZZ_TARGETS); do target/checked/earlydrop-fuzz $$target --seconds $(SECONDS) || exit 1; done
else
	@$(CARGO) fuzz --version >/dev/null 2>&1 || \
		{ echo "fuzz: cargo-fuzz is missing: cargo install cargo-fuzz --locked; or make fuzz RANDOM=yes"; exit 1; }
	@$(CARGO) +nightly --version >/dev/null 2>&1 || \
		{ echo "fuzz: a nightly compiler is missing: rustup toolchain install nightly; or make fuzz RANDOM=yes"; exit 1; }
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target || exit 1; \
		ASAN_OPTIONS=quarantine_size_mb=32 $(CARGO) +nightly fuzz run $$target -- \
			-max_total_time=$(SECONDS) -timeout=2 -rss_limit_mb=512 -print_final_stats=1 || exit 1; \
	done
endif

# The crates with unsafe code under the sanitizer of addresses, which nightly compilers have. Leaks are meant: a loaded
# library and its declaration stay to the end.
.PHONY: sanitize miri test-checked test-aarch64
sanitize:
	ASAN_OPTIONS=detect_leaks=0 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize $(CARGO) +nightly test --target $(HOST) \
		--lib --tests -p earlydrop-link -p earlydrop-plugin

# Some of the disciplines' tests under Miri, which is slow: those of the queue's memory and of what a queue does.
miri:
	MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri $(CARGO) +nightly miri test -p earlydrop-aqm --lib -- \
		ring:: slots:: gate:: parts::slot_heap parts::rank_index parts::flow_table

# Overflow checks and debug assertions, at the speed of a release nearly.
test-checked:
	$(CARGO) test --profile checked

# The digests of the golden runs on another processor, emulated: qemu-user and gcc-aarch64-linux-gnu.
test-aarch64:
	rustup target add aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		$(CARGO) test --target aarch64-unknown-linux-gnu -p earlydrop-sim --test golden

# Sweep, study and store files, damaged at random, for SECONDS.
fuzz-python: build
	$(BIN)/python tools/fuzz_files.py --seconds $(SECONDS)

# Real links: how late they are, what passes. Root, Linux, iperf3; in a network namespace of its own.
bench-link: build
	$(BIN)/python benches/link.py bench

# What docs/link.md promises, for half an hour.
soak: build
	$(BIN)/python benches/link.py soak

# TERM, INT, HUP, QUIT and KILL at ten moments of each command, to it and to its group (tools/signals.py). Half an hour.
.PHONY: signals
signals: EXTRAS := tune
signals: build
	$(BIN)/python tools/signals.py --moments $(or $(MOMENTS),10)

# Single flipped bits in a store: all must be found (docs/store.md). Some minutes.
bit-flips: build
	$(BIN)/python tools/bit_flips.py

# Every call that changes a file fails once (docs/store.md). Some minutes.
faults: build
	$(BIN)/python tools/faults.py

# Commands, writers of one store and real links are killed at random for an hour; SECONDS=60 for a minute. Links need
# root and Linux.
torture: SECONDS := $(if $(filter command% environment%,$(origin SECONDS)),$(SECONDS),3600)
torture: EXTRAS := tune
torture: build
	$(BIN)/python tools/torture.py --seconds $(SECONDS)

# Real kernels' TCP on real links against the simulator, 120 cells in real time (docs/crosscheck.md). Root, Linux, iperf3.
crosscheck: build
	$(BIN)/earlydrop crosscheck --grid "" --realtime --jobs $(or $(JOBS),8) \
		--write validation/reference/crosscheck/links.csv --page docs/lab-notes/crosscheck-cells.md

# Requests after a pause: the kernel's TCP on real links against the simulator (docs/crosscheck.md). Root, Linux.
crosscheck-requests: build
	$(BIN)/python -m earlydrop.links.crosscheck_requests --realtime --jobs $(or $(JOBS),5) \
		--write validation/reference/crosscheck/requests.csv --page docs/crosscheck.md

# Cells that no rule was found with, and short answers: 14 minutes, results stored as they come (docs/crosscheck.md). Root, Linux.
UNSEEN := --cells unseen --realtime --page docs/lab-notes/crosscheck-unseen.md
crosscheck-unseen: build
	$(BIN)/python -m earlydrop.links.crosscheck_requests $(UNSEEN) --jobs $(or $(JOBS),10) \
		--write validation/reference/crosscheck/unseen_requests.csv
	$(BIN)/earlydrop crosscheck --grid "" $(UNSEEN) --jobs $(or $(JOBS),10) \
		--write validation/reference/crosscheck/unseen.csv

# The kernel's own queue disciplines under QEMU against ours (docs/crosscheck.md). Says what is missing where QEMU is not.
kernel-qdiscs: build
	$(BIN)/python validation/peers/qemu/kernel_qdiscs.py --page docs/lab-notes/kernel-qdiscs.md \
		--write validation/reference/kernel_qdiscs/figures.csv --spread validation/reference/kernel_qdiscs/runs.csv

# The kernel's DCTCP under QEMU against ours (docs/crosscheck.md#dctcp): 33 runs of half a CPU minute, stored as they come.
kernel-transport: build
	$(BIN)/python validation/peers/qemu/kernel_transport.py --page docs/crosscheck.md \
		--write validation/reference/crosscheck/transport.csv

# The tc lines of `earlydrop advise` in a kernel with every qdisc, under QEMU (docs/home.md).
home-lines: build
	$(BIN)/python validation/peers/qemu/home_lines.py

docs: build
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet
	@echo "Rust: target/doc/earlydrop_aqm/index.html; text: docs/"

# What is made from declarations: pages of disciplines, stacks, keys and columns, the stub of the disciplines' classes,
# decision vectors.
pages: build
	$(BIN)/python tools/discipline_pages.py docs/aqms
	$(BIN)/python tools/stack_pages.py
	$(BIN)/python tools/key_pages.py
	$(BIN)/python tools/media_page.py
	$(BIN)/python tools/l4s_page.py
	$(BIN)/python tools/completions.py
	$(BIN)/python tools/column_pages.py
	$(BIN)/python -m earlydrop.aqm > python/earlydrop/aqm.pyi
	$(BIN)/earlydrop vectors --out vectors

# Which step of the decision vectors decides over each option, searched anew (EARLYDROP_BLESS=1 writes the table of
# vectors/options.csv); and the rules of disciplines and of the TCP of RFCs broken one at a time, into vectors/mutants.md,
# an hour; only those of files that differ from the commit BASE, for three minutes, against that page.
.PHONY: test-vectors mutants mutants-changed
test-vectors:
	$(CARGO) test --quiet --release -p earlydrop-sim --lib vectors -- --include-ignored

mutants: $(VENV)/.requirements-dev
	$(BIN)/python tools/mutants.py

mutants-changed: $(VENV)/.requirements-dev
	$(BIN)/python tools/mutants.py --changed "$(BASE)" --seconds 180

# The data and the figure of docs/readings.md: some 2000 runs, minutes.
readings: build
	$(BIN)/python tools/readings.py docs

# The papers' studies in full, some twenty minutes; their verdicts are stored beside them. Runs are kept in out/store.
studies: build
	$(BIN)/python tools/claims.py run
	$(BIN)/python tools/claims.py write

# docs/claims.md, the verdicts on the papers' pages, their data and the margins of docs/statistics.md, from what is stored.
claims: build
	$(BIN)/python tools/claims.py write

# The sdist and wheels for this system into dist/, the wheels from the sdist; on Linux for glibc 2.17 and later
# (manylinux2014). TARGETS="x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu" also for other processors, whose standard
# library `rustup target add` installs. Wheels for this system are built with the profile of `make build PGO=yes`, unless
# PGO=no. Two builds of a commit give the same wheels, in whatever folder, with PGO=no or with one PROFILE=/path/to/it:
# the folder is not in them, nor the time (tools/same_wheels.py).
TARGETS ?= $(HOST)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
CARGO_HOME ?= $(HOME)/.cargo
NO_FOLDERS := --remap-path-prefix=$(abspath .)=earlydrop --remap-path-prefix=$(CARGO_HOME)=cargo
MANYLINUX := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)
wheels: $(VENV)/.requirements-release $(if $(filter no,$(PGO)),,$(PROFILE))
	rm -rf dist target/sdist python/earlydrop/web && mkdir -p target/sdist
	@# The playground's page, where `make web` has built it.
	if [ -f target/web/index.html ]; then mkdir python/earlydrop/web && cd target/web && \
		cp index.html page.js page.css page.svg offline.js licences.txt earlydrop.wasm ../../python/earlydrop/web; fi
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(BIN)/maturin sdist --out dist >target/sdist.log 2>&1 || { cat target/sdist.log; exit 1; }
	tar -xzf dist/earlydrop-*.tar.gz -C target/sdist --strip-components 1
	cd target/sdist && for target in $(TARGETS); do \
		PATH="$(abspath $(BIN)):$$PATH" CARGO_TARGET_DIR="$(abspath target)" \
			RUSTFLAGS="$(NO_FOLDERS) $(if $(filter no,$(PGO)),,-Cprofile-use=$(abspath $(PROFILE)))" \
			SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) \
			$(abspath $(BIN))/maturin build --release --quiet $(MANYLINUX) --target $$target --out "$(abspath dist)" || exit 1; \
	done
	@rm -rf python/earlydrop/web
	@ls -l dist

# Whether two builds of this commit in two folders are the same, byte by byte. Twice as long as `make wheels`.
.PHONY: same-wheels
same-wheels:
	$(PYTHON) tools/same_wheels.py $(if $(filter command% environment%,$(origin PROFILE)),PROFILE=$(abspath $(PROFILE)),PGO=no)

# Everything compiles for these systems too, whose standard libraries rustup adds. PyO3 then asks no Python.
SYSTEMS := x86_64-pc-windows-msvc aarch64-apple-darwin aarch64-unknown-linux-gnu
check-systems:
	rustup target add $(SYSTEMS)
	PYO3_NO_PYTHON=1 $(CARGO) check --workspace --quiet $(SYSTEMS:%=--target %)

# Advisories about all that the package is made from (tools/audit.py): fails on one, and where a database does not answer,
# unless UNREACHABLE=ok. And what it is made from, in CycloneDX, beside the wheels (tools/sbom.py). Both have an
# environment of their own; they need cargo-deny and cargo-cyclonedx.
.PHONY: audit sbom
AUDIT := target/audit
$(AUDIT)/.installed: requirements-audit.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-audit.txt
	@touch $@

audit: $(AUDIT)/.installed $(VENV)/.requirements
	$(AUDIT)/bin/python tools/audit.py $(if $(filter ok,$(UNREACHABLE)),--unreachable-ok)

sbom: $(AUDIT)/.installed
	$(AUDIT)/bin/python tools/sbom.py

# What must hold before a version is published; says everything that does not. Publishes nothing.
release: wheels
	$(BIN)/python tools/release.py

peers:
	bash validation/peers/install.sh

clean:
	rm -rf $(VENV) target demo out dist

# The figures of docs/gallery.
.PHONY: gallery
gallery: build
	$(BIN)/python tools/gallery.py

# The documentation as a site that needs no network: site/index.html.
.PHONY: site
site: build $(VENV)/.requirements-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "open $(abspath site/index.html) in a browser"
