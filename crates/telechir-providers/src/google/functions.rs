//! The predefined functions, by environment and vocabulary.

use telechir_protocol::{ComputerUseTool, Environment};

/// The vocabulary of predefined functions, which depends on the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Models up to 3.1, and 3 Flash: thirteen browser functions, such as `click_at`.
    Old,
    /// Models from 3.5: functions such as `click`, by environment.
    New,
}

impl Generation {
    /// The vocabulary of a model; an unknown model has the current one.
    pub(super) fn of_model(model: Option<&str>) -> Self {
        match model.and_then(number) {
            Some(number) if number < (3, 5) => Self::Old,
            Some(_) | None => Self::New,
        }
    }
}

/// The version number in `gemini-3.5-flash`.
fn number(model: &str) -> Option<(u32, u32)> {
    let name = &model[model.rfind("gemini-")? + "gemini-".len()..];
    let number = name.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The environment that the computer tool is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Browser,
    Desktop,
    Mobile,
}

impl Place {
    /// The environment of a tool; all desktop systems are one environment.
    pub(super) fn of(tool: &ComputerUseTool) -> Self {
        match &tool.environment {
            Some(Environment::Browser) => Self::Browser,
            Some(Environment::Mobile) => Self::Mobile,
            Some(Environment::Other(word)) if word.eq_ignore_ascii_case("android") => Self::Mobile,
            Some(
                Environment::Mac
                | Environment::Windows
                | Environment::Linux
                | Environment::Other(_),
            )
            | None => Self::Desktop,
        }
    }

    /// Google's name: `browser`, `desktop` or `mobile`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Mobile => "mobile",
        }
    }
}

/// A predefined function: its name, the neutral action it performs, and the environments that have
/// it in the current vocabulary.
struct Function(&'static str, &'static str, &'static [Place]);

const EVERYWHERE: &[Place] = &[Place::Browser, Place::Desktop, Place::Mobile];
const POINTED: &[Place] = &[Place::Browser, Place::Desktop];
const TOUCHED: &[Place] = &[Place::Mobile];
const PAGES: &[Place] = &[Place::Browser];
const BACK: &[Place] = &[Place::Browser, Place::Mobile];

const NEW: [Function; 23] = [
    Function("click", "click", EVERYWHERE),
    Function("double_click", "click", POINTED),
    Function("triple_click", "click", POINTED),
    Function("middle_click", "click", POINTED),
    Function("right_click", "click", POINTED),
    Function("mouse_down", "mouse_down", POINTED),
    Function("mouse_up", "mouse_up", POINTED),
    Function("move", "move", POINTED),
    Function("type", "type", EVERYWHERE),
    Function("drag_and_drop", "drag", EVERYWHERE),
    Function("wait", "wait", EVERYWHERE),
    Function("press_key", "key", EVERYWHERE),
    Function("key_down", "key_down", POINTED),
    Function("key_up", "key_up", POINTED),
    Function("hotkey", "key", POINTED),
    Function("take_screenshot", "screenshot", EVERYWHERE),
    Function("scroll", "scroll", POINTED),
    Function("go_back", "back", BACK),
    Function("go_forward", "forward", PAGES),
    Function("navigate", "navigate", PAGES),
    Function("long_press", "long_press", TOUCHED),
    Function("open_app", "open_app", TOUCHED),
    Function("list_apps", "list_apps", TOUCHED),
];

const OLD: [Function; 13] = [
    Function("open_web_browser", "open_browser", PAGES),
    Function("wait_5_seconds", "wait", PAGES),
    Function("go_back", "back", PAGES),
    Function("go_forward", "forward", PAGES),
    Function("search", "search", PAGES),
    Function("navigate", "navigate", PAGES),
    Function("click_at", "click", PAGES),
    Function("hover_at", "hover", PAGES),
    Function("type_text_at", "type", PAGES),
    Function("key_combination", "key", PAGES),
    Function("scroll_document", "scroll", PAGES),
    Function("scroll_at", "scroll", PAGES),
    Function("drag_and_drop", "drag", PAGES),
];

/// The functions that a model offers in an environment. Legacy models offer the browser functions
/// in every environment.
fn functions(generation: Generation, place: Place) -> Vec<&'static Function> {
    let all: &[Function] = match generation {
        Generation::Old => return OLD.iter().collect(),
        Generation::New => &NEW,
    };
    all.iter()
        .filter(|function| function.2.contains(&place))
        .collect()
}

/// The functions to exclude for an action; `None` if no function performs it.
pub(super) fn excluded(
    generation: Generation,
    place: Place,
    action: &str,
) -> Option<Vec<&'static str>> {
    let offered = functions(generation, place);
    let exact = offered.iter().any(|function| function.0 == action) && action != "click";
    let names: Vec<&'static str> = offered
        .into_iter()
        .filter(|function| {
            if exact {
                function.0 == action
            } else {
                function.1 == action
            }
        })
        .map(|function| function.0)
        .collect();
    (!names.is_empty()).then_some(names)
}

/// Number of functions that a model offers.
#[cfg(test)]
pub(super) fn count(generation: Generation, place: Place) -> usize {
    functions(generation, place).len()
}

#[cfg(test)]
mod tests {
    use super::{Generation, NEW, OLD, Place, count, excluded};
    use crate::google::action::is_predefined;

    #[test]
    fn the_vocabulary_follows_the_model() {
        let table = [
            ("gemini-2.5-computer-use-preview-10-2025", Generation::Old),
            ("models/gemini-3-flash-preview", Generation::Old),
            ("gemini-3.1-pro-preview", Generation::Old),
            ("gemini-3.5-flash", Generation::New),
            ("gemini-3.5-flash-lite", Generation::New),
            ("gemini-3.8-flash", Generation::New),
            ("gemini-4", Generation::New),
            ("gemini-flash-latest", Generation::New),
            ("something-else", Generation::New),
        ];
        for (model, expected) in table {
            assert_eq!(Generation::of_model(Some(model)), expected, "{model}");
        }
        assert_eq!(Generation::of_model(None), Generation::New);
    }

    #[test]
    fn every_environment_has_the_documented_number_of_functions() {
        assert_eq!(count(Generation::Old, Place::Browser), 13);
        assert_eq!(count(Generation::New, Place::Browser), 20);
        assert_eq!(count(Generation::New, Place::Desktop), 17);
        assert_eq!(count(Generation::New, Place::Mobile), 10);
        for function in NEW.iter().chain(&OLD) {
            assert!(is_predefined(function.0), "{}", function.0);
        }
    }

    #[test]
    fn excluding_an_action_excludes_all_its_functions() {
        let new = |place, action| excluded(Generation::New, place, action);
        assert_eq!(new(Place::Desktop, "drag"), Some(vec!["drag_and_drop"]));
        assert_eq!(
            new(Place::Desktop, "key"),
            Some(vec!["press_key", "hotkey"])
        );
        assert_eq!(new(Place::Desktop, "hotkey"), Some(vec!["hotkey"]));
        assert_eq!(new(Place::Mobile, "click"), Some(vec!["click"]));
        assert_eq!(
            new(Place::Browser, "click").map(|names| names.len()),
            Some(5)
        );
        assert_eq!(new(Place::Desktop, "navigate"), None);
        let old = excluded(Generation::Old, Place::Browser, "scroll");
        assert_eq!(old, Some(vec!["scroll_document", "scroll_at"]));
    }
}
