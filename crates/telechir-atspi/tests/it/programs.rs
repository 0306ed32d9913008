//! Programs of each toolkit: their elements and the effects of actions.

use std::fs;

use telechir_device::{
    Computer as _, Detail, DeviceError, Effect, Element, ElementMarks as _, ElementState,
    ElementTree, Labels, MarkKind, Outline, ScreenAction, Viewport, WindowSystem as _, draw,
};
use telechir_protocol::{Action, Button, ClickCount, NamedElement, Point, Region, Space, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, require};

use crate::fixture::{DesktopFixture, click, invoke, named, outline, set};

fn by_name(role: &str, name: &str) -> Target {
    Target::Named(named(role, name))
}

#[tokio::test]
async fn a_calculator_is_operated_by_name() {
    let mut fixture = DesktopFixture::with("gnome-calculator", &[]).await;
    fixture.element(&named("button", "7")).await;
    // Two buttons by their own action, two by clicks at their position.
    for name in ["6", "×"] {
        fixture
            .perform(invoke(by_name("button", name), None))
            .await
            .unwrap();
    }
    for name in ["7", "="] {
        fixture
            .perform(click(by_name("button", name)))
            .await
            .unwrap();
    }
    fixture
        .until("42", |tree| {
            let values = tree.elements.iter().filter_map(|one| one.value.as_deref());
            values.into_iter().any(|value| value.trim() == "42")
        })
        .await;
    fixture.close().await;
}

#[tokio::test]
async fn actionable_elements_get_labels_that_can_be_clicked() {
    let mut fixture = DesktopFixture::with("gnome-calculator", &[]).await;
    fixture.element(&named("button", "7")).await;
    let marks = fixture.desktop.marks(99).await.unwrap();
    let index = |line: &str| {
        marks
            .iter()
            .position(|mark| mark.line.starts_with(line))
            .unwrap()
    };
    assert!(marks.len() > 20, "{marks:?}");
    assert_eq!(marks[index("textbox")].kind, MarkKind::Field);
    // The labels are in the screenshot and not on the screen.
    let screen = fixture.desktop.capture().await.unwrap();
    let mut screenshot = screen.clone();
    draw(&mut screenshot, &marks, &Viewport::unscaled(screen.size()));
    let seven = &marks[index("button \"7\"")];
    let (x, y) = (seven.region.origin().x(), seven.region.origin().y());
    assert_eq!(screenshot.pixel(x, y + 3), Some(MarkKind::Press.colour()));
    assert_ne!(screen.pixel(x, y + 3), screenshot.pixel(x, y + 3));
    let labels = Labels::of("frame_1".into(), &marks);
    for line in ["button \"7\"", "button \"7\"", "button \"=\""] {
        let n = u32::try_from(index(line) + 1).unwrap();
        let at = labels.find(n, None).unwrap();
        let action = ScreenAction::Click {
            at: Some(at),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: Vec::new(),
        };
        fixture.desktop.perform(&action).await.unwrap();
    }
    fixture
        .until("77", |tree| {
            let values = tree.elements.iter().filter_map(|one| one.value.as_deref());
            values.into_iter().any(|value| value.trim() == "77")
        })
        .await;
    let few = fixture.desktop.marks(5).await.unwrap();
    assert_eq!(few.len(), 5);
    fixture.close().await;
}

#[tokio::test]
async fn menus_and_dialogs_are_operated_by_name() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    let text = fixture.element(&named("textbox", "")).await;
    let here = Target::Ref {
        id: text.id.clone(),
        frame: None,
    };
    let done = fixture
        .perform(set(here.clone(), "Zoë was here\n"))
        .await
        .unwrap();
    assert_eq!(done.effect, Effect::Confirmed, "{done:?}");
    // The menu by a click, its item by its own action.
    fixture
        .perform(click(by_name("menu", "File")))
        .await
        .unwrap();
    let item = fixture.element(&named("menuitem", "Save As...")).await;
    assert!(item.is_shown());
    fixture
        .perform(click(by_name("menuitem", "Save As...")))
        .await
        .unwrap();
    let path = fixture.workspace.join("note.txt");
    let name = named("textbox", "Name:");
    fixture.element(&name).await;
    let full = path.display().to_string();
    fixture
        .perform(set(Target::Named(name), full))
        .await
        .unwrap();
    // The dialog ignores input while it reads the folder and shows no sign of it.
    let open = |tree: ElementTree| tree.elements.iter().any(|one| &*one.role == "filechooser");
    let mut save = async || {
        // If it has just closed, the button is gone and nothing is clicked.
        let clicked = fixture.perform(click(by_name("button", "Save"))).await;
        (open(fixture.tree(Detail::Basic).await), clicked.err())
    };
    assert_eventually!(save().await, |(is_open, _)| !is_open);
    fixture
        .until("the file's name", |tree| {
            tree.elements
                .iter()
                .any(|one| one.depth == 0 && one.name.contains("note.txt"))
        })
        .await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "Zoë was here\n");
    fixture.close().await;
}

