#!/usr/bin/env bash
# Makes docs/view.png and docs/view-narrow.png anew: the live page of a session that asks, wide and light,
# and narrow and dark, in telechir's own browser. Look at them before you commit them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cargo build --quiet --package telechir
telechir=$(realpath "${CARGO_TARGET_DIR:-target}/debug/telechir")
scratch=$(mktemp -d)
chmod 0711 "$scratch"
export XDG_RUNTIME_DIR=$scratch/run XDG_STATE_HOME=$scratch/state XDG_CONFIG_HOME=$scratch/config
mkdir -m 0700 "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"
mkdir "$scratch/work" "$scratch/site"
processes=()
cleanup() {
  "$telechir" sessions list --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d '"' -f 4 \
    | while read -r name; do "$telechir" sessions close "$name" >/dev/null || true; done || true
  kill "${processes[@]}" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
# What matches in a file, once it is there.
await() {
  until grep -om 1 "$2" "$1"; do sleep 0.1; done
}

cat >"$scratch/site/index.html" <<'PAGE'
<!doctype html><html lang="en"><title>Releases</title>
<style>body { font: 18px/1.6 system-ui; margin: 3rem; max-width: 50rem } button { font: inherit; padding: .4rem 1rem }</style>
<h1>Releases</h1><p>The newest release is 1.4.0. Its notes are a draft.</p>
<ul><li>Sessions go on after a restart.<li>Recordings are read while they grow.<li>Two people answer the same question once.</ul>
<label>Title <input value="1.4.0: sessions that last"></label> <button>Publish the notes</button>
PAGE
cat >"$scratch/work/policy.toml" <<'POLICY'
[[url]]
host = ["127.0.0.1"]
verdict = "allow"
reason = "The page of the pictures."

[[shell]]
words = ["git", "push"]
verdict = "ask"
reason = "Others see what is pushed."

[[computer]]
actions = ["javascript"]
verdict = "allow"
reason = "The pictures."
POLICY
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$scratch/site" >"$scratch/site.log" 2>&1 &
processes+=($!)
"$telechir" serve --shell --browser --headless --policy "$scratch/work/policy.toml" \
  --listen 127.0.0.1:0 2>"$scratch/serve.log" >/dev/null &
processes+=($!)
site=http://127.0.0.1:$(await "$scratch/site.log" 'port [0-9]*' | cut -d ' ' -f 2)/
url=$(await "$scratch/serve.log" 'http://127.0.0.1:[0-9]*')
agent=$("$telechir" tokens new agent --name writer)
operator=$("$telechir" tokens new operator --name ann)
# request TOKEN PATH [BODY] [HEADER]
request() {
  curl --silent --show-error --fail-with-body --header "Authorization: Bearer $1" \
    --header 'Content-Type: application/json' ${4:+--header "$4"} ${3:+--data "$3"} "$url$2"
}
member() {
  grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}
id=$(request "$agent" /v1/sessions '{"name": "Release notes", "devices": ["browser", "shell"]}' | member id)
calls=/v1/sessions/$id/calls
screen='{"type": "computer_call", "target": "browser", "call_id"'
request "$agent" "$calls" "{\"contents\": [$screen: \"c1\", \"actions\": [{\"action\": \"navigate\", \"url\": \"$site\"}]}]}" >/dev/null
request "$agent" "$calls" "{\"contents\": [$screen: \"c2\", \"actions\": [{\"action\": \"click\", \"x\": 400, \"y\": 384}]}]}" >/dev/null
shell='{"type": "shell_call", "call_id"'
request "$agent" "$calls" "{\"contents\": [$shell: \"s1\", \"commands\": [\"echo 1.4.0 > version\"]}]}" >/dev/null
request "$agent" "$calls" "{\"contents\": [$shell: \"s2\", \"commands\": [\"git push origin main\"]}]}" 'Prefer: respond-async' >/dev/null

# picture FILE SIZE SCHEME: the page of the session, once it shows the question, the screen and the calls.
picture() {
  local ticket
  ticket=$(curl --silent --fail-with-body --request POST --header "Authorization: Bearer $operator" "$url/v1/tickets" | member ticket)
  look() { "$telechir" do --session "$1" "${@:2}"; }
  look "$1" --browser --headless --display "$2" --color-scheme "$3" --policy "$scratch/work/policy.toml" \
    open "$url/#ticket=$ticket&session=$id" >/dev/null
  until look "$1" js "[!document.querySelector('.question button:disabled'), \
      document.querySelector('.session canvas')?.width > 0, document.querySelectorAll('.call').length > 3].join()" \
    | grep -q true,true,true; do sleep 0.2; done
  look "$1" screenshot "$root/docs/$1.png" >/dev/null
}
picture view 1280x900 light
picture view-narrow 390x1400 dark
