//! Rules of any kind, and how they combine to one verdict.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

use crate::{ApproveAt, Verdict};

/// A verdict and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleReason {
    /// The verdict of the rule.
    pub verdict: Verdict,
    /// The rule that decided: its name, its line in the file, or the built-in default.
    pub rule: String,
    /// The reason, as a sentence.
    pub reason: String,
    /// Where a person may answer, if the verdict is to ask.
    #[serde(skip_serializing_if = "ApproveAt::is_any")]
    pub approve: ApproveAt,
}

/// With this the name of a built-in reason begins.
const BUILT_IN: &str = "default: ";

impl RuleReason {
    /// A built-in reason, if no rule of the file decides.
    pub(crate) fn built_in(verdict: Verdict, rule: &str, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            rule: format!("{BUILT_IN}{rule}"),
            reason: reason.into(),
            approve: ApproveAt::Any,
        }
    }

    fn is_built_in(&self) -> bool {
        self.rule.starts_with(BUILT_IN)
    }

    /// The stricter of two; the first if they are equal, but what a rule of the file allows before what
    /// is allowed without one. A question may be answered only where both allow it, also if one of them
    /// asks outside of the sandbox alone.
    #[must_use]
    pub(crate) fn stricter(self, other: Self) -> Self {
        let approve = self.approve.and(other.approve);
        let is_equal = self.verdict == other.verdict;
        let may_both_ask = self.verdict.may_ask() && other.verdict.may_ask();
        let is_allowed_by_rule = other.verdict == Verdict::Allow && !other.is_built_in();
        let stricter = if other.verdict > self.verdict
            || (is_equal && is_allowed_by_rule && self.is_built_in())
        {
            other
        } else {
            self
        };
        match may_both_ask {
            true => Self {
                approve,
                ..stricter
            },
            false => stricter,
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

/// Whether a subject matches a rule, from the least to the most certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchCertainty {
    /// It does not match.
    No,
    /// It might match.
    Unclear,
    /// It matches.
    Yes,
}

impl MatchCertainty {
    /// Whether two conditions match together.
    pub(crate) fn and(self, other: Self) -> Self {
        self.min(other)
    }
}

impl From<bool> for MatchCertainty {
    fn from(matches: bool) -> Self {
        if matches { Self::Yes } else { Self::No }
    }
}

/// The conditions of one kind of rule.
pub(crate) trait Matcher {
    type Subject<'a>;

    fn fit(&self, subject: &Self::Subject<'_>, sense: Polarity) -> MatchCertainty;

    /// Why it is uncertain whether the rule matches, as a sentence.
    fn doubt(&self, _subject: &Self::Subject<'_>) -> String {
        "Whether it matches is uncertain.".to_owned()
    }
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

/// A rule of the file.
#[derive(Clone, Debug)]
pub(crate) struct Rule<M> {
    pub(crate) name: String,
    pub(crate) matcher: M,
    /// What this rule leaves to the others, although it matches.
    pub(crate) except: Vec<M>,
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) limit: Option<Limit>,
    /// Where a person may answer.
    pub(crate) approve: ApproveAt,
    /// Whether it counts only once the session has read untrusted content.
    pub(crate) after_untrusted: bool,
}

impl<M: Matcher> Rule<M> {
    /// The verdict of this rule, if it applies.
    pub(crate) fn verdict_on(&self, subject: &M::Subject<'_>) -> Option<Verdict> {
        self.applies(subject).map(|(verdict, _)| verdict)
    }

    /// The verdict of this rule if it applies, and how certain that is.
    fn applies(&self, subject: &M::Subject<'_>) -> Option<(Verdict, MatchCertainty)> {
        let sense = if self.verdict >= Verdict::Ask {
            Polarity::Restricts
        } else {
            Polarity::Permits
        };
        match (self.fit(subject, sense), sense) {
            (MatchCertainty::Yes, _) => Some((self.verdict, MatchCertainty::Yes)),
            (MatchCertainty::Unclear, Polarity::Restricts) => {
                Some((Verdict::Ask, MatchCertainty::Unclear))
            }
            (MatchCertainty::Unclear, Polarity::Permits) | (MatchCertainty::No, _) => None,
        }
    }

    /// An exception to a permissive rule counts if it might match, one to a restrictive rule only
    /// if it matches with certainty.
    fn fit(&self, subject: &M::Subject<'_>, sense: Polarity) -> MatchCertainty {
        let is_excepted = self.except.iter().any(|except| match sense {
            Polarity::Permits => except.fit(subject, Polarity::Restricts) != MatchCertainty::No,
            Polarity::Restricts => except.fit(subject, Polarity::Permits) == MatchCertainty::Yes,
        });
        if is_excepted {
            return MatchCertainty::No;
        }
        self.matcher.fit(subject, sense)
    }
}

impl<M> Rule<M> {
    /// The same rule with other conditions.
    pub(crate) fn map<N>(self, change: impl Fn(M) -> N) -> Rule<N> {
        Rule {
            name: self.name,
            matcher: change(self.matcher),
            except: self.except.into_iter().map(&change).collect(),
            verdict: self.verdict,
            reason: self.reason,
            limit: self.limit,
            approve: self.approve,
            after_untrusted: self.after_untrusted,
        }
    }

    pub(crate) fn to_reason(&self) -> RuleReason {
        RuleReason {
            verdict: self.verdict,
            rule: self.name.clone(),
            reason: self.reason.clone(),
            approve: self.approve,
        }
    }
}

/// The verdict of a table where none of its rules fits. It can only tighten the built-in one.
#[derive(Clone, Debug)]
pub(crate) struct TableDefault {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) approve: ApproveAt,
}

impl TableDefault {
    pub(crate) fn to_reason(&self) -> RuleReason {
        RuleReason {
            verdict: self.verdict,
            rule: self.name.clone(),
            reason: self.reason.clone(),
            approve: self.approve,
        }
    }
}

/// All rules of one kind.
#[derive(Clone, Debug)]
pub(crate) struct RuleTable<M> {
    pub(crate) rules: Vec<Rule<M>>,
    pub(crate) default: Option<TableDefault>,
    /// How many examples its rules have.
    pub(crate) examples: usize,
    /// Another table by which everything is judged, too: the stricter verdict counts.
    pub(crate) tightened_by: Option<Box<Self>>,
}

impl<M> Default for RuleTable<M> {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            default: None,
            examples: 0,
            tightened_by: None,
        }
    }
}

