# `make` alone says what there is. Needs a Rust toolchain and Python 3.11 or later; everything else
# goes into .venv and target/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python papers -type f -not -path '*/__pycache__/*' -not -name '*.md') pyproject.toml

# An MPI, its mpirun, and what its bindings are made with.
MPI_PACKAGES := libopenmpi-dev openmpi-bin clang libclang-dev

export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# What is tested or measured here is simulated, not taken from a cache; the demo takes it like anybody.
export UNPAUSE_CACHE := off
demo: export UNPAUSE_CACHE :=
# Cargo and the build of the extension share one configuration, so nothing is compiled twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help demo try test test-rust test-python lint install install-mpi mpi-packages format docs clean
.PHONY: test-all install-all test-mpi bench bench-threads bench-mechanisms bench-peers bench-linear bench-cost bench-gate bench-gate-update
.PHONY: vopr pipeline vopr-kill vopr-mutations soak loom tsan asan mutants validate-ns3 validate-ns3-update
.PHONY: audit notices fuzz fuzz-ci fuzz-build site dataplane testbed-dpdk wheel wheel-pgo wheel-test
.DEFAULT_GOAL := help

help:
	@echo "make demo      run the five-scheme comparison, judge the paper's claims, write a report"
	@echo "make try SCENARIO=FILE  build what a change of a mechanism needs, and run a scenario: seconds"
	@echo "make test      run all tests (Rust and Python); test-rust and test-python one half"
	@echo "make test-all  these and everything that takes long or needs more (make install-all): hours"
	@echo "make test-mpi  what mpirun starts (after make install-mpi)"
	@echo "make lint      check formatting, lints, rustdoc, builds without default features"
	@echo "make audit     known faults, licences and sources of crates and packages (needs cargo-deny and a network)"
	@echo "make notices   write THIRD-PARTY-NOTICES.md"
	@echo "make docs      write what documents say of tables and parameters"
	@echo "make site      the documents as a site with search, in target/site/html"
	@echo "make wheel     a wheel in target/wheels; wheel-test tries it in an empty environment"
	@echo "make wheel-pgo the wheel with a profile-guided build (docs/performance.md)"
	@echo "make format    reformat Rust and Python"
	@echo "make install   build the package in release mode into $(VENV)"
	@echo "make install-all        what test-all needs, from Debian's packages and rustup"
	@echo "make install-mpi        the same with MPI (from Debian's packages): one run on many machines"
	@echo "make bench     measure the engine; CASES=\"fig1-pcn clos-pcn\" REPEAT=3 choose"
	@echo "make bench-mechanisms   nanoseconds per decision of each mechanism"
	@echo "make bench-peers        the same fabric and flows in ns-3 (installed from Debian's packages)"
	@echo "make validate-ns3       results beside ns-3's, case by case; validate-ns3-update renews the record"
	@echo "make bench-linear       run time against packets, drawn into docs/img/linear.png"
	@echo "make bench-cost         what validate --cost says against what runs take"
	@echo "make bench-gate         instruction counts against the record; bench-gate-update renews it"
	@echo "make vopr      random scenarios through everything; SEED=1 COUNT=300 choose (docs/vopr.md)"
	@echo "make pipeline  random and planted scenarios drawn, written, explained, and what is said judged"
	@echo "make vopr-kill kill runs and sweeps at random moments, and look at what they leave"
	@echo "make vopr-mutations  break the engine on purpose: which check notices, and how soon"
	@echo "make soak      both on all cores, vopr until Ctrl-C, or for SECONDS=3600"
	@echo "make loom      what threads share, in every interleaving"
	@echo "make tsan      runs on several threads under ThreadSanitizer"
	@echo "make asan      the C libraries and driven runs under AddressSanitizer"
	@echo "make mutants   share of mutants of the mechanisms that tests catch; SHARD=0/8"
	@echo "make dataplane real packets through programs of a switch pipeline (DPDK, from Debian's packages)"
	@echo "make testbed-dpdk       a switch and hosts over DPDK, with frames, beside the simulator (needs root)"
	@echo "make fuzz      fuzz everything that reads files; MINUTES=10 for each of TARGETS=\"cdf scenario …\""
	@echo "make fuzz-ci   the same, a minute for all of them together"
	@echo "make clean     remove $(VENV), target and results"

