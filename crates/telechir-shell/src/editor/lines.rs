//! Where runs of lines stand in a file: found in time that grows with the lines of both, not with
//! their product, whatever is looked for.
//!
//! Lines are compared as numbers. One pass over the file finds the last place of every run (as
//! Aho and Corasick do), so one that is not there any more costs nothing, and one that is there
//! is looked for up to its place and no further (as Knuth, Morris and Pratt do).

use std::cell::OnceCell;
use std::collections::HashMap;

/// What of a line counts, from the strictest to the most lenient.
const WAYS: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];

/// A file, and all that is looked for in it.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    file: &'a [&'a str],
    runs: Vec<Vec<&'a str>>,
    ways: [OnceCell<Way>; WAYS.len()],
}

impl<'a> Lines<'a> {
    /// These runs are named by their place in the list.
    pub(crate) fn new(file: &'a [&'a str], runs: Vec<Vec<&'a str>>) -> Self {
        Self {
            file,
            runs,
            ways: Default::default(),
        }
    }

    /// The file's lines.
    pub(crate) fn file(&self) -> &'a [&'a str] {
        self.file
    }

    /// A run's lines.
    pub(crate) fn run(&self, run: usize) -> &[&'a str] {
        &self.runs[run]
    }

    /// Where a run first begins, not before `from`, in the strictest way that finds it. Cheap for
    /// all runs together as long as `from` does not go back.
    pub(crate) fn find(&self, run: usize, from: usize) -> Option<usize> {
        self.ways().find_map(|way| way.find(run, from))
    }

    /// Whether a run begins at `place`, in any way.
    pub(crate) fn is_at(&self, run: usize, place: usize) -> bool {
        let is_at = |way: &Way| way.file[place..].starts_with(&way.runs[run]);
        self.ways().any(is_at)
    }

    fn ways(&self) -> impl Iterator<Item = &Way> {
        let ways = self.ways.iter().zip(WAYS);
        ways.map(|(way, counts)| way.get_or_init(|| Way::new(self.file, &self.runs, counts)))
    }
}

/// File and runs in one way to compare lines.
#[derive(Debug)]
struct Way {
    /// A number for each line; none of the runs has the number 0.
    file: Vec<u32>,
    runs: Vec<Vec<u32>>,
    /// Where each run begins for the last time.
    last: Vec<Option<usize>>,
}

impl Way {
    fn new(file: &[&str], runs: &[Vec<&str>], counts: fn(&str) -> &str) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut numbered = Vec::with_capacity(runs.len());
        for run in runs {
            let mut own = Vec::with_capacity(run.len());
            for line in run {
                let new = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
                own.push(*numbers.entry(counts(line)).or_insert(new));
            }
            numbered.push(own);
        }
        let number = |line: &&str| numbers.get(counts(line)).copied().unwrap_or_default();
        let file: Vec<u32> = file.iter().map(number).collect();
        let last = last_places(&file, &numbered);
        Self {
            file,
            runs: numbered,
            last,
        }
    }

    fn find(&self, run: usize, from: usize) -> Option<usize> {
        let is_there = self.last[run].is_some_and(|last| last >= from);
        is_there.then(|| first_place(&self.file, &self.runs[run], from))?
    }
}

/// Where a run first begins, not before `from`.
fn first_place(file: &[u32], run: &[u32], from: usize) -> Option<usize> {
    // For each beginning of the run, how much of its end is a beginning too.
    let mut again = vec![0; run.len()];
    for at in 1..run.len() {
        again[at] = longer(run, &again, again[at - 1], run[at]);
    }
    let mut held = 0;
    for (at, line) in file.iter().enumerate().skip(from) {
        held = longer(run, &again, held, *line);
        if held == run.len() {
            return Some(at + 1 - held);
        }
    }
    None
}

/// How much of the run's beginning is there with one line more.
fn longer(run: &[u32], again: &[usize], mut held: usize, line: u32) -> usize {
    work::one();
    while run[held] != line {
        if held == 0 {
            return 0;
        }
        work::one();
        held = again[held - 1];
    }
    held + 1
}

/// Where each run begins for the last time.
fn last_places(file: &[u32], runs: &[Vec<u32>]) -> Vec<Option<usize>> {
    let mut tree = Tree::new();
    let ends: Vec<usize> = runs.iter().map(|run| tree.add(run)).collect();
    let by_length = tree.link();
    let mut seen: Vec<Option<usize>> = vec![None; tree.nodes.len()];
    let mut at = 0;
    for (place, line) in file.iter().enumerate() {
        at = tree.longer(at, *line);
        seen[at] = Some(place);
    }
    // Where something ends, everything ends that it ends with.
    for node in by_length.into_iter().rev() {
        let shorter = tree.nodes[node].shorter;
        seen[shorter] = seen[shorter].max(seen[node]);
    }
    let last = |(end, run): (usize, &Vec<u32>)| Some(seen[end]? + 1 - run.len());
    ends.into_iter().zip(runs).map(last).collect()
}

