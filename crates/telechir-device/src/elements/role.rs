//! What elements are, in one set of words: those of web pages, whoever says it.

use std::borrow::Cow;

use super::{State, States};

/// What toolkits say, in letters only, and what it is called here.
const OTHER_WORDS: [(&str, &str); 27] = [
    ("pushbutton", "button"),
    ("togglebutton", "button"),
    ("pushbuttonmenu", "button"),
    ("checkmenuitem", "menuitemcheckbox"),
    ("radiomenuitem", "menuitemradio"),
    ("tearoffmenuitem", "menuitem"),
    ("radiobutton", "radio"),
    ("text", "textbox"),
    ("entry", "textbox"),
    ("edit", "textbox"),
    ("editbar", "textbox"),
    ("passwordtext", "password"),
    ("autocomplete", "combobox"),
    ("dropdown", "combobox"),
    ("frame", "window"),
    ("pagetab", "tab"),
    ("pagetablist", "tablist"),
    ("popupmenu", "menu"),
    ("tablecell", "cell"),
    ("tablerow", "row"),
    ("tablecolumnheader", "columnheader"),
    ("tablerowheader", "rowheader"),
    ("treetable", "treegrid"),
    ("static", "text"),
    ("icon", "image"),
    ("documentweb", "document"),
    ("hyperlink", "link"),
];

const INTERACTIVE: [&str; 22] = [
    "button",
    "cell",
    "checkbox",
    "combobox",
    "file",
    "link",
    "listitem",
    "menu",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "password",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "terminal",
    "textbox",
    "treeitem",
];

/// Parts that take the keys for what is in them.
const HOLDERS: [&str; 22] = [
    "application",
    "dialog",
    "document",
    "documentframe",
    "filler",
    "grid",
    "grouping",
    "label",
    "list",
    "listbox",
    "menubar",
    "panel",
    "rootpane",
    "scrollpane",
    "section",
    "table",
    "tablist",
    "toolbar",
    "tree",
    "treegrid",
    "viewport",
    "window",
];

/// The one word for a role, whatever word it came in: `push button` and `PushButton` are `button`.
///
/// ```
/// use telechir_device::role_name;
/// assert_eq!(role_name("push button"), "button");
/// assert_eq!(role_name("check box"), "checkbox");
/// assert_eq!(role_name("Button"), "button");
/// ```
pub fn role_name(said: &str) -> Cow<'static, str> {
    let letters: String = said
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let known = OTHER_WORDS.iter().find(|(word, _)| *word == letters);
    known.map_or(Cow::Owned(letters), |(_, name)| Cow::Borrowed(name))
}

/// Whether a person could act on an element of this role and in this state.
pub fn is_interactive(role: &str, states: States) -> bool {
    INTERACTIVE.contains(&role)
        || states.has(State::Editable)
        || (states.has(State::Focusable) && !HOLDERS.contains(&role))
}
