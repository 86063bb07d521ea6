# make test      run all checks and tests; installs their dependencies
# make soak      kill streams, checkpoints and workers 200 times at random moments (a few times in make test), inject errors and
#                kills at every file-system call of the commands that write (a sample in make test), and run the
#                kernel tests under Valgrind
# make fuzz      send a million mutated inputs through every reader, on all cores (3,000 in make test);
#                pass FUZZ='--cases 20000 --target csv', for example, for fewer
# make bench     run all benchmarks (needs the published data sets), or only a part:
#                make bench-neighbours: fairfront and other tools on Adult
#                make bench-measures: fronts in accuracy and differences between rates, compared with fairlearn
#                make bench-stream: streams, compared with fits on the same rows
#                make bench-penalty: the unmitigated model, compared with scikit-learn's logistic regressions
#                make bench-boosting: boosted trees, compared with LightGBM
#                make bench-learners: fronts of linear models and of boosted trees, compared with fairlearn on LightGBM
#                make bench-networks: fronts of networks, next to linear models and boosted trees
#                make bench-choice: certified choices, on redraws of tables as populations
#                make bench-number-choice: the same for predicted numbers, on generated populations
#                make bench-numbers: fronts of predicted numbers, compared with fairlearn
#                make bench-classes: fronts of more than two classes, compared with scikit-learn and one-vs-rest fairlearn
#                make bench-lda: searches for less discriminatory alternatives to LightGBM on Adult
#                make bench-python: the Python package, compared with the command and fairlearn
#                make bench-scale: fits by the number of rows, in memory and from the disk
#                make bench-workers: rounds and scaling of processes, Ray and Dask
# make docs      build the API documentation (target/doc) and the book (target/book); warnings are errors
# make page      build the script and style of report.html; make page-check: check types, tests and staleness
# make reproduce repeat the paper's experiments and write their pages of the documentation (needs the published data
#                sets; one to two hours on two cores; resumes after a stop)
# make audit     compare the crates with the RustSec advisory database (needs cargo-audit and the network)
# make rust-version   compile with the oldest supported Rust
# make release-check TAG=v1.2.3   check whether the tag can be released
# make clean     remove build outputs

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := test

# Folder of the published data sets; tests that need them print a message if it is missing.
ifeq ($(FAIRFRONT_DATA),)
ifneq ($(wildcard ../shared/data/README.md),)
export FAIRFRONT_DATA := $(abspath ../shared/data)
endif
endif

PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python

.PHONY: test lint rust-test docs reference licenses audit rust-version release-check page page-check browser python-test package package-alone soak memcheck fuzz bench bench-neighbours \
  bench-measures bench-stream bench-penalty bench-boosting bench-learners bench-networks bench-choice bench-number-choice bench-numbers bench-classes bench-lda bench-python bench-scale bench-workers reproduce clean

test: lint page-check rust-test docs licenses python-test
	@if [ -z "$${FAIRFRONT_DATA:-}" ]; then \
	  echo "SKIPPED: tests on Adult and COMPAS; set FAIRFRONT_DATA to the folder of the published files"; \
	fi
	@echo "make test: all passed"

# The default build of the command cannot download. Tests and checks enable downloads, all with the same features, so
# that cargo compiles each crate once.
FEATURES := --features fairfront-cli/download

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked $(FEATURES) -- -D warnings

# All tests, including doc tests, use one build profile.
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

# The command-line and Python references of the book; tests/python/test_reference.py fails if they are out of date.
reference:
	cargo build --workspace --bins --tests --locked $(FEATURES)
	$(PYTHON) scripts/command_reference.py target/debug/fairfront
	$(PYTHON) scripts/python_reference.py

licenses:
	$(PYTHON) scripts/check_licenses.py

# Needs cargo-audit (cargo install cargo-audit --locked) and the network.
audit:
	cargo audit --deny warnings

# Uses the oldest Rust version that Cargo.toml supports; rustup downloads it.
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
rust-version:
	rustup toolchain install $(RUST_VERSION) --profile minimal
	cargo +$(RUST_VERSION) check --workspace --locked $(FEATURES)

# Fails unless the tag, all versions and the repository address are ready for a release.
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

# Browser for the tests of the report: FAIRFRONT_CHROMIUM if set, otherwise Debian's chromium.
BROWSER := $(or $(FAIRFRONT_CHROMIUM),$(shell command -v chromium))
browser:
ifeq ($(BROWSER),)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else \
	  echo "SKIPPED: tests of the report; install chromium, or set FAIRFRONT_CHROMIUM to a browser"; \
	fi
