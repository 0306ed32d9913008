//! Starts the devices that the flags request and connects the browser with its screen.

use std::path::PathBuf;
use std::sync::Arc;

use telechir_atspi::{AtSpi, BusSocket};
use telechir_browser::{
    AllowedUrls, Browser, BrowserService, ChromiumSandbox as BrowserSandbox, FileAccess, Options,
    Profile, ProfileLock, StorageStateFiles, Surface,
};
use telechir_device::{Computer, DeviceError, Editor, Screen, Shell, WithAccessibility};
use telechir_ocr::Tesseract;
use telechir_policy::{ContentTrust, DisplayOwner, NetworkClient, Policy, ShellReach};
use telechir_process::Identity;
use telechir_protocol::{Size, Tool};
use telechir_providers::desktop_tool;
use telechir_remote_devices::{ActionService, InterpreterSession, InterpreterShell};
use telechir_shell::{Bash, Docker, FileEditor, Host, Isolation, MissingFiles, Sandbox};
use telechir_x11::{Desktop, DisplayOptions, ExistingDisplay, PrivateDisplay};

use crate::args::{AT_AGENTCORE, DeviceArguments, Monitors, container};
use crate::declared_tools::DeclaredDevices;
use crate::env;
use crate::error::{CliError, chain};
use crate::guardian;
use crate::network::{EgressProxies, NetworkEvents, OpenProxies};
use crate::remote::RentedSession;
use crate::secrets::Secrets;
use crate::session_dir::{SessionDir, SharedFolders};

/// Default search page, for the search function that models know.
const SEARCH: &str = "https://www.google.com/search?q={query}";

/// Started devices, to be passed to a session.
#[derive(Debug)]
pub(crate) struct Devices {
    pub(crate) folder: SessionDir,
    pub(crate) desktop: Option<Box<dyn Computer>>,
    pub(crate) display: DisplayOwner,
    pub(crate) browser: Option<Box<dyn Computer>>,
    pub(crate) browser_display: DisplayOwner,
    pub(crate) shell: Option<Box<dyn Shell>>,
    /// What the commands of the shell can reach.
    pub(crate) shell_reach: ShellReach,
    pub(crate) editor: Option<Box<dyn Editor>>,
    network: EgressProxies,
    desktop_size: Option<Size>,
    browser_size: Option<Size>,
    /// The tool for desktop actions other than pointer and keyboard.
    desktop_tool: Option<Tool>,
    secrets: Secrets,
    /// What is rented at services.
    rented: RentedDevices,
}

/// The sessions at services, until their devices have them.
#[derive(Debug, Default)]
pub(crate) struct RentedDevices {
    pub(crate) browser: Option<Arc<RentedSession>>,
    pub(crate) shell: Option<Arc<RentedSession>>,
}

impl RentedDevices {
    /// Releases them.
    pub(crate) async fn end(self) {
        for rented in [self.browser, self.shell].into_iter().flatten() {
            if let Err(error) = rented.end_at_service().await {
                tracing::warn!(error, "failed to release what was rented");
            }
        }
    }
}

impl Devices {
    /// Starts the requested devices. If one fails, those already started are stopped. `owner` names
    /// this process to others that wait for the browser's profile.
    pub(crate) async fn start(
        arguments: &DeviceArguments,
        policy: &Policy,
        secrets: &Secrets,
        owner: &str,
        rented: RentedDevices,
    ) -> Result<Self, CliError> {
        let folder = match session_folder(arguments, owner).await {
            Ok(folder) => folder,
            Err(failure) => {
                rented.end().await;
                return Err(failure);
            }
        };
        let mut devices = Self {
            folder,
            desktop: None,
            display: DisplayOwner::Private,
            browser: None,
            browser_display: DisplayOwner::Private,
            shell: None,
            shell_reach: ShellReach::Something,
            editor: None,
            network: EgressProxies::new(policy, arguments.proxy.clone()),
            desktop_size: None,
            browser_size: None,
            desktop_tool: None,
            secrets: secrets.clone(),
            rented,
        };
        match devices.start_each(arguments).await {
            Ok(()) => Ok(devices),
            Err(failure) => {
                devices.abandon().await;
                Err(failure)
            }
        }
    }

    /// Receives the network decisions about the devices' programs.
    pub(crate) fn network_events(&self) -> NetworkEvents {
        self.network.events()
    }

    /// The proxies of the devices.
    pub(crate) fn proxies(&self) -> OpenProxies {
        self.network.open()
    }

