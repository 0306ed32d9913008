//! Text in any script in a real editor, read back from the saved file; also with other layouts.

use std::time::{Duration, Instant};

use telechir_device::{Computer, WindowSystem as _};
use telechir_protocol::{Action, Button};
use telechir_x11::Desktop;

use crate::fixture;
use crate::programs::{assert_saved, press, started};

/// Runs in `make test`; `make soak` sets more.
const RUNS: u32 = 4;

#[expect(clippy::disallowed_methods, reason = "test option set by the caller")]
pub(crate) fn requested_runs() -> Option<u32> {
    let value = std::env::var("TELECHIR_TYPING_RUNS").ok()?;
    value.parse().ok()
}

pub(crate) fn runs() -> u32 {
    requested_runs().unwrap_or(RUNS)
}

/// `count` characters from many scripts, different in every run.
pub(crate) fn mixed(run: u32, count: usize) -> String {
    const MARKS: [&str; 6] = ["e\u{301}", "n\u{303}", "क्षि", "👩‍👩‍👧", "🇩🇪", "نص"];
    let blocks = [
        ' '..='~',
        ' '..='~',
        'a'..='z',
        '¡'..='ÿ',
        'Α'..='Ω',
        'А'..='я',
        'א'..='ת',
        'ぁ'..='ゖ',
        'ァ'..='ヺ',
        '一'..='龥',
        '가'..='힣',
        '😀'..='🙏',
    ];
    let mut state = 0x9e37_79b9_u32.wrapping_mul(run + 1);
    let mut next = move |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let mut text = String::new();
    while text.chars().count() < count {
        match next(24) {
            0 => text.push('\n'),
            1 => text.push('\t'),
            2 | 3 => text.push_str(MARKS[next(MARKS.len())]),
            pick => {
                let block = blocks[pick % blocks.len()].clone();
                let size = block.clone().count();
                text.extend(block.into_iter().nth(next(size)));
            }
        }
    }
    text.chars().take(count).collect()
}

/// Types text into the emptied editor, saves it and waits for the file; returns the time of typing.
async fn type_and_save(desktop: &mut Desktop, path: &std::path::Path, text: &str) -> Duration {
    press(desktop, "ctrl+a").await;
    press(desktop, "Delete").await;
    let start = Instant::now();
    desktop.perform(&fixture::type_text(text)).await.unwrap();
    let took = start.elapsed();
    press(desktop, "ctrl+s").await;
    assert_saved(path, text).await;
    took
}

async fn editor(folder: &tempfile::TempDir) -> (Desktop, std::path::PathBuf) {
    let path = fixture::workspace(folder).join("text.txt");
    std::fs::write(&path, "").unwrap();
    fixture::own(&path);
    let display = fixture::managed(folder).await;
    let desktop = started(display, "mousepad", &[path.to_str().unwrap()]).await;
    (desktop, path)
}

