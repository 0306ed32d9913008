#!/usr/bin/env bash
# Runs the benchmarks against other tools, which it installs, and writes benchmarks/figures.md.
# Needs an idle machine.
#
# BUILD=1: also measure a clean release build (minutes); otherwise the last result is kept.
# FIGURES: write this file [default: benchmarks/figures.md].
set -euo pipefail
cd "$(dirname "$0")/.."
figures=${FIGURES:-benchmarks/figures.md}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
load=$(cut -d' ' -f1-3 /proc/loadavg)

scripts/setup.sh

# The tools to compare with. Tables name a tool that cannot be installed as missing.
peers=(scrot:scrot xdotool:xdotool import:imagemagick)
missing=()
for peer in "${peers[@]}"; do
    command -v "${peer%%:*}" >/dev/null || missing+=("${peer##*:}")
done
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [[ ${#missing[@]} -gt 0 ]]; then
    echo "installing for comparison: ${missing[*]}"
    run=()
    [[ $(id -u) == 0 ]] || run=(sudo -n)
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        echo "installation failed; the tables will list these tools as missing" >&2
fi
venv=$target/peers
if ! [[ -x $venv/bin/python && -e $venv/complete-2 ]]; then
    echo "installing for comparison: mss, pynput and anthropic, for Python, in $venv"
    if rm -rf "$venv" && mkdir -p "$target" && python3 -m venv "$venv" &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check mss==10.2.0 pynput==1.8.2 anthropic==2.11.0; then
        touch "$venv/complete-2"
    else
        echo "installation failed; the tables will list these tools as missing" >&2
    fi
fi
if ! [[ -e $venv/cua-driver-1 ]]; then
    echo "installing for comparison: cua-driver and pyscreeze, for Python"
    if "$venv/bin/pip" install --quiet --disable-pip-version-check cua-driver==0.37.0 pyscreeze==1.0.1 pillow==13.0.0; then
        touch "$venv/cua-driver-1"
    else
        echo "installation failed; the tables will list these tools as missing" >&2
    fi
fi

shells=$target/peers-shells-1
if ! [[ -e $shells/complete ]]; then
    echo "installing for comparison: agent-framework-tools, for Python, and codex, for Node, in $shells"
    if rm -rf "$shells" && mkdir -p "$shells/home" &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check agent-framework-tools==1.0.0b261022 &&
        npm install --silent --no-audit --no-fund --prefix "$shells" @openai/codex@0.169.0; then
        touch "$shells/complete"
    else
        echo "installation failed; the tables will list these tools as missing" >&2
    fi
fi
# The native program, not its Node launcher.
codex=$(find "$shells" -type f -name codex -size +1M -perm -u+x 2>/dev/null | head -n 1)

pages=$target/peers-pages-2
if ! [[ -e $pages/complete ]]; then
    echo "installing for comparison: Playwright, agent-browser and two MCP servers, for Node, in $pages"
    if rm -rf "$pages" && mkdir -p "$pages" &&
        npm install --silent --no-audit --no-fund --prefix "$pages" playwright-core@1.65.1 \
            @playwright/mcp@0.0.83 agent-browser@0.41.2 chrome-devtools-mcp@1.11.0; then
        touch "$pages/complete"
    else
        echo "installation failed; the tables will list these tools as missing" >&2
    fi
fi
node_version() {
    sed -n 's/^  "version": "\(.*\)",/\1/p' "$pages/node_modules/$1/package.json" 2>/dev/null | head -n 1 | grep . || echo missing
}

# Build first, so that building is not measured.
cargo bench --quiet --package telechir --bench end_to_end --no-run
cargo bench --quiet --package telechir-providers --bench history --no-run
start=$SECONDS
TELECHIR_PEERS_PYTHON=$venv/bin/python TELECHIR_PEERS_CODEX=$codex TELECHIR_PEERS_NODE=$pages CODEX_HOME=$shells/home \
    cargo bench --quiet --package telechir --bench end_to_end >"$scratch/tables"
TELECHIR_PEERS_PYTHON=$venv/bin/python \
    cargo bench --quiet --package telechir-providers --bench history -- --table >>"$scratch/tables"
took=$((SECONDS - start))

# Version of a Debian package.
version() {
    dpkg-query --show --showformat='${Version}' "$1" 2>/dev/null || echo "(unknown version)"
}
library() {
    "$venv/bin/pip" list --format=freeze 2>/dev/null | sed -n "s/^$1==//p" | grep . || echo missing
}

measure_build() {
    local start=$SECONDS binary=$scratch/build/release/telechir stripped=$scratch/stripped
    CARGO_TARGET_DIR=$scratch/build cargo build --quiet --release --package telechir
    local took=$((SECONDS - start))
    strip --strip-all --output-file="$stripped" "$binary"
    local size stripped_size
    size=$(stat --format=%s "$binary") stripped_size=$(stat --format=%s "$stripped")
    cat <<TABLE
## Clean release build

| what | |
|---|---|
| \`cargo build --release --package telechir\`, $(nproc) cores, sources already downloaded | $((took / 60)) min $((took % 60)) s |
| binary as shipped | $(megabytes "$size") MB |
| binary without symbol names | $(megabytes "$stripped_size") MB |

$(rustc --version), load $load before the build. The binary ships with symbol names, for backtraces, and without debug information, which was most of the file; a panic reports its file and line without it.
TABLE
}
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f", bytes / 1e6 }'; }

if [[ ${BUILD:-} == 1 ]]; then
    measure_build >"$scratch/build.md"
else
    sed -n '/^## Clean release build/,$p' "$figures" >"$scratch/build.md" 2>/dev/null || true
fi

{
    cat <<HEAD
# Speed and memory, compared with other tools

Written by \`make bench\` (\`crates/telechir/benches/end_to_end\`, release build); run it to measure your machine. The contestants of a table take turns in the same run, and the first round is not counted. Rows of telechir are bold; the rows below a bold row are compared with it. A row marked **not run** names a tool that could not be run.

$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(awk '/MemTotal/ { printf "%.0f GB", $2 / 1e6 }' /proc/meminfo), Linux $(uname -r), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), as $(id -un); load $load before the run, which took $took s. telechir at $(git rev-parse --short HEAD 2>/dev/null || echo "an unknown commit"). Xvfb $(version xvfb), Chromium $(version chromium), bubblewrap $(version bubblewrap), bash $(version bash); scrot $(version scrot), xdotool $(version xdotool), ImageMagick $(version imagemagick); mss $(library mss), pynput $(library pynput), cua-driver $(library cua-driver), agent-framework-tools $(library agent-framework-tools), playwright-core $(node_version playwright-core), Playwright MCP $(node_version @playwright/mcp), chrome-devtools-mcp $(node_version chrome-devtools-mcp), agent-browser $(node_version agent-browser), codex $("$codex" --version 2>/dev/null | cut -d" " -f2 | grep . || echo missing).
HEAD
    cat "$scratch/tables"
    if [[ -s $scratch/build.md ]]; then
        echo
        cat "$scratch/build.md"
    fi
} >"$scratch/figures.md"
cp "$scratch/figures.md" "$figures"
echo "bench: written to $figures"
