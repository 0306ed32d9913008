//! The execution contexts of one session: those that the program was told of, and telechir's own, which
//! it neither sees nor enters.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The contexts of one session.
#[derive(Debug, Default)]
pub(crate) struct KnownWorlds {
    /// By number.
    shown: HashSet<i64>,
    /// By `uniqueId`.
    shown_unique: HashSet<String>,
    /// telechir's own, by number.
    own: HashSet<i64>,
}

impl KnownWorlds {
    /// A context begins. False if its name is that of telechir's own.
    pub(crate) fn begin(&mut self, context: &Value, own_name: &str) -> bool {
        let is_own = context["name"] == own_name;
        if let Some(id) = context["id"].as_i64() {
            // Another process counts anew.
            self.shown.remove(&id);
            self.own.remove(&id);
            match is_own {
                true => self.own.insert(id),
                false => self.shown.insert(id),
            };
        }
        let unique = context["uniqueId"].as_str().filter(|_| !is_own);
        self.shown_unique.extend(unique.map(str::to_owned));
        !is_own
    }

    /// The program made this context itself.
    pub(crate) fn note_made(&mut self, id: &Value) {
        self.shown
            .extend(id.as_i64().filter(|id| !self.own.contains(id)));
    }

    /// A context has ended. False if it was telechir's own.
    pub(crate) fn end(&mut self, params: &Value) -> bool {
        if let Some(unique) = params["executionContextUniqueId"].as_str() {
            self.shown_unique.remove(unique);
        }
        let id = params["executionContextId"].as_i64();
        id.is_none_or(|id| {
            self.shown.remove(&id);
            !self.own.remove(&id)
        })
    }

    /// Whether an event comes from telechir's own context.
    pub(crate) fn is_own(&self, id: &Value) -> bool {
        id.as_i64().is_some_and(|id| self.own.contains(&id))
    }

    /// Whether a command names a context that the program does not know, or an object of telechir's own.
    pub(crate) fn is_foreign(&self, params: &Map<String, Value>) -> bool {
        let is_number_foreign = ["contextId", "executionContextId"].iter().any(|name| {
            let id = params.get(*name).filter(|id| !id.is_null());
            id.is_some_and(|id| id.as_i64().is_none_or(|id| !self.shown.contains(&id)))
        });
        let unique = params.get("uniqueContextId").filter(|id| !id.is_null());
        let is_unique_foreign =
            unique.is_some_and(|id| id.as_str().is_none_or(|id| !self.shown_unique.contains(id)));
        let arguments = params.get("arguments").and_then(Value::as_array);
        let objects = arguments.into_iter().flatten().map(|one| &one["objectId"]);
        let mut objects = objects.chain(params.get("objectId"));
        is_number_foreign || is_unique_foreign || objects.any(|id| self.is_object_own(id))
    }

    /// Ids of objects are `ISOLATE.CONTEXT.NUMBER`.
    fn is_object_own(&self, id: &Value) -> bool {
        let mut parts = id.as_str().unwrap_or_default().split('.').skip(1);
        let context = parts.next().and_then(|part| part.parse().ok());
        context.is_some_and(|context: i64| self.own.contains(&context))
    }
}
