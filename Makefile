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

.PHONY: build dev demo test test-rust test-python test-link test-web test-more lint web bench fuzz mutants pages studies \
	claims coverage docs wheels audit sbom release peers clean .ready-python .ready-rust .lint-python .lint-rust

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

# The classes of the disciplines as a type checker reads them, from the catalogue that was built.
STUB = $(BIN)/python -m earlydrop.aqm > target/aqm.pyi && mv target/aqm.pyi python/earlydrop/aqm.pyi

# The extension goes into python/earlydrop, the command into .venv/bin.
$(VENV)/.built: $(VENV)/.requirements $(RUST_SOURCES) pyproject.toml
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	@rm -f $(VENV)/.built-pgo
	@$(STUB)
	@$(PRELOAD)
	@touch $@

# What the compiler is told about the runs of tools/pgo_training.py. A profile names functions as they are for a target.
MADE_PROFILE := target/pgo/earlydrop.profdata
PROFILE ?= $(MADE_PROFILE)
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
$(MADE_PROFILE): $(VENV)/.requirements $(RUST_SOURCES) tools/pgo.py tools/pgo_training.py
	$(BIN)/python tools/pgo.py

$(VENV)/.built-pgo: $(PROFILE) pyproject.toml
	RUSTFLAGS="-Cprofile-use=$(abspath $(PROFILE))" VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 \
		$(BIN)/maturin develop --release --quiet --target $(HOST) --target-dir target/pgo/use
	@$(STUB)
	@$(PRELOAD)
	@touch $(VENV)/.built $@

# The same for who changes Rust: incremental, little optimised, so that a line of a discipline is in Python within seconds.
# Results are the same, runs slower.
dev: $(VENV)/.requirements
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 CARGO_INCREMENTAL=1 $(BIN)/maturin develop --profile quick --quiet
	@rm -f $(VENV)/.built $(VENV)/.built-pgo
	@$(STUB)

demo: build
	$(BIN)/earlydrop reproduce tred --quick --out demo --store out/store
	@echo
	@echo "open $(abspath demo/report.html) in a browser"

# Two halves side by side, each of which leaves cores idle for part of its time: first what is fetched and compiled,
# then what runs. Real links keep real time, so nothing runs beside them but other links, which mostly wait. Targets with
# a dot are steps of these.
test: | $(BIN)/python
	+@$(MAKE) --no-print-directory --jobs=2 --output-sync=line .ready-python .ready-rust
	+@$(MAKE) --no-print-directory test-link
	+@$(MAKE) --no-print-directory --jobs=2 --output-sync=line test-rust .lint-python test-python

# One after the other: both install packages.
.ready-python: $(VENV)/.requirements-dev
	+@$(MAKE) --no-print-directory build

.ready-rust: .lint-rust
	$(CARGO) test --quiet --no-run

lint: .lint-rust .lint-python