demo: $(VENV)/.installed
	$(BIN)/unpause run papers/pcn/scenarios/f2.toml

# Little is compiled again after a change, and runs take three times as long as in release mode.
SCENARIO ?= scenarios/incast.toml
try:
	cargo build --quiet --profile try --package unpause-cli
	target/try/unpause run --no-report $(SCENARIO)

install: $(VENV)/.installed

install-mpi: $(VENV)/.installed-mpi

test: test-rust test-python

# A test that never ends fails instead. Many times what they take on two cores, so that load decides nothing.
TEST_LIMIT ?= 4000
LIMITED := $(if $(shell command -v timeout),timeout --kill-after=30 $(TEST_LIMIT))

# Needs no Python, and builds nothing in release mode.
test-rust:
	$(LIMITED) cargo test --workspace --exclude unpause-python

# A file of tests is one process's, so that they share what they have simulated.
test-python: $(VENV)/.installed
	$(LIMITED) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

# Everything that there is, the slowest last; nothing of it is skipped after install-all.
test-all: install-all
	$(MAKE) lint test
	$(MAKE) test-mpi
	$(MAKE) wheel-test
	$(MAKE) bench-gate
	$(MAKE) dataplane
	$(MAKE) testbed-dpdk
	$(MAKE) validate-ns3
	$(MAKE) loom
	$(MAKE) tsan
	$(MAKE) asan
	$(MAKE) fuzz-ci
	$(MAKE) vopr
	$(MAKE) vopr-kill
	$(MAKE) vopr-mutations

# What these need and `make test` can do without: a browser, Wireshark, MPI, DPDK, ns-3, valgrind, a Cortex-M4
# in QEMU, the source of Rust's library for ThreadSanitizer.
ALL_PACKAGES := gcc make pkg-config chromium tshark valgrind libns3-dev libdpdk-dev libpcap-dev iproute2 $(MPI_PACKAGES) \
  gcc-arm-none-eabi qemu-system-arm
install-all:
	@command -v apt-get > /dev/null || { echo "error: no apt-get here to install $(ALL_PACKAGES) with"; exit 1; }
	@dpkg --status $(ALL_PACKAGES) > /dev/null 2>&1 || { \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get -qq update && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $(ALL_PACKAGES) > /dev/null; }
	rustup component add rust-src
	rustup target add thumbv7em-none-eabi riscv32imac-unknown-none-elf

# What `mpirun` starts, with the lints of what is compiled for it alone.
MPI_BUILD := --workspace --exclude unpause-python --features unpause-cli/mpi
test-mpi: $(VENV)/.installed-mpi
	cargo clippy $(MPI_BUILD) --all-targets -- -D warnings
	cargo test $(MPI_BUILD) --lib ranks
	$(BIN)/python -m pytest tests/python/test_mpi.py

lint: $(VENV)/.tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude unpause-python --no-deps --quiet
	cargo check --quiet --package unpause-scenario --no-default-features
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# Crates and packages of others: AUDIT=--strict fails where something cannot be checked.
AUDIT ?=
audit: $(VENV)/.tools
	@-$(BIN)/python -m pip install --quiet "pip-audit>=2.9"
	$(BIN)/python tests/audit.py $(AUDIT)

# The licences of what is compiled into the wheel and the programs.
notices:
	$(PYTHON) tests/notices.py

format: $(VENV)/.tools
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# What the engine does in a second (docs/performance.md).
CASES ?=
REPEAT ?= 3
FLOWS ?= 5000
ROUNDS ?= 5
BENCH := cargo run --release --quiet --package unpause-bench --

bench:
	$(BENCH) run $(CASES) --repeat $(REPEAT) --json benches/latest.json

# Wall time on 1, 2, 4, ... threads in turn; results must be the same.
bench-threads:
	$(BENCH) threads $(CASES) --rounds $(ROUNDS)

bench-mechanisms:
	$(BENCH) mechanisms

bench-peers:
	cargo build --release --quiet --package unpause-bench
	$(PYTHON) -m benches.peers --flows $(FLOWS) --json benches/peers.json

# Whether the results are right (docs/validation.md).
validate-ns3: $(VENV)/.installed
	$(BIN)/python -m validation

