//! How a running browser is attached to: its endpoint, and the tabs that are used.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use telechir_device::DeviceError;

use crate::endpoint::CdpEndpoint;

/// How a running browser is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Where the browser is reached.
    pub endpoint: CdpEndpoint,
    /// The tabs that are used.
    pub tabs: AttachedTabs,
}

/// The tabs of a running browser that are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AttachedTabs {
    /// Those of a browser context of our own, which is disposed of at the end. Other tabs are
    /// neither visible nor closed.
    #[default]
    Isolated,
    /// All tabs of the default context, starting with its first page: for a browser that was
    /// started for this session. Profiles, recordings and exports of hosted browsers cover only the
    /// default context.
    Default,
    /// One existing tab with its cookies and logins, those that it opens, and those that are opened
    /// here. They stay open at the end.
    Existing(TabChoice),
}

/// Which of the owner's tabs is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TabChoice {
    /// The one that the user sees: visible, and in the focused window if several are.
    Active,
    /// The one that shows this URL, or a single one whose URL starts with it.
    Url(String),
}

impl Attachment {
    /// In a browser context of its own.
    pub fn isolated(endpoint: CdpEndpoint) -> Self {
        Self {
            endpoint,
            tabs: AttachedTabs::Isolated,
        }
    }
}

/// A service that runs a browser and says how it is reached.
#[async_trait]
pub trait BrowserService: Send + Sync + fmt::Debug {
    /// The endpoint for one connection. Asked for before each: addresses and signatures age.
    ///
    /// # Errors
    /// If the browser has ended, or the service cannot be asked.
    async fn endpoint(&self) -> Result<CdpEndpoint, EndpointError>;

    /// Called after each action: keeps the browser running, or says to the model when it ends.
    async fn after_action(&self) -> Option<String>;

    /// Called once, when the browser is not used any more.
    ///
    /// # Errors
    /// If the service may go on running it; the text is a clause without secrets.
    async fn end(&self) -> Result<(), String>;
}

/// Why a service names no endpoint. The texts are clauses without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The browser has ended: its pages and their state are lost.
    #[error("{0}")]
    Ended(String),
    /// The service cannot be asked now.
    #[error("{0}")]
    Unavailable(String),
}

/// Where a browser is reached, and the tabs that are used.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    pub(crate) source: EndpointSource,
    pub(crate) tabs: AttachedTabs,
}

#[derive(Clone, Debug)]
pub(crate) enum EndpointSource {
    /// Always here.
    Fixed(CdpEndpoint),
    /// Where the service says, anew for every connection.
    Service(Arc<dyn BrowserService>),
}

impl EndpointSource {
    pub(crate) async fn endpoint(&self) -> Result<CdpEndpoint, EndpointError> {
        match self {
            Self::Fixed(endpoint) => Ok(endpoint.clone()),
            Self::Service(service) => service.endpoint().await,
        }
    }

    /// Tells the service that the browser is not used any more.
    pub(crate) async fn end(&self) -> Result<(), DeviceError> {
        let Self::Service(service) = self else {
            return Ok(());
        };
        let ended = service.end().await;
        ended.map_err(|message| DeviceError::Unavailable {
            what: "the release of the rented browser",
            message,
        })
    }
}

impl From<Attachment> for Reachable {
    fn from(attachment: Attachment) -> Self {
        Self {
            source: EndpointSource::Fixed(attachment.endpoint),
            tabs: attachment.tabs,
        }
    }
}
