//! The tab that is no tab of the session, and the origins whose stored data it is opened for.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::TabRegistry;
use crate::client::{CdpClient, lock, text};
use crate::error::CdpError;

/// Origins per browser that are remembered as visited.
pub(crate) const MAX_ORIGINS: usize = 1_000;

/// A tab in which every request is answered with an empty document.
#[derive(Debug, Default)]
pub(super) enum PrivateTab {
    #[default]
    None,
    /// It is being opened. New tabs that no page opened wait until Chromium has said which of them it
    /// is.
    Expected {
        waiting: Vec<Value>,
        /// It is to be closed as soon as Chromium has said which one it is.
        is_given_up: bool,
    },
    /// It has this CDP target id, and is not attached yet.
    Named(String),
    Attached {
        target: String,
        session: String,
    },
    /// It was given up and is being closed; it may still be attached.
    Closing(String),
}

/// What is to be done with a new tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewTab {
    /// It is a tab of the session.
    Listed,
    /// It is the private tab, or may be it.
    Private,
}

impl PrivateTab {
    /// Whether a session is that of the private tab.
    pub(super) fn is(&self, session: &str) -> bool {
        matches!(self, Self::Attached { session: own, .. } if own == session)
    }

    /// Takes a new tab, if it is the private one or may be it.
    pub(super) fn take(&mut self, client: &CdpClient, params: &Value) -> NewTab {
        let info = &params["targetInfo"];
        match self {
            Self::None | Self::Attached { .. } => return NewTab::Listed,
            Self::Named(target) if info["targetId"] == target.as_str() => {}
            Self::Closing(target) if info["targetId"] == target.as_str() => {
                return NewTab::Private;
            }
            Self::Named(_) | Self::Closing(_) => return NewTab::Listed,
            Self::Expected { .. } if !info["openerId"].is_null() => return NewTab::Listed,
            Self::Expected { waiting, .. } => {
                waiting.push(params.clone());
                return NewTab::Private;
            }
        }
        let session = text(&params["sessionId"]);
        let everything = json!({ "patterns": [{ "urlPattern": "*" }] });
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Network.enable", json!({})),
            ("Network.setBypassServiceWorker", json!({ "bypass": true })),
            ("Fetch.enable", everything),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ] {
            client.notify(Some(&session), method, params);
        }
        let target = text(&info["targetId"]);
        *self = Self::Attached { target, session };
        NewTab::Private
    }

    /// Answers a request that was paused: with an empty document in the private tab; in another one
    /// it goes on.
    pub(super) fn answer(&self, client: &CdpClient, session: &str, params: &Value) {
        let mut answer = json!({ "requestId": params["requestId"] });
        if !self.is(session) {
            return client.notify(Some(session), "Fetch.continueRequest", answer);
        }
        answer["responseCode"] = 200.into();
        answer["responseHeaders"] = json!([{ "name": "Content-Type", "value": "text/html" }]);
        answer["body"] = "".into();
        client.notify(Some(session), "Fetch.fulfillRequest", answer);
    }
}

/// The origins of documents that were loaded, in which pages may have stored data.
#[derive(Clone, Debug, Default)]
pub(crate) struct VisitedOrigins {
    pub(crate) known: BTreeSet<String>,
    /// Whether more origins were visited than are remembered.
    pub(crate) has_more: bool,
}

impl VisitedOrigins {
    /// Adds the origin of a document from `Page.frameNavigated`.
    pub(super) fn add_document(&mut self, frame: &Value) {
        if frame["unreachableUrl"].is_null() {
            self.add(&text(&frame["securityOrigin"]));
        }
    }

    fn add(&mut self, origin: &str) {
        let is_web = origin.starts_with("http://") || origin.starts_with("https://");
        if !is_web || self.known.contains(origin) {
            return;
        }
        if self.known.len() >= MAX_ORIGINS {
            self.has_more = true;
            return;
        }
        self.known.insert(origin.to_owned());
    }
}

impl TabRegistry {
    /// The origins of documents that were loaded.
    pub(crate) fn visited_origins(&self) -> VisitedOrigins {
        lock(&self.state).origins.clone()
    }

