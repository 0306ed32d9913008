//! bash killed and its terminal closed at random points of a running batch: the affected
//! command is reported as lost, all others run once, and the recording verifies.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use telechir_runtime::verify;
use telechir_testkit::gate::{Component, require};

use super::batch::{Batch, COMMANDS};
use super::draw::Draw;
use super::{number, print};

/// Enough of each kind for every test run; `make soak` sets more.
const POINTS: u64 = 10;

/// What a running batch loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strike {
    /// bash is killed with -9.
    Bash,
    /// Its terminal is closed.
    Terminal,
}

/// The result of a strike.
#[derive(Debug)]
struct StrikeResult {
    reply: Value,
    /// Calls whose result does not contain their command's output.
    hit: Vec<String>,
}

#[test]
fn a_lost_bash_or_terminal_costs_exactly_one_command() {
    require(Component::Sandbox);
    let points = number("TELECHIR_KILL_POINTS").unwrap_or(POINTS);
    let seed = number("TELECHIR_KILL_SEED").unwrap_or(20_261_120);
    let mut draw = Draw::new(seed ^ 0x5712_1ce5);
    let (mut strikes, mut hits) = (0, 0);
    for point in 0..points {
        let strike = if point % 2 == 0 {
            Strike::Bash
        } else {
            Strike::Terminal
        };
        let batch = Batch::new(&mut draw);
        let Some(struck) = batch.send_and_strike(&mut draw, strike) else {
            print(&format!(
                "seed {seed} point {point}: {strike:?}: too late\n"
            ));
            continue;
        };
        print(&format!(
            "seed {seed} point {point}: {strike:?}: hit {:?}\n",
            struck.hit
        ));
        (strikes, hits) = (strikes + 1, hits + struck.hit.len());
        batch.send_again(&struck.reply);
    }
    assert!(
        strikes * 2 >= points,
        "only {strikes} strikes at {points} points"
    );
    print(&format!(
        "\nbash killed or its terminal closed {strikes} times; {hits} commands hit and reported \
         as lost. Repeated: 0. Left over: 0. All recordings verify.\n"
    ));
}

impl Batch {
    /// Sends the response, strikes after a random number of effects and a random delay, and waits
    /// for the reply. `None` if the batch finished before the strike.
    fn send_and_strike(&self, draw: &mut Draw, strike: Strike) -> Option<StrikeResult> {
        // Not before the first effect: if bash dies during startup, the run cannot continue.
        let wanted = 1 + draw.below(COMMANDS as u64 - 1);
        let delay = draw.time(20);
        let mut victim = self.start();
        let poll = Duration::from_millis(1);
        while (victim.terminal_leader().is_none() || (self.lines().len() as u64) < wanted)
            && victim.runs_after(poll)
        {}
        let _already_exited = victim.runs_after(delay);
        let leader = victim.terminal_leader()?;
        match strike {
            Strike::Bash => signal(leader, rustix::process::Signal::KILL),
            Strike::Terminal => close_terminal(leader),
        }
        let reply = victim.finish_and_check();
        self.telechir().assert_nothing_left();
        let hit = self.check(&reply);
        Some(StrikeResult { reply, hit })
    }

    /// Checks the invariants of the reply and the recording; returns the affected calls.
    fn check(&self, reply: &Value) -> Vec<String> {
        let results = reply.as_array().expect("results");
        assert_eq!(results.len(), COMMANDS, "each call has exactly one result");
        let lines = self.lines();
        let unique: BTreeSet<&String> = lines.iter().collect();
        assert_eq!(unique.len(), lines.len(), "repeated: {lines:?}");
        let mut hit = Vec::new();
        for result in results {
            let call = result["tool_use_id"].as_str().expect("an id").to_owned();
            let text = result["content"].to_string();
            if text.contains(&format!("said-{call}")) {
                assert!(
                    unique.contains(&call),
                    "{call} is reported as done but has no effect"
                );
            } else {
                // An unobserved success is never reported.
                let is_reported = ["the shell ended", "the shell: it is gone"];
                let is_reported = is_reported.iter().any(|fragment| text.contains(fragment));
                assert!(is_reported, "{call}: {text}");
                hit.push(call);
            }
        }
        // A loss during one command may be detected only at the next one.
        assert!(hit.len() <= 2, "{hit:?}");
        verify(self.recording()).expect("a valid recording");
        hit
    }

    /// Sends the response to a new session of the same run, which replies from the recording.
    fn send_again(&self, before: &Value) {
        let lines = self.lines();
        let reply = self.start().finish();
        assert_eq!(reply, *before);
        assert_eq!(self.lines(), lines, "no command runs again");
    }
}

/// Hangs up the terminal, as closing it does. Only root can do that from another process; other
/// users send SIGHUP to bash.
fn close_terminal(leader: u32) {
    if !rustix::process::geteuid().is_root() {
        return signal(leader, rustix::process::Signal::HUP);
    }
    const TIOCVHANGUP: &str = "0x5437";
    let script = format!(
        "open(T, '+<', '/proc/{leader}/fd/0') or exit 0; ioctl(T, {TIOCVHANGUP}, 0) or die $!"
    );
    let hung_up = Command::new("perl").args(["-e", &script]).status();
    assert!(hung_up.expect("perl").success());
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    // The process may have exited already.
    let _may_have_exited = rustix::process::kill_process(pid.expect("a number"), signal);
}
