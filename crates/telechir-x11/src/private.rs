//! A display of our own: an X server with a secret, a window manager, and what applications need.

mod files;
mod programs;
mod sandbox;
mod stderr_tail;
mod wm_startup;

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use telechir_device::DeviceError;
use telechir_egress::Egress;
use telechir_process::confinement::{self, Limits, Missing, Protected};
use telechir_process::{Cgroup, Child, Identity, Pid, is_root};
use telechir_protocol::Size;
use tempfile::TempDir;

pub(crate) use self::programs::pipe;
use self::sandbox::{Confined, Given, Surroundings};
pub(crate) use self::stderr_tail::Said;
use crate::address::Address;
use crate::authority::MagicCookie;
use crate::connection::Connection;
use crate::desktop::Desktop;
use crate::display::Display;
use crate::existing::refused;
use crate::monitors;
use crate::screen::XScreen;

/// How long a program may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);

/// A browser's page is drawn, and seen to be drawn, at the next picture of its monitor: with this
/// many a second, as faster monitors have, that is sooner than with 60, Chromium's guess where a
/// server says nothing. Twice as many again would gain little and cost pages that move much.
const RATE: u32 = 120;

/// What the display is to be like.
#[derive(Clone, Debug)]
pub struct DisplayOptions {
    /// The screen's size in pixels.
    pub size: Size,
    /// Whom the server and all applications run as. Root must give one, others cannot.
    pub identity: Option<Identity>,
    /// A folder that `identity` can reach. The display makes one of its own in it, with the
    /// cookie and the applications' home, and removes it at its end.
    pub session_dir: PathBuf,
    /// The folder that applications begin in and, beside their home, the only one that they see;
    /// absent means their home.
    pub workspace: Option<PathBuf>,
    /// What becomes of protected files of the workspace that are not there.
    pub missing: Missing,
    /// The way to the network of applications; absent means that they have none.
    pub network: Option<Egress>,
    /// Whether windows get frames, focus and keys such as alt+Tab.
    pub window_manager: bool,
    /// Whether applications get a session bus on which they say what they show.
    pub accessibility: bool,
    /// Whether the server, should we be killed, ends by the guardian alone: when a program on it
    /// has something to write then.
    pub ends_last: bool,
}

impl DisplayOptions {
    /// 1280 by 800 pixels with a window manager, without a bus.
    pub fn new(session_dir: impl Into<PathBuf>, identity: Option<Identity>) -> Self {
        Self {
            size: Size::new(1280, 800),
            workspace: None,
            missing: Missing::MayBeMade,
            network: None,
            identity,
            session_dir: session_dir.into(),
            window_manager: true,
            accessibility: false,
            ends_last: false,
        }
    }
}

/// An X server of our own, with all that runs on it. All but the server is confined: it sees the
/// system, the workspace and this display, and no network but what is let through, no other process and no other file.
/// Nothing of it is left after
/// [`close`](Self::close) or after it was dropped.
#[derive(Debug)]
pub struct PrivateDisplay {
    // Ended in this order: what needs the server before the server, its files last.
    applications: Vec<Started>,
    manager: Option<Confined>,
    bus: Option<Confined>,
    server: Option<Child>,
    reservation: files::Reservation,
    cookie: MagicCookie,
    identity: Option<Identity>,
    environment: Vec<(String, String)>,
    workspace: PathBuf,
    protected: Option<Protected>,
    group: Cgroup,
    network: Option<Egress>,
    folder: TempDir,
    options: DisplayOptions,
}

