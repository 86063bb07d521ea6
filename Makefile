# make test      everything that has to pass; installs what the tests need
# make soak      streams and checkpoints killed 200 times at random moments (a few times in make test), an error or a
#                kill at every file-system call of the commands that write (a sample in make test), and
#                Valgrind on the tests of the kernels
# make fuzz      a million mutated inputs through every reader, on all cores (3,000 in make test);
#                FUZZ='--cases 20000 --target csv', for instance, for fewer
# make bench     side-by-side measurements against peers (needs the published data sets);
#                make bench-neighbours: only fairfront beside other tools on Adult;
#                make bench-measures: only fronts in accuracy and gaps, beside fairlearn;
#                make bench-stream: only streams, beside fits on the same rows;
#                make bench-penalty: only the unmitigated model, compared with scikit-learn's logistic regressions;
#                make bench-choice: only certified choices, on redraws of tables as populations;
#                make bench-python: only the Python package, beside the command and fairlearn
# make docs      the API documentation (target/doc) and the book (target/book), warnings as errors
# make page      build the script and style of report.html; make page-check: types, tests, and whether they are stale
# make reproduce the paper's experiments, and the page of the documentation about them (needs the published data sets; an
#                hour or two on two cores; stopped, it goes on where it was)
# make audit     compare the crates with the RustSec advisory database (needs cargo-audit and the network)
# make rust-version   compile with the oldest supported Rust; make release-check TAG=v1.2.3: whether it can be released
# make clean     remove what was built

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := test

# The published data sets; tests that need them say aloud when they are not there.
ifeq ($(FAIRFRONT_DATA),)
ifneq ($(wildcard ../shared/data/README.md),)
export FAIRFRONT_DATA := $(abspath ../shared/data)
endif
endif

PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python

.PHONY: test lint rust-test docs licences audit rust-version release-check page page-check browser python-test package package-alone soak memcheck fuzz bench bench-neighbours \
  bench-measures bench-stream bench-penalty bench-choice bench-python reproduce clean

test: lint page-check rust-test docs licences python-test
	@if [ -z "$${FAIRFRONT_DATA:-}" ]; then \
	  echo "SKIPPED: tests on Adult and COMPAS; set FAIRFRONT_DATA to the folder of the published files"; \
	fi
	@echo "make test: all passed"

# The default command downloads nothing; tests and checks build it with downloads, all with the same features, so
# that nothing is compiled twice.
FEATURES := --features fairfront-cli/download

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings

# One build profile for all tests; doc tests included.
rust-test:
	cargo test --workspace --locked $(FEATURES)

BOOK_VENV := .venv-docs
docs: $(BOOK_VENV)/.installed
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked $(FEATURES)
	$(BOOK_VENV)/bin/mkdocs build --strict --quiet

