//! An application of ours that describes its elements as unusual toolkits do.

use std::fs;

use telechir_device::{
    DeviceError, Effect, Element, ElementState, ElementTree, Outline, ScreenBounds,
};
use telechir_protocol::{Action, Target};

use crate::fixture::{DesktopFixture, click, invoke, named, outline, set};

const PROGRAM: &str = include_str!("fake_application.py");

/// A desktop with the application; its actions are in a file of the workspace.
async fn started(name: &str, kind: &str) -> DesktopFixture {
    let mut fixture = DesktopFixture::new().await;
    let path = fixture.workspace.join("fake_application.py");
    fs::write(&path, PROGRAM).unwrap();
    let path = path.to_str().unwrap();
    fixture.launch("python3", &[path, name, kind]).await;
    fixture
}

fn actions(fixture: &DesktopFixture) -> String {
    fs::read_to_string(fixture.workspace.join("actions")).unwrap_or_default()
}

fn by_ref(id: &str) -> Target {
    Target::Ref {
        id: id.to_owned(),
        frame: None,
    }
}

fn id_of(tree: &ElementTree, name: &str) -> String {
    let mut all = tree.elements.iter();
    all.find(|one| one.name == name).unwrap().id.clone()
}

/// The name makes telechir read it as LibreOffice, whose cache must not be asked for: the program
/// exits if it is.
#[tokio::test]
async fn elements_whose_parents_end_in_null_are_usable() {
    let mut fixture = started("soffice", "orphans").await;
    let tree = fixture
        .until("all elements", |tree| {
            tree.elements.iter().any(|one| one.name == "Below")
        })
        .await;
    // Its pane claims the size of its container, but a place 30 pixels above it.
    let below = tree
        .elements
        .iter()
        .find(|one| one.name == "Below")
        .unwrap();
    let bounds = below.bounds.map(|at| (at.x, at.y));
    assert_eq!(bounds, Some((10, 130)), "{}", outline(&tree));

    // In view the pixel is pressed, and nothing is known to have heard it.
    for name in ["Null", "Below"] {
        let done = fixture
            .perform(invoke(by_ref(&id_of(&tree, name)), None))
            .await;
        assert_eq!(done.unwrap().effect, Effect::Delivered, "{name}");
    }
    assert_eq!(actions(&fixture), "");
    // Out of view it is the element's own action, and said.
    let hidden = id_of(&tree, "Hidden");
    let done = fixture
        .perform(invoke(by_ref(&hidden), None))
        .await
        .unwrap();
    let text = done.text.unwrap();
    assert!(text.contains("Used its own action"), "{text}");
    assert_eq!(done.effect, Effect::Delivered);
    // One that its parent no longer lists is gone.
    let leave = id_of(&tree, "Leave");
    fixture.perform(invoke(by_ref(&leave), None)).await.unwrap();
    assert_eq!(actions(&fixture), "Hidden\nLeave\n");
    let gone = fixture.perform(click(by_ref(&leave))).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");

    // An editable combo box accepts a text that is none of its options.
    let size = Target::Named(named("combobox", "Size"));
    let done = fixture.perform(set(size, "10.5")).await.unwrap();
    assert_eq!(done.effect, Effect::Confirmed);
    fixture.close().await;
}

#[tokio::test]
async fn visible_cells_have_lasting_refs_and_those_with_content_are_listed() {
    let mut fixture = started("soffice", "sheet").await;
    let has_cell = |tree: &ElementTree| tree.elements.iter().any(|one| one.name == "B2");
    let tree = fixture.until("a cell", has_cell).await;
    let text = tree.outline(Some("e2"), &Outline::default()).unwrap();
    assert_eq!(
        text,
        "table \"Sheet\" [e2]\n  [A1 to D5 in view; find empty cells by name]\n  \
         cell \"B2\" [e3] value=\"Apple\"\n  cell \"A3\" [e11] focused empty"
    );
    let is_managed = |one: &Element| one.states.has(ElementState::Managed);
    let managed = tree.elements.iter().filter(|one| is_managed(one));
    assert!(managed.clone().all(|one| &*one.role == "cell"));
    assert_eq!(managed.count(), 20);
    let again = fixture.until("a cell", has_cell).await;
    assert_eq!(again, tree);
    let done = fixture.perform(click(by_ref("e3"))).await.unwrap();
    assert_eq!(done.effect, Effect::Delivered);

    // An empty cell is found by its name.
    let mut tree = tree.elements.iter();
    let empty = tree.find(|one| one.name == "C4").unwrap();
    let at = |(x, y, width, height)| ScreenBounds {
        x,
        y,
        width,
        height,
    };
    assert_eq!(empty.bounds, Some(at((200, 160, 50, 20))));
    let find = Action::Find {
        query: "c4".to_owned(),
        tab: None,
    };
    let found = fixture.perform(find).await.unwrap().text.unwrap();
    assert_eq!(found, format!("cell \"C4\" [{}] empty", empty.id));
    let by_name = Target::Named(named("cell", "C4"));
    fixture.perform(click(by_name)).await.unwrap();
    fixture.close().await;
}

#[tokio::test]
async fn unnamed_fields_and_buttons_have_the_names_of_what_describes_them() {
    let mut fixture = started("soffice", "unnamed").await;
    let tree = fixture
        .until("all elements", |tree| tree.elements.len() >= 8)
        .await;
    let named = |role: &str| -> Vec<&str> {
        let fitting = tree.elements.iter().filter(|one| &*one.role == role);
        fitting.map(|one| one.name.as_str()).collect()
    };
    assert_eq!(named("textbox"), ["Find:"]);
    assert_eq!(named("button"), ["", "Close Document", "Gallery"]);
    fixture.close().await;
}
