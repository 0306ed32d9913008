//! Gives windows the titles that the screen shows.

use std::collections::HashMap;

use telechir_device::{Element, ElementTree, ScreenBounds, Window};

/// Renames windows that their applications call otherwise, such as GTK's message dialogs
/// ("Question"), to the title of the only window with the same bounds. Returns the titles by the
/// applications' names, without names that windows of different titles have.
pub(crate) fn rename(tree: &mut ElementTree, windows: &[Window]) -> HashMap<String, String> {
    let tops = || tree.elements.iter().filter(|element| element.depth == 0);
    let has_title = |top: &&Element| windows.iter().any(|window| window.title == top.name);
    let shown = windows.iter().filter(|window| window.is_shown);
    let free: Vec<&Window> = shown
        .filter(|window| !window.title.is_empty())
        .filter(|window| tops().all(|top| top.name != window.title))
        .collect();
    let title_of = |top: &Element| {
        let bounds = top.bounds.filter(|_| !has_title(&top))?;
        title_at(&free, bounds).map(str::to_owned)
    };
    let found: Vec<Option<String>> = tops().map(title_of).collect();
    // A name that several windows on the screen have means none of their titles, unless they are equal.
    let mut by_name: HashMap<String, Option<String>> = HashMap::new();
    for (top, title) in tops().zip(&found).filter(|(top, _)| top.is_shown()) {
        by_name
            .entry(top.name.clone())
            .and_modify(|other| {
                if other != title {
                    *other = None;
                }
            })
            .or_insert_with(|| title.clone());
    }
    let tops = tree.elements.iter_mut().filter(|one| one.depth == 0);
    for (top, title) in tops.zip(found) {
        if let Some(title) = title {
            top.name = title;
        }
    }
    let titles = by_name.into_iter();
    titles
        .filter_map(|(name, title)| Some((name, title?)))
        .collect()
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
    fn dialogs_of_one_name_have_the_titles_of_their_own_windows() {
        let windows = [window("Delete?", 10), window("Replace?", 20)];
        let mut tree = ElementTree {
            elements: vec![top("", 10), top("", 20), top("", 30)],
            ..ElementTree::default()
        };
        let titles = rename(&mut tree, &windows);
        assert_eq!(titles, HashMap::new());
        let names = tree.elements.into_iter().map(|top| top.name);
        assert_eq!(names.collect::<Vec<_>>(), ["Delete?", "Replace?", ""]);
        // One that is not on the screen leaves no doubt.
        let hidden = Element {
            bounds: None,
            ..top("Question", 30)
        };
        let mut tree = ElementTree {
            elements: vec![hidden, top("Question", 10)],
            ..ElementTree::default()
        };
        assert_eq!(rename(&mut tree, &windows)["Question"], "Delete?");
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
