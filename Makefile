# Two commands are all a newcomer needs: `make demo` and `make test`. Needs rustc >= 1.85 with
# cargo, a C compiler, python3 >= 3.11 with venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name '*.toml' -o -name '*.c' -o -name '*.h')

# What runs inside a virtual kernel: static, linked by Rust's own linker (.cargo/config.toml).
GUEST := aarch64-unknown-linux-musl

.PHONY: build demo test long faults lint papers tables guests additions bench bench-peers bench-pager bench-policies bench-sweep bench-advice mutants coverage validation soak traces docs picture dist newcomer clean

build: .venv/built

# `pip install -e` builds the Rust extension through maturin and puts the command at
# .venv/bin/swaplab. Maturin is installed in .venv, because with a new environment for each build
# pyo3 and all crates that depend on it would be compiled again. Maturin's Python hook calls
# `maturin` by name, so the environment's commands must be on the path. Byte code is compiled here,
# because with PYTHONDONTWRITEBYTECODE every start of the command would compile all that it imports
# (half a second and more).
PIP = PATH="$(CURDIR)/$(BIN):$$PATH" $(if $(shell command -v uv),VIRTUAL_ENV=.venv uv pip install -q --compile-bytecode,$(BIN)/python -m pip install -q --disable-pip-version-check)
.venv/built: $(SOURCES)
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust with 'curl https://sh.rustup.rs -sSf | sh' (Debian's own rustc is too old), then run make again" >&2; exit 3; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: on Debian, 'apt-get install gcc libc6-dev'" >&2; exit 3; }
	@test -x $(BIN)/python || { if command -v uv >/dev/null; then uv venv -q --python $(PYTHON) .venv; else $(PYTHON) -m venv .venv; fi; }
	@$(PIP) 'maturin>=1.9,<2'
	@$(PIP) --no-build-isolation -e .
	@$(BIN)/python -m compileall -q python/swaplab
	@cargo build --quiet --release $(addprefix -p swaplab-,app capture-plugin preload still-clock)
	@install -s target/release/swaplab-app $(BIN)/
	@install -s -D -t python/swaplab/_native target/release/libswaplab_capture_plugin.so target/release/libswaplab_preload.so target/release/libswaplab_still_clock.so
	@if rustup target list --installed 2>/dev/null | grep -qx $(GUEST) || rustup target add $(GUEST) >/dev/null 2>&1; then \
		cargo build --quiet --profile guest --target $(GUEST) -p swaplab-guest && install -D -t python/swaplab/_native target/$(GUEST)/guest/swaplab-guest; \
	else echo "the world vm is left out: Rust's target $(GUEST) is missing (rustup target add $(GUEST))" >&2; fi
	@touch $@

# What only tests and checks need.
.venv/tools: .venv/built
	@$(PIP) --no-build-isolation -e '.[test]'
	@touch $@

# What `make mutants` needs besides: cosmic-ray, of which one dependency is built from its source.
.venv/mutants: .venv/tools
	@$(PIP) setuptools wheel
	@$(PIP) --no-build-isolation -e '.[mutants]'
	@touch $@

demo: build
	@$(BIN)/swaplab demo

# Incremental compilation would take a sixth longer in a new clone. Cargo keeps what it compiles
# either way side by side.
test: .venv/tools
	CARGO_INCREMENTAL=0 cargo test --workspace --quiet
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m 'not alone and not long and not docs and not papers and not guests and not additions'
	$(BIN)/python -m pytest -q -m 'alone and not long'

# Tests of more than seven seconds each, and shorter ones that have twins in make test: four minutes
# of two cores.
long: .venv/tools
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m 'long and not alone'
	$(BIN)/python -m pytest -q -m 'long and alone'

# The tables of papers/ computed anew and compared with what their READMEs say: two minutes.
papers: .venv/tools
	$(BIN)/python -m pytest -q -n 2 -m papers

# Write the tables of papers/ again, except those of the world vm
# (`swaplab papers check NAME --vm --write`), and then README's: about half an hour of processor
# time. The tables name the commit from which they are written; SWAPLAB_DATA names the folder of
# recordings.
PAPERS := dr-swap nvm-swap-cache spo-clock swapbench a2s later-designs
tables: .venv/tools
	for paper in $(PAPERS); do $(BIN)/swaplab papers check $$paper --write >/dev/null || exit 1; done
	for paper in $(filter-out spo-clock later-designs,$(PAPERS)) android-15; do $(BIN)/swaplab papers sensitivity $$paper --write >/dev/null || exit 1; done
	$(BIN)/swaplab papers ablation --write >/dev/null
	SWAPLAB_WRITE_PAGES=1 $(BIN)/python -m pytest -q -m docs -k README

# Guests of the world vm: examples/vm.toml, equal documents beside a loaded host, every key, every
# way to go wrong: four minutes of two cores.
guests: .venv/tools
	$(BIN)/python -m pytest -q -n 2 -m guests

# The worked examples of CONTRIBUTING.md, built in a copy of the tree and used: two minutes.
additions: .venv/tools
	$(BIN)/python -m pytest -q -m additions

# A fault at every file system call by which a command writes its outputs or a measurement its
# journal: half an hour.
faults: .venv/tools
	SWAPLAB_FAULTS=1 $(BIN)/python -m pytest -q tests/python/test_injected_faults.py tests/python/test_sweep_faults.py tests/python/test_journal.py tests/python/test_limits.py tests/live/test_journal_faults.py

# Recapture the traces of data/traces (data/PROVENANCE.md); needs qemu-user, sqlite3, nodejs, gcc,
# libjpeg-turbo-progs and vpx-tools.
traces: build
	data/workloads/capture.sh
# The pager's stress test, a minute for each scheme; then each fuzz target for ten minutes,
# FUZZ_JOBS of them at a time (needs the nightly compiler and cargo-fuzz). What a target finds is
# left in fuzz/artifacts/.
FUZZ_SECONDS ?= 600
FUZZ_JOBS ?= 2
soak: .venv/tools
	SWAPLAB_SOAK_SECONDS=60 $(BIN)/python -m pytest -q tests/python/test_run.py tests/python/test_run_quarters.py tests/python/test_run_programs.py tests/python/test_run_family.py tests/python/test_program_calls.py tests/python/test_policy_oracles.py tests/live/test_zram_cpu.py tests/live/test_swap_in_cpu.py
	tools/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_JOBS)

