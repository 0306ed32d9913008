//! Finds elements by name: the one that is meant, or all that match a query.

use telechir_protocol::NamedElement;

use super::{Element, ElementState, ElementTree, normalized, role_name};

/// Maximum number of candidates in an error.
const MAX_CANDIDATES: usize = 15;

/// Not exactly one element matches. Texts continue "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmbiguousMatch {
    /// No element fulfils all conditions.
    #[error(
        "find the {named}: no element matches{}",
        listed("; the elements are", candidates)
    )]
    None {
        /// The conditions that no element fulfils.
        named: Box<NamedElement>,
        /// Similar elements, each as one line.
        candidates: Vec<String>,
    },
    /// Several elements match equally well.
    #[error(
        "find the {named}: {count} elements match; name one by its ref{}",
        listed(":", candidates)
    )]
    Several {
        /// The conditions that several elements fulfil.
        named: Box<NamedElement>,
        /// Number of matching elements.
        count: usize,
        /// The matching elements, each as one line.
        candidates: Vec<String>,
    },
}

fn listed(before: &str, candidates: &[String]) -> String {
    if candidates.is_empty() {
        return String::new();
    }
    format!("{before} {}", candidates.join("; "))
}

/// How well a name matches; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameMatch {
    /// The names are equal but for space around them.
    Exact,
    /// The names are equal once they are [`normalized`].
    Normalized,
    /// The element's name has more before or after the wanted one.
    Within,
}

/// How good a candidate is; smaller is better.
type MatchRank = (NameMatch, Reachability, bool, bool);

/// What it takes to point at an element; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reachability {
    /// While its menu is open, it is what can be clicked.
    InOpenMenu,
    Shown,
    /// Its menu must be opened.
    InClosedMenu,
    Hidden,
}

impl Reachability {
    fn of(tree: &ElementTree, index: usize) -> Self {
        let element = &tree.elements[index];
        match (element.is_shown(), element.is_menu_entry()) {
            (true, true) if is_in_menu(tree, index) => Self::InOpenMenu,
            (true, _) => Self::Shown,
            (false, true) => Self::InClosedMenu,
            (false, false) => Self::Hidden,
        }
    }
}

/// Whether the parent of an element is a menu, which a menu bar is not.
fn is_in_menu(tree: &ElementTree, index: usize) -> bool {
    let depth = tree.elements[index].depth;
    let mut before = tree.elements[..index].iter().rev();
    let parent = before.find(|one| one.depth < depth);
    parent.is_some_and(|parent| &*parent.role == "menu")
}

/// The index of the matching element: an exact name before one that differs in case or typography
/// before one that only contains it; then entries of open menus before others in view before entries
/// of closed menus before hidden ones; then the active window before others; then interactive before
/// others. The role `window` means dialogs and other windows, too.
///
/// # Errors
/// When none matches, or several match equally well.
pub fn choose(tree: &ElementTree, named: &NamedElement) -> Result<usize, AmbiguousMatch> {
    let ranked: Vec<(MatchRank, usize)> = (0..tree.elements.len())
        .filter_map(|index| Some((rank(tree, index, named)?, index)))
        .collect();
    let lines = |indexes: &[usize]| {
        let lines = indexes.iter().map(|index| line_with_window(tree, *index));
        lines.collect()
    };
    choose_ranked(named, &ranked, || alternatives(tree, named), lines)
}

/// The one element of the best rank, which is the smallest. `alternatives` are elements that could be
/// meant if none is ranked, the closest first; `lines` describes elements for an error.
///
/// # Errors
/// When no element is ranked, or several have the best rank.
pub fn choose_ranked<R: Ord>(
    named: &NamedElement,
    ranked: &[(R, usize)],
    alternatives: impl FnOnce() -> Vec<usize>,
    lines: impl FnOnce(&[usize]) -> Vec<String>,
) -> Result<usize, AmbiguousMatch> {
    let best = ranked.iter().map(|(rank, _)| rank).min();
    let best = ranked.iter().filter(|(rank, _)| Some(rank) == best);
    let mut best: Vec<usize> = best.map(|(_, index)| *index).collect();
    let named = || Box::new(named.clone());
    match best[..] {
        [index] => Ok(index),
        [] => {
            let mut similar = alternatives();
            similar.truncate(MAX_CANDIDATES);
            Err(AmbiguousMatch::None {
                named: named(),
                candidates: lines(&similar),
            })
        }
        _ => {
            let count = best.len();
            best.truncate(MAX_CANDIDATES);
            Err(AmbiguousMatch::Several {
                named: named(),
                count,
                candidates: lines(&best),
            })
        }
    }
}