impl PrivateDisplay {
    /// Starts it and waits until windows can be shown.
    ///
    /// # Errors
    /// When a program is not installed or does not start; the message names the package.
    pub async fn start(options: DisplayOptions) -> Result<Self, DeviceError> {
        let nobody = options.identity.map_or_else(is_root, |who| who.uid == 0);
        if nobody {
            return Err(unavailable(
                "root must name an unprivileged user for the desktop to run as",
            ));
        }
        let cookie = MagicCookie::random().map_err(|error| failed("make a cookie", &error))?;
        let folder = files::make(&options, &cookie).map_err(|error| {
            failed(
                &format!("make a folder in {}", options.session_dir.display()),
                &error,
            )
        })?;
        let workspace = match &options.workspace {
            Some(path) => confinement::workspace(path, options.identity)
                .map_err(|error| unavailable(&error.to_string()))?,
            None => folder.path().join("home"),
        };
        let protected = options.workspace.is_some();
        let protected = protected.then(|| Protected::find(&workspace, options.missing));
        let protected = protected
            .transpose()
            .map_err(|error| unavailable(&error.to_string()))?;
        let group = Cgroup::new(&Limits::default());
        if !group.bounds().hold() {
            tracing::info!(bounds = %group.bounds(), "limits");
        }
        let reservation = files::Reservation::take()
            .map_err(|error| failed("reserve a display's number in /tmp", &error))?;
        let number = reservation.number();
        let server = programs::start_server(&options, folder.path(), number).await?;
        let mut display = Self {
            applications: Vec::new(),
            manager: None,
            bus: None,
            server: Some(server),
            reservation,
            cookie,
            identity: options.identity,
            environment: files::environment(number, folder.path()),
            workspace,
            protected,
            group,
            network: options.network.clone(),
            folder,
            options,
        };
        display.furnish().await?;
        Ok(display)
    }

    /// Everything beside the bare server.
    async fn furnish(&mut self) -> Result<(), DeviceError> {
        let path = self.folder.path();
        if self.options.accessibility {
            let bus = files::session_bus(path);
            self.bus = Some(programs::start_bus(&self.surroundings(), &bus).await?);
            let address = format!("unix:path={}", bus.display());
            self.environment
                .push(("DBUS_SESSION_BUS_ADDRESS".to_owned(), address));
            // Chromium asks the first when it starts; Qt, which would wait for a screen reader,
            // the second.
            for name in ["ACCESSIBILITY_ENABLED", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON"] {
                self.environment.push((name.to_owned(), "1".to_owned()));
            }
            programs::enable_accessibility(&self.surroundings()).await?;
        } else {
            self.environment
                .push(("NO_AT_BRIDGE".to_owned(), "1".to_owned()));
        }
        if self.options.window_manager {
            let connection = self.connect().await?;
            let config = self.folder.path().join("openbox.xml");
            let manager =
                programs::start_manager(&self.surroundings(), &config, &connection).await?;
            self.manager = Some(manager);
        }
        Ok(())
    }

