//! What is done to which application. Places are pixels of the application's window.

use std::path::Path;

/// An application of the corpus.
pub(super) struct App {
    pub(super) program: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// Whether the display's confinement is around it. A browser builds its own.
    pub(super) is_confined: bool,
    /// What its window's class contains.
    pub(super) class: &'static str,
    /// Files in its workspace.
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) acts: fn() -> Vec<Act>,
}

impl App {
    pub(super) fn is_installed(&self) -> bool {
        Path::new("/usr/bin").join(self.program).exists()
    }
}

/// One thing that is done, then looked at.
pub(super) struct Act {
    pub(super) name: &'static str,
    pub(super) steps: Vec<Step>,
    /// It has an effect that begins later and that nothing announces: a timer of the program.
    pub(super) comes_later: bool,
}

/// A part of it.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Click(i32, i32),
    DoubleClick(i32, i32),
    RightClick(i32, i32),
    /// From the first place to the second.
    Drag([i32; 4]),
    /// Clicks of the wheel, down when positive.
    Scroll(i32, i32, f64),
    Type(&'static str),
    Key(&'static str),
    Maximize,
    Restore,
}

use Step::{Click, DoubleClick, Drag, Key, Maximize, Restore, RightClick, Scroll, Type};

fn act(name: &'static str, steps: &[Step]) -> Act {
    Act {
        name,
        steps: steps.to_vec(),
        comes_later: false,
    }
}

fn later(name: &'static str, steps: &[Step]) -> Act {
    Act {
        comes_later: true,
        ..act(name, steps)
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
    acts: || {
        vec![
            act("types a word", &[Type("echo hello")]),
            act("runs it", &[Key("Return")]),
            act("lists a folder", &[Type("ls -la /usr/bin | head -n 40\n")]),
            act("prints five hundred lines", &[Type("seq 1 500\n")]),
            act(
                "prints a long file",
                &[Type("cat /usr/share/common-licenses/GPL-3\n")],
            ),
            act("clears the screen", &[Key("ctrl+l")]),
            act(
                "types and deletes",
                &[Type("abc"), Key("BackSpace"), Key("BackSpace")],
            ),
            act("takes the line away", &[Key("ctrl+u")]),
            act(
                "prints in colours",
                &[Type(
                    "for i in 1 2 3 4 5 6; do printf \"\\e[3${i}mcolour $i\\e[0m\\n\"; done\n",
                )],
            ),
            act(
                "counts for a while",
                &[Type("for i in $(seq 20000); do :; done; echo done\n")],
            ),
            later("waits, then prints", &[Type("sleep 0.4; echo later\n")]),
            act("clicks into the window", &[Click(300, 200)]),
            act("selects a word", &[DoubleClick(40, 30)]),
            act("moves the window", &[Drag([300, -10, 360, 50])]),
            act("moves it back", &[Drag([360, 50, 300, -10])]),
            act("maximizes it", &[Maximize]),
            act("takes that back", &[Restore]),
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
    acts: || {
        vec![
            act("clicks into the text", &[Click(400, 300)]),
            act("types a line", &[Type("typed by a test\n")]),
            act("selects all", &[Key("ctrl+a")]),
            act(
                "copies and goes to the end",
                &[Key("ctrl+c"), Key("ctrl+End")],
            ),
            act("pastes", &[Key("ctrl+v")]),
            act("takes it back", &[Key("ctrl+z")]),
            act("opens the first menu", &[Click(20, 12)]),
            act("goes to the next menu", &[Key("Right")]),
            act("closes the menu", &[Key("Escape")]),
            act("opens the search bar", &[Key("ctrl+f")]),
            act("searches", &[Type("line")]),
            act("closes the search bar", &[Key("Escape")]),
            // The pointer lies on one of its entries, of which half a second later it says what it
            // is for.
            later(
                "opens the dialog for files under the pointer",
                &[Key("ctrl+o")],
            ),
            act("closes the dialog", &[Key("Escape")]),
            act("clicks into the text again", &[Click(400, 300)]),
            act("opens the dialog for files", &[Key("ctrl+o")]),
            act("closes the dialog again", &[Key("Escape")]),
            act("opens another tab", &[Key("ctrl+t")]),
            act("types into it", &[Type("in another tab")]),
            act("goes to the first tab", &[Key("ctrl+Page_Up")]),
            act("goes to the other tab", &[Key("ctrl+Page_Down")]),
            act("opens the menu of the text", &[RightClick(300, 200)]),
            act("closes that menu", &[Key("Escape")]),
            act("opens the menu for editing", &[Key("alt+e")]),
            act("opens the settings", &[Key("Up"), Key("Return")]),
            act("goes on to a box", &[Key("Tab")]),
            act("checks a box", &[Key("space")]),
            act("closes the settings", &[Key("Escape")]),
            act("opens another window", &[Key("ctrl+n")]),
            act("closes the other window", &[Key("ctrl+w")]),
        ]
    },
};

const CALCULATOR: App = App {
    program: "gnome-calculator",
    arguments: &[],
    is_confined: true,
    class: "calculator",
    files: &[],
    acts: || {
        vec![
            act("types a sum", &[Type("12+34")]),
            act("computes it", &[Key("Return")]),
            act("takes it away", &[Key("Escape")]),
            act("clicks a digit", &[Click(150, 500)]),
            act("clicks another", &[Click(350, 500)]),
            act("clicks a third", &[Click(250, 560)]),
            act("types a product", &[Type("*9876543")]),
            act("computes the product", &[Key("Return")]),
            act("opens the menu", &[Key("F10")]),
            act("closes the menu", &[Key("Escape")]),
            act("deletes a digit", &[Key("BackSpace")]),
        ]
    },
};

/// A dialog with boxes to check, by which a script asks.
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
    acts: || {
        vec![
            act("checks a box", &[Click(22, 100)]),
            act("unchecks it", &[Click(22, 100)]),
            act("goes down", &[Key("Down")]),
            act("checks by key", &[Key("space")]),
            act("selects a row", &[Click(300, 130)]),
            act("sorts", &[Click(300, 50)]),
            act("goes to a button", &[Key("Tab")]),
            act("presses the button", &[Key("space")]),
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
    acts: || {
        vec![
            act("types what", &[Type("a box of pears")]),
            act("goes on", &[Key("Tab")]),
            act("types for whom", &[Type("somebody")]),
            act("goes to the calendar", &[Key("Tab")]),
            act("goes to another day", &[Key("Down")]),
            act("goes to the next month", &[Key("ctrl+Page_Down")]),
            act("moves the dialog", &[Drag([300, -10, 340, 20])]),
            act("clicks into the first field", &[Click(500, 60)]),
            act("sends it off", &[Key("Return")]),
        ]
    },
};

const FEATHERPAD: App = App {
    program: "featherpad",
    arguments: &["text.txt"],
    is_confined: true,
    class: "featherpad",
    files: &[("text.txt", TEXT)],
    acts: || {
        vec![
            act("clicks into the text", &[Click(400, 400)]),
            act("types a line", &[Type("typed by a test\n")]),
            act("selects all", &[Key("ctrl+a")]),
            act("goes to the end", &[Key("ctrl+End")]),
            act("opens the search bar", &[Key("ctrl+f")]),
            act("searches", &[Type("line")]),
            act("closes the search bar", &[Key("Escape")]),
            act("opens another tab", &[Key("ctrl+n")]),
            act("closes the tab", &[Key("ctrl+w")]),
            act("zooms in", &[Key("ctrl+equal")]),
            act("takes it back", &[Key("ctrl+z")]),
            act("opens the first menu", &[Key("alt+f")]),
            act("goes to the next menu", &[Key("Right")]),
            act("closes the menus", &[Key("Escape"), Key("Escape")]),
            act("opens the dialog for files", &[Key("ctrl+o")]),
            act("closes the dialog", &[Key("Escape")]),
            act("opens the menu of the text", &[RightClick(400, 300)]),
            act("closes that menu", &[Key("Escape")]),
            act("scrolls", &[Scroll(400, 300, 3.0)]),
        ]
    },
};

const CALC: App = App {
    program: "localc",
    arguments: &["--norestore", "--nologo", "sheet.csv"],
    is_confined: true,
    class: "libreoffice",
    files: &[("sheet.csv", "item,price\npen,2\nbook,12\nlamp,30\n")],
    acts: || {
        vec![
            act("confirms the import", &[Key("Return")]),
            act("goes down", &[Key("Down")]),
            act("goes right", &[Key("Right")]),
            act("types a number", &[Type("5")]),
            act("enters it", &[Key("Return")]),
            act("types a formula", &[Type("=SUM(B1:B4)")]),
            act("enters the formula", &[Key("Return")]),
            act("selects a range", &[Key("shift+Up"), Key("shift+Up")]),
            act("deletes it", &[Key("Delete")]),
            act("takes it back", &[Key("ctrl+z")]),
            act("goes to the start", &[Key("ctrl+Home")]),
            act("goes down a page", &[Key("Page_Down")]),
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
    acts: || {
        vec![
            act("presses a button", &[Click(100, 130)]),
            act("clicks into a field", &[Click(150, 185)]),
            act("types into it", &[Type("some words")]),
            act("goes on by tab", &[Key("Tab")]),
            act("checks a box", &[Key("space")]),
            act("goes to a list", &[Key("Tab")]),
            act("chooses from the list", &[Key("Down")]),
            act("goes to the other button", &[Key("Tab")]),
            act("fills the page", &[Key("Return")]),
            act("scrolls down", &[Scroll(450, 400, 3.0)]),
            act("scrolls up", &[Scroll(450, 400, -3.0)]),
            act("searches the page", &[Key("ctrl+f")]),
            act("closes the search", &[Key("Escape")]),
            // What says so goes away after a second and a half.
            later("zooms in", &[Key("ctrl+plus")]),
            act("loads it again", &[Key("F5")]),
            act("opens the menu of the page", &[RightClick(600, 300)]),
            act("closes that menu", &[Key("Escape")]),
            act("opens a tab", &[Key("ctrl+t")]),
            act("closes the tab", &[Key("ctrl+w")]),
        ]
    },
};