.lint-rust:
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || \
		{ echo "lint: rustfmt or clippy is missing: rustup component add rustfmt clippy"; exit 1; }
	@# The disciplines are named in a macro, where cargo fmt does not find their files.
	$(CARGO) fmt --all --check
	@rustfmt --edition 2021 --check crates/aqm/src/*.rs
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	@# Advisories need the network; the workflow asks for them.
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --offline --log-level error check bans licenses sources; \
		else echo "lint: cargo-deny is missing, licences and sources are not checked: cargo install cargo-deny --locked"; fi

.lint-python: $(VENV)/.requirements-dev
	$(BIN)/ruff check python benches tools adapters
	$(BIN)/ruff format --check python benches tools adapters
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/python tools/import_circles.py

test-rust:
	+$(CARGO) test --quiet --no-fail-fast

test-link: build $(VENV)/.requirements-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile python/tests/test_link.py python/tests/test_link_pages.py

test-python: build $(VENV)/.requirements-dev
	@$(BIN)/python python/tests/page_runner.py
	@# A file's tests share costly fixtures: they stay in one process.
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(foreach name,link link_pages $(WEB_TESTS), \
		--ignore python/tests/test_$(name).py)

# What takes longer than `make test` may, by SUITE (tools/suites.sh): 600 drawn networks in every way to run one, and all
# cases of ns-2 and ns-3, unless another is named.
test-more: build $(VENV)/.requirements-dev
	sh tools/suites.sh $(or $(SUITE),networks)

# The playground (docs/web.md): its engine, target/web/earlydrop.wasm, which must not be larger than a page may load; and
# its page, target/web/index.html.
web: web/node_modules/.installed
	$(PYTHON) tools/wasm.py
	@cd web && npm run --silent check && npm run --silent build

web/node_modules/.installed: web/package.json web/package-lock.json
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
		2>/dev/null && command -v npm >/dev/null || { echo "the page needs node >= 20.19 and npm"; exit 1; }
	cd web && npm ci --silent
	@touch $@

# The page's models and stories, and the page in Chromium; the engine in node, where every stored result is the same byte
# for byte; and the tests in Python that need Chromium or that engine.
WEB_TESTS := page play wasm
test-web: web build $(VENV)/.requirements-dev
	node crates/web/tests/equality.mjs target/web/earlydrop.wasm
	node crates/web/tests/page.mjs target/web/earlydrop.wasm
	cd web && npm run --silent test
	$(BIN)/python -m pytest $(foreach name,$(WEB_TESTS),python/tests/test_$(name).py)

bench: build
	$(CARGO) build --release --quiet -p earlydrop-sim --bin earlydrop-engine
	$(BIN)/earlydrop bench

# Of the intervals, stars, verdicts and warnings (docs/statistics.md), an hour; or OF=code: how much of it the tests reach,
# onto docs/validation.md, by cargo-llvm-cov, and coverage.py in every process that the tests start. Half an hour.
coverage: COUNTS := $(abspath target/coverage)
coverage: build $(VENV)/.requirements-dev
ifeq ($(OF),code)
	@$(CARGO) llvm-cov --version >/dev/null 2>&1 || { echo "coverage: cargo-llvm-cov is missing:" \
		"cargo install cargo-llvm-cov --locked && rustup component add llvm-tools"; exit 1; }
	rm -rf $(COUNTS) && mkdir -p $(COUNTS)
	$(CARGO) llvm-cov --quiet --no-fail-fast --json --summary-only --output-path $(COUNTS)/rust.json
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage run -m pytest -n logical --maxprocesses 4 --dist loadfile
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage combine --quiet
	COVERAGE_FILE=$(COUNTS)/python $(BIN)/python -m coverage json --quiet --ignore-errors --include 'python/earlydrop/*' -o $(COUNTS)/python.json
	$(BIN)/python tools/code_coverage.py --rust $(COUNTS)/rust.json --python $(COUNTS)/python.json
else
	$(BIN)/python tools/interval_coverage.py docs
	$(BIN)/python tools/window_coverage.py docs
endif

# Every fuzz target for SECONDS, 60 by default, under libFuzzer with the sanitizer of addresses: needs cargo-fuzz and a
# nightly compiler. RANDOM=yes: with random bytes instead, which needs neither. The sanitizer keeps little freed memory:
# it counts against the limit.
SECONDS ?= 60
FUZZ_TARGETS ?= documents scenarios hostile networks events disciplines expressions headers paths
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

# The documentation as a site that needs no network, site/index.html; and that of the crates, target/doc.
docs: build $(VENV)/.requirements-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet

# What is made from declarations: pages of disciplines, stacks, keys and fields, decision vectors; of a new discipline
# also what is measured and stored of each, and its tests run.
pages: build $(VENV)/.requirements-dev
	$(BIN)/python tools/discipline_pages.py docs/aqms
	$(BIN)/python tools/stack_pages.py
	$(BIN)/python tools/key_pages.py
	$(BIN)/python tools/media_page.py
	$(BIN)/python tools/l4s_page.py
	$(BIN)/python tools/column_pages.py
	$(BIN)/earlydrop vectors --out vectors
	$(BIN)/python tools/new_disciplines.py

# The rules of disciplines and of the TCP of RFCs broken one at a time, into vectors/mutants.md, an hour. CHANGED=yes: only
# those of files that differ from the commit BASE, for three minutes, against that page.
mutants: $(VENV)/.requirements-dev
	$(BIN)/python tools/mutants.py $(if $(CHANGED),--changed "$(BASE)" --seconds 180)

# The papers' studies in full, some twenty minutes; their verdicts are stored beside them. Runs are kept in out/store.
studies: build
	$(BIN)/python tools/claims.py run
	$(BIN)/python tools/claims.py write

# docs/claims.md, the verdicts on the papers' pages, their data and the margins of docs/statistics.md, from what is stored.
claims: build
	$(BIN)/python tools/claims.py write

# The sdist and wheels for this system into dist/, the wheels from the sdist; on Linux for glibc 2.17 and later
# (manylinux2014). TARGETS="x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu" also for other processors, whose standard
# library `rustup target add` installs. Wheels for this system are built with the profile of `make build PGO=yes` where the
# compiler has llvm-tools, unless PGO=no, and have the playground where there is npm. Two builds of a commit give the same wheels, in whatever folder, with PGO=no or with one PROFILE=/path/to/it:
# the folder is not in them, nor the time (tools/same_wheels.py).
TARGETS ?= $(HOST)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
CARGO_HOME ?= $(HOME)/.cargo
NO_FOLDERS := --remap-path-prefix=$(abspath .)=earlydrop --remap-path-prefix=$(CARGO_HOME)=cargo
MANYLINUX := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)
PROFILER := $(wildcard $(dir $(shell rustc --print target-libdir))bin/llvm-profdata*)
PROFILED := $(if $(filter no,$(PGO)),,$(if $(PROFILER)$(filter-out file,$(origin PROFILE)),$(PROFILE)))
wheels: build $(VENV)/.requirements-release $(if $(shell command -v npm),web) $(PROFILED)
	@echo "wheels: $(if $(PROFILED),with the profile $(PROFILED),without a profile$(if $(filter no,$(PGO)),,: llvm-tools is missing))"
	@command -v npm >/dev/null || echo "wheels: without the playground: npm is missing"
	rm -rf dist target/sdist python/earlydrop/web && mkdir -p target/sdist
	@# The playground's page.
	if [ -f target/web/index.html ]; then mkdir python/earlydrop/web && cd target/web && \
		cp index.html page.js page.css page.svg offline.js licences.txt earlydrop.wasm ../../python/earlydrop/web; fi
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) $(BIN)/maturin sdist --out dist >target/sdist.log 2>&1 || { cat target/sdist.log; exit 1; }
	tar -xzf dist/earlydrop-*.tar.gz -C target/sdist --strip-components 1
	cd target/sdist && for target in $(TARGETS); do \
		PATH="$(abspath $(BIN)):$$PATH" CARGO_TARGET_DIR="$(abspath target)" \
			RUSTFLAGS="$(NO_FOLDERS) $(if $(PROFILED),-Cprofile-use=$(abspath $(PROFILED)))" \
			SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) \
			$(abspath $(BIN))/maturin build --release --quiet $(MANYLINUX) --target $$target --out "$(abspath dist)" || exit 1; \
	done
	@rm -rf python/earlydrop/web
	@ls -l dist

# Advisories about all that the package is made from (tools/audit.py): fails on one, and where a database does not answer,
# unless UNREACHABLE=ok. And what it is made from, in CycloneDX, beside the wheels (tools/sbom.py). Both have an
# environment of their own; they need cargo-deny and cargo-cyclonedx.
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
