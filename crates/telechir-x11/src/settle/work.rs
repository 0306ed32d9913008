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

/// Nanoseconds that each thread has run, or waited for a core, so far.
#[derive(Debug)]
struct Sample {
    at: Instant,
    threads: HashMap<u32, u64>,
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
        let share = self.last.as_ref()?.share_since(&last);
        Some(share > 0.1 + self.background * 1.2)
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
fn look_at(process: u32, threads: &mut HashMap<u32, u64>, children: &mut Vec<u32>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return; // It ended.
    };
    let ids = tasks
        .flatten()
        .filter_map(|task| task.file_name().to_str()?.parse().ok());
    for id in ids {
        let folder = format!("/proc/{process}/task/{id}");
        if let Ok(text) = fs::read_to_string(format!("{folder}/schedstat")) {
            threads.insert(id, wanted(&text));
        }
        if let Ok(text) = fs::read_to_string(format!("{folder}/children")) {
            children.extend(
                text.split_ascii_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
    }
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
    fn a_share_is_of_the_time_between() {
        let start = Instant::now();
        let sample = |ms, threads: &[(u32, u64)]| Sample {
            at: start + Duration::from_millis(ms),
            threads: threads.iter().copied().collect(),
        };
        let before = sample(0, &[(1, 5_000_000), (2, 9_000_000)]);
        // One thread ran for 5 ms of 20, another ended, a third is new and ran for 5.
        let after = sample(20, &[(1, 10_000_000), (3, 5_000_000)]);
        assert!((after.share_since(&before) - 0.5).abs() < 1e-9);
    }
}
