//! Input events of CDP as the actions that a policy knows.

use serde_json::{Map, Value};
use telechir_protocol::{Action, Button, Chord, Key, Modifier, Point, ScrollUnit, Target};

use crate::commands::{Treatment, text};
use crate::gateway::JudgedScope;
use crate::us_keyboard;

/// The bits of `modifiers`.
const MODIFIERS: [(u64, Modifier); 4] = [
    (1, Modifier::Alt),
    (2, Modifier::Ctrl),
    (4, Modifier::Super),
    (8, Modifier::Shift),
];

/// `Input.dispatchMouseEvent`
pub(crate) fn mouse(params: &Map<String, Value>) -> Treatment {
    let at = point(params);
    let button = match text(params, "button").as_str() {
        "right" => Button::Right,
        "middle" => Button::Middle,
        "back" => Button::Back,
        "forward" => Button::Forward,
        _ => Button::Left,
    };
    let number = |name: &str| params.get(name).and_then(Value::as_f64).unwrap_or_default();
    judged(match text(params, "type").as_str() {
        "mousePressed" => Action::MouseDown {
            at: Some(at),
            button,
        },
        "mouseReleased" => Action::MouseUp {
            at: Some(at),
            button,
        },
        "mouseMoved" => Action::Move { at },
        "mouseWheel" => Action::Scroll {
            at: Some(at),
            dx: number("deltaX"),
            dy: number("deltaY"),
            unit: ScrollUnit::Pixels,
            modifiers: Vec::new(),
        },
        _ => return refused("`type` is no mouse event"),
    })
}

/// `Input.dispatchTouchEvent`
pub(crate) fn touch(params: &Map<String, Value>) -> Treatment {
    let points = params.get("touchPoints").and_then(Value::as_array);
    let first = points
        .and_then(|points| points.first())
        .and_then(Value::as_object);
    let at = first.map(point);
    let button = Button::Left;
    judged(match text(params, "type").as_str() {
        "touchStart" => Action::MouseDown { at, button },
        "touchEnd" | "touchCancel" => Action::MouseUp { at, button },
        "touchMove" => Action::Move {
            at: at.unwrap_or_else(|| Target::Point(Point::new(0, 0))),
        },
        _ => return refused("`type` is no touch event"),
    })
}

/// `Input.dispatchDragEvent`, which could carry files of the machine.
pub(crate) fn drag(params: &Map<String, Value>) -> Treatment {
    let data = params.get("data").and_then(Value::as_object);
    let files = data.and_then(|data| data.get("files"));
    let has_files = files.is_some_and(|files| files.as_array().is_none_or(|list| !list.is_empty()));
    if has_files {
        return refused("files are uploaded by DOM.setFileInputFiles alone");
    }
    judged(Action::Drag {
        path: vec![point(params)],
        button: Button::Left,
        modifiers: Vec::new(),
        duration: None,
    })
}

/// `Input.insertText`
pub(crate) fn insert_text(params: &Map<String, Value>) -> Treatment {
    judged(typing(text(params, "text")))
}

/// `Input.dispatchKeyEvent`
pub(crate) fn key(params: &mut Map<String, Value>) -> Treatment {
    // They act without any key, such as a paste of the clipboard.
    let commands = params.get("commands").and_then(Value::as_array);
    if commands.is_some_and(|commands| !commands.is_empty()) {
        return refused("editing commands of a key event are not offered; press the keys");
    }
    // Codes of the machine's own keyboard say once more which key it is.
    params.remove("nativeVirtualKeyCode");
    params.remove("keyIdentifier");
    let bits = params.get("modifiers").and_then(Value::as_u64);
    let bits = bits.unwrap_or_default();
    let (name, typed) = (text(params, "key"), text(params, "text"));
    let is_plain = bits & 7 == 0;
    let kind = text(params, "type");
    if params.get("unmodifiedText").and_then(Value::as_str) != Some(typed.as_str()) {
        params.remove("unmodifiedText");
    }
    if !us_keyboard::is_one_key(params, &name, &typed) {
        return refused("`key`, `code`, `text` and `windowsVirtualKeyCode` name different keys");
    }
    let is_text = !typed.is_empty() && !typed.chars().any(char::is_control);
    match kind.as_str() {
        "char" | "keyDown" if is_text && is_plain => return judged(typing(typed)),
        "char" if typed.is_empty() => return Treatment::Answer(Value::Object(Map::new())),
        "keyDown" | "rawKeyDown" | "keyUp" | "char" => {}
        _ => return refused("`type` is no key event"),
    }
    let name = match (name.as_str(), typed.as_str()) {
        ("", "\r" | "\n") => "Enter".to_owned(),
        ("", _) => typed,
        _ => name,
    };
    let key = Key::parse(&name);
    if name.is_empty() || matches!(key, Key::Other(_)) {
        return refused("the key is not known");
    }
    let modifiers = MODIFIERS
        .iter()
        .filter(|(bit, modifier)| bits & bit != 0 && key != Key::Modifier(*modifier));
    let keys = modifiers.map(|(_, modifier)| Key::Modifier(*modifier));
    let Some(chord) = Chord::new(keys.chain([key.clone()]).collect()) else {
        return refused("the key is not known");
    };
    judged(match kind.as_str() {
        "keyUp" => Action::KeyUp { chord },
        _ => Action::KeyDown { chord },
    })
}

fn typing(text: String) -> Action {
    Action::Type {
        text,
        at: None,
        clear_first: false,
        submit: false,
    }
}

/// The point of an event in pixels of the page; points outside of it are at its edge.
fn point(params: &Map<String, Value>) -> Target {
    let pixels = |name: &str| {
        let number = params.get(name).and_then(Value::as_f64).unwrap_or_default();
        let clamped = number.round().clamp(0.0, 65_535.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 65535"
        )]
        let pixels = clamped as u32;
        pixels
    };
    Target::Point(Point::new(pixels("x"), pixels("y")))
}

fn judged(action: Action) -> Treatment {
    Treatment::Judge(action, JudgedScope::Once)
}

fn refused(reason: &str) -> Treatment {
    Treatment::Refuse(reason.to_owned())
}
