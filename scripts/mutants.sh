#!/usr/bin/env bash
# Mutation testing: changes one expression at a time and runs the crate's tests; a mutant that
# no test fails on survives. Writes the table of docs/design/mutants.md, and fails if a crate is below 97 %
# or a survivor has no reason there. A complete run takes hours.
#
# MUTANTS_CRATES: crates to run [default: all of them; `none`: only write the document].
# MUTANTS_SHARD: part K/N of each crate's mutants, K from 0: every Nth mutant, so that a run can be
#   divided and a part is a sample [default: 0/1]. The parts of a crate must be of the same state of
#   its sources.
# MUTANTS_FILES: only files that match this glob, for a trial; its results are printed, not kept.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=27.1.0
tools=$target/tools
folder=$target/mutants
source=$folder/source
shard=${MUTANTS_SHARD:-0/1}
[[ $shard =~ ^([0-9]+)/([0-9]+)$ && ${BASH_REMATCH[1]} -lt ${BASH_REMATCH[2]} ]] ||
    { echo "mutants: MUTANTS_SHARD is $shard; expected K/N with K from 0 to N-1" >&2; exit 1; }

# The files of each crate that are mutated.
declare -A files=(
    [telechir-policy]='crates/telechir-policy/src/**'
    [telechir-egress]='crates/telechir-egress/src/**'
    [telechir-runtime]='crates/telechir-runtime/src/{pipeline,journal}{.rs,/**}'
    [telechir-process]='crates/telechir-process/src/confinement{.rs,/**}'
)
# The crates whose tests run; for others its own alone. A sandbox is tested where it is used.
declare -A tests=([telechir-process]='telechir-process telechir-shell')
names=(telechir-policy telechir-egress telechir-runtime telechir-process)
read -ra crates <<<"${MUTANTS_CRATES:-${names[*]}}"
[[ ${crates[*]} != none ]] || crates=()
for crate in "${crates[@]}"; do
    [[ -n ${files[$crate]:-} ]] || { echo "mutants: unknown crate $crate; expected ${names[*]}" >&2; exit 1; }
done

if [[ ${#crates[@]} -gt 0 ]]; then
    if ! "$tools/bin/cargo-mutants" mutants --version 2>/dev/null | grep -qF "$version"; then
        echo "mutants: installing cargo-mutants $version"
        cargo install --quiet --locked --root "$tools" --version "$version" cargo-mutants ||
            { echo "mutants: installation failed; for details run: cargo install cargo-mutants" >&2; exit 1; }
    fi
    # A copy of the sources, whose build output is kept, so that dependencies are built once.
    mkdir -p "$source"
    find "$source" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done |
        tar --create --null --files-from=- | tar --extract --directory="$source"
fi

status=0
for crate in "${crates[@]}"; do
    part=$folder/$crate/${shard/\//-of-}
    pattern=${files[$crate]}
    if [[ -n ${MUTANTS_FILES:-} ]]; then
        part=$folder/trial
        pattern=$MUTANTS_FILES
    fi
    rm -rf "$part"
    mkdir -p "$part"
    packages=()
    for package in ${tests[$crate]:-$crate}; do packages+=(--test-package "$package"); done
    (cd "$source" && env -u CARGO_TARGET_DIR "$tools/bin/cargo-mutants" mutants --list --package "$crate" \
        --file "$pattern") | wc -l >"$folder/$crate.total"
    # 2: some survived; 3: some timed out. Others mean that the run itself failed.
    code=0
    (cd "$source" && env -u CARGO_TARGET_DIR "$tools/bin/cargo-mutants" mutants --in-place --package "$crate" \
        --file "$pattern" --shard "$shard" --sharding round-robin --output "$part" --minimum-test-timeout 120 \
        "${packages[@]}" --no-shuffle --colors never) || code=$?
    case $code in
    0 | 2 | 3) ;;
    *) echo "mutants: $crate failed with exit code $code" >&2 && exit 1 ;;
    esac
done
if [[ -z ${MUTANTS_FILES:-} ]]; then
    /usr/bin/python3 scripts/mutants_table.py "$folder" docs/design/mutants.md "${names[@]}" || status=$?
fi
exit "$status"
