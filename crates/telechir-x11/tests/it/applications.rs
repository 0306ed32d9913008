//! Real applications: drags in a drawing, a dialog, text in a browser window.

use std::time::{Duration, Instant};

use telechir_device::{Computer, Settle};
use telechir_process::{Child, Spawn};
use telechir_protocol::{Action, Button};
use telechir_testkit::assert_eventually;
use telechir_testkit::desktop_fixture::DesktopFixture;
use telechir_testkit::gate::{Component, require};
use telechir_x11::Desktop;

use crate::fixture;
use crate::programs::{assert_saved, press, started};
use crate::typing::{mixed, requested_runs, runs};
use crate::windows::{perform_on, report_of};

const REST: Settle = Settle {
    quiet: Duration::from_millis(200),
    ceiling: Duration::from_secs(5),
};

async fn drag(desktop: &mut Desktop, path: &[(u32, u32)]) {
    let drag = Action::Drag {
        path: path.iter().map(|(x, y)| fixture::pixel(*x, *y)).collect(),
        button: Button::Left,
        modifiers: Vec::new(),
        duration: Some(Duration::from_secs(1)),
    };
    perform_on(desktop, drag).await.unwrap();
    desktop.settle(REST).await.unwrap();
}

#[tokio::test]
async fn a_dialog_is_opened_from_a_menu_and_answered_by_keys() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[]).await;
    desktop
        .perform(&fixture::type_text("saved ж漢"))
        .await
        .unwrap();
    // Open the menu and its entry by their access keys: a dialog asks for a file name.
    press(&mut desktop, "alt+f").await;
    desktop.settle(REST).await.unwrap();
    press(&mut desktop, "a").await;
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("dialog")
    );
    desktop.settle(REST).await.unwrap();
    let path = fixture::workspace(&folder).join("named.txt");
    press(&mut desktop, "ctrl+a").await;
    let name = fixture::type_text(path.to_str().unwrap());
    desktop.perform(&name).await.unwrap();
    desktop.settle(REST).await.unwrap();
    // The dialog ignores input while it reads the folder and shows no sign of it.
    let mut confirm = async || {
        press(&mut desktop, "Return").await;
        desktop.settle(REST).await.unwrap();
        report_of(&mut desktop, Action::ListWindows).await
    };
    assert_eventually!(confirm().await, |listed| !listed.contains("dialog"));
    assert_saved(&path, "saved ж漢").await;
    desktop.close().await.unwrap();
}

/// The first character of a path opens the field for it.
#[tokio::test]
async fn a_path_is_typed_into_the_list_of_a_file_dialog() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let path = fixture::workspace(&folder).join("letter.txt");
    std::fs::write(&path, "text").unwrap();
    fixture::own(&path);
    let mut desktop = started(display, "mousepad", &[]).await;
    press(&mut desktop, "ctrl+o").await;
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("dialog")
    );
    desktop.settle(REST).await.unwrap();
    let line = format!("{}\n", path.display());
    desktop.perform(&fixture::type_text(&line)).await.unwrap();
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("letter.txt")
    );
    desktop.close().await.unwrap();
}

/// A canvas that covers the page; a pressed button draws.
const SHEET: &str = "<meta charset=utf-8><title>-</title><style>body{margin:0}</style>\
    <canvas width=1200 height=600></canvas><script>\
    const pen = document.querySelector('canvas').getContext('2d'); pen.lineWidth = 5; let down = false;\
    onpointerdown = e => { down = true; pen.moveTo(e.offsetX, e.offsetY) };\
    onpointermove = e => { if (down) for (const at of e.getCoalescedEvents()) {\
        pen.lineTo(at.offsetX, at.offsetY); pen.stroke() } };\
    onpointerup = () => { down = false }</script>";
const PAGE: &str = "<meta charset=utf-8><title>-</title>\
    <textarea autofocus oninput='document.title=this.value||\"-\"'></textarea>";

/// A browser window whose title mirrors the page's text.
struct Page {
    desktop: Desktop,
    scene: DesktopFixture,
    _chromium: Child,
    _folder: tempfile::TempDir,
}

impl Page {
    async fn open(html: &str) -> Self {
        require(Component::Chromium);
        let folder = fixture::session_dir();
        let home = fixture::workspace(&folder);
        let file = home.join("page.html");
        std::fs::write(&file, html).unwrap();
        fixture::own(&file);
        let display = fixture::managed(&folder).await;
        let environment = display.environment();
        let profile = format!("--user-data-dir={}", home.join("profile").display());
        let args = [
            "--no-sandbox",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--password-store=basic",
            &profile,
            file.to_str().unwrap(),
        ];
        let spawn = Spawn::new("/usr/bin/chromium")
            .args(args)
            .identity(fixture::identity())
            .envs(environment.clone())
            .cwd(&home);
        let chromium = spawn.spawn().await.unwrap();
        let desktop = display.into_desktop().await.unwrap();
        let mut page = Self {
            desktop,
            scene: DesktopFixture::open(&environment),
            _chromium: chromium,
            _folder: folder,
        };
        page.assert_shows("-").await;
        page.desktop.settle(REST).await.unwrap();
        page
    }

