//! Text recognized in windows without accessibility information, and searching it.

use telechir_protocol::{NamedElement, Size};

use crate::elements::{ElementTree, ScreenBounds};
use crate::{Mark, MarkKind, ScreenPoint, ScreenTarget, TextLine, Window};

/// Maximum number of candidates in an error.
const MAX_CANDIDATES: usize = 15;

/// Role of recognized text.
const ROLE: &str = "text";

/// A part of the screen without accessibility information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnknownArea {
    /// Title of the window; empty without a window manager.
    pub(super) title: String,
    pub(super) bounds: ScreenBounds,
    id: Option<String>,
}

/// The parts without accessibility information: windows without elements, or the complete screen if
/// there are no windows.
pub(super) fn unknown_areas(
    tree: &ElementTree,
    windows: &[Window],
    screen: Size,
) -> Vec<UnknownArea> {
    let is_known = |window: &Window| {
        let tops = (0..tree.elements.len()).filter(|index| tree.elements[*index].depth == 0);
        let mut named = tops.filter(|index| tree.elements[*index].name == window.title);
        named.any(|index| tree.subtree(index)[1..].iter().any(|one| one.is_shown()))
    };
    let screen_bounds = ScreenBounds {
        x: 0,
        y: 0,
        width: screen.width,
        height: screen.height,
    };
    if windows.is_empty() {
        if !tree.elements.is_empty() {
            return Vec::new();
        }
        return vec![UnknownArea {
            title: String::new(),
            bounds: screen_bounds,
            id: None,
        }];
    }
    let unknown = windows
        .iter()
        .filter(|window| window.is_shown && !is_known(window));
    let parts = unknown.filter_map(|window| {
        Some(UnknownArea {
            title: window.title.clone(),
            bounds: window.content.within(screen_bounds)?,
            id: Some(window.id.clone()),
        })
    });
    parts.collect()
}

impl UnknownArea {
    /// The visible lines in screen coordinates, without words that another window covers.
    pub(super) fn visible_lines(
        &self,
        lines: Vec<TextLine>,
        windows: &[Window],
        screen: Size,
    ) -> Vec<TextLine> {
        let lines = lines.into_iter().map(|mut line| {
            for word in &mut line.words {
                word.bounds.x = word.bounds.x.saturating_add(self.bounds.x);
                word.bounds.y = word.bounds.y.saturating_add(self.bounds.y);
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

/// The lines as marks, at most `max_marks`.
pub(super) fn marks(lines: &[TextLine], screen: Size, max_marks: usize) -> Vec<Mark> {
    let mark = |line: &TextLine| {
        let region = line.bounds()?.on(screen)?;
        Some(Mark {
            target: ScreenTarget::Point(region.centre()),
            region,
            kind: MarkKind::OcrText,
            line: format!("{ROLE} {:?}", line.text()),
        })
    };
    lines.iter().filter_map(mark).take(max_marks).collect()
}

/// Whether recognized text could be the named element.
pub(super) fn may_match(named: &NamedElement) -> bool {
    let is_text = |role: &String| matches!(&*crate::role_name(role), "text" | "label");
    named.name.is_some() && named.id.is_none() && named.role.as_ref().is_none_or(is_text)
}

/// How well text matches; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WordMatch {
    Exact,
    /// Equal except for case and surrounding punctuation.
    Close,
    /// Within a word.
    Within,
}

/// The centre of the matching text.
///
/// # Errors
/// With the equally good matches, each with its position from `seen_at`; empty if none matches.
pub(super) fn find(
    lines: &[TextLine],
    text: &str,
    screen: Size,
    seen_at: impl Fn(ScreenPoint) -> (i32, i32),
) -> Result<ScreenPoint, Vec<String>> {
    let wanted: Vec<&str> = text.split_whitespace().collect();
    let mut found: Vec<(WordMatch, ScreenPoint, String)> = Vec::new();
    for line in lines {
        for some in line.words.windows(wanted.len().max(1)) {
            let fits = some
                .iter()
                .zip(&wanted)
                .map(|(word, wanted)| fit(&word.text, wanted));
            let Some(Some(fit)) = fits.reduce(|one, other| Some(one?.max(other?))) else {
                continue;
            };
            // Only for a single word: within several it would be a coincidence.
            if fit == WordMatch::Within && wanted.len() > 1 {
                continue;
            }
            let bounds = some
                .iter()
                .map(|word| word.bounds)
                .reduce(ScreenBounds::around);
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
            .take(MAX_CANDIDATES)
            .map(|(_, at, line)| {
                let (x, y) = seen_at(at);
                format!("{ROLE} {line:?} at {x},{y}")
            })
            .collect()),
    }
}

fn fit(word: &str, wanted: &str) -> Option<WordMatch> {
    if word == wanted {
        return Some(WordMatch::Exact);
    }
    let bare = |text: &str| {
        text.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let (word, wanted) = (bare(word), bare(wanted));
    if word == wanted {
        Some(WordMatch::Close)
    } else {
        (!wanted.is_empty() && word.contains(&wanted)).then_some(WordMatch::Within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecognizedWord;

    const SCREEN: Size = Size::new(400, 300);

    /// Words of 30 by 10 pixels, 40 apart.
    fn line(y: i32, text: &str) -> TextLine {
        let word = |(at, text): (i32, &str)| RecognizedWord {
            text: text.to_owned(),
            bounds: ScreenBounds {
                x: at * 40,
                y,
                width: 30,
                height: 10,
            },
        };
        TextLine {
            words: (0..).zip(text.split(' ')).map(word).collect(),
        }
    }

    fn found(text: &str) -> Result<(u32, u32), Vec<String>> {
        let lines = [
            line(0, "File Edit Quit"),
            line(20, "Save file as: quitting"),
            line(40, "save nothing Edit"),
        ];
        let seen_at = |at: ScreenPoint| (at.x().cast_signed(), at.y().cast_signed());
        find(&lines, text, SCREEN, seen_at).map(|at| (at.x(), at.y()))
    }

    #[test]
    fn text_is_found_at_its_position() {
        assert_eq!(found("Quit"), Ok((95, 5)));
        assert_eq!(found("Save"), Ok((15, 25)));
        assert_eq!(found("file as"), Ok((75, 25)));
        assert_eq!(found("quitt"), Ok((135, 25)));
    }

    #[test]
    fn repeated_text_is_listed_with_its_positions() {
        let twice = [
            "text \"File Edit Quit\" at 55,5".to_owned(),
            "text \"save nothing Edit\" at 95,45".to_owned(),
        ];
        assert_eq!(found("Edit"), Err(twice.to_vec()));
        assert_eq!(found("Print"), Err(Vec::new()));
    }

    #[test]
    fn lines_are_marked_at_their_position() {
        let marks = marks(&[line(10, "a b"), line(30, "c")], SCREEN, 1);
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].line, "text \"a b\"");
        assert_eq!(
            (marks[0].region.origin().y(), marks[0].region.size().width),
            (10, 70)
        );
    }
}
