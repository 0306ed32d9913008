//! The result of one check: its state, the observation, the cause, the impact and the fix.

use std::future::Future;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::timeout;

use super::fix;

/// State of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckState {
    /// Tested successfully.
    Works,
    /// Works with a warning, which the cause describes.
    Degraded,
    /// Not installed or not set.
    Missing,
    /// Installed but not working.
    Broken,
}

impl CheckState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
            Self::Broken => "broken",
        }
    }

    /// Whether the component works, possibly with a warning.
    pub(crate) const fn is_usable(self) -> bool {
        matches!(self, Self::Works | Self::Degraded)
    }
}

/// A check before it runs.
#[derive(Debug)]
pub(super) struct CheckSpec {
    /// The check's name, stable across versions.
    pub(super) id: &'static str,
    /// The flag of `exec` that depends on the check.
    pub(super) gives: Option<&'static str>,
    /// What does not work without the component.
    pub(super) impact: &'static str,
    /// Time limit of the check.
    pub(super) ceiling: Duration,
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The check's name, stable across versions.
    pub(crate) id: &'static str,
    /// State of the component.
    pub(crate) state: CheckState,
    /// The flag of `exec` that depends on the check.
    pub(crate) gives: Option<&'static str>,
    /// Duration of the check in milliseconds.
    pub(crate) took_ms: u64,
    /// The observation; absent if the component is missing or broken.
    pub(crate) seen: Option<String>,
    /// Why the state is not `works`, on one line.
    pub(crate) cause: Option<String>,
    /// What does not work; absent if the component works.
    pub(crate) impact: Option<&'static str>,
    /// Missing packages, by their Debian names.
    pub(crate) packages: Vec<String>,
    /// Shell commands that fix the component.
    pub(crate) fix: Vec<String>,
}

impl Finding {
    /// Refers to the check below as the cause if both are broken: programs' own errors about a missing
    /// namespace are long and rarely say so.
    pub(super) fn caused_by(mut self, other: &Self) -> Self {
        let both = self.state == CheckState::Broken && other.state == CheckState::Broken;
        if let Some(cause) = self.cause.take() {
            self.cause = Some(if both {
                format!("see `{}`, which this needs: {cause}", other.id)
            } else {
                cause
            });
        }
        if both && self.fix.is_empty() {
            self.fix.clone_from(&other.fix);
        }
        self
    }
}

/// The observation of a check whose component works.
#[derive(Debug)]
pub(super) struct Observation {
    text: String,
    warning: Option<CheckFailure>,
}

/// Why a component does not work, or only with a warning.
#[derive(Debug)]
pub(super) struct CheckFailure {
    state: CheckState,
    cause: String,
    impact: Option<&'static str>,
    packages: Vec<String>,
    fix: Vec<String>,
}

/// The outcome of a check function.
pub(super) type CheckResult = Result<Observation, CheckFailure>;

impl Observation {
    /// The component works without a warning.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            warning: None,
        }
    }

    /// The component works with a warning.
    pub(super) fn degraded(text: impl Into<String>, warning: CheckFailure) -> Self {
        Self::new(text).with_warning(warning)
    }

    /// The same observation with a warning.
    pub(super) fn with_warning(mut self, mut warning: CheckFailure) -> Self {
        warning.state = CheckState::Degraded;
        self.warning = Some(warning);
        self
    }
}

impl CheckFailure {
    /// The component is installed but does not work.
    pub(super) fn broken(cause: impl Into<String>) -> Self {
        Self {
            state: CheckState::Broken,
            cause: one_line(&cause.into()),
            impact: None,
            packages: Vec::new(),
            fix: Vec::new(),
        }
    }

    /// The component is not installed or not set.
    pub(super) fn missing(cause: impl Into<String>) -> Self {
        Self {
            state: CheckState::Missing,
            ..Self::broken(cause)
        }
    }

    /// Adds a package that provides the component, whose state becomes missing.
    pub(super) fn package(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if !self.packages.contains(&name) {
            self.packages.push(name);
        }
        self.state = CheckState::Missing;
        self
    }

    /// The impact, if it differs from that of a missing component.
    pub(super) fn impact(mut self, what: &'static str) -> Self {
        self.impact = Some(what);
        self
    }

