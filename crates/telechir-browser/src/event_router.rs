//! Dispatches CDP events to the tab registry of their browser context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};

use crate::client::{CdpClient, CdpEvent, lock};
use crate::tab_registry::TabRegistry;

/// The tab registries of one Chromium's browser contexts.
#[derive(Debug)]
pub(crate) struct EventRouter {
    source: TabSource,
    state: Mutex<RouterState>,
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
}

impl EventRouter {
    /// A router without registries.
    pub(crate) fn new(source: TabSource) -> Self {
        Self {
            source,
            state: Mutex::default(),
        }
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

    /// Removes the registry of a context.
    pub(crate) fn remove(&self, context: &str) {
        let mut state = lock(&self.state);
        if let Some(registry) = state.contexts.remove(context) {
            state.sessions.retain(|_, other| !other.ptr_eq(&registry));
        }
    }

    /// Dispatches an event to its registry. Never waits.
    pub(crate) fn dispatch(&self, client: &CdpClient, event: &CdpEvent) {
        if self.source == TabSource::OwnContextsOnly && event.method == "Target.targetCreated" {
            self.attach_own_tab(client, &event.params["targetInfo"]);
        }
        for registry in self.recipients(event) {
            registry.handle_event(client, event);
        }
    }

    /// Attaches to a new tab of one of our contexts.
    fn attach_own_tab(&self, client: &CdpClient, info: &Value) {
        let state = lock(&self.state);
        let is_own_context = state.registry_of_context(info).is_some();
        if is_own_context && info["type"] == "page" {
            let params = json!({ "targetId": info["targetId"], "flatten": true });
            client.notify(None, "Target.attachToTarget", params);
        }
    }

    fn recipients(&self, event: &CdpEvent) -> Vec<Arc<TabRegistry>> {
        let mut state = lock(&self.state);
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

impl RouterState {
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