endif

# Cargo chooses features of dependencies by packages and kinds of targets. Build the same ones as rust-test, so that
# cargo does not compile the workspace again.
python-test: browser package package-alone $(WEB)/node_modules/.package-lock.json
	cargo build --workspace --bins --tests --locked $(FEATURES)
	FAIRFRONT_BIN=target/debug/fairfront $(VENV_PYTHON) -m pytest -q tests/python
	FAIRFRONT_BIN=$(abspath target/debug/fairfront) $(VENV_PYTHON) -m pytest -q bindings/python/tests

# Builds the Python package for its tests: with their profile, in their environment.
package: $(VENV)/.tests-installed
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --quiet

# Builds and installs the package with pip, next to numpy only. Uses the interpreter of `package`, because another one
# would compile PyO3 again.
ALONE := .venv-alone
WHEEL := target/wheels/alone
package-alone: package
	rm -rf $(WHEEL)
	PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV_PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --wheel-dir $(WHEEL) --config-settings=build-args="--profile dev" .
	$(PYTHON) -m venv --clear $(ALONE)
	$(ALONE)/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)/*.whl
	$(ALONE)/bin/python bindings/python/tests/alone.py

# Mutated inputs cause no panic, no hang, no large allocation and no misread value.
fuzz:
	cargo build --release --locked -p fairfront-fuzz
	target/release/fairfront-fuzz --cases 1000000 --jobs $(shell nproc) --json bench/results/fuzz.json $(FUZZ)

# Detects reads and writes outside allocated memory, and reads of uninitialized memory.
memcheck:
	scripts/memcheck.sh

# Killed commands end with the same bytes as uninterrupted ones.
soak: $(VENV)/.tests-installed memcheck
	cargo build --release --locked -p fairfront-cli
	FAIRFRONT_BIN=target/release/fairfront FAIRFRONT_KILLS=$(or $(FAIRFRONT_KILLS),200) $(VENV_PYTHON) -m pytest -q \
	  tests/python/test_stream_kill.py $(wildcard tests/python/test_checkpoint.py)
	FAIRFRONT_BIN=target/release/fairfront FAIRFRONT_FAULTS=all $(VENV_PYTHON) -m pytest -q -rP tests/python/test_faults.py
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --quiet
	FAIRFRONT_KILLS=$(or $(FAIRFRONT_KILLS),200) $(VENV_PYTHON) -m pytest -q bindings/python/tests/test_workers.py

$(VENV)/.tests-installed: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt
	touch $@

bench: bench-neighbours bench-measures bench-stream bench-penalty bench-boosting bench-learners bench-networks bench-choice bench-number-choice bench-numbers bench-classes bench-lda bench-python bench-scale bench-workers
	cargo build --release --locked -p fairfront-bench
	$(VENV_PYTHON) bench/trace.py
	$(VENV_PYTHON) bench/indicators.py
	$(VENV_PYTHON) bench/read_table.py
	$(VENV_PYTHON) bench/predict.py
	$(VENV_PYTHON) bench/fronts.py

bench-neighbours: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/neighbours.py

# MEASURES=--reuse reuses the stored results of other tools.
bench-measures: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/measures.py $(MEASURES)

# STREAM='--parts change', for example, runs only some parts.
bench-stream: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli -p fairfront-bench
	$(VENV_PYTHON) bench/stream.py $(STREAM)

bench-choice: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-bench
	$(VENV_PYTHON) bench/choice.py

bench-number-choice: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-bench
	$(VENV_PYTHON) bench/number_choice.py

bench-numbers: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/predicted_numbers.py

bench-classes: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/predicted_classes.py

bench-lda: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/lda.py

bench-penalty: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/penalty.py

bench-boosting: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-learn --example boosting
	$(VENV_PYTHON) bench/boosting.py

# LEARNERS=--scale measures the cost of boosted trees by the number of rows instead.
bench-learners: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/learners.py $(LEARNERS)

bench-networks: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/networks.py

bench-python: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --release --quiet
	$(VENV_PYTHON) bench/python.py

# SCALE='--rows 100000000 --disk-only', for example, measures another size.
bench-scale: $(VENV)/.bench-installed
	cargo build --release --locked -p fairfront-cli
	$(VENV_PYTHON) bench/scale.py $(SCALE)

bench-workers: $(VENV)/.bench-installed
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --locked --release --quiet
	$(VENV_PYTHON) bench/workers.py

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
