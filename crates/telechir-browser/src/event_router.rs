//! Whose an event is: the tabs of each context have a book of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};

use crate::tab_registry::Book;
use crate::client::{Client, Event, lock};

/// The books of one Chromium's contexts.
#[derive(Debug)]
pub(crate) struct Shelf {
    tabs: Tabs,
    state: Mutex<State>,
}

/// How we come by the tabs of a Chromium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tabs {
    /// Chromium gives us every tab, before its page runs: it is ours alone.
    Given,
    /// We take those of our own contexts; the others are somebody else's.
    Taken,
}

#[derive(Debug, Default)]
struct State {
    /// Of the context that nobody made.
    first: Weak<Book>,
    contexts: HashMap<String, Weak<Book>>,
    sessions: HashMap<String, Weak<Book>>,
}

impl Shelf {
    /// A shelf without books.
    pub(crate) fn new(tabs: Tabs) -> Self {
        Self {
            tabs,
            state: Mutex::default(),
        }
    }

    /// Puts a book there: that of a context by its name, or that of the one nobody made.
    pub(crate) fn put(&self, context: Option<&str>, book: &Arc<Book>) {
        let mut state = lock(&self.state);
        let book = Arc::downgrade(book);
        match context {
            Some(context) => drop(state.contexts.insert(context.to_owned(), book)),
            None => state.first = book,
        }
    }

    /// Takes the book of a context away.
    pub(crate) fn remove(&self, context: &str) {
        let mut state = lock(&self.state);
        if let Some(book) = state.contexts.remove(context) {
            state.sessions.retain(|_, other| !other.ptr_eq(&book));
        }
    }

    /// Hands an event to the book that it is for. Never waits.
    pub(crate) fn take(&self, client: &Client, event: &Event) {
        if self.tabs == Tabs::Taken && event.method == "Target.targetCreated" {
            self.take_tab(client, &event.params["targetInfo"]);
        }
        for book in self.readers(event) {
            book.take(client, event);
        }
    }

    /// Has Chromium attach us to a new tab that is ours.
    fn take_tab(&self, client: &Client, info: &Value) {
        let state = lock(&self.state);
        let is_ours = state.of_context(info).is_some();
        if is_ours && info["type"] == "page" {
            let params = json!({ "targetId": info["targetId"], "flatten": true });
            client.notify(None, "Target.attachToTarget", params);
        }
    }

    fn readers(&self, event: &Event) -> Vec<Arc<Book>> {
        let mut state = lock(&self.state);
        let own = |params: &Value| params["sessionId"].as_str().unwrap_or_default().to_owned();
        let book = match (event.method.as_str(), &event.session) {
            ("Target.attachedToTarget", from) => {
                let book = match from {
                    None => state.of_context(&event.params["targetInfo"]),
                    Some(session) => state.of_session(session),
                };
                if let Some(book) = &book {
                    let book = Arc::downgrade(book);
                    state.sessions.insert(own(&event.params), book);
                }
                book
            }
            ("Target.detachedFromTarget", _) => {
                let book = state.sessions.remove(&own(&event.params));
                book.and_then(|book| book.upgrade())
            }
            ("Browser.downloadWillBegin", None) => {
                let frame = event.params["frameId"].as_str().unwrap_or_default();
                let mut books = state.all().into_iter();
                books.find(|book| book.knows_frame(frame))
            }
            (_, Some(session)) => state.of_session(session),
            // Each looks whether it is one of its tabs.
            (_, None) => return state.all(),
        };
        book.into_iter().collect()
    }
}

impl State {
    fn of_context(&self, info: &Value) -> Option<Arc<Book>> {
        let context = info["browserContextId"].as_str().unwrap_or_default();
        self.contexts.get(context).unwrap_or(&self.first).upgrade()
    }

    fn of_session(&self, session: &str) -> Option<Arc<Book>> {
        self.sessions.get(session)?.upgrade()
    }

    fn all(&self) -> Vec<Arc<Book>> {
        let books = std::iter::once(&self.first).chain(self.contexts.values());
        books.filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Setup;

    fn event(method: &str, session: Option<&str>, params: Value) -> Event {
        Event {
            method: method.to_owned(),
            params,
            session: session.map(str::to_owned),
        }
    }

    fn attached(session: &str, context: &str) -> Event {
        let info = json!({ "type": "page", "browserContextId": context });
        let params = json!({ "sessionId": session, "targetInfo": info });
        event("Target.attachedToTarget", None, params)
    }

    #[test]
    fn an_event_goes_to_the_book_of_its_context() {
        let shelf = Shelf::new(Tabs::Given);
        let [first, second] = [(); 2].map(|()| Arc::new(Book::new(Setup::default())));
        shelf.put(None, &first);
        shelf.put(Some("C"), &second);
        let reads = |event: &Event, book: &Arc<Book>| {
            let readers = shelf.readers(event);
            readers.len() == 1 && Arc::ptr_eq(&readers[0], book)
        };
        assert!(reads(&attached("s1", "whatever Chromium calls it"), &first));
        assert!(reads(&attached("s2", "C"), &second));
        let frame = json!({ "sessionId": "s3", "targetInfo": { "type": "iframe" } });
        assert!(reads(
            &event("Target.attachedToTarget", Some("s2"), frame),
            &second
        ));
        let load = |session| event("Page.frameNavigated", Some(session), json!({}));
        assert!(reads(&load("s1"), &first));
        assert!(reads(&load("s3"), &second));
        let gone = event(
            "Target.detachedFromTarget",
            Some("s2"),
            json!({ "sessionId": "s3" }),
        );
        assert!(reads(&gone, &second));
        assert!(shelf.readers(&load("s3")).is_empty());
        let renamed = event("Target.targetInfoChanged", None, json!({}));
        assert_eq!(shelf.readers(&renamed).len(), 2);
        shelf.remove("C");
        assert!(shelf.readers(&load("s2")).is_empty());
    }

    #[test]
    fn what_is_in_nobody_s_context_is_read_by_nobody() {
        let shelf = Shelf::new(Tabs::Taken);
        let ours = Arc::new(Book::new(Setup::default()));
        shelf.put(Some("C"), &ours);
        assert!(shelf.readers(&attached("s1", "a person's own")).is_empty());
        assert!(
            shelf
                .readers(&event("Page.load", Some("s1"), json!({})))
                .is_empty()
        );
    }
}
