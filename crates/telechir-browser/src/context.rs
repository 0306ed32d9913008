//! Browser contexts: several isolated browsers in one Chromium.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use telechir_device::{DeviceError, Viewport};
use telechir_protocol::Size;

use crate::Browser;
use crate::client::CdpClient;
use crate::emulation::InitialSettings;
use crate::error::{CdpError, refused};
use crate::event_router::EventRouter;
use crate::file_transfer::FileTransfer;
use crate::initial_origins::InitialOrigins;
use crate::input_state::InputState;
use crate::launch::Chromium;
use crate::memory::MemoryLimit;
use crate::options::Options;
use crate::setup::Setup;
use crate::snapshot::Snapshots;
use crate::tab_registry::TabRegistry;
use crate::viewer::{ViewedBrowser, ViewedConnection};

/// A browser context: one that we created, with its own cookies, storage, caches and tabs, which is
/// disposed of on drop; or one that somebody else owns.
#[derive(Debug)]
pub(crate) struct Context {
    id: String,
    /// The id for new tabs; `None` in the default context.
    new_tabs_in: Option<String>,
    is_created: bool,
    client: CdpClient,
    router: Arc<EventRouter>,
}

/// Where the tabs of a browser come from.
#[derive(Clone, Debug)]
pub(crate) enum ContextSource {
    /// A context that is created for it.
    Created,
    /// A context that exists.
    Existing(ExistingTabs),
}

/// Tabs in a context that somebody else owns.
#[derive(Clone, Debug)]
pub(crate) struct ExistingTabs {
    pub(crate) context: String,
    /// The same, if it is not the default context.
    pub(crate) created_context: Option<String>,
    /// The tab to start in, as a CDP target id.
    pub(crate) target: String,
    /// Whether all tabs of the context are used; otherwise this one, and those that it opens.
    pub(crate) has_all_tabs: bool,
    /// The CDP target ids of all open tabs.
    pub(crate) open: HashSet<String>,
}

impl Context {
    /// Creates a context whose tabs are registered in `registry`.
    pub(crate) async fn create(
        client: &CdpClient,
        router: &Arc<EventRouter>,
        registry: &Arc<TabRegistry>,
        options: &Options,
    ) -> Result<Self, CdpError> {
        // Chromium also disposes of it when the connection ends.
        let mut params = json!({ "disposeOnDetach": true });
        if let Some(proxy) = &options.proxy {
            params["proxyServer"] = proxy.as_str().into();
            // Without this, loopback would bypass the proxy.
            params["proxyBypassList"] = "<-loopback>".into();
        }
        let limit = options.reply_timeout;
        let made = client
            .call(None, "Target.createBrowserContext", params, limit)
            .await?;
        let id = made["browserContextId"].as_str().unwrap_or_default();
        router.register(Some(id), registry);
        let downloads = json!({ "behavior": "deny", "browserContextId": id });
        client.notify(None, "Browser.setDownloadBehavior", downloads);
        Ok(Self {
            id: id.to_owned(),
            new_tabs_in: Some(id.to_owned()),
            is_created: true,
            client: client.clone(),
            router: Arc::clone(router),
        })
    }

    /// A context of somebody else, whose tabs are registered in `registry`.
    fn existing(
        client: &CdpClient,
        router: &Arc<EventRouter>,
        registry: &Arc<TabRegistry>,
        tabs: &ExistingTabs,
    ) -> Self {
        if !tabs.has_all_tabs {
            router.share_only(&tabs.target);
        }
        router.register(Some(&tabs.context), registry);
        Self {
            id: tabs.context.clone(),
            new_tabs_in: tabs.created_context.clone(),
            is_created: false,
            client: client.clone(),
            router: Arc::clone(router),
        }
    }

    /// The id for new tabs; `None` in the default context.
    pub(crate) fn for_new_tabs(&self) -> Option<&str> {
        self.new_tabs_in.as_deref()
    }

    /// The id for commands about cookies and permissions; `None` for the default context.
    pub(crate) fn id_in_commands(&self) -> Option<&str> {
        self.for_new_tabs()
    }

    /// Disposes of the context, if it was created here, and waits until that is done.
    pub(crate) async fn dispose(self, limit: Duration) -> Result<(), CdpError> {
        if !self.is_created {
            return Ok(());
        }
        let params = json!({ "browserContextId": self.id });
        let disposed = self
            .client
            .call(None, "Target.disposeBrowserContext", params, limit)
            .await;
        disposed.map(|_| ())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.router.remove(&self.id);
        if !self.is_created {
            return;
        }
        let params = json!({ "browserContextId": self.id });
        // Chromium ignores a second disposal, apart from an error that is discarded.
        self.client
            .notify(None, "Target.disposeBrowserContext", params);
    }
}

