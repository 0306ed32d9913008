//! Finding elements by what they are called: the one that is meant, or all that fit some words.

use telechir_protocol::Named;

use super::{Element, Tree, role_name};

/// Elements named in an error.
const CANDIDATES: usize = 15;

/// There is not exactly one such element. Reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmbiguousMatch {
    /// There is none.
    #[error(
        "find the {named}: there is none{}",
        listed(", but there are", candidates)
    )]
    None {
        /// What was looked for.
        named: Box<Named>,
        /// What there is instead, each as one line.
        candidates: Vec<String>,
    },
    /// There are several.
    #[error(
        "find the {named}: {count} elements fit; name one by its ref{}",
        listed(":", candidates)
    )]
    Several {
        /// What was looked for.
        named: Box<Named>,
        /// How many fit.
        count: usize,
        /// They, each as one line.
        candidates: Vec<String>,
    },
}

fn listed(before: &str, candidates: &[String]) -> String {
    if candidates.is_empty() {
        return String::new();
    }
    format!("{before} {}", candidates.join("; "))
}

/// How well a name fits; the smaller the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    ButForCase,
    Within,
}

/// How good a candidate is; the smaller the better.
type Rank = (Fit, bool, bool);

/// The place of the element that is meant: whose name is exactly that before one that differs in
/// case before one that only contains it; among those what is shown before what is not; among
/// those what can be acted on before what cannot.
///
/// # Errors
/// When none fits, or several fit equally well.
pub fn choose(tree: &Tree, named: &Named) -> Result<usize, AmbiguousMatch> {
    let ranked: Vec<(Rank, usize)> = (0..tree.elements.len())
        .filter_map(|place| Some((rank(tree, place, named)?, place)))
        .collect();
    let best = ranked.iter().map(|(rank, _)| *rank).min();
    let best: Vec<usize> = ranked
        .iter()
        .filter(|(rank, _)| Some(*rank) == best)
        .map(|(_, place)| *place)
        .collect();
    match best[..] {
        [place] => Ok(place),
        [] => Err(AmbiguousMatch::None {
            named: Box::new(named.clone()),
            candidates: alternatives(tree, named),
        }),
        _ => Err(AmbiguousMatch::Several {
            named: Box::new(named.clone()),
            count: best.len(),
            candidates: best
                .iter()
                .take(CANDIDATES)
                .map(|place| told(tree, *place))
                .collect(),
        }),
    }
}

fn rank(tree: &Tree, place: usize, named: &Named) -> Option<Rank> {
    let element = tree.elements.get(place)?;
    if let Some(role) = &named.role
        && role_name(role) != element.role
    {
        return None;
    }
    if named.id.is_some() && named.id != element.automation_id {
        return None;
    }
    if let Some(words) = &named.window {
        let window = tree.window_of(place)?;
        fit(words, &window.name)?;
    }
    let fit = match &named.name {
        Some(name) => fit(name, &element.name)?,
        None => Fit::Exact,
    };
    Some((fit, !element.is_shown(), !element.is_interactive()))
}

fn fit(asked: &str, name: &str) -> Option<Fit> {
    let asked = asked.trim();
    if asked == name.trim() {
        return Some(Fit::Exact);
    }
    let (asked, name) = (asked.to_lowercase(), name.to_lowercase());
    if asked == name.trim() {
        Some(Fit::ButForCase)
    } else {
        (!asked.is_empty() && name.contains(&asked)).then_some(Fit::Within)
    }
}

/// An element with the window it is in: two of the same name are told apart by that.
fn told(tree: &Tree, place: usize) -> String {
    let line = tree.elements[place].line();
    match tree.window_of(place) {
        Some(window) if !window.name.is_empty() && tree.elements[place].depth > 0 => {
            format!("{line} in {:?}", window.name)
        }
        Some(_) | None => line,
    }
}

