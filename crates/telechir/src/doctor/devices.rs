//! Starts, uses and stops the three devices as `exec` does.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use telechir_browser::headless_shell_program;
use telechir_device::{
    Computer, DeviceError, Frame, Settle, Shell, ShellCommand, TextRecognizer as _,
};
use telechir_ocr::Tesseract;
use telechir_policy::Policy;
use telechir_process::find_program;
use telechir_protocol::{Action, Command, ShellOutcome, Size};
use telechir_x11::{DisplayOptions, ExistingDisplay, PrivateDisplay};

use super::chromium;
use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::explain;
use super::users;
use crate::args::DeviceArguments;
use crate::devices::{self, Devices, RentedDevices};
use crate::env;
use crate::error::chain;
use crate::secrets::Secrets;

const SCREEN: &[&str] = &["Xvfb", "openbox", "bwrap"];
const DESKTOP: &[&str] = &[
    "Xvfb",
    "openbox",
    "bwrap",
    "dbus-daemon",
    "dbus-send",
    "/usr/libexec/at-spi-bus-launcher",
];
const OCR: &[&str] = &["tesseract", "bwrap"];
const SHELL: &[&str] = &["bwrap", "bash", "setsid"];
/// A blank page settles at once; the ceiling is for a machine under load.
const QUIET: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(2),
};

/// Device flags, parsed as for `exec`.
#[derive(Debug, Parser)]
struct DeviceFlags {
    #[command(flatten)]
    devices: DeviceArguments,
}

/// An X server with a window manager, without applications.
pub(super) async fn screen() -> CheckResult {
    let folder = users::folder().await?;
    let mut options = DisplayOptions::new(folder.path(), folder.identity());
    options.workspace = Some(folder.workspace());
    let failure = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), SCREEN);
    let display = PrivateDisplay::start(options).await.map_err(failure)?;
    let mut desktop = display.into_desktop().await.map_err(failure)?;
    let seen = screenshot(&mut desktop).await;
    let closed = desktop.close().await;
    let removed = users::remove(folder);
    let (_, seen) = seen.map_err(failure)?;
    closed.map_err(failure)?;
    removed?;
    Ok(Observation::new(format!("Xvfb with openbox, {seen}")))
}

/// `--desktop`.
pub(super) async fn desktop() -> CheckResult {
    let (mut devices, took) = start(&["--desktop"], DESKTOP).await?;
    let seen = match &mut devices.desktop {
        Some(desktop) => screenshot(desktop.as_mut())
            .await
            .map_err(|error| lost(&error)),
        None => Err(no_device()),
    };
    close(devices).await?;
    let (_, screenshot) = seen?;
    Ok(Observation::new(format!(
        "starts in {took} ms, its session bus answers, accessibility is on, {screenshot}"
    )))
}

/// Tesseract, on an image without text.
pub(super) async fn ocr() -> CheckResult {
    if find_program(Path::new("tesseract")).is_none() {
        return Err(CheckFailure::missing("`tesseract` was not found").package("tesseract-ocr"));
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
    let failure = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), OCR);
    read.map_err(failure)?;
    Ok(Observation::new(
        "tesseract reads images, confined".to_owned(),
    ))
}

/// `--desktop=` with the user's display: a screenshot, and its accessible applications.
pub(super) async fn display() -> CheckResult {
    let name = env::display()
        .ok_or_else(|| CheckFailure::missing("DISPLAY is not set: there is no existing display"))?;
    let cookie = devices::cookie();
    let failure = |error: DeviceError| explain(&format!("failed to {}", chain(&error)), &[]);
    let existing = ExistingDisplay::connect(&name, cookie.as_deref())
        .await
        .map_err(failure)?;
    let applications = devices::applications_of(&existing).await.map_err(failure)?;
    let mut desktop = existing.into_desktop().await.map_err(failure)?;
    let seen = screenshot(&mut desktop).await;
    desktop.close().await.map_err(failure)?;
    let (_, seen) = seen.map_err(failure)?;
    let counted = match applications {
        Some(mut applications) => applications.count().await,
        None => Err(DeviceError::Unavailable {
            what: "the accessibility of applications",
            message: "neither the display nor DBUS_SESSION_BUS_ADDRESS names a bus".to_owned(),
        }),
    };
    match counted {
        Ok(count) => Ok(Observation::new(format!(
            "{name} opens, {seen}, accessible applications: {count}"
        ))),
        Err(error) => Ok(Observation::degraded(
            format!("{name} opens, {seen}"),
            CheckFailure::broken(format!("failed to {}", chain(&error)))
                .impact("its elements have no names; their text is recognized with OCR"),
        )),
    }
}

/// `--browser`, with a window.
pub(super) async fn browser() -> CheckResult {
    look_at_page(&["--browser"], SCREEN).await
}

/// `--browser --headless`.
pub(super) async fn headless() -> CheckResult {
    let seen = look_at_page(&["--browser", "--headless"], &[]).await?;
    if headless_shell_program().is_some() {
        return Ok(seen);
    }
    let warning = CheckFailure::missing(
        "Chromium's headless shell was not found; Chromium itself runs instead",
    )
    .package("chromium-headless-shell")
    .impact("it starts more slowly and needs more memory");
    Ok(seen.with_warning(warning))
}

