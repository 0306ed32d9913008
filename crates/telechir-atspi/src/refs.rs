//! The refs that were given to elements: an element keeps its own for as long as it is there.

use std::collections::HashMap;

use crate::object::{Abilities, Object};

/// Beyond this the oldest are forgotten: an application that makes elements without end must not
/// fill the memory.
const MOST: usize = 200_000;

/// What is remembered of an element that has a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) object: Object,
    pub(crate) role: u32,
    /// None where they were not asked for.
    pub(crate) abilities: Abilities,
    /// The title of its window, when the application counts pixels from there.
    pub(crate) counts_from: Option<String>,
}

/// Refs and their elements.
#[derive(Debug, Default)]
pub(crate) struct Refs {
    numbers: HashMap<Object, u64>,
    known: HashMap<u64, Known>,
    last: u64,
}

impl Refs {
    /// The ref of an element: `e12`.
    pub(crate) fn name(&mut self, known: Known) -> String {
        let number = if let Some(number) = self.numbers.get(&known.object) {
            *number
        } else {
            self.last += 1;
            self.numbers.insert(known.object.clone(), self.last);
            self.last
        };
        self.known.insert(number, known);
        format!("e{number}")
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Known> {
        self.known.get(&number_of(name)?)
    }

    /// What is remembered of an element; none when it has no ref.
    pub(crate) fn known(&self, object: &Object) -> Option<&Known> {
        self.known.get(self.numbers.get(object)?)
    }

    /// Forgets the elements of applications that are not among these, and what is too much.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        let oldest = self.last.saturating_sub(MOST as u64);
        let numbers = &mut self.numbers;
        self.known.retain(|number, known| {
            let stays = is_there(&known.object.bus) && *number > oldest;
            if !stays {
                numbers.remove(&known.object);
            }
            stays
        });
    }
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix('e')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use zbus::OwnedObjectPath;

    use super::*;

    fn known(bus: &str, path: &str) -> Known {
        Known {
            object: Object {
                bus: bus.to_owned(),
                path: OwnedObjectPath::try_from(path.to_owned()).unwrap(),
            },
            role: 43,
            abilities: Abilities::NONE,
            counts_from: None,
        }
    }

    #[test]
    fn an_element_keeps_its_ref() {
        let mut refs = Refs::default();
        assert_eq!(refs.name(known(":1.2", "/a")), "e1");
        assert_eq!(refs.name(known(":1.2", "/b")), "e2");
        assert_eq!(refs.name(known(":1.2", "/a")), "e1");
        assert_eq!(refs.find("e2"), Some(&known(":1.2", "/b")));
        assert_eq!(refs.find("e3"), None);
        assert_eq!(refs.find("ref_1"), None);
    }

    #[test]
    fn a_ref_of_an_application_that_ended_is_never_anothers() {
        let mut refs = Refs::default();
        refs.name(known(":1.2", "/a"));
        refs.keep(|bus| bus == ":1.3");
        assert_eq!(refs.find("e1"), None);
        assert_eq!(refs.name(known(":1.2", "/a")), "e2");
    }
}