    /// Whether content of untrusted hosts has reached the devices' programs.
    pub(crate) fn content_trust(&self) -> ContentTrust {
        self.network.trust()
    }

    async fn start_each(&mut self, arguments: &DeviceArguments) -> Result<(), CliError> {
        arguments.check().map_err(CliError::usage)?;
        if let Some(display) = &arguments.desktop {
            let mut desktop = self
                .start_desktop(display, arguments)
                .await
                .map_err(|e| unavailable("desktop", &e))?;
            let windows = desktop.window_system();
            self.desktop_size = windows.map(|windows| windows.visible_region().size());
            self.desktop_tool = desktop_tool(|kind| desktop.supports(&kind));
            self.desktop = Some(desktop);
        }
        if arguments.browser.is_some() {
            let browser = self
                .start_browser(arguments)
                .await
                .map_err(|e| unavailable("browser", &e))?;
            self.folder.copied();
            self.browser_size = Some(browser.size());
            self.browser = Some(browser);
        }
        if let Some(location) = arguments.shell.as_deref() {
            let shell = self
                .start_shell(location, arguments)
                .await
                .map_err(|e| unavailable("shell", &e))?;
            self.shell = Some(shell);
            self.shell_reach = self.reach_of_shell(location);
        }
        if arguments.editor {
            let editor = self
                .start_editor(arguments)
                .map_err(|e| unavailable("editor", &e))?;
            self.editor = Some(Box::new(editor));
        }
        Ok(())
    }

    async fn start_desktop(
        &mut self,
        display: &str,
        arguments: &DeviceArguments,
    ) -> Result<Box<dyn Computer>, DeviceError> {
        if display.is_empty() {
            let mut display = self.private_display(&arguments.monitors(), true).await?;
            for line in &arguments.start_app {
                let mut args = line.split_whitespace();
                let Some(program) = args.next() else {
                    continue;
                };
                display.launch(program, &args.collect::<Vec<_>>()).await?;
            }
            let applications = display
                .session_bus()
                .map(|socket| AtSpi::new(BusSocket::new(socket, self.folder.identity())));
            let desktop = configured(display.into_desktop().await?, arguments).await?;
            Ok(self.with_accessibility(desktop, applications))
        } else {
            self.display = DisplayOwner::Existing;
            let cookie = cookie();
            let existing = ExistingDisplay::connect(display, cookie.as_deref())
                .await?
                .starting_programs(env::outside_sandbox(&[]));
            guardian::clean_at_end(display, cookie.as_deref(), &existing.free_keys().await?);
            let applications = applications_of(&existing).await?;
            let desktop = configured(existing.into_desktop().await?, arguments).await?;
            Ok(self.with_accessibility(desktop, applications))
        }
    }

    /// Adds accessibility and OCR to a desktop: applications describe their elements if there is a
    /// bus; the text of all other windows is recognized.
    fn with_accessibility(
        &self,
        desktop: Desktop,
        applications: Option<AtSpi>,
    ) -> Box<dyn Computer> {
        let reader = Tesseract::new(self.folder.identity());
        let desktop = WithAccessibility::new(desktop, applications);
        Box::new(desktop.with_text_recognizer(Box::new(reader)))
    }

    async fn private_display(
        &self,
        monitors: &Monitors,
        accessibility: bool,
    ) -> Result<PrivateDisplay, DeviceError> {
        let mut options = DisplayOptions::new(self.folder.path(), self.folder.identity());
        options.monitors = monitors.sizes().to_vec();
        options.accessibility = accessibility;
        options.workspace = Some(self.folder.workspace());
        options.missing = self.missing();
        options.network = self.network.proxy_for(NetworkClient::Desktop);
        options.ends_last = matches!(self.folder.profile(), Profile::Persistent(_));
        PrivateDisplay::start(options).await
    }

    /// In a workspace that the operator named, programs outside the sandbox act on new files.
    fn missing(&self) -> MissingFiles {
        if self.folder.is_private() {
            MissingFiles::Creatable
        } else {
            MissingFiles::Masked
        }
    }

    async fn start_browser(
        &mut self,
        arguments: &DeviceArguments,
    ) -> Result<Box<dyn Computer>, DeviceError> {
        let page = &arguments.page;
        let unusable = |message: String| DeviceError::Unavailable {
            what: "Chromium",
            message,
        };
        let address = page
            .remote
            .action_service_address(|name| self.secrets.find(name));
        if let Some(address) = address.map_err(unusable)? {
            self.browser_display = DisplayOwner::Existing;
            return Ok(Box::new(ActionService::connect(&address).await?));
        }
        Ok(Box::new(self.start_chromium(arguments).await?))
    }