async fn look_at_page(flags: &[&str], programs: &[&str]) -> CheckResult {
    let (mut devices, took) = start(flags, programs).await?;
    let folder = devices.folder.path().to_owned();
    let seen = match &mut devices.browser {
        Some(browser) => blank_page(browser.as_mut()).await,
        None => Err(no_device()),
    };
    let sandbox = chromium::sandbox(&folder);
    let shares_network = chromium::shares_network(&folder);
    close(devices).await?;
    let text = format!("starts in {took} ms, {}, {}", sandbox?, seen?);
    Ok(if shares_network {
        let warning = if find_program(Path::new("bwrap")).is_none() {
            CheckFailure::missing(
                "Chromium has no network namespace of its own, because `bwrap` was not found",
            )
            .package("bubblewrap")
        } else {
            CheckFailure::broken(
                "Chromium has no network namespace of its own: a program in a user namespace \
                 cannot create another one",
            )
        };
        let warning = warning.impact(
            "its flags alone send its requests through the proxy, and a page can show a dialog",
        );
        Observation::degraded(text, warning)
    } else {
        Observation::new(format!("{text}, its network has the egress proxy alone"))
    })
}

/// Loads a blank page and expects a white screenshot.
async fn blank_page(browser: &mut dyn Computer) -> Result<String, CheckFailure> {
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
        other => Err(CheckFailure::broken(format!(
            "the screenshot of about:blank is not white but {other:?} (red, green, blue)"
        ))),
    }
}

/// `--shell`: runs `true`, then verifies the sandbox from inside.
pub(super) async fn shell() -> CheckResult {
    let (mut devices, started) = start(&["--shell"], SHELL).await?;
    let seen = match &mut devices.shell {
        Some(shell) => inside(shell.as_mut()).await,
        None => Err(no_device()),
    };
    close(devices).await?;
    Ok(Observation::new(format!(
        "starts in {started} ms, {}",
        seen?
    )))
}

const SANDBOX_STATUS: &str = "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status; \
                          id -u; ls -A /home; tail -n +3 /proc/net/dev | cut -d: -f1";

async fn inside(shell: &mut dyn Shell) -> Result<String, CheckFailure> {
    let started = Instant::now();
    run(shell, "true").await?;
    let took = started.elapsed().as_millis();
    let output = run(shell, SANDBOX_STATUS).await?;
    let ocr: Vec<&str> = output.split_whitespace().collect();
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
    ] = ocr[..]
    else {
        return Err(CheckFailure::broken(format!(
            "the sandbox is incomplete; its status inside is: {output}"
        )));
    };
    if user == "0" {
        return Err(CheckFailure::broken(
            "commands run as root inside the sandbox",
        ));
    }
    Ok(format!(
        "`true` in {took} ms as user {user}; inside no capabilities, no new privileges, a system \
         call filter, no network, no home; sockets of servers in the workspace are out of reach: those \
         present at the start, later ones after the next command"
    ))
}

async fn run(shell: &mut dyn Shell, line: &str) -> Result<String, CheckFailure> {
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
    Err(CheckFailure::broken(format!(
        "`{line}` failed as {:?} with {:?}: {}{}",
        output.outcome, output.exit_code, output.stdout, output.stderr
    )))
}

/// A screenshot and a description of how it was taken.
async fn screenshot(computer: &mut dyn Computer) -> Result<(Frame, String), DeviceError> {
    let started = Instant::now();
    let frame = computer.capture().await?;
    let (size, took) = (frame.size(), started.elapsed().as_millis());
    let text = format!("screenshot of {}x{} in {took} ms", size.width, size.height);
    Ok((frame, text))
}

/// Starts a device; also returns how many milliseconds that took.
async fn start(flags: &[&str], programs: &[&str]) -> Result<(Devices, u128), CheckFailure> {
    let line = ["telechir"].iter().chain(flags);
    let flags = DeviceFlags::try_parse_from(line)
        .map_err(|error| CheckFailure::broken(error.to_string()))?;
    let started = Instant::now();
    match Devices::start(
        &flags.devices,
        &Policy::default_policy(),
        &Secrets::default(),
        "telechir doctor",
        RentedDevices::default(),
    )
    .await
    {
        Ok(devices) => Ok((devices, started.elapsed().as_millis())),
        Err(failure) => {
            // The failure starts with the flag, which the check's name implies.
            let text = failure.text();
            let cause = text
                .split_once(": ")
                .filter(|(flag, _)| flag.starts_with("--"));
            Err(explain(cause.map_or(text, |(_, cause)| cause), programs))
        }
    }
}

/// Stops all devices; a failure is reported like any other.
async fn close(devices: Devices) -> Result<(), CheckFailure> {
    let mut outcome = Ok(());
    let screens = [devices.browser, devices.desktop];
    for screen in screens.into_iter().flatten() {
        outcome = outcome.and(screen.close().await);
    }
    if let Some(shell) = devices.shell {
        outcome = outcome.and(shell.close().await);
    }
    let removed = users::remove(devices.folder);
    outcome.map_err(|error| CheckFailure::broken(format!("failed to {}", chain(&error))))?;
    removed
}

fn lost(error: &DeviceError) -> CheckFailure {
    explain(&format!("failed to {}", chain(error)), &[])
}

fn no_device() -> CheckFailure {
    CheckFailure::broken("the device was started but is missing: this is a bug in telechir")
}
