//! A private display: an X server with its own cookie, a window manager and services for
//! applications.

mod files;
mod options;
mod programs;
mod sandbox;
mod server_memory;
mod server_process;
mod server_watch;
mod wm_startup;

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use telechir_device::DeviceError;
use telechir_egress::Egress;
use telechir_process::confinement::{self, Protected, ResourceLimits};
use telechir_process::{Cgroup, Child, Identity, Pid, PrivateFolder, is_root};
use tokio::time::timeout;

pub use self::options::DisplayOptions;
use self::sandbox::{InheritedFds, LaunchContext, SandboxedProgram};
use self::server_watch::ServerWatch;
use crate::authority::MagicCookie;
use crate::connection::Connection;
use crate::monitors;
use crate::startup::{failed, pipe, unavailable};
use crate::stderr_tail::StderrTail;
use crate::viewer::DisplayAddress;

/// How long a program may take to exit before it is killed.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// How long a server whose connections were lost may take to exit.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A private X server and the programs on it. All programs except the server are confined: they see
/// the system files, the workspace and this display, but no other files or processes, and reach the
/// network only through the egress proxy. [`close`](Self::close) or dropping it stops all programs
/// and deletes all files.
#[derive(Debug)]
pub struct PrivateDisplay {
    // Dropped in this order: clients before the server, its files last.
    watch: Option<ServerWatch>,
    applications: Vec<StartedApplication>,
    window_manager: Option<SandboxedProgram>,
    bus: Option<SandboxedProgram>,
    server: Option<Child>,
    reservation: files::Reservation,
    cookie: MagicCookie,
    identity: Option<Identity>,
    environment: Vec<(String, String)>,
    workspace: PathBuf,
    protected: Option<Protected>,
    group: Cgroup,
    /// The cgroup that limits the server, whose memory its clients fill.
    server_group: Cgroup,
    network: Option<Egress>,
    folder: PrivateFolder,
    options: DisplayOptions,
}

impl PrivateDisplay {
    /// Starts the server and its services and waits until windows can be shown.
    ///
    /// # Errors
    /// When a program is not installed or fails to start; the message names the package.
    pub async fn start(options: DisplayOptions) -> Result<Self, DeviceError> {
        let nobody = options.identity.map_or_else(is_root, |who| who.uid == 0);
        if nobody {
            return Err(unavailable(
                "root must name an unprivileged user to run the desktop",
            ));
        }
        let cookie = MagicCookie::random().map_err(|error| failed("generate a cookie", &error))?;
        let workspace = options.workspace.as_deref();
        let workspace = workspace
            .map(|path| confinement::workspace(path, options.identity))
            .transpose()
            .map_err(|error| unavailable(&error.to_string()))?;
        let folder = files::make(&options, workspace.as_deref(), &cookie).map_err(|error| {
            failed(
                &format!("create a folder in {}", options.session_dir.display()),
                &error,
            )
        })?;
        let workspace = workspace.unwrap_or_else(|| folder.path().join("home"));
        let protected = options.workspace.is_some();
        let protected = protected.then(|| Protected::find(&workspace, options.missing));
        let protected = protected
            .transpose()
            .map_err(|error| unavailable(&error.to_string()))?;
        for gap in protected.iter().flat_map(|protected| &protected.gaps) {
            tracing::warn!(gap, "protected files of the workspace");
        }
        let group = Cgroup::new(&ResourceLimits::default());
        if !group.effective_limits().limits_totals() {
            tracing::info!(bounds = %group.effective_limits(), "limits");
        }
        let reservation = files::Reservation::take()
            .map_err(|error| failed("reserve a display number in /tmp", &error))?;
        let number = reservation.number();
        let server_group = Cgroup::new(&programs::server_limits(&options));
        let server = programs::start_server(&options, folder.path(), number, &server_group).await?;
        let mut display = Self {
            watch: None,
            applications: Vec::new(),
            window_manager: None,
            bus: None,
            server: Some(server),
            reservation,
            cookie,
            identity: options.identity,
            environment: files::environment(number, folder.path(), &workspace),
            workspace,
            protected,
            group,
            server_group,
            network: options.network.clone(),
            folder,
            options,
        };
        display.watch_server().await?;
        display.set_up_monitors().await?;
        display.start_services().await?;
        Ok(display)
    }

    /// Divides the screen, before programs read how it is divided.
    async fn set_up_monitors(&self) -> Result<(), DeviceError> {
        if self.options.monitors.len() > 1 {
            let connection = self.connect().await?;
            monitors::set_up(&connection, &self.options.monitors).await?;
        }
        Ok(())
    }

    async fn watch_server(&mut self) -> Result<(), DeviceError> {
        if let Some(server) = self.server_pid() {
            let watch = ServerWatch::start(self.connect().await?, server);
            self.watch = Some(watch.map_err(|error| failed("watch the X server", &error))?);
        }
        Ok(())
    }

