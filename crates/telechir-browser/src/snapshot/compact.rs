//! A page in few words: all that can be acted on, and as much of the rest as has room.
//!
//! ```text
//! navigation "Main": l1 "Home" l2 "Orders"
//! # "Orders"
//! c3 "Select 1" l4 "Order 1001" "Ada Miller" b5 "Edit 1"
//! ```

use super::node::{Node, holders};
use super::outline::only_words;
use super::refs::{LETTERS, Refs, letter};
use super::history::About;
use super::bounded_text::{cut, quoted};

/// How long it may be, in characters.
pub(super) const LONGEST: usize = 12_000;
/// Kept for the line about what is left out.
const REST: usize = 200;
/// Names are cut to these lengths, one after the other, until all that can be acted on has room.
const NAMES: [usize; 4] = [80, 40, 24, 12];
/// A line goes on until here.
const LINE: usize = 160;
/// Options of a select are told when they are as short as this together.
const OPTIONS: usize = 40;

/// What is told first when there is not room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Acts,
    ActsOutOfView,
    Structure,
    InView,
    Rest,
}

/// A page or a part of it.
pub(super) fn tell(about: &About<'_>, nodes: &[Node], refs: &mut Refs) -> String {
    let mut lines = vec![about.line()];
    lines.extend(legend(nodes));
    let head: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    let room = LONGEST.saturating_sub(REST + head);
    let (pieces, names) = pieces(nodes, room, refs);
    let chosen = choose(&pieces, room);
    lines.extend(lay_out(nodes, &pieces, &chosen));
    lines.extend(rest(&pieces, &chosen, names, about.tree.left));
    lines.join("\n")
}

/// A node in words.
#[derive(Debug)]
struct Piece {
    rank: Rank,
    text: String,
    length: usize,
    /// Whether it holds what follows.
    holds: bool,
}

impl Piece {
    fn new(rank: Rank, text: String, holds: bool) -> Self {
        Self {
            rank,
            length: text.chars().count(),
            text,
            holds,
        }
    }
}

/// All nodes that have something to say, and how long their names are.
fn pieces(nodes: &[Node], room: usize, refs: &mut Refs) -> (Vec<Option<Piece>>, usize) {
    let mut most = NAMES[0];
    let mut acting: Vec<Option<Piece>> = Vec::new();
    for names in NAMES {
        most = names;
        acting = (0..nodes.len())
            .map(|place| acting_piece(nodes, place, names, refs))
            .collect();
        let length: usize = acting.iter().flatten().map(|piece| piece.length + 1).sum();
        if length <= room {
            break;
        }
    }
    let all = acting.into_iter().enumerate();
    let all = all.map(|(place, acting)| acting.or_else(|| other_piece(nodes, place, most)));
    (all.collect(), most)
}

fn acting_piece(nodes: &[Node], place: usize, names: usize, refs: &mut Refs) -> Option<Piece> {
    let node = &nodes[place];
    let rank = if node.is_in_view() {
        Rank::Acts
    } else {
        Rank::ActsOutOfView
    };
    node.acts()
        .then(|| Piece::new(rank, acting(nodes, place, names, refs), false))
}

/// What is said of a node that cannot be acted on.
fn other_piece(nodes: &[Node], place: usize, names: usize) -> Option<Piece> {
    let node = &nodes[place];
    let (rank, text, holds) = if node.is_words() {
        if is_said_beside(nodes, place) {
            return None;
        }
        let rank = if node.is_in_view() {
            Rank::InView
        } else {
            Rank::Rest
        };
        (rank, quoted(&cut(&node.name, names * 2)), false)
    } else {
        let (text, holds) = structure(node, names)?;
        let text = if is_said_below(nodes, place) {
            text.split(' ').next().unwrap_or_default().to_owned()
        } else {
            text
        };
        let rank = match node.role.as_str() {
            "heading" | "dialog" | "alertdialog" | "alert" => Rank::Structure,
            _ if holds && !node.name.is_empty() => Rank::Structure,
            _ if node.is_in_view() => Rank::InView,
            _ => Rank::Rest,
        };
        (rank, text, holds)
    };
    Some(Piece::new(rank, text, holds))
}