impl<M> RuleTable<M> {
    /// This table and those by which it is tightened.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |table| table.tightened_by.as_deref())
    }

    /// The same with another table by which everything is judged, too.
    pub(crate) fn tightened(mut self, by: Self) -> Self {
        let by = match self.tightened_by.take() {
            Some(own) => own.tightened(by),
            None => by,
        };
        self.tightened_by = Some(Box::new(by));
        self
    }

    /// What `change` makes of each rule, in this table and those by which it is tightened.
    pub(crate) fn map<N>(&self, change: &dyn Fn(&Rule<M>) -> Option<Rule<N>>) -> RuleTable<N> {
        RuleTable {
            rules: self.rules.iter().filter_map(change).collect(),
            default: self.default.clone(),
            examples: self.examples,
            tightened_by: self
                .tightened_by
                .as_ref()
                .map(|table| Box::new(table.map(change))),
        }
    }

    /// The same with this after the names of its rules, which their counts go by.
    pub(crate) fn renamed(&self, suffix: &str) -> Self
    where
        M: Clone,
    {
        let name = |name: &str| format!("{name} {suffix}");
        let mut renamed = self.map(&|rule| {
            Some(Rule {
                name: name(&rule.name),
                ..rule.clone()
            })
        });
        if let Some(default) = &mut renamed.default {
            default.name = name(&default.name);
        }
        renamed
    }
}