    /// Sentences about programs that were ended since the last call because they kept others from
    /// using the display.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        let watch = self.watch.as_ref();
        watch.map(ServerWatch::take_notices).unwrap_or_default()
    }

    /// How the server exited, after its connections were lost; `None` if it still runs.
    pub(crate) async fn server_end(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        let status = timeout(SERVER_EXIT_TIMEOUT, server.wait())
            .await
            .ok()?
            .ok()?;
        if self.server_group.killed_for_memory() > 0 {
            let limits = self.server_group.effective_limits().summary();
            return Some(format!(
                "the X server was killed because its programs made it exceed its limits ({limits})"
            ));
        }
        Some(format!("the X server exited: {status}"))
    }

    /// Starts the session bus and the window manager, as far as enabled.
    async fn start_services(&mut self) -> Result<(), DeviceError> {
        let path = self.folder.path();
        if self.options.accessibility {
            let bus = files::session_bus(path);
            self.bus = Some(programs::start_bus(&self.launch_context(), &bus).await?);
            let address = format!("unix:path={}", bus.display());
            self.environment
                .push(("DBUS_SESSION_BUS_ADDRESS".to_owned(), address));
            // Chromium checks the first variable at startup. Qt checks the second; otherwise it
            // waits for a screen reader.
            for name in ["ACCESSIBILITY_ENABLED", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON"] {
                self.environment.push((name.to_owned(), "1".to_owned()));
            }
            programs::enable_accessibility(&self.launch_context()).await?;
        } else {
            self.environment
                .push(("NO_AT_BRIDGE".to_owned(), "1".to_owned()));
        }
        if self.options.window_manager {
            let connection = self.connect().await?;
            let config = self.folder.path().join("openbox.xml");
            let window_manager =
                programs::start_window_manager(&self.launch_context(), &config, &connection)
                    .await?;
            self.window_manager = Some(window_manager);
        }
        Ok(())
    }

    /// Socket of the session bus, through which the accessibility bus is found; `None` without
    /// accessibility. Only the user of the display may connect.
    pub fn session_bus(&self) -> Option<PathBuf> {
        self.bus
            .as_ref()
            .map(|_| files::session_bus(self.folder.path()))
    }

    /// The options it was started with, for a restart.
    pub(crate) fn options(&self) -> DisplayOptions {
        self.options.clone()
    }

    /// The display name, such as `:7`.
    pub fn name(&self) -> String {
        format!(":{}", self.reservation.number())
    }

    /// Process ID of the X server, for process monitoring.
    pub fn server_pid(&self) -> Option<Pid> {
        self.server.as_ref().map(Child::pid)
    }

    /// The complete environment of programs on this display.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.environment.clone()
    }

    /// Starts an application, which is stopped with the display together with all its descendants.
    /// Returns the host process that contains it.
    ///
    /// # Errors
    /// When the program does not exist or cannot be confined; it is not started in that case.
    pub async fn launch(&mut self, program: &str, args: &[&str]) -> Result<Pid, DeviceError> {
        let started = self.start_application(program, args).await?;
        Ok(started.child().pid())
    }

    /// Starts an application and captures its standard error.
    pub(crate) async fn start_application(
        &mut self,
        program: &str,
        args: &[&str],
    ) -> Result<&StartedApplication, DeviceError> {
        self.applications
            .retain(|application| !matches!(application.child().try_wait(), Ok(Some(_))));
        let (write_end, read_end) = pipe()?;
        let inherited = InheritedFds::StandardError(write_end);
        let launch_context = LaunchContext {
            network: self.network.as_ref(),
            ..self.launch_context()
        };
        let confined = launch_context.start(program, args, inherited).await?;
        let stderr = StderrTail::from(read_end);
        self.applications
            .push(StartedApplication { confined, stderr });
        let last = self.applications.last();
        last.ok_or_else(|| unavailable("the application exited immediately"))
    }

    /// Process IDs of the host processes that contain the applications.
    pub(crate) fn programs(&self) -> Vec<u32> {
        let applications = self.applications.iter().map(|one| one.child());
        // The bus starts services itself and on behalf of applications.
        let pids = applications.chain(self.bus.as_ref().map(SandboxedProgram::child));
        pids.map(Child::pid)
            .filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
            .collect()
    }

    /// Stops all programs and the server and deletes their files.
    ///
    /// # Errors
    /// When a program could not be stopped; the remaining ones were.
    pub async fn close(mut self) -> Result<(), DeviceError> {
        self.watch = None;
        let mut outcome = Ok(());
        let mut record = |ended: io::Result<ExitStatus>| {
            if let Err(error) = ended {
                outcome = Err(failed("stop a program of the desktop", &error));
            }
        };
        let applications = std::mem::take(&mut self.applications);
        let mut programs: Vec<SandboxedProgram> = applications
            .into_iter()
            .map(|application| application.confined)
            .collect();
        programs.extend(
            self.window_manager
                .take()
                .into_iter()
                .chain(self.bus.take()),
        );
        for program in programs {
            record(program.end(GRACE_PERIOD).await);
        }
        if let Some(server) = self.server.take() {
            record(server.end(GRACE_PERIOD).await);
        }
        let protected = self.protected.as_ref();
        for undone in protected.map_or_else(Vec::new, Protected::undo_changes) {
            tracing::warn!("in the workspace, {undone}");
        }
        outcome
    }

    pub(crate) async fn connect(&self) -> Result<Connection, DeviceError> {
        self.address().connect().await
    }

    /// How to connect to the display.
    pub(crate) fn address(&self) -> DisplayAddress {
        DisplayAddress::Private {
            number: self.reservation.number(),
            cookie: self.cookie.clone(),
        }
    }

    /// What every program on the display is started with. Only applications get the network.
    fn launch_context(&self) -> LaunchContext<'_> {
        LaunchContext {
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

/// A running application on this display.
#[derive(Debug)]
pub(crate) struct StartedApplication {
    confined: SandboxedProgram,
    /// The end of its standard error, for error reports.
    pub(crate) stderr: StderrTail,
}

impl StartedApplication {
    pub(crate) const fn child(&self) -> &Child {
        self.confined.child()
    }
}

impl Drop for PrivateDisplay {
    fn drop(&mut self) {
        self.watch = None;
        self.applications.clear();
        self.window_manager = None;
        self.bus = None;
        self.server = None;
    }
}
