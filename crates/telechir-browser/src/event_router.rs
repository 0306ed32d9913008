//! Dispatches CDP events to the tab registry of their browser context.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_device::DevtoolsEvent;
use telechir_egress::Egress;
use tokio::sync::mpsc;

use crate::client::{CdpClient, CdpEvent, lock};
use crate::error::CdpError;
use crate::request_filter::RequestFilter;
use crate::tab_registry::TabRegistry;

/// Chromium sends two frames at most that were not acknowledged.
const MAX_UNREAD_FRAMES: usize = 8;

/// Events of a channel that its program has not read yet; with more the channel ends.
const MAX_UNREAD_EVENTS: usize = 16_384;

/// The tab registries of one Chromium's browser contexts.
#[derive(Debug)]
pub(crate) struct EventRouter {
    source: TabSource,
    state: Mutex<RouterState>,
    /// Judges the requests of all pages, if no proxy does.
    requests: OnceLock<RequestFilter>,
}

/// How tabs of a Chromium are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TabSource {
    /// Chromium attaches every tab before its page runs: all of its tabs are ours.
    AutoAttach,
    /// Only tabs of our own contexts are attached; other tabs belong to somebody else.
    OwnContextsOnly,
}

#[derive(Debug, Default)]
struct RouterState {
    /// The registry of the default context.
    default_context: Weak<TabRegistry>,
    contexts: HashMap<String, Weak<TabRegistry>>,
    sessions: HashMap<String, Weak<TabRegistry>>,
    /// The receivers of screencasts whose sessions Chromium has not attached yet, by CDP target id.
    attaching_casts: HashMap<String, mpsc::Sender<Value>>,
    /// The receivers of screencasts, by their sessions, which belong to no registry.
    casts: HashMap<String, mpsc::Sender<Value>>,
    /// The channels of other programs, by the sessions whose events they get.
    channels: HashMap<String, ChannelRoute>,
    /// In a context of somebody else, the CDP target ids of the only tabs that are attached; they
    /// and the tabs that they open.
    shared_tabs: Option<HashSet<String>>,
}

/// Where the events of one session of another program go.
#[derive(Clone, Debug)]
struct ChannelRoute {
    /// The session of the channel itself.
    root: String,
    events: mpsc::Sender<DevtoolsEvent>,
}

impl EventRouter {
    /// Sends the events of this session, and of those that it attaches, to the receiver alone.
    pub(crate) fn open_channel(&self, root: &str) -> mpsc::Receiver<DevtoolsEvent> {
        let (events, receiver) = mpsc::channel(MAX_UNREAD_EVENTS);
        let route = ChannelRoute {
            root: root.to_owned(),
            events,
        };
        lock(&self.state).channels.insert(root.to_owned(), route);
        receiver
    }

    /// Ends a channel.
    pub(crate) fn close_channel(&self, root: &str) {
        let mut state = lock(&self.state);
        state.channels.retain(|_, route| route.root != root);
    }

    /// Whether tabs of others are in the same browser context.
    pub(crate) fn shares_context(&self) -> bool {
        lock(&self.state).shared_tabs.is_some()
    }

    /// A router without registries.
    pub(crate) fn new(source: TabSource) -> Self {
        Self {
            source,
            state: Mutex::default(),
            requests: OnceLock::new(),
        }
    }

    /// Judges the requests of all pages and workers from now on.
    ///
    /// # Errors
    /// If the browser does not pause requests.
    pub(crate) async fn judge_requests(
        &self,
        client: &CdpClient,
        egress: &Egress,
        limit: Duration,
    ) -> Result<(), CdpError> {
        let filter = || RequestFilter::start(client, egress, limit);
        self.requests.get_or_init(filter);
        RequestFilter::enable(client, limit).await
    }

    /// Adds the registry of a context, or of the default context for `None`.
    pub(crate) fn register(&self, context: Option<&str>, registry: &Arc<TabRegistry>) {
        let mut state = lock(&self.state);
        let registry = Arc::downgrade(registry);
        match context {
            Some(context) => drop(state.contexts.insert(context.to_owned(), registry)),
            None => state.default_context = registry,
        }
    }

    /// Limits the attached tabs to this one, those that it opens, and those that are added later.
    pub(crate) fn share_only(&self, target: &str) {
        lock(&self.state).shared_tabs = Some(HashSet::from([target.to_owned()]));
    }

    /// Adds and attaches a tab that we opened, if not all tabs of its context are attached anyway.
    pub(crate) fn share(&self, client: &CdpClient, target: &str) {
        let mut state = lock(&self.state);
        let Some(shared) = &mut state.shared_tabs else {
            return;
        };
        if shared.insert(target.to_owned()) {
            attach(client, &target.into());
        }
    }

    /// Removes the registry of a context.
    pub(crate) fn remove(&self, context: &str) {
        let mut state = lock(&self.state);
        if let Some(registry) = state.contexts.remove(context) {
            state.sessions.retain(|_, other| !other.ptr_eq(&registry));
        }
    }

