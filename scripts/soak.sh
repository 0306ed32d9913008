#!/usr/bin/env bash
# Long runs.
#
# Kills a running batch of real shell commands with -9 at random points, sends the same response
# again, and checks each time that nothing was lost, repeated or left over. Prints every point and
# a table. KILL_POINTS says how many (100), KILL_SEED brings a run's points back.
#
# Then acts on real applications and compares each picture with the screen two seconds later
# (scripts/settling.sh).
#
# Before, types texts of all scripts into a real editor and reads them back from its file,
# TYPING_RUNS times (100), and fills in a sheet of LibreOffice's.
#
# Opens and closes browsers and contexts BROWSER_CYCLES times (100), and looks for what is left.
#
# Bodies of a hundred million bytes, for every dialect (scripts/payload-limits.sh).
#
# Last, fuzzes every reader of what comes from outside, FUZZ_SECONDS each (600): scripts/fuzz.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
APPLICATIONS=1 scripts/setup.sh

export TELECHIR_TYPING_RUNS=${TYPING_RUNS:-100}
cargo test --quiet --package telechir-x11 --test it -- typing:: applications:: --nocapture --test-threads 1

export TELECHIR_KILL_POINTS=${KILL_POINTS:-100}
export TELECHIR_KILL_SEED=${KILL_SEED:-$RANDOM}
cargo test --quiet --package telechir --test it -- --test-threads=1 --nocapture \
  --exact journal_kills::a_kill_at_any_point_loses_nothing_and_repeats_nothing \
  journal_kills::strike::a_bash_or_terminal_that_is_lost_costs_one_command_and_no_more

scripts/settling.sh

TELECHIR_CYCLES=${BROWSER_CYCLES:-100} cargo test --quiet --package telechir-browser --test it -- \
  cycles:: --nocapture --test-threads=1

scripts/payload-limits.sh

scripts/fuzz.sh
