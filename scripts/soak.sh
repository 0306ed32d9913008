#!/usr/bin/env bash
# Long runs, in this order:
#
# 1. Typing: types text of all scripts into a real editor, reads it back from the saved file, and
#    fills in a LibreOffice sheet. TYPING_RUNS: repetitions [default: 100].
# 2. Kills: kills a running batch of real shell commands with SIGKILL at random points, sends the
#    same response again, and checks each time that nothing was lost, repeated or left over. Prints
#    every point and a table. Also kills bash and its terminal under running batches.
#    Kills runs of a model likewise and resumes them. RESUME_POINTS: number of them [default: 20].
#    KILL_POINTS: number of points [default: 100]. KILL_SEED: seed of the points [default: random].
# 3. Settling: compares screenshots of real applications with the screen two seconds later
#    (scripts/settling.sh). Then drags in real programs (scripts/drag-and-drop.sh), and tasks
#    (scripts/tasks.sh). RUNS: repetitions of each task [default: 10].
# 4. Browser cycles: opens and closes browsers and contexts, and checks that nothing is left.
#    BROWSER_CYCLES: repetitions [default: 100].
# 5. Payload limits: payloads of 100 MB in every dialect (scripts/payload-limits.sh).
# 6. Fuzzing: every reader of external bytes (scripts/fuzz.sh). FUZZ_SECONDS: time per target
#    [default: 600].
# 7. Reading: reads the elements of large programs while dialogs open and close
#    (scripts/reading.sh). READING_ROUNDS: rounds per program [default: 200].
# 8. The HTTP API: its OpenAPI document and types made of it (scripts/openapi.sh), and generated requests
#    by the document (scripts/schemathesis.sh).
# 9. The server: 50 sessions and 200 viewers, killed under load (scripts/server-soak.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
APPLICATIONS=1 scripts/setup.sh

export TELECHIR_TYPING_RUNS=${TYPING_RUNS:-100}
cargo test --quiet --package telechir-x11 --test it -- typing:: applications:: --nocapture --test-threads 1

export TELECHIR_KILL_POINTS=${KILL_POINTS:-100}
export TELECHIR_KILL_SEED=${KILL_SEED:-$RANDOM}
export TELECHIR_RESUME_POINTS=${RESUME_POINTS:-20}
cargo test --quiet --package telechir --test it -- --test-threads=1 --nocapture \
  --exact journal_kills::a_kill_at_any_point_loses_nothing_and_repeats_nothing \
  runs::resume::a_killed_run_continues_and_repeats_nothing \
  journal_kills::strike::a_lost_bash_or_terminal_costs_exactly_one_command

scripts/settling.sh

scripts/drag-and-drop.sh

scripts/tasks.sh

TELECHIR_CYCLES=${BROWSER_CYCLES:-100} cargo test --quiet --package telechir-browser --test it -- \
  cycles:: --nocapture --test-threads=1

scripts/payload-limits.sh

scripts/fuzz.sh

scripts/reading.sh

scripts/openapi.sh
EXAMPLES=${EXAMPLES:-200} scripts/schemathesis.sh

TABLE=1 scripts/server-soak.sh
