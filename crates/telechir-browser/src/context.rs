//! Contexts: several browsers in one Chromium that know nothing of each other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use telechir_device::DeviceError;
use telechir_protocol::Size;

use crate::Browser;
use crate::tab_registry::Book;
use crate::browser::Chromium;
use crate::client::Client;
use crate::error::{CdpError, refused};
use crate::file_transfer::Exchange;
use crate::input_state::Hands;
use crate::options::Options;
use crate::emulation::Emulation;
use crate::setup::Setup;
use crate::event_router::Shelf;
use crate::snapshot::Snapshots;

/// A context that we made: cookies, storage, caches and tabs of its own. It is disposed of with
/// all of them when this is dropped.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) id: String,
    client: Client,
    shelf: Arc<Shelf>,
}

impl Context {
    /// Makes one, whose tabs come into `book`.
    pub(crate) async fn create(
        client: &Client,
        shelf: &Arc<Shelf>,
        book: &Arc<Book>,
        options: &Options,
    ) -> Result<Self, CdpError> {
        // Chromium disposes of it, too, when it loses us.
        let mut params = json!({ "disposeOnDetach": true });
        if let Some(proxy) = &options.proxy {
            params["proxyServer"] = proxy.as_str().into();
            // Without this, loopback would go past the proxy.
            params["proxyBypassList"] = "<-loopback>".into();
        }
        let limit = options.answer_limit;
        let made = client
            .call(None, "Target.createBrowserContext", params, limit)
            .await?;
        let id = made["browserContextId"].as_str().unwrap_or_default();
        shelf.put(Some(id), book);
        let downloads = json!({ "behavior": "deny", "browserContextId": id });
        client.notify(None, "Browser.setDownloadBehavior", downloads);
        Ok(Self {
            id: id.to_owned(),
            client: client.clone(),
            shelf: Arc::clone(shelf),
        })
    }

    /// Disposes of it, and returns when that is done.
    pub(crate) async fn dispose(self, limit: Duration) -> Result<(), CdpError> {
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
        self.shelf.remove(&self.id);
        let params = json!({ "browserContextId": self.id });
        // Disposed of twice it is an error that nobody hears.
        self.client
            .notify(None, "Target.disposeBrowserContext", params);
    }
}

/// What a browser in a context of its own is made of.
pub(crate) struct Isolated {
    pub(crate) chromium: Chromium,
    pub(crate) client: Client,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) options: Options,
    pub(crate) size: Size,
    /// What Chromium says it is.
    pub(crate) agent: Arc<str>,
    /// Whether it is known to be the shell.
    pub(crate) is_shell: bool,
    /// Files for its pages, where there are any.
    pub(crate) exchange: Option<Arc<Exchange>>,
}

impl Isolated {
    /// Makes the context and opens its first tab.
    pub(crate) async fn open(self) -> Result<Browser, DeviceError> {
        let setup = Setup::in_context(self.size, &self.options, &self.agent, self.is_shell)?;
        let book = Arc::new(Book::new(setup.clone()));
        let context = Context::create(&self.client, &self.shelf, &book, &self.options).await?;
        let mut browser = Browser {
            context: Some(context),
            chromium: self.chromium,
            client: self.client,
            shelf: self.shelf,
            book,
            hands: Hands::new(self.size, setup.scale),
            setup,
            options: self.options,
            screen: None,
            size: self.size,
            agent: self.agent,
            snapshots: Snapshots::default(),
            acted: None,
            world: None,
            frame_worlds: HashMap::new(),
            exchange: self.exchange,
        };
        let tab = browser.open_tab().await?;
        let page = browser.page_of(&tab);
        browser.options.persona.check(&page).await?;
        Ok(browser)
    }
}

impl Browser {
    /// Another browser in this one's Chromium: nothing that pages store in one is known in the
    /// other. It ends with this one at the latest.
    ///
    /// # Errors
    /// When this one is in a window, or Chromium is gone or does not know the persona's locale or
    /// timezone.
    pub async fn isolated(&self, size: Size, persona: Emulation) -> Result<Self, DeviceError> {
        if self.screen.is_some() {
            return Err(refused(
                "A browser in a window has one context; start it without one for more.",
            ));
        }
        let isolated = Isolated {
            chromium: Chromium::Shared,
            client: self.client.clone(),
            shelf: Arc::clone(&self.shelf),
            options: Options {
                persona,
                // What Chromium was started with holds for all of its contexts.
                proxy: None,
                ..self.options.clone()
            },
            size,
            agent: Arc::clone(&self.agent),
            is_shell: self.setup.is_shell,
            // What its pages give is refused, and they are given nothing.
            exchange: None,
        };
        isolated.open().await
    }
}