/// The state of a session on which rules depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleContext {
    /// Time since the session started.
    pub(crate) now: Duration,
    /// Whether the session has read untrusted content.
    pub(crate) is_untrusted: bool,
    /// Whether what is judged stays in a sandbox or on a private display, where `sandbox` never asks.
    pub(crate) is_confined: bool,
}

impl<M: Matcher> RuleTable<M> {
    /// The strictest verdict of the rules that match, else the default, which is at least as strict
    /// as the built-in one. Rules that only might match, and those for untrusted content, tighten
    /// the result and never replace the default.
    pub(crate) fn judge(
        &self,
        subject: &M::Subject<'_>,
        tally: &mut RateCounter,
        context: RuleContext,
        built_in: impl Fn() -> RuleReason,
    ) -> RuleReason {
        let judged = self.all().map(|table| {
            table.judge_alone(subject, tally, context, || table.otherwise(built_in()))
        });
        judged.reduce(RuleReason::stricter).unwrap_or_else(built_in)
    }

    /// Like [`Self::judge`], with this default instead of the table's own.
    pub(crate) fn judge_by_rules(
        &self,
        subject: &M::Subject<'_>,
        tally: &mut RateCounter,
        context: RuleContext,
        default: impl Fn() -> RuleReason,
    ) -> RuleReason {
        let judged = self
            .all()
            .map(|table| table.judge_alone(subject, tally, context, &default));
        judged.reduce(RuleReason::stricter).unwrap_or_else(default)
    }

    /// Judges by this table alone.
    fn judge_alone(
        &self,
        subject: &M::Subject<'_>,
        tally: &mut RateCounter,
        context: RuleContext,
        default: impl FnOnce() -> RuleReason,
    ) -> RuleReason {
        let (mut decides, mut tightens) = (None, None);
        for rule in &self.rules {
            if rule.after_untrusted && !context.is_untrusted {
                continue;
            }
            let Some((verdict, certainty)) = rule.applies(subject) else {
                continue;
            };
            let mut applied = applied(rule, verdict, tally, context);
            if certainty == MatchCertainty::Unclear {
                let doubt = rule.matcher.doubt(subject);
                applied.reason = format!(
                    "{doubt} The rule {:?} might apply: {}",
                    rule.name, applied.reason
                );
            }
            let is_certain = certainty == MatchCertainty::Yes && !rule.after_untrusted;
            let strictest: &mut Option<RuleReason> = if is_certain {
                &mut decides
            } else {
                &mut tightens
            };
            *strictest = Some(match strictest.take() {
                Some(other) => other.stricter(applied),
                None => applied,
            });
        }
        let decided = decides.unwrap_or_else(default);
        match tightens {
            Some(tightens) => tightens.stricter(decided),
            None => decided,
        }
    }

    /// The verdict where no rule matches.
    pub(crate) fn otherwise(&self, built_in: RuleReason) -> RuleReason {
        match &self.default {
            Some(default) => default.to_reason().stricter(built_in),
            None => built_in,
        }
    }
}

/// The reason of a rule that applies, counted against its limit.
fn applied<M>(
    rule: &Rule<M>,
    verdict: Verdict,
    tally: &mut RateCounter,
    context: RuleContext,
) -> RuleReason {
    let mut applied = RuleReason {
        verdict,
        rule: rule.name.clone(),
        reason: rule.reason.clone(),
        approve: rule.approve,
    };
    if let Some(limit) = rule.limit
        && tally.is_over(&rule.name, limit, context.now)
    {
        applied.verdict = applied.verdict.max(limit.then);
        applied.reason = format!(
            "{} The rule's limit of {} is reached.",
            rule.reason, limit.count
        );
    }
    if context.is_confined && applied.verdict == Verdict::Sandbox {
        applied.approve = ApproveAt::Any;
    }
    applied
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
