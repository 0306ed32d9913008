//! Rules of any kind, and how they combine to one verdict.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use crate::Verdict;

/// A verdict and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReason {
    /// The verdict of the rule.
    pub verdict: Verdict,
    /// The rule that decided: its name, its line in the file, or the built-in default.
    pub rule: String,
    /// The reason, as a sentence.
    pub reason: String,
}

impl RuleReason {
    /// A built-in reason, if no rule of the file decides.
    pub(crate) fn built_in(verdict: Verdict, rule: &str, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            rule: format!("default: {rule}"),
            reason: reason.into(),
        }
    }

    /// The stricter of two; the first if they are equal.
    #[must_use]
    pub(crate) fn stricter(self, other: Self) -> Self {
        if other.verdict > self.verdict {
            other
        } else {
            self
        }
    }
}

/// Whether a rule permits or restricts. Uncertainty only ever makes the verdict stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polarity {
    /// A permissive rule: it must match with certainty.
    Permits,
    /// A restrictive rule: it applies if it might match.
    Restricts,
}

/// Whether a subject matches a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchCertainty {
    /// It does not match.
    No,
    /// It might match.
    Unclear,
    /// It matches.
    Yes,
}

/// The conditions of one kind of rule.
pub(crate) trait Matcher {
    type Subject<'a>;

    fn fit(&self, subject: &Self::Subject<'_>, sense: Polarity) -> MatchCertainty;
}

/// A limit on how often a rule may permit something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) count: usize,
    /// Length of the time window; absent means the complete session.
    pub(crate) per: Option<Duration>,
    /// The verdict above the limit.
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
    /// The verdict of this rule, if it applies.
    pub(crate) fn verdict_on(&self, subject: &M::Subject<'_>) -> Option<Verdict> {
        let sense = if self.verdict >= Verdict::Ask {
            Polarity::Restricts
        } else {
            Polarity::Permits
        };
        match (self.matcher.fit(subject, sense), sense) {
            (MatchCertainty::Yes, _) => Some(self.verdict),
            (MatchCertainty::Unclear, Polarity::Restricts) => Some(Verdict::Ask),
            (MatchCertainty::Unclear, Polarity::Permits) | (MatchCertainty::No, _) => None,
        }
    }
}

/// Times at which each limited rule applied.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateCounter(HashMap<String, VecDeque<Duration>>);

impl RateCounter {
    /// Counts one application, and returns whether the limit is exceeded.
    fn is_over(&mut self, rule: &str, limit: Limit, now: Duration) -> bool {
        let times = self.0.entry(rule.to_owned()).or_default();
        if let Some(per) = limit.per {
            while times.front().is_some_and(|then| *then + per <= now) {
                times.pop_front();
            }
        }
        // One more than the limit suffices; unlimited counting would grow in a long session.
        if times.len() <= limit.count {
            times.push_back(now);
        }
        times.len() > limit.count
    }
}

/// The strictest verdict of the matching rules, else the default.
pub(crate) fn strictest<M: Matcher>(
    rules: &[Rule<M>],
    subject: &M::Subject<'_>,
    tally: &mut RateCounter,
    now: Duration,
    default: impl FnOnce() -> RuleReason,
) -> RuleReason {
    let mut strictest: Option<RuleReason> = None;
    for rule in rules {
        let Some(verdict) = rule.verdict_on(subject) else {
            continue;
        };
        let mut rule_reason = RuleReason {
            verdict,
            rule: rule.name.clone(),
            reason: rule.reason.clone(),
        };
        if let Some(limit) = rule.limit
            && tally.is_over(&rule.name, limit, now)
        {
            rule_reason.verdict = rule_reason.verdict.max(limit.then);
            rule_reason.reason = format!(
                "{} The rule's limit of {} is reached.",
                rule.reason, limit.count
            );
        }
        strictest = Some(match strictest {
            Some(other) => other.stricter(rule_reason),
            None => rule_reason,
        });
    }
    strictest.unwrap_or_else(default)
}