$(BOOK_VENV)/.installed: docs/requirements.txt
	$(PYTHON) -m venv $(BOOK_VENV)
	$(BOOK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@

licences:
	$(PYTHON) scripts/check_licences.py

# Needs cargo-audit (cargo install cargo-audit --locked) and the network.
audit:
	cargo audit --deny warnings

# The oldest Rust that Cargo.toml promises; rustup downloads it.
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust-version:
	rustup toolchain install $(RUST_VERSION) --profile minimal
	cargo +$(RUST_VERSION) check --workspace --locked $(FEATURES)

# Fails unless the tag, the versions and the repository's address are those of a release.
release-check:
	$(PYTHON) scripts/check_release.py $(TAG)

WEB := crates/fairfront-report/web

page: $(WEB)/node_modules/.package-lock.json
	cd $(WEB) && npm run --silent build

page-check: $(WEB)/node_modules/.package-lock.json
	cd $(WEB) && npm run --silent check && npm test --silent

$(WEB)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json
	cd $(WEB) && npm ci --no-audit --no-fund
	touch $@

# The page is tested in a real browser: Debian's chromium, where FAIRFRONT_CHROMIUM names no other.
BROWSER := $(or $(FAIRFRONT_CHROMIUM),$(shell command -v chromium))
browser:
ifeq ($(BROWSER),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else \
	  echo "SKIPPED: tests of the page; install chromium, or name a browser with FAIRFRONT_CHROMIUM"; \
	fi
endif

# Cargo enables the features of dependencies by the packages and the kinds of targets that it builds: those of
# rust-test, or it would compile the workspace a second time.
python-test: browser package package-alone $(WEB)/node_modules/.package-lock.json
	cargo build --workspace --bins --tests --locked $(FEATURES)
	FAIRFRONT_BIN=target/debug/fairfront $(VENV_PYTHON) -m pytest -q tests/python
	FAIRFRONT_BIN=$(abspath target/debug/fairfront) $(VENV_PYTHON) -m pytest -q bindings/python/tests

# The package as its tests use it: built with their profile, in their environment.
package: $(VENV)/.tests-installed
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --quiet

# The package as pip builds and installs it, with numpy as the only other package. Built with the interpreter of
# `package`, because another one would compile PyO3 again.
ALONE := .venv-alone
WHEEL := target/wheels/alone
package-alone: package
	rm -rf $(WHEEL)
	PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV_PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --wheel-dir $(WHEEL) --config-settings=build-args="--profile dev" .
	$(PYTHON) -m venv --clear $(ALONE)
	$(ALONE)/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	$(ALONE)/bin/python bindings/python/tests/alone.py

# Mutated inputs break no promise: no panic, no hang, bounded memory, nothing read as something else.
fuzz:
	cargo build --release --locked -p fairfront-fuzz
	target/release/fairfront-fuzz --cases 1000000 --jobs $(shell nproc) --json bench/results/fuzz.json $(FUZZ)

# No read or write outside of memory that is allocated, and none of memory that nothing was written to.
memcheck:
	scripts/memcheck.sh

# What is killed ends in the same bytes as what is not.
soak: $(VENV)/.tests-installed memcheck
	cargo build --release --locked -p fairfront-cli
	FAIRFRONT_BIN=target/release/fairfront FAIRFRONT_KILLS=$(or $(FAIRFRONT_KILLS),200) $(VENV_PYTHON) -m pytest -q \
	  tests/python/test_stream_kill.py $(wildcard tests/python/test_checkpoint.py)
	FAIRFRONT_BIN=target/release/fairfront FAIRFRONT_FAULTS=all $(VENV_PYTHON) -m pytest -q -rP tests/python/test_faults.py

$(VENV)/.tests-installed: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
	touch $@

bench: bench-neighbours bench-measures bench-stream bench-penalty bench-choice bench-python
	cargo build --release --locked -p fairfront-bench
	$(VENV_PYTHON) bench/trace.py
	$(VENV_PYTHON) bench/indicators.py
	$(VENV_PYTHON) bench/read_table.py
	$(VENV_PYTHON) bench/predict.py
	$(VENV_PYTHON) bench/fronts.py

bench-neighbours: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/neighbours.py

# With MEASURES=--reuse, neighbours are not run again.
bench-measures: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/measures.py $(MEASURES)

# With STREAM='--parts change', for instance, only some of it.
bench-stream: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli -p fairfront-bench
	$(VENV_PYTHON) bench/stream.py $(STREAM)

bench-choice: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-bench
	$(VENV_PYTHON) bench/choice.py

bench-penalty: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/penalty.py

bench-python: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --release --quiet
	$(VENV_PYTHON) bench/python.py

$(VENV)/.bench-installed: bench/requirements.txt $(VENV)/.tests-installed
	$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

reproduce:
	cargo build --release --locked -p fairfront-reproduce
	target/release/fairfront-reproduce --out reproduction --docs docs
	cp reproduction/reproduction.json bench/results/reproduction.json

clean:
	cargo clean
	rm -rf $(VENV) $(ALONE) $(BOOK_VENV) target/book bench/work
