//! The parts of a call that a dialect writes as several calls: their ids (`call_1-1of3`), and how
//! their results are joined again.

use telechir_protocol::{
    CallId, ComputerResult, Content, FailureKind, Meta, StepOutcome, StepState,
};

/// The parts of an id that [`part_id`] made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId<'a> {
    /// The id of the complete call.
    pub(crate) base: &'a str,
    /// The part's number, from 1.
    pub(crate) number: usize,
    /// The number of parts.
    pub(crate) count: usize,
}

impl<'a> PartId<'a> {
    /// Parses an id; `None` if it is the id of a complete call.
    pub(crate) fn parse(id: &'a str) -> Option<Self> {
        let (base, position) = id.rsplit_once('-')?;
        let (number, count) = position.split_once("of")?;
        Some(Self {
            base,
            number: number.parse().ok()?,
            count: count.parse().ok()?,
        })
    }

    /// Whether this is the first of several parts.
    pub(crate) fn is_first(&self) -> bool {
        self.number == 1 && self.count > 1
    }

    /// Whether this part follows the other one.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        (self.base, self.count) == (other.base, other.count) && self.number == other.number + 1
    }
}

/// The id of one part; `number` starts at 1.
pub(crate) fn part_id(base: &str, number: usize, count: usize) -> String {
    if count == 1 {
        base.to_owned()
    } else {
        format!("{base}-{number}of{count}")
    }
}

/// Joins the results of a call's parts: the last screenshot, the first failure that is not a
/// consequence, and these texts. The steps are recorded if the joined result lacks something, which
/// `has_more` decides for the results before the last.
pub(crate) fn join_results(
    call_id: CallId,
    results: &[&ComputerResult],
    texts: &[&str],
    has_more: impl Fn(&ComputerResult) -> bool,
    meta: Meta,
) -> Option<ComputerResult> {
    let (last, before) = results.split_last()?;
    let failures = || results.iter().filter_map(|result| result.error.clone());
    let first = failures().find(|failure| failure.kind != FailureKind::NotExecuted);
    let steps = if first.is_some() || before.iter().any(|result| has_more(result)) {
        results.iter().map(|result| step(result)).collect()
    } else {
        Vec::new()
    };
    let mut newest_first = results.iter().rev();
    let checks = results.iter().map(|part| &part.acknowledged_safety_checks);
    Some(ComputerResult {
        call_id,
        text_output: (!texts.is_empty()).then(|| texts.join("\n")),
        error: first.or_else(|| failures().next()),
        screenshot: newest_first.find_map(|part| part.screenshot.clone()),
        acknowledged_safety_checks: checks.flatten().cloned().collect(),
        steps,
        meta,
        ..(*last).clone()
    })
}

/// The outcome of the action of one part.
fn step(result: &ComputerResult) -> StepOutcome {
    let state = match &result.error {
        None => StepState::Delivered,
        Some(failure) if failure.kind == FailureKind::NotExecuted => StepState::NotStarted,
        Some(failure) => StepState::Failed {
            failure: failure.clone(),
        },
    };
    let step = result.steps.first();
    StepOutcome {
        action: step.map_or_else(String::new, |step| step.action.clone()),
        state,
        text: result.text_output.clone(),
        screenshot: result.screenshot.clone(),
        duration_ms: None,
    }
}

/// The contents of all parts, if every part has one of this kind.
pub(crate) fn all_of<'a, T>(
    parts: &'a [Content],
    kind: impl Fn(&'a Content) -> Option<&'a T>,
) -> Option<Vec<&'a T>> {
    parts.iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_part_is_parsed_into_what_it_was_made_of() {
        for (number, count) in [(1, 2), (2, 2), (7, 12)] {
            let id = part_id("call-1of2", number, count);
            let base = "call-1of2";
            let part = PartId {
                base,
                number,
                count,
            };
            assert_eq!(PartId::parse(&id), Some(part));
        }
    }

    #[test]
    fn a_complete_call_keeps_its_id() {
        assert_eq!(part_id("call_1", 1, 1), "call_1");
        for id in ["call_1", "call-1", "call-ofof2", "call-of", "1of2", ""] {
            assert_eq!(PartId::parse(id), None, "{id}");
        }
    }

    #[test]
    fn only_the_next_part_of_the_same_call_follows() {
        let parse = |id| PartId::parse(id).unwrap();
        let first = parse("a-1of3");
        assert!(parse("a-2of3").follows(&first));
        for id in ["a-3of3", "a-1of3", "a-2of4", "b-2of3"] {
            assert!(!parse(id).follows(&first), "{id}");
        }
        assert!(first.is_first() && !parse("a-1of1").is_first());
    }
}
