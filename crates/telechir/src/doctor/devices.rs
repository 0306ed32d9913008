//! The three devices, started, used and ended as `exec` does it.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use telechir_browser::shell_program;
use telechir_device::{
    BoxComputer, BoxShell, Computer as _, DeviceError, Frame, Settle, Shell as _, ShellCommand,
    TextRecognizer as _,
};
use telechir_ocr::Tesseract;
use telechir_policy::Policy;
use telechir_process::find_program;
use telechir_protocol::{Action, Command, ShellOutcome, Size};
use telechir_x11::{DisplayOptions, ExistingDisplay, PrivateDisplay};

use super::chromium;
use super::finding::{Checked, Seen, Trouble};
use super::fix::explain;
use super::users;
use crate::args::DeviceArguments;
use crate::devices::{self, Devices};
use crate::env;
use crate::error::chain;

const SCREEN: &[&str] = &["Xvfb", "openbox", "bwrap"];
const DESKTOP: &[&str] = &[
    "Xvfb",
    "openbox",
    "bwrap",
    "dbus-daemon",
    "dbus-send",
    "/usr/libexec/at-spi-bus-launcher",
];
const WORDS: &[&str] = &["tesseract", "bwrap"];
const SHELL: &[&str] = &["bwrap", "bash", "setsid"];
/// A page that shows nothing is there at once; a machine under load needs longer.
const QUIET: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(2),
};

/// The flags of devices as they are typed for `exec`.
#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    devices: DeviceArguments,
}

/// An X server with a window manager, and nothing else.
pub(super) async fn screen() -> Checked {
    let folder = users::folder().await?;
    let mut options = DisplayOptions::new(folder.path(), folder.identity());
    options.workspace = Some(folder.workspace());
    let trouble = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), SCREEN);
    let display = PrivateDisplay::start(options).await.map_err(trouble)?;
    let mut desktop = display.into_desktop().await.map_err(trouble)?;
    let seen = screenshot(&mut desktop).await;
    let closed = desktop.close().await;
    let removed = users::remove(folder);
    let (_, seen) = seen.map_err(trouble)?;
    closed.map_err(trouble)?;
    removed?;
    Ok(Seen::new(format!("Xvfb with openbox, {seen}")))
}

/// `--desktop`.
pub(super) async fn desktop() -> Checked {
    let (mut devices, took) = start(&["--desktop"], DESKTOP).await?;
    let seen = match &mut devices.desktop {
        Some(desktop) => screenshot(desktop).await.map_err(|error| lost(&error)),
        None => Err(no_device()),
    };
    close(devices).await?;
    let (_, screenshot) = seen?;
    Ok(Seen::new(format!(
        "starts in {took} ms, its session bus answers, accessibility is on, {screenshot}"
    )))
}

/// Tesseract, on a picture without words.
pub(super) async fn words() -> Checked {
    if find_program(Path::new("tesseract")).is_none() {
        return Err(Trouble::missing("`tesseract` was not found").package("tesseract-ocr"));
    }
    let folder = users::folder().await?;
    let mut reader = Tesseract::new(folder.identity());
    let size = Size::new(64, 64);
    let white = vec![255; 64 * 64 * 4];
    let read = match Frame::new(size, white) {
        Some(screenshot) => reader.read(&screenshot).await.map(|_| ()),
        None => Ok(()),
    };
    users::remove(folder)?;
    let trouble = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), WORDS);
    read.map_err(trouble)?;
    Ok(Seen::new("tesseract reads pictures, confined".to_owned()))
}

/// `--desktop=` with the display that the user is at: a picture of it, and who says what it shows.
pub(super) async fn display() -> Checked {
    let name = env::display()
        .ok_or_else(|| Trouble::missing("DISPLAY is not set: nobody's display is here"))?;
    let cookie = devices::cookie();
    let trouble = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), &[]);
    let existing = ExistingDisplay::connect(&name, cookie.as_deref())
        .await
        .map_err(trouble)?;
    let applications = devices::applications_of(&existing).await.map_err(trouble)?;
    let mut desktop = existing.into_desktop().await.map_err(trouble)?;
    let seen = screenshot(&mut desktop).await;
    desktop.close().await.map_err(trouble)?;
    let (_, seen) = seen.map_err(trouble)?;
    let counted = match applications {
        Some(mut applications) => applications.count().await,
        None => Err(DeviceError::Unavailable {
            what: "the accessibility of applications",
            message: "neither the display nor DBUS_SESSION_BUS_ADDRESS names a bus".to_owned(),
        }),
    };
    match counted {
        Ok(count) => Ok(Seen::new(format!(
            "{name} opens, {seen}, {count} of its applications say what they show"
        ))),
        Err(error) => Ok(Seen::but(
            format!("{name} opens, {seen}"),
            Trouble::broken(format!("failed to {}", chain(&error)))
                .costs("its elements have no names; words are read off its windows"),
        )),
    }
}

/// `--browser`, with a window.
pub(super) async fn browser() -> Checked {
    look_at_page(&["--browser"], SCREEN).await
}

/// `--browser --headless`.
pub(super) async fn headless() -> Checked {
    let seen = look_at_page(&["--browser", "--headless"], &[]).await?;
    if shell_program().is_some() {
        return Ok(seen);
    }
    let reservation = Trouble::missing("Chromium's shell was not found; Chromium itself does it")
        .package("chromium-headless-shell")
        .costs("it starts later and takes more memory");
    Ok(seen.reserved(reservation))
}