validate-ns3-update: $(VENV)/.installed
	$(BIN)/python -m validation --update

bench-linear: $(VENV)/.tools
	cargo build --release --quiet --package unpause-bench
	$(BIN)/python benches/linear.py

bench-cost:
	cargo build --release --quiet --package unpause-cli
	$(PYTHON) benches/cost.py

bench-gate:
	$(PYTHON) benches/gate.py

# Whether programs of a switch pipeline mark what the state machines mark (docs/dataplane.md).
dataplane: $(VENV)/.installed
	$(MAKE) --no-print-directory -C dataplane

# A switch and hosts over DPDK in network namespaces, compared with the simulator (docs/testbed-dpdk.md).
ARGUMENTS ?=
testbed-dpdk: $(VENV)/.installed
	$(MAKE) --no-print-directory -C testbed/dpdk ARGUMENTS="$(ARGUMENTS)"

# What documents and the Python package say of tables and parameters, made of the Rust code.
docs:
	UNPAUSE_DOCS=write cargo test --quiet --package unpause-scenario --test docs

# The documents as a site, with search, that needs no network: target/site/html/index.html. Figures of papers
# that take seconds are drawn (docs/prepare_site.py), and kept in target/site/papers.
SITE := target/site
site: $(VENV)/.installed
	@rm -rf $(SITE)/src $(SITE)/html
	@$(BIN)/python docs/prepare_site.py $(SITE)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site: $(SITE)/html/index.html"

