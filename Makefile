# Entry points for users and CI. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check format clippy tidy docs deny licences bench clients cdp-clients remote-sdk remote-clicks container soak miniwob bare ordinary attack mutants clean

help:        ## list these commands
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 12

setup:       ## install missing packages on Debian 12 (Chromium, Xvfb, bubblewrap, fonts, …)
	@scripts/setup.sh

demo: setup  ## a task with browser, desktop and shell, driven by a recorded model; writes demo-report/
	@scripts/demo.sh

test: setup  ## every test, on real parts of the machine
	@scripts/test.sh

check: format clippy tidy licences deny docs ## everything that must pass before a commit

format:      ## check the formatting
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check

clippy:      ## run the lints; warnings are errors
	cargo clippy --workspace --all-targets --quiet -- -D warnings

tidy:        ## check names, documentation, spelling and dependencies
	cargo run --quiet --package xtask -- files
	cargo run --quiet --package xtask -- identifiers
	cargo run --quiet --package xtask -- type-names
	cargo run --quiet --package xtask -- circles
	cargo run --quiet --package xtask -- public-docs
	cargo run --quiet --package xtask -- dependencies
	cargo run --quiet --package xtask -- spelling

docs:        ## build the API documentation; warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

licences:    ## check licences and sources of dependencies, and the layers of the crates
	cargo run --quiet --package xtask -- licences
	cargo run --quiet --package xtask -- layers

deny:        ## run cargo-deny if it is installed; building it takes longer than all other checks
	@if command -v cargo-deny >/dev/null; then cargo deny check bans licenses sources; \
	else echo "cargo-deny is not installed; xtask has checked licences, sources and layers. For the other checks: cargo install cargo-deny"; fi

bench:       ## benchmark against other tools; writes benchmarks/figures.md (BUILD=1: also a clean build)
	@scripts/bench.sh

clients:     ## drive `telechir mcp` with Codex, Claude Code and other clients; writes benchmarks/mcp-clients.md
	@scripts/clients.sh

cdp-clients: ## drive the CDP gateway with Playwright and Puppeteer; writes benchmarks/cdp-clients.md
	@scripts/cdp-clients.sh

remote-sdk:  ## compare the client of rented browsers with the services' own SDKs
	@scripts/remote-sdk.sh

remote-clicks: ## clicks through a proxy with latency, beside Playwright; writes benchmarks/remote-clicks.md
	@scripts/remote-clicks.sh

container:   ## test the shell in a container, with podman and an image built here (root)
	@scripts/container.sh

soak:        ## long runs: typing, kills, settling, browser cycles, payload limits, fuzzing (hours)
	@scripts/soak.sh

miniwob:     ## solve MiniWoB++ tasks in a browser, five seeds each; writes benchmarks/miniwob.md (minutes)
	@scripts/miniwob.sh

bare:        ## run demo and test on a newly created bare Debian 12 (root, debootstrap, 8 GB)
	@scripts/bare.sh

ordinary:    ## run demo and test as a newly created ordinary user (root, 8 GB)
	@scripts/ordinary.sh

attack:      ## attack telechir: every crate's attack tests and a lab with a second user, DNS and a sniffer (root)
	@scripts/attack.sh

mutants:     ## mutation testing of what decides and confines; writes docs/design/mutants.md (hours)
	@scripts/mutants.sh

clean:       ## remove build output
	cargo clean
