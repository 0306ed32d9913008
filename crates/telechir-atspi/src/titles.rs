//! Gives windows the titles that the screen shows.

use std::collections::HashMap;

use telechir_device::{Element, ElementTree, ScreenBounds, Window};

/// Renames windows that their applications call otherwise, such as GTK's message dialogs
/// ("Question"), to the title of the only window with the same bounds. Returns the titles by the
/// applications' names.
pub(crate) fn rename(tree: &mut ElementTree, windows: &[Window]) -> HashMap<String, String> {
    let tops = || tree.elements.iter().filter(|element| element.depth == 0);
    let has_title = |top: &&Element| windows.iter().any(|window| window.title == top.name);
    let shown = windows.iter().filter(|window| window.is_shown);
    let free: Vec<&Window> = shown
        .filter(|window| !window.title.is_empty())
        .filter(|window| tops().all(|top| top.name != window.title))
        .collect();
    let mut titles: HashMap<String, String> = HashMap::new();
    for top in tops().filter(|top| !has_title(top)) {
        let title = top.bounds.and_then(|bounds| title_at(&free, bounds));
        if let Some(title) = title {
            titles.insert(top.name.clone(), title.to_owned());
        }
    }
    for element in tree.elements.iter_mut().filter(|one| one.depth == 0) {
        if let Some(title) = titles.get(&element.name) {
            element.name.clone_from(title);
        }
    }
    titles
}

fn title_at<'w>(windows: &[&'w Window], bounds: ScreenBounds) -> Option<&'w str> {
    let mut fitting = windows
        .iter()
        .filter(|window| window.content == bounds || window.bounds == bounds);
    match (fitting.next(), fitting.next()) {
        (Some(window), None) => Some(&window.title),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use telechir_device::ElementStates;

    use super::*;

    fn bounds(x: i32) -> ScreenBounds {
        ScreenBounds {
            x,
            y: 0,
            width: 100,
            height: 50,
        }
    }

    fn window(title: &str, x: i32) -> Window {
        Window {
            id: format!("w-{title}"),
            title: title.to_owned(),
            class: String::new(),
            instance: String::new(),
            bounds: bounds(x),
            content: bounds(x),
            is_active: false,
            is_dialog: false,
            is_shown: true,
        }
    }

    fn top(name: &str, x: i32) -> Element {
        Element {
            id: format!("e{x}"),
            depth: 0,
            role: "dialog".into(),
            name: name.to_owned(),
            value: None,
            automation_id: None,
            states: ElementStates::default(),
            bounds: Some(bounds(x)),
            actions: Vec::new(),
        }
    }

    fn renamed(tops: Vec<Element>, windows: &[Window]) -> Vec<String> {
        let mut tree = ElementTree {
            elements: tops,
            ..ElementTree::default()
        };
        rename(&mut tree, windows);
        tree.elements.into_iter().map(|top| top.name).collect()
    }

    #[test]
    fn a_dialog_has_the_title_of_the_window_in_its_bounds() {
        let windows = [window("Sheet", 0), window("Confirm File Format", 10)];
        let names = renamed(vec![top("Sheet", 0), top("Question", 10)], &windows);
        assert_eq!(names, ["Sheet", "Confirm File Format"]);
    }

    #[test]
    fn a_window_elsewhere_or_of_another_element_gives_no_title() {
        let windows = [window("Sheet", 0), window("Other", 30)];
        let names = renamed(vec![top("Sheet", 50), top("Question", 0)], &windows);
        assert_eq!(names, ["Sheet", "Question"]);
        let twice = [window("A", 10), window("B", 10)];
        assert_eq!(renamed(vec![top("Question", 10)], &twice), ["Question"]);
    }
}
