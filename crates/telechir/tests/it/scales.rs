//! Clicks at screenshot coordinates hit their target at every screen size, monitor layout and
//! screenshot scale.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use telechir_policy::Policy;
use telechir_process::{Identity, is_root};
use telechir_protocol::{
    Action, ComputerCall, ComputerResult, Content, Media, ModelTurn, Point, Size, Target,
    ToolResult,
};
use telechir_runtime::{ScreenshotRule, Session};
use telechir_testkit::contract::computer::{ObservedInput, Witness as _};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::witness::{ReadMode, XWitness};
use telechir_testkit::xvfb::set_monitors;
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};

/// A target's area on the screen: left, top and side.
type TargetArea = (u32, u32, u32);

/// A screen, a session on it, and a witness that covers it.
struct ScaleFixture {
    session: Session,
    witness: XWitness,
    calls: u32,
    _folder: tempfile::TempDir,
}

async fn fixture(screen: Size, monitors: &[(&str, [u16; 4])], shown: Option<&str>) -> ScaleFixture {
    require(Component::XServer);
    let folder = tempfile::tempdir().expect("a folder");
    let everyone = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), everyone).expect("permissions");
    let identity = is_root().then(|| Identity::unprivileged(3_870)).flatten();
    let mut options = DisplayOptions::new(folder.path(), identity);
    options.monitors = vec![screen];
    // A window manager would keep the witness on one monitor.
    options.window_manager = monitors.is_empty();
    let display = PrivateDisplay::start(options).await.expect("a display");
    let environment = display.environment();
    if !monitors.is_empty() {
        set_monitors(&environment, monitors);
    }
    let witness = XWitness::open(&environment, ReadMode::default()).await;
    let desktop: Desktop = display.into_desktop().await.expect("a desktop");
    let desktop = match shown {
        Some(name) => desktop.on_monitor(name).await.expect("the monitor"),
        None => desktop,
    };
    let policy = Policy::from_toml("", "test").expect("a policy");
    let session = Session::builder(policy)
        .desktop(Box::new(desktop))
        .screenshot(ScreenshotRule::default())
        .build()
        .expect("a session");
    ScaleFixture {
        session,
        witness,
        calls: 0,
        _folder: folder,
    }
}

/// A screenshot as sent to the model.
struct Screenshot {
    size: Size,
    rgb: Vec<u8>,
}

impl Screenshot {
    fn of(result: &ComputerResult) -> Self {
        let Some(Media::Data(data)) = &result.screenshot else {
            panic!("no screenshot: {result:?}");
        };
        let base64 = data.base64().expect("base64");
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64);
        let bytes = std::io::Cursor::new(bytes.expect("base64"));
        let mut reader = png::Decoder::new(bytes).read_info().expect("a PNG");
        let mut rgb = vec![0; reader.output_buffer_size().expect("a buffer size")];
        let info = reader.next_frame(&mut rgb).expect("pixels");
        assert_eq!(info.color_type, png::ColorType::Rgb);
        let size = Size::new(info.width, info.height);
        assert_eq!(result.display, Some(size));
        Self { size, rgb }
    }

    /// The middle of all pixels that are nearly pure red.
    fn target(&self) -> (u32, u32) {
        let is_red = |pixel: &[u8]| pixel[0] > 200 && pixel[1] < 60 && pixel[2] < 60;
        let width = self.size.width as usize;
        let red: Vec<usize> = (0..self.rgb.len() / 3)
            .filter(|at| is_red(&self.rgb[at * 3..at * 3 + 3]))
            .collect();
        assert!(!red.is_empty(), "no target in the screenshot");
        let middle = |all: &mut dyn Iterator<Item = usize>| {
            let (low, high) = all.fold((usize::MAX, 0), |(low, high), v| (low.min(v), high.max(v)));
            u32::try_from(low.midpoint(high)).expect("a small number")
        };
        (
            middle(&mut red.iter().map(|at| at % width)),
            middle(&mut red.iter().map(|at| at / width)),
        )
    }
}

impl ScaleFixture {
    async fn call(&mut self, action: Action) -> ComputerResult {
        self.calls += 1;
        let call = ComputerCall::new(format!("call_{}", self.calls), vec![action]);
        let turn = ModelTurn::new(vec![Content::ComputerCall(call)]).expect("a turn");
        let answered = self.session.execute(turn).await.expect("results");
        let [ToolResult::Computer(result)] = answered.results() else {
            panic!("not a computer result");
        };
        assert_eq!(result.error, None);
        result.clone()
    }

    /// Shows one target, finds it in the screenshot and clicks it; returns where the click arrives.
    async fn click_on(&mut self, screen: Size, (left, top, side): TargetArea) -> (u32, u32) {
        let short = |pixels: u32| u16::try_from(pixels).expect("a screen's size");
        let (x, y) = (short(left).cast_signed(), short(top).cast_signed());
        let (width, height) = (short(screen.width), short(screen.height));
        self.witness.paint(0, 0, width, height, 0x0020_4060);
        self.witness
            .paint(x, y, short(side), short(side), 0x00ff_0000);
        let screenshot = Screenshot::of(&self.call(Action::Screenshot).await);
        let (x, y) = screenshot.target();
        self.witness.forget().await;
        let at = Some(Target::Point(Point::new(x, y)));
        self.call(Action::Click {
            at,
            button: Default::default(),
            count: Default::default(),
            modifiers: Vec::new(),
        })
        .await;
        let pressed = |seen: &[ObservedInput]| {
            seen.iter().find_map(|one| {
                let ObservedInput::ButtonDown { at, .. } = one else {
                    return None;
                };
                Some(*at)
            })
        };
        let seen = self.witness.observed(&|seen| pressed(seen).is_some()).await;
        pressed(&seen).expect("a click")
    }