lint: .venv/tools
	cargo run --quiet -p xtask
	$(BIN)/python tools/licences.py
	$(BIN)/python tools/check_words.py
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests benches tools
	$(BIN)/ruff format --check python tests benches tools
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases benches
	PYTHONPATH=python $(BIN)/lint-imports --no-cache

# Against libCacheSim, about half an hour (ARGS="--references 5000000 --rounds 1" is a quick look),
# and the pager against the kernel's swap, about as long, as root (`make bench-pager
# PAGER_ARGS="--rounds 1 --touches 3 --rows 100000"`).
bench: bench-peers bench-pager
bench-peers: .venv/tools
	$(BIN)/python -m benches.peers.run $(ARGS)
bench-pager: .venv/tools
	$(BIN)/python -m benches.pager.run $(PAGER_ARGS)

# A sweep of 400 points and five designs with one process and with two; needs two idle cores.
# ARGS="--rounds 1" is a quick look.
bench-sweep: .venv/tools
	$(BIN)/python -m benches.sweep.run $(ARGS)

# A policy's I/O time against CLOCK, ARC, LRU and opt, on programs that its search did not see
# (ARGS="--policy sieve a.slt b.slt").
bench-policies: .venv/tools
	$(BIN)/python -m benches.policies.run $(ARGS)

# What `swaplab advise` advises two users, checked in a scaled guest of the world vm; needs an idle
# machine (ARGS="--recorded FOLDER").
bench-advice: .venv/tools
	$(BIN)/python -m benches.advice.run $(ARGS)

# How many small faults the tests of the crates and of the Python package find, of a sample that
# grows from run to run; needs cargo-mutants, and 2 to 20 minutes a part (ARGS="--parts policy
# --sample 10" is a quick look).
mutants: .venv/mutants
	$(BIN)/python -m benches.mutants.run $(ARGS)

# Which lines the tests run, of the crates and of the package; needs cargo-llvm-cov and the tools of
# the compiler's LLVM (rustup component add llvm-tools, or Debian's llvm-NUMBER), and an hour
# (ARGS="--only crates" is a third of it).
coverage: .venv/tools
	$(BIN)/python -m benches.coverage.run $(ARGS)

# The simulated phone beside a kernel under virtual time, over configurations drawn by the commit's
# hash: docs/validation.md, about ten minutes of processor time a draw (ARGS="--draws 40 --recorded
# FOLDER").
validation: .venv/tools
	$(BIN)/python -m benches.validation.run $(ARGS)

# The documentation as a site; every command and example of its pages is run: two minutes.
docs: .venv/tools
	$(BIN)/python -m pytest -q -n 2 -m docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "site/index.html"

# README's picture of a report, drawn from the demo by Chromium.
picture: build
	@rm -rf target/picture && $(BIN)/swaplab demo -o target/picture >/dev/null && $(BIN)/python tools/picture.py target/picture/report.html

# A wheel that needs no Rust (abi3: any Python from 3.11 up) and a source distribution, in dist/.
dist: .venv/tools
	$(BIN)/maturin build --quiet --release --compression-level 9 --out dist
	$(BIN)/maturin sdist --out dist

# What somebody without Rust does first, in a fresh folder, with the wheel of `make dist`; fetches
# the wheel's dependencies.
newcomer: dist
	tools/newcomer.sh

clean:
	rm -rf target .venv site dist
