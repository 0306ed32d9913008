//! Finds runs of lines in a file, in time linear in the lines of both, whatever is searched.
//!
//! Lines are compared as numbers. One pass over the file (Aho-Corasick) finds the last position of
//! every run, so a run that does not follow costs nothing; a run that does is searched only up to
//! its position (Knuth-Morris-Pratt).

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// What is compared of a line, from the strictest to the most lenient mode.
const MATCH_MODES: [fn(&str) -> Cow<'_, str>; 4] = [
    |line| Cow::Borrowed(line),
    |line| Cow::Borrowed(line.trim_end()),
    |line| Cow::Borrowed(line.trim()),
    plain_punctuation,
];

/// A file and the runs to find in it.
#[derive(Debug)]
pub(crate) struct LineSearch<'a> {
    file: &'a [&'a str],
    runs: Vec<Vec<&'a str>>,
    modes: [OnceCell<MatchMode>; MATCH_MODES.len()],
}

impl<'a> LineSearch<'a> {
    /// Runs are identified by their index.
    pub(crate) fn new(file: &'a [&'a str], runs: Vec<Vec<&'a str>>) -> Self {
        Self {
            file,
            runs,
            modes: Default::default(),
        }
    }

    /// All lines of the file.
    pub(crate) fn file(&self) -> &'a [&'a str] {
        self.file
    }

    /// The lines of a run.
    pub(crate) fn run(&self, run: usize) -> &[&'a str] {
        &self.runs[run]
    }

    /// Position of a run at or after `from`, in the strictest mode that finds it: `near` if it
    /// starts there, else the first one. Cheap for all runs together if `from` never decreases.
    pub(crate) fn find_near(&self, run: usize, from: usize, near: Option<usize>) -> Option<usize> {
        let near = near.filter(|near| *near >= from);
        self.modes().find_map(|mode| {
            near.filter(|near| mode.is_at(run, *near))
                .or_else(|| mode.find(run, from))
        })
    }

    /// Position of a run of one line, in the strictest mode that finds it: the last one from
    /// `scope` to before `from`, else the first one at or after `from`.
    pub(crate) fn find_line(&self, run: usize, scope: usize, from: usize) -> Option<usize> {
        self.modes().find_map(|mode| {
            let positions = mode.positions(*mode.runs[run].first()?);
            let next = positions.partition_point(|position| *position < from);
            let last = positions[..next].last().filter(|last| **last >= scope);
            last.or_else(|| positions.get(next)).copied()
        })
    }

    /// Whether a run starts at `position`, in any mode.
    pub(crate) fn is_at(&self, run: usize, position: usize) -> bool {
        self.modes().any(|mode| mode.is_at(run, position))
    }

    fn modes(&self) -> impl Iterator<Item = &MatchMode> {
        let modes = self.modes.iter().zip(MATCH_MODES);
        modes.map(|(mode, key)| mode.get_or_init(|| MatchMode::new(self.file, &self.runs, key)))
    }
}

/// The file and the runs in one mode of comparison.
#[derive(Debug)]
struct MatchMode {
    /// A number for each line; 0 occurs in no run.
    file: Vec<u32>,
    runs: Vec<Vec<u32>>,
    /// Last position of each run.
    last: Vec<Option<usize>>,
    /// Positions in the file by number of the line.
    positions: OnceCell<Vec<Vec<usize>>>,
}

/// A line without whitespace around it, with ASCII instead of typographic dashes, quotes and
/// spaces.
fn plain_punctuation(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let plain = |character| match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    };
    Cow::Owned(line.chars().map(plain).collect())
}