/// The parts of a browser in its own context.
pub(crate) struct ContextParts {
    pub(crate) chromium: Chromium,
    pub(crate) client: CdpClient,
    pub(crate) router: Arc<EventRouter>,
    pub(crate) options: Options,
    pub(crate) size: Size,
    /// Chromium's own user agent.
    pub(crate) agent: Arc<str>,
    /// Whether Chromium is known to be its headless shell.
    pub(crate) is_headless_shell: bool,
    /// The memory limit of all of Chromium's processes, if telechir sets one.
    pub(crate) memory: Option<MemoryLimit>,
    /// Why Chromium shares the machine's network namespace despite an egress proxy.
    pub(crate) shares_network: Option<String>,
}

impl ContextParts {
    /// Opens the context and its first tab. Files can be uploaded, but no downloads saved.
    pub(crate) async fn open(mut self, source: ContextSource) -> Result<Browser, DeviceError> {
        if let Some(files) = &mut self.options.files {
            files.saves_downloads = false;
        }
        let file_transfer =
            FileTransfer::create(&self.options).map_err(|error| DeviceError::Unavailable {
                what: "a browser context",
                message: format!("create a folder for file transfer: {error}"),
            })?;
        let setup = Setup::in_context(
            self.size,
            &self.options,
            &self.agent,
            self.is_headless_shell,
        )?;
        let registry = TabRegistry::new(setup.clone()).with_memory(self.memory);
        let registry = Arc::new(match &source {
            ContextSource::Created => registry,
            ContextSource::Existing(tabs) => registry.of_owner(tabs.open.clone(), &tabs.target),
        });
        let (client, router) = (&self.client, &self.router);
        let context = match &source {
            ContextSource::Created => {
                Context::create(client, router, &registry, &self.options).await?
            }
            ContextSource::Existing(tabs) => Context::existing(client, router, &registry, tabs),
        };
        if matches!(self.chromium, Chromium::Attached { .. }) {
            discover_tabs(client, self.options.reply_timeout).await?;
        }
        let mut browser = Browser {
            context: Some(context),
            chromium: self.chromium,
            viewed: ViewedBrowser::new(ViewedConnection {
                client: self.client.clone(),
                registry: Arc::clone(&registry),
                router: Arc::clone(&self.router),
            }),
            client: self.client,
            router: self.router,
            registry,
            input: InputState::new(self.size, setup.scale),
            setup,
            initial_settings: InitialSettings {
                emulation: self.options.emulation.clone(),
                size: self.size,
            },
            initial_origins: InitialOrigins::default(),
            options: self.options,
            screen: None,
            size: self.size,
            agent: self.agent,
            snapshots: Snapshots::default(),
            acted_at: None,
            viewport: Viewport::unscaled(self.size),
            clicked: None,
            is_printing: false,
            world: None,
            frame_worlds: HashMap::new(),
            file_transfer: file_transfer.map(Arc::new),
            shares_network: self.shares_network,
        };
        let tab = match &source {
            ContextSource::Created => browser.open_tab().await?,
            ContextSource::Existing(tabs) => browser.start_in(&tabs.target).await?,
        };
        let page = browser.page_of(&tab);
        browser.options.emulation.check(&page).await?;
        browser.grant_initially().await?;
        browser.load_initial_state().await?;
        // The first tab is not an event.
        browser.registry.take_changes();
        browser.registry.take_notices();
        Ok(browser)
    }
}

/// Has Chromium report its tabs, those that exist and new ones.
async fn discover_tabs(client: &CdpClient, limit: Duration) -> Result<(), CdpError> {
    let pages = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
    let discover = json!({ "discover": true, "filter": pages });
    let discovering = client.call(None, "Target.setDiscoverTargets", discover, limit);
    discovering.await.map(|_| ())
}

impl Browser {
    /// Opens another browser in the same Chromium with separate storage. It ends with this one at
    /// the latest.
    ///
    /// Only the options about pages apply: program, user, sandbox, profile, proxy and memory limit
    /// are those of this browser. Downloads are refused.
    ///
    /// # Errors
    ///
    /// If this browser has a window, Chromium is gone, or Chromium does not know the locale or time
    /// zone.
    pub async fn isolated(&self, size: Size, options: Options) -> Result<Self, DeviceError> {
        if self.screen.is_some() {
            return Err(refused(
                "A browser with a window has a single context; start it headless for more.",
            ));
        }
        let isolated = ContextParts {
            chromium: Chromium::Shared,
            client: self.client.clone(),
            router: Arc::clone(&self.router),
            options: Options {
                identity: self.options.identity,
                // Chromium's proxy applies to all of its contexts.
                egress: self.options.egress.clone(),
                proxy: None,
                ..options
            },
            size,
            agent: Arc::clone(&self.agent),
            is_headless_shell: self.setup.is_headless_shell,
            memory: self.registry.memory(),
            shares_network: self.shares_network.clone(),
        };
        isolated.open(ContextSource::Created).await
    }
}
