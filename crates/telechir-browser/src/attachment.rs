//! How a running browser is attached to: its endpoint, and the tabs that are used.

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