    /// Asserts that every target is hit within half a screenshot pixel of its center, plus the half
    /// screen pixel between which a center may lie.
    async fn check(mut self, screen: Size, shown: [u32; 4]) {
        let [left, top, right, bottom] = shown;
        let scale = f64::from(right - left) / 1280.0;
        // Four screenshot pixels.
        let side = (right - left) / 320;
        let points = [
            (left, top),
            (right - side, top),
            (left, bottom - side),
            (right - side, bottom - side),
            (left + 333, top + 201),
            (left + 640, top + 400),
            (left + 777, top + 111),
        ];
        for (x, y) in points {
            let (hit_x, hit_y) = self.click_on(screen, (x, y, side)).await;
            for (hit, start) in [(hit_x, x), (hit_y, y)] {
                let middle = f64::from(start) + f64::from(side - 1) / 2.0;
                let off = (f64::from(hit) - middle).abs();
                // Screenshot pixels are not aligned with the target.
                assert!(
                    off <= scale + 0.5 && (start..start + side).contains(&hit),
                    "the target at {x}, {y}, {side} wide, was clicked at {hit_x}, {hit_y}"
                );
            }
        }
        self.session.close().await.expect("a clean close");
    }
}

#[tokio::test]
async fn a_click_hits_its_target_at_every_scale() {
    // 1, 1.25, 2 and 3 screen pixels per screenshot pixel.
    for screen in [
        Size::new(1280, 800),
        Size::new(1600, 1000),
        Size::new(2560, 1600),
        Size::new(3840, 2160),
    ] {
        let fixture = fixture(screen, &[], None).await;
        let full = [0, 0, screen.width, screen.height];
        fixture.check(screen, full).await;
    }
}

const SCREEN: Size = Size::new(3840, 1600);
const MONITORS: [(&str, [u16; 4]); 2] = [
    ("left", [0, 0, 1280, 1600]),
    ("right", [1280, 0, 2560, 1600]),
];

#[tokio::test]
async fn a_click_hits_its_target_across_several_monitors() {
    let fixture = fixture(SCREEN, &MONITORS, None).await;
    fixture.check(SCREEN, [0, 0, 3840, 1600]).await;
}

#[tokio::test]
async fn a_click_hits_its_target_on_the_selected_monitor() {
    let fixture = fixture(SCREEN, &MONITORS, Some("right")).await;
    fixture.check(SCREEN, [1280, 0, 3840, 1600]).await;
}

#[tokio::test]
async fn monitors_are_listed_and_one_can_be_captured() {
    let mut fixture = fixture(SCREEN, &MONITORS, None).await;
    fixture.witness.paint(0, 0, 1280, 1600, 0x0020_4060);
    fixture.witness.paint(1280, 0, 2560, 1600, 0x00ff_0000);
    let listed = fixture.call(Action::ListMonitors).await.text_output;
    let listed = listed.expect("a text");
    assert!(listed.contains("1. left at [0, 0, 427, 533]"), "{listed}");
    assert!(
        listed.contains("2. right at [427, 0, 1280, 533]"),
        "{listed}"
    );
    for (monitor, size, is_red) in [
        ("2", Size::new(2560, 1600), true),
        ("left", Size::new(1280, 1600), false),
    ] {
        let monitor = Some(monitor.to_owned());
        let result = fixture.call(Action::CaptureMonitor { monitor }).await;
        let screenshot = Screenshot::of(&result);
        assert_eq!(screenshot.size, size);
        assert_eq!(screenshot.rgb[0] == 0xff, is_red);
        // Coordinates never refer to such a screenshot.
        assert_eq!(result.frame, None);
    }
    let monitor = Some("DP-9".to_owned());
    let call = ComputerCall::new("none", vec![Action::CaptureMonitor { monitor }]);
    let turn = ModelTurn::new(vec![Content::ComputerCall(call)]).expect("a turn");
    let answered = fixture.session.execute(turn).await.expect("results");
    let [ToolResult::Computer(result)] = answered.results() else {
        panic!("not a computer result");
    };
    let failure = result.error.clone().expect("a failure").message;
    assert!(failure.contains("left, right"), "{failure}");
    fixture.session.close().await.expect("a clean close");
}

#[tokio::test]
async fn one_window_can_be_captured() {
    let mut fixture = fixture(Size::new(1280, 800), &[], None).await;
    let result = fixture.call(Action::CaptureWindow { window: None }).await;
    let text = result.text_output.clone().expect("a text");
    assert!(
        text.starts_with("w1 ") && text.ends_with("at [0, 0, 1280, 800]."),
        "{text}"
    );
    assert_eq!(Screenshot::of(&result).size, Size::new(1280, 800));
    fixture.session.close().await.expect("a clean close");
}
