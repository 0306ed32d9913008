//! The cases of the corpus. Coordinates are pixels of the application's window.

use std::path::Path;

/// An application of the corpus.
pub(super) struct App {
    pub(super) program: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// Whether it runs in the display's sandbox. Chromium needs its own.
    pub(super) is_confined: bool,
    /// A part of its window class.
    pub(super) class: &'static str,
    /// Files to create in its workspace.
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) cases: fn() -> Vec<Case>,
}

impl App {
    pub(super) fn is_installed(&self) -> bool {
        Path::new("/usr/bin").join(self.program).exists()
    }
}

/// A sequence of actions, followed by one comparison.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) steps: Vec<Step>,
    /// Has an effect that starts later and that no signal announces: a timer of the program.
    pub(super) comes_later: bool,
}

/// One action of a case.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Click(i32, i32),
    DoubleClick(i32, i32),
    RightClick(i32, i32),
    /// From the first to the second position.
    Drag([i32; 4]),
    /// Wheel clicks at a position; positive values scroll down.
    Scroll(i32, i32, f64),
    Type(&'static str),
    Key(&'static str),
    Maximize,
    Restore,
}

use Step::{Click, DoubleClick, Drag, Key, Maximize, Restore, RightClick, Scroll, Type};

pub(super) fn case(name: &'static str, steps: &[Step]) -> Case {
    Case {
        name,
        steps: steps.to_vec(),
        comes_later: false,
    }
}

fn later(name: &'static str, steps: &[Step]) -> Case {
    Case {
        comes_later: true,
        ..case(name, steps)
    }
}

pub(super) const ALL: [&App; 8] = [
    &XTERM,
    &MOUSEPAD,
    &CALCULATOR,
    &LIST,
    &FORM,
    &FEATHERPAD,
    &CALC,
    &CHROMIUM,
];

pub(super) const XTERM: App = App {
    program: "xterm",
    arguments: &["-e", "bash", "--norc", "--noprofile"],
    is_confined: true,
    class: "xterm",
    files: &[],
    cases: || {
        vec![
            case("types a word", &[Type("echo hello")]),
            case("runs it", &[Key("Return")]),
            case("lists a folder", &[Type("ls -la /usr/bin | head -n 40\n")]),
            case("prints five hundred lines", &[Type("seq 1 500\n")]),
            case(
                "prints a long file",
                &[Type("cat /usr/share/common-licenses/GPL-3\n")],
            ),
            case("clears the screen", &[Key("ctrl+l")]),
            case(
                "types and deletes",
                &[Type("abc"), Key("BackSpace"), Key("BackSpace")],
            ),
            case("takes the line away", &[Key("ctrl+u")]),
            case(
                "prints in colours",
                &[Type(
                    "for i in 1 2 3 4 5 6; do printf \"\\e[3${i}mcolour $i\\e[0m\\n\"; done\n",
                )],
            ),
            case(
                "counts for a while",
                &[Type("for i in $(seq 20000); do :; done; echo done\n")],
            ),
            later("waits, then prints", &[Type("sleep 0.4; echo later\n")]),
            case("clicks into the window", &[Click(300, 200)]),
            case("selects a word", &[DoubleClick(40, 30)]),
            case("moves the window", &[Drag([300, -10, 360, 50])]),
            case("moves it back", &[Drag([360, 50, 300, -10])]),
            case("maximizes it", &[Maximize]),
            case("takes that back", &[Restore]),
        ]
    },
};

const TEXT: &str =
    "One line.\nAnother line, which is somewhat longer than the first.\n\nA third.\n";

pub(super) const MOUSEPAD: App = App {
    program: "mousepad",
    arguments: &["text.txt"],
    is_confined: true,
    class: "mousepad",
    files: &[("text.txt", TEXT)],
    cases: || {
        vec![
            case("clicks into the text", &[Click(400, 300)]),
            case("types a line", &[Type("typed by a test\n")]),
            case("selects all", &[Key("ctrl+a")]),
            case(
                "copies and goes to the end",
                &[Key("ctrl+c"), Key("ctrl+End")],
            ),
            case("pastes", &[Key("ctrl+v")]),
            case("takes it back", &[Key("ctrl+z")]),
            case("opens the first menu", &[Click(20, 12)]),
            case("goes to the next menu", &[Key("Right")]),
            case("closes the menu", &[Key("Escape")]),
            case("opens the search bar", &[Key("ctrl+f")]),
            case("searches", &[Type("line")]),
            case("closes the search bar", &[Key("Escape")]),
            // The pointer rests on an entry whose tooltip appears half a second later.
            later(
                "opens the dialog for files under the pointer",
                &[Key("ctrl+o")],
            ),
            case("closes the dialog", &[Key("Escape")]),
            case("clicks into the text again", &[Click(400, 300)]),
            case("opens the dialog for files", &[Key("ctrl+o")]),
            case("closes the dialog again", &[Key("Escape")]),
            case("opens another tab", &[Key("ctrl+t")]),
            case("types into it", &[Type("in another tab")]),
            case("goes to the first tab", &[Key("ctrl+Page_Up")]),
            case("goes to the other tab", &[Key("ctrl+Page_Down")]),
            case("opens the menu of the text", &[RightClick(300, 200)]),
            case("closes that menu", &[Key("Escape")]),
            case("opens the menu for editing", &[Key("alt+e")]),
            case("opens the settings", &[Key("Up"), Key("Return")]),
            case("goes on to a box", &[Key("Tab")]),
            case("checks a box", &[Key("space")]),
            case("closes the settings", &[Key("Escape")]),
            case("opens another window", &[Key("ctrl+n")]),
            case("closes the other window", &[Key("ctrl+w")]),
        ]
    },
};

const CALCULATOR: App = App {
    program: "gnome-calculator",
    arguments: &[],
    is_confined: true,
    class: "calculator",
    files: &[],
    cases: || {
        vec![
            case("types a sum", &[Type("12+34")]),
            case("computes it", &[Key("Return")]),
            case("takes it away", &[Key("Escape")]),
            case("clicks a digit", &[Click(150, 500)]),
            case("clicks another", &[Click(350, 500)]),
            case("clicks a third", &[Click(250, 560)]),
            case("types a product", &[Type("*9876543")]),
            case("computes the product", &[Key("Return")]),
            case("opens the menu", &[Key("F10")]),
            case("closes the menu", &[Key("Escape")]),
            case("deletes a digit", &[Key("BackSpace")]),
        ]
    },
};

/// A dialog with a check list, as scripts use it.
const LIST: App = App {
    program: "zenity",
    arguments: &[
        "--list",
        "--checklist",
        "--title=Fruit",
        "--text=Which?",
        "--column=",
        "--column=Name",
        "TRUE",
        "apple",
        "FALSE",
        "pear",
        "FALSE",
        "plum",
        "FALSE",
        "quince",
    ],
    is_confined: true,
    class: "zenity",
    files: &[],
    cases: || {
        vec![
            case("checks a box", &[Click(22, 100)]),
            case("unchecks it", &[Click(22, 100)]),
            case("goes down", &[Key("Down")]),
            case("checks by key", &[Key("space")]),
            case("selects a row", &[Click(300, 130)]),
            case("sorts", &[Click(300, 50)]),
            case("goes to a button", &[Key("Tab")]),
            case("presses the button", &[Key("space")]),
        ]
    },
};

const FORM: App = App {
    program: "zenity",
    arguments: &[
        "--forms",
        "--title=Order",
        "--text=What and when?",
        "--add-entry=What",
        "--add-entry=For whom",
        "--add-calendar=When",
    ],
    is_confined: true,
    class: "zenity",
    files: &[],
    cases: || {
        vec![
            case("types what", &[Type("a box of pears")]),
            case("goes on", &[Key("Tab")]),
            case("types for whom", &[Type("somebody")]),
            case("goes to the calendar", &[Key("Tab")]),
            case("goes to another day", &[Key("Down")]),
            case("goes to the next month", &[Key("ctrl+Page_Down")]),
            case("moves the dialog", &[Drag([300, -10, 340, 20])]),
            case("clicks into the first field", &[Click(500, 60)]),
            case("sends it off", &[Key("Return")]),
        ]
    },
};

const FEATHERPAD: App = App {
    program: "featherpad",
    arguments: &["text.txt"],
    is_confined: true,
    class: "featherpad",
    files: &[("text.txt", TEXT)],
    cases: || {
        vec![
            case("clicks into the text", &[Click(400, 400)]),
            case("types a line", &[Type("typed by a test\n")]),
            case("selects all", &[Key("ctrl+a")]),
            case("goes to the end", &[Key("ctrl+End")]),
            case("opens the search bar", &[Key("ctrl+f")]),
            case("searches", &[Type("line")]),
            case("closes the search bar", &[Key("Escape")]),
            case("opens another tab", &[Key("ctrl+n")]),
            case("closes the tab", &[Key("ctrl+w")]),
            case("zooms in", &[Key("ctrl+equal")]),
            case("takes it back", &[Key("ctrl+z")]),
            case("opens the first menu", &[Key("alt+f")]),
            case("goes to the next menu", &[Key("Right")]),
            case("closes the menus", &[Key("Escape"), Key("Escape")]),
            case("opens the dialog for files", &[Key("ctrl+o")]),
            case("closes the dialog", &[Key("Escape")]),
            case("opens the menu of the text", &[RightClick(400, 300)]),
            case("closes that menu", &[Key("Escape")]),
            case("scrolls", &[Scroll(400, 300, 3.0)]),
        ]
    },
};

const CALC: App = App {
    program: "localc",
    arguments: &["--norestore", "--nologo", "sheet.csv"],
    is_confined: true,
    // Its dialogs have another class than its documents: `Soffice` and `libreoffice-calc`.
    class: "office",
    files: &[("sheet.csv", "item,price\npen,2\nbook,12\nlamp,30\n")],
    cases: || {
        vec![
            case("confirms the import", &[Key("Return")]),
            case("goes down", &[Key("Down")]),
            case("goes right", &[Key("Right")]),
            case("types a number", &[Type("5")]),
            case("enters it", &[Key("Return")]),
            case("types a formula", &[Type("=SUM(B1:B4)")]),
            case("enters the formula", &[Key("Return")]),
            case("selects a range", &[Key("shift+Up"), Key("shift+Up")]),
            case("deletes it", &[Key("Delete")]),
            case("takes it back", &[Key("ctrl+z")]),
            case("goes to the start", &[Key("ctrl+Home")]),
            case("goes down a page", &[Key("Page_Down")]),
            case("opens the format dialog", &[Key("ctrl+1")]),
            // The dialog goes 250 ms after the key, while other timers of the program expire.
            case("confirms the dialog", &[Key("Return")]),
            case("opens the format dialog again", &[Key("ctrl+1")]),
            case("confirms it again", &[Key("Return")]),
        ]
    },
};

const PAGE: &str = "<!doctype html><title>Page</title><style>body{font:16px sans-serif;margin:20px}\
    </style><button style='width:200px;height:40px' onclick=\"this.textContent='pressed'\">press</button>\
    <p><input style='width:300px'><p><label><input type=checkbox> check</label>\
    <p><select><option>one<option>two<option>three</select>\
    <p><button onclick=\"out.innerHTML='<p>row'.repeat(300)\">fill</button><div id=out></div>";

pub(super) const CHROMIUM: App = App {
    program: "chromium",
    arguments: &[
        "--no-sandbox",
        "--no-first-run",
        "--no-default-browser-check",
        "--noerrdialogs",
        "--disable-notifications",
        "--disable-sync",
        "--disable-component-update",
        "--disable-background-networking",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-prefers-reduced-motion",
        "--disable-smooth-scrolling",
        "--wm-window-animations-disabled",
        "--animation-duration-scale=0",
        "--password-store=basic",
        "page.html",
    ],
    is_confined: false,
    class: "chromium",
    files: &[("page.html", PAGE)],
    cases: || {
        vec![
            case("presses a button", &[Click(100, 130)]),
            case("clicks into a field", &[Click(150, 185)]),
            case("types into it", &[Type("some words")]),
            case("goes on by tab", &[Key("Tab")]),
            case("checks a box", &[Key("space")]),
            case("goes to a list", &[Key("Tab")]),
            case("chooses from the list", &[Key("Down")]),
            case("goes to the other button", &[Key("Tab")]),
            case("fills the page", &[Key("Return")]),
            case("scrolls down", &[Scroll(450, 400, 3.0)]),
            case("scrolls up", &[Scroll(450, 400, -3.0)]),
            case("searches the page", &[Key("ctrl+f")]),
            case("closes the search", &[Key("Escape")]),
            // The zoom bubble disappears after 1.5 s.
            later("zooms in", &[Key("ctrl+plus")]),
            case("loads it again", &[Key("F5")]),
            case("opens the menu of the page", &[RightClick(600, 300)]),
            case("closes that menu", &[Key("Escape")]),
            case("opens a tab", &[Key("ctrl+t")]),
            case("closes the tab", &[Key("ctrl+w")]),
        ]
    },
};
