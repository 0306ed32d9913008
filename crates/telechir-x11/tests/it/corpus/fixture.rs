//! A desktop with one application, on which cases are run.

use std::time::Duration;

use telechir_device::{Computer as _, Frame, Settled, Viewport};
use telechir_process::{Child, Spawn};
use telechir_protocol::{Action, Button, Chord, ClickCount, Point, ScrollUnit, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::desktop_fixture::DesktopFixture;
use telechir_x11::Desktop;
use tempfile::TempDir;

use super::SETTLE;
use super::cases::{App, Case, Step};
use crate::fixture;

/// Bounds of every application's window.
const WINDOW_BOUNDS: [i32; 4] = [200, 60, 900, 640];
/// Maximum size of a caret; a screenshot that differs only there is final.
const CARET: (u32, u32) = (3, 40);

/// The result of a case.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) app: &'static str,
    pub(super) name: &'static str,
    pub(super) settled: Settled,
    /// Has a later effect that no signal announces.
    pub(super) comes_later: bool,
    /// The area that changed later: left, top, right, bottom.
    pub(super) off: Option<[u32; 4]>,
}

impl Outcome {
    /// Whether nothing but a caret changed later.
    pub(super) fn is_final(&self) -> bool {
        self.off.is_none_or(|[left, top, right, bottom]| {
            right - left <= CARET.0 && bottom - top <= CARET.1
        })
    }
}

pub(super) struct AppFixture {
    pub(super) desktop: Desktop,
    app: &'static str,
    origin: (i32, i32),
    _unconfined: Option<Child>,
    _folder: TempDir,
}

impl AppFixture {
    /// Starts the application and waits until its window has settled.
    pub(super) async fn start(app: &App) -> Self {
        let folder = fixture::session_dir();
        let mut display = fixture::described(&folder).await;
        let environment = display.environment();
        for (name, text) in app.files {
            let path = fixture::workspace(&folder).join(name);
            std::fs::write(&path, text).unwrap();
            fixture::own(&path);
        }
        let unconfined = if app.is_confined {
            display.launch(app.program, app.arguments).await.unwrap();
            None
        } else {
            let spawn = Spawn::new(format!("/usr/bin/{}", app.program))
                .args(app.arguments)
                .identity(fixture::identity())
                .envs(environment.clone())
                .cwd(fixture::workspace(&folder));
            Some(spawn.spawn().await.unwrap())
        };
        let mut desktop = display.into_desktop().await.unwrap();
        let scene = DesktopFixture::open(&environment);
        assert_eventually!(
            scene.window(app.class).is_some(),
            "{} shows a window",
            app.program
        );
        wait_until_still(&mut desktop).await;
        scene.move_window(app.class, WINDOW_BOUNDS);
        wait_until_still(&mut desktop).await;
        let [left, top, ..] = scene.window(app.class).unwrap();
        Self {
            desktop,
            app: app.class,
            origin: (left, top),
            _unconfined: unconfined,
            _folder: folder,
        }
    }

    /// Runs a case, settles as a session does, and compares with the screen after `later`.
    pub(super) async fn run(&mut self, case: Case, later: Duration) -> Outcome {
        for step in &case.steps {
            let action = self.action(step);
            let viewport = Viewport::unscaled(self.desktop.size());
            let action = viewport.action(&action).unwrap();
            self.desktop.perform(&action).await.unwrap();
        }
        let settled = self.desktop.settle(SETTLE).await.unwrap();
        let seen = self.desktop.capture().await.unwrap();
        tokio::time::sleep(later).await;
        let later = self.desktop.capture().await.unwrap();
        Outcome {
            app: self.app,
            name: case.name,
            settled,
            comes_later: case.comes_later,
            off: difference(&seen, &later),
        }
    }

    /// Converts an area from screen to window coordinates.
    pub(super) fn in_window(&self, area: [u32; 4]) -> [i32; 4] {
        let [left, top, right, bottom] = area.map(u32::cast_signed);
        let (x, y) = self.origin;
        [left - x, top - y, right - x, bottom - y]
    }

    fn action(&self, step: &Step) -> Action {
        let at = |x: i32, y: i32| {
            Some(Target::Point(Point::new(
                self.origin.0 + x,
                self.origin.1 + y,
            )))
        };
        match *step {
            Step::Click(x, y) => click(at(x, y), Button::Left, ClickCount::Single),
            Step::DoubleClick(x, y) => click(at(x, y), Button::Left, ClickCount::Double),
            Step::RightClick(x, y) => click(at(x, y), Button::Right, ClickCount::Single),
            Step::Drag([left, top, right, bottom]) => Action::Drag {
                path: [at(left, top), at(right, bottom)]
                    .into_iter()
                    .flatten()
                    .collect(),
                button: Button::Left,
                modifiers: Vec::new(),
                duration: None,
            },
            Step::Scroll(x, y, dy) => Action::Scroll {
                at: at(x, y),
                dx: 0.0,
                dy,
                unit: ScrollUnit::Clicks,
                modifiers: Vec::new(),
            },
            Step::Type(text) => Action::Type {
                text: text.to_owned(),
                at: None,
                clear_first: false,
                submit: false,
            },
            Step::Key(chord) => Action::Key {
                chord: Chord::parse(chord).unwrap(),
                repeat: 1,
            },
            Step::Maximize => Action::MaximizeWindow { window: None },
            Step::Restore => Action::RestoreWindow { window: None },
        }
    }
}

fn click(at: Option<Target>, button: Button, count: ClickCount) -> Action {
    Action::Click {
        at,
        button,
        count,
        modifiers: Vec::new(),
    }
}

/// Waits for a second without changes, up to 15 s.
async fn wait_until_still(desktop: &mut Desktop) {
    let long = telechir_device::Settle {
        quiet: Duration::from_secs(1),
        ceiling: Duration::from_secs(15),
    };
    desktop.settle(long).await.unwrap();
}

/// The bounding rectangle of all pixels that differ.
fn difference(a: &Frame, b: &Frame) -> Option<[u32; 4]> {
    if a == b {
        return None;
    }
    let size = a.size();
    let mut around: Option<[u32; 4]> = None;
    for y in 0..size.height {
        for x in 0..size.width {
            if a.pixel(x, y) != b.pixel(x, y) {
                let [left, top, right, bottom] = around.unwrap_or([x, y, x + 1, y + 1]);
                around = Some([left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1)]);
            }
        }
    }
    around
}
