//! The blocking functions: every form of arguments, and what the computer is given.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Size};
use telechir_tools::{
    Capture, Computer, ComputerError, HandleError, OpenOptions, ScreenshotRetry, SessionInfo,
    handle_computer_action, handle_gemini_computer_action, handle_session_action,
};

/// A computer that records what it is given.
#[derive(Default)]
struct Recorder {
    actions: Vec<Value>,
    opened: Vec<OpenOptions>,
    /// Number of screenshots that fail first.
    missing: u32,
    /// Screenshots that were requested.
    screenshots: u32,
}

impl Computer for Recorder {
    fn execute(&mut self, action: &Action) -> Result<Capture, ComputerError> {
        self.actions.push(json!(action));
        self.screenshot()
    }

    fn screenshot(&mut self) -> Result<Capture, ComputerError> {
        self.screenshots += 1;
        if self.screenshots <= self.missing {
            return Err(ComputerError::screenshot("capture the screen"));
        }
        Ok(Capture {
            image: vec![1, 2, 3],
            media_type: "image/png".to_owned(),
            size: self.display_size(),
            scale: 1.0,
            url: None,
            text: None,
        })
    }

    fn display_size(&self) -> Size {
        Size::new(1280, 800)
    }

    fn close(&mut self) -> Result<(), ComputerError> {
        Ok(())
    }

    fn session_info(&self) -> Option<SessionInfo> {
        Some(SessionInfo {
            session_type: "local".to_owned(),
            session_id: None,
            current_url: Some("http://page/".to_owned()),
        })
    }

    fn context_id(&self) -> Option<String> {
        self.opened
            .last()
            .and_then(|options| options.context_id.clone())
    }

    fn open_session(&mut self, options: &OpenOptions) -> Result<(), ComputerError> {
        self.opened.push(options.clone());
        Ok(())
    }
}

const RETRY: ScreenshotRetry = ScreenshotRetry {
    attempts: 3,
    pause: Duration::ZERO,
};

fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

#[test]
fn computer_calls_are_read_in_all_their_forms() {
    for (arguments, expected) in [
        (
            json!({"action": "click", "coordinate": "[10.6, 20]"}),
            json!({"action": "click", "coordinate": [10.6, 20], "button": "left"}),
        ),
        (
            json!({"action": "right_click", "coordinate": "10,20"}),
            json!({"action": "click", "coordinate": [10, 20], "button": "right"}),
        ),
        (
            json!({"action": "double_click", "label": "7", "coordinate": null}),
            json!({"action": "double_click", "coordinate": {"label": 7}, "button": "left"}),
        ),
        (
            json!({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}),
            json!({"action": "drag", "path": [[1, 2], [3, 4]], "button": "left"}),
        ),
        (
            json!({"action": "mouse_move", "coordinate": [0, 0]}),
            json!({"action": "move", "coordinate": [0, 0]}),
        ),
        (
            json!({"action": "key", "text": "ctrl+s"}),
            json!({"action": "key", "key": "ctrl+s"}),
        ),
        (
            json!({"action": "scroll", "coordinate": [5, 6], "scroll_direction": "up",
                   "scroll_amount": "2"}),
            json!({"action": "scroll", "coordinate": [5, 6], "dx": 0, "dy": -2, "unit": "clicks"}),
        ),
        (
            json!({"action": "wait"}),
            json!({"action": "wait", "duration": 1000}),
        ),
    ] {
        let mut recorder = Recorder::default();
        let done = handle_computer_action(&mut recorder, members(&arguments), RETRY);
        let done = done.unwrap_or_else(|error| panic!("{arguments}: {error}"));
        assert!(done.text.contains("3 bytes"), "{}", done.text);
        let [action] = recorder.actions.as_slice() else {
            panic!("one action, not {:?}", recorder.actions);
        };
        for (name, value) in members(&expected) {
            assert_eq!(&action[name], value, "{arguments}: {action}");
        }
    }
}

#[test]
fn wrong_calls_are_refused_and_nothing_is_executed() {
    for (arguments, pointer, fragment) in [
        (json!({}), "/action", "missing"),
        (
            json!({"action": "click", "coordinate": "1;2"}),
            "/coordinate",
            "expected a point",
        ),
        (json!({"action": "mouse_move"}), "/coordinate", "missing"),
        (
            json!({"action": "navigate", "url": "http://a"}),
            "/action",
            "browser_session",
        ),
        (json!({"action": "type"}), "/text", "missing"),
        (
            json!({"action": "click", "labels": 3}),
            "/labels",
            "no such argument",
        ),
    ] {
        let mut recorder = Recorder::default();
        let refused = handle_computer_action(&mut recorder, members(&arguments), RETRY);
        let Err(HandleError::Arguments(error)) = refused else {
            panic!("{arguments}: {refused:?}");
        };
        assert_eq!(error.pointer, pointer, "{arguments}");
        assert!(error.message.contains(fragment), "{arguments}: {error}");
        assert!(recorder.actions.is_empty());
    }
}