#[tokio::test]
async fn a_file_dialog_shows_its_sidebar_and_the_files_of_the_workspace() {
    let mut fixture = DesktopFixture::new().await;
    for (name, text) in [("letter.txt", "Dear Ada,"), ("list.txt", "milk")] {
        fs::write(fixture.workspace.join(name), text).unwrap();
    }
    fixture.launch("mousepad", &[]).await;
    fixture.element(&named("textbox", "")).await;
    let open = Action::Key {
        repeat: 1,
        chord: telechir_protocol::Chord::parse("ctrl+o").unwrap(),
    };
    fixture.perform(open).await.unwrap();
    // The rows of a list that GTK makes on request.
    fixture.element(&named("label", "Home")).await;
    // A cell that has an icon and a text.
    let cell = fixture.element(&named("cell", "letter.txt")).await;
    let target = |name: &str| Target::Named(named("cell", name));
    fixture.perform(click(target("letter.txt"))).await.unwrap();
    let again = fixture.element(&named("cell", "letter.txt")).await;
    assert_eq!(again.id, cell.id);
    let open = click(by_name("button", "Open"));
    fixture.perform(open).await.unwrap();
    fixture
        .until("the file", |tree| {
            let values = tree.elements.iter().filter_map(|one| one.value.as_deref());
            values.into_iter().any(|value| value == "Dear Ada,")
        })
        .await;
    fixture.close().await;
}

