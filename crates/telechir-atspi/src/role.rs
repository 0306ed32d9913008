//! Maps AT-SPI role numbers to role names.

use std::borrow::Cow;
use std::sync::LazyLock;

use telechir_device::role_name;

/// By number, in the order of `atspi-constants.h`.
const ROLES: [&str; 131] = [
    "invalid",
    "accelerator label",
    "alert",
    "animation",
    "arrow",
    "calendar",
    "canvas",
    "check box",
    "check menu item",
    "color chooser",
    "column header",
    "combo box",
    "date editor",
    "desktop icon",
    "desktop frame",
    "dial",
    "dialog",
    "directory pane",
    "drawing area",
    "file chooser",
    "filler",
    "focus traversable",
    "font chooser",
    "frame",
    "glass pane",
    "html container",
    "icon",
    "image",
    "internal frame",
    "label",
    "layered pane",
    "list",
    "list item",
    "menu",
    "menu bar",
    "menu item",
    "option pane",
    "page tab",
    "page tab list",
    "panel",
    "password text",
    "popup menu",
    "progress bar",
    "push button",
    "radio button",
    "radio menu item",
    "root pane",
    "row header",
    "scroll bar",
    "scroll pane",
    "separator",
    "slider",
    "spin button",
    "split pane",
    "status bar",
    "table",
    "table cell",
    "table column header",
    "table row header",
    "tearoff menu item",
    "terminal",
    "text",
    "toggle button",
    "tool bar",
    "tool tip",
    "tree",
    "tree table",
    "unknown",
    "viewport",
    "window",
    "extended",
    "header",
    "footer",
    "paragraph",
    "ruler",
    "application",
    "autocomplete",
    "editbar",
    "embedded",
    "entry",
    "chart",
    "caption",
    "document frame",
    "heading",
    "page",
    "section",
    "redundant object",
    "form",
    "link",
    "input method window",
    "table row",
    "tree item",
    "document spreadsheet",
    "document presentation",
    "document text",
    "document web",
    "document email",
    "comment",
    "list box",
    "grouping",
    "image map",
    "notification",
    "info bar",
    "level bar",
    "title bar",
    "block quote",
    "audio",
    "video",
    "definition",
    "article",
    "landmark",
    "log",
    "marquee",
    "math",
    "rating",
    "timer",
    "static",
    "math fraction",
    "math root",
    "subscript",
    "superscript",
    "description list",
    "description term",
    "description value",
    "footnote",
    "content deletion",
    "content insertion",
    "mark",
    "suggestion",
    "push button menu",
    "switch",
];

pub(crate) const PASSWORD: u32 = 40;
pub(crate) const MENU_BAR: u32 = 34;
pub(crate) const ROOT_PANE: u32 = 46;
pub(crate) const TABLE_CELL: u32 = 56;
pub(crate) const TOGGLE: u32 = 62;

/// The mapped names, computed once: each element's role is read several times.
static NAMES: LazyLock<[Cow<'static, str>; 131]> = LazyLock::new(|| ROLES.map(role_name));

/// The name of a role; for numbers beyond the list `role` and the number.
pub(crate) fn name(role: u32) -> Cow<'static, str> {
    let names: &'static [Cow<'static, str>] = &*NAMES;
    let known = usize::try_from(role).ok().and_then(|at| names.get(at));
    known.map_or_else(
        || format!("role{role}").into(),
        |name| Cow::Borrowed(&**name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_map_to_the_role_names_of_pages() {
        let names = [7, 23, 29, 35, 43, 61, 62, 79, 88, 129].map(|role| name(role).into_owned());
        let expected = [
            "checkbox", "window", "label", "menuitem", "button", "textbox", "button", "textbox",
            "link", "button",
        ];
        assert_eq!(names, expected);
        assert_eq!(name(PASSWORD), "password");
        assert_eq!(name(999), "role999");
    }
}