#[test]
fn a_missing_screenshot_is_tried_again_and_the_action_is_not() {
    for (missing, succeeds) in [(0, true), (3, true), (4, false)] {
        let mut recorder = Recorder {
            missing,
            ..Recorder::default()
        };
        let arguments = json!({"action": "click", "coordinate": [1, 1]});
        let done = handle_computer_action(&mut recorder, members(&arguments), RETRY);
        assert_eq!(done.is_ok(), succeeds, "{missing} missing");
        assert_eq!(recorder.actions.len(), 1);
    }
}

#[test]
fn functions_of_gemini_are_executed_in_pixels() {
    for (name, arguments, expected) in [
        (
            "click_at",
            json!({"x": "500", "y": "999"}),
            json!({"action": "click", "coordinate": [640, 799]}),
        ),
        (
            "type_text_at",
            json!({"x": 0, "y": 1000, "text": "5"}),
            json!({"action": "type", "coordinate": [0, 799], "text": "5", "submit": true,
                   "clear_first": true}),
        ),
        (
            "type_text_at",
            json!({"x": 0, "y": 0, "text": "a", "press_enter": "false",
                   "clear_before_typing": false}),
            json!({"action": "type", "text": "a", "submit": null, "clear_first": null}),
        ),
        (
            "drag_and_drop",
            json!({"x": 0, "y": 0, "destination_x": 500, "destination_y": 500}),
            json!({"action": "drag", "path": [[0, 0], [640, 400]]}),
        ),
        (
            "hover_at",
            json!({"x": 100, "y": 100}),
            json!({"action": "hover", "coordinate": [128, 80]}),
        ),
        (
            "wait_5_seconds",
            json!({}),
            json!({"action": "wait", "duration": 5000}),
        ),
        (
            "key_combination",
            json!({"keys": "control+c"}),
            json!({"action": "key", "key": "ctrl+c"}),
        ),
        ("take_screenshot", json!({}), Value::Null),
    ] {
        let mut recorder = Recorder::default();
        let done = handle_gemini_computer_action(&mut recorder, name, members(&arguments), RETRY);
        done.unwrap_or_else(|error| panic!("{name}: {error}"));
        if expected.is_null() {
            assert!(recorder.actions.is_empty() && recorder.screenshots == 1);
            continue;
        }
        for (member, value) in members(&expected) {
            assert_eq!(
                &recorder.actions[0][member], value,
                "{name}: {:?}",
                recorder.actions
            );
        }
    }
    let mut recorder = Recorder::default();
    for (name, arguments) in [("fly", json!({})), ("click_at", json!({"x": 1}))] {
        let refused =
            handle_gemini_computer_action(&mut recorder, name, members(&arguments), RETRY);
        assert!(
            matches!(refused, Err(HandleError::Arguments(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn a_session_is_opened_described_and_closed() {
    let mut recorder = Recorder::default();
    let mut handle = |arguments: Value| handle_session_action(&mut recorder, members(&arguments));
    let opened = handle(
        json!({"action": "open", "url": "http://page/", "context_id": "shop",
        "persist": "false"}),
    );
    let opened = opened.expect("an opened session");
    assert!(opened.text.contains("shop, read-only"), "{}", opened.text);
    let status = handle(json!({"action": "status"})).expect("a status");
    assert_eq!(
        Value::Object(status.status),
        json!({"display": {"width": 1280, "height": 800}, "type": "local", "url": "http://page/",
               "context_id": "shop"})
    );
    let resumed = handle(json!({"action": "resume", "session_id": "s1"}));
    assert_eq!(resumed.expect("a session").text, "Resumed the session s1.");
    assert!(handle(json!({"action": "close"})).is_ok());
    let extended = handle(json!({"action": "extend", "timeout": 60}));
    assert!(
        matches!(extended, Err(HandleError::Computer(_))),
        "not supported"
    );
    let both = handle(json!({"action": "open", "context_id": "a", "session_id": "b"}));
    assert!(matches!(both, Err(HandleError::Arguments(_))));
    let first = &recorder.opened[0];
    assert_eq!(
        (first.url.as_deref(), first.persist),
        (Some("http://page/"), Some(false))
    );
    assert_eq!(recorder.opened[1].session_id.as_deref(), Some("s1"));
}
