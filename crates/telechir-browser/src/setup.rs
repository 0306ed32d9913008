//! What every new tab is told before its page runs.

use serde_json::{Value, json};
use telechir_device::DeviceError;
use telechir_protocol::Size;

use crate::client::Client;
use crate::options::{Options, Surface};
use crate::scale::Scale;
use crate::walker;

/// The name of the world our own scripts run in, apart from the page's.
pub(crate) const WORLD: &str = "telechir";

const ON_NEW_DOCUMENT: &str = "Page.addScriptToEvaluateOnNewDocument";
/// What a page is given where it has a window, and where Chromium is its shell.
const IN_WINDOW: &str = include_str!("setup/window.js");
const IN_SHELL: &str = include_str!("setup/headless_shell.js");
/// Has the ears hear what the latter tells it.
const HEAR_DENIALS: &str = "globalThis.telechirEars?.hearDenials()";

/// How tabs are prepared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The size of a page without a window, in its own pixels; none when a window gives it.
    pub(crate) size: Option<Size>,
    /// Whether Chromium is its shell, which has no windows and shows nothing but pages.
    pub(crate) is_shell: bool,
    /// Pixels of the screen to one of a page.
    pub(crate) scale: Scale,
    /// What has pages and frames say what they are told to, where flags do not.
    pub(crate) persona: Vec<(&'static str, Value)>,
}

impl Setup {
    /// For the tabs of a Chromium that was started with flags that say who it is.
    pub(crate) fn of(
        surface: &Surface,
        options: &Options,
        is_shell: bool,
    ) -> Result<Self, DeviceError> {
        let scale = options.scale()?;
        let size = match surface {
            Surface::Headless(size) => Some(scale.size(*size)),
            Surface::Window(_) => None,
        };
        Ok(Self {
            size,
            is_shell,
            scale,
            persona: options.persona.beside_flags(),
        })
    }

    /// For the tabs of a context without a window. `agent` is what Chromium says it is.
    pub(crate) fn in_context(
        size: Size,
        options: &Options,
        agent: &str,
        is_shell: bool,
    ) -> Result<Self, DeviceError> {
        let scale = options.scale()?;
        Ok(Self {
            size: Some(scale.size(size)),
            is_shell,
            scale,
            persona: options.persona.commands(agent),
        })
    }

    /// Sends what a new tab needs, and lets its page run. Never waits.
    pub(crate) fn prepare(&self, client: &Client, session: &str) {
        let tell = |method, params| client.notify(Some(session), method, params);
        tell("Page.enable", json!({}));
        tell("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        tell("Inspector.enable", json!({}));
        tell("Network.enable", json!({ "maxTotalBufferSize": 1 << 16 }));
        tell(
            "Page.setInterceptFileChooserDialog",
            json!({ "enabled": true }),
        );
        tell("Input.setInterceptDrags", json!({ "enabled": true }));
        // No window asks for a key to be touched, over the page.
        tell("WebAuthn.enable", json!({ "enableUI": false }));
        self.watch_frames(client, session);
        if let Some(size) = self.size {
            tell(
                "Emulation.setDeviceMetricsOverride",
                json!({
                    "width": size.width, "height": size.height,
                    "deviceScaleFactor": self.scale.get(), "mobile": false,
                }),
            );
        }
        self.be_someone(client, session);
        tell("Runtime.runIfWaitingForDebugger", json!({}));
    }

    /// Sends what a frame with a process of its own needs. Never waits.
    pub(crate) fn prepare_frame(&self, client: &Client, session: &str) {
        client.notify(Some(session), "Page.enable", json!({}));
        self.watch_frames(client, session);
        self.prepare_other(client, session);
    }

    /// Sends what anything else needs that was made to wait: workers. Never waits.
    pub(crate) fn prepare_other(&self, client: &Client, session: &str) {
        if self.is_someone() {
            self.be_someone(client, session);
            client.notify(Some(session), "Runtime.runIfWaitingForDebugger", json!({}));
        }
    }

    fn is_someone(&self) -> bool {
        !self.persona.is_empty()
    }

    fn be_someone(&self, client: &Client, session: &str) {
        for (method, params) in &self.persona {
            client.notify(Some(session), method, params.clone());
        }
    }

    /// Gives a tab in front the focus, or takes it.
    pub(crate) fn focus(client: &Client, session: &str, enabled: bool) {
        client.notify(
            Some(session),
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": enabled }),
        );
    }

    /// Puts the ears into every document to come, before its own scripts, and asks to hear of
    /// frames that get a process of their own.
    fn watch_frames(&self, client: &Client, session: &str) {
        let denials = if self.is_shell { HEAR_DENIALS } else { "" };
        let source = [walker::EARS, denials].concat();
        let ears = json!({ "source": source, "worldName": WORLD, "runImmediately": true });
        client.notify(Some(session), ON_NEW_DOCUMENT, ears);
        let beside = match self.size {
            None => Some(IN_WINDOW),
            Some(_) => self.is_shell.then_some(IN_SHELL),
        };
        if let Some(source) = beside {
            let params = json!({ "source": source, "runImmediately": true });
            client.notify(Some(session), ON_NEW_DOCUMENT, params);
        }
        // Who is to wait until it was told who looks at it must be heard of: the workers of a
        // page wait, too, and nobody else lets them go on. So otherwise none is made to wait.
        let attach = if self.is_someone() {
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{}] })
        } else {
            let frames = json!([{ "type": "iframe", "exclude": false }, { "exclude": true }]);
            json!({
                "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": frames,
            })
        };
        client.notify(Some(session), "Target.setAutoAttach", attach);
    }
}
