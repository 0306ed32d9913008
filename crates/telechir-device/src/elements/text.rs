//! Elements as lines of text that a model reads: `button "Save" [e12]`.

use super::{Element, State, Tree};

/// Which elements a description tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Filter {
    /// What is on the screen and says something.
    #[default]
    Shown,
    /// Only what can be acted on.
    Interactive,
    /// Also what is not shown, such as the items of a closed menu.
    Hidden,
}

impl Filter {
    /// The filter with this name; none when there is no such filter.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "" | "all" | "visible" => Self::Shown,
            "interactive" => Self::Interactive,
            "hidden" => Self::Hidden,
            _ => return None,
        })
    }

    fn takes(self, element: &Element) -> bool {
        let says = element.is_interactive()
            || !element.name.is_empty()
            || element.value.is_some()
            || element.depth == 0;
        match self {
            Self::Shown => element.is_shown() && says,
            Self::Interactive => {
                element.is_shown() && (element.is_interactive() || element.depth == 0)
            }
            Self::Hidden => says,
        }
    }
}

/// How much of a tree is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Which elements.
    pub filter: Filter,
    /// How many levels of what is told; 1 is the windows alone.
    pub depth: usize,
    /// Elements at most.
    pub elements: usize,
    /// Bytes of text at most.
    pub bytes: usize,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            filter: Filter::Shown,
            depth: usize::MAX,
            elements: 1_000,
            bytes: 50_000,
        }
    }
}

/// A name or a value longer than this is cut.
const LONGEST: usize = 200;

impl Element {
    /// The element in one line, with its ref.
    pub fn line(&self) -> String {
        let mut line = self.role.to_string();
        if !self.name.is_empty() {
            line.push(' ');
            line.push_str(&quoted(&self.name));
        }
        line.push_str(&format!(" [{}]", self.id));
        if let Some(value) = &self.value {
            line.push_str(" value=");
            line.push_str(&quoted(value));
        }
        if let Some(id) = &self.automation_id {
            line.push_str(" id=");
            line.push_str(&quoted(id));
        }
        let has = |state| self.states.has(state);
        if has(State::Checkable) && !has(State::Checked) && !has(State::Mixed) {
            line.push_str(" unchecked");
        }
        if has(State::Expandable) && !has(State::Expanded) {
            line.push_str(" collapsed");
        }
        for state in self.states.iter().filter(|state| is_told(*state)) {
            line.push(' ');
            line.push_str(state.name());
        }
        if !self.is_shown() {
            line.push_str(" hidden");
        }
        line
    }
}

/// What one would ask about; that something can be focused, selected or edited its role says.
const fn is_told(state: State) -> bool {
    match state {
        State::Active
        | State::Focused
        | State::Checked
        | State::Mixed
        | State::Pressed
        | State::Expanded
        | State::Selected
        | State::ReadOnly
        | State::Disabled
        | State::Required
        | State::Invalid
        | State::Busy
        | State::Modal => true,
        State::Focusable
        | State::Checkable
        | State::Expandable
        | State::Selectable
        | State::Editable => false,
    }
}

/// In quotes, on one line and not too long.
fn quoted(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    format!("{line:?}")
}

impl Tree {
    /// The elements as lines, each below what holds it; `root` is the ref of the only part told.
    /// None when the root is not here.
    pub fn outline(&self, root: Option<&str>, outline: &Outline) -> Option<String> {
        let elements = match root {
            Some(root) => self.below(root)?,
            None => &self.elements,
        };
        let (mut lines, mut left_off) = lines(elements, outline);
        left_off += if root.is_none() { self.left_off } else { 0 };
        if left_off > 0 {
            lines.push(format!(
                "[{left_off} more elements; ask for a part by its ref, for fewer levels, or only for what is interactive]"
            ));
        }
        for name in &self.silent {
            lines.push(format!(
                "[{name} does not answer; what it shows is not here]"
            ));
        }
        Some(lines.join("\n"))
    }
}

fn lines(elements: &[Element], outline: &Outline) -> (Vec<String>, usize) {
    let (mut lines, mut bytes, mut left_off) = (Vec::new(), 0, 0);
    // The depths of the told elements that hold the next one.
    let mut holders: Vec<usize> = Vec::new();
    for element in elements {
        while holders.last().is_some_and(|depth| *depth >= element.depth) {
            holders.pop();
        }
        if !outline.filter.takes(element) || is_said_by(element, &lines, &holders) {
            continue;
        }
        let level = holders.len();
        if level >= outline.depth {
            left_off += 1;
            continue;
        }
        let line = format!("{}{}", "  ".repeat(level), element.line());
        bytes += line.len() + 1;
        if lines.len() >= outline.elements || bytes > outline.bytes {
            left_off += 1;
            continue;
        }
        holders.push(element.depth);
        lines.push(line);
    }
    (lines, left_off)
}

/// A label inside of a button only repeats the button's name.
fn is_said_by(element: &Element, lines: &[String], holders: &[usize]) -> bool {
    let is_words = matches!(&*element.role, "label" | "text") && element.value.is_none();
    is_words
        && !holders.is_empty()
        && lines
            .last()
            .is_some_and(|line| line.contains(&format!(" {} [", quoted(&element.name))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{element, tree};
    use super::*;
    use crate::elements::States;

    fn calculator() -> Tree {
        let mut display = element(2, "e4", "textbox", "");
        display.value = Some("6 × 7".to_owned());
        let mut box_ = element(2, "e6", "checkbox", "Degrees");
        box_.states = States::of(&[State::Checkable, State::Focused]);
        tree(vec![
            element(0, "e1", "window", "Calculator"),
            element(1, "e2", "panel", ""),
            element(2, "e3", "button", "7"),
            element(3, "e9", "label", "7"),
            display,
            element(2, "e5", "menuitem", "-Quit"),
            box_,
        ])
    }

    #[test]
    fn a_tree_is_told_in_lines() {
        let text = calculator().outline(None, &Outline::default());
        assert_eq!(
            text.as_deref(),
            Some(
                "window \"Calculator\" [e1]\n  button \"7\" [e3]\n  textbox [e4] value=\"6 × 7\"\n  checkbox \"Degrees\" [e6] unchecked focused"
            )
        );
    }

    #[test]
    fn hidden_elements_are_told_when_asked_for() {
        let outline = Outline {
            filter: Filter::Hidden,
            ..Outline::default()
        };
        let text = calculator().outline(Some("e5"), &outline);
        assert_eq!(text.as_deref(), Some("menuitem \"Quit\" [e5] hidden"));
    }

    #[test]
    fn what_is_left_off_is_counted() {
        let outline = Outline {
            elements: 2,
            ..Outline::default()
        };
        let text = calculator().outline(None, &outline).unwrap();
        assert!(text.contains("[2 more elements;"), "{text}");
        let shallow = Outline {
            depth: 1,
            ..Outline::default()
        };
        let text = calculator().outline(None, &shallow).unwrap();
        assert!(
            text.starts_with("window \"Calculator\" [e1]\n[4 more"),
            "{text}"
        );
    }

    #[test]
    fn long_names_are_cut_and_stay_on_a_line() {
        let named = element(0, "e1", "label", &format!("a\nb {}", "x".repeat(500)));
        let line = named.line();
        assert!(
            line.starts_with("label \"a b xxx") && line.len() < 250,
            "{line}"
        );
    }
}
