//! Renders findings as text of 80 columns, with colours on a terminal.

use std::fmt::Write as _;

use super::{CheckState, DoctorReport, Finding, MachineInfo};

const MAX_WIDTH: usize = 80;
/// Column of the observation.
const OBSERVATION_COLUMN: usize = 38;
/// Indentation of the lines below.
const DETAIL_INDENT: usize = 22;

/// Settings of the text output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextRenderer {
    /// Whether states are coloured; only on a terminal.
    pub(crate) colours: bool,
}

impl TextRenderer {
    /// The heading: system, kernel, user and sandbox features.
    pub(crate) fn machine(self, machine: &MachineInfo) -> String {
        let who = if machine.root {
            "as root".to_owned()
        } else {
            format!("as user {}", machine.uid)
        };
        let landlock = machine.landlock_abi.map_or_else(
            || "no Landlock".to_owned(),
            |abi| format!("Landlock ABI {abi}"),
        );
        let groups = match (machine.cgroup_version, machine.cgroup_delegated) {
            (None, _) => "no cgroups".to_owned(),
            (Some(version), true) => format!("cgroup v{version}, writable"),
            (Some(version), false) => format!("cgroup v{version}, read-only"),
        };
        let text = format!(
            "{}, Linux {} on {} {} processors, {who}; {landlock}, {groups}",
            machine.system, machine.kernel, machine.processors, machine.architecture
        );
        let mut lines = String::new();
        paragraph(&mut lines, "", 0, &text);
        lines.push('\n');
        lines
    }

    /// A finding: one line, and details below it if the check is not `works`.
    pub(crate) fn finding(self, finding: &Finding) -> String {
        let mut text = String::new();
        let state = format!("{:<9}", finding.state.name());
        let seconds = finding.took_ms / 1000;
        let hundredths = finding.took_ms % 1000 / 10;
        let head = format!(
            "{state} {:<17} {:>4}.{hundredths:02} s",
            finding.id, seconds
        );
        let seen = finding.seen.as_deref().unwrap_or_default();
        paragraph(
            &mut text,
            &format!("{head:<OBSERVATION_COLUMN$}"),
            OBSERVATION_COLUMN,
            seen,
        );
        let mut below = |name: &str, what: &str| {
            paragraph(
                &mut text,
                &format!("          {name:<12}"),
                DETAIL_INDENT,
                what,
            );
        };
        if let Some(cause) = &finding.cause {
            below("why", cause);
        }
        if let Some(impact) = finding.impact {
            below("impact", impact);
        }
        for command in &finding.fix {
            // Not wrapped, so that it can be copied.
            let _infallible = writeln!(text, "          {:<12}{command}", "fix");
        }
        match self.colour(finding.state) {
            Some(colour) => text.replacen(&state, &format!("\x1b[{colour}m{state}\x1b[0m"), 1),
            None => text,
        }
    }

    /// The summary: usable flags, and the command that installs all missing packages.
    pub(crate) fn end(self, report: &DoctorReport) -> String {
        let mut text = String::from("\n");
        let can = if report.usable.is_empty() {
            "telechir has no working device on this machine.".to_owned()
        } else {
            format!("Working devices: {}.", report.usable.join(", "))
        };
        paragraph(&mut text, "", 0, &can);
        if let Some(install) = &report.install {
            let _a_string_takes_all =
                writeln!(text, "Install everything that is missing:\n  {install}");
        }
        text
    }

    fn colour(self, state: CheckState) -> Option<u8> {
        self.colours.then_some(match state {
            CheckState::Works => 32,
            CheckState::Degraded | CheckState::Missing => 33,
            CheckState::Broken => 31,
        })
    }
}

/// Wraps text at the maximum width; `head` precedes its first word.
fn paragraph(out: &mut String, head: &str, indent: usize, text: &str) {
    let mut line = head.to_owned();
    let mut is_first = true;
    for word in text.split_whitespace() {
        let width = line.chars().count() + usize::from(!is_first) + word.chars().count();
        if !is_first && width > MAX_WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(indent);
        } else if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding {
            id: "browser-headless",
            state: CheckState::Missing,
            gives: None,
            took_ms: 12_345,
            seen: None,
            cause: Some("word ".repeat(40)),
            impact: Some("nothing"),
            packages: vec!["chromium".to_owned()],
            fix: vec!["apt-get install chromium".to_owned()],
        }
    }

    #[test]
    fn no_line_exceeds_80_columns() {
        let text = TextRenderer { colours: false }.finding(&finding());
        assert!(
            text.lines().all(|line| line.chars().count() <= MAX_WIDTH),
            "{text}"
        );
        assert!(
            text.starts_with("missing   browser-headless    12.34 s\n"),
            "{text}"
        );
        assert!(
            text.contains("fix         apt-get install chromium\n"),
            "{text}"
        );
    }

    #[test]
    fn only_a_terminal_gets_colours() {
        let plain = TextRenderer { colours: false }.finding(&finding());
        assert!(!plain.contains('\x1b'), "{plain}");
        let coloured = TextRenderer { colours: true }.finding(&finding());
        assert!(
            coloured.starts_with("\x1b[33mmissing  \x1b[0m "),
            "{coloured}"
        );
    }
}
