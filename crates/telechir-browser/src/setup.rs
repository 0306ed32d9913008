//! Preparation of new tabs and frames before their pages run.

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_protocol::Size;

use crate::client::CdpClient;
use crate::emulation::{HttpCredentials, NETWORK_BUFFER_BYTES};
use crate::options::{Options, Surface};
use crate::scale::Scale;
use crate::walker;

/// The name of the isolated world of our scripts.
pub(crate) const WORLD: &str = "telechir";

const ON_NEW_DOCUMENT: &str = "Page.addScriptToEvaluateOnNewDocument";
/// Scripts in the page's own world: with a window, and in the headless shell.
const IN_WINDOW: &str = include_str!("setup/window.js");
const IN_HEADLESS_SHELL: &str = include_str!("setup/headless_shell.js");
/// Connects the listeners to the events of the latter.
const LISTEN_TO_HEADLESS_SHELL: &str = "globalThis.telechirListeners?.listenToHeadlessShell()";

/// How new tabs are prepared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The page size in CSS pixels; `None` if a window determines it.
    pub(crate) size: Option<Size>,
    /// Whether Chromium is its headless shell, which has no windows and no browser UI.
    pub(crate) is_headless_shell: bool,
    /// Screen pixels per CSS pixel.
    pub(crate) scale: Scale,
    /// CDP commands for emulation that flags cannot express.
    pub(crate) overrides: Vec<(&'static str, Value)>,
    /// Whether pages are laid out as on a phone.
    pub(crate) is_mobile: bool,
    /// Logins for HTTP authentication.
    pub(crate) credentials: Vec<HttpCredentials>,
}

impl Setup {
    /// For the tabs of a Chromium whose flags set the emulation.
    pub(crate) fn for_surface(
        surface: &Surface,
        options: &Options,
        is_headless_shell: bool,
    ) -> Result<Self, DeviceError> {
        let scale = options.scale()?;
        let size = match surface {
            Surface::Headless(size) => Some(scale.size(*size)),
            Surface::Window(_) => None,
        };
        Ok(Self {
            size,
            is_headless_shell,
            scale,
            overrides: options.emulation.commands_beside_flags(),
            is_mobile: options.emulation.is_mobile,
            credentials: options.emulation.credentials.clone(),
        })
    }

    /// For the tabs of a headless context. `agent` is Chromium's own user agent.
    pub(crate) fn in_context(
        size: Size,
        options: &Options,
        agent: &str,
        is_headless_shell: bool,
    ) -> Result<Self, DeviceError> {
        let scale = options.scale()?;
        Ok(Self {
            size: Some(scale.size(size)),
            is_headless_shell,
            scale,
            overrides: options.emulation.commands(agent),
            is_mobile: options.emulation.is_mobile,
            credentials: options.emulation.credentials.clone(),
        })
    }

    /// Prepares a new tab and lets its page run. Never waits.
    pub(crate) fn prepare(&self, client: &CdpClient, session: &str) {
        let send = |method, params| client.notify(Some(session), method, params);
        send("Page.enable", json!({}));
        send("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        send("Inspector.enable", json!({}));
        send(
            "Network.enable",
            json!({ "maxTotalBufferSize": NETWORK_BUFFER_BYTES }),
        );
        send(
            "Page.setInterceptFileChooserDialog",
            json!({ "enabled": true }),
        );
        send("Input.setInterceptDrags", json!({ "enabled": true }));
        // No dialog asks for a security key.
        send("WebAuthn.enable", json!({ "enableUI": false }));
        self.watch_frames(client, session);
        if let Some((method, params)) = self.viewport() {
            send(method, params);
        }
        self.apply_emulation(client, session);
        send("Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// The CDP command for the page's size; `None` if a window determines it.
    pub(crate) fn viewport(&self) -> Option<(&'static str, Value)> {
        let size = self.size?;
        Some((
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": size.width, "height": size.height,
                "deviceScaleFactor": self.scale.get(), "mobile": self.is_mobile,
            }),
        ))
    }

    /// Prepares an out-of-process frame. Never waits.
    pub(crate) fn prepare_frame(&self, client: &CdpClient, session: &str) {
        client.notify(Some(session), "Page.enable", json!({}));
        let enabled = json!({ "enabled": true });
        client.notify(Some(session), "Page.setLifecycleEventsEnabled", enabled);
        self.watch_frames(client, session);
        self.prepare_other(client, session);
    }

    /// Prepares other targets that wait, such as workers. Never waits.
    pub(crate) fn prepare_other(&self, client: &CdpClient, session: &str) {
        if self.has_overrides() {
            self.apply_emulation(client, session);
            client.notify(Some(session), "Runtime.runIfWaitingForDebugger", json!({}));
        }
    }

    fn has_overrides(&self) -> bool {
        !self.overrides.is_empty()
    }

    fn apply_emulation(&self, client: &CdpClient, session: &str) {
        for (method, params) in &self.overrides {
            client.notify(Some(session), method, params.clone());
        }
    }

    /// Gives the focus to a tab, or takes it.
    pub(crate) fn focus(client: &CdpClient, session: &str, enabled: bool) {
        client.notify(
            Some(session),
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": enabled }),
        );
    }

    /// Adds the listeners to every new document before its own scripts, and attaches to
    /// out-of-process frames.
    fn watch_frames(&self, client: &CdpClient, session: &str) {
        let denials = if self.is_headless_shell {
            LISTEN_TO_HEADLESS_SHELL
        } else {
            ""
        };
        let source = [walker::LISTENERS, denials].concat();
        let listeners = json!({ "source": source, "worldName": WORLD, "runImmediately": true });
        client.notify(Some(session), ON_NEW_DOCUMENT, listeners);
        let page_script = match self.size {
            None => Some(IN_WINDOW),
            Some(_) => self.is_headless_shell.then_some(IN_HEADLESS_SHELL),
        };
        if let Some(source) = page_script {
            let params = json!({ "source": source, "runImmediately": true });
            client.notify(Some(session), ON_NEW_DOCUMENT, params);
        }
        // With overrides, frames and workers must wait until these are set, so all of them are
        // attached: nobody else would let a waiting worker run. Without overrides nothing waits.
        client.notify(
            Some(session),
            "Target.setAutoAttach",
            self.auto_attachment(),
        );
    }

    /// The parameters for attaching to the frames and workers of a page.
    pub(crate) fn auto_attachment(&self) -> Value {
        if self.has_overrides() {
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{}] })
        } else {
            let frames = json!([{ "type": "iframe", "exclude": false }, { "exclude": true }]);
            json!({
                "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": frames,
            })
        }
    }
}