fn rank(tree: &ElementTree, index: usize, named: &NamedElement) -> Option<MatchRank> {
    let element = tree.elements.get(index)?;
    if let Some(role) = &named.role {
        let role = role_name(role);
        let is_window = role == "window" && element.depth == 0;
        if role != element.role && !is_window {
            return None;
        }
    }
    if named.id.is_some() && named.id != element.automation_id {
        return None;
    }
    if let Some(words) = &named.window {
        let window = tree.window_of(index)?;
        name_match(words, &window.name)?;
    }
    let window = tree.window_of(index);
    let is_active = window.is_some_and(|window| window.states.has(ElementState::Active));
    let name_match = match &named.name {
        Some(name) => name_match(name, &element.name)?,
        None => NameMatch::Exact,
    };
    // A part of a name would match many empty cells.
    if element.is_unused_cell() && (named.name.is_none() || name_match == NameMatch::Within) {
        return None;
    }
    Some((
        name_match,
        Reachability::of(tree, index),
        !is_active,
        !element.is_interactive(),
    ))
}

/// How well an element's name matches the wanted one; `None` if it does not.
pub fn name_match(wanted: &str, name: &str) -> Option<NameMatch> {
    let wanted = wanted.trim();
    if wanted == name.trim() {
        return Some(NameMatch::Exact);
    }
    let (wanted, name) = (normalized(wanted), normalized(name));
    if wanted.is_empty() {
        // Only invisible characters: no unnamed element is meant.
        None
    } else if wanted == name {
        Some(NameMatch::Normalized)
    } else {
        name.contains(&wanted).then_some(NameMatch::Within)
    }
}

/// An element with its window, which distinguishes equal names.
fn line_with_window(tree: &ElementTree, index: usize) -> String {
    let line = tree.elements[index].line();
    match tree.window_of(index) {
        Some(window) if !window.name.is_empty() && tree.elements[index].depth > 0 => {
            format!("{line} in {:?}", window.name)
        }
        Some(_) | None => line,
    }
}

/// Possible alternatives: elements that share a word, then interactive ones.
fn alternatives(tree: &ElementTree, named: &NamedElement) -> Vec<usize> {
    let words = words(named.name.as_deref().unwrap_or_default());
    let mut indexes: Vec<(usize, usize)> = tree
        .elements
        .iter()
        .enumerate()
        .filter(|(_, element)| element.is_shown() && element.is_interactive())
        .filter(|(_, element)| !element.is_unused_cell())
        .filter(|(_, element)| !element.name.is_empty() || element.automation_id.is_some())
        .map(|(index, element)| (score(element, &words), index))
        .collect();
    indexes.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    indexes.into_iter().map(|(_, index)| index).collect()
}

fn words(text: &str) -> Vec<String> {
    let text = normalized(text);
    text.split_whitespace().map(str::to_owned).collect()
}

/// The number of words that the element's properties contain.
fn score(element: &Element, words: &[String]) -> usize {
    let text = normalized(&format!(
        "{} {} {} {}",
        element.role,
        element.name,
        element.value.as_deref().unwrap_or_default(),
        element.automation_id.as_deref().unwrap_or_default()
    ));
    words.iter().filter(|word| text.contains(*word)).count()
}

