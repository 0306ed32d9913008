//! Orders windows in a tree: the one that the user works in comes first.

use crate::Window;
use crate::elements::{Element, ElementState, ElementTree};

/// The same tree with the active window first, then modal windows, then the others in their order.
/// The window that the window manager calls active has the state, if its program does not say so.
pub(super) fn active_first(mut tree: ElementTree, windows: &[Window]) -> ElementTree {
    let active = windows.iter().find(|window| window.is_active);
    let mut groups: Vec<Vec<Element>> = Vec::new();
    for element in tree.elements.drain(..) {
        match groups.last_mut() {
            Some(group) if element.depth > 0 => group.push(element),
            Some(_) | None => groups.push(vec![element]),
        }
    }
    if let Some(active) = active {
        mark_active(&mut groups, &active.title);
    }
    let has = |group: &[Element], state| group.first().is_some_and(|top| top.states.has(state));
    groups.sort_by_key(|group| {
        (
            !has(group, ElementState::Active),
            !has(group, ElementState::Modal),
        )
    });
    tree.elements = groups.into_iter().flatten().collect();
    tree
}

/// Marks the only window with this title, unless one is marked already.
fn mark_active(groups: &mut [Vec<Element>], title: &str) {
    let is_active = |top: &Element| top.states.has(ElementState::Active);
    if groups
        .iter()
        .filter_map(|group| group.first())
        .any(is_active)
    {
        return;
    }
    let mut titled = groups
        .iter_mut()
        .filter_map(|group| group.first_mut())
        .filter(|top| top.name == title);
    if let (Some(top), None) = (titled.next(), titled.next()) {
        top.states.add(ElementState::Active);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::ScreenBounds;
    use crate::elements::tests::{element, tree};

    fn window(title: &str, is_active: bool) -> Window {
        let bounds = ScreenBounds {
            x: 0,
            y: 0,
            width: 10,
            height: 10,
        };
        Window {
            id: format!("w-{title}"),
            title: title.to_owned(),
            class: String::new(),
            instance: String::new(),
            bounds,
            content: bounds,
            is_active,
            is_dialog: false,
            is_shown: true,
        }
    }

    fn ids(tree: &ElementTree) -> Vec<&str> {
        tree.elements.iter().map(|one| one.id.as_str()).collect()
    }

    #[test]
    fn the_active_window_precedes_modal_ones_and_the_rest() {
        let mut elements = vec![
            element(0, "e1", "window", "A"),
            element(1, "e2", "button", "x"),
            element(0, "e3", "dialog", "B"),
            element(0, "e4", "window", "C"),
            element(1, "e5", "button", "y"),
        ];
        elements[2].states.add(ElementState::Modal);
        let windows = [window("A", false), window("C", true)];
        let ordered = active_first(tree(elements), &windows);
        assert_eq!(ids(&ordered), ["e4", "e5", "e3", "e1", "e2"]);
        assert!(ordered.elements[0].states.has(ElementState::Active));
    }

    #[test]
    fn no_window_is_marked_if_several_have_the_title() {
        let elements = vec![
            element(0, "e1", "window", "A"),
            element(0, "e2", "window", "A"),
        ];
        let ordered = active_first(tree(elements), &[window("A", true)]);
        assert_eq!(ids(&ordered), ["e1", "e2"]);
        assert!(!ordered.elements[0].states.has(ElementState::Active));
    }
}
