//! A screen action as a person reads it in a question: exactly what would happen, in words.
//!
//! Every value of the action is in the text. Texts of a call are quoted; long ones follow as marked
//! lines of their own.

use std::time::Duration;

use serde_json::Value;
use telechir_protocol::display::escape_lines;
use telechir_protocol::{
    Action, Button, ClickCount, Modifier, ObserveMode, Region, ScrollUnit, Space, Target,
};

use crate::question_text::{line_count, marked};

/// Longer texts are shown as lines of their own.
const MAX_INLINE_CHARS: usize = 200;

/// The complete action: a sentence, and the lines of its longer texts.
pub(crate) fn action_lines(action: &Action) -> Vec<String> {
    let mut text = ActionText::default();
    let sentence = text
        .pointer(action)
        .or_else(|| text.keyboard(action))
        .or_else(|| text.page(action))
        .or_else(|| text.element(action))
        .or_else(|| text.tab(action))
        .or_else(|| text.browser(action))
        .or_else(|| text.window(action));
    let sentence = sentence.unwrap_or_else(|| text.unknown(action));
    let mut lines = vec![sentence];
    lines.append(&mut text.below);
    lines
}

/// The text of one action while it is put together.
#[derive(Debug, Default)]
struct ActionText {
    /// The lines that follow the sentence.
    below: Vec<String>,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the groups of actions together are all; a test has every kind"
)]
impl ActionText {
    fn pointer(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Move { at } => format!("move the pointer to {}", self.target(at)),
            Action::Hover { at } => format!("hold the pointer over {}", self.target(at)),
            Action::CursorPosition => "read the position of the pointer".to_owned(),
            Action::Click {
                at,
                button,
                count,
                modifiers,
            } => {
                let click = match count {
                    ClickCount::Single => "click",
                    ClickCount::Double => "double-click",
                    ClickCount::Triple => "triple-click",
                };
                let (at, with) = (self.pointed(at.as_ref()), with_button(*button));
                format!("{click} {at}{with}{}", holding(modifiers))
            }
            Action::MouseDown { at, button } => {
                let at = self.pointed(at.as_ref());
                format!(
                    "press the {} button {at} and keep it pressed",
                    button.name()
                )
            }
            Action::MouseUp { at, button } => {
                let at = self.pointed(at.as_ref());
                format!("release the {} button {at}", button.name())
            }
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => {
                let mut points: Vec<_> = path.iter().map(|at| self.target(at)).collect();
                if points.len() < 2 {
                    points.insert(0, "where the pointer is".to_owned());
                }
                let time =
                    duration.map_or_else(String::new, |time| format!(" in {}", milliseconds(time)));
                let (with, keys) = (with_button(*button), holding(modifiers));
                format!("drag from {}{with}{keys}{time}", points.join(" to "))
            }
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                let at = self.pointed(at.as_ref());
                let unit = match unit {
                    ScrollUnit::Clicks => "wheel notches",
                    ScrollUnit::Pixels => "pixels",
                    ScrollUnit::Thousandths => "thousandths of the screen",
                };
                let keys = holding(modifiers);
                format!("scroll {at} by {dx} {unit} to the right and {dy} down{keys}")
            }
            Action::LongPress { at, duration } => {
                let time = duration
                    .map_or_else(String::new, |time| format!(" for {}", milliseconds(time)));
                format!("touch {} and hold it{time}", self.target(at))
            }
            _ => return None,
        })
    }

    fn keyboard(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Type {
                text,
                at,
                clear_first,
                submit,
            } => {
                let into = at.as_ref().map_or_else(
                    || "where the keyboard focus is".to_owned(),
                    |at| format!("into {}", self.target(at)),
                );
                let replaces = [" in place of its contents", ""][usize::from(!clear_first)];
                let enter = [", then press Enter", ""][usize::from(!submit)];
                let text = self.text("text", text);
                format!("type {text} {into}{replaces}{enter}")
            }
            Action::Key { chord, repeat } => {
                let times = match repeat {
                    1 => String::new(),
                    count => format!(" {count} times"),
                };
                format!("press {}{times}", escaped(&chord.to_string()))
            }
            Action::HoldKey { chord, duration } => {
                let (keys, time) = (escaped(&chord.to_string()), milliseconds(*duration));
                format!("hold {keys} for {time}")
            }
            Action::KeyDown { chord } => {
                format!("press {} and keep it pressed", escaped(&chord.to_string()))
            }
            Action::KeyUp { chord } => format!("release {}", escaped(&chord.to_string())),
            Action::ReadClipboard => "read the clipboard".to_owned(),
            Action::WriteClipboard { text } => {
                format!("put {} on the clipboard", self.text("text", text))
            }
            Action::Wait { duration } => {
                let time =
                    duration.map_or_else(String::new, |time| format!(" {}", milliseconds(time)));
                format!("wait{time}")
            }
            _ => return None,
        })
    }

    /// Reading a page, and waiting for it.
    fn page(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::WaitFor {
                text,
                at,
                gone,
                url,
                idle,
                duration,
                tab,
            } => {
                let mut conditions = Vec::new();
                let shows = ["shows", "no longer shows"][usize::from(*gone)];
                conditions.extend(text.as_ref().map(|text| {
                    let text = self.text("text", text);
                    format!("it {shows} {text}")
                }));
                conditions.extend(
                    at.as_ref()
                        .map(|at| format!("it {shows} {}", self.target(at))),
                );
                conditions.extend(url.as_ref().map(|url| {
                    let url = self.text("text", url);
                    format!("its URL contains {url}")
                }));
                conditions.extend(idle.then(|| "it loads nothing".to_owned()));
                let conditions = conditions.join(" and ");
                let time = duration.map_or_else(String::new, |time| {
                    format!(", at most {}", milliseconds(time))
                });
                let tab = self.in_tab(tab.as_ref());
                format!("wait for the page{tab} until {conditions}{time}")
            }
            Action::ReadPage {
                filter,
                depth,
                root,
                tab,
            } => {
                let what = filter.as_ref().map_or_else(String::new, |filter| {
                    format!(" (the view {})", self.text("view", filter))
                });
                let depth =
                    depth.map_or_else(String::new, |depth| format!(" to the depth {depth}"));
                let root = root
                    .as_ref()
                    .map_or_else(String::new, |root| format!(" in {}", self.target(root)));
                let tab = self.in_tab(tab.as_ref());
                format!("read the elements of the page or window{root}{what}{depth}{tab}")
            }
            Action::PageText { tab } => {
                format!("read the text of the page{}", self.in_tab(tab.as_ref()))
            }
            Action::Find { query, tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!("find {} in the page{tab}", self.text("query", query))
            }
            Action::Javascript { script, tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!("run {} in the page{tab}", self.text("script", script))
            }
            Action::ReadConsole { tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!("read the messages of the page's console{tab}")
            }
            Action::ReadNetwork { tab } => {
                format!(
                    "list the page's network requests{}",
                    self.in_tab(tab.as_ref())
                )
            }
            Action::ReadRequest { request, tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!(
                    "read the page's network request {request} with its headers and bodies{tab}"
                )
            }
            Action::AnswerDialog { accept, text } => {
                let answer = ["Cancel", "OK"][usize::from(*accept)];
                let text = text.as_ref().map_or_else(String::new, |text| {
                    format!(" and {}", self.text("text", text))
                });
                format!("answer the page's dialog with {answer}{text}")
            }
            _ => return None,
        })
    }

    /// Acting on one element.
    fn element(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::FormInput { at, value, tab } => {
                let (at, tab) = (self.target(at), self.in_tab(tab.as_ref()));
                format!("set {at}{tab} to {}", self.value("value", value))
            }
            Action::FileUpload {
                at,
                paths,
                documents,
                tab,
            } => {
                let (at, tab) = (self.target(at), self.in_tab(tab.as_ref()));
                self.list(paths);
                let provided = match documents.len() {
                    0 => String::new(),
                    count => format!(", then {count} documents of the provider"),
                };
                self.list(documents);
                let files = match paths.len() {
                    1 => "this file".to_owned(),
                    count => format!("these {count} files"),
                };
                format!("give the page {files} for {at}{tab}{provided}")
            }
            Action::ScrollTo { at, tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!("scroll {} into view{tab}", self.target(at))
            }
            Action::Invoke { at, name } => {
                let at = self.target(at);
                match name {
                    Some(name) => {
                        format!("invoke the action {} of {at}", self.text("action", name))
                    }
                    None => format!("invoke the first action of {at}"),
                }
            }
            Action::CaptureElement { at } => format!("take a screenshot of {}", self.target(at)),
            _ => return None,
        })
    }

    /// Tabs and where they go.
    fn tab(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Navigate { url, tab } => {
                let tab = self.in_tab(tab.as_ref());
                format!("open {} in the browser{tab}", self.text("URL", url))
            }
            Action::Back { tab } => {
                format!("go back in the history{}", self.in_tab(tab.as_ref()))
            }
            Action::Forward { tab } => {
                format!("go forward in the history{}", self.in_tab(tab.as_ref()))
            }
            Action::Reload { tab } => format!("reload the page{}", self.in_tab(tab.as_ref())),
            Action::Search { query: Some(query) } => {
                format!(
                    "open the search page and search for {}",
                    self.text("query", query)
                )
            }
            Action::Search { query: None } => "open the search page".to_owned(),
            Action::OpenBrowser { url: Some(url) } => {
                let url = self.text("URL", url);
                format!("bring the browser to the front and open {url}")
            }
            Action::OpenBrowser { url: None } => "bring the browser to the front".to_owned(),
            Action::ListTabs => "list the open tabs".to_owned(),
            Action::NewTab { url: Some(url) } => {
                format!("open {} in a new tab", self.text("URL", url))
            }
            Action::NewTab { url: None } => "open a new tab".to_owned(),
            Action::SwitchTab { tab } => {
                format!("bring the tab {} to the front", self.text("tab", tab))
            }
            Action::CloseTab { tab } => format!("close the tab {}", self.text("tab", tab)),
            _ => return None,
        })
    }

    /// The browser's settings, stored data and files.
    fn browser(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Emulate { settings } => {
                for (name, value) in settings {
                    let name = escaped(name);
                    let value = self.value(&name, value);
                    self.below
                        .extend(marked("| ", "| ", &format!("{name}: {value}")));
                }
                "change what pages see of the browser".to_owned()
            }
            Action::ListCookies { url } => {
                format!("list the browser's cookies{}", self.of_url(url.as_ref()))
            }
            Action::ClearCookies { url } => {
                format!("delete the browser's cookies{}", self.of_url(url.as_ref()))
            }
            Action::SetCookies { cookies } => {
                for cookie in cookies {
                    let cookie = members(cookie);
                    self.below.extend(marked("| ", "> ", &cookie));
                }
                match cookies.len() {
                    1 => "set this cookie".to_owned(),
                    count => format!("set these {count} cookies"),
                }
            }
            Action::SaveStorageState { path } => {
                let file = self.file(path.as_ref());
                format!("save the cookies and stored data of pages to {file}")
            }
            Action::LoadStorageState { path } => {
                let path = self.text("path", path);
                format!("load cookies and stored data of pages from the file {path}")
            }
            Action::SavePdf { path, tab } => {
                let (file, tab) = (self.file(path.as_ref()), self.in_tab(tab.as_ref()));
                format!("save the page{tab} as a PDF to {file}")
            }
            _ => return None,
        })
    }

    /// The screen, its windows and applications.
    fn window(&mut self, action: &Action) -> Option<String> {
        Some(match action {
            Action::Screenshot => "take a screenshot".to_owned(),
            Action::ObserveScreen { mode, intent } => {
                let intent = intent.as_ref().map_or_else(String::new, |text| {
                    format!(" for {}", self.text("intent", text))
                });
                match mode {
                    ObserveMode::Grounding => {
                        format!("take a screenshot with numbered elements{intent}")
                    }
                    ObserveMode::Understanding => format!("read the screen as text{intent}"),
                }
            }
            Action::Zoom { region } => format!("take a screenshot of {}", region_text(region)),
            Action::CaptureWindow { window } => {
                format!("take a screenshot of {}", self.window_name(window.as_ref()))
            }
            Action::CaptureMonitor { monitor } => {
                let monitor = monitor.as_ref().map_or_else(
                    || "the primary monitor".to_owned(),
                    |monitor| format!("the monitor {}", self.text("monitor", monitor)),
                );
                format!("take a screenshot of {monitor}")
            }
            Action::ListMonitors => "list the monitors".to_owned(),
            Action::ListWindows => "list the open windows".to_owned(),
            Action::FocusWindow { window } => {
                format!("bring {} to the front", self.window_name(Some(window)))
            }
            Action::MaximizeWindow { window } => {
                format!("maximize {}", self.window_name(window.as_ref()))
            }
            Action::RestoreWindow { window } => {
                format!("restore {}", self.window_name(window.as_ref()))
            }
            Action::MinimizeWindow { window } => {
                format!("minimize {}", self.window_name(window.as_ref()))
            }
            Action::CloseWindow { window } => {
                format!("close {}", self.window_name(window.as_ref()))
            }
            Action::PlaceWindow { window, region } => {
                let window = self.window_name(window.as_ref());
                format!("move and resize {window} to {}", region_text(region))
            }
            Action::OpenApp { name } => {
                format!("start the application {}", self.text("name", name))
            }
            _ => return None,
        })
    }

    fn unknown(&mut self, action: &Action) -> String {
        let name = escaped(action.name());
        self.below.extend(marked(
            "| ",
            "> ",
            &Value::Object(action.to_json()).to_string(),
        ));
        format!("perform an action that is not known here, {name}")
    }
}