    /// The CDP sessions of a registry: those of tabs, frames and workers.
    pub(crate) fn sessions_of(&self, registry: &Arc<TabRegistry>) -> Vec<String> {
        let registry = Arc::downgrade(registry);
        let state = lock(&self.state);
        let sessions = state.sessions.iter();
        let own = sessions.filter(|(_, other)| other.ptr_eq(&registry));
        own.map(|(session, _)| session.clone()).collect()
    }

    /// Receives the screencast frames of the next session that is attached to this target. That session
    /// is not a tab's: no registry gets its events.
    pub(crate) fn expect_cast(&self, target: &str) -> mpsc::Receiver<Value> {
        let (sender, frames) = mpsc::channel(MAX_UNREAD_FRAMES);
        let mut state = lock(&self.state);
        state.attaching_casts.insert(target.to_owned(), sender);
        frames
    }

    /// Expects no such session any more, because it could not be attached.
    pub(crate) fn forget_cast(&self, target: &str) {
        lock(&self.state).attaching_casts.remove(target);
    }

    /// Dispatches an event to its registry. Never waits.
    pub(crate) fn dispatch(&self, client: &CdpClient, event: &CdpEvent) {
        if event.session.is_none() && event.method == "Fetch.requestPaused" {
            if let Some(filter) = self.requests.get() {
                filter.take(client, &event.params);
            }
            return;
        }
        if self.source == TabSource::OwnContextsOnly && event.method == "Target.targetCreated" {
            self.attach_own_tab(client, &event.params["targetInfo"]);
        }
        for registry in self.recipients(event) {
            registry.handle_event(client, event);
        }
    }

    /// Attaches to a new tab of one of our contexts, or one that a shared tab opened.
    fn attach_own_tab(&self, client: &CdpClient, info: &Value) {
        let mut state = lock(&self.state);
        let is_own_context = state.registry_of_context(info).is_some();
        if is_own_context && info["type"] == "page" && state.is_shared(info) {
            attach(client, &info["targetId"]);
        }
    }

    fn recipients(&self, event: &CdpEvent) -> Vec<Arc<TabRegistry>> {
        let mut state = lock(&self.state);
        if state.is_of_channel(event) || state.is_of_cast(event) {
            return Vec::new();
        }
        let session_id =
            |params: &Value| params["sessionId"].as_str().unwrap_or_default().to_owned();
        let registry = match (event.method.as_str(), &event.session) {
            ("Target.attachedToTarget", from) => {
                let registry = match from {
                    None => state.registry_of_context(&event.params["targetInfo"]),
                    Some(session) => state.registry_of_session(session),
                };
                if let Some(registry) = &registry {
                    let registry = Arc::downgrade(registry);
                    state.sessions.insert(session_id(&event.params), registry);
                }
                registry
            }
            ("Target.detachedFromTarget", _) => {
                let registry = state.sessions.remove(&session_id(&event.params));
                registry.and_then(|registry| registry.upgrade())
            }
            ("Browser.downloadWillBegin", None) => {
                let frame = event.params["frameId"].as_str().unwrap_or_default();
                let mut registries = state.all().into_iter();
                registries.find(|registry| registry.knows_frame(frame))
            }
            (_, Some(session)) => state.registry_of_session(session),
            // Each registry ignores tabs of others.
            (_, None) => return state.all(),
        };
        registry.into_iter().collect()
    }
}

fn attach(client: &CdpClient, target: &Value) {
    let params = json!({ "targetId": target, "flatten": true });
    client.notify(None, "Target.attachToTarget", params);
}

impl RouterState {
    /// Whether an event belongs to another program; passes it on.
    fn is_of_channel(&mut self, event: &CdpEvent) -> bool {
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let Some(session) = &event.session else {
            // The attachment of a channel to the browser itself.
            return event.method == "Target.attachedToTarget"
                && event.params["targetInfo"]["type"] == "browser";
        };
        let Some(route) = self.channels.get(session).cloned() else {
            return false;
        };
        match event.method.as_str() {
            "Target.attachedToTarget" => {
                let attached = id(&event.params["sessionId"]);
                self.channels.insert(attached, route.clone());
            }
            "Target.detachedFromTarget" => {
                self.channels.remove(&id(&event.params["sessionId"]));
            }
            _ => {}
        }
        let sent = route.events.try_send(DevtoolsEvent {
            session: Some(session.clone()).filter(|session| *session != route.root),
            method: event.method.clone(),
            params: event.params.clone(),
        });
        if sent.is_err() {
            // Nobody reads: without its route the receiver ends.
            self.channels.retain(|_, other| other.root != route.root);
        }
        true
    }

