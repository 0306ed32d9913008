//! The tab that is no tab of the session, and the origins whose stored data it is opened for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{RegistryState, TabRegistry};
use crate::client::{CdpClient, lock, text};

/// Origins per browser that are remembered as visited.
const MAX_ORIGINS: usize = 1_000;

/// A tab in which every request is answered with an empty document.
#[derive(Debug, Default)]
pub(super) enum PrivateTab {
    #[default]
    None,
    /// It is being opened at this URL. New tabs that no page opened wait until Chromium has said
    /// which of them it is.
    Expected {
        url: String,
        waiting: Vec<Value>,
    },
    /// It has this CDP target id, and is not attached yet.
    Named(String),
    Attached {
        target: String,
        session: String,
    },
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
            Self::Named(_) => return NewTab::Listed,
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
#[derive(Debug, Default)]
pub(super) struct VisitedOrigins(BTreeSet<String>);

impl VisitedOrigins {
    /// Adds the origin of a document from `Page.frameNavigated`.
    pub(super) fn add_document(&mut self, frame: &Value) {
        if frame["unreachableUrl"].is_null() {
            self.add(&text(&frame["securityOrigin"]));
        }
    }

    fn add(&mut self, origin: &str) {
        let is_web = origin.starts_with("http://") || origin.starts_with("https://");
        if is_web && self.0.len() < MAX_ORIGINS {
            self.0.insert(origin.to_owned());
        }
    }
}

impl TabRegistry {
    /// The origins of documents that were loaded.
    pub(crate) fn visited_origins(&self) -> BTreeSet<String> {
        lock(&self.state).origins.0.clone()
    }

    /// Remembers an origin in which data was stored.
    pub(crate) fn add_origin(&self, origin: &str) {
        lock(&self.state).origins.add(origin);
    }

    /// Adds the origins that an earlier connection to the same browser visited.
    pub(crate) fn add_origins(&self, origins: BTreeSet<String>) {
        lock(&self.state).origins.0.extend(origins);
    }

    /// Expects the private tab, which is opened at this URL, and which nothing else opens.
    pub(crate) fn expect_private_tab(&self, url: &str) {
        lock(&self.state).private_tab = PrivateTab::Expected {
            url: url.to_owned(),
            waiting: Vec::new(),
        };
    }

    /// Says which tab is the private one. Others that came meanwhile are tabs of the session.
    pub(crate) fn name_private_tab(&self, client: &CdpClient, target: &str) {
        self.end_expecting(client, PrivateTab::Named(target.to_owned()));
    }

    /// The session of the private tab, once it is attached.
    pub(crate) fn private_tab(&self) -> Option<String> {
        match &lock(&self.state).private_tab {
            PrivateTab::Attached { session, .. } => Some(session.clone()),
            PrivateTab::None | PrivateTab::Expected { .. } | PrivateTab::Named(_) => None,
        }
    }

    /// Closes the private tab. If Chromium has not said which one it is, it is closed as soon as it
    /// shows its URL.
    pub(crate) fn close_private_tab(&self, client: &CdpClient) {
        let closed = self.end_expecting(client, PrivateTab::None);
        let mut state = lock(&self.state);
        match closed {
            PrivateTab::None => {}
            PrivateTab::Named(target) | PrivateTab::Attached { target, .. } => {
                client.notify(None, "Target.closeTarget", json!({ "targetId": target }));
            }
            PrivateTab::Expected { url, .. } => {
                let tab = state.tabs.iter().find(|tab| tab.url == url);
                if let Some(tab) = tab {
                    let params = json!({ "targetId": tab.target });
                    client.notify(None, "Target.closeTarget", params);
                } else {
                    state.abandoned_urls.insert(url);
                }
            }
        }
    }

    /// Changes the state of the private tab, and lists the tabs that waited for that. Returns the
    /// state before.
    fn end_expecting(&self, client: &CdpClient, now: PrivateTab) -> PrivateTab {
        let setup = self.setup();
        let before = {
            let mut state = lock(&self.state);
            let mut before = std::mem::replace(&mut state.private_tab, now);
            if let PrivateTab::Expected { waiting, .. } = &mut before {
                for params in std::mem::take(waiting) {
                    state.attach(client, &setup, &params);
                }
            }
            before
        };
        self.notify();
        before
    }
}

impl RegistryState {
    /// Closes a private tab that was given up before Chromium said which one it is.
    pub(super) fn close_abandoned(&mut self, client: &CdpClient, info: &Value) {
        if self.abandoned_urls.remove(&text(&info["url"])) {
            let params = json!({ "targetId": info["targetId"] });
            client.notify(None, "Target.closeTarget", params);
        }
    }
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

    const URL: &str = "about:blank#private";

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

        /// A tab that no page opened is attached, or changes its URL.
        fn tab(&self, method: &str, target: &str, url: &str) {
            let info = json!({ "targetId": target, "type": "page", "url": url });
            let event = CdpEvent {
                method: format!("Target.{method}"),
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
        fixture.registry.expect_private_tab(URL);
        fixture.tab("attachedToTarget", "other", "");
        fixture.tab("attachedToTarget", "own", "");
        assert_eq!(fixture.registry.private_tab(), None);
        fixture.registry.name_private_tab(&fixture.client, "own");
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
        fixture.registry.expect_private_tab(URL);
        fixture.registry.name_private_tab(&fixture.client, "own");
        fixture.tab("attachedToTarget", "other", "");
        fixture.tab("attachedToTarget", "own", "");
        assert!(fixture.registry.private_tab().is_some());
        assert_eq!(fixture.targets(), ["other"]);
    }

    #[tokio::test]
    async fn a_private_tab_that_was_given_up_is_closed_when_it_shows_its_url() {
        for is_waiting in [true, false] {
            let mut fixture = Fixture::new();
            fixture.registry.expect_private_tab(URL);
            if is_waiting {
                fixture.tab("attachedToTarget", "own", "");
            }
            fixture.registry.close_private_tab(&fixture.client);
            if !is_waiting {
                fixture.tab("attachedToTarget", "own", "");
            }
            fixture.tab("targetInfoChanged", "other", "about:blank");
            assert!(!fixture.has_sent("closeTarget", "target").await);
            fixture.tab("targetInfoChanged", "own", URL);
            assert!(fixture.has_sent("closeTarget", "\"own\"").await);
        }
    }

    #[tokio::test]
    async fn a_tab_of_the_owner_beyond_the_limit_stays_open() {
        for has_owner in [true, false] {
            let mut fixture = Fixture::new();
            if has_owner {
                fixture.registry = fixture.registry.of_owner(HashSet::new());
            }
            for number in 0..=MAX_TABS {
                fixture.tab("attachedToTarget", &format!("t{number}"), "");
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
    async fn a_tab_of_a_page_beyond_the_limit_is_closed_in_a_browser_of_somebody_else() {
        for (target, is_closed) in [("before", false), ("later", true)] {
            let mut fixture = Fixture::new();
            let existing = HashSet::from(["before".to_owned()]);
            fixture.registry = fixture.registry.of_owner(existing);
            for number in 0..MAX_TABS {
                fixture.tab("attachedToTarget", &format!("t{number}"), "");
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
        fixture.registry = fixture.registry.of_owner(existing);
        fixture.tab("attachedToTarget", "before", "");
        assert_eq!(fixture.registry.take_changes(), []);
        fixture.tab("attachedToTarget", "later", "");
        assert_eq!(fixture.registry.take_changes().len(), 1);
        assert!(fixture.registry.take_opened_by_page().is_empty());
    }
}