#[tokio::test]
async fn a_drag_from_under_the_window_of_its_end_is_refused() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    let text = fixture.element(&named("textbox", "")).await;
    fixture.launch("gnome-calculator", &[]).await;
    fixture.element(&named("button", "7")).await;
    let at = |x, y| Point {
        x,
        y,
        space: Space::Screen,
    };
    for window in ["Mousepad", "Calculator"] {
        let move_window = Action::PlaceWindow {
            window: Some(window.to_owned()),
            region: Region {
                from: at(300.0, 50.0),
                to: at(900.0, 750.0),
            },
        };
        fixture.perform(move_window).await.unwrap();
    }
    let text = Target::Ref {
        id: text.id,
        frame: None,
    };
    let drag = Action::Drag {
        path: vec![text, by_name("button", "7")],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
    };
    match fixture.perform(drag).await {
        Err(DeviceError::Refused { message }) => {
            assert!(message.contains("beside each other"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_removed_element_is_stale_and_a_changed_one_is_not() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    let text = fixture.element(&named("textbox", "")).await;
    let menu = Action::Invoke {
        at: by_name("menuitem", "About"),
        name: None,
    };
    fixture.perform(menu).await.unwrap();
    let close = fixture.element(&named("button", "Close")).await;
    let at = |id: &str| Target::Ref {
        id: id.to_owned(),
        frame: Some("frame_1".into()),
    };
    fixture.perform(click(at(&close.id))).await.unwrap();
    fixture
        .until("the dialog to close", |tree| {
            !tree.elements.iter().any(|one| one.id == close.id)
        })
        .await;
    let gone = fixture.perform(click(at(&close.id))).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");
    // The window showed a dialog and changed its title, but the text field is the same element.
    fixture
        .perform(set(at(&text.id), "still here"))
        .await
        .unwrap();
    fixture.close().await;
}

#[tokio::test]
async fn a_qt_program_is_operated_by_name() {
    let mut fixture = DesktopFixture::with("speedcrunch", &[]).await;
    fixture.element(&named("menuitem", "Settings")).await;
    // Its results are in a read-only text field.
    let is_field = |one: &Element| {
        &*one.role == "textbox" && one.is_shown() && !one.states.has(ElementState::ReadOnly)
    };
    let tree = fixture
        .until("a field", |tree| tree.elements.iter().any(is_field))
        .await;
    let text = outline(&tree);
    assert!(text.contains("menuitem \"Session\""), "{text}");
    let field = tree.elements.iter().find(|one| is_field(one)).unwrap();
    let at = Target::Ref {
        id: field.id.clone(),
        frame: None,
    };
    let typed = Action::Type {
        text: "6*7".to_owned(),
        at: Some(at),
        clear_first: true,
        submit: true,
    };
    fixture.perform(typed).await.unwrap();
    fixture
        .until("42", |tree| {
            tree.elements.iter().any(|one| {
                let text = one.value.as_deref().unwrap_or(&one.name);
                text.contains("42")
            })
        })
        .await;
    fixture.close().await;
}

/// A page with more elements than a screen shows.
fn page(rows: usize) -> String {
    use std::fmt::Write as _;
    let mut html = "<!doctype html><title>Rows</title><h1>Order</h1>\
        <label>Name <input></label><label><input type=checkbox> Milk</label>\
        <button onclick=\"document.title = 'sent'\">Send it</button>\
        <details><summary>More</summary>nothing more</details>\
        <label><input type=radio name=size> Small</label>\
        <label><input type=radio name=size> Large</label>\
        <label>Colour <select><option>Red<option>Green<option>Blue</select></label>"
        .to_owned();
    for row in 0..rows {
        let _infallible = write!(html, "<p>Row {row} <a href='#r{row}'>link {row}</a></p>");
    }
    html
}

#[tokio::test]
async fn a_chromium_page_is_operated_by_name() {
    require(Component::Chromium);
    let mut fixture = DesktopFixture::new().await;
    let path = fixture.workspace.join("page.html");
    fs::write(&path, page(900)).unwrap();
    let address = format!("file://{}", path.display());
    // Its own sandbox cannot run inside another one.
    let flags = [
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        "--force-renderer-accessibility",
    ];
    let args: Vec<&str> = flags.into_iter().chain([address.as_str()]).collect();
    fixture.launch("chromium", &args).await;
    fixture.element(&named("button", "Send it")).await;
    let is_complete = |tree: &ElementTree| tree.elements.len() > 2_700;
    let tree = fixture.until("the complete page", is_complete).await;
    let shown = tree.elements.iter().filter(|one| one.is_shown()).count();
    assert!(
        (20..800).contains(&shown),
        "{shown} of {}",
        tree.elements.len()
    );
    let outline = Outline {
        elements: 50,
        ..Outline::default()
    };
    let text = tree.outline(None, &outline).unwrap();
    assert!(
        text.lines().count() <= 52 && text.contains("more elements"),
        "{text}"
    );

    let milk = fixture
        .perform(invoke(by_name("checkbox", "Milk"), Some("check")))
        .await
        .unwrap();
    assert_eq!(milk.effect, Effect::Confirmed, "{milk:?}");
    // Chromium does not accept text through AT-SPI: it is typed.
    let name = fixture
        .perform(set(by_name("textbox", "Name"), "Zoë"))
        .await
        .unwrap();
    assert!(name.text.unwrap().contains("value=\"Zoë\""));
    for (role, name, action) in [
        ("checkbox", "Milk", "toggle"),
        ("checkbox", "Milk", "toggle"),
        ("radio", "Large", "select"),
        ("textbox", "Name", "focus"),
    ] {
        let done = fixture
            .perform(invoke(by_name(role, name), Some(action)))
            .await;
        assert_eq!(done.unwrap().effect, Effect::Confirmed, "{action} {name}");
    }
    let more = Target::Named(NamedElement {
        name: Some("More".to_owned()),
        ..NamedElement::default()
    });
    for action in ["expand", "expand", "collapse"] {
        let done = fixture.perform(invoke(more.clone(), Some(action))).await;
        assert_eq!(done.unwrap().effect, Effect::Confirmed, "{action}");
    }
    let colour = fixture
        .perform(set(by_name("combobox", "Colour"), "Green"))
        .await
        .unwrap();
    assert_eq!(colour.effect, Effect::Confirmed, "{colour:?}");
    let far = fixture
        .perform(Action::ScrollTo {
            at: by_name("link", "link 700"),
            tab: None,
        })
        .await
        .unwrap();
    assert_eq!(far.effect, Effect::Confirmed, "{far:?}");
    fixture
        .perform(invoke(by_name("button", "Send it"), None))
        .await
        .unwrap();
    fixture
        .until("the click", |tree| {
            tree.elements
                .iter()
                .any(|one| one.depth == 0 && one.name.starts_with("sent"))
        })
        .await;
    fixture.close().await;
}

/// An element's own action is judged by its window, so that a terminal elsewhere does not matter.
#[tokio::test]
async fn the_window_of_an_element_is_known_before_its_action() {
    let mut fixture = DesktopFixture::with("gnome-calculator", &[]).await;
    let button = fixture.element(&named("button", "7")).await;
    fixture.launch("xterm", &["-e", "cat"]).await;
    let viewport = Viewport::unscaled(fixture.desktop.size());
    let by_ref = Target::Ref {
        id: button.id,
        frame: None,
    };
    let actions = [
        invoke(by_name("button", "7"), None),
        click(by_ref),
        invoke(by_name("button", "no such button"), None),
    ];
    let actions = actions.map(|action| viewport.action(&action).ok());
    let listed = assert_eventually!(
        fixture.desktop.input_windows(&actions).await.unwrap(),
        |listed| listed.all.iter().flatten().any(|name| name == "XTerm")
    );
    for under in &listed.under[..2] {
        let under = under.as_ref().unwrap();
        assert!(under.passes_on);
        assert_eq!(under.names.len(), 1, "{under:?}");
        assert!(
            under.names[0]
                .iter()
                .any(|name| name.contains("calculator")),
            "{under:?}"
        );
    }
    assert_eq!(listed.under[2], None);
    fixture.close().await;
}
