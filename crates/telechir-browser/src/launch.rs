//! Starts Chromium: finds it, gives it a fresh profile, a pipe and nothing else.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::json;
use telechir_device::{DeviceError, Screen as _};
use telechir_process::{Cgroup, Child, Spawn, Stdio, is_root};
use tracing::warn;

use crate::tab_registry::Book;
use crate::browser::Chromium;
use crate::client::{Client, Transport};
use crate::error::CdpError;
use crate::memory::Memory;
use crate::options::{self, Options, Sandbox, Surface};
use crate::setup::Setup;
use crate::event_router::{Shelf, Tabs};

mod flags;
mod process;
mod profile;
mod stderr;
mod proxy_port;

pub(crate) use process::Keeper;
use profile::Profile;
use stderr::Tail;
pub(crate) use proxy_port::WayOut;

/// Where distributions put Chromium's shell: the same engine without windows and all that is around
/// a page, so that it is up sooner and a page takes less.
const SHELLS: [&str; 3] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/usr/bin/chromium-headless-shell",
];
/// What the names of such programs hold.
const SHELL_NAMES: [&str; 2] = ["headless-shell", "headless_shell"];
/// Where distributions put it. The programs themselves come before wrappers that add flags.
const PLACES: [&str; 9] = [
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/run/current-system/sw/bin/chromium",
];
/// Where Chromium finds no program: links such as `mailto:` would start one that nothing confines.
const NOWHERE: &str = "/nonexistent";
/// A cold start on a loaded machine takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A Chromium that answers.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) client: Client,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) book: Arc<Book>,
    pub(crate) setup: Setup,
    /// What Chromium says it is.
    pub(crate) agent: Arc<str>,
    pub(crate) chromium: Chromium,
}

/// Starts Chromium and waits until it answers.
pub(crate) async fn launch(
    surface: &mut Surface,
    options: &Options,
) -> Result<Launched, DeviceError> {
    let program = find(surface, options)?;
    if is_root() && options.identity.is_none_or(|identity| identity.uid == 0) {
        return Err(unavailable(
            "it must not run as root; give it an unprivileged user",
        ));
    }
    if options.sandbox == Sandbox::Off {
        warn!("Chromium runs without its sandbox, as was asked");
    }
    let is_shell = is_shell(&program);
    if is_shell && matches!(surface, Surface::Window(_)) {
        return Err(unavailable(format!("{} has no windows", program.display())));
    }
    let setup = Setup::of(surface, options, is_shell)?;
    let profile =
        Profile::create(options).map_err(|error| unavailable(format!("its profile: {error}")))?;
    let ((their_in, our_out), (our_in, their_out)) = pipes()?;
    let way_out = WayOut::open(options)
        .await
        .map_err(|error| unavailable(format!("its way to the network: {error}")))?;
    let flags = flags::of(surface, options, &setup, way_out.proxy.as_deref());
    let starting = Starting {
        program,
        flags,
        surface: &mut *surface,
        options,
        profile: &profile,
    };
    let group = Memory::group(options);
    let mut child = spawn(starting, &group, their_in, their_out).await?;
    let memory = Memory::of(group, child.pid());
    let tail = Tail::follow(child.take_stderr());

    let book = Arc::new(Book::new(setup.clone()));
    let shelf = Arc::new(Shelf::new(Tabs::Given));
    shelf.put(None, &book);
    let reading = Arc::clone(&shelf);
    let transport = Transport::Pipes {
        input: our_in,
        output: our_out,
    };
    let (client, pump) =
        Client::start(transport, move |client, event| reading.take(client, &event))
            .map_err(|error| unavailable(format!("its pipe: {error}")))?;
    let keeper = Keeper::start(child, profile, memory, client.clone());

    let agent = match first_words(&client).await {
        Ok(agent) => agent,
        Err(error) => {
            let said = tail.text().await;
            let told = if said.is_empty() {
                String::new()
            } else {
                format!(". It said: {said}")
            };
            return Err(unavailable(format!("{error}{told}")));
        }
    };
    Ok(Launched {
        client,
        shelf,
        book,
        setup,
        agent,
        chromium: Chromium::Started {
            keeper,
            _pump: pump,
            _way_out: way_out,
        },
    })
}

/// Chromium's shell, where it is installed: it is what runs where there is neither a window nor a
/// profile that lasts.
pub fn shell_program() -> Option<PathBuf> {
    first_of(&SHELLS)
}

