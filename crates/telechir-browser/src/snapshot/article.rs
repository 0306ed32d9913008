//! The text of a page for reading: headings, paragraphs, lists and tables, without controls.

use super::bounded_text::BoundedText;
use super::node::{PageNode, PageTree, end_of, parents};

/// Maximum length, in characters.
const MAX_CHARS: usize = 50_000;
/// The main part alone is returned if it has at least one third of the text.
const MAIN_SHARE_DIVISOR: usize = 3;

/// The text of the main part, or of the page if it has none.
pub(super) fn render(tree: &PageTree) -> String {
    let main = tree.nodes.iter().position(|node| node.role == "main");
    let main = main.map(|at| &tree.nodes[at..end_of(&tree.nodes, at)]);
    let length = |nodes: &[PageNode]| nodes.iter().map(|node| node.name.len()).sum::<usize>();
    let nodes = main
        .filter(|main| length(main) * MAIN_SHARE_DIVISOR >= length(&tree.nodes))
        .unwrap_or(&tree.nodes);
    let mut page = BoundedText::with_limit(MAX_CHARS);
    for line in lines(nodes) {
        page.line(&line);
    }
    let left = page.omitted;
    let mut text = page.text();
    if text.is_empty() {
        return "The page has no text.".to_owned();
    }
    if left > 0 || tree.omitted > 0 {
        text.push_str(&format!("\n[{left} more lines; read a part of the page]"));
    }
    text
}

fn lines(nodes: &[PageNode]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let parents = parents(nodes);
    let mut index = 0;
    while let Some(node) = nodes.get(index) {
        index += 1;
        let continues_line = !line.is_empty() && is_in_row(nodes, &parents, index - 1);
        if node.starts_line() && !continues_line {
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
                index = index.max(end_of(nodes, index - 1));
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
        let has_own_text = node.is_text()
            || matches!(
                node.role.as_str(),
                "link" | "button" | "columnheader" | "rowheader" | "tab" | "option"
            )
            || (node.role == "generic" && node.is_named_by_content());
        if has_own_text && !node.name.is_empty() {
            let needs_space = !line.is_empty() && !line.ends_with(' ') && !node.joins_previous();
            if needs_space {
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

/// Whether a node is in a row of a table or in one of its cells.
fn is_in_row(nodes: &[PageNode], parents: &[Option<usize>], index: usize) -> bool {
    let mut at = parents[index];
    while let Some(above) = at {
        match nodes[above].role.as_str() {
            "row" => return true,
            "cell" | "gridcell" | "columnheader" | "rowheader" => at = parents[above],
            _ => return false,
        }
    }
    false
}
