//! What a check found: one of four states, in words, with what to do about it.

use std::future::Future;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::time::timeout;

use super::remedy;

/// How a part of the machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It was seen to work.
    Works,
    /// It works, with a reservation that the cause names.
    Degraded,
    /// It is not installed or not set.
    Missing,
    /// It is there and does not work.
    Broken,
}

impl State {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
            Self::Broken => "broken",
        }
    }

    /// Whether it can be used.
    pub(crate) const fn is_usable(self) -> bool {
        matches!(self, Self::Works | Self::Degraded)
    }
}

/// What a check is, before it is made.
#[derive(Debug)]
pub(super) struct About {
    /// Its name, which stays the same from version to version.
    pub(super) id: &'static str,
    /// The flag of `exec` that stands or falls with it.
    pub(super) gives: Option<&'static str>,
    /// What it costs to be without.
    pub(super) without: &'static str,
    /// It is given up after so long.
    pub(super) ceiling: Duration,
}

/// What came of a check.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The check's name.
    pub(crate) id: &'static str,
    /// How the part is.
    pub(crate) state: State,
    /// The flag of `exec` that stands or falls with it.
    pub(crate) gives: Option<&'static str>,
    /// How long the check took.
    pub(crate) took_ms: u64,
    /// What was seen.
    pub(crate) seen: Option<String>,
    /// Why it is not simply `works`, on one line.
    pub(crate) cause: Option<String>,
    /// What that costs; absent when it works.
    pub(crate) without: Option<&'static str>,
    /// Packages that are missing, by Debian's names.
    pub(crate) packages: Vec<String>,
    /// What mends it, to be typed as it stands.
    pub(crate) commands: Vec<String>,
}

impl Finding {
    /// Names what is broken below it as the reason why this is broken too: what programs say when
    /// they get no namespace is long, and seldom says that.
    pub(super) fn blaming(mut self, other: &Self) -> Self {
        let both = self.state == State::Broken && other.state == State::Broken;
        if let Some(cause) = self.cause.take() {
            self.cause = Some(if both {
                format!("see `{}`, which this needs: {cause}", other.id)
            } else {
                cause
            });
        }
        if both && self.commands.is_empty() {
            self.commands.clone_from(&other.commands);
        }
        self
    }
}

/// What a check says when the part can be used.
#[derive(Debug)]
pub(super) struct Seen {
    text: String,
    reservation: Option<Trouble>,
}

/// Why a part cannot be used, or not as it should be.
#[derive(Debug)]
pub(super) struct Trouble {
    state: State,
    cause: String,
    costs: Option<&'static str>,
    packages: Vec<String>,
    commands: Vec<String>,
}

/// How a check ends.
pub(super) type Checked = Result<Seen, Trouble>;

impl Seen {
    /// It works; this was seen.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            reservation: None,
        }
    }

    /// It works, but.
    pub(super) fn but(text: impl Into<String>, reservation: Trouble) -> Self {
        Self::new(text).reserved(reservation)
    }

    /// The same, but.
    pub(super) fn reserved(mut self, mut reservation: Trouble) -> Self {
        reservation.state = State::Degraded;
        self.reservation = Some(reservation);
        self
    }
}

impl Trouble {
    /// It is there and does not work.
    pub(super) fn broken(cause: impl Into<String>) -> Self {
        Self {
            state: State::Broken,
            cause: one_line(&cause.into()),
            costs: None,
            packages: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// It is not there.
    pub(super) fn missing(cause: impl Into<String>) -> Self {
        Self {
            state: State::Missing,
            ..Self::broken(cause)
        }
    }

    /// A package that brings it; then it is missing rather than broken.
    pub(super) fn package(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        if !self.packages.contains(&name) {
            self.packages.push(name);
        }
        self.state = State::Missing;
        self
    }

    /// What this trouble costs, when that is not what the part's absence costs.
    pub(super) fn costs(mut self, what: &'static str) -> Self {
        self.costs = Some(what);
        self
    }

    /// What mends it.
    pub(super) fn command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }
}

/// Makes a check, within its ceiling.
pub(super) async fn examine(about: &About, work: impl Future<Output = Checked>) -> Finding {
    let began = Instant::now();
    let checked = timeout(about.ceiling, work).await.unwrap_or_else(|_| {
        let seconds = about.ceiling.as_secs();
        Err(Trouble::broken(format!("no answer within {seconds} s")))
    });
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (seen, trouble) = match checked {
        Ok(Seen { text, reservation }) => (Some(text), reservation),
        Err(trouble) => (None, Some(trouble)),
    };
    let mut finding = Finding {
        id: about.id,
        state: State::Works,
        gives: about.gives,
        took_ms,
        seen,
        cause: None,
        without: None,
        packages: Vec::new(),
        commands: Vec::new(),
    };
    if let Some(trouble) = trouble {
        finding.state = trouble.state;
        finding.cause = Some(trouble.cause);
        finding.without = Some(trouble.costs.unwrap_or(about.without));
        finding.commands = fix::install(&trouble.packages).into_iter().collect();
        finding.commands.extend(trouble.commands);
        finding.packages = trouble.packages;
    }
    finding
}

/// Programs speak in lines and colours; a cause is one line of plain text, and not a long one.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line: String = words.join(" ");
    line.retain(|character| !character.is_control());
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About = About {
        id: "part",
        gives: None,
        without: "nothing works",
        ceiling: Duration::from_millis(20),
    };

    fn check(work: impl Future<Output = Checked>) -> Finding {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(examine(&ABOUT, work))
    }

    #[test]
    fn a_check_that_hangs_is_given_up() {
        let finding = check(std::future::pending());
        assert_eq!(finding.state, State::Broken);
        assert_eq!(finding.cause.as_deref(), Some("no answer within 0 s"));
        assert_eq!(finding.without, Some("nothing works"));
    }

    #[test]
    fn what_works_costs_nothing() {
        let finding = check(async { Ok(Seen::new("fine")) });
        assert_eq!(finding.state, State::Works);
        assert_eq!((finding.cause, finding.without), (None, None));
    }

    #[test]
    fn a_package_to_install_means_missing() {
        let finding = check(async { Err(Trouble::broken("no X\n\x1b[1mserver").package("xvfb")) });
        assert_eq!(finding.state, State::Missing);
        assert_eq!(finding.cause.as_deref(), Some("no X [1mserver"));
        assert_eq!(finding.packages, ["xvfb"]);
    }

    #[test]
    fn what_is_broken_below_is_blamed() {
        let broken = |cause| check(async move { Err(Trouble::broken(cause)) });
        let below = check(async { Err(Trouble::broken("refused").command("sysctl -w x=1")) });
        let blamed = broken("it ended with signal 6").blaming(&below);
        let cause = "see `part`, which this needs: it ended with signal 6";
        assert_eq!(blamed.cause.as_deref(), Some(cause));
        assert_eq!(blamed.commands, ["sysctl -w x=1"]);
        let works = check(async { Ok(Seen::new("fine")) });
        assert_eq!(works.clone().blaming(&below).cause, None);
        let alone = broken("it ended").blaming(&works);
        assert_eq!(alone.cause.as_deref(), Some("it ended"));
    }

    #[test]
    fn a_reservation_degrades() {
        let finding = check(async { Ok(Seen::but("fine", Trouble::broken("slow"))) });
        assert_eq!(finding.state, State::Degraded);
        assert_eq!(finding.seen.as_deref(), Some("fine"));
        assert_eq!(finding.cause.as_deref(), Some("slow"));
    }
}
