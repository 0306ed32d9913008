//! Which frames the tabs have: where each one's commands go, and which document it shows.

use std::collections::HashMap;

use serde_json::Value;

use super::text;

/// A frame of a tab.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    /// Where its commands go: its tab's session, or its own when it has a process of its own.
    pub(crate) session: String,
    /// The load its document came from.
    pub(crate) loader: String,
}

/// All frames by their names, which Chromium gives.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: HashMap<String, Frame>,
    /// Sessions of frames with processes of their own.
    own_sessions: HashMap<String, Own>,
}

/// A session that is a frame's own.
#[derive(Debug)]
struct Own {
    /// The session it came from.
    parent: String,
    frame: String,
}

impl Frames {
    /// The frame with this name.
    pub(super) fn get(&self, name: &str) -> Option<Frame> {
        self.frames.get(name).cloned()
    }

    /// The frames of a session and of those that came from it, by their names.
    pub(super) fn below(&self, session: &str) -> Vec<(String, Frame)> {
        let sessions = self.sessions_of(session);
        let known = self.frames.iter();
        let known = known.map(|(name, frame)| (name.clone(), frame.clone()));
        // One that got a process of its own may have said nothing yet of what it shows.
        let silent = self.own_sessions.iter();
        let silent = silent.filter(|(_, own)| !self.frames.contains_key(&own.frame));
        let silent = silent.map(|(session, own)| {
            let frame = Frame {
                session: session.clone(),
                loader: String::new(),
            };
            (own.frame.clone(), frame)
        });
        let mut found: Vec<_> = known.chain(silent).collect();
        found.retain(|(_, frame)| sessions.contains(&frame.session));
        found
    }

    /// The session of its own that a frame has, when it has one.
    pub(super) fn own_session(&self, name: &str) -> Option<String> {
        let mut own = self.own_sessions.iter();
        let (session, _) = own.find(|(_, own)| own.frame == name)?;
        Some(session.clone())
    }

    /// A session and all that came from it.
    pub(super) fn sessions_of(&self, session: &str) -> Vec<String> {
        let mut found = vec![session.to_owned()];
        let mut looked_at = 0;
        while let Some(parent) = found.get(looked_at).cloned() {
            let of_parent = self
                .own_sessions
                .iter()
                .filter(|(_, own)| own.parent == parent);
            let children: Vec<String> = of_parent.map(|(child, _)| child.clone()).collect();
            found.extend(children);
            looked_at += 1;
        }
        found
    }

    /// Takes in that a frame has a process, and so a session, of its own. What was known of it
    /// was so elsewhere.
    pub(super) fn attach(&mut self, parent: &str, session: &str, frame: &str) {
        self.frames.remove(frame);
        let own = Own {
            parent: parent.to_owned(),
            frame: frame.to_owned(),
        };
        self.own_sessions.insert(session.to_owned(), own);
    }

    /// Takes in a list of frames, as a session tells it when it is asked.
    pub(super) fn sync(&mut self, session: &str, tree: &Value) {
        self.put(session, &tree["frame"]);
        for child in tree["childFrames"].as_array().into_iter().flatten() {
            self.sync(session, child);
        }
    }

    /// Takes in what a session says of its frames.
    pub(super) fn take(&mut self, session: &str, method: &str, params: &Value) {
        match method {
            "Page.frameNavigated" => self.put(session, &params["frame"]),
            "Page.frameDetached" => {
                let name = text(&params["frameId"]);
                // One that moves to another process may be known there already.
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

    /// Forgets a session with all that came from it, and the frames whose commands went there.
    pub(super) fn forget(&mut self, session: &str) {
        self.own_sessions.remove(session);
        self.frames.retain(|_, frame| frame.session != session);
        let children: Vec<String> = self
            .own_sessions
            .iter()
            .filter(|(_, own)| own.parent == session)
            .map(|(child, _)| child.clone())
            .collect();
        for child in children {
            self.forget(&child);
        }
    }

    fn put(&mut self, session: &str, frame: &Value) {
        let known = Frame {
            session: session.to_owned(),
            loader: text(&frame["loaderId"]),
        };
        self.frames.insert(text(&frame["id"]), known);
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
    fn a_frame_that_moves_to_another_process_goes_on_there() {
        let mut frames = Frames::default();
        frames.take("s1", "Page.frameNavigated", &navigated("f", "l1"));
        frames.attach("s1", "s2", "f");
        assert_eq!(frames.own_session("f").as_deref(), Some("s2"));
        frames.take("s2", "Page.frameNavigated", &navigated("f", "l2"));
        let swap = json!({ "frameId": "f", "reason": "swap" });
        frames.take("s1", "Page.frameDetached", &swap);
        let expected = Frame {
            session: "s2".to_owned(),
            loader: "l2".to_owned(),
        };
        assert_eq!(frames.get("f"), Some(expected));
    }

    #[test]
    fn what_came_from_a_session_goes_with_it() {
        let mut frames = Frames::default();
        frames.attach("s1", "s2", "outer");
        frames.attach("s2", "s3", "inner");
        frames.take("s3", "Page.frameNavigated", &navigated("inner", "l"));
        frames.forget("s1");
        assert_eq!(frames.get("inner"), None);
    }
}