    /// Remembers an origin in which data was stored.
    pub(crate) fn add_origin(&self, origin: &str) {
        lock(&self.state).origins.add(origin);
    }

    /// Adds the origins that an earlier connection to the same browser visited.
    pub(crate) fn add_origins(&self, origins: VisitedOrigins) {
        let visited = &mut lock(&self.state).origins;
        visited.has_more |= origins.has_more;
        visited.known.extend(origins.known);
    }

    /// Expects the private tab, which is opened next; one of `private_tab_is`, `no_private_tab` must
    /// follow. Returns whether it may be opened: one that was given up must be known first.
    pub(crate) fn expect_private_tab(&self) -> bool {
        let tab = &mut lock(&self.state).private_tab;
        if matches!(tab, PrivateTab::Expected { .. }) {
            return false;
        }
        *tab = PrivateTab::Expected {
            waiting: Vec::new(),
            is_given_up: false,
        };
        true
    }

    /// Says which tab is the private one, which is closed if it was given up meanwhile. Others that
    /// came meanwhile are tabs of the session.
    pub(crate) fn private_tab_is(&self, client: &CdpClient, target: &str) {
        self.end_expecting(client, |is_given_up| {
            if is_given_up {
                close(client, target);
                PrivateTab::Closing(target.to_owned())
            } else {
                PrivateTab::Named(target.to_owned())
            }
        });
    }

    /// The expected tab was not opened.
    pub(crate) fn no_private_tab(&self, client: &CdpClient) {
        self.end_expecting(client, |_| PrivateTab::None);
    }

    /// The session of the private tab, once it is attached.
    pub(crate) fn private_tab(&self) -> Option<String> {
        match &lock(&self.state).private_tab {
            PrivateTab::Attached { session, .. } => Some(session.clone()),
            PrivateTab::None
            | PrivateTab::Expected { .. }
            | PrivateTab::Named(_)
            | PrivateTab::Closing(_) => None,
        }
    }

    /// Closes the private tab, as soon as it is known which one it is.
    pub(crate) fn close_private_tab(&self, client: &CdpClient) {
        let tab = &mut lock(&self.state).private_tab;
        match tab {
            PrivateTab::None | PrivateTab::Closing(_) => {}
            PrivateTab::Expected { is_given_up, .. } => *is_given_up = true,
            PrivateTab::Named(target) | PrivateTab::Attached { target, .. } => {
                close(client, target);
                *tab = PrivateTab::Closing(std::mem::take(target));
            }
        }
    }

    /// Ends the time in which the private tab is expected, and lists the tabs that waited for that.
    fn end_expecting(&self, client: &CdpClient, next: impl FnOnce(bool) -> PrivateTab) {
        let setup = self.setup();
        {
            let mut state = lock(&self.state);
            let PrivateTab::Expected {
                waiting,
                is_given_up,
            } = std::mem::take(&mut state.private_tab)
            else {
                return;
            };
            state.private_tab = next(is_given_up);
            for params in waiting {
                state.attach(client, &setup, &params);
            }
        }
        self.notify();
    }
}

