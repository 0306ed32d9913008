//! Elements as lines of text for a model: `button "Save" [e12]`.

use super::{Element, ElementState, ElementTree};

/// Which elements an outline includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Filter {
    /// Elements on the screen with some information.
    #[default]
    Shown,
    /// Interactive elements and windows on the screen.
    Interactive,
    /// Also hidden elements, such as the items of a closed menu.
    Hidden,
}

impl Filter {
    /// Parses the name of a filter; none if it is unknown.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "" | "all" | "visible" => Self::Shown,
            "interactive" => Self::Interactive,
            "hidden" => Self::Hidden,
            _ => return None,
        })
    }

    fn takes(self, element: &Element) -> bool {
        let shows = element.is_interactive()
            || !element.name.is_empty()
            || element.value.is_some()
            || element.depth == 0;
        if element.is_unused_cell() {
            return false;
        }
        match self {
            Self::Shown => element.is_shown() && shows,
            Self::Interactive => {
                element.is_shown() && (element.is_interactive() || element.depth == 0)
            }
            Self::Hidden => shows,
        }
    }
}

/// The extent of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Which kinds of elements are included.
    pub filter: Filter,
    /// Number of included levels; 1 means only the windows.
    pub depth: usize,
    /// Maximum number of elements.
    pub elements: usize,
    /// Maximum size of the text in bytes.
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

/// Maximum length of a name or value in characters; the rest is cut.
const MAX_NAME_CHARS: usize = 200;

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
        if has(ElementState::Checkable) && !has(ElementState::Checked) && !has(ElementState::Mixed)
        {
            line.push_str(" unchecked");
        }
        if has(ElementState::Expandable) && !has(ElementState::Expanded) {
            line.push_str(" collapsed");
        }
        for state in self.states.iter().filter(|state| is_listed(*state)) {
            line.push(' ');
            line.push_str(state.name());
        }
        if !self.is_shown() {
            line.push_str(" hidden");
        }
        line
    }
}

/// Relevant states; that an element can be focused, selected or edited follows from its role.
const fn is_listed(state: ElementState) -> bool {
    match state {
        ElementState::Active
        | ElementState::Focused
        | ElementState::Checked
        | ElementState::Mixed
        | ElementState::Pressed
        | ElementState::Expanded
        | ElementState::Selected
        | ElementState::ReadOnly
        | ElementState::Disabled
        | ElementState::Required
        | ElementState::Invalid
        | ElementState::Busy
        | ElementState::Modal
        | ElementState::Empty => true,
        ElementState::Focusable
        | ElementState::Checkable
        | ElementState::Expandable
        | ElementState::Selectable
        | ElementState::Editable
        | ElementState::Managed => false,
    }
}

/// Quoted, on one line and with limited length.
fn quoted(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
    }
    if let Some((end, _)) = line.char_indices().nth(MAX_NAME_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    format!("{line:?}")
}

impl ElementTree {
    /// The elements as lines, indented below their parents; `root` limits them to one subtree. None
    /// if the root is not in the tree.
    pub fn outline(&self, root: Option<&str>, outline: &Outline) -> Option<String> {
        let elements = match root {
            Some(root) => self.below(root)?,
            None => &self.elements,
        };
        let (mut lines, mut left_off) = lines(elements, outline);
        left_off += if root.is_none() { self.omitted } else { 0 };
        if left_off > 0 {
            lines.push(format!(
                "[{left_off} more elements; request a part by its ref, fewer levels, or only interactive elements]"
            ));
        }
        for name in &self.unresponsive {
            lines.push(format!(
                "[{name} does not answer; its elements are missing]"
            ));
        }
        Some(lines.join("\n"))
    }
}

