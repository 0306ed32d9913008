//! JSON Schema of actions: one object per name.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{SchemaMember, object, schema as of};
use crate::{Button, Chord, Modifier, Region, ScrollUnit, Target};

/// The schema of an action; an unlisted name may have any members.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    let actions = actions(generator);
    let names: Vec<&str> = actions.iter().map(|(name, _)| *name).collect();
    let known = actions.iter().map(|(name, members)| {
        let mut all = vec![("action", true, json!({"const": name}))];
        all.extend(members.iter().cloned());
        object(&all)
    });
    let mut forms: Vec<Value> = known.collect();
    let other = json!({"type": "string", "not": {"enum": names}});
    forms.push(object(&[("action", true, other)]));
    json_schema!({"description": "One step on a screen or in a browser.", "anyOf": forms})
}

type Members = Vec<SchemaMember<'static>>;

fn actions(g: &mut SchemaGenerator) -> Vec<(&'static str, Members)> {
    let mut actions = pointer(g);
    actions.extend(keys(g));
    actions.extend(pages(g));
    actions.extend(windows(g));
    actions
}

fn text() -> Value {
    json!({"type": "string"})
}

fn milliseconds() -> Value {
    json!({"type": "number", "minimum": 0, "description": "Milliseconds."})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn pointer(g: &mut SchemaGenerator) -> Vec<(&'static str, Members)> {
    let target = of::<Target>(g);
    let at = || ("coordinate", false, target.clone());
    let needed = || ("coordinate", true, target.clone());
    let button = ("button", false, of::<Button>(g));
    let modifiers = ("modifiers", false, list(of::<Modifier>(g)));
    let duration = || ("duration", false, milliseconds());
    let path = json!({"type": "array", "items": target.clone(), "minItems": 1});
    let click = || vec![at(), button.clone(), modifiers.clone()];
    vec![
        ("screenshot", vec![]),
        ("zoom", vec![("region", true, of::<Region>(g))]),
        ("cursor_position", vec![]),
        ("move", vec![needed()]),
        ("click", click()),
        ("double_click", click()),
        ("triple_click", click()),
        ("mouse_down", vec![at(), button.clone()]),
        ("mouse_up", vec![at(), button.clone()]),
        (
            "drag",
            vec![
                ("path", true, path),
                button.clone(),
                modifiers.clone(),
                duration(),
            ],
        ),
        (
            "scroll",
            vec![
                at(),
                ("dx", true, json!({"type": "number"})),
                ("dy", true, json!({"type": "number"})),
                ("unit", false, of::<ScrollUnit>(g)),
                modifiers.clone(),
            ],
        ),
        (
            "observe_screen",
            vec![
                (
                    "mode",
                    false,
                    json!({"type": "string", "enum": ["grounding", "understanding"]}),
                ),
                ("intent", false, text()),
            ],
        ),
        ("hover", vec![needed()]),
        ("long_press", vec![needed(), duration()]),
    ]
}

fn keys(g: &mut SchemaGenerator) -> Vec<(&'static str, Members)> {
    let target = of::<Target>(g);
    let chord = ("key", true, of::<Chord>(g));
    let flag = || json!({"type": "boolean"});
    vec![
        (
            "type",
            vec![
                ("text", true, text()),
                ("coordinate", false, target),
                ("clear_first", false, flag()),
                ("submit", false, flag()),
            ],
        ),
        (
            "key",
            vec![
                chord.clone(),
                ("repeat", false, json!({"type": "integer", "minimum": 1})),
            ],
        ),
        (
            "hold_key",
            vec![chord.clone(), ("duration", true, milliseconds())],
        ),
        ("key_down", vec![chord.clone()]),
        ("key_up", vec![chord]),
        ("wait", vec![("duration", false, milliseconds())]),
    ]
}

fn pages(g: &mut SchemaGenerator) -> Vec<(&'static str, Members)> {
    let target = of::<Target>(g);
    let needed = || ("coordinate", true, target.clone());
    let tab = || ("tab", false, text());
    let url = || ("url", false, text());
    vec![
        ("navigate", vec![("url", true, text()), tab()]),
        ("back", vec![tab()]),
        ("forward", vec![tab()]),
        ("reload", vec![tab()]),
        ("search", vec![("query", false, text())]),
        ("open_browser", vec![url()]),
        ("list_tabs", vec![]),
        ("new_tab", vec![url()]),
        ("switch_tab", vec![("tab", true, text())]),
        ("close_tab", vec![("tab", true, text())]),
        (
            "read_page",
            vec![
                ("filter", false, text()),
                ("depth", false, json!({"type": "integer", "minimum": 0})),
                ("coordinate", false, target.clone()),
                tab(),
            ],
        ),
        ("page_text", vec![tab()]),
        ("find", vec![("query", true, text()), tab()]),
        (
            "form_input",
            vec![needed(), ("value", true, json!({})), tab()],
        ),
        (
            "file_upload",
            vec![
                needed(),
                ("paths", false, list(text())),
                ("documents", false, list(text())),
                tab(),
            ],
        ),
        ("scroll_to", vec![needed(), tab()]),
        ("javascript", vec![("script", true, text()), tab()]),
        ("read_console", vec![tab()]),
        ("read_network", vec![tab()]),
    ]
}

fn windows(g: &mut SchemaGenerator) -> Vec<(&'static str, Members)> {
    let window = || {
        let description = "A window id as list_windows reports it, or text that exactly one \
            window's title or class contains; absent means the active window.";
        (
            "window",
            false,
            json!({"type": "string", "description": description}),
        )
    };
    vec![
        ("list_windows", vec![]),
        ("focus_window", vec![("window", true, window().2)]),
        ("maximize_window", vec![window()]),
        ("restore_window", vec![window()]),
        ("minimize_window", vec![window()]),
        ("close_window", vec![window()]),
        (
            "place_window",
            vec![window(), ("region", true, of::<Region>(g))],
        ),
        ("capture_window", vec![window()]),
        ("list_monitors", vec![]),
        ("capture_monitor", vec![("monitor", false, text())]),
        ("read_clipboard", vec![]),
        ("write_clipboard", vec![("text", true, text())]),
        (
            "invoke",
            vec![
                ("coordinate", true, of::<Target>(g)),
                ("name", false, text()),
            ],
        ),
        ("open_app", vec![("name", true, text())]),
    ]
}
