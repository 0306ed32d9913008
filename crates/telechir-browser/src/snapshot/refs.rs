//! Refs: each names one element of one document permanently.

use std::collections::{BTreeMap, HashMap};

use super::node::{DocumentId, ElementId, PageNode};

/// The refs that were issued. Numbers are never reused.
#[derive(Debug, Default)]
pub(crate) struct ElementRefs {
    issued: BTreeMap<u32, (ElementId, char)>,
    by_element: HashMap<ElementId, u32>,
    last: u32,
}

/// The element that a ref resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefTarget {
    /// This element, if it still exists.
    Element(ElementId),
    /// The element of this number has another letter.
    OtherLetter(char, u32),
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

/// The letter of all other roles.
const OTHER_LETTER: char = 'e';

/// The letter of a role, if it has one.
pub(crate) fn letter(role: &str) -> Option<char> {
    let known = LETTERS.iter().find(|(name, ..)| *name == role);
    known.map(|(_, letter, _)| *letter)
}

impl ElementRefs {
    /// The ref of an element, such as `b12`.
    pub(crate) fn of(&mut self, node: &PageNode) -> String {
        self.of_element(node.element, &node.role)
    }

    /// The ref of an element with this role.
    pub(crate) fn of_element(&mut self, element: ElementId, role: &str) -> String {
        let letter = letter(role).unwrap_or(OTHER_LETTER);
        let number = *self.by_element.entry(element).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.issued.insert(number, (element, letter));
        format!("{letter}{number}")
    }

    /// Resolves a ref. Its letter may be missing, or that of any role; the letter of another role is
    /// a mistake.
    pub(crate) fn resolve(&self, id: &str) -> RefTarget {
        let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
        let letters = &id[..id.len() - digits.len()];
        let Ok(number) = digits.parse::<u32>() else {
            return RefTarget::Unknown;
        };
        match self.issued.get(&number) {
            Some((element, letter)) => {
                let mut chars = letters.chars();
                let given = chars.next().filter(|_| chars.next().is_none());
                let is_other = |given: char| {
                    let is_known = LETTERS.iter().any(|(_, known, _)| *known == given);
                    is_known && given != *letter && *letter != OTHER_LETTER
                };
                match given.is_some_and(is_other) {
                    true => RefTarget::OtherLetter(*letter, number),
                    false => RefTarget::Element(*element),
                }
            }
            None if (1..=self.last).contains(&number) => RefTarget::Gone,
            None => RefTarget::Unknown,
        }
    }

    /// Forgets the elements of a document that is gone; their refs stay reserved.
    pub(crate) fn forget(&mut self, document: DocumentId) {
        self.issued
            .retain(|_, (element, _)| element.document != document);
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
    fn a_ref_needs_no_letter_but_no_wrong_one() {
        let mut refs = ElementRefs::default();
        let page = nodes(&[(0, 1, "button", "a")]);
        refs.of(&page[0]);
        let expected = RefTarget::Element(page[0].element);
        for id in ["b1", "e1", "ref_1", "1"] {
            assert_eq!(refs.resolve(id), expected, "{id}");
        }
        assert_eq!(refs.resolve("c1"), RefTarget::OtherLetter('b', 1));
        for id in ["b2", "b", "", "b1x", "b-1", "b0"] {
            assert_eq!(refs.resolve(id), RefTarget::Unknown, "{id}");
        }
    }
}