    async fn start_chromium(
        &mut self,
        arguments: &DeviceArguments,
    ) -> Result<Browser, DeviceError> {
        let page = &arguments.page;
        let unusable = |message: String| DeviceError::Unavailable {
            what: "Chromium",
            message,
        };
        let options = Options {
            identity: self.folder.identity(),
            sandbox: if arguments.no_sandbox {
                BrowserSandbox::Off
            } else {
                BrowserSandbox::On
            },
            temp_dir: self.folder.path().to_owned(),
            profile: self.folder.profile(),
            egress: self.network.proxy_for(NetworkClient::Browser),
            max_memory_bytes: match page.browser_memory_limit {
                Some(mebibytes) => mebibytes << 20,
                None => Options::default().max_memory_bytes,
            },
            scale: page.scale.unwrap_or(1.0),
            emulation: page.emulation(&self.secrets).map_err(unusable)?,
            storage_state: StorageStateFiles {
                load: page.storage_state.clone(),
                save: page.save_storage_state.clone(),
            },
            allowed_urls: AllowedUrls::Judged,
            files: Some(FileAccess {
                workspace: self.folder.workspace(),
                saves_downloads: arguments.downloads,
            }),
            search: Some(
                arguments
                    .search
                    .clone()
                    .unwrap_or_else(|| SEARCH.to_owned()),
            ),
            // The policy judges scripts; without a rule it asks for approval.
            allows_scripts: true,
            ..Options::default()
        };
        if let Some(remote) = &self.rented.browser {
            if !remote.is_ours() {
                self.browser_display = DisplayOwner::Existing;
            }
            let size = arguments.browser_size();
            let service: Arc<dyn BrowserService> = Arc::clone(remote) as _;
            let browser = Browser::attach_service(service, size, options).await?;
            // From now on it ends with the browser.
            self.rented.browser = None;
            return Ok(browser);
        }
        let attachment = page.attach.attachment(&self.secrets);
        let attachment = attachment.map_err(|error| DeviceError::Unavailable {
            what: "a session in the running browser",
            message: error.to_string(),
        })?;
        if let Some(attachment) = attachment {
            if !page.attach.cdp_dedicated {
                self.browser_display = DisplayOwner::Existing;
            }
            return Browser::attach(attachment, arguments.browser_size(), options).await;
        }
        Browser::launch(self.surface(arguments).await?, options).await
    }

    /// The surface that shows the browser's pages.
    async fn surface(&self, arguments: &DeviceArguments) -> Result<Surface, DeviceError> {
        let size = arguments.browser_size();
        if arguments.headless {
            return Ok(Surface::Headless(size));
        }
        let screen = self.private_display(&Monitors::one(size), false).await?;
        let screen = screen.into_screen().await?;
        tracing::debug!(size = ?screen.size(), "the browser has its own screen");
        Ok(Surface::Window(Box::new(screen)))
    }

    async fn start_shell(
        &mut self,
        location: &str,
        arguments: &DeviceArguments,
    ) -> Result<Box<dyn Shell>, DeviceError> {
        if let Some(rented) = &self.rented.shell {
            let session: Arc<dyn InterpreterSession> = Arc::clone(rented) as _;
            let shell = InterpreterShell::start(session, &std::process::id().to_string()).await?;
            // From now on it ends with the shell.
            self.rented.shell = None;
            return Ok(Box::new(shell));
        }
        let workspace = self.folder.workspace();
        let isolation = if location == "host" {
            Isolation::Host(Host {
                env: env::outside_sandbox(&arguments.shell_env),
                ..Host::new(workspace)
            })
        } else if let Some((engine, image)) = container(location) {
            let identity = self.folder.identity().unwrap_or_else(Identity::current);
            Isolation::Docker(Docker {
                engine_env: env::container_engine(),
                runtime: arguments.runtime.clone(),
                ..Docker::new(engine, image, workspace, identity)
            })
        } else {
            Isolation::Sandbox(Sandbox {
                identity: self.folder.identity(),
                missing: self.missing(),
                network: self.network.proxy_for(NetworkClient::Shell),
                ..Sandbox::new(workspace)
            })
        };
        Ok(Box::new(Bash::start(isolation).await?))
    }

