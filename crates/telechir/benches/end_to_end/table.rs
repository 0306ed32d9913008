//! Tables of medians: telechir's rows, each followed by those of other tools.

use std::time::{Duration, Instant};

/// Performs an action once and returns its duration, or why it cannot run here.
pub(crate) struct Contestant<'a> {
    name: String,
    /// Number of rounds, including the first.
    rounds: usize,
    run: Result<Run<'a>, String>,
}

type Run<'a> = Box<dyn FnMut() -> Result<Duration, String> + 'a>;

impl<'a> Contestant<'a> {
    /// Measures the duration of a call.
    pub(crate) fn new(name: impl Into<String>, mut work: impl FnMut() + 'a) -> Self {
        Self::timed(name, move || {
            let start = Instant::now();
            work();
            start.elapsed()
        })
    }

    /// Reports its own duration.
    pub(crate) fn timed(name: impl Into<String>, mut run: impl FnMut() -> Duration + 'a) -> Self {
        Self::fallible(name, move || Ok(run()))
    }

    /// May fail, at once or later; then it counts as missing.
    pub(crate) fn fallible(
        name: impl Into<String>,
        run: impl FnMut() -> Result<Duration, String> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            rounds: usize::MAX,
            run: Ok(Box::new(run)),
        }
    }

    /// Cannot run on this machine.
    pub(crate) fn missing(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rounds: 0,
            run: Err(why.into()),
        }
    }

    /// Takes part in only `rounds` counted rounds, because it is slow.
    pub(crate) fn at_most(mut self, runs: usize) -> Self {
        self.rounds = self.rounds.min(runs + 1);
        self
    }
}

/// Prints a table's title and header.
pub(crate) fn table(title: &str) {
    eprintln!("{title}");
    println!("\n## {title}\n");
    println!("| what | median | p10 to p90 | runs | relative to telechir |\n|---|---|---|---|---|");
}

/// Prints a remark below a table.
pub(crate) fn remark(text: &str) {
    println!("\n{text}");
}

/// Runs the contestants in turn, repeatedly, so that other load affects all of them alike. The
/// first is telechir.
pub(crate) fn compare(runs: usize, mut contestants: Vec<Contestant<'_>>) {
    // A single round checks that everything runs.
    let is_quick = std::env::args().any(|word| word == "--quick");
    let runs = if is_quick { 2 } else { runs };
    let mut times: Vec<Vec<Duration>> = contestants.iter().map(|_| Vec::new()).collect();
    // The first round warms caches and is not counted.
    for round in 0..=runs {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            if let Ok(run) = &mut contestant.run
                && round < contestant.rounds
            {
                match run() {
                    Ok(time) if round > 0 => times.push(time),
                    Ok(_) => {}
                    Err(why) => contestant.run = Err(why),
                }
            }
        }
    }
    let mut telechir_run = None;
    for (contestant, mut times) in contestants.iter().zip(times) {
        times.sort();
        let name = &contestant.name;
        if let Err(why) = &contestant.run {
            println!("| {name} | missing: {why} | | | **not run** |");
            continue;
        }
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        let median = at(50);
        let (name, beside) = match telechir_run {
            None => (format!("**{name}**"), String::new()),
            Some(telechir_run) => (
                name.clone(),
                format!("{} times", digits(median / telechir_run)),
            ),
        };
        telechir_run.get_or_insert(median);
        println!(
            "| {name} | {} ms | {} to {} | {} | {beside} |",
            digits(median),
            digits(at(10)),
            digits(at(90)),
            times.len()
        );
    }
}

/// Formats a number with three significant digits.
fn digits(number: f64) -> String {
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$}")
}
