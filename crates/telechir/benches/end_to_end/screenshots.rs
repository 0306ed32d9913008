//! Screenshots of a private desktop: capture and encoding compared with other tools, and as calls of
//! a session.

use std::process::Command as Program;
use std::thread;
use std::time::Duration;

use telechir_device::{Computer as _, Settle};
use telechir_protocol::{Action, ComputerCall, Content, Size};
use telechir_runtime::{Format, Session};
use telechir_testkit::desktop_fixture::DesktopFixture;
use telechir_x11::{Desktop, DisplayOptions, PrivateDisplay};

use crate::fixture::{BenchFixture, CEILING, ids, run};
use crate::peers::{Peers, absent};
use crate::screen::click;
use crate::table::{Contestant, compare, remark, table};

type Environment = Vec<(String, String)>;

/// The content behind the windows.
#[derive(Clone, Copy, PartialEq)]
enum Background {
    Plain,
    Photograph,
}

/// A terminal and an editor on a settled private desktop.
fn furnished(fixture: &BenchFixture, size: Size, background: Background) -> (Desktop, Environment) {
    let mut options = DisplayOptions::new(fixture.folder(), fixture.identity);
    options.monitors = vec![size];
    // The settings of sessions.
    options.accessibility = true;
    fixture.runtime.block_on(async {
        let mut display = PrivateDisplay::start(options).await.expect("an X server");
        let environment = display.environment();
        if background == Background::Photograph {
            DesktopFixture::open(&environment).set_photo_wallpaper();
        }
        let list = [
            "-geometry",
            "80x24",
            "-e",
            "bash",
            "-c",
            "ls -l /usr/bin | tail -n 40; sleep 1d",
        ];
        display.launch("xterm", &list).await.expect("a program");
        let text = ["/usr/share/common-licenses/Apache-2.0"];
        display.launch("mousepad", &text).await.expect("a program");
        let mut desktop = display.into_desktop().await.expect("a desktop");
        let rest = Settle {
            quiet: Duration::from_secs(2),
            ceiling: CEILING,
        };
        desktop.settle(rest).await.expect("a settled screen");
        (desktop, environment)
    })
}

pub(crate) fn screenshots(fixture: &BenchFixture, peers: &mut Peers) {
    for size in [Size::new(1280, 800), Size::new(1920, 1080)] {
        for background in [Background::Plain, Background::Photograph] {
            beside_others(fixture, peers, size, background);
        }
        as_calls(fixture, size);
    }
    settled(fixture, &MENU);
    settled(fixture, &BUTTON);
}

/// Parts of a table's title.
fn named(size: Size, background: Background) -> String {
    let behind = match background {
        Background::Plain => "plain background",
        Background::Photograph => "photograph as background",
    };
    format!("{}x{}, {behind}", size.width, size.height)
}

