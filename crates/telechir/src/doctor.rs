//! Tests what works on this machine: each component is used as `exec` uses it, one after the other,
//! with time limits, and leaves nothing behind.

mod bubblewrap;
mod chromium;
mod containers;
mod devices;
mod finding;
mod fix;
mod fonts;
mod guardian;
mod limits;
mod machine;
mod program;
mod recording;
mod render;
mod server;
mod users;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use telechir_agent::ApiKey;
use telechir_remote::{RemoteService, SERVICES};

use crate::{env, service};
use finding::{CheckFailure, CheckResult, CheckSpec, Observation, run_check};
pub(crate) use finding::{CheckState, Finding};
pub(crate) use machine::MachineInfo;
pub(crate) use render::TextRenderer;
pub(crate) use server::check_server;

/// Increases when a field is removed or changes meaning; additions do not count.
const FORMAT: u32 = 1;

/// The result of all checks.
#[derive(Debug, Serialize)]
pub(crate) struct DoctorReport {
    format: u32,
    version: &'static str,
    /// Whether desktop, browser and shell all work.
    pub(crate) ready: bool,
    /// Flags of `exec` that work on this machine.
    pub(crate) usable: Vec<&'static str>,
    /// One command that installs all missing packages; absent without missing packages or `apt-get`.
    pub(crate) install: Option<String>,
    pub(crate) machine: MachineInfo,
    pub(crate) checks: Vec<Finding>,
}

/// Devices of `exec`; the exit code of `doctor` depends on these three.
const DEVICES: [&str; 3] = ["--desktop", "--browser", "--shell"];

const QUICK: Duration = Duration::from_secs(10);
const SLOW: Duration = Duration::from_secs(45);

const fn spec(id: &'static str, ceiling: Duration, impact: &'static str) -> CheckSpec {
    CheckSpec {
        id,
        gives: None,
        impact,
        ceiling,
    }
}

const fn device(id: &'static str, gives: &'static str, impact: &'static str) -> CheckSpec {
    CheckSpec {
        id,
        gives: Some(gives),
        impact,
        ceiling: SLOW,
    }
}

const USER: CheckSpec = spec("user", QUICK, "no session can start");
const NAMESPACES: CheckSpec = spec(
    "user-namespaces",
    QUICK,
    "no device: the sandboxes of shell, Chromium and desktop applications need them",
);
const BUBBLEWRAP: CheckSpec = spec("bubblewrap", QUICK, "no shell in a sandbox, and no desktop");
const SCREEN: CheckSpec = spec("screen", SLOW, "no desktop, and no browser with a window");
const DESKTOP: CheckSpec = device(
    "desktop",
    "--desktop",
    "no --desktop; browser and shell do not need it",
);
const DISPLAY: CheckSpec = spec(
    "display",
    SLOW,
    "no --desktop=:0 or similar; a private desktop does not need it",
);
const BROWSER: CheckSpec = device(
    "browser",
    "--browser",
    "no --browser; with --headless it needs no X server",
);
const HEADLESS: CheckSpec = device(
    "browser-headless",
    "--browser --headless",
    "no --browser --headless; with a window it may work",
);
const SHELL: CheckSpec = device(
    "shell",
    "--shell",
    "no --shell; --shell=host runs commands without a sandbox, as you",
);
const GUARDIAN: CheckSpec = spec(
    "guardian",
    QUICK,
    "if telechir is killed, its files and the keys it pressed on an existing display stay as they are",
);
const LIMITS: CheckSpec = spec(
    "limits",
    QUICK,
    "each process is limited alone: together they can exhaust the machine's memory; their number, \
     their files and memory disks stay limited",
);
const CJK: CheckSpec = spec(
    "fonts-cjk",
    QUICK,
    "Chinese, Japanese and Korean text is drawn as boxes in screenshots; everything else works",
);
const EMOJI: CheckSpec = spec(
    "fonts-emoji",
    QUICK,
    "emoji are drawn as boxes in screenshots; everything else works",
);
const RECORDING: CheckSpec = spec(
    "recording",
    QUICK,
    "nothing is executed: an action that cannot be recorded is not performed",
);
const DISK: CheckSpec = spec("disk", QUICK, "profiles and recordings may not fit");
const MEMORY: CheckSpec = spec("memory", QUICK, "the kernel may kill Chromium");
const OCR: CheckSpec = spec(
    "ocr",
    SLOW,
    "text of windows without accessibility is not recognized; everything else works",
);
const EDITOR: CheckSpec = spec(
    "editor",
    QUICK,
    "`make demo` has no text editor; everything else works",
);
const CONTAINERS: CheckSpec = spec(
    "containers",
    QUICK,
    "no --shell=docker and --shell=podman; the sandboxed shell needs no container engine",
);
/// API key checks, each with its service; services without an endpoint of their own have none.
const KEYS: [(CheckSpec, &str); 5] = [
    (
        key_of(
            "key-anthropic",
            "no `run --provider anthropic`; `exec` needs no key",
        ),
        "anthropic",
    ),
    (
        key_of(
            "key-openai",
            "no `run --provider openai`; `exec` needs no key",
        ),
        "openai",
    ),
    (
        key_of(
            "key-google",
            "no `run --provider google`; `exec` needs no key",
        ),
        "google",
    ),
    (
        key_of(
            "key-bedrock",
            "no `run --provider bedrock`; `exec` needs no key",
        ),
        "bedrock",
    ),
    (
        key_of(
            "key-mistral",
            "no `run --provider mistral`; `exec` needs no key",
        ),
        "mistral",
    ),
];

