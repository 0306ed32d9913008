//! Follows every value of a document through a translation: each arrives in the output or is named
//! in the report.
//!
//! A long value that the output contains as often as the source has arrived. Every other value is
//! changed in the source and translated again: if the output changes, too, the value arrived in
//! another form, for example as a scaled coordinate or as a media type. No table of such forms is
//! needed, so this holds for documents that nobody has seen.
//!
//! `leaves` lists the values, `variants` changes one, `output` searches the translated document, and
//! `naming` decides which values an entry of the report names.

mod changes;
pub(crate) mod naming;
mod output;
mod variants;

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use self::naming::Names;
use self::output::OutputIndex;
use crate::leaves::{self, Leaf, Step};
use crate::{DecodeError, Dialect, EncodeError, Envelope, History, Report, media_types};

pub use self::changes::{Change, ChangedDocument, TranslationScope};

/// Bytes of changed documents that are decoded for one source document at most.
const MAX_CHANGED_BYTES: usize = 48 * 1024 * 1024;
/// Values under one path, list positions aside, that are changed at most.
const MAX_CHANGES_PER_PATH: usize = 3;

/// What is wrong with one value of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The output lacks the value and the report does not name it.
    SilentLoss,
    /// The report names the value as lost, but it arrived or never existed.
    FalseLoss,
}

/// One value that was lost without an entry, or one entry without a loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether the value is missing, or the entry is.
    pub fault: Fault,
    /// The value's JSON pointer in the source. `#` continues inside a string that holds JSON.
    pub pointer: String,
    /// The start of the value as JSON; for a false loss the entry.
    pub value: String,
    /// Whether the value is outside of the messages: a setting, the usage, a finish reason.
    pub in_envelope: bool,
    /// An entry that depends on the value without naming it; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unnamed_entry: Option<String>,
}

/// One translation with its findings.
#[derive(Debug)]
pub struct FollowedTranslation {
    /// The dialect of the written document.
    pub to: Dialect,
    /// The translated document and the report of both steps, or why there is none.
    pub written: Result<(Value, Report), EncodeError>,
    /// What is wrong; empty if every value arrived or is named.
    pub findings: Vec<Finding>,
}

/// Translates a document to each of `targets` and follows its values.
///
/// # Errors
/// If the document is not of the dialect `from`, or an error of the provider.
pub fn follow(
    from: Dialect,
    document: &Value,
    targets: &[Dialect],
) -> Result<Vec<FollowedTranslation>, DecodeError> {
    let encoders = targets.iter().map(|to| {
        let encode: Encode<'_> = Box::new(|history| to.encode_history(history));
        (*to, encode)
    });
    follow_with(from, document, encoders.collect())
}

/// Encodes a history.
type Encode<'a> = Box<dyn Fn(&History) -> Result<(Value, Report), EncodeError> + 'a>;

fn follow_with(
    from: Dialect,
    document: &Value,
    encoders: Vec<(Dialect, Encode<'_>)>,
) -> Result<Vec<FollowedTranslation>, DecodeError> {
    let (history, reading) = from.decode_history(document.to_string())?;
    let source = Source::new(from, document, &history);
    let mut targets: Vec<Target<'_>> = encoders
        .into_iter()
        .map(|(to, encode)| Target::new(to, encode, &history, &reading, &source))
        .collect();
    source.change_open_values(&mut targets);
    source.close_repeated_values(&mut targets);
    let findings = source.silent_losses(&targets);
    let followed = targets.into_iter().zip(findings);
    Ok(followed
        .map(|(target, silent)| target.finish(silent))
        .collect())
}

/// The source document with its values.
struct Source<'a> {
    from: Dialect,
    document: &'a Value,
    bytes: usize,
    leaves: Vec<Leaf>,
    /// How often each text occurs among the values.
    counts: HashMap<String, usize>,
    /// The field of the envelope that holds the messages.
    list: Option<&'static str>,
}

impl<'a> Source<'a> {
    fn new(from: Dialect, document: &'a Value, history: &History) -> Self {
        let leaves = leaves::of(document);
        let mut counts = HashMap::new();
        for leaf in &leaves {
            *counts.entry(leaf.text()).or_insert(0) += 1;
        }
        let list = match &history.envelope {
            Envelope::Object { member, .. } if document.get(member).is_some() => Some(*member),
            // A response without contents, or the chunks of one.
            Envelope::Object {
                member: member @ ("candidates" | "steps" | "steps_left_out"),
                ..
            } => Some(*member),
            Envelope::Object { .. } | Envelope::List => None,
        };
        let bytes = document.to_string().len();
        Self {
            from,
            document,
            bytes,
            leaves,
            counts,
            list,
        }
    }