# A wheel for every Python from 3.11 on, and whether it runs where no compiler is.
WHEELS := target/wheels
wheel: $(VENV)/.tools
	@rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --out $(WHEELS)
	@ls $(WHEELS)/*.whl

# The same with a profile of the engine at work.
wheel-pgo: $(VENV)/.tools
	@rustup component add llvm-tools
	@rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --pgo --interpreter $(BIN)/python --out $(WHEELS)
	@ls $(WHEELS)/*.whl

wheel-test: wheel
	$(PYTHON) tests/wheel.py $(WHEELS)/*.whl

bench-gate-update:
	$(PYTHON) benches/gate.py --update

# Random scenarios (docs/vopr.md). The first seed follows the commit, so that they are others each time.
SEED ?= $(shell printf '%d' 0x$$(git rev-parse HEAD 2>/dev/null | cut -c1-8 | grep . || echo 1))
COUNT ?= 300
SECONDS ?=
SOAK_COUNT ?= 5000
VOPR := cargo run --release --quiet --package unpause-vopr --

vopr:
	$(VOPR) run --seed $(SEED) --count $(COUNT)

# The same and scenarios with a planted cause, drawn, written and explained, and what is said judged.
PIPELINE = $(BIN)/python -m tests.pipeline
pipeline: $(VENV)/.installed
	$(PIPELINE) random --seed $(SEED) --count $(COUNT)
	$(PIPELINE) planted --seed $(SEED) --count $(COUNT)

vopr-kill:
	cargo build --release --quiet --package unpause-cli
	$(VOPR) kill --python $(BIN)/unpause

vopr-mutations:
	$(VOPR) mutations

soak:
	$(MAKE) --no-print-directory pipeline COUNT=$(SOAK_COUNT)
	$(VOPR) run --seed $(SEED) $(if $(SECONDS),--seconds $(SECONDS))

# Barrier and exchange of the engine under loom.
loom:
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p unpause-sim --lib loom_

# Runs of the engine on several threads under ThreadSanitizer, with a standard library built for it: needs its
# source (rustup component add rust-src).
tsan:
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=thread CARGO_TARGET_DIR=target/tsan PROPTEST_CASES=4 \
	  cargo test -Zbuild-std --target $$(rustc -vV | sed -n 's/^host: //p') \
	  --package unpause-sim --test simulator -- threads

# The C libraries, and runs that programs drive, under AddressSanitizer.
ASAN := RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan \
  cargo test --target $$(rustc -vV | sed -n 's/^host: //p')
asan:
	$(ASAN) --package unpause-c --lib --test mistakes
	$(ASAN) --package unpause-network
	$(ASAN) --package unpause-sim --test simulator -- session
	$(ASAN) --package unpause-scenario --test runs -- session

# Needs cargo-mutants; .cargo/mutants.toml says what is tested. A shard is part of all mutants.
SHARD ?= 0/1
mutants:
	PROPTEST_CASES=32 cargo mutants -p unpause-protocols --shard $(SHARD) --sharding round-robin \
	  --baseline skip --output target

# Inputs that nobody thought of (docs/fuzzing.md). fuzz-ci takes the dependencies that test-rust has compiled
# and compiles this project's crates alone; fuzz compiles both for speed.
TARGETS ?= quantity cdf delays hpcc_topology hpcc_flows goal simai chakra htsim htsim_topology config_db scenario results directories frame capture testbed
MINUTES ?= 10
FUZZ := target/fuzz
FUZZ_SECONDS = $$(( $(MINUTES) * 60 ))
# Tables are longer than texts.
FUZZ_LENGTH = $$(test $$target = results && echo 120000 || echo 20000)
FUZZ_OPTIONS = -max_len=$(FUZZ_LENGTH) -timeout=240 -rss_limit_mb=3000
FUZZ_BUILD = --release
FUZZ_BIN = target/release/examples

fuzz: fuzz-build
	@for target in $(TARGETS); do \
	  echo "$$target: $(FUZZ_SECONDS) seconds"; \
	  mkdir -p $(FUZZ)/found/$$target; \
	  TARGET=$$target $(FUZZ_BIN)/fuzz $(FUZZ)/$$target $(FUZZ_OPTIONS) -dict=$(FUZZ)/$$target.dict \
	    -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(FUZZ)/found/$$target/ > $(FUZZ)/$$target.log 2>&1 \
	    || { tail -n 40 $(FUZZ)/$$target.log; \
	         echo "again: TARGET=$$target $(FUZZ_BIN)/fuzz $(FUZZ)/found/$$target/…"; exit 1; }; \
	  grep -a 'DONE' $(FUZZ)/$$target.log; \
	done

fuzz-ci:
	$(MAKE) fuzz FUZZ_SECONDS=4 FUZZ_BUILD= FUZZ_BIN=target/debug/examples

fuzz-build:
	RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/crates/unpause-fuzz/rustc.sh \
	  cargo build $(FUZZ_BUILD) --quiet --workspace --exclude unpause-python --example fuzz \
	  --features unpause-fuzz/libfuzzer
	SEEDS=$(FUZZ) $(FUZZ_BIN)/fuzz 2> $(FUZZ)-seeds.log || { cat $(FUZZ)-seeds.log; exit 1; }

clean:
	rm -rf $(VENV) target results

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11; name another: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Build and test tools, and what the package depends on.
$(VENV)/.tools: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet \
	  $$($(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); \
	  print(*p["build-system"]["requires"], *p["project"]["dependencies"], *p["project"]["optional-dependencies"]["dev"])')
	@touch $@

# The package with the extension module in release mode.
INSTALL := $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall .
$(VENV)/.installed: $(VENV)/.tools $(RUST_SOURCES) $(PYTHON_SOURCES)
	$(INSTALL)
	@rm -f $(VENV)/.installed-mpi
	@touch $@

# The same with MPI (docs/mpi.md); `make install` keeps it until something has changed.
$(VENV)/.installed-mpi: $(VENV)/.tools $(RUST_SOURCES) $(PYTHON_SOURCES) | mpi-packages
	MATURIN_PEP517_ARGS="--features mpi" $(INSTALL)
	@touch $(VENV)/.installed $@

# What that needs, if it is not there.
mpi-packages:
	@if ! command -v mpicc > /dev/null || ! command -v mpirun > /dev/null || ! command -v clang > /dev/null; then \
	  command -v apt-get > /dev/null || { \
	    echo "error: no apt-get here to install $(MPI_PACKAGES) with; install an MPI (mpicc, mpirun) and clang, with"; \
	    echo "       libclang, by hand, and make install-mpi again"; exit 1; }; \
	  sudo=; test "$$(id -u)" = 0 || sudo=sudo; \
	  test -z "$$sudo" || command -v sudo > /dev/null || { \
	    echo "error: only root can install $(MPI_PACKAGES): apt-get install $(MPI_PACKAGES)"; exit 1; }; \
	  echo "installing $(MPI_PACKAGES)"; \
	  $$sudo apt-get -qq update && \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $(MPI_PACKAGES) > /dev/null; \
	fi