fn beside_others(fixture: &BenchFixture, peers: &mut Peers, size: Size, background: Background) {
    table(&format!("PNG of a desktop, {}", named(size, background)));
    let (desktop, environment) = furnished(fixture, size, background);
    let desktop = std::cell::RefCell::new(desktop);
    peers.restart(fixture, &environment);
    let scene = DesktopFixture::open(&environment);
    let scene = std::cell::RefCell::new(scene);
    let painter = std::cell::RefCell::new(DesktopFixture::open(&environment));
    // Change the screen, so that no contestant can reuse an earlier screenshot.
    let changed = |work: &mut dyn FnMut()| {
        painter.borrow_mut().paint_corner();
        let start = std::time::Instant::now();
        work();
        start.elapsed()
    };
    let sizes = std::cell::RefCell::new([0; 2]);
    let telechir_run = |index: usize, format: Format| {
        let (desktop, sizes, changed) = (&desktop, &sizes, &changed);
        move || {
            changed(&mut || {
                let mut desktop = desktop.borrow_mut();
                let frame = fixture
                    .runtime
                    .block_on(desktop.capture())
                    .expect("a frame");
                let bytes = telechir_runtime::encode(&frame, format).expect("an encoded image");
                sizes.borrow_mut()[index] = bytes.len();
            })
        }
    };
    let processes = scene.borrow();
    let mut grabber = processes.grabber();
    let mut rgb = Vec::new();
    let yardstick = || changed(&mut || drop(plain_png(grabber.grab(), size, &mut rgb)));
    let file = fixture
        .folder()
        .join("peer.png")
        .to_string_lossy()
        .into_owned();
    let program = |name: &str, arguments: &[&str]| {
        let title = format!("{name}, to a file");
        if let Some(why) = absent(name) {
            return Contestant::missing(title, why);
        }
        let mut command = Program::new(name);
        command.args(arguments).envs(environment.clone());
        Contestant::timed(title, move || changed_by(&mut command))
    };
    let libraries = std::cell::RefCell::new(&mut *peers);
    let library = |name: &'static str, title: &str| {
        let grab = || libraries.borrow_mut().request(name);
        match grab() {
            Ok(()) => {
                let changed = &changed;
                Contestant::timed(title, move || {
                    changed(&mut || grab().expect("it succeeded before"))
                })
            }
            Err(why) => Contestant::missing(title, why),
        }
    };
    let mss = library("mss", "mss (Python)");
    let pyautogui = library("pyscreeze", "pyautogui's pyscreeze (Python)");
    let all = vec![
        Contestant::timed("capture and PNG", telechir_run(0, Format::Png)),
        Contestant::timed(
            "baseline: MIT-SHM, RGB, the `png` crate's fast level",
            yardstick,
        ),
        mss,
        pyautogui,
        program("scrot", &["--overwrite", &file]),
        program("import", &["-window", "root", &file]),
    ];
    compare(40, all);
    let webp = telechir_run(1, Format::Webp);
    compare(
        40,
        vec![Contestant::timed("capture and lossless WebP", webp)],
    );
    let peer = match peers.request("mss peer-mss.png") {
        Ok(()) => {
            std::fs::metadata(fixture.folder().join("peer-mss.png")).map_or(0, |file| file.len())
        }
        Err(_) => 0,
    };
    let kilobytes = |bytes: usize| format!("{:.1} kB", bytes as f64 / 1e3);
    let [png, webp] = *sizes.borrow();
    let beside = match peer {
        0 => String::new(),
        peer => format!(
            ", mss {:.1} kB (ours is {:.2} times that size)",
            peer as f64 / 1e3,
            png as f64 / peer as f64
        ),
    };
    remark(&format!(
        "The desktop shows a terminal and an editor, and something changes before every screenshot. Sizes: PNG {}, WebP {}{beside}.",
        kilobytes(png),
        kilobytes(webp)
    ));
    drop(grabber);
    drop(processes);
    fixture
        .runtime
        .block_on(desktop.into_inner().close())
        .expect("a clean close");
}

/// Duration of a program started per screenshot; the screen need not change for it.
fn changed_by(command: &mut Program) -> Duration {
    let start = std::time::Instant::now();
    run(command);
    start.elapsed()
}

