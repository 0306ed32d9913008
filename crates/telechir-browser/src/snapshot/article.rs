//! A page's text, as a person reads it: headings, paragraphs, lists and tables, and no controls.

use super::node::{Node, Tree, end_of, holders};
use super::bounded_text::Page;

/// How long it may be, in characters.
const LONGEST: usize = 50_000;
/// The main part is told alone when it has at least so much of the text.
const SHARE: usize = 3;

/// The main part of the page, or all of it where no part is the main one.
pub(super) fn tell(tree: &Tree) -> String {
    let main = tree.nodes.iter().position(|node| node.role == "main");
    let main = main.map(|at| &tree.nodes[at..end_of(&tree.nodes, at)]);
    let length = |nodes: &[Node]| nodes.iter().map(|node| node.name.len()).sum::<usize>();
    let nodes = main
        .filter(|main| length(main) * SHARE >= length(&tree.nodes))
        .unwrap_or(&tree.nodes);
    let mut page = Page::of(LONGEST);
    for line in lines(nodes) {
        page.line(&line);
    }
    let left = page.left;
    let mut text = page.text();
    if text.is_empty() {
        return "The page has no text.".to_owned();
    }
    if left > 0 || tree.left > 0 {
        text.push_str(&format!("\n[{left} more lines; read a part of the page]"));
    }
    text
}

fn lines(nodes: &[Node]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let holders = holders(nodes);
    let mut place = 0;
    while let Some(node) = nodes.get(place) {
        place += 1;
        let goes_on = !line.is_empty() && is_in_row(nodes, &holders, place - 1);
        if node.breaks() && !goes_on {
            end(&mut lines, &mut line);
        }
        match node.role.as_str() {
            "heading" => {
                let level = node
                    .states
                    .split(' ')
                    .find_map(|s| s.strip_prefix("level="));
                let level = level.and_then(|level| level.parse().ok()).unwrap_or(2usize);
                end(&mut lines, &mut line);
                if !lines.is_empty() {
                    lines.push(String::new());
                }
                lines.push(format!("{} {}", "#".repeat(level.min(6)), node.name));
                place = place.max(end_of(nodes, place - 1));
                continue;
            }
            "listitem" => {
                end(&mut lines, &mut line);
                line.push_str("- ");
            }
            "row" => end(&mut lines, &mut line),
            "cell" | "gridcell" | "columnheader" | "rowheader" if !line.is_empty() => {
                line.push_str(" | ");
            }
            "paragraph" => end(&mut lines, &mut line),
            _ => {}
        }
        let is_said = node.is_words()
            || matches!(
                node.role.as_str(),
                "link" | "button" | "columnheader" | "rowheader" | "tab" | "option"
            )
            || (node.role == "generic" && node.is_told_by_its_name());
        if is_said && !node.name.is_empty() {
            let is_apart = !line.is_empty() && !line.ends_with(' ') && !node.is_glued();
            if is_apart {
                line.push(' ');
            }
            line.push_str(&node.name);
        }
    }
    end(&mut lines, &mut line);
    lines
}

fn end(lines: &mut Vec<String>, line: &mut String) {
    let text = line.trim_end_matches([' ', '|', '-']).trim();
    if !text.is_empty() {
        lines.push(text.to_owned());
    }
    line.clear();
}

/// Whether a node is in a row of a table, or in one of its cells.
fn is_in_row(nodes: &[Node], holders: &[Option<usize>], place: usize) -> bool {
    let mut at = holders[place];
    while let Some(above) = at {
        match nodes[above].role.as_str() {
            "row" => return true,
            "cell" | "gridcell" | "columnheader" | "rowheader" => at = holders[above],
            _ => return false,
        }
    }
    false
}