fn lines(elements: &[Element], outline: &Outline) -> (Vec<String>, usize) {
    let (mut lines, mut bytes, mut left_off) = (Vec::new(), 0, 0);
    // Depths of the listed ancestors of the next element.
    let mut ancestors: Vec<usize> = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        while ancestors
            .last()
            .is_some_and(|depth| *depth >= element.depth)
        {
            ancestors.pop();
        }
        if !outline.filter.takes(element) || repeats_parent(element, &lines, &ancestors) {
            continue;
        }
        let level = ancestors.len();
        if level >= outline.depth {
            left_off += 1;
            continue;
        }
        let line = format!("{}{}", "  ".repeat(level), element.line());
        let cells = cells_in_view(element, &elements[index + 1..])
            .map(|cells| format!("{}{cells}", "  ".repeat(level + 1)));
        bytes += line.len() + 1 + cells.as_ref().map_or(0, |cells| cells.len() + 1);
        if lines.len() >= outline.elements || bytes > outline.bytes {
            left_off += 1;
            continue;
        }
        ancestors.push(element.depth);
        lines.push(line);
        lines.extend(cells);
    }
    (lines, left_off)
}

/// Which cells of a sheet are in view, since those without content are not listed; `None` for other
/// elements. `below` begins with the table's first child.
fn cells_in_view(table: &Element, below: &[Element]) -> Option<String> {
    if &*table.role != "table" {
        return None;
    }
    let inner = below.iter().take_while(|one| one.depth > table.depth);
    let cells: Vec<&Element> = inner
        .filter(|one| one.depth == table.depth + 1 && &*one.role == "cell")
        .collect();
    let (first, last) = (cells.first()?, cells.last()?);
    let has_unlisted = cells.iter().any(|cell| cell.is_unused_cell());
    has_unlisted.then(|| {
        format!(
            "[{} to {} in view; find empty cells by name]",
            first.name, last.name
        )
    })
}

/// A label inside a button only repeats the button's name.
fn repeats_parent(element: &Element, lines: &[String], ancestors: &[usize]) -> bool {
    let is_text = matches!(&*element.role, "label" | "text") && element.value.is_none();
    is_text
        && !ancestors.is_empty()
        && lines
            .last()
            .is_some_and(|line| line.contains(&format!(" {} [", quoted(&element.name))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{element, tree};
    use super::*;
    use crate::elements::ElementStates;

    fn calculator() -> ElementTree {
        let mut display = element(2, "e4", "textbox", "");
        display.value = Some("6 × 7".to_owned());
        let mut box_ = element(2, "e6", "checkbox", "Degrees");
        box_.states = ElementStates::of(&[ElementState::Checkable, ElementState::Focused]);
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
    fn a_tree_is_rendered_as_lines() {
        let text = calculator().outline(None, &Outline::default());
        assert_eq!(
            text.as_deref(),
            Some(
                "window \"Calculator\" [e1]\n  button \"7\" [e3]\n  textbox [e4] value=\"6 × 7\"\n  checkbox \"Degrees\" [e6] unchecked focused"
            )
        );
    }

    #[test]
    fn hidden_elements_are_listed_on_request() {
        let outline = Outline {
            filter: Filter::Hidden,
            ..Outline::default()
        };
        let text = calculator().outline(Some("e5"), &outline);
        assert_eq!(text.as_deref(), Some("menuitem \"Quit\" [e5] hidden"));
    }

    #[test]
    fn omitted_elements_are_counted() {
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
    fn a_sheet_lists_its_cells_with_content_and_names_the_range_in_view() {
        let mut used = element(2, "e3", "cell", "B1");
        used.value = Some("Pen".to_owned());
        let empty = |id, name, states: &[ElementState]| {
            let mut cell = element(2, id, "cell", name);
            cell.states = ElementStates::of(states);
            cell
        };
        let sheet = tree(vec![
            element(0, "e1", "window", "Calc"),
            element(1, "e2", "table", "Sheet1"),
            empty("e4", "A1", &[ElementState::Empty]),
            used,
            empty("e5", "A2", &[ElementState::Empty, ElementState::Focused]),
            empty("e6", "B2", &[ElementState::Empty]),
        ]);
        let text = sheet.outline(None, &Outline::default());
        assert_eq!(
            text.as_deref(),
            Some(
                "window \"Calc\" [e1]\n  table \"Sheet1\" [e2]\n    [A1 to B2 in view; find empty cells by name]\n    cell \"B1\" [e3] value=\"Pen\"\n    cell \"A2\" [e5] focused empty"
            )
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
