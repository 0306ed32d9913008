//! Changes a document in one place after the other and translates it: a member that nobody knows in
//! every object, an unusual value in place of every value. Each must arrive or be reported.
//!
//! `follow` looks for the values that a document has; this shows what becomes of those that it might
//! have.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::naming::Names;
use super::{Fault, Finding, is_set_aside};
use crate::leaves::{self, Leaf, Step, json_in};
use crate::written_values::encoded_text;
use crate::{Dialect, Loss, Report, TranslatedDocument, TranslationOptions};

/// The name of an added member.
const ADDED_MEMBER: &str = "zzqmember";
/// A text that is no word of any dialect.
const UNUSUAL_TEXT: &str = "zzq7value";
const UNUSUAL_NUMBER: u32 = 7_391_746;

/// What is translated of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TranslationScope {
    /// Only the messages, as without `--envelope`.
    Messages,
    /// The whole document, as with `--envelope`.
    Document,
    /// A list of the events of a streamed response, as with `--stream`.
    Events,
}

/// One change of a document.
#[derive(Clone, Debug)]
pub struct Change {
    steps: Vec<Step>,
    /// Absent if the member is added.
    original: Option<Value>,
}

impl Change {
    /// All changes of a document, in its order.
    pub fn all(document: &Value) -> Vec<Self> {
        let mut changes = Vec::new();
        collect(document, &mut Vec::new(), &mut changes);
        changes
    }

    /// The path of the changed value without positions in lists, and whether it is added.
    pub fn path(&self) -> String {
        let kind = if self.original.is_none() { "+" } else { "" };
        format!("{kind}{}", self.leaf(Value::Null).path())
    }

    /// Whether it adds a member.
    pub fn is_addition(&self) -> bool {
        self.original.is_none()
    }

    fn value(&self) -> Value {
        match &self.original {
            Some(Value::Bool(value)) => json!(!value),
            Some(Value::Number(number)) if number.is_f64() => {
                json!(f64::from(UNUSUAL_NUMBER) / 1e7)
            }
            Some(Value::Number(_)) => json!(UNUSUAL_NUMBER),
            _ => json!(UNUSUAL_TEXT),
        }
    }

    fn leaf(&self, value: Value) -> Leaf {
        Leaf {
            steps: self.steps.clone(),
            value,
            kinds: Vec::new(),
        }
    }

    fn apply(&self, document: &Value) -> Value {
        let mut changed = document.clone();
        let (value, mut steps) = (self.value(), self.steps.as_slice());
        if self.original.is_none() {
            steps = &steps[..steps.len() - 1];
        }
        leaves::edit(&mut changed, steps, &mut |slot| match slot
            .as_object_mut()
            .filter(|_| self.is_addition())
        {
            Some(members) => {
                members.insert(ADDED_MEMBER.to_owned(), value.clone());
            }
            None => *slot = value.clone(),
        });
        changed
    }

    /// Whether the value is one of many that mean the same, so that only its effect can be seen.
    fn shows_by_effect(&self, leaf: &Leaf) -> bool {
        self.original.is_some() && (!leaf.value.is_string() || leaf.is_id())
    }
}

fn collect(value: &Value, steps: &mut Vec<Step>, changes: &mut Vec<Change>) {
    let mut add = |steps: &[Step], original| {
        changes.push(Change {
            steps: steps.to_vec(),
            original,
        });
    };
    match value {
        Value::Null => {}
        Value::Object(members) => {
            steps.push(Step::Member(ADDED_MEMBER.to_owned()));
            add(steps, None);
            steps.pop();
            for (name, value) in members {
                if leaves::is_encoded_in_text(name, value, members) {
                    continue;
                }
                steps.push(Step::Member(name.clone()));
                collect(value, steps, changes);
                steps.pop();
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                steps.push(Step::Index(at));
                collect(item, steps, changes);
                steps.pop();
            }
        }
        Value::Bool(_) | Value::Number(_) => add(steps, Some(value.clone())),
        Value::String(text) => {
            add(steps, Some(value.clone()));
            if let Some(json) = json_in(text) {
                steps.push(Step::Json);
                collect(&json, steps, changes);
                steps.pop();
            }
        }
    }
}

/// A document whose changes are translated.
#[derive(Debug)]
pub struct ChangedDocument<'a> {
    from: Dialect,
    scope: TranslationScope,
    document: &'a Value,
    /// The translations of the document as it is.
    originals: HashMap<Dialect, OnceCell<Option<ChangedTranslation>>>,
}

/// A translation: the document with its path and headers, and what is reported.
#[derive(Clone, Debug, PartialEq)]
struct ChangedTranslation {
    document: Value,
    report: Report,
    /// Members around the messages that were set aside.
    aside: Vec<String>,
}

impl<'a> ChangedDocument<'a> {
    /// A document of the dialect `from`.
    pub fn new(from: Dialect, scope: TranslationScope, document: &'a Value) -> Self {
        let originals = Dialect::ALL.map(|to| (to, OnceCell::new()));
        Self {
            from,
            scope,
            document,
            originals: originals.into(),
        }
    }