    fn title(&self) -> String {
        let title = self.scene.title("chromium").unwrap_or_default();
        title.trim_end_matches(" - Chromium").to_owned()
    }

    /// Waits until the title is this text.
    async fn assert_shows(&self, expected: &str) {
        assert_eventually!(
            self.title(),
            |title| title == expected,
            "the title is {expected:?}"
        );
    }
}

#[tokio::test]
async fn drags_draw_strokes() {
    let mut page = Page::open(SHEET).await;
    let desktop = &mut page.desktop;
    // Two strokes, because a busy browser may skip the corner of a single one.
    for stroke in [[(300, 300), (700, 300)], [(700, 300), (700, 600)]] {
        drag(desktop, &stroke).await;
    }
    let aside = fixture::move_to(desktop.size(), 1270, 790);
    desktop.perform(&aside).await.unwrap();
    desktop.settle(REST).await.unwrap();
    let after = desktop.capture().await.unwrap();
    let is_near = |x: u32, y: u32| {
        let is_dark = |rgb: [u8; 3]| rgb.iter().all(|value| *value < 128);
        let drawn = |x, y| after.pixel(x, y).is_some_and(is_dark);
        (y - 4..=y + 4).any(|y| (x - 4..=x + 4).any(|x| drawn(x, y)))
    };
    for (x, y) in [(310, 300), (500, 300), (670, 300), (700, 450), (700, 590)] {
        assert!(is_near(x, y), "nothing is drawn at {x}, {y}");
    }
    assert!(!is_near(500, 450), "a straight way was drawn");
    page.desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_hundred_foreign_characters_arrive_exactly_in_a_browser() {
    let mut page = Page::open(PAGE).await;
    let mut times = Vec::new();
    for run in 0..runs() {
        press(&mut page.desktop, "ctrl+a").await;
        press(&mut page.desktop, "Delete").await;
        page.assert_shows("-").await;
        // A title has no line breaks and adds its own marks around Hebrew and Arabic.
        let is_plain = |c: &char| !c.is_ascii() && !('\u{590}'..='\u{6ff}').contains(c);
        // Combining marks follow a letter: after a flag, Chromium reorders them.
        let text: String = mixed(run, 3_000)
            .replace("e\u{301}", "я\u{301}")
            .replace("n\u{303}", "н\u{303}")
            .chars()
            .filter(is_plain)
            .take(100)
            .collect();
        let start = Instant::now();
        let typed = fixture::type_text(&text);
        page.desktop.perform(&typed).await.unwrap();
        page.assert_shows(&text).await;
        times.push(start.elapsed());
    }
    times.sort();
    println!(
        "{} runs, all exact; median {:?}",
        times.len(),
        times[times.len() / 2]
    );
    page.desktop.close().await.unwrap();
}

/// Runs only in `make soak`, which installs LibreOffice.
#[tokio::test]
async fn a_sheet_is_computed_and_saved() {
    if requested_runs().is_none() {
        return;
    }
    let folder = fixture::session_dir();
    let path = fixture::workspace(&folder).join("sheet.csv");
    std::fs::write(&path, "item,price\npen,2\n").unwrap();
    fixture::own(&path);
    let args = ["--norestore", "--nologo", path.to_str().unwrap()];
    let mut desktop = started(fixture::managed(&folder).await, "localc", &args).await;
    let start = Instant::now();
    // The import dialog appears some time after the first window.
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("Text Import")
    );
    desktop.settle(REST).await.unwrap();
    press(&mut desktop, "Return").await;
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("sheet.csv")
    );
    desktop.settle(REST).await.unwrap();
    press(&mut desktop, "ctrl+End").await;
    press(&mut desktop, "Down").await;
    press(&mut desktop, "Home").await;
    // Tab moves right, Enter returns to the first column of the row.
    let rows = fixture::type_text("Straße 漢😀\t40\nsum\t=SUM(B2:B3)\n");
    desktop.perform(&rows).await.unwrap();
    desktop.settle(REST).await.unwrap();
    press(&mut desktop, "ctrl+s").await;
    let expected = "item,price\npen,2\nStraße 漢😀,40\nsum,42\n";
    let saved = loop {
        let saved = std::fs::read_to_string(&path).unwrap();
        if saved == expected || start.elapsed() > Duration::from_secs(120) {
            break saved;
        }
        // Confirm keeping the file format.
        if report_of(&mut desktop, Action::ListWindows)
            .await
            .contains("Confirm File Format")
        {
            press(&mut desktop, "Return").await;
        }
        desktop.settle(REST).await.unwrap();
    };
    assert_eq!(saved, expected);
    desktop.close().await.unwrap();
}
