//! What refs mean: each names one element of one document, for good.

use std::collections::{BTreeMap, HashMap};

use super::node::{DocumentId, ElementId, Node};

/// The refs that were given out. A number is never given twice.
#[derive(Debug, Default)]
pub(crate) struct Refs {
    given: BTreeMap<u32, ElementId>,
    by_element: HashMap<ElementId, u32>,
    last: u32,
}

/// What a ref may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// This element, if it is still there.
    Element(ElementId),
    /// An element of a document that is gone.
    Gone,
    /// Nothing: it was never given out.
    Nothing,
}

/// Letters before the number, for what there is most of. Elsewhere it is `e`.
pub(crate) const LETTERS: [(&str, char, &str); 6] = [
    ("button", 'b', "button"),
    ("link", 'l', "link"),
    ("checkbox", 'c', "checkbox"),
    ("radio", 'r', "radio button"),
    ("textbox", 't', "text field"),
    ("combobox", 's', "select"),
];

/// The letter for a role, when it has one of its own.
pub(crate) fn letter(role: &str) -> Option<char> {
    let known = LETTERS.iter().find(|(name, ..)| *name == role);
    known.map(|(_, letter, _)| *letter)
}

impl Refs {
    /// The ref of an element, such as `b12`.
    pub(crate) fn of(&mut self, node: &Node) -> String {
        let number = *self.by_element.entry(node.element).or_insert_with(|| {
            self.last += 1;
            self.given.insert(self.last, node.element);
            self.last
        });
        format!("{}{number}", letter(&node.role).unwrap_or('e'))
    }

    /// What a ref means. Its letters only help a reader.
    pub(crate) fn meaning(&self, id: &str) -> Meaning {
        let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
        let Ok(number) = digits.parse::<u32>() else {
            return Meaning::Nothing;
        };
        match self.given.get(&number) {
            Some(element) => Meaning::Element(*element),
            None if (1..=self.last).contains(&number) => Meaning::Gone,
            None => Meaning::Nothing,
        }
    }

    /// Forgets the elements of a document that is gone; their refs stay used.
    pub(crate) fn forget(&mut self, document: DocumentId) {
        self.given.retain(|_, element| element.document != document);
        self.by_element
            .retain(|element, _| element.document != document);
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::tests::nodes;
    use super::*;

    #[test]
    fn a_ref_stays_with_its_element_and_is_never_given_again() {
        let mut refs = Refs::default();
        let page = nodes(&[(0, 1, "button", "a"), (0, 1, "tab", "b")]);
        assert_eq!(refs.of(&page[0]), "b1");
        assert_eq!(refs.of(&page[1]), "e2");
        assert_eq!(refs.of(&page[0]), "b1");
        refs.forget(DocumentId(1));
        assert_eq!(refs.meaning("b1"), Meaning::Gone);
        assert_eq!(refs.of(&page[0]), "b3");
    }

    #[test]
    fn letters_only_help_a_reader() {
        let mut refs = Refs::default();
        let page = nodes(&[(0, 1, "button", "a")]);
        refs.of(&page[0]);
        let expected = Meaning::Element(page[0].element);
        for id in ["b1", "e1", "ref_1", "1"] {
            assert_eq!(refs.meaning(id), expected, "{id}");
        }
        for id in ["b2", "b", "", "b1x", "b-1", "b0"] {
            assert_eq!(refs.meaning(id), Meaning::Nothing, "{id}");
        }
    }
}
