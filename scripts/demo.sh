#!/usr/bin/env bash
# The demo: a model reads a random word from a page in the browser, writes it into a note with the
# editor on the desktop, and checks the file from the shell.
#
# Without an API key a recorded model is played over real HTTP, once in the dialect of each
# provider. With ANTHROPIC_API_KEY or OPENAI_API_KEY the live model of that provider is used.
#
# DEMO_MODEL: another live model.
# DEMO_OUT: folder for recording and report [default: demo-report].
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

# Starts the server of the page, and of the recorded model if a script is given, and waits for the
# line that it prints when it listens.
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

# Stops it. It exits with 1 if it refused a request or its script was not played to the end.
stop_server() {
    local status=0
    kill "$model_pid"
    cat <&3
    exec 3<&-
    wait "$model_pid" || status=$?
    model_pid=
    [[ $status == 0 ]] || fail "the server refused a request, or its script was not played to the end"
}

run_task() {
    local name=$1 provider=$2 model=$3
    shift 3
    local workspace="$scratch/$name"
    mkdir "$workspace"
    local task="Open $page_url in the browser; it shows a random word. An empty note is open in a text \
editor on the desktop. Write that word, and nothing else, into the note and save it as note.txt in \
the folder that the dialog offers. Then check with the shell that note.txt contains the word, and \
report the result."
    "$bin/telechir" run "$task" --provider "$provider" --model "$model" \
        --desktop --browser --shell --start-app mousepad --workspace "$workspace" \
        --policy demo/policy.toml --record "$out/recording" --max-steps 30 "$@" 2>&1 ||
        fail "telechir run exited with code $?"
    # Check the file itself, not the answer of the model.
    [[ -f $workspace/note.txt ]] || fail "note.txt not found; the folder contains: $(ls -A "$workspace")"
    local word found
    word=$(cat "$scratch/$name.word")
    found=$(cat "$workspace/note.txt")
    [[ $found == "$word" ]] || fail "note.txt contains '$found', expected '$word'"
    echo "demo: verified: note.txt contains $word, the random word of this run"
}

recorded() {
    local provider=$1 model=$2
    echo
    echo "=== $provider: a RECORDED model, not a live one; every request it receives is checked ==="
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
echo "demo: passed. Report with every screenshot, call, verdict and result: $out/report.html"