impl MatchMode {
    fn new(file: &[&str], runs: &[Vec<&str>], key: fn(&str) -> Cow<'_, str>) -> Self {
        let mut numbers: HashMap<Cow<'_, str>, u32> = HashMap::new();
        let mut run_numbers = Vec::with_capacity(runs.len());
        for run in runs {
            let mut numbers_ = Vec::with_capacity(run.len());
            for line in run {
                let new = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
                numbers_.push(*numbers.entry(key(line)).or_insert(new));
            }
            run_numbers.push(numbers_);
        }
        let number = |line: &&str| numbers.get(&key(line)).copied().unwrap_or_default();
        let file: Vec<u32> = file.iter().map(number).collect();
        let last = last_positions(&file, &run_numbers);
        Self {
            file,
            runs: run_numbers,
            last,
            positions: OnceCell::new(),
        }
    }

    /// Positions of a line in the file, in order.
    fn positions(&self, line: u32) -> &[usize] {
        let positions = self.positions.get_or_init(|| {
            let count = self
                .runs
                .iter()
                .flatten()
                .max()
                .copied()
                .unwrap_or_default();
            let mut positions = vec![Vec::new(); count as usize + 1];
            for (at, line) in self.file.iter().enumerate() {
                positions[*line as usize].push(at);
            }
            positions
        });
        &positions[line as usize]
    }

    fn is_at(&self, run: usize, position: usize) -> bool {
        let lines = self.file.get(position..).unwrap_or_default();
        lines.starts_with(&self.runs[run])
    }

    fn find(&self, run: usize, from: usize) -> Option<usize> {
        let may_follow = self.last[run].is_some_and(|last| last >= from);
        may_follow.then(|| first_position(&self.file, &self.runs[run], from))?
    }
}