impl ActionText {
    /// A text in quotes, or a reference to its lines below.
    fn text(&mut self, name: &str, text: &str) -> String {
        if !text.contains('\n') && text.chars().nth(MAX_INLINE_CHARS).is_none() {
            return quoted(text);
        }
        let (lines, characters) = (line_count(text), text.chars().count());
        self.below
            .push(format!("{name}: {lines}, {characters} characters"));
        self.below.extend(marked("| ", "| ", text));
        format!("the {name} below")
    }

    fn value(&mut self, name: &str, value: &Value) -> String {
        match value {
            Value::String(text) => self.text(name, text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => escaped(&value.to_string()),
        }
    }

    fn list(&mut self, items: &[String]) {
        for item in items {
            self.below.extend(marked("| ", "> ", item));
        }
    }

    fn target(&mut self, target: &Target) -> String {
        match target {
            Target::Point(point) => {
                let (x, y) = (point.x, point.y);
                match point.space {
                    Space::Screenshot => format!("({x}, {y})"),
                    Space::Thousandths => format!("({x}, {y}) thousandths of the screen"),
                    Space::Screen => format!("({x}, {y}) of the screen"),
                }
            }
            Target::Label { n, frame } => {
                format!(
                    "the element with the number {n}{}",
                    of_frame(frame.as_ref())
                )
            }
            Target::Ref { id, frame } => {
                format!("the element {}{}", escaped(id), of_frame(frame.as_ref()))
            }
            Target::Named(named) => {
                let role = named.role.as_deref().unwrap_or("element");
                let mut text = format!("the {}", escaped(role));
                for (before, part) in [
                    (" ", &named.name),
                    (" with the id ", &named.id),
                    (" in the window ", &named.window),
                ] {
                    if let Some(part) = part {
                        text.push_str(before);
                        text.push_str(&self.text("name", part));
                    }
                }
                text
            }
        }
    }

    /// Where the pointer acts.
    fn pointed(&mut self, at: Option<&Target>) -> String {
        match at {
            None => "where the pointer is".to_owned(),
            Some(at) => format!("at {}", self.target(at)),
        }
    }

    fn in_tab(&mut self, tab: Option<&String>) -> String {
        tab.map_or_else(String::new, |tab| {
            format!(" in the tab {}", self.text("tab", tab))
        })
    }

    fn of_url(&mut self, url: Option<&String>) -> String {
        url.map_or_else(String::new, |url| format!(" for {}", self.text("URL", url)))
    }

    fn file(&mut self, path: Option<&String>) -> String {
        match path {
            None => "a new file".to_owned(),
            Some(path) => format!("the file {}", self.text("path", path)),
        }
    }

    fn window_name(&mut self, window: Option<&String>) -> String {
        match window {
            None => "the active window".to_owned(),
            Some(window) => format!("the window {}", self.text("window", window)),
        }
    }
}

/// A text in quotes on one line; quotes within it are escaped.
fn quoted(text: &str) -> String {
    escaped(&Value::from(text).to_string())
}

/// The complete text on one line.
fn escaped(text: &str) -> String {
    escape_lines(text).join("\\n")
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

fn with_button(button: Button) -> String {
    match button {
        Button::Left => String::new(),
        Button::Middle | Button::Right | Button::Back | Button::Forward => {
            format!(" with the {} button", button.name())
        }
    }
}

fn holding(modifiers: &[Modifier]) -> String {
    if modifiers.is_empty() {
        return String::new();
    }
    let names: Vec<_> = modifiers.iter().map(|modifier| modifier.name()).collect();
    format!(" while holding {}", names.join("+"))
}

fn of_frame(frame: Option<&telechir_protocol::FrameId>) -> String {
    frame.map_or_else(String::new, |frame| {
        format!(" of {}", escaped(frame.as_str()))
    })
}

fn region_text(region: &Region) -> String {
    let (from, to) = (region.from, region.to);
    let space = match from.space {
        Space::Screenshot => "",
        Space::Thousandths => " in thousandths of the screen",
        Space::Screen => " of the screen",
    };
    format!(
        "the area from ({}, {}) to ({}, {}){space}",
        from.x, from.y, to.x, to.y
    )
}

/// The members of an object, such as `name "a", value "b"`.
fn members(value: &Value) -> String {
    let Value::Object(members) = value else {
        return value.to_string();
    };
    let members = members
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    members.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use telechir_protocol::ActionKind;

    use super::*;

    /// One action per kind, and its lines.
    const TEXTS: &str = include_str!("action_text/table.json");

    fn read(action: &Value) -> Action {
        let Value::Object(members) = action.clone() else {
            panic!("an object: {action}")
        };
        Action::from_json(members).expect("an action").0
    }

    #[test]
    fn every_kind_of_action_is_described_in_words() {
        let table: Vec<(Value, Vec<String>)> = serde_json::from_str(TEXTS).expect("a table");
        let mut kinds: Vec<_> = ActionKind::ALL.to_vec();
        for (action, lines) in &table {
            let read = read(action);
            kinds.retain(|kind| *kind != read.kind());
            assert_eq!(action_lines(&read), *lines, "{action}");
        }
        assert_eq!(kinds, [], "kinds without a row");
    }

    /// Nobody approves what is not shown: each text and number of an action is in its lines.
    #[test]
    fn every_value_of_an_action_is_shown() {
        fn values(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(members) => {
                    let members = members.iter().filter(|(name, _)| *name != "action");
                    members.for_each(|(_, value)| values(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| values(item, found)),
                Value::String(text) => found.push(text.clone()),
                Value::Number(number) => found.push(number.to_string()),
                Value::Bool(_) | Value::Null => {}
            }
        }
        let table: Vec<(Value, Vec<String>)> = serde_json::from_str(TEXTS).expect("a table");
        // Words stand for these.
        let named = ["left", "grounding", "understanding", "clicks", "screen"];
        for (action, _) in &table {
            let (mut found, lines) = (Vec::new(), action_lines(&read(action)).join("\n"));
            values(action, &mut found);
            found.retain(|value| !named.contains(&value.as_str()));
            for line in found.iter().flat_map(|value| value.lines()) {
                assert!(lines.contains(line), "{line} of {action}: {lines}");
            }
        }
    }

    #[test]
    fn a_text_ends_where_its_quotes_end() {
        let typed = json!({"action": "type", "text": "x\" where the keyboard focus is"});
        let expected = r#"type "x\" where the keyboard focus is" where the keyboard focus is"#;
        assert_eq!(action_lines(&read(&typed)), [expected]);
        let upload = json!({"action": "file_upload", "ref": "e1", "paths": ["a\n  Reason: safe"]});
        assert_eq!(
            action_lines(&read(&upload)),
            [
                "give the page this file for the element e1",
                "| a",
                ">   Reason: safe"
            ]
        );
    }

    #[test]
    fn a_long_text_is_shown_below() {
        let lines = |length: usize| {
            action_lines(&Action::WriteClipboard {
                text: "xyz".repeat(length / 3 + 1)[..length].to_owned(),
            })
        };
        assert_eq!(lines(MAX_INLINE_CHARS).len(), 1);
        let below = lines(MAX_INLINE_CHARS + 1);
        assert_eq!(below.len(), 3);
        assert_eq!(below[0], "put the text below on the clipboard");
        assert_eq!(below[1], "text: 1 line, 201 characters");
        assert!(below[2].starts_with("| xyz"), "{below:?}");
    }
}
