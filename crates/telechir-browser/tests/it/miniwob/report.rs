//! The results per task.

use std::fmt::Write as _;
use std::time::Duration;

/// The result of one task with one seed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) task: &'static str,
    pub(super) seed: u32,
    /// The reward before the discount for time.
    pub(super) reward: Option<f64>,
    /// Why there is no reward.
    pub(super) error: Option<String>,
    /// The time from the start of the episode to the verdict.
    pub(super) took: Duration,
}

impl Outcome {
    pub(super) const fn new(task: &'static str, seed: u32) -> Self {
        Self {
            task,
            seed,
            reward: None,
            error: None,
            took: Duration::ZERO,
        }
    }

    /// Whether the reward is positive.
    pub(super) fn is_solved(&self) -> bool {
        self.reward.is_some_and(|reward| reward > 0.0)
    }
}

/// A table with one line per task, and the unsolved episodes.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let solved = outcomes.iter().filter(|one| one.is_solved()).count();
    let tasks = || outcomes.chunk_by(|one, next| one.task == next.task);
    let full = tasks().filter(|of_task| of_task.iter().all(Outcome::is_solved));
    let mut text = format!(
        "{solved} of {} episodes are solved, and {} of {} tasks with every seed.\n\n\
         | task | solved | lowest reward | median time |\n|---|---|---|---|\n",
        outcomes.len(),
        full.count(),
        tasks().count(),
    );
    let mut unsolved = String::new();
    for of_task in tasks() {
        let solved: Vec<&Outcome> = of_task.iter().filter(|one| one.is_solved()).collect();
        let lowest = of_task.iter().filter_map(|one| one.reward).reduce(f64::min);
        let lowest = lowest.map_or_else(|| "none".to_owned(), |lowest| format!("{lowest:.2}"));
        let mut times: Vec<Duration> = solved.iter().map(|one| one.took).collect();
        times.sort();
        let median = times.get(times.len() / 2);
        let median = median.map_or_else(String::new, |time| format!("{} ms", time.as_millis()));
        let (task, count, all) = (of_task[0].task, solved.len(), of_task.len());
        let _ = writeln!(text, "| {task} | {count}/{all} | {lowest} | {median} |");
        for one in of_task.iter().filter(|one| !one.is_solved()) {
            let reason = one
                .error
                .as_deref()
                .unwrap_or("the page rejects the result");
            let _ = writeln!(unsolved, "- {task}, seed {}: {reason}", one.seed);
        }
    }
    if !unsolved.is_empty() {
        let _ = write!(text, "\nNot solved:\n\n{unsolved}");
    }
    text
}