    /// Adds a shell command that fixes the component.
    pub(super) fn fix_command(mut self, command: impl Into<String>) -> Self {
        self.fix.push(command.into());
        self
    }
}

/// Runs a check within its time limit.
pub(super) async fn run_check(
    spec: &CheckSpec,
    work: impl Future<Output = CheckResult>,
) -> Finding {
    let started = Instant::now();
    let checked = timeout(spec.ceiling, work).await.unwrap_or_else(|_| {
        let seconds = spec.ceiling.as_secs();
        Err(CheckFailure::broken(format!("timed out after {seconds} s")))
    });
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (seen, failure) = match checked {
        Ok(Observation { text, warning }) => (Some(text), warning),
        Err(failure) => (None, Some(failure)),
    };
    let mut finding = Finding {
        id: spec.id,
        state: CheckState::Works,
        gives: spec.gives,
        took_ms,
        seen,
        cause: None,
        impact: None,
        packages: Vec::new(),
        fix: Vec::new(),
    };
    if let Some(failure) = failure {
        finding.state = failure.state;
        finding.cause = Some(failure.cause);
        finding.impact = Some(failure.impact.unwrap_or(spec.impact));
        finding.fix = fix::install(&failure.packages).into_iter().collect();
        finding.fix.extend(failure.fix);
        finding.packages = failure.packages;
    }
    finding
}

/// Flattens program output to one line of plain text, cut at a maximum length.
fn one_line(text: &str) -> String {
    const MAX_CHARS: usize = 600;
    let parts: Vec<&str> = text.split_whitespace().collect();
    let mut line: String = parts.join(" ");
    line.retain(|character| !character.is_control());
    if let Some((end, _)) = line.char_indices().nth(MAX_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: CheckSpec = CheckSpec {
        id: "part",
        gives: None,
        impact: "nothing works",
        ceiling: Duration::from_millis(20),
    };

    fn check(work: impl Future<Output = CheckResult>) -> Finding {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(run_check(&ABOUT, work))
    }

    #[test]
    fn a_check_that_hangs_times_out() {
        let finding = check(std::future::pending());
        assert_eq!(finding.state, CheckState::Broken);
        assert_eq!(finding.cause.as_deref(), Some("timed out after 0 s"));
        assert_eq!(finding.impact, Some("nothing works"));
    }

    #[test]
    fn a_working_component_has_no_impact() {
        let finding = check(async { Ok(Observation::new("fine")) });
        assert_eq!(finding.state, CheckState::Works);
        assert_eq!((finding.cause, finding.impact), (None, None));
    }

    #[test]
    fn a_missing_package_means_missing() {
        let finding =
            check(async { Err(CheckFailure::broken("no X\n\x1b[1mserver").package("xvfb")) });
        assert_eq!(finding.state, CheckState::Missing);
        assert_eq!(finding.cause.as_deref(), Some("no X [1mserver"));
        assert_eq!(finding.packages, ["xvfb"]);
    }

    #[test]
    fn a_broken_prerequisite_is_named_as_the_cause() {
        let broken = |cause| check(async move { Err(CheckFailure::broken(cause)) });
        let below =
            check(async { Err(CheckFailure::broken("refused").fix_command("sysctl -w x=1")) });
        let blamed = broken("it ended with signal 6").caused_by(&below);
        let cause = "see `part`, which this needs: it ended with signal 6";
        assert_eq!(blamed.cause.as_deref(), Some(cause));
        assert_eq!(blamed.fix, ["sysctl -w x=1"]);
        let works = check(async { Ok(Observation::new("fine")) });
        assert_eq!(works.clone().caused_by(&below).cause, None);
        let alone = broken("it ended").caused_by(&works);
        assert_eq!(alone.cause.as_deref(), Some("it ended"));
    }

    #[test]
    fn a_warning_means_degraded() {
        let finding =
            check(async { Ok(Observation::degraded("fine", CheckFailure::broken("slow"))) });
        assert_eq!(finding.state, CheckState::Degraded);
        assert_eq!(finding.seen.as_deref(), Some("fine"));
        assert_eq!(finding.cause.as_deref(), Some("slow"));
    }
}
