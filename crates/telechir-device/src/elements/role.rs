//! Roles of elements with one set of names, those of web pages, for all toolkits.

use std::borrow::Cow;

use super::{ElementState, ElementStates};

/// Toolkits' names in letters only, and the common names.
const ROLE_ALIASES: [(&str, &str); 27] = [
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

/// Containers that take the focus for their contents.
const CONTAINER_ROLES: [&str; 22] = [
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

/// The common name of a role: `push button` and `PushButton` are `button`.
///
/// ```
/// use telechir_device::role_name;
/// assert_eq!(role_name("push button"), "button");
/// assert_eq!(role_name("check box"), "checkbox");
/// assert_eq!(role_name("Button"), "button");
/// ```
pub fn role_name(role_text: &str) -> Cow<'static, str> {
    let letters: String = role_text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let known = ROLE_ALIASES.iter().find(|(role, _)| *role == letters);
    known.map_or(Cow::Owned(letters), |(_, name)| Cow::Borrowed(name))
}

/// Whether a user could act on an element of this role and in this state.
pub fn is_interactive(role: &str, states: ElementStates) -> bool {
    INTERACTIVE.contains(&role)
        || states.has(ElementState::Editable)
        || (states.has(ElementState::Focusable) && !CONTAINER_ROLES.contains(&role))
}