/// What could have been meant instead: what shares a word, then what can be acted on.
fn alternatives(tree: &Tree, named: &Named) -> Vec<String> {
    let words = words(named.name.as_deref().unwrap_or_default());
    let mut places: Vec<(usize, usize)> = tree
        .elements
        .iter()
        .enumerate()
        .filter(|(_, element)| element.is_shown() && element.is_interactive())
        .filter(|(_, element)| !element.name.is_empty() || element.automation_id.is_some())
        .map(|(place, element)| (score(element, &words), place))
        .collect();
    places.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let places = places.into_iter().take(CANDIDATES);
    places.map(|(_, place)| told(tree, place)).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

/// How many of the words the element says of itself.
fn score(element: &Element, words: &[String]) -> usize {
    let said = format!(
        "{} {} {} {}",
        element.role,
        element.name,
        element.value.as_deref().unwrap_or_default(),
        element.automation_id.as_deref().unwrap_or_default()
    )
    .to_lowercase();
    words.iter().filter(|word| said.contains(*word)).count()
}

/// Elements that the words of a query fit, best first: all its words where any element has all of
/// them, else some.
pub fn search<'a>(tree: &'a Tree, query: &str, most: usize) -> Vec<&'a Element> {
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
    let rank = |(score, element): &(usize, &Element)| {
        (
            std::cmp::Reverse(*score),
            !element.is_shown(),
            !element.is_interactive(),
        )
    };
    hits.sort_by_key(rank);
    hits.into_iter()
        .take(most)
        .map(|(_, element)| element)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{element, tree};
    use super::*;

    fn editor() -> Tree {
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

    fn named(name: &str) -> Named {
        Named {
            name: Some(name.to_owned()),
            ..Named::default()
        }
    }

    fn found(named: &Named) -> Result<String, AmbiguousMatch> {
        let tree = editor();
        choose(&tree, named).map(|place| tree.elements[place].id.clone())
    }

    #[test]
    fn an_exact_name_comes_before_another_case_before_a_part() {
        assert_eq!(found(&named("Save")).as_deref(), Ok("e7"));
        assert_eq!(found(&named("save")).as_deref(), Ok("e8"));
        assert_eq!(found(&named("FILE")).as_deref(), Ok("e2"));
        assert_eq!(found(&named("save as")).as_deref(), Ok("e4"));
    }

    #[test]
    fn what_can_be_acted_on_comes_before_its_label() {
        assert_eq!(found(&named("Name")).as_deref(), Ok("e11"));
        let label = Named {
            role: Some("label".to_owned()),
            ..named("Name")
        };
        assert_eq!(found(&label).as_deref(), Ok("e10"));
    }

    #[test]
    fn a_role_and_a_window_tell_elements_apart() {
        let item = Named {
            role: Some("menu item".to_owned()),
            ..named("Save")
        };
        assert_eq!(found(&item).as_deref(), Ok("e3"));
        let close = Named {
            window: Some("mousepad".to_owned()),
            ..named("Close")
        };
        assert_eq!(found(&close).as_deref(), Ok("e5"));
    }

    #[test]
    fn two_that_fit_equally_well_are_an_error_that_names_both() {
        let error = found(&named("Close")).unwrap_err().to_string();
        assert_eq!(
            error,
            "find the element \"Close\": 2 elements fit; name one by its ref: button \"Close\" [e5] in \"Untitled 1 - Mousepad\"; button \"Close\" [e9] in \"Save Changes\""
        );
    }

    #[test]
    fn none_is_an_error_that_says_what_there_is() {
        let error = found(&named("Close all")).unwrap_err().to_string();
        let begin =
            "find the element \"Close all\": there is none, but there are button \"Close\" [e5]";
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn an_id_is_found_without_a_name() {
        let mut tree = editor();
        tree.elements[4].automation_id = Some("close-button".to_owned());
        let by_id = Named {
            id: Some("close-button".to_owned()),
            ..Named::default()
        };
        assert_eq!(choose(&tree, &by_id), Ok(4));
    }

    #[test]
    fn a_query_finds_what_has_all_its_words() {
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