fn first_of(places: &[&str]) -> Option<PathBuf> {
    let mut places = places.iter().map(PathBuf::from);
    places.find(|path| path.is_file())
}

/// Whether a program is Chromium's shell.
fn is_shell(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| SHELL_NAMES.iter().any(|part| name.contains(part)))
}

/// The first Chromium there is for this surface.
fn find(surface: &Surface, options: &Options) -> Result<PathBuf, DeviceError> {
    let is_fresh = options.profile == options::Profile::Fresh;
    let shell = match surface {
        // A profile that lasts may be another time's in a window: it stays one program's.
        Surface::Headless(_) if is_fresh => shell_program(),
        Surface::Headless(_) | Surface::Window(_) => None,
    };
    match &options.program {
        Some(program) if program.is_file() => Ok(program.clone()),
        Some(program) => Err(unavailable(format!(
            "there is no program {}",
            program.display()
        ))),
        None => shell
            .or_else(|| first_of(&PLACES))
            .ok_or_else(|| unavailable("it was not found; install the package `chromium`")),
    }
}

type Pipe = (OwnedFd, OwnedFd);

fn pipes() -> Result<(Pipe, Pipe), DeviceError> {
    let make =
        || pipe_with(PipeFlags::CLOEXEC).map_err(|error| unavailable(format!("a pipe: {error}")));
    Ok((make()?, make()?))
}

/// What a browser is started with, beside its pipe.
struct Starting<'a> {
    program: PathBuf,
    flags: Vec<String>,
    // Alone: what is shared of a screen could not wait in another thread.
    surface: &'a mut Surface,
    options: &'a Options,
    profile: &'a Profile,
}

async fn spawn(
    starting: Starting<'_>,
    group: &Cgroup,
    commands: OwnedFd,
    answers: OwnedFd,
) -> Result<Child, DeviceError> {
    let Starting {
        program,
        flags,
        surface,
        options,
        profile,
    } = starting;
    let search_path = if is_script(&program) {
        "/usr/local/bin:/usr/bin:/bin"
    } else {
        NOWHERE
    };
    let mut spawn = Spawn::new(program)
        .args(flags)
        .args(profile.flags())
        .arg("about:blank")
        .envs(profile.environment())
        .env("PATH", search_path)
        .env("LANG", "C.UTF-8")
        .envs(options.persona.environment())
        // No bus is looked for or started unless the screen has one.
        .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
        // Without these a bar above the page complains that there are no keys.
        .envs(
            [
                "GOOGLE_API_KEY",
                "GOOGLE_DEFAULT_CLIENT_ID",
                "GOOGLE_DEFAULT_CLIENT_SECRET",
            ]
            .map(|name| (name, "no")),
        )
        .cwd(profile.folder())
        .identity(options.identity)
        .cgroup(group)
        .umask(0o077)
        .stderr(Stdio::Piped)
        .fd(3, commands)
        .fd(4, answers);
    if let Surface::Window(screen) = surface {
        spawn = spawn.envs(screen.environment());
    }
    if profile.is_kept() {
        spawn = spawn.graceful();
    }
    spawn
        .spawn()
        .await
        .map_err(|error| unavailable(chain(&error)))
}

/// A wrapper needs the programs that it calls.
fn is_script(program: &Path) -> bool {
    let mut beginning = [0; 2];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == *b"#!"
}

/// Says what Chromium says it is.
async fn first_words(client: &Client) -> Result<Arc<str>, CdpError> {
    let pages = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
    let version = client
        .call(None, "Browser.getVersion", json!({}), START_LIMIT)
        .await?;
    client
        .call(
            None,
            "Target.setDiscoverTargets",
            json!({ "discover": true, "filter": pages }),
            START_LIMIT,
        )
        .await?;
    client
        .call(
            None,
            "Browser.setDownloadBehavior",
            json!({ "behavior": "deny", "eventsEnabled": true }),
            START_LIMIT,
        )
        .await?;
    let attach = json!({
        "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pages,
    });
    client
        .call(None, "Target.setAutoAttach", attach, START_LIMIT)
        .await?;
    Ok(version["userAgent"].as_str().unwrap_or_default().into())
}

fn unavailable(message: impl Into<String>) -> DeviceError {
    DeviceError::Unavailable {
        what: "Chromium",
        message: message.into(),
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