/// Whether a control's label, or a group's, is what its name says already.
fn is_said_beside(nodes: &[Node], place: usize) -> bool {
    let words = &nodes[place].name;
    let beside = [place.checked_sub(1), Some(place + 1)];
    let mut beside = beside.into_iter().flatten().filter_map(|at| nodes.get(at));
    beside.any(|node| !node.is_words() && node.name == *words)
}

/// Whether a heading is a link, which says the same.
fn is_said_below(nodes: &[Node], place: usize) -> bool {
    let (node, below) = (&nodes[place], nodes.get(place + 1));
    node.role == "heading"
        && below.is_some_and(|below| {
            below.acts() && below.depth > node.depth && below.name == node.name
        })
}

/// What can be acted on: `b12 "Save" disabled`.
fn acting(nodes: &[Node], place: usize, names: usize, refs: &mut Refs) -> String {
    let node = &nodes[place];
    let mut text = refs.of(node);
    if letter(&node.role).is_none() && node.role != "generic" {
        text.push(' ');
        text.push_str(&node.role);
    }
    let words = only_words(nodes, place).filter(|_| node.name.is_empty());
    let name = words.unwrap_or(&node.name);
    if !name.is_empty() {
        text.push(' ');
        text.push_str(&quoted(&cut(name, names)));
    } else if node.role == "link" && !node.more.is_empty() {
        text.push_str(&format!(" to {}", quoted(&cut(end_of(&node.more), names))));
    }
    if !node.value.is_empty() {
        text.push('=');
        text.push_str(&quoted(&cut(&node.value, names)));
    }
    if node.role == "combobox" && !node.more.is_empty() && node.more.chars().count() <= OPTIONS {
        text.push_str(&format!(" of {}", quoted(&node.more)));
    }
    for state in node.states.split(' ').filter(|state| is_told(state)) {
        text.push(' ');
        text.push_str(state);
    }
    text
}

/// What an address ends with, which says most.
fn end_of(url: &str) -> &str {
    let path = url.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, end)| end)
}

/// What is so when nothing is said needs no word.
fn is_told(state: &str) -> bool {
    !state.is_empty() && !matches!(state, "unchecked" | "unpressed")
}

/// What holds others or divides the page, and whether what follows is in it.
fn structure(node: &Node, names: usize) -> Option<(String, bool)> {
    let name = || quoted(&cut(&node.name, names));
    Some(match node.role.as_str() {
        "heading" => {
            let level = node
                .states
                .split(' ')
                .find_map(|s| s.strip_prefix("level="));
            let level = level.and_then(|level| level.parse().ok()).unwrap_or(2);
            (format!("{} {}", "#".repeat(level.min(6)), name()), false)
        }
        "dialog" | "alertdialog" | "iframe" | "main" | "navigation" | "search" | "form"
        | "region" | "banner" | "contentinfo" | "complementary" | "menu" | "tablist"
        | "toolbar" | "tree" | "radiogroup" | "alert" | "group" => {
            let named = if node.name.is_empty() {
                String::new()
            } else {
                format!(" {}", name())
            };
            (format!("{}{named}:", node.role), true)
        }
        "image" if !node.name.is_empty() => (format!("image {}", name()), false),
        "columnheader" | "rowheader" if !node.name.is_empty() => (name(), false),
        "progressbar" | "meter" | "status" if !node.value.is_empty() || !node.name.is_empty() => {
            let value = quoted(&cut(&node.value, names));
            (format!("{} {}={value}", node.role, name()), false)
        }
        _ => return None,
    })
}