    /// Nothing of anybody's is in reach of the sandbox if its folder is the session's own and it has
    /// no network. The host and containers can reach more.
    fn reach_of_shell(&self, location: &str) -> ShellReach {
        let is_sandbox =
            !matches!(location, "host" | AT_AGENTCORE) && container(location).is_none();
        let has_network = self.network.proxy_for(NetworkClient::Shell).is_some();
        if is_sandbox && self.folder.is_private() && !has_network {
            ShellReach::Nothing
        } else {
            ShellReach::Something
        }
    }

    fn start_editor(&self, arguments: &DeviceArguments) -> Result<FileEditor, DeviceError> {
        let editor = FileEditor::new(&self.folder.workspace(), self.folder.identity())?;
        match &arguments.memory_dir {
            Some(folder) => editor.with_memory(folder),
            None => Ok(editor),
        }
    }

    /// Tools to declare to a model for these devices, perhaps one that reads only text.
    pub(crate) fn tools(&self, text_only: bool) -> Vec<Tool> {
        let editor = self.editor.as_ref();
        let declared = DeclaredDevices {
            desktop: self.desktop_size,
            desktop_tool: self.desktop_tool.clone(),
            browser: self.browser_size,
            has_shell: self.shell.is_some(),
            has_editor: editor.is_some(),
            has_memory: editor.is_some_and(|editor| editor.memory().is_some()),
            text_only,
        };
        declared.tools()
    }

    /// The larger of the two screens, by pixels.
    pub(crate) fn largest_screen(&self) -> Option<Size> {
        let pixels = |size: &Size| u64::from(size.width) * u64::from(size.height);
        self.desktop_size
            .into_iter()
            .chain(self.browser_size)
            .max_by_key(pixels)
    }

    /// Stops the devices of a failed start.
    async fn abandon(self) {
        let Self {
            folder,
            desktop,
            browser,
            shell,
            rented,
            ..
        } = self;
        rented.end().await;
        if let Some(device) = browser {
            report("browser", device.close().await);
        }
        if let Some(device) = desktop {
            report("desktop", device.close().await);
        }
        if let Some(device) = shell {
            report("shell", device.close().await);
        }
        if let Err(error) = folder.remove() {
            tracing::warn!(%error, "failed to remove the session's directory");
        }
    }
}

/// The X cookie file of existing displays, if it exists.
pub(crate) fn cookie() -> Option<PathBuf> {
    env::xauthority().filter(|path| path.exists())
}

/// The applications of an existing display: on the bus that the display names, otherwise on the
/// bus of the user's session.
pub(crate) async fn applications_of(
    display: &ExistingDisplay,
) -> Result<Option<AtSpi>, DeviceError> {
    let own = display.accessibility_bus().await?;
    let [own, session] = [own, env::session_bus()].map(|address| BusSocket::at(&address?));
    Ok(AtSpi::of_existing(own, session))
}

/// The folder of a session, with the profile of its browser.
async fn session_folder(arguments: &DeviceArguments, owner: &str) -> Result<SessionDir, CliError> {
    let profile = claim(arguments, owner)?;
    let shared = SharedFolders {
        workspace: arguments.workspace.as_deref(),
        memory: arguments.memory_dir.as_deref(),
        with_others: arguments.share_workspace,
        holder: owner,
    };
    SessionDir::create(shared, profile).await
}

/// Locks the browser profile that the flags name, if any.
fn claim(arguments: &DeviceArguments, owner: &str) -> Result<Option<ProfileLock>, CliError> {
    let Some(id) = &arguments.page.profile else {
        return Ok(None);
    };
    let claim = env::profiles()?.claim(id, arguments.page.profile_use(), owner)?;
    Ok(Some(claim))
}

/// Configures a desktop as the flags request.
async fn configured(desktop: Desktop, arguments: &DeviceArguments) -> Result<Desktop, DeviceError> {
    let desktop = desktop.typing(arguments.typing());
    let desktop = match &arguments.monitor {
        Some(name) => desktop.on_monitor(name).await?,
        None => desktop,
    };
    let desktop = match arguments.kill_switch() {
        Some(switch) => desktop.with_kill_switch(&switch).await?,
        None => desktop,
    };
    Ok(if arguments.restart_desktop {
        desktop.restarting()
    } else {
        desktop
    })
}

fn report(device: &str, outcome: Result<(), DeviceError>) {
    if let Err(error) = outcome {
        tracing::warn!(
            device,
            error = chain(&error),
            "failed to stop the device cleanly"
        );
    }
}

/// The error for a device that failed to start, with its flag.
fn unavailable(flag: &str, error: &DeviceError) -> CliError {
    CliError::message(format!("--{flag}: failed to {}", chain(error)))
}
