# The front door. `make help` lists it.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check format clippy docs deny licences bench container soak miniwob bare ordinary clean

help:        ## what there is
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 12

setup:       ## install what is missing on Debian 12 (Chromium, Xvfb, bubblewrap, fonts, …)
	@scripts/setup.sh

demo: setup  ## a task with browser, desktop and shell, driven by a recorded model; leaves demo-report/
	@scripts/demo.sh

test: setup  ## every test, on real parts of the machine
	@scripts/test.sh

check: format clippy licences deny docs ## what must hold before a commit

format:      ## is everything formatted?
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check

clippy:      ## lints, warnings are errors
	cargo clippy --workspace --all-targets --quiet -- -D warnings

docs:        ## is the documentation whole?
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

licences:    ## licences and sources of what we link, and the layers
	cargo run --quiet --package xtask -- licences
	cargo run --quiet --package xtask -- layers

deny:        ## cargo-deny where it is installed; building it takes longer than all our checks
	@if command -v cargo-deny >/dev/null; then cargo deny check bans licenses sources; \
	else echo "cargo-deny is not installed: licences, sources and layers were checked by xtask; 'cargo install cargo-deny' adds the rest"; fi

bench:       ## measure beside other tools; writes benchmarks/figures.md (BUILD=1: a clean build too)
	@scripts/bench.sh

container:   ## the shell in a container, with podman and an image made here (root)
	@scripts/container.sh

soak:        ## texts into an editor, kills of a running batch, settling, huge bodies, fuzzing (hours)
	@scripts/soak.sh

miniwob:     ## tasks of MiniWoB++ solved in a browser, five seeds each; writes benchmarks/miniwob.md (minutes)
	@scripts/miniwob.sh

bare:        ## both commands on a bare Debian 12 made for it (root, debootstrap, 8 GB)
	@scripts/bare.sh

ordinary:    ## both commands as an ordinary user made for it (root, 8 GB)
	@scripts/ordinary.sh

clean:       ## remove what was built
	cargo clean
