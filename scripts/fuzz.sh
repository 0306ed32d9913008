#!/usr/bin/env bash
# Fuzzes every reader of external bytes, one target after the other, and writes the table of
# benchmarks/fuzzing.md. With cargo-fuzz, if it is installed, and then with AddressSanitizer.
#
# FUZZ_SECONDS: time per target [default: 600].
# FUZZ_TARGETS: targets to run [default: all].
# FUZZ_CORPUS: folder of the corpus kept between runs [default: fuzz/corpus in the target folder].
# FUZZ_KEEP=1: also copy small inputs that reach more than the vectors into the fuzz/corpus of the
# repository.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-600}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
corpus=${FUZZ_CORPUS:-$target/fuzz/corpus}
document=benchmarks/fuzzing.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Coverage and the sanitizer need a nightly compiler, or a stable one that accepts unstable flags.
cargo=(cargo +nightly)
if ! "${cargo[@]}" --version >/dev/null 2>&1; then
    cargo=(cargo)
    export RUSTC_BOOTSTRAP=1
fi
has_cargo_fuzz=
if cargo fuzz --version >/dev/null 2>&1; then has_cargo_fuzz=1; fi

export CARGO_TARGET_DIR=$target/fuzz
triple=$(rustc --version --verbose | sed -n 's/^host: //p')
# What libFuzzer is led by: counters of edges, and the values that are compared.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares"
read -ra targets <<<"${FUZZ_TARGETS:-$(sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"$|\1|p' fuzz/Cargo.toml | tr '\n' ' ')}"
"${cargo[@]}" run --quiet --release --manifest-path fuzz/Cargo.toml --example seeds -- "$scratch/seeds" >/dev/null

# Builds a target's program.
build() {
    if [[ -n $has_cargo_fuzz ]]; then
        "${cargo[@]}" fuzz build "$1"
    else
        RUSTFLAGS="--cfg fuzzing $coverage -Ccodegen-units=1 -Cdebug-assertions=on -Coverflow-checks=on" \
            "${cargo[@]}" build --release --manifest-path fuzz/Cargo.toml --target "$triple" --bin "$1"
    fi
}

# Runs a target's program: its name, folders of inputs, `--`, and libFuzzer's options.
fuzz() {
    local name=$1 folders=()
    shift
    if [[ -n $has_cargo_fuzz ]]; then
        "${cargo[@]}" fuzz run "$name" "$@"
        return
    fi
    while [[ $1 != -- ]]; do folders+=("$1"); shift; done
    shift
    mkdir -p "fuzz/artifacts/$name"
    "$CARGO_TARGET_DIR/$triple/release/$name" -artifact_prefix="fuzz/artifacts/$name/" "$@" "${folders[@]}"
}

# The last number after a label in libFuzzer's output.
number() { sed -nE "s/.*$1 *([0-9]+).*/\1/p" "$2" | tail -n 1; }

# Copies inputs that reach more than the vectors: a sample of all lengths, up to a total size.
keep() {
    local name=$1 files=40 most=24000 sum=0 length input at
    cp -r "$scratch/seeds/$name" "$scratch/merged"
    fuzz "$name" "$scratch/merged" "$corpus/$name" -- -merge=1 -max_len=16384 2>/dev/null
    rm -rf "fuzz/corpus/$name"
    mkdir -p "fuzz/corpus/$name"
    mapfile -t found < <(cd "$scratch/merged" && find . -type f -size -8k -printf '%s %f\n' | sort -n |
        while read -r length input; do [[ -e $scratch/seeds/$name/$input ]] || echo "$length $input"; done)
    for ((at = 0; at < ${#found[@]}; at += (${#found[@]} + files - 1) / files)); do
        read -r length input <<<"${found[at]}"
        sum=$((sum + length))
        if ((sum > most)); then break; fi
        cp "$scratch/merged/$input" "fuzz/corpus/$name/"
    done
    rm -rf "$scratch/merged"
}

failed=0
for name in "${targets[@]}"; do
    build "$name" 2>"$scratch/build" || { cat "$scratch/build" >&2; exit 1; }
    mkdir -p "$corpus/$name"
    log=$scratch/$name.log
    findings=none
    inputs=("$corpus/$name" "$scratch/seeds/$name")
    if [[ -d fuzz/corpus/$name ]]; then inputs+=("fuzz/corpus/$name"); fi
    if ! fuzz "$name" "${inputs[@]}" -- \
        -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
        -malloc_limit_mb=512 -print_final_stats=1 >"$log" 2>&1; then
        failed=1
        findings=$(sed -nE 's/.*panicked at ([^ ]+):$/\1/p; s/^SUMMARY: (libFuzzer: [a-z-]+).*/\1/p' "$log" | head -n 1)
        echo "fuzz: $name failed: ${findings:-unknown finding}; reproduce with $(grep -o 'fuzz/artifacts/[^ ]*' "$log" | tail -n 1)" >&2
        cp "$log" "$corpus/$name.log"
    fi
    reached="$(sed -nE 's/.*INITED +cov: ([0-9]+).*/\1/p' "$log") to $(number 'cov:' "$log")"
    kept=$(sed -nE 's/.* corp: ([0-9]+).*/\1/p' "$log" | tail -n 1)
    printf '| `%s` | %s s | %s | %s MB | %s | %s | %s |\n' "$name" "$(number 'Done [0-9]+ runs in' "$log")" \
        "$(number 'stat::number_of_executed_units:' "$log")" "$(number 'stat::peak_rss_mb:' "$log")" \
        "$kept" "$reached" "${findings:-crash}" | tee "$scratch/row"
    # Keep the rows of other targets.
    if grep -q "^| \`$name\` |" "$document"; then
        row=$(<"$scratch/row") awk -v name="| \`$name\` |" 'index($0, name) == 1 { print ENVIRON["row"]; next } { print }' \
            "$document" >"$scratch/document"
    else
        cat "$document" "$scratch/row" >"$scratch/document"
    fi
    processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    sed -E "s|^Last run: .*|Last run: $(date -u +%F), $processor, $(nproc) cores.|" "$scratch/document" >"$document"
    if [[ -n ${FUZZ_KEEP:-} ]]; then keep "$name"; fi
done
exit "$failed"
