//! A rule of any kind, and how several of them come to one verdict.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use crate::Verdict;

/// A verdict and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReason {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided: its name, its place in the file, or the built-in default.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
}

impl RuleReason {
    /// A ground of our own, where no rule of the file decides.
    pub(crate) fn built_in(verdict: Verdict, rule: &str, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            rule: format!("default: {rule}"),
            reason: reason.into(),
        }
    }

    /// The stricter of two; the first when they are equal.
    #[must_use]
    pub(crate) fn stricter(self, other: Self) -> Self {
        if other.verdict > self.verdict {
            other
        } else {
            self
        }
    }
}

/// How sure a match must be. What cannot be known may tighten, never loosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    /// The rule would let it run: it must match for certain.
    Surely,
    /// The rule would stop it: that it may match is enough.
    Perhaps,
}

/// How a subject fits a rule that would stop it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It does not.
    No,
    /// It cannot be told.
    Unclear,
    /// It does.
    Yes,
}

/// What a rule of one kind looks at.
pub(crate) trait Matcher {
    type Subject<'a>;

    fn fit(&self, subject: &Self::Subject<'_>, sense: Sense) -> Fit;
}

/// How often a rule may let something run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) count: usize,
    /// Within this time; absent means within the session.
    pub(crate) per: Option<Duration>,
    /// What comes after.
    pub(crate) then: Verdict,
}

/// A rule of the file, or a built-in one.
#[derive(Clone, Debug)]
pub(crate) struct Rule<M> {
    pub(crate) name: String,
    pub(crate) matcher: M,
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) limit: Option<Limit>,
}

impl<M: Matcher> Rule<M> {
    /// The verdict this rule gives, when it applies.
    pub(crate) fn verdict_on(&self, subject: &M::Subject<'_>) -> Option<Verdict> {
        let sense = if self.verdict >= Verdict::Ask {
            Sense::Perhaps
        } else {
            Sense::Surely
        };
        match (self.matcher.fit(subject, sense), sense) {
            (Fit::Yes, _) => Some(self.verdict),
            (Fit::Unclear, Sense::Perhaps) => Some(Verdict::Ask),
            (Fit::Unclear, Sense::Surely) | (Fit::No, _) => None,
        }
    }
}

/// How often each limited rule applied, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(HashMap<String, VecDeque<Duration>>);

impl Tally {
    /// Counts one more and says whether the limit is passed with it.
    fn is_over(&mut self, rule: &str, limit: Limit, now: Duration) -> bool {
        let times = self.0.entry(rule.to_owned()).or_default();
        if let Some(per) = limit.per {
            while times.front().is_some_and(|then| *then + per <= now) {
                times.pop_front();
            }
        }
        // One more than the limit is enough to know; without it a long session would grow.
        if times.len() <= limit.count {
            times.push_back(now);
        }
        times.len() > limit.count
    }
}

/// The strictest verdict of the rules that apply, else the default.
pub(crate) fn strictest<M: Matcher>(
    rules: &[Rule<M>],
    subject: &M::Subject<'_>,
    tally: &mut Tally,
    now: Duration,
    default: impl FnOnce() -> RuleReason,
) -> RuleReason {
    let mut strictest: Option<RuleReason> = None;
    for rule in rules {
        let Some(verdict) = rule.verdict_on(subject) else {
            continue;
        };
        let mut ground = RuleReason {
            verdict,
            rule: rule.name.clone(),
            reason: rule.reason.clone(),
        };
        if let Some(limit) = rule.limit
            && tally.is_over(&rule.name, limit, now)
        {
            ground.verdict = ground.verdict.max(limit.then);
            ground.reason = format!(
                "{} The rule's limit of {} is reached.",
                rule.reason, limit.count
            );
        }
        strictest = Some(match strictest {
            Some(other) => other.stricter(ground),
            None => ground,
        });
    }
    strictest.unwrap_or_else(default)
}
