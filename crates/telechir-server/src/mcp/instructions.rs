//! What a model reads about the server, with the names of the tools that it has.

use telechir_tools::ToolCatalog;

const BEGINNING: &str = "\
A computer of your own: a desktop, a browser or a shell, as far as the tools are listed. It starts \
with the first call that needs it, and what you do stays until the session ends.\n";

const ON_SCREENS: &str = "\
Prefer the refs of elements to pixels. Coordinates belong to the last screenshot that you received.\n\
Each call waits until the screen is still and ends within a minute";

const IN_SHELLS: &str = "\
: run longer commands in the background. A command that waits for input returns with outcome \
awaiting_input: answer it with stdin";

const END: &str = "\
. Long texts are shortened; resources/read returns all of them.\n\
Some actions ask the user. If one is denied, do not work around it; tell the user what you need.";

/// The instructions for these tools; clients cut them at about 2,000 characters.
pub(super) fn of(catalog: &ToolCatalog) -> String {
    let cheap = [
        ("get_ui_context", "get_ui_context"),
        ("execute_browser", "execute_browser snapshot"),
    ];
    let cheap = cheap.iter().filter(|(tool, _)| catalog.has(tool));
    let cheap: Vec<&str> = cheap.map(|(_, name)| *name).collect();
    let mut text = BEGINNING.to_owned();
    if !cheap.is_empty() {
        let are = if cheap.len() == 1 { "is" } else { "are" };
        let cheap = cheap.join(" and ");
        text += &format!("Look first: {cheap} {are} cheaper than a screenshot. ");
    }
    let has_screen = catalog
        .definitions()
        .iter()
        .any(|tool| catalog.shows_screen(tool.name));
    text += if has_screen {
        ON_SCREENS
    } else {
        "Each call ends within a minute"
    };
    if catalog.has("execute_cli") {
        text += IN_SHELLS;
    }
    text + END
}

/// The answer to a call with a handle that this server did not give, or of a closed session.
pub(super) fn unknown_handle(catalog: &ToolCatalog) -> &'static str {
    if catalog.has("browser_session") {
        "No session has this handle: it was closed, or it belongs to another server. Omit \
         `session`, or open one with browser_session and use the handle it returns."
    } else {
        "No session has this handle: it was closed, or it belongs to another server. Omit `session`."
    }
}

#[cfg(test)]
mod tests {
    use telechir_tools::{Capabilities, ToolSelection};

    use super::*;

    #[test]
    fn they_name_only_tools_that_are_offered_and_are_short() {
        for bits in 1..8_u8 {
            let has = Capabilities {
                desktop: bits & 1 != 0,
                browser: bits & 2 != 0,
                shell: bits & 4 != 0,
                ..Capabilities::default()
            };
            let catalog = ToolCatalog::new(has, &ToolSelection::default()).expect("no names");
            for text in [of(&catalog).as_str(), unknown_handle(&catalog)] {
                assert!(text.chars().count() <= 1_000, "{text}");
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let names = text
                    .split(|c| !is_part(c))
                    .filter(|word| word.contains('_'));
                for name in names.filter(|name| *name != "awaiting_input") {
                    assert!(catalog.has(name), "{name} in {text}");
                }
                assert_eq!(text.contains("stdin"), has.shell && text.len() > 300);
            }
        }
    }
}
