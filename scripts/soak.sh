#!/usr/bin/env bash
# Long runs. Kills a running batch of real shell commands with -9 at random points, sends the same
# response again, and checks each time that nothing was lost, repeated or left over. Prints every
# point and a table. KILL_POINTS says how many (100), KILL_SEED brings a run's points back.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

export TELECHIR_KILL_POINTS=${KILL_POINTS:-100}
export TELECHIR_KILL_SEED=${KILL_SEED:-$RANDOM}
cargo test --quiet --package telechir --test it -- --test-threads=1 --nocapture \
  --exact journal_kills::a_kill_at_any_point_loses_nothing_and_repeats_nothing \
  journal_kills::strike::a_bash_or_terminal_that_is_lost_costs_one_command_and_no_more