/// Whether a node begins something that is read as a line: a row, a paragraph, a heading.
fn begins(nodes: &[Node], holder: Option<usize>, place: usize) -> bool {
    let node = &nodes[place];
    match node.role.as_str() {
        "row" | "article" | "heading" | "paragraph" => true,
        _ if !node.is_words() => structure(node, 0).is_some_and(|(_, holds)| holds),
        // In a list or a row, words go on in the line.
        _ => {
            let holder = holder.map(|holder| nodes[holder].role.as_str());
            let goes_on = matches!(
                holder,
                Some("listitem" | "cell" | "gridcell" | "columnheader" | "rowheader" | "paragraph")
            );
            node.breaks() && !goes_on
        }
    }
}

/// Which pieces there is room for.
fn choose(pieces: &[Option<Piece>], room: usize) -> Vec<bool> {
    let mut chosen = vec![false; pieces.len()];
    let mut used = 0;
    for rank in [
        Rank::Acts,
        Rank::ActsOutOfView,
        Rank::Structure,
        Rank::InView,
        Rank::Rest,
    ] {
        for (place, piece) in pieces.iter().enumerate() {
            let Some(piece) = piece.as_ref().filter(|piece| piece.rank == rank) else {
                continue;
            };
            if used + piece.length < room {
                used += piece.length + 1;
                chosen[place] = true;
            } else if rank <= Rank::ActsOutOfView {
                // In order: what follows is left out, too, and is counted.
                used = room;
            }
        }
    }
    chosen
}

fn lay_out(nodes: &[Node], pieces: &[Option<Piece>], chosen: &[bool]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut is_new = true;
    for (place, holder) in holders(nodes).into_iter().enumerate() {
        is_new |= begins(nodes, holder, place);
        let Some(piece) = pieces[place].as_ref().filter(|_| chosen[place]) else {
            continue;
        };
        match lines.last_mut() {
            Some((line, length)) if !is_new && *length + piece.length < LINE => {
                line.push(' ');
                line.push_str(&piece.text);
                *length += piece.length + 1;
            }
            Some(_) | None => lines.push((piece.text.clone(), piece.length)),
        }
        is_new = nodes[place].role == "heading" && !is_said_below(nodes, place);
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// What the letters of the refs say.
fn legend(nodes: &[Node]) -> Option<String> {
    let is_used = |role: &str| nodes.iter().any(|node| node.acts() && node.role == role);
    let used: Vec<String> = LETTERS
        .iter()
        .filter(|(role, ..)| is_used(role))
        .map(|(_, letter, what)| format!("{letter} {what}"))
        .collect();
    let others = nodes
        .iter()
        .any(|node| node.acts() && letter(&node.role).is_none());
    let others = others.then(|| "e another element".to_owned());
    let all: Vec<String> = used.into_iter().chain(others).collect();
    (!all.is_empty()).then(|| format!("Refs: {}.", all.join(", ")))
}

/// What had no room.
fn rest(pieces: &[Option<Piece>], chosen: &[bool], names: usize, unread: u64) -> Option<String> {
    let left = |acts: bool| {
        let left = pieces.iter().zip(chosen).filter(|(_, chosen)| !**chosen);
        left.filter_map(|(piece, _)| piece.as_ref())
            .filter(|piece| (piece.rank <= Rank::ActsOutOfView) == acts && !piece.holds)
            .count()
    };
    let (acting, others) = (left(true), left(false));
    let mut said = Vec::new();
    if acting > 0 {
        said.push(format!("{acting} more that can be acted on"));
    }
    if others > 0 {
        said.push(format!("{others} other texts"));
    }
    if unread > 0 {
        said.push(format!("{unread} elements that were not looked at"));
    }
    if said.is_empty() && names == NAMES[0] {
        return None;
    }
    let cut = if names < NAMES[0] {
        format!(" Names are cut to {names} characters.")
    } else {
        String::new()
    };
    if said.is_empty() {
        return Some(format!("[{}]", cut.trim_start()));
    }
    Some(format!(
        "[{} left out: ask for a part by its ref, for `all`, for `interactive`, or find it.{cut}]",
        said.join(" and ")
    ))
}
