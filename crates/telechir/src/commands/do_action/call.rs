//! The neutral call of one action of the command line.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_host::TurnKey;
use telechir_protocol::{
    Action, Button, ClickCount, Command, ComputerCall, Content, NamedElement, Point, ScrollUnit,
    ShellCall, Target, TargetId,
};

use crate::args::{
    ClickArguments, DialogChoice, DoAction, DoScreen, NamedArguments, ScrollDirection,
    ScrollDistance, TargetArguments,
};
use crate::error::CliError;

/// The call that an action is. Texts of errors are those of a usage error.
pub(super) fn content(action: &DoAction, on: Option<DoScreen>) -> Result<Content, CliError> {
    let id = format!("do-{}", TurnKey::unique());
    if let DoAction::Sh { command } = action {
        let command = match command.as_slice() {
            [line] => Command::Line(line.clone()),
            argv => Command::Argv(argv.to_vec()),
        };
        let call = ShellCall::execute(id, vec![command]);
        return Ok(Content::ShellCall(call));
    }
    let is_of_page = is_of_page(action);
    let step = screen_action(action).map_err(CliError::usage)?;
    let mut call = ComputerCall::new(id, vec![step]);
    let default = is_of_page.then_some(DoScreen::Browser);
    call.target = on.or(default).map(|screen| TargetId::from(screen.name()));
    Ok(Content::ComputerCall(call))
}

/// Whether only a browser has the action.
fn is_of_page(action: &DoAction) -> bool {
    matches!(
        action,
        DoAction::Text
            | DoAction::Open { .. }
            | DoAction::Back
            | DoAction::Forward
            | DoAction::Reload
            | DoAction::Tab { .. }
            | DoAction::Js { .. }
            | DoAction::Dialog { .. }
            | DoAction::Upload { .. }
            | DoAction::Pdf { .. }
            | DoAction::Console
            | DoAction::Network
    )
}

fn screen_action(action: &DoAction) -> Result<Action, String> {
    let tab = None;
    Ok(match action {
        DoAction::Click(arguments) => click(arguments),
        DoAction::DoubleClick(at) => clicked(at, Button::Left, ClickCount::Double),
        DoAction::RightClick(at) => clicked(at, Button::Right, ClickCount::Single),
        DoAction::Hover(at) => Action::Hover { at: target_of(at) },
        DoAction::Type {
            first,
            second,
            submit,
            clear,
        } => typed(first, second.as_deref(), *submit, *clear),
        DoAction::Fill { target, value } => filled(plain(target), value.as_str().into()),
        DoAction::Check(at) => filled(target_of(at), true.into()),
        DoAction::Uncheck(at) => filled(target_of(at), false.into()),
        DoAction::Key { keys, repeat } => Action::Key {
            chord: keys.clone(),
            repeat: *repeat,
        },
        DoAction::Scroll {
            direction,
            distance,
            at,
        } => scrolled(*direction, *distance, at.as_deref()),
        DoAction::Drag { from, to } => Action::Drag {
            path: vec![plain(from), plain(to)],
            button: Button::Left,
            modifiers: Vec::new(),
            duration: None,
        },
        DoAction::Screenshot { of: Some(of), .. } => Action::CaptureElement { at: plain(of) },
        DoAction::Screenshot { .. } => Action::Screenshot,
        DoAction::Read {
            target,
            filter,
            depth,
            window,
        } => Action::ReadPage {
            filter: filter.clone(),
            depth: *depth,
            root: match window {
                Some(window) => Some(Target::Named(NamedElement {
                    name: Some(window.clone()),
                    role: Some("window".to_owned()),
                    ..NamedElement::default()
                })),
                None => target.as_deref().map(plain),
            },
            tab,
        },
        DoAction::Text => Action::PageText { tab },
        DoAction::Find { query } => Action::Find {
            query: query.join(" "),
            tab,
        },
        DoAction::Open { url } => Action::Navigate {
            url: url.clone(),
            tab,
        },
        DoAction::Back => Action::Back { tab },
        DoAction::Forward => Action::Forward { tab },
        DoAction::Reload => Action::Reload { tab },
        DoAction::Tab { verb, operand } => on_tab(verb.as_deref(), operand.as_deref())?,
        DoAction::Wait { .. } => waited(action)?,
        DoAction::Js { script } => Action::Javascript {
            script: script.clone(),
            tab,
        },
        DoAction::Dialog { answer, text } => Action::AnswerDialog {
            accept: *answer == DialogChoice::Accept,
            text: text.clone(),
        },
        DoAction::Upload { target, files } => Action::FileUpload {
            at: plain(target),
            paths: files.clone(),
            documents: Vec::new(),
            tab,
        },
        DoAction::Pdf { path } => Action::SavePdf {
            path: path.clone(),
            tab,
        },
        DoAction::Console => Action::ReadConsole { tab },
        DoAction::Network => Action::ReadNetwork { tab },
        DoAction::Window { window: None } => Action::ListWindows,
        DoAction::Window {
            window: Some(window),
        } => Action::FocusWindow {
            window: window.clone(),
        },
        DoAction::App { name } => Action::OpenApp { name: name.clone() },
        DoAction::Clipboard { text: None } => Action::ReadClipboard,
        DoAction::Clipboard { text: Some(text) } => Action::WriteClipboard { text: text.clone() },
        DoAction::Invoke { target, name } => Action::Invoke {
            at: plain(target),
            name: name.clone(),
        },
        DoAction::Action { members } => neutral(members)?,
        DoAction::Sh { .. } | DoAction::Close => {
            return Err("this is not an action of a screen".to_owned());
        }
    })
}