    /// Whether an event belongs to a screencast for people; passes a frame on.
    fn is_of_cast(&mut self, event: &CdpEvent) -> bool {
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let params = &event.params;
        match (event.method.as_str(), &event.session) {
            ("Target.attachedToTarget", None) => {
                let target = id(&params["targetInfo"]["targetId"]);
                let Some(frames) = self.attaching_casts.remove(&target) else {
                    return false;
                };
                self.casts.insert(id(&params["sessionId"]), frames);
                true
            }
            ("Target.detachedFromTarget", None) => {
                self.casts.remove(&id(&params["sessionId"])).is_some()
            }
            (method, Some(session)) => {
                let Some(frames) = self.casts.get(session) else {
                    return false;
                };
                if method == "Page.screencastFrame" {
                    // Without an acknowledgement Chromium sends no more than the channel has room for.
                    let _nobody_looks_any_more = frames.try_send(params.clone());
                }
                true
            }
            (_, None) => false,
        }
    }

    /// Whether a tab is used: all are, unless only some of its context are shared with us.
    fn is_shared(&mut self, info: &Value) -> bool {
        let Some(shared) = &mut self.shared_tabs else {
            return true;
        };
        let id = |member: &str| info[member].as_str().unwrap_or_default().to_owned();
        if shared.contains(&id("openerId")) {
            shared.insert(id("targetId"));
        }
        shared.contains(&id("targetId"))
    }

    fn registry_of_context(&self, info: &Value) -> Option<Arc<TabRegistry>> {
        let context = info["browserContextId"].as_str().unwrap_or_default();
        self.contexts
            .get(context)
            .unwrap_or(&self.default_context)
            .upgrade()
    }

    fn registry_of_session(&self, session: &str) -> Option<Arc<TabRegistry>> {
        self.sessions.get(session)?.upgrade()
    }

    fn all(&self) -> Vec<Arc<TabRegistry>> {
        let registries = std::iter::once(&self.default_context).chain(self.contexts.values());
        registries.filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    fn event(method: &str, session: Option<&str>, params: Value) -> CdpEvent {
        CdpEvent {
            method: method.to_owned(),
            params,
            session: session.map(str::to_owned),
        }
    }

    fn attached(session: &str, context: &str) -> CdpEvent {
        let info = json!({ "type": "page", "browserContextId": context });
        let params = json!({ "sessionId": session, "targetInfo": info });
        event("Target.attachedToTarget", None, params)
    }

    #[test]
    fn an_event_goes_to_the_registry_of_its_context() {
        let router = EventRouter::new(TabSource::AutoAttach);
        let [first, second] = [(); 2].map(|()| Arc::new(TabRegistry::new(Setup::default())));
        router.register(None, &first);
        router.register(Some("C"), &second);
        let goes_only_to = |event: &CdpEvent, registry: &Arc<TabRegistry>| {
            let recipients = router.recipients(event);
            recipients.len() == 1 && Arc::ptr_eq(&recipients[0], registry)
        };
        assert!(goes_only_to(
            &attached("s1", "whatever Chromium calls it"),
            &first
        ));
        assert!(goes_only_to(&attached("s2", "C"), &second));
        let frame = json!({ "sessionId": "s3", "targetInfo": { "type": "iframe" } });
        assert!(goes_only_to(
            &event("Target.attachedToTarget", Some("s2"), frame),
            &second
        ));
        let load = |session| event("Page.frameNavigated", Some(session), json!({}));
        assert!(goes_only_to(&load("s1"), &first));
        assert!(goes_only_to(&load("s3"), &second));
        let gone = event(
            "Target.detachedFromTarget",
            Some("s2"),
            json!({ "sessionId": "s3" }),
        );
        assert!(goes_only_to(&gone, &second));
        assert!(router.recipients(&load("s3")).is_empty());
        let renamed = event("Target.targetInfoChanged", None, json!({}));
        assert_eq!(router.recipients(&renamed).len(), 2);
        router.remove("C");
        assert!(router.recipients(&load("s2")).is_empty());
    }

    #[test]
    fn only_a_shared_tab_and_those_that_it_opens_are_attached() {
        let mut state = RouterState::default();
        let tab = |id: &str, opener: &str| json!({ "targetId": id, "openerId": opener });
        assert!(state.is_shared(&tab("any", "")));
        state.shared_tabs = Some(HashSet::from(["a".to_owned()]));
        assert!(state.is_shared(&tab("a", "owner")) && !state.is_shared(&tab("b", "")));
        assert!(state.is_shared(&tab("c", "a")) && state.is_shared(&tab("d", "c")));
        assert!(!state.is_shared(&tab("e", "b")));
    }

    #[test]
    fn events_of_other_contexts_are_ignored() {
        let router = EventRouter::new(TabSource::OwnContextsOnly);
        let registry = Arc::new(TabRegistry::new(Setup::default()));
        router.register(Some("C"), &registry);
        assert!(
            router
                .recipients(&attached("s1", "another context"))
                .is_empty()
        );
        assert!(
            router
                .recipients(&event("Page.load", Some("s1"), json!({})))
                .is_empty()
        );
    }
}