/// Elements that match the words of a query, best first: all words if any element has all of them,
/// else some.
pub fn search<'a>(tree: &'a ElementTree, query: &str, max_results: usize) -> Vec<&'a Element> {
    let words = words(query);
    let mut hits: Vec<(usize, &Element)> = tree
        .elements
        .iter()
        .map(|element| (score(element, &words), element))
        .filter(|(score, _)| *score > 0)
        .collect();
    if hits.iter().any(|(score, _)| *score == words.len()) {
        hits.retain(|(score, _)| *score == words.len());
    }
    let is_named_so = |element: &Element| {
        name_match(query, &element.name).is_some_and(|how| how < NameMatch::Within)
    };
    let rank = |(score, element): &(usize, &Element)| {
        (
            std::cmp::Reverse(*score),
            element.is_unused_cell() && !is_named_so(element),
            !element.is_shown(),
            !element.is_interactive(),
        )
    };
    hits.sort_by_key(rank);
    hits.into_iter()
        .take(max_results)
        .map(|(_, element)| element)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{element, tree};
    use super::*;

    fn editor() -> ElementTree {
        tree(vec![
            element(0, "e1", "window", "Untitled 1 - Mousepad"),
            element(1, "e2", "menu", "File"),
            element(2, "e3", "menuitem", "-Save"),
            element(2, "e4", "menuitem", "-Save As…"),
            element(1, "e5", "button", "Close"),
            element(0, "e6", "dialog", "Save Changes"),
            element(1, "e7", "button", "Save"),
            element(1, "e8", "button", "save"),
            element(1, "e9", "button", "Close"),
            element(1, "e10", "label", "Name"),
            element(1, "e11", "textbox", "Name"),
        ])
    }

    fn named(name: &str) -> NamedElement {
        NamedElement {
            name: Some(name.to_owned()),
            ..NamedElement::default()
        }
    }

    fn found(named: &NamedElement) -> Result<String, AmbiguousMatch> {
        let tree = editor();
        choose(&tree, named).map(|index| tree.elements[index].id.clone())
    }

    #[test]
    fn an_exact_name_comes_before_another_case_before_a_part() {
        assert_eq!(found(&named("Save")).as_deref(), Ok("e7"));
        assert_eq!(found(&named("save")).as_deref(), Ok("e8"));
        assert_eq!(found(&named("FILE")).as_deref(), Ok("e2"));
        assert_eq!(found(&named("save as")).as_deref(), Ok("e4"));
    }

    #[test]
    fn an_interactive_element_precedes_its_label() {
        assert_eq!(found(&named("Name")).as_deref(), Ok("e11"));
        let label = NamedElement {
            role: Some("label".to_owned()),
            ..named("Name")
        };
        assert_eq!(found(&label).as_deref(), Ok("e10"));
    }

    #[test]
    fn a_role_and_a_window_disambiguate_elements() {
        let item = NamedElement {
            role: Some("menu item".to_owned()),
            ..named("Save")
        };
        assert_eq!(found(&item).as_deref(), Ok("e3"));
        let close = NamedElement {
            window: Some("mousepad".to_owned()),
            ..named("Close")
        };
        assert_eq!(found(&close).as_deref(), Ok("e5"));
    }

    #[test]
    fn two_equal_matches_are_an_error_that_lists_both() {
        let error = found(&named("Close")).unwrap_err().to_string();
        assert_eq!(
            error,
            "find the element \"Close\": 2 elements match; name one by its ref: button \"Close\" [e5] in \"Untitled 1 - Mousepad\"; button \"Close\" [e9] in \"Save Changes\""
        );
    }

    #[test]
    fn the_active_window_precedes_others() {
        let mut tree = editor();
        tree.elements[5].states.add(ElementState::Active);
        let close = choose(&tree, &named("Close")).map(|index| tree.elements[index].id.clone());
        assert_eq!(close.as_deref(), Ok("e9"));
    }

    #[test]
    fn a_dialog_is_a_window() {
        let window = NamedElement {
            role: Some("window".to_owned()),
            ..named("save changes")
        };
        assert_eq!(found(&window).as_deref(), Ok("e6"));
    }

    #[test]
    fn no_match_is_an_error_with_alternatives() {
        let error = found(&named("Close all")).unwrap_err().to_string();
        let begin = "find the element \"Close all\": no element matches; the elements are button \"Close\" [e5]";
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn an_id_is_found_without_a_name() {
        let mut tree = editor();
        tree.elements[4].automation_id = Some("close-button".to_owned());
        let by_id = NamedElement {
            id: Some("close-button".to_owned()),
            ..NamedElement::default()
        };
        assert_eq!(choose(&tree, &by_id), Ok(4));
    }

    #[test]
    fn typographic_characters_match_those_of_a_keyboard() {
        for name in ["Save As...", "save as..."] {
            assert_eq!(found(&named(name)).as_deref(), Ok("e4"), "{name}");
        }
        assert_eq!(search(&editor(), "as...", 20)[0].id, "e4");
    }

    #[test]
    fn invisible_characters_match_no_unnamed_element() {
        assert_eq!(name_match("\u{200b}", ""), None);
        assert_eq!(name_match("\u{200b}", "Save"), None);
        assert_eq!(
            name_match("Sa\u{200b}ve", "Save"),
            Some(NameMatch::Normalized)
        );
    }

    #[test]
    fn an_entry_of_an_open_menu_precedes_a_button() {
        let mut tree = editor();
        let entry = element(2, "e12", "menuitem", "Close");
        tree.elements.insert(2, entry);
        let close = choose(&tree, &named("Close")).map(|index| tree.elements[index].id.clone());
        assert_eq!(close.as_deref(), Ok("e12"));
    }

    #[test]
    fn an_empty_cell_is_found_by_its_complete_name_only() {
        let mut tree = tree(vec![
            element(0, "e1", "window", "Calc"),
            element(1, "e2", "cell", "B11"),
            element(1, "e3", "cell", "B1"),
            element(1, "e4", "cell", "Total B1"),
        ]);
        for cell in &mut tree.elements[1..3] {
            cell.states.add(ElementState::Empty);
        }
        let found = |name| choose(&tree, &named(name)).map(|at| tree.elements[at].id.clone());
        assert_eq!(found("b1").as_deref(), Ok("e3"));
        assert_eq!(found("otal").as_deref(), Ok("e4"));
        assert!(found("1").is_ok_and(|id| id == "e4"));
        let ids: Vec<&str> = search(&tree, "b1", 20)
            .iter()
            .map(|one| one.id.as_str())
            .collect();
        assert_eq!(ids, ["e3", "e4", "e2"]);
    }

    #[test]
    fn a_query_finds_elements_with_all_its_words() {
        let tree = editor();
        let ids = |query| {
            let found = search(&tree, query, 20).into_iter();
            found.map(|element| element.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(ids("save button"), ["e7", "e8"]);
        assert_eq!(ids("save nothing"), ["e7", "e8", "e6", "e3", "e4"]);
        assert_eq!(ids("xyz"), [""; 0]);
    }
}