async fn look_at_page(flags: &[&str], programs: &[&str]) -> Checked {
    let (mut devices, took) = start(flags, programs).await?;
    let folder = devices.folder.path().to_owned();
    let seen = match &mut devices.browser {
        Some(browser) => blank_page(browser).await,
        None => Err(no_device()),
    };
    let sandbox = chromium::sandbox(&folder);
    close(devices).await?;
    Ok(Seen::new(format!(
        "starts in {took} ms, {}, {}",
        sandbox?, seen?
    )))
}

/// Loads a page that is white, and sees that it is.
async fn blank_page(browser: &mut BoxComputer) -> Result<String, Trouble> {
    let open = Action::Navigate {
        url: "about:blank".to_owned(),
        tab: None,
    };
    browser.perform(&open).await.map_err(|error| lost(&error))?;
    browser.settle(QUIET).await.map_err(|error| lost(&error))?;
    let (frame, text) = screenshot(browser).await.map_err(|error| lost(&error))?;
    let size = frame.size();
    // Not in the middle, where the pointer is.
    match frame.pixel(size.width / 4, size.height / 4) {
        Some([255, 255, 255]) => Ok(format!("about:blank is white, {text}")),
        other => Err(Trouble::broken(format!(
            "the picture of about:blank is not white but {other:?} (red, green, blue)"
        ))),
    }
}

/// `--shell`: runs `true`, and asks what is known of the sandbox from inside.
pub(super) async fn shell() -> Checked {
    let (mut devices, started) = start(&["--shell"], SHELL).await?;
    let seen = match &mut devices.shell {
        Some(shell) => inside(shell).await,
        None => Err(no_device()),
    };
    close(devices).await?;
    Ok(Seen::new(format!("starts in {started} ms, {}", seen?)))
}

const LOOK: &str = "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status; \
                    id -u; ls -A /home; tail -n +3 /proc/net/dev | cut -d: -f1";

async fn inside(shell: &mut BoxShell) -> Result<String, Trouble> {
    let began = Instant::now();
    run(shell, "true").await?;
    let took = began.elapsed().as_millis();
    let said = run(shell, LOOK).await?;
    let words: Vec<&str> = said.split_whitespace().collect();
    let [
        "CapEff:",
        "0000000000000000",
        "CapBnd:",
        "0000000000000000",
        "NoNewPrivs:",
        "1",
        "Seccomp:",
        "2",
        user,
        "lo",
    ] = words[..]
    else {
        return Err(Trouble::broken(format!(
            "the sandbox does not hold; inside it is seen: {said}"
        )));
    };
    if user == "0" {
        return Err(Trouble::broken("commands run as root inside the sandbox"));
    }
    Ok(format!(
        "`true` in {took} ms as user {user}; inside no capabilities, no new privileges, a system \
         call filter, no network, no home"
    ))
}

async fn run(shell: &mut BoxShell, line: &str) -> Result<String, Trouble> {
    let command = ShellCommand {
        command: Command::Line(line.to_owned()),
        timeout: Duration::from_secs(10),
        max_output_bytes: 4096,
        cwd: None,
        env: Vec::new(),
    };
    let output = shell.run(&command).await.map_err(|error| lost(&error))?;
    if output.outcome == ShellOutcome::Success {
        return Ok(output.stdout);
    }
    Err(Trouble::broken(format!(
        "`{line}` ended as {:?} with {:?}: {}{}",
        output.outcome, output.exit_code, output.stdout, output.stderr
    )))
}

/// A picture and how it was got.
async fn screenshot(
    computer: &mut impl telechir_device::Computer,
) -> Result<(Frame, String), DeviceError> {
    let began = Instant::now();
    let frame = computer.capture().await?;
    let (size, took) = (frame.size(), began.elapsed().as_millis());
    let text = format!("picture of {}x{} in {took} ms", size.width, size.height);
    Ok((frame, text))
}

/// Starts a device, and says in how many milliseconds.
async fn start(flags: &[&str], programs: &[&str]) -> Result<(Devices, u128), Trouble> {
    let line = ["telechir"].iter().chain(flags);
    let flags = Flags::try_parse_from(line).map_err(|error| Trouble::broken(error.to_string()))?;
    let began = Instant::now();
    match Devices::start(&flags.devices, &Policy::default_policy(), "telechir doctor").await {
        Ok(devices) => Ok((devices, began.elapsed().as_millis())),
        Err(failure) => {
            // It begins with the flag, which the check says already.
            let text = failure.text();
            let cause = text
                .split_once(": ")
                .filter(|(flag, _)| flag.starts_with("--"));
            Err(explain(cause.map_or(text, |(_, cause)| cause), programs))
        }
    }
}

/// Ends all of it; what is left behind is a finding of its own.
async fn close(devices: Devices) -> Result<(), Trouble> {
    let mut outcome = Ok(());
    let screens = [devices.browser, devices.desktop];
    for screen in screens.into_iter().flatten() {
        outcome = outcome.and(screen.close().await);
    }
    if let Some(shell) = devices.shell {
        outcome = outcome.and(shell.close().await);
    }
    let removed = users::remove(devices.folder);
    outcome.map_err(|error| Trouble::broken(format!("failed to {}", chain(&error))))?;
    removed
}

fn lost(error: &DeviceError) -> Trouble {
    explain(&format!("failed to {}", chain(error)), &[])
}

fn no_device() -> Trouble {
    Trouble::broken("the device was started and is not there: this is a bug of telechir")
}
