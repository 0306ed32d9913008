//! Long runs: programs survive that their elements are read while dialogs open and close.

use std::time::{Duration, Instant};

use telechir_device::{Detail, DeviceError, WindowSystem as _};
use telechir_protocol::{Action, Chord};

use crate::fixture::DesktopFixture;

/// Number of rounds; these runs are for `make soak`, which installs the programs.
fn rounds() -> Option<u32> {
    std::env::var("TELECHIR_READING_ROUNDS").ok()?.parse().ok()
}

/// How long a large program may take to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(180);

struct Program {
    name: &'static str,
    command: &'static [&'static str],
    process: &'static str,
    /// A part of the title of its window.
    window: &'static str,
    /// Keys of a round; all elements are read after each.
    keys: &'static [&'static str],
}

/// What a program shows after it crashed.
const CRASHES: [&str; 3] = ["recovery", "crash", "fatal"];

async fn titles(fixture: &mut DesktopFixture) -> Vec<String> {
    let windows = fixture.desktop.computer().windows().await.unwrap();
    windows.into_iter().map(|window| window.title).collect()
}

async fn press(fixture: &mut DesktopFixture, keys: &str) -> Result<(), DeviceError> {
    let chord = Chord::parse(keys).unwrap();
    fixture.perform(Action::Key { chord, repeat: 1 }).await?;
    Ok(())
}

async fn soak(program: Program) {
    let Some(rounds) = rounds() else { return };
    let mut fixture = DesktopFixture::new().await;
    let (command, args) = program.command.split_first().unwrap();
    fixture.launch(command, args).await;
    let start = Instant::now();
    while !titles(&mut fixture)
        .await
        .iter()
        .any(|title| title.contains(program.window))
    {
        assert!(start.elapsed() < START_TIMEOUT, "{} starts", program.name);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // Hints at the first start.
    press(&mut fixture, "Escape").await.unwrap();
    let (mut reads, mut most, mut longest) = (0, 0, Duration::ZERO);
    let mut survived = 0;
    'rounds: for _ in 0..rounds {
        for keys in program.keys {
            press(&mut fixture, keys).await.unwrap();
            let start = Instant::now();
            let tree = fixture.tree(Detail::Basic).await;
            longest = longest.max(start.elapsed());
            most = most.max(tree.elements.len());
            reads += 1;
        }
        let titles = titles(&mut fixture).await;
        let has_crashed = titles.iter().any(|title| {
            let title = title.to_lowercase();
            CRASHES.iter().any(|crash| title.contains(crash))
        });
        if has_crashed || fixture.processes(program.process).is_empty() {
            break 'rounds;
        }
        survived += 1;
    }
    println!(
        "reading: | {} | {survived} of {rounds} | {reads} | {most} | {} ms |",
        program.name,
        longest.as_millis()
    );
    assert_eq!(survived, rounds, "{}", program.name);
    assert!(most > 20, "{} describes its elements", program.name);
    fixture.close().await;
}

#[tokio::test]
async fn libreoffice_calc_survives() {
    soak(Program {
        name: "LibreOffice Calc",
        command: &["soffice", "--calc", "--norestore", "--nologo"],
        process: "soffice.bin",
        window: "LibreOffice Calc",
        keys: &[
            "7", "ctrl+1", "Escape", "Escape", "ctrl+h", "Escape", "Return",
        ],
    })
    .await;
}

#[tokio::test]
async fn libreoffice_writer_survives() {
    soak(Program {
        name: "LibreOffice Writer",
        command: &["soffice", "--writer", "--norestore", "--nologo"],
        process: "soffice.bin",
        window: "LibreOffice Writer",
        keys: &[
            "x",
            "ctrl+h",
            "Escape",
            "ctrl+F12",
            "Escape",
            "shift+F10",
            "Escape",
        ],
    })
    .await;
}

#[tokio::test]
async fn firefox_survives() {
    soak(Program {
        name: "Firefox ESR",
        command: &["firefox-esr", "about:support"],
        process: "firefox-esr",
        window: "Firefox",
        keys: &[
            "ctrl+t",
            "ctrl+w",
            "ctrl+f",
            "Escape",
            "shift+F10",
            "Escape",
        ],
    })
    .await;
}

#[tokio::test]
async fn gimp_survives() {
    soak(Program {
        name: "GIMP",
        command: &["gimp", "--no-splash", "--new-instance"],
        process: "gimp-2.10",
        window: "GNU Image Manipulation Program",
        keys: &["ctrl+n", "Escape", "alt+f", "Escape", "slash", "Escape"],
    })
    .await;
}
