//! What works on this machine: every part is used as `exec` uses it, one after the other, within
//! ceilings, and nothing of it is left behind.

mod chromium;
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
mod users;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use telechir_agent::ApiKey;

use crate::{env, service};
use finding::{About, Checked, Seen, Trouble, examine};
pub(crate) use finding::{Finding, State};
pub(crate) use machine::Machine;
pub(crate) use render::Show;

/// Goes up when a member is removed or means something else. New members and checks may come.
const FORMAT: u32 = 1;

/// All that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    format: u32,
    version: &'static str,
    /// Whether desktop, browser and shell can all be had.
    pub(crate) ready: bool,
    /// The flags of `exec` that can be given here.
    pub(crate) usable: Vec<&'static str>,
    /// One command that brings all packages that are missing.
    pub(crate) install: Option<String>,
    pub(crate) machine: Machine,
    pub(crate) checks: Vec<Finding>,
}

/// What `exec` gives a model; the program's exit code says whether all three work.
const DEVICES: [&str; 3] = ["--desktop", "--browser", "--shell"];

const QUICK: Duration = Duration::from_secs(10);
const SLOW: Duration = Duration::from_secs(45);

const fn about(id: &'static str, ceiling: Duration, without: &'static str) -> About {
    About {
        id,
        gives: None,
        without,
        ceiling,
    }
}

const fn device(id: &'static str, gives: &'static str, without: &'static str) -> About {
    About {
        id,
        gives: Some(gives),
        without,
        ceiling: SLOW,
    }
}

const USER: About = about("user", QUICK, "no session can start");
const NAMESPACES: About = about(
    "user-namespaces",
    QUICK,
    "no device: shell, Chromium and the applications of a desktop are confined by them",
);
const SCREEN: About = about("screen", SLOW, "no desktop, and no browser with a window");
const DESKTOP: About = device(
    "desktop",
    "--desktop",
    "no --desktop; browser and shell do not need it",
);
const DISPLAY: About = about(
    "display",
    SLOW,
    "no --desktop=:0 or the like; a private desktop needs none",
);
const BROWSER: About = device(
    "browser",
    "--browser",
    "no --browser; with --headless it needs no X server",
);
const HEADLESS: About = device(
    "browser-headless",
    "--browser --headless",
    "no --browser --headless; with a window it may work",
);
const SHELL: About = device(
    "shell",
    "--shell",
    "no --shell; --shell=host runs commands without a sandbox, as you",
);
const GUARDIAN: About = about(
    "guardian",
    QUICK,
    "when telechir is killed, files and keys it pressed on an existing display stay as they are",
);
const LIMITS: About = about(
    "limits",
    QUICK,
    "each process is bounded by itself: many together can take the machine's memory; their number, \
     their files and memory disks stay bounded",
);
const CJK: About = about(
    "fonts-cjk",
    QUICK,
    "Chinese, Japanese and Korean text is boxes in pictures; all else works",
);
const EMOJI: About = about(
    "fonts-emoji",
    QUICK,
    "emoji are boxes in pictures; all else works",
);
const RECORDING: About = about(
    "recording",
    QUICK,
    "nothing is carried out: an action that cannot be written down is not done",
);
const DISK: About = about("disk", QUICK, "profiles and recordings may not fit");
const MEMORY: About = about("memory", QUICK, "Chromium may be ended by the kernel");
const WORDS: About = about(
    "words",
    SLOW,
    "windows that say nothing of themselves are not read; all else works",
);
const EDITOR: About = about(
    "editor",
    QUICK,
    "`make demo` has no editor to write in; all else works",
);
/// A key for each service with one of its own; the check, and the service.
const KEYS: [(About, &str); 5] = [
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

const fn key_of(id: &'static str, without: &'static str) -> About {
    about(id, QUICK, without)
}

/// Makes every check and tells each finding as it comes.
pub(crate) async fn check(
    machine: Machine,
    record: Option<PathBuf>,
    mut tell: impl FnMut(&Finding),
) -> Report {
    let mut checks = Vec::new();
    let mut note = |finding: Finding| {
        tell(&finding);
        checks.push(finding);
    };
    let user = examine(&USER, users::user()).await;
    let is_possible = user.state.is_usable();
    note(user);
    let namespaces = examine(&NAMESPACES, given(is_possible, users::namespaces())).await;
    note(namespaces.clone());
    let below = is_possible.then_some(&namespaces);
    note(device_on(below, &SCREEN, devices::screen()).await);
    note(device_on(below, &DESKTOP, devices::desktop()).await);
    note(examine(&DISPLAY, devices::display()).await);
    note(device_on(below, &BROWSER, devices::browser()).await);
    note(device_on(below, &HEADLESS, devices::headless()).await);
    note(device_on(below, &SHELL, devices::shell()).await);
    note(examine(&GUARDIAN, given(is_possible, guardian::check())).await);
    note(examine(&LIMITS, limits::check()).await);
    note(examine(&CJK, given(is_possible, fonts::check(&fonts::CJK))).await);
    note(examine(&EMOJI, given(is_possible, fonts::check(&fonts::EMOJI))).await);
    note(examine(&RECORDING, recording::check(record)).await);
    note(examine(&DISK, machine::disk()).await);
    note(examine(&MEMORY, async { machine::memory() }).await);
    note(examine(&WORDS, given(is_possible, devices::words())).await);
    note(examine(&EDITOR, async { machine::editor() }).await);
    for (about, service) in &KEYS {
        note(examine(about, async { key(service) }).await);
    }
    Report::new(machine, checks)
}

/// A check of a device, all of which stand on namespaces; none when no session can start.
async fn device_on(
    namespaces: Option<&Finding>,
    about: &About,
    check: impl Future<Output = Checked>,
) -> Finding {
    let finding = examine(about, given(namespaces.is_some(), check)).await;
    match namespaces {
        Some(namespaces) => finding.blaming(namespaces),
        None => finding,
    }
}

/// A check that needs a session; where none can start, it would only say so again.
async fn given(is_possible: bool, check: impl Future<Output = Checked>) -> Checked {
    if is_possible {
        check.await
    } else {
        Err(Trouble::broken(
            "not tried, because no session can start: see `user`",
        ))
    }
}

impl Report {
    fn new(machine: Machine, checks: Vec<Finding>) -> Self {
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

/// Whether there is a key; never which.
fn key(service: &str) -> Checked {
    let service = service::named(service).ok_or_else(|| Trouble::missing("no such service"))?;
    let key = env::key(service).map_err(|cause| {
        let variable = service.keys.first().copied().unwrap_or_default();
        Trouble::missing(&cause).command(format!("export {variable}=…"))
    })?;
    match ApiKey::new(&key) {
        Some(_) => Ok(Seen::new("set")),
        None => Err(Trouble::broken(
            "it is set to something that no header can carry: a space or a line's end inside it",
        )),
    }
}