    /// Whether the value is outside of the messages, also beside one in a list of choices.
    fn is_envelope(&self, leaf: &Leaf) -> bool {
        let steps = match (self.document, &leaf.steps[..]) {
            (Value::Array(_), [Step::Index(_), steps @ ..]) if self.list.is_some() => steps,
            (_, steps) => steps,
        };
        match (self.list, steps) {
            (Some(list), [Step::Member(name), ..]) if name != list => true,
            (
                Some(list @ ("choices" | "candidates" | "output")),
                [_, Step::Index(_), Step::Member(name), ..],
            ) => match list {
                "choices" => name != "message",
                "candidates" => name != "content",
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether another value with the same text about the same call or content has arrived; for a
    /// number or flag one in a field of the same name.
    fn is_repeated(&self, at: usize, open: &[bool]) -> bool {
        let leaf = &self.leaves[at];
        let text = leaf.text();
        // A failed result repeats its error with a word before it.
        let error = text.strip_prefix(leaves::ERROR);
        if self.counts.get(&text).copied() <= Some(1) && error.is_none() {
            return false;
        }
        let is_same = |other: &Leaf| {
            let found = other.text();
            (found == text && (leaf.value.is_string() || other.name() == leaf.name()))
                || error.is_some_and(|error| found == error)
        };
        let others = self.leaves.iter().zip(open);
        let mut arrived = others.filter(|(other, open)| !**open && is_same(other));
        arrived.any(|(other, _)| self.concern_the_same(leaf, other) || self.is_parsed(leaf, other))
    }

    /// Whether the first value is in a copy of the JSON that a text of the same content holds, as
    /// SDKs add one under `parsed`.
    fn is_parsed(&self, leaf: &Leaf, other: &Leaf) -> bool {
        let Some(json) = other.steps.iter().rposition(|step| *step == Step::Json) else {
            return false;
        };
        let inside = &other.steps[json + 1..];
        let Some(copy) = leaf.steps.strip_suffix(inside) else {
            return false;
        };
        let at = |steps: &[Step]| {
            let is_index = |step: &Step| matches!(step, Step::Index(_));
            let end = steps.iter().rposition(is_index);
            steps[..end.map_or(0, |end| end + 1)].to_vec()
        };
        let (copy, text) = (at(copy), at(&other.steps[..json]));
        copy.starts_with(&text) || text.starts_with(&copy)
    }

    /// Whether one value is inside of the other's element, or both elements have an id in common.
    fn concern_the_same(&self, first: &Leaf, second: &Leaf) -> bool {
        let (one, other) = (first.element(), second.element());
        if one.is_empty() || other.is_empty() {
            return false;
        }
        let ids = self.ids_around(first);
        one.starts_with(&other)
            || other.starts_with(&one)
            || self.ids_around(second).iter().any(|id| ids.contains(id))
    }

    /// The ids in the innermost element around a value that has any.
    fn ids_around(&self, leaf: &Leaf) -> Vec<String> {
        let elements: Vec<String> = leaf
            .elements()
            .filter(|element| !element.is_empty())
            .collect();
        let mut ids = elements.iter().rev().map(|element| self.ids_in(element));
        let ids = ids.find(|ids| !ids.is_empty());
        ids.unwrap_or_else(|| self.names_in(&leaf.element()))
    }

    /// The names of tools in an element: what identifies a call and its result without ids.
    fn names_in(&self, element: &str) -> Vec<String> {
        let inside = self.leaves.iter().filter(|leaf| leaf.element() == element);
        let names = inside.filter(|leaf| matches!(leaf.name(), "name" | "tool_name"));
        names.map(Leaf::text).collect()
    }

    /// The texts of the fields in an element whose names end in `id`.
    fn ids_in(&self, element: &str) -> Vec<String> {
        let inside = self.leaves.iter().filter(|leaf| leaf.element() == element);
        inside.filter(|leaf| leaf.is_id()).map(Leaf::text).collect()
    }

    /// Whether the value is the media type of data beside it, and not of something elsewhere.
    fn is_type_of_data(&self, leaf: &Leaf) -> bool {
        let element = leaf.element();
        media_types::FIELDS.contains(&leaf.name())
            && self
                .leaves
                .iter()
                .any(|other| matches!(other.name(), "data" | "bytes") && other.element() == element)
    }

    /// Whether the value is the media type of binary data beside it that shows its own type.
    fn is_evident_media_type(&self, leaf: &Leaf) -> bool {
        let element = leaf.element();
        media_types::FIELDS.contains(&leaf.name())
            && self.leaves.iter().any(|other| {
                other.element() == element && media_types::is_shown(&other.text(), &leaf.text())
            })
    }

    /// Changes every value that a target still misses, and looks whether its output changes.
    fn change_open_values(&self, targets: &mut [Target<'_>]) {
        let mut bytes_left = MAX_CHANGED_BYTES;
        let mut per_path: HashMap<String, usize> = HashMap::new();
        for (at, leaf) in self.leaves.iter().enumerate() {
            // No other field of a translated history can hold a setting.
            if targets.iter().all(|target| !target.open[at]) || self.is_envelope(leaf) {
                continue;
            }
            let changes = per_path.entry(leaf.path()).or_default();
            *changes += 1;
            if *changes > MAX_CHANGES_PER_PATH || bytes_left < self.bytes {
                targets
                    .iter_mut()
                    .for_each(|target| target.open[at] = false);
                continue;
            }
            let variants = variants::of(leaf);
            let required = variants.required;
            let mut seen: HashMap<Dialect, usize> = HashMap::new();
            let mut readable = 0;
            for variant in variants.values {
                let changed = leaf.replaced(self.document, variant);
                bytes_left = bytes_left.saturating_sub(self.bytes);
                let Ok((history, _)) = (self.from.codec().decode_history)(changed) else {
                    continue;
                };
                readable += 1;
                for target in targets.iter_mut().filter(|target| target.open[at]) {
                    if target.differs(&history) {
                        let seen = seen.entry(target.to).or_default();
                        *seen += 1;
                        if *seen >= required {
                            target.open[at] = false;
                        }
                    }
                }
                if targets.iter().all(|target| !target.open[at]) {
                    break;
                }
            }
            // A value that only exists in this form is part of the structure.
            if readable < required {
                targets
                    .iter_mut()
                    .for_each(|target| target.open[at] = false);
            }
        }
    }

    fn close_repeated_values(&self, targets: &mut [Target<'_>]) {
        for target in targets {
            let open: Vec<usize> = (0..self.leaves.len())
                .filter(|at| target.open[*at])
                .collect();
            for at in open {
                target.open[at] = !self.is_repeated(at, &target.open);
            }
        }
    }

    /// The silent losses of each target.
    fn silent_losses(&self, targets: &[Target<'_>]) -> Vec<Vec<Finding>> {
        let mut findings = vec![Vec::new(); targets.len()];
        for (at, leaf) in self.leaves.iter().enumerate() {
            if targets.iter().all(|target| !target.open[at]) {
                continue;
            }
            let decode = self.from.codec().decode_history;
            let removed = decode(leaf.removed(self.document));
            let removed = removed.ok();
            for (target, findings) in targets.iter().zip(&mut findings) {
                if target.open[at] {
                    let without = removed.as_ref();
                    findings.push(Finding {
                        fault: Fault::SilentLoss,
                        pointer: leaf.pointer(),
                        value: leaf.excerpt(),
                        in_envelope: self.is_envelope(leaf),
                        unnamed_entry: without.and_then(|without| target.entry_beyond(without)),
                    });
                }
            }
        }
        findings
    }
}

/// Whether a value belongs to one of the members around the messages.
fn is_set_aside(leaf: &Leaf, aside: &[String]) -> bool {
    let mut path = String::new();
    leaf.steps.iter().any(|step| match step {
        Step::Member(name) => {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
            aside.contains(&path)
        }
        Step::Index(_) => {
            path.push_str("[]");
            false
        }
        Step::Json => false,
    })
}

/// The type in a `data:` URL as a value of its own, and the data.
fn type_of_url(leaf: &Leaf) -> Option<(Leaf, &str)> {
    // A text of the conversation may begin like a URL.
    let url = leaf.value.as_str()?;
    let url = (!matches!(leaf.name(), "text" | "content" | "result" | "output")).then_some(url)?;
    let media_type = media_types::of_url(url)?;
    let (_, data) = url.split_once(',')?;
    let mut named = leaf.clone();
    named.value = media_type.into();
    named.steps.push(Step::Member("media_type".to_owned()));
    Some((named, data))
}

/// One translation while its values are followed.
struct Target<'a> {
    to: Dialect,
    encode: Encode<'a>,
    written: Result<(Value, Report), EncodeError>,
    /// Whether the value at this index is still missed.
    open: Vec<bool>,
    /// The types in `data:` URLs that are missed.
    lost_types: Vec<Finding>,
    false_losses: Vec<Finding>,
}

impl<'a> Target<'a> {
    fn new(
        to: Dialect,
        encode: Encode<'a>,
        history: &History,
        reading: &Report,
        source: &Source<'_>,
    ) -> Self {
        let written = encode(history).map(|(document, encoding)| {
            let mut report = reading.clone();
            report.absorb(encoding);
            (document, report)
        });
        let mut target = Self {
            to,
            encode,
            written,
            open: vec![false; source.leaves.len()],
            lost_types: Vec::new(),
            false_losses: Vec::new(),
        };
        // `translate` names them in a line of its own.
        let aside = history.clone().set_envelope_aside(to);
        let aside = aside.map(|aside| aside.members).unwrap_or_default();
        target.open_missed_values(source, &aside);
        target
    }

    /// Opens every value that neither the output has nor the report names.
    fn open_missed_values(&mut self, source: &Source<'_>, aside: &[String]) {
        let Ok((document, report)) = &self.written else {
            return;
        };
        // Equal documents have equal values.
        if document == source.document {
            return;
        }
        let index = OutputIndex::of(document);
        let names = Names::of(report, &source.leaves);
        for (at, leaf) in source.leaves.iter().enumerate() {
            let count = source.counts.get(&leaf.text()).copied().unwrap_or(1);
            let arrived = match source.is_envelope(leaf) {
                true => {
                    index.has_anywhere(leaf)
                        || document.pointer(&leaf.pointer()) == Some(&leaf.value)
                }
                false => index.has(leaf, count),
            };
            let is_aside = source.is_envelope(leaf) && is_set_aside(leaf, aside);
            let is_media_type = source.is_type_of_data(leaf) && index.has_media_type(&leaf.text());
            let arrived = arrived || is_media_type || source.is_evident_media_type(leaf);
            self.open[at] = !arrived && !is_aside;
        }
        let missed = self.open.iter().zip(&source.leaves);
        let missed: Vec<&Leaf> = missed
            .filter_map(|(open, leaf)| open.then_some(leaf))
            .collect();
        let open = self.open.iter_mut().filter(|open| **open);
        for (open, is_named) in open.zip(names.name(&missed)) {
            *open = !is_named;
        }
        let lost_types = source.leaves.iter().filter_map(type_of_url);
        let lost_types = lost_types.filter(|(leaf, data)| {
            !index.has_media_type(&leaf.text())
                && !media_types::is_shown(data, &leaf.text())
                && names.name(&[leaf]) == [false]
        });
        self.lost_types = lost_types
            .map(|(leaf, _)| Finding {
                fault: Fault::SilentLoss,
                pointer: leaf.pointer(),
                value: leaf.excerpt(),
                in_envelope: source.is_envelope(&leaf),
                unnamed_entry: None,
            })
            .collect();
        let false_losses = names.false_losses(&source.leaves, &index, &source.counts);
        let finding = |(entry, leaf): (String, &Leaf)| Finding {
            fault: Fault::FalseLoss,
            pointer: leaf.pointer(),
            value: entry,
            in_envelope: source.is_envelope(leaf),
            unnamed_entry: None,
        };
        self.false_losses = false_losses.into_iter().map(finding).collect();
    }

    /// Whether the changed history is written differently. A refusal counts, too: the value
    /// matters to this dialect.
    fn differs(&self, history: &History) -> bool {
        match (&self.written, (self.encode)(history)) {
            (Ok((before, _)), Ok((after, _))) => *before != after,
            _ => true,
        }
    }

    /// The first entry that the translation of a history without the value lacks.
    fn entry_beyond(&self, (history, reading): &(History, Report)) -> Option<String> {
        let (_, report) = self.written.as_ref().ok()?;
        let (_, without) = (self.encode)(history).ok()?;
        let mut losses = report.losses.iter();
        let only =
            losses.find(|loss| !without.losses.contains(loss) && !reading.losses.contains(loss))?;
        Some(format!("{} at {}", only.what, only.location))
    }

    fn finish(self, mut findings: Vec<Finding>) -> FollowedTranslation {
        findings.extend(self.lost_types);
        findings.extend(self.false_losses);
        FollowedTranslation {
            to: self.to,
            written: self.written,
            findings,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Encode, Fault, Finding, follow_with};
    use crate::{Dialect, History, Report};

    fn conversation() -> Value {
        json!([
            {"role": "user", "content": "Open the quarterly report."},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"limit": 3}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Two rows."},
            ]},
        ])
    }

    /// Follows the conversation into chat messages that `change` alters.
    fn findings(change: impl Fn(&mut Value, &mut Report)) -> Vec<(Fault, String)> {
        let encode: Encode<'_> = Box::new(|history: &History| {
            let (mut document, mut report) = Dialect::Functions.encode_history(history)?;
            change(&mut document, &mut report);
            Ok((document, report))
        });
        let targets = vec![(Dialect::Functions, encode)];
        let mut followed =
            follow_with(Dialect::AnthropicMessages, &conversation(), targets).unwrap();
        let found = followed.remove(0).findings.into_iter();
        found
            .map(|Finding { fault, pointer, .. }| (fault, pointer))
            .collect()
    }

    fn silent(pointer: &str) -> Vec<(Fault, String)> {
        vec![(Fault::SilentLoss, pointer.to_owned())]
    }

    #[test]
    fn a_complete_translation_has_no_findings() {
        assert_eq!(findings(|_, _| {}), []);
    }

    #[test]
    fn a_dropped_message_is_a_silent_loss() {
        let found = findings(|document, _| {
            document.as_array_mut().unwrap().remove(0);
        });
        assert_eq!(found, silent("/0/content"));
    }

    #[test]
    fn a_short_value_is_missed_although_its_text_occurs_elsewhere() {
        let found = findings(|document, _| {
            document[1]["tool_calls"][0]["function"]["arguments"] = json!("{\"limit\":3}");
            document[1]["tool_calls"][0]["id"] = json!("toolu_1");
        });
        assert_eq!(found, silent("/1/content/1/input/limit"));
    }

    #[test]
    fn an_entry_names_a_value_by_its_field() {
        let found = findings(|document, report| {
            document[1]["tool_calls"][0]["function"]["arguments"] = json!("{}");
            report.lost("argument limit", "call toolu_1", "a test");
        });
        assert_eq!(found, []);
    }

    #[test]
    fn an_entry_about_something_else_names_nothing() {
        let found = findings(|document, report| {
            document[1]["tool_calls"][0]["function"]["arguments"] = json!("{}");
            report.lost("settings of anthropic: part", "call toolu_1", "a test");
        });
        assert_eq!(found, silent("/1/content/1/input/limit"));
    }

    #[test]
    fn an_entry_with_a_part_of_the_value_names_nothing() {
        let found = findings(|document, report| {
            document.as_array_mut().unwrap().remove(0);
            report.lost("quarterly report", "messages[0]", "a test");
        });
        assert_eq!(found, silent("/0/content"));
    }

    #[test]
    fn a_count_in_an_entry_is_not_the_value() {
        let found = findings(|document, report| {
            document[1]["tool_calls"][0]["function"]["arguments"] = json!("{}");
            report.lost("3 annotations", "messages[1]", "a test");
        });
        assert_eq!(found, silent("/1/content/1/input/limit"));
    }

    #[test]
    fn an_entry_with_the_id_of_a_result_names_all_of_it() {
        let found = findings(|document, report| {
            document.as_array_mut().unwrap().remove(2);
            report.lost("result toolu_1", "messages[2]", "a test");
        });
        assert_eq!(found, []);
    }

    #[test]
    fn an_entry_for_a_value_that_arrived_is_a_false_loss() {
        let found = findings(|_, report| {
            report.lost("text Open the quarterly report.", "messages[0]", "a test");
        });
        assert_eq!(found, [(Fault::FalseLoss, "/0/content".to_owned())]);
    }
}
