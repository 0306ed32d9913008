//! The targets of the session's context, as the browser announces them, and which of them a program
//! asked to be told of.

use std::collections::HashMap;

use serde_json::{Value, json};

/// Kinds of targets that a program may know. A tab is what its pages are attached to.
const TARGET_TYPES: &[&str] = &[
    "iframe",
    "page",
    "service_worker",
    "shared_worker",
    "tab",
    "worker",
];

/// The targets of one browser context, those of the browser itself included: a page that became one
/// of them has to be known for it.
#[derive(Debug)]
pub(crate) struct KnownTargets {
    context: String,
    /// `TargetInfo` of each, by id.
    infos: HashMap<String, Value>,
    /// What a program asked to be told of; absent while it has not asked.
    announced: Option<TargetFilter>,
}

/// A filter of CDP: the first entry that fits a type decides.
#[derive(Clone, Debug)]
pub(crate) struct TargetFilter(Vec<Value>);

impl KnownTargets {
    pub(crate) fn new(context: &str) -> Self {
        Self {
            context: context.to_owned(),
            infos: HashMap::new(),
            announced: None,
        }
    }

    /// Whether this is the browser context of the session.
    pub(crate) fn is_context(&self, id: &Value) -> bool {
        id.as_str() == Some(self.context.as_str())
    }

    /// Remembers what the browser says of a target. False if a program may not know of it.
    pub(crate) fn note(&mut self, info: &Value) -> bool {
        let kind = info["type"].as_str().unwrap_or_default();
        if !self.is_context(&info["browserContextId"]) || !TARGET_TYPES.contains(&kind) {
            return false;
        }
        let id = info["targetId"].as_str().unwrap_or_default();
        self.infos.insert(id.to_owned(), info.clone());
        self.sees(id)
    }

    /// A page that a command has opened, until the browser announces it.
    pub(crate) fn note_opened(&mut self, id: &str, url: &str) {
        let info = json!({
            "targetId": id, "type": "page", "url": url, "browserContextId": self.context,
        });
        self.infos.entry(id.to_owned()).or_insert(info);
    }

    /// The main frame of a page has loaded another URL.
    pub(crate) fn note_url(&mut self, id: &str, url: &str) {
        if let Some(info) = self.infos.get_mut(id) {
            info["url"] = url.into();
        }
    }

    /// Forgets a target that is gone.
    pub(crate) fn forget(&mut self, id: &str) {
        self.infos.remove(id);
    }

    /// Whether a program may know of this target.
    pub(crate) fn sees(&self, id: &str) -> bool {
        self.infos.contains_key(id) && !self.is_privileged(id)
    }

    /// Whether a page belongs to the browser itself, or shows files of the machine.
    pub(crate) fn is_privileged(&self, id: &str) -> bool {
        is_privileged(self.infos.get(id).map_or("", url_of))
    }

    /// The URLs of those that a program may know of.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &str> {
        let urls = self.infos.values().map(url_of);
        urls.filter(|url| !is_privileged(url))
    }

    /// Begins or ends to tell the program of targets: the events about those that there are.
    pub(crate) fn announce(&mut self, filter: Option<TargetFilter>) -> Vec<Value> {
        let was_announced = self.announced.is_some();
        self.announced = filter;
        if was_announced {
            return Vec::new();
        }
        let seen = self.infos.iter().filter(|(id, _)| self.is_announced(id));
        let events = seen.map(|(_, info)| {
            json!({ "method": "Target.targetCreated", "params": { "targetInfo": info } })
        });
        events.collect()
    }

    /// Whether the program asked to be told of this target, and may know of it.
    pub(crate) fn is_announced(&self, id: &str) -> bool {
        let kind = self.infos.get(id).map(|info| &info["type"]);
        let filter = self.announced.as_ref();
        let (Some(kind), Some(filter)) = (kind, filter) else {
            return false;
        };
        self.sees(id) && filter.has(kind)
    }
}

impl TargetFilter {
    /// The filter of a command; without one, that of CDP.
    pub(crate) fn of(filter: Option<&Value>) -> Self {
        let usual = || {
            vec![
                json!({ "type": "browser", "exclude": true }),
                json!({ "type": "tab", "exclude": true }),
                json!({}),
            ]
        };
        Self(
            filter
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_else(usual),
        )
    }

    fn has(&self, kind: &Value) -> bool {
        let mut entries = self.0.iter();
        let first = entries.find(|entry| entry["type"].is_null() || entry["type"] == *kind);
        first.is_some_and(|entry| entry["exclude"] != true)
    }
}

fn url_of(info: &Value) -> &str {
    info["url"].as_str().unwrap_or_default()
}

/// Whether a page belongs to the browser itself, or shows files of the machine.
fn is_privileged(url: &str) -> bool {
    const SCHEMES: [&str; 8] = [
        "chrome:",
        "chrome-extension:",
        "chrome-search:",
        "chrome-untrusted:",
        "devtools:",
        "file:",
        "filesystem:",
        "view-source:",
    ];
    let url = url.trim_start().to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}