/// First position of a run at or after `from`, by Knuth-Morris-Pratt.
fn first_position(file: &[u32], run: &[u32], from: usize) -> Option<usize> {
    // For each prefix of the run, the length of its longest proper suffix that is a prefix, too.
    let mut border = vec![0; run.len()];
    for at in 1..run.len() {
        border[at] = extend(run, &border, border[at - 1], run[at]);
    }
    let mut matched = 0;
    for (at, line) in file.iter().enumerate().skip(from) {
        matched = extend(run, &border, matched, *line);
        if matched == run.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// Length of the run's prefix that matches after one more line.
fn extend(run: &[u32], border: &[usize], mut matched: usize, line: u32) -> usize {
    step_count::record_step();
    while run[matched] != line {
        if matched == 0 {
            return 0;
        }
        step_count::record_step();
        matched = border[matched - 1];
    }
    matched + 1
}

/// Last position of each run, by Aho-Corasick.
fn last_positions(file: &[u32], runs: &[Vec<u32>]) -> Vec<Option<usize>> {
    let mut tree = LineIndex::new();
    let ends: Vec<usize> = runs.iter().map(|run| tree.add(run)).collect();
    let by_length = tree.link();
    let mut seen: Vec<Option<usize>> = vec![None; tree.nodes.len()];
    let mut at = 0;
    for (position, line) in file.iter().enumerate() {
        at = tree.extend(at, *line);
        seen[at] = Some(position);
    }
    // Where a node ends, all its suffixes end, too.
    for node in by_length.into_iter().rev() {
        let suffix = tree.nodes[node].suffix;
        seen[suffix] = seen[suffix].max(seen[node]);
    }
    let last = |(end, run): (usize, &Vec<u32>)| Some(seen[end]? + 1 - run.len());
    ends.into_iter().zip(runs).map(last).collect()
}

/// A trie of all prefixes of all runs; node 0 is the empty prefix.
#[derive(Debug)]
struct LineIndex {
    nodes: Vec<IndexNode>,
    /// Child by node and next line.
    next: HashMap<(usize, u32), usize>,
}

#[derive(Debug)]
struct IndexNode {
    /// The node without the last line.
    parent: usize,
    line: u32,
    length: usize,
    /// The longest other node that is a suffix of this one.
    suffix: usize,
}

impl LineIndex {
    fn new() -> Self {
        let empty = IndexNode {
            parent: 0,
            line: 0,
            length: 0,
            suffix: 0,
        };
        Self {
            nodes: vec![empty],
            next: HashMap::new(),
        }
    }

    fn add(&mut self, run: &[u32]) -> usize {
        let mut at = 0;
        for line in run {
            step_count::record_step();
            let new = self.nodes.len();
            let next = *self.next.entry((at, *line)).or_insert(new);
            if next == new {
                self.nodes.push(IndexNode {
                    parent: at,
                    line: *line,
                    length: self.nodes[at].length + 1,
                    suffix: 0,
                });
            }
            at = next;
        }
        at
    }

    /// Sets the suffix of each node; returns all nodes but the empty one, by length.
    fn link(&mut self) -> Vec<usize> {
        let mut by_length: Vec<usize> = (1..self.nodes.len()).collect();
        by_length.sort_by_key(|node| self.nodes[*node].length);
        for node in &by_length {
            let IndexNode { parent, line, .. } = self.nodes[*node];
            if parent != 0 {
                self.nodes[*node].suffix = self.extend(self.nodes[parent].suffix, line);
            }
        }
        by_length
    }

    /// The longest node that is a suffix of `at` with one more line.
    fn extend(&self, mut at: usize, line: u32) -> usize {
        loop {
            step_count::record_step();
            match self.next.get(&(at, line)) {
                Some(next) => return *next,
                None if at == 0 => return 0,
                None => at = self.nodes[at].suffix,
            }
        }
    }
}

/// Counts steps in tests; a no-op otherwise.
#[cfg(not(test))]
mod step_count {
    pub(super) fn record_step() {}
}

#[cfg(test)]
mod step_count {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn record_step() {
        STEPS.with(|size| size.set(size.get() + 1));
    }

    /// Number of steps that this thread makes in `of`.
    pub(super) fn size(of: impl FnOnce()) -> usize {
        let before = STEPS.with(Cell::get);
        of();
        STEPS.with(Cell::get) - before
    }
}

#[cfg(test)]
mod tests {
    use super::{LineSearch, step_count};

    /// Finds each run after the previous one.
    #[track_caller]
    fn check(file: &str, runs: &[&str], positions: &[Option<usize>]) {
        let file: Vec<&str> = file.split(',').collect();
        let runs: Vec<Vec<&str>> = runs.iter().map(|run| run.split(',').collect()).collect();
        let lines = LineSearch::new(&file, runs.clone());
        let mut from = 0;
        let mut found = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            let position = lines.find_near(at, from, None);
            from = position.map_or(from, |position| position + run.len());
            found.push(position);
        }
        assert_eq!(found, positions);
    }

    #[test]
    fn runs_are_found_in_order() {
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
    fn the_strictest_matching_mode_wins() {
        check("a ,a", &["a"], &[Some(1)]);
        check("a ,\ta", &["a"], &[Some(0)]);
        check("\ta,b", &["a", "b "], &[Some(0), Some(1)]);
        check("it\u{2019}s \u{2014} a", &["it's - a"], &[Some(0)]);
    }

    /// The worst case: all runs share prefixes with the file, and match only in the last mode.
    #[test]
    fn search_time_is_linear_in_the_lines() {
        let size = |size: usize| {
            let mut file = vec!["a"; size];
            file.extend(["b ", "c"].repeat(size));
            let mut runs = vec![vec!["b", "c"]; size];
            runs.push([vec!["a"; size], vec!["c"]].concat());
            step_count::size(|| {
                let lines = LineSearch::new(&file, runs);
                let found =
                    (0..size).try_fold(0, |from, run| Some(lines.find_near(run, from, None)? + 2));
                assert_eq!(found, Some(3 * size));
                assert_eq!(lines.find_near(size, 0, None), None);
            })
        };
        let (small, large) = (size(500), size(5_000));
        assert!(small < 500 * 60, "{small} steps");
        assert!(
            large < small * 11,
            "{large} steps, ten times fewer lines {small}"
        );
    }
}