const REMOTE: CheckSpec = spec(
    "key-remote",
    QUICK,
    "no --remote; a browser on this machine needs no key",
);

const fn key_of(id: &'static str, impact: &'static str) -> CheckSpec {
    spec(id, QUICK, impact)
}

/// Runs every check and reports each finding as soon as it is complete.
pub(crate) async fn check(
    machine: MachineInfo,
    record: Option<PathBuf>,
    mut report: impl FnMut(&Finding),
) -> DoctorReport {
    let mut checks = Vec::new();
    let mut note = |finding: Finding| {
        report(&finding);
        checks.push(finding);
    };
    let user = run_check(&USER, users::user()).await;
    let is_possible = user.state.is_usable();
    note(user);
    let namespaces = run_check(&NAMESPACES, if_possible(is_possible, users::namespaces())).await;
    note(namespaces.clone());
    note(run_check(&BUBBLEWRAP, bubblewrap::check()).await);
    let below = is_possible.then_some(&namespaces);
    note(device_on(below, &SCREEN, devices::screen()).await);
    note(device_on(below, &DESKTOP, devices::desktop()).await);
    note(run_check(&DISPLAY, devices::display()).await);
    note(device_on(below, &BROWSER, devices::browser()).await);
    note(device_on(below, &HEADLESS, devices::headless()).await);
    note(device_on(below, &SHELL, devices::shell()).await);
    note(run_check(&GUARDIAN, if_possible(is_possible, guardian::check())).await);
    note(run_check(&LIMITS, limits::check()).await);
    note(run_check(&CJK, if_possible(is_possible, fonts::check(&fonts::CJK))).await);
    note(
        run_check(
            &EMOJI,
            if_possible(is_possible, fonts::check(&fonts::EMOJI)),
        )
        .await,
    );
    note(run_check(&RECORDING, recording::check(record)).await);
    note(run_check(&DISK, machine::disk()).await);
    note(run_check(&MEMORY, async { machine::memory() }).await);
    note(run_check(&OCR, if_possible(is_possible, devices::ocr())).await);
    note(run_check(&EDITOR, async { machine::editor() }).await);
    note(run_check(&CONTAINERS, containers::check()).await);
    for (spec, service) in &KEYS {
        note(run_check(spec, async { key(service) }).await);
    }
    note(run_check(&REMOTE, async { rented_browsers() }).await);
    DoctorReport::new(machine, checks)
}

/// A device check; devices need user namespaces. Skipped if no session can start.
async fn device_on(
    namespaces: Option<&Finding>,
    spec: &CheckSpec,
    check: impl Future<Output = CheckResult>,
) -> Finding {
    let finding = run_check(spec, if_possible(namespaces.is_some(), check)).await;
    match namespaces {
        Some(namespaces) => finding.caused_by(namespaces),
        None => finding,
    }
}

/// A check that needs a session, skipped if none can start: it would only repeat that error.
async fn if_possible(is_possible: bool, check: impl Future<Output = CheckResult>) -> CheckResult {
    if is_possible {
        check.await
    } else {
        Err(CheckFailure::broken(
            "skipped, because no session can start: see `user`",
        ))
    }
}

impl DoctorReport {
    fn new(machine: MachineInfo, checks: Vec<Finding>) -> Self {
        let usable: Vec<&str> = checks
            .iter()
            .filter(|finding| finding.state.is_usable())
            .filter_map(|finding| finding.gives)
            .collect();
        let mut packages: Vec<String> = Vec::new();
        for package in checks.iter().flat_map(|finding| &finding.packages) {
            if !packages.contains(package) {
                packages.push(package.clone());
            }
        }
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION"),
            ready: DEVICES.iter().all(|device| usable.contains(device)),
            usable,
            install: fix::install(&packages),
            machine,
            checks,
        }
    }
}

/// The services of rented browsers whose keys are set; no value is printed.
fn rented_browsers() -> CheckResult {
    let is_set = |service: &&RemoteService| {
        let mut names = service.required_variables().iter();
        names.all(|name| env::variable(name).is_some())
    };
    let set: Vec<&str> = SERVICES
        .iter()
        .filter(is_set)
        .map(|service| service.name)
        .collect();
    if set.is_empty() {
        let names = SERVICES
            .iter()
            .map(|service| service.required_variables()[0]);
        let names = names.collect::<Vec<_>>().join(", ");
        let cause = format!("no key of a service that rents browsers: set one of {names}");
        return Err(CheckFailure::missing(&cause).fix_command("export STEEL_API_KEY=…"));
    }
    Ok(Observation::new(format!("set for {}", set.join(", "))))
}

/// Whether an API key is set; its value is never printed.
fn key(service: &str) -> CheckResult {
    let service =
        service::named(service).ok_or_else(|| CheckFailure::missing("unknown service"))?;
    let key = env::key(service).map_err(|cause| {
        let variable = service.keys.first().copied().unwrap_or_default();
        CheckFailure::missing(&cause).fix_command(format!("export {variable}=…"))
    })?;
    match ApiKey::new(&key) {
        Some(_) => Ok(Observation::new("set")),
        None => Err(CheckFailure::broken(
            "the value is invalid in an HTTP header: it contains a space or newline",
        )),
    }
}
