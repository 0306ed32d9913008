//! The findings as text of 80 columns, coloured on a terminal only.

use std::fmt::Write as _;

use super::{Finding, Machine, Report, State};

const WIDTH: usize = 80;
/// Where what was seen begins.
const COLUMN: usize = 38;
/// Where the lines below it begin.
const BELOW: usize = 22;

/// How the text is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show {
    /// Whether states are coloured.
    pub(crate) colours: bool,
}

impl Show {
    /// The first line.
    pub(crate) fn machine(self, machine: &Machine) -> String {
        let who = if machine.root {
            "as root".to_owned()
        } else {
            format!("as user {}", machine.uid)
        };
        let landlock = machine
            .landlock_abi
            .map_or_else(|| "no Landlock".to_owned(), |abi| format!("Landlock {abi}"));
        let groups = match (machine.cgroup_version, machine.cgroup_delegated) {
            (None, _) => "no control groups".to_owned(),
            (Some(version), true) => format!("control groups {version}, ours to divide"),
            (Some(version), false) => format!("control groups {version}, not ours to divide"),
        };
        let text = format!(
            "{}, Linux {} on {} {}s, {who}; {landlock}, {groups}",
            machine.system, machine.kernel, machine.processors, machine.architecture
        );
        let mut lines = String::new();
        paragraph(&mut lines, "", 0, &text);
        lines.push('\n');
        lines
    }

    /// One check: a line, and below it what is to be known when it does not simply work.
    pub(crate) fn finding(self, finding: &Finding) -> String {
        let mut text = String::new();
        let state = format!("{:<9}", finding.state.name());
        let seconds = finding.took_ms / 1000;
        let hundredths = finding.took_ms % 1000 / 10;
        let head = format!(
            "{state} {:<16} {:>5}.{hundredths:02} s",
            finding.id, seconds
        );
        let seen = finding.seen.as_deref().unwrap_or_default();
        paragraph(&mut text, &format!("{head:<COLUMN$}"), COLUMN, seen);
        let mut below = |name: &str, what: &str| {
            paragraph(&mut text, &format!("          {name:<12}"), BELOW, what);
        };
        if let Some(cause) = &finding.cause {
            below("why", cause);
        }
        if let Some(without) = finding.without {
            below("without it", without);
        }
        for command in &finding.commands {
            // Not broken into lines: it is to be copied.
            let _a_string_takes_all = writeln!(text, "          {:<12}{command}", "to mend it");
        }
        match self.colour(finding.state) {
            Some(colour) => text.replacen(&state, &format!("\x1b[{colour}m{state}\x1b[0m"), 1),
            None => text,
        }
    }

    /// The last lines.
    pub(crate) fn end(self, report: &Report) -> String {
        let mut text = String::from("\n");
        let can = if report.usable.is_empty() {
            "telechir can give a model no device here.".to_owned()
        } else {
            format!("telechir can give a model: {}.", report.usable.join(", "))
        };
        paragraph(&mut text, "", 0, &can);
        if let Some(install) = &report.install {
            let _a_string_takes_all =
                writeln!(text, "All that is missing comes with:\n  {install}");
        }
        text
    }

    fn colour(self, state: State) -> Option<u8> {
        self.colours.then_some(match state {
            State::Works => 32,
            State::Degraded | State::Missing => 33,
            State::Broken => 31,
        })
    }
}

/// Words in lines that end before the last column; `head` stands before the first of them.
fn paragraph(text: &mut String, head: &str, indent: usize, words: &str) {
    let mut line = head.to_owned();
    let mut is_fresh = true;
    for word in words.split_whitespace() {
        let wide = line.chars().count() + usize::from(!is_fresh) + word.chars().count();
        if !is_fresh && wide > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(indent);
        } else if !is_fresh {
            line.push(' ');
        }
        line.push_str(word);
        is_fresh = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding {
            id: "browser-headless",
            state: State::Missing,
            gives: None,
            took_ms: 12_345,
            seen: None,
            cause: Some("word ".repeat(40)),
            without: Some("nothing"),
            packages: vec!["chromium".to_owned()],
            commands: vec!["apt-get install chromium".to_owned()],
        }
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let text = Show { colours: false }.finding(&finding());
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(
            text.starts_with("missing   browser-headless    12.34 s\n"),
            "{text}"
        );
        assert!(
            text.contains("to mend it  apt-get install chromium\n"),
            "{text}"
        );
    }

    #[test]
    fn only_a_terminal_gets_colours() {
        let plain = Show { colours: false }.finding(&finding());
        assert!(!plain.contains('\x1b'), "{plain}");
        let coloured = Show { colours: true }.finding(&finding());
        assert!(
            coloured.starts_with("\x1b[33mmissing  \x1b[0m "),
            "{coloured}"
        );
    }
}
