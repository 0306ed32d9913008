//! A browser and a witness, ready to be acted on.

use std::time::Duration;

use telechir_browser::{Addresses, Browser, Options, Surface};
use telechir_device::{Computer as _, DeviceError, Performed, ScreenAction, Settle, Viewport};
use telechir_process::{Identity, am_root};
use telechir_protocol::{Action, Button, Chord, ClickCount, Point, Size, Target};
use telechir_testkit::gate::{Part, require};
use telechir_testkit::page::PageWitness;

pub(crate) const SIZE: Size = Size::new(1024, 768);
/// Quiet for longer than a busy machine takes between two pictures.
pub(crate) const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(250),
    ceiling: Duration::from_secs(5),
};

/// Options that work for root and for an ordinary user.
pub(crate) fn options() -> Options {
    Options {
        identity: am_root().then(|| Identity::unprivileged(3_877).unwrap()),
        addresses: Addresses::WebAndData,
        ..Options::default()
    }
}

/// A browser without a window.
pub(crate) async fn headless() -> Browser {
    headless_with(options()).await
}

/// The same with other options.
pub(crate) async fn headless_with(options: Options) -> Browser {
    require(Part::Chromium);
    Browser::launch(Surface::Headless(SIZE), options)
        .await
        .unwrap()
}

/// A browser that shows the witness's page.
pub(crate) async fn witnessed() -> (Browser, PageWitness) {
    let mut browser = headless().await;
    let witness = PageWitness::serve().await.unwrap();
    go(&mut browser, &witness.url()).await.unwrap();
    witness.until(|event| event.kind == "ready").await.unwrap();
    witness.take().await;
    (browser, witness)
}

/// The action with its places on the screen.
pub(crate) fn on_screen(action: Action) -> ScreenAction {
    Viewport::unscaled(SIZE).action(&action).unwrap()
}

pub(crate) async fn perform(
    browser: &mut Browser,
    action: Action,
) -> Result<Performed, DeviceError> {
    browser.perform(&on_screen(action)).await
}

pub(crate) async fn go(browser: &mut Browser, url: &str) -> Result<Performed, DeviceError> {
    perform(
        browser,
        Action::Navigate {
            url: url.to_owned(),
            tab: None,
        },
    )
    .await
}

pub(crate) fn at(x: u32, y: u32) -> Target {
    Target::Point(Point::new(x, y))
}

pub(crate) fn click(x: u32, y: u32) -> Action {
    Action::Click {
        at: Some(at(x, y)),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![],
    }
}

pub(crate) fn key(chord: &str) -> Action {
    Action::Key {
        chord: Chord::parse(chord).unwrap(),
        repeat: 1,
    }
}

pub(crate) fn write(text: &str) -> Action {
    Action::Type {
        text: text.to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    }
}

/// A page of these words.
pub(crate) fn page(html: &str) -> String {
    format!(
        "data:text/html;charset=utf-8,{}",
        html.replace('#', "%23").replace('\n', "%0A")
    )
}