/// All beginnings of all runs; the first is the empty one.
#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    /// By a node and the line that follows.
    next: HashMap<(usize, u32), usize>,
}

#[derive(Debug)]
struct Node {
    /// Without its last line.
    parent: usize,
    line: u32,
    length: usize,
    /// The longest other node that this one ends with.
    shorter: usize,
}

impl Tree {
    fn new() -> Self {
        let empty = Node {
            parent: 0,
            line: 0,
            length: 0,
            shorter: 0,
        };
        Self {
            nodes: vec![empty],
            next: HashMap::new(),
        }
    }

    fn add(&mut self, run: &[u32]) -> usize {
        let mut at = 0;
        for line in run {
            work::one();
            let new = self.nodes.len();
            let next = *self.next.entry((at, *line)).or_insert(new);
            if next == new {
                self.nodes.push(Node {
                    parent: at,
                    line: *line,
                    length: self.nodes[at].length + 1,
                    shorter: 0,
                });
            }
            at = next;
        }
        at
    }

    /// Finds what each node ends with, and gives all but the empty one by their length.
    fn link(&mut self) -> Vec<usize> {
        let mut by_length: Vec<usize> = (1..self.nodes.len()).collect();
        by_length.sort_by_key(|node| self.nodes[*node].length);
        for node in &by_length {
            let Node { parent, line, .. } = self.nodes[*node];
            if parent != 0 {
                self.nodes[*node].shorter = self.longer(self.nodes[parent].shorter, line);
            }
        }
        by_length
    }

    /// The longest node that ends with `at` and one line more.
    fn longer(&self, mut at: usize, line: u32) -> usize {
        loop {
            work::one();
            match self.next.get(&(at, line)) {
                Some(next) => return *next,
                None if at == 0 => return 0,
                None => at = self.nodes[at].shorter,
            }
        }
    }
}

/// Counts steps in tests; elsewhere there is nothing.
#[cfg(not(test))]
mod work {
    pub(super) fn one() {}
}

#[cfg(test)]
mod work {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn one() {
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// How many steps were made in `of`, by this thread.
    pub(super) fn steps(of: impl FnOnce()) -> usize {
        let before = STEPS.with(Cell::get);
        of();
        STEPS.with(Cell::get) - before
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, work};

    /// Where each of the lines begins that is looked for after the one before.
    #[track_caller]
    fn check(file: &str, runs: &[&str], places: &[Option<usize>]) {
        let file: Vec<&str> = file.split(',').collect();
        let runs: Vec<Vec<&str>> = runs.iter().map(|run| run.split(',').collect()).collect();
        let lines = Lines::new(&file, runs.clone());
        let mut from = 0;
        let mut found = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            let place = lines.find(at, from);
            from = place.map_or(from, |place| place + run.len());
            found.push(place);
        }
        assert_eq!(found, places);
    }

    #[test]
    fn each_is_found_after_the_one_before() {
        check("a,b,a,b", &["b", "b", "b"], &[Some(1), Some(3), None]);
        check("a,a,b,a,a,c", &["a,a,c"], &[Some(3)]);
        check("a,b,a,b,c", &["a,b,c", "a"], &[Some(2), None]);
        check(
            "a,b",
            &["a,b,c", "x", ",", "b"],
            &[None, None, None, Some(1)],
        );
        check(
            "x,a,b,c,a,b",
            &["c", "a,b,c", "b"],
            &[Some(3), None, Some(5)],
        );
    }

    #[test]
    fn blanks_count_where_they_are_right_somewhere() {
        check("a ,a", &["a"], &[Some(1)]);
        check("a ,\ta", &["a"], &[Some(0)]);
        check("\ta,b", &["a", "b "], &[Some(0), Some(1)]);
    }

    /// Every run begins as much of the file does, and stands there only with other blanks.
    #[test]
    fn work_grows_with_the_lines_and_not_with_their_product() {
        let steps = |count: usize| {
            let mut file = vec!["a"; count];
            file.extend(["b ", "c"].repeat(count));
            let mut runs = vec![vec!["b", "c"]; count];
            runs.push([vec!["a"; count], vec!["c"]].concat());
            work::steps(|| {
                let lines = Lines::new(&file, runs);
                let found = (0..count).try_fold(0, |from, run| Some(lines.find(run, from)? + 2));
                assert_eq!(found, Some(3 * count));
                assert_eq!(lines.find(count, 0), None);
            })
        };
        let (few, many) = (steps(500), steps(5_000));
        assert!(few < 500 * 60, "{few} steps");
        assert!(many < few * 11, "{many} steps, ten times fewer lines {few}");
    }
}
