#!/usr/bin/env bash
# The demo: a model reads a word drawn for this run from a page in the browser, writes it into a
# note with the editor on the desktop, and checks the file from the shell.
#
# Without a key the model is a recorded one, played over real HTTP, once in the words of each
# provider; with ANTHROPIC_API_KEY or OPENAI_API_KEY that provider's live model does it.
# DEMO_MODEL names another live model, DEMO_OUT another folder for the recording and the report.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
bin=${CARGO_TARGET_DIR:-$root/target}/debug
out=${DEMO_OUT:-$root/demo-report}
scratch=$(mktemp -d /tmp/telechir-demo.XXXXXX)
chmod 711 "$scratch"
model_pid=

clean_up() {
    if [[ -n $model_pid ]]; then kill "$model_pid" 2>/dev/null || true; fi
    rm -rf "$scratch"
}
trap clean_up EXIT

fail() {
    echo "demo: FAILED: $*" >&2
    exit 1
}

cargo build --quiet -p telechir -p telechir-testkit --bins
rm -rf "$out"
mkdir -p "$out"

# Starts the server of the page, and of the recorded model when a script is named, and waits for
# the one line it prints when it listens.
start_server() {
    local name=$1
    shift
    mkfifo "$scratch/$name.pipe"
    "$bin/recorded-model" --page demo/page.html --word-file "$scratch/$name.word" "$@" \
        >"$scratch/$name.pipe" 2>"$scratch/$name.errors" &
    model_pid=$!
    exec 3<"$scratch/$name.pipe"
    read -r -t 20 line <&3 || fail "the server did not start: $(cat "$scratch/$name.errors")"
    base_url=$(sed -E 's/.*"base_url":"([^"]*)".*/\1/' <<<"$line")
    page_url=$(sed -E 's/.*"page_url":"([^"]*)".*/\1/' <<<"$line")
}

# Ends it; it ends with 1 when it refused a request or its script was not played to the end.
stop_server() {
    local status=0
    kill "$model_pid"
    cat <&3
    exec 3<&-
    wait "$model_pid" || status=$?
    model_pid=
    [[ $status == 0 ]] || fail "a request was refused, or the script was not played to its end"
}

run_task() {
    local name=$1 provider=$2 model=$3
    shift 3
    local workspace="$scratch/$name"
    mkdir "$workspace"
    local task="Open $page_url in the browser: it shows a word that was drawn for this run. \
On the desktop an empty note is open in a text editor. Write that word, and nothing else, into the \
note and save it as note.txt in the folder that the dialog offers. Then check with the shell that \
note.txt holds the word, and say so."
    "$bin/telechir" run "$task" --provider "$provider" --model "$model" \
        --desktop --browser --shell --launch mousepad --workspace "$workspace" \
        --policy demo/policy.toml --record "$out/recording" --max-steps 30 "$@" 2>&1 ||
        fail "telechir run ended with $?"
    # The script looks for itself; what the model said counts for nothing.
    [[ -f $workspace/note.txt ]] || fail "there is no note.txt; the folder holds: $(ls -A "$workspace")"
    local word found
    word=$(cat "$scratch/$name.word")
    found=$(cat "$workspace/note.txt")
    [[ $found == "$word" ]] || fail "note.txt holds '$found' where '$word' was drawn"
    echo "demo: checked: note.txt holds $word, the word that was drawn for this run"
}

recorded() {
    local provider=$1 model=$2
    echo
    echo "=== $provider: a RECORDED model, not a live one; every request it gets is checked ==="
    start_server "$provider" --script "crates/telechir-testkit/recordings/$provider.json"
    local key_name=${provider^^}_API_KEY
    export "$key_name=recorded-model"
    run_task "$provider" "$provider" "$model" --base-url "$base_url"
    unset "$key_name"
    stop_server
}

live() {
    local provider=$1 model=$2
    echo
    echo "=== $provider: the live model $model ==="
    start_server "$provider"
    run_task "$provider" "$provider" "$model"
    stop_server
}

if [[ -n ${ANTHROPIC_API_KEY:-} ]]; then
    live anthropic "${DEMO_MODEL:-claude-opus-5-5}"
elif [[ -n ${OPENAI_API_KEY:-} ]]; then
    live openai "${DEMO_MODEL:-gpt-5.6-sol}"
else
    recorded anthropic claude-opus-5-5
    recorded openai gpt-5.6-sol
fi

"$bin/telechir" audit verify "$out/recording"
"$bin/telechir" report "$out/recording" --out "$out/report.html"
echo
echo "demo: passed. The report, with every screenshot, call, verdict and answer: $out/report.html"