    /// Translates the document with one change to a dialect. `None` if the changed value arrived, is
    /// reported, or is the reason why the document was refused.
    pub fn follow(&self, change: &Change, to: Dialect) -> Option<Finding> {
        let original = self.originals.get(&to)?;
        let original = original.get_or_init(|| self.translate(self.document, to));
        let original = original.as_ref()?;
        let changed = change.apply(self.document);
        let written = self.translate(&changed, to)?;
        let leaf = found_leaf(&changed, change.leaf(change.value()));
        let has_effect = change.shows_by_effect(&leaf) && written != *original;
        if has_effect || written.has(&leaf.value) || written.names(&changed, &leaf) {
            return None;
        }
        Some(Finding {
            fault: Fault::SilentLoss,
            pointer: leaf.pointer(),
            value: change.original.as_ref().map_or_else(
                || "an added member".to_owned(),
                |original| excerpt(original, &leaf),
            ),
            in_envelope: self.scope != TranslationScope::Messages,
            unnamed_entry: None,
        })
    }

    fn translate_events(
        &self,
        events: &Value,
        to: Dialect,
        options: TranslationOptions,
    ) -> Option<TranslatedDocument> {
        let mut translation = self.from.translate_stream(to, options).ok()?;
        translation.push(sent(events).as_bytes()).ok()?;
        let (_, translated) = translation.finish().ok()?;
        Some(translated)
    }

    fn translate(&self, document: &Value, to: Dialect) -> Option<ChangedTranslation> {
        let text = document.to_string();
        if self.scope != TranslationScope::Messages {
            let options = TranslationOptions::default();
            let translated = match self.scope {
                TranslationScope::Events => self.translate_events(document, to, options)?,
                TranslationScope::Messages | TranslationScope::Document => {
                    self.from.translate(to, text.as_bytes(), &options).ok()?
                }
            };
            let headers: Map<String, Value> = translated
                .headers
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            return Some(ChangedTranslation {
                document: json!([translated.document, translated.path, headers]),
                report: translated.report,
                aside: Vec::new(),
            });
        }
        let (mut history, mut report) = self.from.decode_history(text).ok()?;
        let aside = history.set_envelope_aside(to);
        let (document, losses) = to.encode_history(&history).ok()?;
        report.absorb(losses);
        Some(ChangedTranslation {
            document,
            report,
            aside: aside.map(|aside| aside.members).unwrap_or_default(),
        })
    }
}

/// A list of events as server-sent events.
fn sent(events: &Value) -> String {
    let events = events.as_array().map_or(&[][..], Vec::as_slice);
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    lines.collect()
}

fn excerpt(original: &Value, leaf: &Leaf) -> String {
    let mut shown = leaf.clone();
    shown.value = original.clone();
    format!("{} changed to {}", shown.excerpt(), leaf.value)
}

/// The leaf with the types of the objects around it.
fn found_leaf(document: &Value, leaf: Leaf) -> Leaf {
    let mut leaves = leaves::of(document).into_iter();
    leaves
        .find(|found| found.steps == leaf.steps)
        .unwrap_or(leaf)
}

impl ChangedTranslation {
    /// Whether the document has the value, in any case of its letters.
    fn has(&self, value: &Value) -> bool {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        has_text("", &self.document, &text)
    }

    fn names(&self, changed: &Value, leaf: &Leaf) -> bool {
        let text = leaf.text();
        let names_value = |loss: &Loss| loss.what.to_lowercase().contains(&text);
        let losses = &self.report.losses;
        is_set_aside(leaf, &self.aside)
            || losses
                .iter()
                .any(|loss| names_value(loss) || names_member_around(loss, &leaf.pointer()))
            || Names::of(&self.report, &leaves::of(changed)).name(&[leaf]) == [true]
    }
}

fn has_text(name: &str, value: &Value, text: &str) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => number.to_string() == text,
        Value::String(found) => {
            found.to_lowercase().contains(text)
                || encoded_text(name, value).is_some_and(|found| found.contains(text))
        }
        Value::Array(items) => items.iter().any(|item| has_text(name, item, text)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(text) || has_text(name, value, text)),
    }
}

/// Whether an entry is about the value at a pointer, or names a member or tool around it.
fn names_member_around(loss: &Loss, pointer: &str) -> bool {
    let Some(rest) = pointer.strip_prefix(loss.location.as_str()) else {
        return false;
    };
    if !loss.location.starts_with('/') || !(rest.is_empty() || rest.starts_with('/')) {
        return false;
    }
    let is_name = |step: &&str| step.parse::<usize>().is_err();
    let name = loss.location.split('/').rfind(is_name).unwrap_or_default();
    rest.is_empty()
        || loss.what.contains(&format!("`{name}`"))
        || loss.what.starts_with("tool `")
        || loss.what.starts_with("instructions `")
}
