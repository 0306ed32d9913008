//! Files of a crate that use each other in a circle: none of them can be understood alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::module_graph::ModuleGraph;
use crate::source::{SourceFile, read_files};

/// Files of a crate that may use each other in a circle.
const MAX_FILES: usize = 6;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Circles with too many files.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for (crate_name, files) in by_crate(read_files(root, &["rs"])?) {
        let edges = ModuleGraph::new(&files)?.edges();
        findings.extend(findings_in(&crate_name, &edges, MAX_FILES));
    }
    Ok(findings)
}

/// The production code of each crate below its `src`.
fn by_crate(files: Vec<SourceFile>) -> BTreeMap<String, Vec<SourceFile>> {
    let mut crates: BTreeMap<String, Vec<SourceFile>> = BTreeMap::new();
    for file in files.into_iter().filter(SourceFile::is_production) {
        if let Some(name) = file.crate_name().map(str::to_owned) {
            crates.entry(name).or_default().push(file);
        }
    }
    crates
}

fn findings_in(crate_name: &str, edges: &Edges, max: usize) -> Vec<String> {
    let circles = circles(edges);
    let too_large = circles.iter().filter(|circle| circle.len() > max);
    too_large
        .map(|circle| {
            format!(
                "{crate_name}: {} files use each other in a circle, at most {max} may; the shortest ring is {}; cut some of these uses:{}",
                circle.len(),
                shortest_ring(edges, circle).join(" → "),
                uses_inside(edges, circle)
            )
        })
        .collect()
}

/// Which file of the circle uses which others of it, one file per line.
fn uses_inside(edges: &Edges, circle: &BTreeSet<String>) -> String {
    let line = |file: &String| {
        let inside: Vec<&str> = edges[file]
            .intersection(circle)
            .map(String::as_str)
            .collect();
        format!("\n  {file} → {}", inside.join(", "))
    };
    circle.iter().map(line).collect()
}

/// The sets of files that reach each other.
fn circles(edges: &Edges) -> Vec<BTreeSet<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|file| (file, reachable_from(edges, file)))
        .collect();
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for (file, targets) in &reachable {
        if !done.insert(*file) {
            continue;
        }
        let reaches_back = |target: &&&String| {
            let back = reachable.get(**target);
            back.is_some_and(|back| back.contains(*file))
        };
        let circle: BTreeSet<String> = targets
            .iter()
            .filter(reaches_back)
            .map(|target| (*target).clone())
            .collect();
        done.extend(targets.iter().filter(|target| circle.contains(**target)));
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

fn reachable_from<'a>(edges: &'a Edges, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&String> = edges.get(from).into_iter().flatten().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(edges.get(file).into_iter().flatten());
        }
    }
    reached
}

/// The shortest way from a file of the circle back to itself.
fn shortest_ring(edges: &Edges, circle: &BTreeSet<String>) -> Vec<String> {
    let rings = circle.iter().filter_map(|file| ring_from(edges, file));
    rings.min_by_key(Vec::len).unwrap_or_default()
}

fn ring_from(edges: &Edges, start: &String) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&String, &String> = BTreeMap::new();
    let mut level = vec![start];
    while !level.is_empty() {
        let mut next = Vec::new();
        for file in level {
            for target in edges.get(file).into_iter().flatten() {
                if target == start {
                    let before =
                        std::iter::successors(Some(file), |file| came_from.get(*file).copied());
                    let mut ring: Vec<String> = before.cloned().collect();
                    ring.reverse();
                    ring.push(start.clone());
                    return Some(ring);
                }
                if !came_from.contains_key(target) {
                    came_from.insert(target, file);
                    next.push(target);
                }
            }
        }
        level = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pairs: &[(&str, &str)]) -> Edges {
        let mut edges = Edges::new();
        for (from, to) in pairs {
            edges
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        edges
    }

    #[test]
    fn a_circle_above_the_ceiling_is_found_with_its_shortest_ring() {
        let edges = edges(&[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("c", "d")]);
        assert_eq!(
            findings_in("x", &edges, 2),
            ["x: 3 files use each other in a circle, at most 2 may; \
              the shortest ring is a → b → a; cut some of these uses:\n  \
              a → b\n  b → a, c\n  c → a"]
        );
        assert_eq!(findings_in("x", &edges, 3), Vec::<String>::new());
    }

    #[test]
    fn files_that_only_use_others_are_in_no_circle() {
        let edges = edges(&[("a", "b"), ("b", "c"), ("a", "c")]);
        assert!(circles(&edges).is_empty());
    }
}
