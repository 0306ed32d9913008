//! Words that are read off the windows of which nothing is known, and finding one among them.

use telechir_protocol::{Named, Size};

use crate::elements::{Bounds, Tree};
use crate::{Line, Mark, MarkKind, ScreenPoint, ScreenTarget, Window};

/// Words named in an error.
const CANDIDATES: usize = 15;

/// What an element read off the pixels is called.
const ROLE: &str = "text";

/// A part of the screen of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Silent {
    /// The window's title; empty where nobody manages windows.
    pub(super) title: String,
    pub(super) place: Bounds,
    id: Option<String>,
}

/// The parts of which the tree says nothing: windows without elements, or all of a screen without
/// windows.
pub(super) fn silent(tree: &Tree, windows: &[Window], screen: Size) -> Vec<Silent> {
    let is_known = |window: &Window| {
        let tops = (0..tree.elements.len()).filter(|place| tree.elements[*place].depth == 0);
        let mut named = tops.filter(|place| tree.elements[*place].name == window.title);
        named.any(|place| tree.subtree(place)[1..].iter().any(|one| one.is_shown()))
    };
    let whole = Bounds {
        x: 0,
        y: 0,
        width: screen.width,
        height: screen.height,
    };
    if windows.is_empty() {
        if !tree.elements.is_empty() {
            return Vec::new();
        }
        return vec![Silent {
            title: String::new(),
            place: whole,
            id: None,
        }];
    }
    let unknown = windows
        .iter()
        .filter(|window| window.is_shown && !is_known(window));
    let parts = unknown.filter_map(|window| {
        Some(Silent {
            title: window.title.clone(),
            place: window.content.within(whole)?,
            id: Some(window.id.clone()),
        })
    });
    parts.collect()
}

impl Silent {
    /// Those of its lines that are seen: places as on the screen, nothing that another window
    /// covers.
    pub(super) fn seen(&self, lines: Vec<Line>, windows: &[Window], screen: Size) -> Vec<Line> {
        let lines = lines.into_iter().map(|mut line| {
            for word in &mut line.words {
                word.bounds.x = word.bounds.x.saturating_add(self.place.x);
                word.bounds.y = word.bounds.y.saturating_add(self.place.y);
            }
            line.words.retain(|word| {
                let centre = word.bounds.centre_on(screen);
                centre.is_some_and(|centre| self.is_in_front(windows, centre))
            });
            line
        });
        lines.filter(|line| !line.words.is_empty()).collect()
    }

    fn is_in_front(&self, windows: &[Window], at: ScreenPoint) -> bool {
        let front = super::front_at(windows, at);
        front.map(|window| &window.id) == self.id.as_ref()
    }
}

/// The lines as what can be marked, at most so many.
pub(super) fn marks(lines: &[Line], screen: Size, at_most: usize) -> Vec<Mark> {
    let mark = |line: &Line| {
        let region = line.bounds()?.on(screen)?;
        Some(Mark {
            target: ScreenTarget::Point(region.centre()),
            region,
            kind: MarkKind::Words,
            line: format!("{ROLE} {:?}", line.text()),
        })
    };
    lines.iter().filter_map(mark).take(at_most).collect()
}

/// Whether words that were read could be what is named.
pub(super) fn could_be(named: &Named) -> bool {
    let is_text = |role: &String| matches!(&*crate::role_name(role), "text" | "label");
    named.name.is_some() && named.id.is_none() && named.role.as_ref().is_none_or(is_text)
}

/// How well words fit; the smaller the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    /// But for case and what stands around a word.
    Close,
    /// In the midst of a word.
    Within,
}

/// Where the words stand that are meant.
///
/// # Errors
/// With those that fit equally well, each with its place as `seen_at` says it; none when none fit.
pub(super) fn find(
    lines: &[Line],
    words: &str,
    screen: Size,
    seen_at: impl Fn(ScreenPoint) -> (i32, i32),
) -> Result<ScreenPoint, Vec<String>> {
    let asked: Vec<&str> = words.split_whitespace().collect();
    let mut found: Vec<(Fit, ScreenPoint, String)> = Vec::new();
    for line in lines {
        for some in line.words.windows(asked.len().max(1)) {
            let fits = some
                .iter()
                .zip(&asked)
                .map(|(word, asked)| fit(&word.text, asked));
            let Some(Some(fit)) = fits.reduce(|one, other| Some(one?.max(other?))) else {
                continue;
            };
            // In the midst of one word only: of several it would be chance.
            if fit == Fit::Within && asked.len() > 1 {
                continue;
            }
            let bounds = some.iter().map(|word| word.bounds).reduce(Bounds::around);
            if let Some(at) = bounds.and_then(|bounds| bounds.centre_on(screen)) {
                found.push((fit, at, line.text()));
            }
        }
    }
    let best = found.iter().map(|(fit, ..)| *fit).min();
    found.retain(|(fit, ..)| Some(*fit) == best);
    match &found[..] {
        [(_, at, _)] => Ok(*at),
        _ => Err(found
            .into_iter()
            .take(CANDIDATES)
            .map(|(_, at, line)| {
                let (x, y) = seen_at(at);
                format!("{ROLE} {line:?} at {x},{y}")
            })
            .collect()),
    }
}

fn fit(word: &str, asked: &str) -> Option<Fit> {
    if word == asked {
        return Some(Fit::Exact);
    }
    let bare = |text: &str| {
        text.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let (word, asked) = (bare(word), bare(asked));
    if word == asked {
        Some(Fit::Close)
    } else {
        (!asked.is_empty() && word.contains(&asked)).then_some(Fit::Within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;

    const SCREEN: Size = Size::new(400, 300);

    /// Words of 30 by 10 pixels, 40 apart.
    fn line(y: i32, words: &str) -> Line {
        let word = |(at, text): (i32, &str)| Word {
            text: text.to_owned(),
            bounds: Bounds {
                x: at * 40,
                y,
                width: 30,
                height: 10,
            },
        };
        Line {
            words: (0..).zip(words.split(' ')).map(word).collect(),
        }
    }

    fn found(words: &str) -> Result<(u32, u32), Vec<String>> {
        let lines = [
            line(0, "File Edit Quit"),
            line(20, "Save file as: quitting"),
            line(40, "save nothing Edit"),
        ];
        let seen_at = |at: ScreenPoint| (at.x().cast_signed(), at.y().cast_signed());
        find(&lines, words, SCREEN, seen_at).map(|at| (at.x(), at.y()))
    }

    #[test]
    fn words_are_found_where_they_stand() {
        assert_eq!(found("Quit"), Ok((95, 5)));
        assert_eq!(found("Save"), Ok((15, 25)));
        assert_eq!(found("file as"), Ok((75, 25)));
        assert_eq!(found("quitt"), Ok((135, 25)));
    }

    #[test]
    fn words_that_stand_twice_are_named_with_their_places() {
        let twice = [
            "text \"File Edit Quit\" at 55,5".to_owned(),
            "text \"save nothing Edit\" at 95,45".to_owned(),
        ];
        assert_eq!(found("Edit"), Err(twice.to_vec()));
        assert_eq!(found("Print"), Err(Vec::new()));
    }

    #[test]
    fn lines_are_marked_as_they_stand() {
        let marks = marks(&[line(10, "a b"), line(30, "c")], SCREEN, 1);
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].line, "text \"a b\"");
        assert_eq!(
            (marks[0].region.origin().y(), marks[0].region.size().width),
            (10, 70)
        );
    }
}