fn click(arguments: &ClickArguments) -> Action {
    Action::Click {
        at: Some(target_of(&arguments.at)),
        button: arguments.button.into(),
        count: ClickCount::Single,
        modifiers: arguments.hold.clone(),
    }
}

fn clicked(at: &TargetArguments, button: Button, count: ClickCount) -> Action {
    Action::Click {
        at: Some(target_of(at)),
        button,
        count,
        modifiers: Vec::new(),
    }
}

fn filled(at: Target, value: Value) -> Action {
    Action::FormInput {
        at,
        value,
        tab: None,
    }
}

fn typed(first: &str, second: Option<&str>, submit: bool, clear_first: bool) -> Action {
    let (at, text) = match second {
        None => (None, first),
        Some(text) => (Some(plain(first)), text),
    };
    Action::Type {
        text: text.to_owned(),
        at,
        clear_first,
        submit,
    }
}

fn scrolled(direction: ScrollDirection, distance: ScrollDistance, at: Option<&str>) -> Action {
    let (amount, unit) = match distance {
        ScrollDistance::Notches(amount) => (amount, ScrollUnit::Clicks),
        ScrollDistance::Pixels(amount) => (amount, ScrollUnit::Pixels),
    };
    let (dx, dy) = match direction {
        ScrollDirection::Up => (0.0, -amount),
        ScrollDirection::Down => (0.0, amount),
        ScrollDirection::Left => (-amount, 0.0),
        ScrollDirection::Right => (amount, 0.0),
    };
    Action::Scroll {
        at: at.map(plain),
        dx,
        dy,
        unit,
        modifiers: Vec::new(),
    }
}

fn on_tab(verb: Option<&str>, operand: Option<&str>) -> Result<Action, String> {
    let owned = |text: &str| text.to_owned();
    Ok(match (verb, operand) {
        (None | Some("list"), None) => Action::ListTabs,
        (Some("new"), url) => Action::NewTab {
            url: url.map(owned),
        },
        (Some("close"), Some(tab)) => Action::CloseTab { tab: owned(tab) },
        (Some("close"), None) => {
            return Err("tab close: expected the name of a tab, which `tab` lists".to_owned());
        }
        (Some(tab), None) => Action::SwitchTab { tab: owned(tab) },
        (_, Some(other)) => {
            return Err(format!(
                "tab: unexpected {other:?}; expected `tab`, `tab NAME`, `tab new [URL]` or `tab close NAME`"
            ));
        }
    })
}

/// A wait for a time, or for something of the page.
fn waited(action: &DoAction) -> Result<Action, String> {
    let DoAction::Wait {
        until,
        text,
        url,
        idle,
        gone,
    } = action
    else {
        return Err("this is not a wait".to_owned());
    };
    let has_condition = text.is_some() || url.is_some() || *idle || *gone;
    let time = until.as_deref().and_then(time);
    match (until.as_deref(), time) {
        (None, _) if !has_condition => Ok(Action::Wait { duration: None }),
        (Some(_), Some(time)) if !has_condition => Ok(Action::Wait {
            duration: Some(time),
        }),
        (until, time) => Ok(Action::WaitFor {
            text: text.clone(),
            at: match (until, time) {
                (Some(until), None) => Some(reference(until)?),
                _ => None,
            },
            gone: *gone,
            url: url.clone(),
            idle: *idle,
            duration: time,
            tab: None,
        }),
    }
}

fn reference(text: &str) -> Result<Target, String> {
    match plain(text) {
        target @ Target::Ref { .. } => Ok(target),
        Target::Point(_) | Target::Label { .. } | Target::Named(_) => Err(format!(
            "wait: expected seconds such as 0.5, a time such as 500ms, or a ref such as b12, found \
             {text:?}; for a text use --text"
        )),
    }
}

