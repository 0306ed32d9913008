//! The frames of the tabs: the session of each one and the document it shows.

use std::collections::HashMap;

use serde_json::Value;

use crate::client::text;

/// A frame of a tab and its current document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TabFrame {
    /// The session that receives its commands: the tab's, or its own if it is out of process.
    pub(crate) session: String,
    /// The loader id of its document.
    pub(crate) loader: String,
}

/// All frames by CDP frame id.
#[derive(Debug, Default)]
pub(super) struct FrameTable {
    frames: HashMap<String, TabFrame>,
    /// Out-of-process frames by their session.
    frame_sessions: HashMap<String, FrameSession>,
}

/// The session of an out-of-process frame.
#[derive(Debug)]
struct FrameSession {
    /// The session of its parent frame.
    parent: String,
    frame: String,
}

impl FrameTable {
    /// The frame with this id.
    pub(super) fn get(&self, name: &str) -> Option<TabFrame> {
        self.frames.get(name).cloned()
    }

    /// The frames of a session and of its descendants, with their ids.
    pub(super) fn below(&self, session: &str) -> Vec<(String, TabFrame)> {
        let sessions = self.sessions_of(session);
        let listed = self.frames.iter();
        let listed = listed.map(|(name, frame)| (name.clone(), frame.clone()));
        // A frame that just moved out of process may not have reported its document yet.
        let silent = self.frame_sessions.iter();
        let silent =
            silent.filter(|(_, frame_session)| !self.frames.contains_key(&frame_session.frame));
        let silent = silent.map(|(session, frame_session)| {
            let frame = TabFrame {
                session: session.clone(),
                loader: String::new(),
            };
            (frame_session.frame.clone(), frame)
        });
        let mut found: Vec<_> = listed.chain(silent).collect();
        found.retain(|(_, frame)| sessions.contains(&frame.session));
        found
    }

    /// The session of an out-of-process frame.
    pub(super) fn own_session(&self, name: &str) -> Option<String> {
        let mut frame_session = self.frame_sessions.iter();
        let (session, _) = frame_session.find(|(_, frame_session)| frame_session.frame == name)?;
        Some(session.clone())
    }

    /// A session and all its descendants.
    pub(super) fn sessions_of(&self, session: &str) -> Vec<String> {
        let mut found = vec![session.to_owned()];
        let mut visited = 0;
        while let Some(parent) = found.get(visited).cloned() {
            let of_parent = self
                .frame_sessions
                .iter()
                .filter(|(_, frame_session)| frame_session.parent == parent);
            let children: Vec<String> = of_parent.map(|(child, _)| child.clone()).collect();
            found.extend(children);
            visited += 1;
        }
        found
    }

    /// Registers the session of an out-of-process frame and forgets its earlier state.
    pub(super) fn attach(&mut self, parent: &str, session: &str, frame: &str) {
        self.frames.remove(frame);
        let frame_session = FrameSession {
            parent: parent.to_owned(),
            frame: frame.to_owned(),
        };
        self.frame_sessions
            .insert(session.to_owned(), frame_session);
    }

    /// Adds frames from the reply to `Page.getFrameTree`, which events may have overtaken: what they said
    /// of a frame stays.
    pub(super) fn sync(&mut self, session: &str, tree: &Value) {
        let name = text(&tree["frame"]["id"]);
        let is_elsewhere = self.own_session(&name).is_some_and(|own| own != session);
        if !is_elsewhere && !self.frames.contains_key(&name) {
            self.insert_frame(session, &tree["frame"]);
        }
        for child in tree["childFrames"].as_array().into_iter().flatten() {
            self.sync(session, child);
        }
    }

    /// Processes an event of a session.
    pub(super) fn handle_event(&mut self, session: &str, method: &str, params: &Value) {
        match method {
            "Page.frameNavigated" => self.insert_frame(session, &params["frame"]),
            "Page.frameDetached" => {
                let name = text(&params["frameId"]);
                // A frame that moves to another process may be registered there already.
                if self
                    .frames
                    .get(&name)
                    .is_some_and(|frame| frame.session == session)
                {
                    self.frames.remove(&name);
                }
            }
            _ => {}
        }
    }

    /// Forgets a session with its descendants and their frames.
    pub(super) fn forget(&mut self, session: &str) {
        self.frame_sessions.remove(session);
        self.frames.retain(|_, frame| frame.session != session);
        let children: Vec<String> = self
            .frame_sessions
            .iter()
            .filter(|(_, frame_session)| frame_session.parent == session)
            .map(|(child, _)| child.clone())
            .collect();
        for child in children {
            self.forget(&child);
        }
    }

    fn insert_frame(&mut self, session: &str, frame: &Value) {
        let listed = TabFrame {
            session: session.to_owned(),
            loader: text(&frame["loaderId"]),
        };
        self.frames.insert(text(&frame["id"]), listed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn navigated(id: &str, loader: &str) -> Value {
        json!({ "frame": { "id": id, "loaderId": loader } })
    }

    #[test]
    fn a_frame_that_moves_to_another_process_keeps_its_new_session() {
        let mut frames = FrameTable::default();
        frames.handle_event("s1", "Page.frameNavigated", &navigated("f", "l1"));
        frames.attach("s1", "s2", "f");
        assert_eq!(frames.own_session("f").as_deref(), Some("s2"));
        frames.handle_event("s2", "Page.frameNavigated", &navigated("f", "l2"));
        let swap = json!({ "frameId": "f", "reason": "swap" });
        frames.handle_event("s1", "Page.frameDetached", &swap);
        let expected = TabFrame {
            session: "s2".to_owned(),
            loader: "l2".to_owned(),
        };
        assert_eq!(frames.get("f"), Some(expected));
    }

    #[test]
    fn a_late_frame_tree_does_not_replace_newer_events() {
        let mut frames = FrameTable::default();
        let tree = |loader: &str| {
            let child = json!({ "frame": { "id": "inner", "loaderId": loader } });
            json!({ "frame": { "id": "outer", "loaderId": "o" }, "childFrames": [child] })
        };
        let shown = |session: &str, loader: &str| {
            Some(TabFrame {
                session: session.to_owned(),
                loader: loader.to_owned(),
            })
        };
        frames.handle_event("s1", "Page.frameNavigated", &navigated("inner", "l2"));
        frames.sync("s1", &tree("l1"));
        assert_eq!(frames.get("inner"), shown("s1", "l2"));
        assert_eq!(frames.get("outer"), shown("s1", "o"));
        // It moves to another process, and says nothing yet.
        frames.attach("s1", "s2", "inner");
        frames.sync("s1", &tree("l1"));
        assert_eq!(frames.get("inner"), None);
        frames.handle_event("s2", "Page.frameNavigated", &navigated("inner", "l3"));
        frames.sync("s1", &tree("l1"));
        assert_eq!(frames.get("inner"), shown("s2", "l3"));
    }

    #[test]
    fn forgetting_a_session_forgets_its_descendants() {
        let mut frames = FrameTable::default();
        frames.attach("s1", "s2", "outer");
        frames.attach("s2", "s3", "inner");
        frames.handle_event("s3", "Page.frameNavigated", &navigated("inner", "l"));
        frames.forget("s1");
        assert_eq!(frames.get("inner"), None);
    }
}