#[tokio::test]
async fn a_thousand_mixed_characters_are_saved_exactly_every_time() {
    let folder = fixture::session_dir();
    let (mut desktop, path) = editor(&folder).await;
    let mut times = Vec::new();
    for run in 0..runs() {
        let text = mixed(run, 1_000);
        times.push(type_and_save(&mut desktop, &path, &text).await);
    }
    times.sort();
    println!(
        "{} runs, all exact; median {:?}",
        times.len(),
        times[times.len() / 2]
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn plain_text_and_a_hundred_foreign_characters_are_saved_exactly() {
    let folder = fixture::session_dir();
    let (mut desktop, path) = editor(&folder).await;
    let plain: String = (' '..='~').cycle().take(1_000).collect();
    let foreign: String = mixed(7, 2_000)
        .chars()
        .filter(|c| !c.is_ascii())
        .take(100)
        .collect();
    let mut times = (Vec::new(), Vec::new());
    for run in 0..runs() {
        // Saving unchanged text would do nothing.
        let text = format!("{run}{}", &plain[run.to_string().len()..]);
        times
            .0
            .push(type_and_save(&mut desktop, &path, &text).await);
        times
            .1
            .push(type_and_save(&mut desktop, &path, &foreign).await);
    }
    times.0.sort();
    times.1.sort();
    let middle = times.0.len() / 2;
    println!("plain {:?}, foreign {:?}", times.0[middle], times.1[middle]);
    desktop.close().await.unwrap();
}

/// GTK enables the dialog's button some time after the name is typed, and a key that opens a dialog
/// may be followed by text for it.
#[tokio::test]
async fn a_line_break_after_a_name_confirms_the_file_dialog() {
    let folder = fixture::session_dir();
    let display = fixture::managed(&folder).await;
    let mut desktop = started(display, "mousepad", &[]).await;
    for name in ["one.txt", "two.txt"] {
        press(&mut desktop, "ctrl+n").await;
        desktop.perform(&fixture::type_text(name)).await.unwrap();
        press(&mut desktop, "ctrl+s").await;
        let path = fixture::workspace(&folder).join(name);
        let line = format!("{}\n", path.display());
        desktop.perform(&fixture::type_text(&line)).await.unwrap();
        assert_saved(&path, name).await;
    }
    desktop.close().await.unwrap();
}

/// GTK starts a drag of the selected text once the pointer has moved far enough, and the text is
/// asked where it would go before it is dropped (XDND).
#[tokio::test]
async fn dragged_text_lands_where_it_is_dropped() {
    let folder = fixture::session_dir();
    let (mut desktop, path) = editor(&folder).await;
    type_and_save(&mut desktop, &path, "moved\n\n\nhere: ").await;
    let windows = desktop.windows().await.unwrap();
    let content = windows.last().unwrap().content;
    let size = desktop.size();
    let at = |right: i32, down: i32| {
        let [x, y] = [content.x + right, content.y + down].map(i32::cast_unsigned);
        fixture::pixel(x, y)
    };
    // Below the menu bar; the lines of the text are less than 20 pixels high.
    let word = at(30, 36);
    press(&mut desktop, "ctrl+Home").await;
    press(&mut desktop, "shift+End").await;
    let drag = fixture::on_screen(
        size,
        Action::Drag {
            path: vec![word, at(200, 200)],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
        },
    );
    desktop.perform(&drag).await.unwrap();
    press(&mut desktop, "ctrl+s").await;
    assert_saved(&path, "\n\n\nhere: moved").await;
    desktop.close().await.unwrap();
}

/// Changes the keyboard layout with setxkbmap, as a user would.
async fn set_layout(desktop: &mut Desktop, text: &[&str]) {
    let display = desktop.private_display().expect("the display is private");
    let before = telechir_testkit::xvfb::keyboard(&display.environment());
    display.launch("setxkbmap", text).await.unwrap();
    let environment = display.environment();
    let start = Instant::now();
    let mut last = before.clone();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = telechir_testkit::xvfb::keyboard(&environment);
        // The layout changes in several steps.
        if now != before && now == last {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{text:?}");
        last = now;
    }
}

/// Asserts that text and a shortcut arrive with each of these layouts.
async fn check_layouts(layouts: &[&[&str]]) {
    let text = "The quick Brown fox; [{<>}] @#$%^&*()_+|~`\\ 'x' \"y\" äöüß éèç ёжик Привет €漢 1234567890\n\tq/z?y-=";
    for layout in layouts {
        let folder = fixture::session_dir();
        let (mut desktop, path) = editor(&folder).await;
        set_layout(&mut desktop, layout).await;
        type_and_save(&mut desktop, &path, text).await;
        // A shortcut uses the key of its letter in any layout: the text is selected and replaced.
        press(&mut desktop, "ctrl+a").await;
        desktop.perform(&fixture::type_text("z")).await.unwrap();
        press(&mut desktop, "ctrl+s").await;
        assert_saved(&path, "z").await;
        desktop.close().await.unwrap();
    }
}

#[tokio::test]
async fn latin_layouts_type_the_same() {
    check_layouts(&[&["de"], &["fr"], &["us", "-variant", "dvorak"]]).await;
}

#[tokio::test]
async fn layouts_of_other_scripts_type_the_same() {
    check_layouts(&[&["ru"], &["gr"], &["ru,us"]]).await;
}
