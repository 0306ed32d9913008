//! How much the programs that draw on a display work, from what Linux says in `/proc`.
//!
//! Knows only those of this machine, and says so when it knows none.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use tokio::time::Instant;

/// Over a shorter time the background is not measured: an action's own work would be most of it.
const LEAST_BACKGROUND: Duration = Duration::from_millis(300);
/// More processes than a desktop has; reading on would take longer than it is worth.
const MOST_PROCESSES: usize = 400;

/// Measures the processes below those it is told of.
#[derive(Debug, Default)]
pub(super) struct Work {
    last: Option<Sample>,
    /// The share of a core that they took while nobody acted, such as a video does.
    background: f64,
}

/// Process and thread.
type Thread = (u32, u32);

/// Nanoseconds that each thread has run, or waited for a core, so far.
#[derive(Debug)]
struct Sample {
    at: Instant,
    threads: HashMap<Thread, u64>,
}

impl Work {
    /// Begins to measure, and learns what they did since the last time.
    pub(super) fn begin(&mut self, roots: &[u32], now: Instant) {
        let last = self.last.take();
        self.last = Sample::take(roots, now);
        if let (Some(last), Some(new)) = (last, &self.last)
            && now - last.at >= LEAST_BACKGROUND
        {
            self.background = new.share_since(&last);
        }
    }

    /// Whether they work more than they do by themselves, measured since the last look; none
    /// when it cannot be told.
    pub(super) fn is_busy(&mut self, roots: &[u32], now: Instant) -> Option<bool> {
        let new = Sample::take(roots, now)?;
        let last = self.last.replace(new)?;
        let new = self.last.as_ref()?;
        if new.share_since(&last) > 0.1 + self.background * 1.2 {
            return Some(true);
        }
        // A thread that waits for a core or a disk is told of only once it goes on.
        Some(self.background < 0.1 && new.threads.keys().copied().any(is_waiting))
    }
}

impl Sample {
    /// None when there is no process to be seen.
    fn take(roots: &[u32], at: Instant) -> Option<Self> {
        let mut threads = HashMap::new();
        let mut seen: HashSet<u32> = HashSet::from([std::process::id()]);
        let mut open: Vec<u32> = roots.to_vec();
        while let Some(process) = open.pop() {
            if seen.len() > MOST_PROCESSES {
                break;
            }
            if seen.insert(process) {
                look_at(process, &mut threads, &mut open);
            }
        }
        (!threads.is_empty()).then_some(Self { at, threads })
    }

    /// Cores that were used, or wanted, on average. Threads that ended are left out.
    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of one wait are far below 2^52"
    )]
    fn share_since(&self, before: &Self) -> f64 {
        let wall = (self.at - before.at).as_nanos().max(1) as f64;
        let used: u64 = self
            .threads
            .iter()
            .map(|(thread, time)| {
                time.saturating_sub(before.threads.get(thread).copied().unwrap_or(0))
            })
            .sum();
        used as f64 / wall
    }
}

/// Adds the times of a process's threads, and the processes that they started.
fn look_at(process: u32, threads: &mut HashMap<Thread, u64>, children: &mut Vec<u32>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return; // It ended.
    };
    let ids = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok());
    for id in ids {
        let folder = format!("/proc/{process}/task/{id}");
        if let Ok(text) = fs::read_to_string(format!("{folder}/schedstat")) {
            threads.insert((process, id), wanted(&text));
        }
        if let Ok(text) = fs::read_to_string(format!("{folder}/children")) {
            children.extend(
                text.split_ascii_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
    }
}

/// Whether a thread would run if it could.
fn is_waiting((process, thread): Thread) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat"));
    stat.is_ok_and(|stat| is_ready(&stat))
}

/// The letter behind the name, which stands in brackets and may hold any character.
fn is_ready(stat: &str) -> bool {
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with(['R', 'D']))
}

/// The first two numbers: time on a core, and time ready to run without one, which on a busy
/// machine is most of an application's work.
fn wanted(schedstat: &str) -> u64 {
    let numbers = schedstat.split_ascii_whitespace().take(2);
    numbers
        .filter_map(|number| number.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_running_and_waiting() {
        assert_eq!(wanted("233012968 58434542 943\n"), 291_447_510);
        assert_eq!(wanted(""), 0);
    }

    #[test]
    fn ready_is_running_or_waiting_for_a_disk() {
        assert!(is_ready("12 (a) S) R 1 12"));
        assert!(is_ready("12 (bash) D 1 12"));
        assert!(!is_ready("12 (R) S 1 12"));
        assert!(!is_ready(""));
    }

    #[test]
    fn a_share_is_of_the_time_between() {
        let start = Instant::now();
        let sample = |ms, threads: &[(Thread, u64)]| Sample {
            at: start + Duration::from_millis(ms),
            threads: threads.iter().copied().collect(),
        };
        let before = sample(0, &[((1, 1), 5_000_000), ((1, 2), 9_000_000)]);
        // One thread ran for 5 ms of 20, another ended, a third is new and ran for 5.
        let after = sample(20, &[((1, 1), 10_000_000), ((1, 3), 5_000_000)]);
        assert!((after.share_since(&before) - 0.5).abs() < 1e-9);
    }
}
