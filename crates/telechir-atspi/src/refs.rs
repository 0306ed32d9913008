//! Assigns refs to elements; an element keeps its ref while it exists.

use std::collections::HashMap;

use crate::object::{Abilities, CellIndex, ObjectRef};

/// Maximum number of refs; the oldest are dropped, which limits memory if an application keeps
/// creating elements.
const MAX_REFS: usize = 200_000;

/// The element behind a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefTarget {
    pub(crate) object: ObjectRef,
    pub(crate) role: u32,
    /// The object that lists it as a child; `None` if unknown. An object may not know its parent.
    pub(crate) parent: Option<ObjectRef>,
    /// Its row and column, if its table makes a new object for each request.
    pub(crate) cell: Option<CellIndex>,
    /// What its bounds lack to be those on the screen.
    pub(crate) shift: (i32, i32),
    /// `NONE` if they were not read.
    pub(crate) abilities: Abilities,
    /// Title of its window if the application reports bounds relative to it.
    pub(crate) counts_from: Option<String>,
}

/// Refs and the elements they refer to.
#[derive(Debug, Default)]
pub(crate) struct ElementRefs {
    numbers: HashMap<ObjectRef, u64>,
    cells: HashMap<CellIndex, u64>,
    targets: HashMap<u64, RefTarget>,
    last: u64,
}

impl ElementRefs {
    /// The ref of an element, such as `e12`; assigned on first use.
    pub(crate) fn name(&mut self, target: RefTarget) -> String {
        let number = self.reserve(&target.object, target.cell.as_ref());
        self.targets.insert(number, target);
        format!("e{number}")
    }

    /// The number of an element's ref, assigned if it has none; it is found once it is named.
    pub(crate) fn reserve(&mut self, object: &ObjectRef, cell: Option<&CellIndex>) -> u64 {
        let known = match cell {
            Some(cell) => self.cells.get(cell),
            None => self.numbers.get(object),
        };
        if let Some(number) = known {
            return *number;
        }
        self.last += 1;
        match cell {
            Some(cell) => self.cells.insert(cell.clone(), self.last),
            None => self.numbers.insert(object.clone(), self.last),
        };
        self.last
    }

    pub(crate) fn find(&self, name: &str) -> Option<&RefTarget> {
        self.targets.get(&number_of(name)?)
    }

    /// What is stored about an element; `None` if it has no ref.
    pub(crate) fn target_of(&self, object: &ObjectRef) -> Option<&RefTarget> {
        self.targets.get(self.numbers.get(object)?)
    }

    /// Drops the refs of exited applications and the oldest refs beyond the maximum.
    pub(crate) fn retain(&mut self, is_running: impl Fn(&str) -> bool) {
        let oldest = self.last.saturating_sub(MAX_REFS as u64);
        let (numbers, cells) = (&mut self.numbers, &mut self.cells);
        self.targets.retain(|number, target| {
            let stays = is_running(&target.object.bus) && *number > oldest;
            if !stays {
                numbers.remove(&target.object);
                target.cell.as_ref().map(|cell| cells.remove(cell));
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

    fn target(bus: &str, path: &str) -> RefTarget {
        RefTarget {
            object: ObjectRef {
                bus: bus.to_owned(),
                path: OwnedObjectPath::try_from(path.to_owned()).unwrap(),
            },
            role: 43,
            parent: None,
            cell: None,
            shift: (0, 0),
            abilities: Abilities::NONE,
            counts_from: None,
        }
    }

    #[test]
    fn an_element_keeps_its_ref() {
        let mut refs = ElementRefs::default();
        assert_eq!(refs.name(target(":1.2", "/a")), "e1");
        assert_eq!(refs.name(target(":1.2", "/b")), "e2");
        assert_eq!(refs.name(target(":1.2", "/a")), "e1");
        assert_eq!(refs.find("e2"), Some(&target(":1.2", "/b")));
        assert_eq!(refs.find("e3"), None);
        assert_eq!(refs.find("ref_1"), None);
    }

    #[test]
    fn a_cell_keeps_its_ref_although_its_object_is_new_each_time() {
        let mut refs = ElementRefs::default();
        let cell = |path: &str, column| RefTarget {
            cell: Some(CellIndex {
                table: target(":1.2", "/table").object,
                row: 0,
                column,
            }),
            ..target(":1.2", path)
        };
        assert_eq!(refs.name(cell("/1", 0)), "e1");
        assert_eq!(refs.name(cell("/2", 1)), "e2");
        assert_eq!(refs.name(cell("/3", 0)), "e1");
        assert_eq!(refs.find("e1"), Some(&cell("/3", 0)));
    }

    #[test]
    fn refs_of_an_exited_application_are_not_reused() {
        let mut refs = ElementRefs::default();
        refs.name(target(":1.2", "/a"));
        refs.retain(|bus| bus == ":1.3");
        assert_eq!(refs.find("e1"), None);
        assert_eq!(refs.name(target(":1.2", "/a")), "e2");
    }
}