    /// A computer on this display, which ends with it.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn into_desktop(self) -> Result<Desktop, DeviceError> {
        Desktop::open(Display::Private(Box::new(self))).await
    }

    /// A screen for a browser on this display, which ends with it. It shows 120 pictures a second
    /// where the server can say so.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn into_screen(self) -> Result<XScreen, DeviceError> {
        let connection = self.connect().await?;
        match monitors::set_rate(&connection, RATE).await {
            Ok(true) => {}
            Ok(false) => tracing::debug!("the browser's screen keeps its rate"),
            Err(error) => tracing::debug!(%error, "the browser's screen keeps its rate"),
        }
        XScreen::open(Display::Private(Box::new(self))).await
    }

    /// The socket of its session bus, on which applications say where they tell what they show;
    /// none without accessibility. It lets in only whom the display runs as.
    pub fn session_bus(&self) -> Option<PathBuf> {
        self.bus
            .as_ref()
            .map(|_| files::session_bus(self.folder.path()))
    }

    /// What it was started with, to start another like it.
    pub(crate) fn options(&self) -> DisplayOptions {
        self.options.clone()
    }

    /// Its name, such as `:7`.
    pub fn name(&self) -> String {
        format!(":{}", self.reservation.number())
    }

    /// The server's process, for those who watch over processes.
    pub fn server_pid(&self) -> Option<Pid> {
        self.server.as_ref().map(Child::pid)
    }

    /// Variables that a program needs to show windows here, and all the environment it gets.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment.clone()
    }

    /// Starts an application, which ends with the display, as all it starts ends with it. The
    /// process named is the one that holds it.
    ///
    /// # Errors
    /// When there is no such program, or it cannot be confined: it is not started otherwise.
    pub async fn launch(&mut self, program: &str, args: &[&str]) -> Result<Pid, DeviceError> {
        let started = self.start_application(program, args).await?;
        Ok(started.child().pid())
    }

    /// The same, with what it takes to see what becomes of it.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<&Started, DeviceError> {
        self.applications
            .retain(|application| !matches!(application.child().try_wait(), Ok(Some(_))));
        let (writing, reading) = pipe()?;
        let given = Given::StandardError(writing);
        let surroundings = Surroundings {
            network: self.network.as_ref(),
            ..self.surroundings()
        };
        let confined = surroundings.start(program, args, given).await?;
        let said = Said::from(reading);
        self.applications.push(Started { confined, said });
        let last = self.applications.last();
        last.ok_or_else(|| unavailable("an application is gone already"))
    }

    /// The processes that hold its applications.
    pub(crate) fn programs(&self) -> Vec<u32> {
        let applications = self.applications.iter().map(|one| one.child());
        // The bus asks programs for others, and starts some itself.
        let pids = applications.chain(self.bus.as_ref().map(Confined::child));
        pids.map(Child::pid)
            .filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
            .collect()
    }

    /// Ends every program on it and the server, and removes what they left behind.
    ///
    /// # Errors
    /// When a program could not be ended; all others were.
    pub async fn close(mut self) -> Result<(), DeviceError> {
        let mut outcome = Ok(());
        let mut note = |ended: io::Result<ExitStatus>| {
            if let Err(error) = ended {
                outcome = Err(failed("end a program of the desktop", &error));
            }
        };
        let applications = std::mem::take(&mut self.applications);
        let mut programs: Vec<Confined> = applications
            .into_iter()
            .map(|application| application.confined)
            .collect();
        programs.extend(self.manager.take().into_iter().chain(self.bus.take()));
        for program in programs {
            note(program.end(GRACE).await);
        }
        if let Some(server) = self.server.take() {
            note(server.end(GRACE).await);
        }
        outcome
    }

    pub(crate) async fn connect(&self) -> Result<Connection, DeviceError> {
        let address = Address::local(self.reservation.number());
        let connection = Connection::open(&address, Some(self.cookie.as_bytes())).await;
        connection.map_err(|error| refused(&self.name(), &error))
    }

    /// What every program on it is started with. Only applications have a network.
    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            identity: self.identity,
            number: self.reservation.number(),
            folder: self.folder.path(),
            workspace: &self.workspace,
            protected: self.protected.as_ref(),
            group: &self.group,
            environment: &self.environment,
            network: None,
        }
    }
}

/// An application that was started here.
#[derive(Debug)]
pub(crate) struct Started {
    confined: Confined,
    /// What it says when something goes wrong.
    pub(crate) said: Said,
}

impl Started {
    pub(crate) const fn child(&self) -> &Child {
        self.confined.child()
    }
}

impl Drop for PrivateDisplay {
    fn drop(&mut self) {
        self.applications.clear();
        self.manager = None;
        self.bus = None;
        self.server = None;
    }
}

/// The desktop cannot be had.
fn unavailable(message: &str) -> DeviceError {
    DeviceError::Unavailable {
        what: "the desktop",
        message: message.to_owned(),
    }
}

/// A step failed by the system's word.
fn failed(step: &str, error: &dyn std::error::Error) -> DeviceError {
    unavailable(&format!("could not {step}: {error}"))
}
