//! The predefined functions, by environment and vocabulary.

use telechir_protocol::{ComputerUseTool, Environment};

/// The vocabulary of predefined functions, which depends on the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FunctionVocabulary {
    /// Models up to 3.1, and 3 Flash: thirteen browser functions, such as `click_at`.
    Legacy,
    /// Models from 3.5: functions such as `click`, by environment.
    Current,
}

impl FunctionVocabulary {
    /// The vocabulary of a model; an unknown model has the current one.
    pub(super) fn of_model(model: Option<&str>) -> Self {
        match model.and_then(number) {
            Some(number) if number < (3, 5) => Self::Legacy,
            Some(_) | None => Self::Current,
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
pub(super) enum ToolEnvironment {
    Browser,
    Desktop,
    Mobile,
}

impl ToolEnvironment {
    /// The environment of a tool; all desktop systems are one environment.
    pub(super) fn of(tool: &ComputerUseTool) -> Self {
        match &tool.environment {
            Some(Environment::Browser) => Self::Browser,
            Some(Environment::Mobile) => Self::Mobile,
            Some(Environment::Other(name)) if name.eq_ignore_ascii_case("android") => Self::Mobile,
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
struct PredefinedFunction(&'static str, &'static str, &'static [ToolEnvironment]);

const ALL_ENVIRONMENTS: &[ToolEnvironment] = &[
    ToolEnvironment::Browser,
    ToolEnvironment::Desktop,
    ToolEnvironment::Mobile,
];
const WITH_POINTER: &[ToolEnvironment] = &[ToolEnvironment::Browser, ToolEnvironment::Desktop];
const MOBILE_ONLY: &[ToolEnvironment] = &[ToolEnvironment::Mobile];
const BROWSER_ONLY: &[ToolEnvironment] = &[ToolEnvironment::Browser];
const BROWSER_AND_MOBILE: &[ToolEnvironment] = &[ToolEnvironment::Browser, ToolEnvironment::Mobile];

const CURRENT: [PredefinedFunction; 23] = [
    PredefinedFunction("click", "click", ALL_ENVIRONMENTS),
    PredefinedFunction("double_click", "click", WITH_POINTER),
    PredefinedFunction("triple_click", "click", WITH_POINTER),
    PredefinedFunction("middle_click", "click", WITH_POINTER),
    PredefinedFunction("right_click", "click", WITH_POINTER),
    PredefinedFunction("mouse_down", "mouse_down", WITH_POINTER),
    PredefinedFunction("mouse_up", "mouse_up", WITH_POINTER),
    PredefinedFunction("move", "move", WITH_POINTER),
    PredefinedFunction("type", "type", ALL_ENVIRONMENTS),
    PredefinedFunction("drag_and_drop", "drag", ALL_ENVIRONMENTS),
    PredefinedFunction("wait", "wait", ALL_ENVIRONMENTS),
    PredefinedFunction("press_key", "key", ALL_ENVIRONMENTS),
    PredefinedFunction("key_down", "key_down", WITH_POINTER),
    PredefinedFunction("key_up", "key_up", WITH_POINTER),
    PredefinedFunction("hotkey", "key", WITH_POINTER),
    PredefinedFunction("take_screenshot", "screenshot", ALL_ENVIRONMENTS),
    PredefinedFunction("scroll", "scroll", WITH_POINTER),
    PredefinedFunction("go_back", "back", BROWSER_AND_MOBILE),
    PredefinedFunction("go_forward", "forward", BROWSER_ONLY),
    PredefinedFunction("navigate", "navigate", BROWSER_ONLY),
    PredefinedFunction("long_press", "long_press", MOBILE_ONLY),
    PredefinedFunction("open_app", "open_app", MOBILE_ONLY),
    PredefinedFunction("list_apps", "list_apps", MOBILE_ONLY),
];

const LEGACY: [PredefinedFunction; 13] = [
    PredefinedFunction("open_web_browser", "open_browser", BROWSER_ONLY),
    PredefinedFunction("wait_5_seconds", "wait", BROWSER_ONLY),
    PredefinedFunction("go_back", "back", BROWSER_ONLY),
    PredefinedFunction("go_forward", "forward", BROWSER_ONLY),
    PredefinedFunction("search", "search", BROWSER_ONLY),
    PredefinedFunction("navigate", "navigate", BROWSER_ONLY),
    PredefinedFunction("click_at", "click", BROWSER_ONLY),
    PredefinedFunction("hover_at", "hover", BROWSER_ONLY),
    PredefinedFunction("type_text_at", "type", BROWSER_ONLY),
    PredefinedFunction("key_combination", "key", BROWSER_ONLY),
    PredefinedFunction("scroll_document", "scroll", BROWSER_ONLY),
    PredefinedFunction("scroll_at", "scroll", BROWSER_ONLY),
    PredefinedFunction("drag_and_drop", "drag", BROWSER_ONLY),
];

/// The functions that a model offers in an environment. Legacy models offer the browser functions
/// in every environment.
fn functions(
    vocabulary: FunctionVocabulary,
    environment: ToolEnvironment,
) -> Vec<&'static PredefinedFunction> {
    let all: &[PredefinedFunction] = match vocabulary {
        FunctionVocabulary::Legacy => return LEGACY.iter().collect(),
        FunctionVocabulary::Current => &CURRENT,
    };
    all.iter()
        .filter(|function| function.2.contains(&environment))
        .collect()
}

/// The functions to exclude for an action; `None` if no function performs it.
pub(super) fn excluded(
    vocabulary: FunctionVocabulary,
    environment: ToolEnvironment,
    action: &str,
) -> Option<Vec<&'static str>> {
    let offered = functions(vocabulary, environment);
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
pub(super) fn count(vocabulary: FunctionVocabulary, environment: ToolEnvironment) -> usize {
    functions(vocabulary, environment).len()
}

#[cfg(test)]
mod tests {
    use super::{CURRENT, FunctionVocabulary, LEGACY, ToolEnvironment, count, excluded};
    use crate::google::action::is_predefined;

    #[test]
    fn the_vocabulary_follows_the_model() {
        let table = [
            (
                "gemini-2.5-computer-use-preview-10-2025",
                FunctionVocabulary::Legacy,
            ),
            ("models/gemini-3-flash-preview", FunctionVocabulary::Legacy),
            ("gemini-3.1-pro-preview", FunctionVocabulary::Legacy),
            ("gemini-3.5-flash", FunctionVocabulary::Current),
            ("gemini-3.5-flash-lite", FunctionVocabulary::Current),
            ("gemini-3.8-flash", FunctionVocabulary::Current),
            ("gemini-4", FunctionVocabulary::Current),
            ("gemini-flash-latest", FunctionVocabulary::Current),
            ("something-else", FunctionVocabulary::Current),
        ];
        for (model, expected) in table {
            assert_eq!(
                FunctionVocabulary::of_model(Some(model)),
                expected,
                "{model}"
            );
        }
        assert_eq!(
            FunctionVocabulary::of_model(None),
            FunctionVocabulary::Current
        );
    }

    #[test]
    fn every_environment_has_the_documented_number_of_functions() {
        assert_eq!(
            count(FunctionVocabulary::Legacy, ToolEnvironment::Browser),
            13
        );
        assert_eq!(
            count(FunctionVocabulary::Current, ToolEnvironment::Browser),
            20
        );
        assert_eq!(
            count(FunctionVocabulary::Current, ToolEnvironment::Desktop),
            17
        );
        assert_eq!(
            count(FunctionVocabulary::Current, ToolEnvironment::Mobile),
            10
        );
        for function in CURRENT.iter().chain(&LEGACY) {
            assert!(is_predefined(function.0), "{}", function.0);
        }
    }

    #[test]
    fn excluding_an_action_excludes_all_its_functions() {
        let new = |environment, action| excluded(FunctionVocabulary::Current, environment, action);
        assert_eq!(
            new(ToolEnvironment::Desktop, "drag"),
            Some(vec!["drag_and_drop"])
        );
        assert_eq!(
            new(ToolEnvironment::Desktop, "key"),
            Some(vec!["press_key", "hotkey"])
        );
        assert_eq!(
            new(ToolEnvironment::Desktop, "hotkey"),
            Some(vec!["hotkey"])
        );
        assert_eq!(new(ToolEnvironment::Mobile, "click"), Some(vec!["click"]));
        assert_eq!(
            new(ToolEnvironment::Browser, "click").map(|names| names.len()),
            Some(5)
        );
        assert_eq!(new(ToolEnvironment::Desktop, "navigate"), None);
        let old = excluded(
            FunctionVocabulary::Legacy,
            ToolEnvironment::Browser,
            "scroll",
        );
        assert_eq!(old, Some(vec!["scroll_document", "scroll_at"]));
    }
}
