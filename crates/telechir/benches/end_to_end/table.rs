//! Tables of medians, with what is not ours under what is.

use std::time::{Duration, Instant};

/// What does a thing once and says how long it took; or why it cannot be run here.
pub(crate) struct Contestant<'a> {
    name: String,
    /// Rounds it takes part in, the first included.
    rounds: usize,
    run: Result<Run<'a>, String>,
}

type Run<'a> = Box<dyn FnMut() -> Result<Duration, String> + 'a>;

impl<'a> Contestant<'a> {
    /// Times a whole call.
    pub(crate) fn new(name: impl Into<String>, mut work: impl FnMut() + 'a) -> Self {
        Self::timed(name, move || {
            let start = Instant::now();
            work();
            start.elapsed()
        })
    }

    /// One that says itself how long it took.
    pub(crate) fn timed(name: impl Into<String>, mut run: impl FnMut() -> Duration + 'a) -> Self {
        Self::fallible(name, move || Ok(run()))
    }

    /// One that may fail, at once or later, and then cannot be run here.
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

    /// One that cannot be run here.
    pub(crate) fn missing(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rounds: 0,
            run: Err(why.into()),
        }
    }

    /// Takes part in so many counted rounds only: it is slow.
    pub(crate) fn at_most(mut self, runs: usize) -> Self {
        self.rounds = self.rounds.min(runs + 1);
        self
    }
}

/// Begins a table under its title.
pub(crate) fn table(title: &str) {
    eprintln!("{title}");
    println!("\n## {title}\n");
    println!("| what | median | p10 to p90 | runs | relative to telechir |\n|---|---|---|---|---|");
}

/// Says something under a table.
pub(crate) fn remark(text: &str) {
    println!("\n{text}");
}

/// Runs them one after the other, again and again, so that what else the machine does meets all
/// of them alike. The first is ours.
pub(crate) fn compare(runs: usize, mut contestants: Vec<Contestant<'_>>) {
    // Only to see that all of it runs.
    let is_quick = std::env::args().any(|word| word == "--quick");
    let runs = if is_quick { 2 } else { runs };
    let mut times: Vec<Vec<Duration>> = contestants.iter().map(|_| Vec::new()).collect();
    // The first round is for caches, and not counted.
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
    let mut ours = None;
    for (contestant, mut times) in contestants.iter().zip(times) {
        times.sort();
        let name = &contestant.name;
        if let Err(why) = &contestant.run {
            println!("| {name} | missing: {why} | | | **not run** |");
            continue;
        }
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        let median = at(50);
        let (name, beside) = match ours {
            None => (format!("**{name}**"), String::new()),
            Some(ours) => (name.clone(), format!("{} times", digits(median / ours))),
        };
        ours.get_or_insert(median);
        println!(
            "| {name} | {} ms | {} to {} | {} | {beside} |",
            digits(median),
            digits(at(10)),
            digits(at(90)),
            times.len()
        );
    }
}

/// Three digits that count.
fn digits(number: f64) -> String {
    let places = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.places$}")
}
