//! Refs: each names one element of one document permanently.

use std::collections::{BTreeMap, HashMap};

use super::node::{DocumentId, ElementId, PageNode};

/// The refs that were issued. Numbers are never reused.
#[derive(Debug, Default)]
pub(crate) struct ElementRefs {
    issued: BTreeMap<u32, ElementId>,
    by_element: HashMap<ElementId, u32>,
    last: u32,
}

/// The element that a ref resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefTarget {
    /// This element, if it still exists.
    Element(ElementId),
    /// An element of a document that is gone.
    Gone,
    /// No element: the ref was never issued.
    Unknown,
}

/// Letters for frequent roles; other roles have `e`.
pub(crate) const LETTERS: [(&str, char, &str); 6] = [
    ("button", 'b', "button"),
    ("link", 'l', "link"),
    ("checkbox", 'c', "checkbox"),
    ("radio", 'r', "radio button"),
    ("textbox", 't', "text field"),
    ("combobox", 's', "select"),
];

/// The letter of a role, if it has one.
pub(crate) fn letter(role: &str) -> Option<char> {
    let known = LETTERS.iter().find(|(name, ..)| *name == role);
    known.map(|(_, letter, _)| *letter)
}

impl ElementRefs {
    /// The ref of an element, such as `b12`.
    pub(crate) fn of(&mut self, node: &PageNode) -> String {
        let number = *self.by_element.entry(node.element).or_insert_with(|| {
            self.last += 1;
            self.issued.insert(self.last, node.element);
            self.last
        });
        format!("{}{number}", letter(&node.role).unwrap_or('e'))
    }

    /// Resolves a ref. Its letters are ignored.
    pub(crate) fn resolve(&self, id: &str) -> RefTarget {
        let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
        let Ok(number) = digits.parse::<u32>() else {
            return RefTarget::Unknown;
        };
        match self.issued.get(&number) {
            Some(element) => RefTarget::Element(*element),
            None if (1..=self.last).contains(&number) => RefTarget::Gone,
            None => RefTarget::Unknown,
        }
    }

    /// Forgets the elements of a document that is gone; their refs stay reserved.
    pub(crate) fn forget(&mut self, document: DocumentId) {
        self.issued
            .retain(|_, element| element.document != document);
        self.by_element
            .retain(|element, _| element.document != document);
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::tests::nodes;
    use super::*;

    #[test]
    fn a_ref_stays_with_its_element_and_is_never_reused() {
        let mut refs = ElementRefs::default();
        let page = nodes(&[(0, 1, "button", "a"), (0, 1, "tab", "b")]);
        assert_eq!(refs.of(&page[0]), "b1");
        assert_eq!(refs.of(&page[1]), "e2");
        assert_eq!(refs.of(&page[0]), "b1");
        refs.forget(DocumentId(1));
        assert_eq!(refs.resolve("b1"), RefTarget::Gone);
        assert_eq!(refs.of(&page[0]), "b3");
    }

    #[test]
    fn the_letters_of_a_ref_are_ignored() {
        let mut refs = ElementRefs::default();
        let page = nodes(&[(0, 1, "button", "a")]);
        refs.of(&page[0]);
        let expected = RefTarget::Element(page[0].element);
        for id in ["b1", "e1", "ref_1", "1"] {
            assert_eq!(refs.resolve(id), expected, "{id}");
        }
        for id in ["b2", "b", "", "b1x", "b-1", "b0"] {
            assert_eq!(refs.resolve(id), RefTarget::Unknown, "{id}");
        }
    }
}