/// Closes the tab. Chromium forgets to if the tab navigates to another process at that moment, so it
/// is told again until there is no such tab.
fn close(client: &CdpClient, target: &str) {
    const INTERVAL: Duration = Duration::from_millis(100);
    const MAX_REPEATS: u32 = 100;
    let params = json!({ "targetId": target });
    client.notify(None, "Target.closeTarget", params.clone());
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    let client = client.clone();
    runtime.spawn(async move {
        for _ in 0..MAX_REPEATS {
            sleep(INTERVAL).await;
            let closed = client.call(None, "Target.closeTarget", params.clone(), INTERVAL * 10);
            if let Err(CdpError::Protocol { .. } | CdpError::Lost { .. }) = closed.await {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::os::fd::OwnedFd;

    use rustix::pipe::{PipeFlags, pipe_with};
    use telechir_testkit::assert_eventually;
    use tokio::net::unix::pipe::Receiver;

    use super::*;
    use crate::client::{CdpEvent, ClientTasks, Transport};
    use crate::setup::Setup;
    use crate::tab_registry::MAX_TABS;

    /// A registry, and the other ends of the pipes of its client.
    struct Fixture {
        registry: TabRegistry,
        client: CdpClient,
        commands: Receiver,
        written: String,
        ends: usize,
        _events: OwnedFd,
        _tasks: ClientTasks,
    }

    impl Fixture {
        fn new() -> Self {
            let (commands, output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let (input, events) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let transport = Transport::Pipes { input, output };
            let (client, tasks) = CdpClient::start(transport, |_, _| ()).unwrap();
            Self {
                registry: TabRegistry::new(Setup::default()),
                client,
                commands: Receiver::from_owned_fd(commands).unwrap(),
                written: String::new(),
                ends: 0,
                _events: events,
                _tasks: tasks,
            }
        }

        /// A tab that no page opened is attached.
        fn attached(&self, target: &str) {
            let info = json!({ "targetId": target, "type": "page", "url": "" });
            let event = CdpEvent {
                method: "Target.attachedToTarget".to_owned(),
                params: json!({ "sessionId": format!("{target}-session"), "targetInfo": info }),
                session: None,
            };
            self.registry.handle_event(&self.client, &event);
        }

        /// Whether this command about a tab, or its session, was sent.
        async fn has_sent(&mut self, method: &str, member: &str) -> bool {
            self.ends += 1;
            let end = json!({ "end": self.ends });
            self.client.notify(None, "Browser.end", end.clone());
            assert_eventually!(self.has_read(&end.to_string()));
            let mut commands = self.written.split('\0');
            commands.any(|command| command.contains(method) && command.contains(member))
        }

        fn has_read(&mut self, end: &str) -> bool {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = self.commands.try_read(&mut bytes) {
                self.written += &String::from_utf8_lossy(&bytes[..count]);
            }
            self.written.contains(end)
        }

        fn targets(&self) -> Vec<String> {
            let tabs = self.registry.tabs().into_iter();
            tabs.map(|tab| tab.target).collect()
        }
    }

    #[tokio::test]
    async fn only_the_tab_that_chromium_names_is_private() {
        let mut fixture = Fixture::new();
        assert!(fixture.registry.expect_private_tab());
        fixture.attached("other");
        fixture.attached("own");
        assert_eq!(fixture.registry.private_tab(), None);
        fixture.registry.private_tab_is(&fixture.client, "own");
        let session = fixture.registry.private_tab();
        assert_eq!(session.as_deref(), Some("own-session"));
        assert_eq!(fixture.targets(), ["other"]);
        fixture.registry.close_private_tab(&fixture.client);
        assert!(fixture.has_sent("closeTarget", "\"own\"").await);
        assert!(!fixture.has_sent("closeTarget", "\"other\"").await);
    }

    #[tokio::test]
    async fn a_private_tab_that_is_attached_after_it_was_named_is_not_listed() {
        let fixture = Fixture::new();
        assert!(fixture.registry.expect_private_tab());
        fixture.registry.private_tab_is(&fixture.client, "own");
        fixture.attached("other");
        fixture.attached("own");
        assert!(fixture.registry.private_tab().is_some());
        assert_eq!(fixture.targets(), ["other"]);
    }

    #[tokio::test]
    async fn a_private_tab_that_was_given_up_is_closed_when_it_is_known() {
        for is_attached_first in [true, false] {
            let mut fixture = Fixture::new();
            assert!(fixture.registry.expect_private_tab());
            if is_attached_first {
                fixture.attached("own");
            }
            fixture.attached("other");
            fixture.registry.close_private_tab(&fixture.client);
            assert!(!fixture.has_sent("closeTarget", "target").await);
            assert!(!fixture.registry.expect_private_tab(), "which one is it?");
            fixture.registry.private_tab_is(&fixture.client, "own");
            assert!(fixture.has_sent("closeTarget", "\"own\"").await);
            if !is_attached_first {
                fixture.attached("own");
            }
            assert_eq!(fixture.targets(), ["other"]);
            assert!(fixture.registry.expect_private_tab());
        }
    }

    #[tokio::test]
    async fn tabs_that_waited_for_a_private_one_that_was_not_opened_are_listed() {
        let fixture = Fixture::new();
        assert!(fixture.registry.expect_private_tab());
        fixture.attached("other");
        assert!(fixture.targets().is_empty());
        fixture.registry.no_private_tab(&fixture.client);
        assert_eq!(fixture.targets(), ["other"]);
        assert!(fixture.registry.expect_private_tab());
    }

    #[tokio::test]
    async fn a_tab_of_the_owner_beyond_the_limit_stays_open() {
        for has_owner in [true, false] {
            let mut fixture = Fixture::new();
            if has_owner {
                fixture.registry = fixture.registry.of_owner(HashSet::new(), "");
            }
            for number in 0..=MAX_TABS {
                fixture.attached(&format!("t{number}"));
            }
            assert_eq!(fixture.targets().len(), MAX_TABS);
            let last = format!("\"t{MAX_TABS}");
            assert_eq!(fixture.has_sent("detachFromTarget", &last).await, has_owner);
            assert_eq!(fixture.has_sent("closeTarget", &last).await, !has_owner);
            let notes = fixture.registry.take_notices().unwrap_or_default();
            assert_eq!(notes.contains("stay open"), has_owner, "{notes}");
        }
    }

    #[tokio::test]
    async fn the_tab_to_start_in_is_registered_beyond_the_limit() {
        let mut fixture = Fixture::new();
        fixture.registry = fixture.registry.of_owner(HashSet::new(), "wanted");
        for number in 0..MAX_TABS {
            fixture.attached(&format!("t{number}"));
        }
        fixture.attached("wanted");
        assert_eq!(fixture.targets().last().map(String::as_str), Some("wanted"));
        fixture.attached("another");
        assert_eq!(fixture.targets().len(), MAX_TABS + 1);
    }

    #[test]
    fn origins_beyond_the_limit_are_noticed() {
        let mut origins = VisitedOrigins::default();
        for number in 0..MAX_ORIGINS {
            origins.add(&format!("https://{number}.example"));
        }
        origins.add("https://0.example");
        origins.add("chrome://settings");
        assert!(!origins.has_more);
        origins.add("https://one-more.example");
        assert!(origins.has_more && origins.known.len() == MAX_ORIGINS);
    }

    #[tokio::test]
    async fn a_tab_of_a_page_beyond_the_limit_is_closed_in_a_browser_of_somebody_else() {
        for (target, is_closed) in [("before", false), ("later", true)] {
            let mut fixture = Fixture::new();
            let existing = HashSet::from(["before".to_owned()]);
            fixture.registry = fixture.registry.of_owner(existing, "t0");
            for number in 0..MAX_TABS {
                fixture.attached(&format!("t{number}"));
            }
            let info = json!({ "targetId": target, "type": "page", "url": "", "openerId": "t0" });
            let event = CdpEvent {
                method: "Target.attachedToTarget".to_owned(),
                params: json!({ "sessionId": format!("{target}-session"), "targetInfo": info }),
                session: None,
            };
            fixture.registry.handle_event(&fixture.client, &event);
            assert_eq!(fixture.targets().len(), MAX_TABS);
            let sent = fixture.has_sent("closeTarget", target).await;
            assert_eq!(sent, is_closed, "{target}");
            let sent = fixture.has_sent("detachFromTarget", target).await;
            assert_eq!(sent, !is_closed, "{target}");
        }
    }

    #[tokio::test]
    async fn tabs_of_the_owner_are_not_reported_as_opened_by_a_page() {
        let mut fixture = Fixture::new();
        let existing = HashSet::from(["before".to_owned()]);
        fixture.registry = fixture.registry.of_owner(existing, "before");
        fixture.attached("before");
        assert_eq!(fixture.registry.take_changes(), []);
        fixture.attached("later");
        assert_eq!(fixture.registry.take_changes().len(), 1);
        assert!(fixture.registry.take_opened_by_page().is_empty());
    }
}
