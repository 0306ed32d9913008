//! Cases in programs that settling was not tuned to. They were chosen before it was tried on them.

use super::cases::Step::{Click, Drag, Key, RightClick, Scroll, Type};
use super::cases::{App, case};

pub(super) const ALL: [&App; 6] = [&THUNAR, &GNUMERIC, &XARCHIVER, &FIREFOX, &GEDIT, &GIMP];

const FILES: &[(&str, &str)] = &[
    ("alpha.txt", "alpha\n"),
    ("beta.txt", "beta\n"),
    ("gamma.csv", "item,price\npen,2\nbook,12\n"),
];

const THUNAR: App = App {
    program: "thunar",
    arguments: &["."],
    is_confined: true,
    class: "thunar",
    files: FILES,
    cases: || {
        vec![
            case("selects all", &[Key("ctrl+a")]),
            case("selects nothing", &[Click(700, 450)]),
            case("shows a list", &[Key("ctrl+2")]),
            case("shows icons", &[Key("ctrl+1")]),
            case("opens the context menu", &[RightClick(700, 450)]),
            case("closes the context menu", &[Key("Escape")]),
            case("asks for a new folder", &[Key("ctrl+shift+n")]),
            case("names and makes it", &[Type("folder\n")]),
            case("goes up", &[Key("alt+Up")]),
            case("opens the menu", &[Key("alt+f")]),
        ]
    },
};

const GNUMERIC: App = App {
    program: "gnumeric",
    arguments: &["gamma.csv"],
    is_confined: true,
    class: "gnumeric",
    files: FILES,
    cases: || {
        vec![
            case("goes down", &[Key("Down")]),
            case("types a number", &[Type("123")]),
            case("enters it", &[Key("Return")]),
            case("types a formula", &[Type("=sum(b2:b3)\n")]),
            case("goes to the start", &[Key("ctrl+Home")]),
            case("opens the format dialog", &[Key("ctrl+1")]),
            case("closes it", &[Key("Escape")]),
            case("selects cells", &[Drag([120, 230, 260, 300])]),
            case("deletes them", &[Key("Delete")]),
            case("takes it back", &[Key("ctrl+z")]),
        ]
    },
};

const XARCHIVER: App = App {
    program: "xarchiver",
    arguments: &[],
    is_confined: true,
    class: "xarchiver",
    files: FILES,
    cases: || {
        vec![
            case("opens the first menu", &[Click(20, 12)]),
            case("goes to the next menu", &[Key("Right")]),
            case("goes down", &[Key("Down")]),
            case("closes the menu", &[Key("Escape")]),
            case("asks for a new archive", &[Key("ctrl+n")]),
            case("names it", &[Type("archive.zip")]),
            case("makes it", &[Key("Return")]),
            case("asks for an archive", &[Key("ctrl+o")]),
            case("closes the dialog", &[Key("Escape")]),
            case("opens the last menu", &[Key("alt+h")]),
        ]
    },
};

const PAGE: &str = "<!doctype html><title>Page</title><style>body{font:16px sans-serif;margin:20px}\
    </style><button style='width:200px;height:40px' onclick=\"this.textContent='pressed'\">press</button>\
    <p><input style='width:300px' autofocus><p><label><input type=checkbox> check</label>\
    <p><button onclick=\"out.innerHTML='<p>row'.repeat(300)\">fill</button><div id=out></div>";

const FIREFOX: App = App {
    program: "firefox-esr",
    arguments: &["page.html"],
    is_confined: true,
    class: "firefox",
    files: &[("page.html", PAGE)],
    cases: || {
        vec![
            case("types into a field", &[Type("some words")]),
            case("goes on by tab", &[Key("Tab")]),
            case("checks a box", &[Key("space")]),
            case("goes to the button", &[Key("Tab")]),
            case("fills the page", &[Key("Return")]),
            case("scrolls down", &[Scroll(450, 400, 3.0)]),
            case("searches the page", &[Key("ctrl+f")]),
            case("types the words", &[Type("row")]),
            case("closes the search", &[Key("Escape")]),
            case("opens a tab", &[Key("ctrl+t")]),
        ]
    },
};

const GEDIT: App = App {
    program: "gedit",
    arguments: &["alpha.txt"],
    is_confined: true,
    class: "gedit",
    files: FILES,
    cases: || {
        vec![
            case("types a line", &[Type("typed by a test\n")]),
            case("selects all", &[Key("ctrl+a")]),
            case("goes to the end", &[Key("ctrl+End")]),
            case("opens the search", &[Key("ctrl+f")]),
            case("searches", &[Type("alpha")]),
            case("closes the search", &[Key("Escape")]),
            case("opens another tab", &[Key("ctrl+t")]),
            case("opens the menu", &[Key("F10")]),
            case("closes the menu", &[Key("Escape")]),
            case("opens the dialog for files", &[Key("ctrl+o")]),
        ]
    },
};

const GIMP: App = App {
    program: "gimp",
    arguments: &["--no-splash"],
    is_confined: true,
    class: "gimp",
    files: FILES,
    cases: || {
        vec![
            case("asks for a new image", &[Key("ctrl+n")]),
            case("makes it", &[Key("Return")]),
            case("chooses the pencil", &[Key("n")]),
            case("draws a line", &[Drag([400, 250, 520, 330])]),
            case("takes it back", &[Key("ctrl+z")]),
            case("draws again", &[Drag([400, 330, 520, 250])]),
            case("selects all", &[Key("ctrl+a")]),
            case("selects nothing", &[Key("ctrl+shift+a")]),
            case("zooms in", &[Key("plus")]),
            case("opens the menu of files", &[Key("alt+f")]),
        ]
    },
};