/// The baseline: no pointer, no cached copy, no options.
fn plain_png(bgrx: &[u8], size: Size, rgb: &mut Vec<u8>) -> Vec<u8> {
    rgb.resize(bgrx.len() / 4 * 3, 0);
    for (out, pixel) in rgb.chunks_exact_mut(3).zip(bgrx.chunks_exact(4)) {
        out.copy_from_slice(&[pixel[2], pixel[1], pixel[0]]);
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(rgb).expect("pixels");
    writer.finish().expect("a complete image");
    bytes
}

fn session(fixture: &BenchFixture, name: &str, desktop: Desktop) -> Session {
    let shared = fixture.make(name);
    let _inside = fixture.runtime.enter();
    let builder = fixture.session(&shared).desktop(Box::new(desktop));
    builder.build().expect("a session")
}

fn as_calls(fixture: &BenchFixture, size: Size) {
    table(&format!(
        "Screenshot calls on a desktop, {}",
        named(size, Background::Plain)
    ));
    let (desktop, environment) = furnished(fixture, size, Background::Plain);
    let mut scene = DesktopFixture::open(&environment);
    let name = format!("journal-{}x{}", size.width, size.height);
    let mut session = session(fixture, &name, desktop);
    let mut next = ids();
    let call = || {
        let call = ComputerCall::new(next(), vec![Action::Screenshot]);
        fixture.execute(&mut session, Content::ComputerCall(call));
    };
    let what = "screenshot call, nothing changed: policy, settle check, journal";
    compare(20, vec![Contestant::new(what, call)]);
    let mut next = ids();
    let call = || {
        scene.paint_corner();
        let call = ComputerCall::new(format!("new_{}", next()), vec![Action::Screenshot]);
        fixture.execute(&mut session, Content::ComputerCall(call));
    };
    let what = "screenshot call, just after a change: settle, PNG, journal";
    compare(20, vec![Contestant::new(what, call)]);
    fixture
        .runtime
        .block_on(session.close())
        .expect("a clean close");
}

/// The click target of a GTK application.
struct Clicked {
    title: &'static str,
    program: &'static str,
    /// Left, top, width and height of its window in pixels of the screen.
    bounds: [i32; 4],
    /// Distance from the left and the top of its window in pixels.
    point: (i32, i32),
    remark: &'static str,
}

const MENU: Clicked = Clicked {
    title: "Click on a menu (GTK 3), until a screenshot shows the result",
    program: "mousepad",
    bounds: [300, 100, 640, 480],
    point: (20, 12),
    remark: "The click opens or closes a menu.",
};
const BUTTON: Clicked = Clicked {
    title: "Click on a button (GTK 4), until a screenshot shows the result",
    program: "gnome-calculator",
    bounds: [300, 100, 400, 500],
    point: (100, 400),
    remark: "The click enters a digit in a calculator.",
};

fn settled(fixture: &BenchFixture, clicked: &Clicked) {
    table(clicked.title);
    let (mut desktop, environment) = furnished(fixture, Size::new(1280, 800), Background::Plain);
    let scene = DesktopFixture::open(&environment);
    if scene.window(clicked.program).is_none() {
        let display = desktop.private_display().expect("our own");
        let launched = fixture
            .runtime
            .block_on(display.launch(clicked.program, &[]));
        launched.expect("a program");
    }
    let start = std::time::Instant::now();
    while scene.window(clicked.program).is_none() && start.elapsed() < CEILING {
        thread::sleep(Duration::from_millis(50));
    }
    scene.move_window(clicked.program, clicked.bounds);
    thread::sleep(Duration::from_secs(1));
    let [left, top, ..] = scene.window(clicked.program).expect("its window");
    let (x, y) = (left + clicked.point.0, top + clicked.point.1);
    let name = format!("journal-{}", clicked.program);
    let mut session = session(fixture, &name, desktop);
    let mut next = ids();
    let telechir_run = || {
        let call = ComputerCall::new(next(), vec![click(x, y)]);
        fixture.execute(&mut session, Content::ComputerCall(call));
    };
    let file = fixture
        .folder()
        .join("peer.png")
        .to_string_lossy()
        .into_owned();
    let peer = match absent("xdotool").or_else(|| absent("scrot")) {
        Some(why) => Contestant::missing("xdotool, 2 s sleep, scrot", why),
        None => Contestant::new("xdotool, 2 s sleep, scrot", || {
            let (x, y) = (x.to_string(), y.to_string());
            let mut press = Program::new("xdotool");
            run(press
                .args(["mousemove", &x, &y, "click", "1"])
                .envs(environment.clone()));
            thread::sleep(Duration::from_secs(2));
            let mut shot = Program::new("scrot");
            run(shot.args(["--overwrite", &file]).envs(environment.clone()));
        }),
    };
    let what = "click call: policy, settle, PNG, journal";
    compare(12, vec![Contestant::new(what, telechir_run), peer]);
    remark(&format!(
        "{} telechir waits until nothing changes and no application is busy, not for a fixed time.",
        clicked.remark
    ));
    fixture
        .runtime
        .block_on(session.close())
        .expect("a clean close");
}