/// Seconds such as `0.5` or `2s`, or milliseconds such as `500ms`.
fn time(text: &str) -> Option<Duration> {
    const MAX_SECONDS: f64 = 3600.0;
    let (number, seconds_of) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 0.001),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok()? * seconds_of;
    let is_possible = (0.0..=MAX_SECONDS).contains(&seconds);
    is_possible.then(|| Duration::from_secs_f64(seconds))
}

/// An action in the neutral form.
fn neutral(json: &str) -> Result<Action, String> {
    let members: Map<String, Value> =
        serde_json::from_str(json).map_err(|e| format!("action: expected a JSON object: {e}"))?;
    let (action, unknown): (Action, _) =
        Action::from_json(members).map_err(|e| format!("action: failed to {e}"))?;
    match unknown.keys().next() {
        Some(member) => Err(format!(
            "action: {} has no member {member:?}",
            action.kind().name()
        )),
        None => Ok(action),
    }
}

fn target_of(arguments: &TargetArguments) -> Target {
    target(&arguments.target, &arguments.named)
}

fn plain(text: &str) -> Target {
    target(text, &NamedArguments::default())
}

/// A ref (`@b12`, `b12`), the label of a screenshot with marks (`#7`), a point (`640,400`), or else a
/// name.
fn target(text: &str, named: &NamedArguments) -> Target {
    let frame = None;
    if named.role.is_none() && named.window.is_none() {
        if let Some(id) = text
            .strip_prefix('@')
            .or_else(|| is_ref(text).then_some(text))
        {
            let id = id.to_owned();
            return Target::Ref { id, frame };
        }
        if let Some(n) = text.strip_prefix('#').and_then(|n| n.parse().ok()) {
            return Target::Label { n, frame };
        }
        if let Some((x, y)) = point(text) {
            return Target::Point(Point::new(x, y));
        }
    }
    Target::Named(NamedElement {
        name: Some(text.to_owned()),
        role: named.role.clone(),
        id: None,
        window: named.window.clone(),
    })
}

/// Whether this is a ref as snapshots write them: a letter and a number.
fn is_ref(text: &str) -> bool {
    let mut characters = text.chars();
    let letter = characters.next();
    let digits = characters.as_str();
    letter.is_some_and(|letter| letter.is_ascii_lowercase())
        && !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
}

fn point(text: &str) -> Option<(f64, f64)> {
    let (x, y) = text.split_once(',')?;
    let number = |text: &str| {
        let number = text.trim().parse::<f64>().ok();
        number.filter(|number| number.is_finite())
    };
    Some((number(x)?, number(y)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_target_is_a_ref_a_label_a_point_or_a_name() {
        for (text, expected) in [
            ("@b12", json!({"ref": "b12"})),
            ("e7", json!({"ref": "e7"})),
            ("@ref_7", json!({"ref": "ref_7"})),
            ("#3", json!({"label": 3})),
            ("640,400", json!([640, 400])),
            ("10.5, 2", json!([10.5, 2])),
            ("Save", json!({"name": "Save"})),
            ("F1", json!({"name": "F1"})),
            ("a, b", json!({"name": "a, b"})),
            ("", json!({"name": ""})),
        ] {
            let action: Action = Action::Hover { at: plain(text) };
            assert_eq!(action.to_json()["coordinate"], expected, "{text}");
        }
        let named = NamedArguments {
            role: Some("button".to_owned()),
            window: None,
        };
        let action: Action = Action::Hover {
            at: target("b12", &named),
        };
        let expected = json!({"name": "b12", "role": "button"});
        assert_eq!(action.to_json()["coordinate"], expected);
    }

    #[test]
    fn a_time_is_in_seconds_or_milliseconds() {
        for (text, ms) in [("0.5", 500), ("2", 2000), ("2s", 2000), ("500ms", 500)] {
            assert_eq!(time(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "ms", "-1", "inf", "NaN", "1h", "b12", "4000"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn an_action_in_the_neutral_form_has_no_unknown_member() {
        let zoom = neutral(r#"{"action": "zoom", "region": [0, 0, 40, 30]}"#);
        assert!(matches!(zoom, Ok(Action::Zoom { .. })), "{zoom:?}");
        for (json, part) in [
            ("{", "expected a JSON object"),
            (
                r#"{"action": "click", "colour": 1}"#,
                "has no member \"colour\"",
            ),
            (r#"{"action": "type"}"#, "`text` is missing"),
        ] {
            let problem = neutral(json).expect_err(json);
            assert!(problem.contains(part), "{problem}");
        }
    }
}
