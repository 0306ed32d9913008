//! What programs of each toolkit say, and how they follow.

use std::fs;
use std::time::{Duration, Instant};

use telechir_device::{
    Computer as _, Detail, DeviceError, Effect, Element, Labels, MarkKind, Outline, ScreenAction,
    State, Tree, Viewport, draw,
};
use telechir_protocol::{Action, Button, ClickCount, Named, Target};
use telechir_testkit::gate::{Part, require};

use crate::fixture::{Stage, click, invoke, named, set, told};

fn by_name(role: &str, name: &str) -> Target {
    Target::Named(named(role, name))
}

#[tokio::test]
async fn a_calculator_is_used_by_name() {
    let mut stage = Stage::with("gnome-calculator", &[]).await;
    stage.element(&named("button", "7")).await;
    // Half of it by the buttons' own action, half by clicks on where they are.
    for name in ["6", "×"] {
        stage
            .perform(invoke(by_name("button", name), None))
            .await
            .unwrap();
    }
    for name in ["7", "="] {
        stage.perform(click(by_name("button", name))).await.unwrap();
    }
    stage
        .until("42", |tree| {
            let values = tree.elements.iter().filter_map(|one| one.value.as_deref());
            values.into_iter().any(|value| value.trim() == "42")
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn what_can_be_acted_on_gets_a_number_that_is_aimed_at() {
    let mut stage = Stage::with("gnome-calculator", &[]).await;
    stage.element(&named("button", "7")).await;
    let marks = stage.desktop.marks(99).await.unwrap();
    let place = |line: &str| {
        marks
            .iter()
            .position(|mark| mark.line.starts_with(line))
            .unwrap()
    };
    assert!(marks.len() > 20, "{marks:?}");
    assert_eq!(marks[place("textbox")].kind, MarkKind::Field);
    // The numbers are on the picture and nowhere else.
    let screen = stage.desktop.capture().await.unwrap();
    let mut screenshot = screen.clone();
    draw(&mut screenshot, &marks, &Viewport::unscaled(screen.size()));
    let seven = &marks[place("button \"7\"")];
    let (x, y) = (seven.region.origin().x(), seven.region.origin().y());
    assert_eq!(screenshot.pixel(x, y + 3), Some(MarkKind::Press.colour()));
    assert_ne!(screen.pixel(x, y + 3), screenshot.pixel(x, y + 3));
    let labels = Labels::of("frame_1".into(), &marks);
    for line in ["button \"7\"", "button \"7\"", "button \"=\""] {
        let n = u32::try_from(place(line) + 1).unwrap();
        let at = labels.find(n, None).unwrap();
        let action = ScreenAction::Click {
            at: Some(at),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: Vec::new(),
        };
        stage.desktop.perform(&action).await.unwrap();
    }
    stage
        .until("77", |tree| {
            let values = tree.elements.iter().filter_map(|one| one.value.as_deref());
            values.into_iter().any(|value| value.trim() == "77")
        })
        .await;
    let few = stage.desktop.marks(5).await.unwrap();
    assert_eq!(few.len(), 5);
    stage.close().await;
}

#[tokio::test]
async fn menus_and_dialogs_are_used_by_name() {
    let mut stage = Stage::with("mousepad", &[]).await;
    let text = stage.element(&named("textbox", "")).await;
    let here = Target::Ref {
        id: text.id.clone(),
        frame: None,
    };
    let done = stage
        .perform(set(here.clone(), "Zoë was here\n"))
        .await
        .unwrap();
    assert_eq!(done.effect, Effect::Confirmed, "{done:?}");
    // The menu by a click, its item by its own action.
    stage.perform(click(by_name("menu", "File"))).await.unwrap();
    let item = stage.element(&named("menuitem", "Save As...")).await;
    assert!(item.is_shown());
    stage
        .perform(click(by_name("menuitem", "Save As...")))
        .await
        .unwrap();
    let path = stage.workspace.join("note.txt");
    let name = named("textbox", "Name:");
    stage.element(&name).await;
    let full = path.display().to_string();
    stage.perform(set(Target::Named(name), full)).await.unwrap();
    // The dialog does not hear it while it still looks at the folder, and shows nothing of that.
    let open = |tree: Tree| tree.elements.iter().any(|one| &*one.role == "filechooser");
    let start = Instant::now();
    while open(stage.tree(Detail::Basic).await) {
        // Where it has just closed there is no such button to be seen, and nothing is clicked.
        let clicked = stage.perform(click(by_name("button", "Save"))).await;
        assert!(start.elapsed() < Duration::from_secs(20), "{clicked:?}");
    }
    stage
        .until("the file's name", |tree| {
            tree.elements
                .iter()
                .any(|one| one.depth == 0 && one.name.contains("note.txt"))
        })
        .await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "Zoë was here\n");
    stage.close().await;
}

#[tokio::test]
async fn an_element_that_is_gone_is_stale_and_one_that_changed_is_not() {
    let mut stage = Stage::with("mousepad", &[]).await;
    let text = stage.element(&named("textbox", "")).await;
    let menu = Action::Invoke {
        at: by_name("menuitem", "About"),
        name: None,
    };
    stage.perform(menu).await.unwrap();
    let close = stage.element(&named("button", "Close")).await;
    let at = |id: &str| Target::Ref {
        id: id.to_owned(),
        frame: Some("frame_1".into()),
    };
    stage.perform(click(at(&close.id))).await.unwrap();
    stage
        .until("the dialog to close", |tree| {
            !tree.elements.iter().any(|one| one.id == close.id)
        })
        .await;
    let gone = stage.perform(click(at(&close.id))).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");
    // The window had another dialog over it and another title since: the text is still the text.
    stage
        .perform(set(at(&text.id), "still here"))
        .await
        .unwrap();
    stage.close().await;
}

#[tokio::test]
async fn a_qt_program_is_used_by_name() {
    let mut stage = Stage::with("speedcrunch", &[]).await;
    stage.element(&named("menuitem", "Settings")).await;
    // Its results are in a field as well, which takes no text.
    let is_field = |one: &Element| {
        &*one.role == "textbox" && one.is_shown() && !one.states.has(State::ReadOnly)
    };
    let tree = stage
        .until("a field", |tree| tree.elements.iter().any(is_field))
        .await;
    let said = told(&tree);
    assert!(said.contains("menuitem \"Session\""), "{said}");
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
    stage.perform(typed).await.unwrap();
    stage
        .until("42", |tree| {
            tree.elements.iter().any(|one| {
                let said = one.value.as_deref().unwrap_or(&one.name);
                said.contains("42")
            })
        })
        .await;
    stage.close().await;
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
async fn a_page_in_chromium_is_used_by_name() {
    require(Part::Chromium);
    let mut stage = Stage::new().await;
    let path = stage.workspace.join("page.html");
    fs::write(&path, page(900)).unwrap();
    let address = format!("file://{}", path.display());
    // Its own sandbox would need what the confinement around it takes away.
    let flags = [
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        "--force-renderer-accessibility",
    ];
    let args: Vec<&str> = flags.into_iter().chain([address.as_str()]).collect();
    stage.launch("chromium", &args).await;
    stage.element(&named("button", "Send it")).await;
    let whole = |tree: &Tree| tree.elements.len() > 2_700;
    let tree = stage.until("the whole page", whole).await;
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

    let milk = stage
        .perform(invoke(by_name("checkbox", "Milk"), Some("check")))
        .await
        .unwrap();
    assert_eq!(milk.effect, Effect::Confirmed, "{milk:?}");
    // Chromium takes no text this way: it is typed.
    let name = stage
        .perform(set(by_name("textbox", "Name"), "Zoë"))
        .await
        .unwrap();
    assert!(name.text.unwrap().contains("value=\"Zoë\""));
    for (role, name, wish) in [
        ("checkbox", "Milk", "toggle"),
        ("checkbox", "Milk", "toggle"),
        ("radio", "Large", "select"),
        ("textbox", "Name", "focus"),
    ] {
        let done = stage.perform(invoke(by_name(role, name), Some(wish))).await;
        assert_eq!(done.unwrap().effect, Effect::Confirmed, "{wish} {name}");
    }
    let more = Target::Named(Named {
        name: Some("More".to_owned()),
        ..Named::default()
    });
    for wish in ["expand", "expand", "collapse"] {
        let done = stage.perform(invoke(more.clone(), Some(wish))).await;
        assert_eq!(done.unwrap().effect, Effect::Confirmed, "{wish}");
    }
    let colour = stage
        .perform(set(by_name("combobox", "Colour"), "Green"))
        .await
        .unwrap();
    assert_eq!(colour.effect, Effect::Confirmed, "{colour:?}");
    let far = stage
        .perform(Action::ScrollTo {
            at: by_name("link", "link 700"),
            tab: None,
        })
        .await
        .unwrap();
    assert_eq!(far.effect, Effect::Confirmed, "{far:?}");
    stage
        .perform(invoke(by_name("button", "Send it"), None))
        .await
        .unwrap();
    stage
        .until("the click", |tree| {
            tree.elements
                .iter()
                .any(|one| one.depth == 0 && one.name.starts_with("sent"))
        })
        .await;
    stage.close().await;
}
