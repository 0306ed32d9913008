//! The policy file: typed rules in TOML, whose own examples are checked on load.

mod conditions;
mod network;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use telechir_protocol::{ActionKind, EditTool};
use toml::Spanned;

use crate::rule::{Limit, Rule, RuleTable, TableDefault};
use crate::url_rule::TunnelContent;
use crate::{
    AddressClass, ApproveAt, Device, Digest, DisplayOwner, NetworkClient, Policy, PolicyError,
    RentedCeiling, Verdict,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    #[serde(default, deserialize_with = "rules")]
    computer: Vec<Spanned<ComputerRule>>,
    #[serde(default, deserialize_with = "rules")]
    keys: Vec<Spanned<KeysRule>>,
    #[serde(default, deserialize_with = "rules")]
    url: Vec<Spanned<UrlRule>>,
    #[serde(default, deserialize_with = "rules")]
    network: Vec<Spanned<NetworkRule>>,
    #[serde(default, deserialize_with = "rules")]
    shell: Vec<Spanned<ShellRule>>,
    #[serde(default, deserialize_with = "rules")]
    edit: Vec<Spanned<EditRule>>,
    trusted: Option<Spanned<Trusted>>,
    approval: Option<ApprovalFile>,
    rented: Option<RentedFile>,
}

/// Reads the rules of a table.
fn rules<'de, D: Deserializer<'de>, F: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<Spanned<F>>, D::Error> {
    struct Rules<F>(PhantomData<F>);

    impl<'de, F: Deserialize<'de>> Visitor<'de> for Rules<F> {
        type Value = Vec<Spanned<F>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("rules; write the name of their table in double brackets")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut rules = Vec::new();
            while let Some(rule) = entries.next_element()? {
                rules.push(rule);
            }
            Ok(rules)
        }
    }

    deserializer.deserialize_seq(Rules(PhantomData))
}

/// The hosts whose content leaves a session trusted.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table [trusted] with `host`, a list of hosts"
)]
struct Trusted {
    host: Vec<String>,
}

/// What holds for every question.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table [approval] with `min_answer_ms`, a number of milliseconds"
)]
struct ApprovalFile {
    #[serde(default)]
    min_answer_ms: u64,
}

/// What may be rented at services.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table [rented] with `sessions`, `minutes` or both, each a whole number"
)]
struct RentedFile {
    sessions: Option<usize>,
    minutes: Option<u64>,
}

/// Defines a rule's struct, with the common members and those of its kind, and the struct of its
/// exceptions.
macro_rules! rule {
    ($name:ident, $conditions:ident, $kind:literal, $example:ty { $($member:ident: $type:ty,)* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "a rule, which begins with its table's name in double brackets")]
        struct $name {
            name: Option<String>,
            default: Option<Verdict>,
            verdict: Option<Verdict>,
            reason: String,
            limit: Option<LimitFile>,
            approve: Option<ApproveFile>,
            after_untrusted: Option<bool>,
            examples: Option<Examples<$example>>,
            except: Option<Vec<$conditions>>,
            $($member: Option<$type>,)*
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "a table with conditions, written like the rule's own")]
        struct $conditions {
            $($member: Option<$type>,)*
        }

        impl RuleFile for $name {
            const KIND: &'static str = $kind;
            type Conditions = $conditions;
            type Example = $example;

            fn into_parts(self) -> RuleParts<$conditions, $example> {
                RuleParts {
                    name: self.name,
                    default: self.default,
                    verdict: self.verdict,
                    reason: self.reason,
                    limit: self.limit.map(LimitFile::into_limit),
                    approve: self.approve.map(ApproveFile::into_approve),
                    after_untrusted: self.after_untrusted,
                    examples: self.examples,
                    except: self.except,
                    conditions: $conditions { $($member: self.$member,)* },
                }
            }
        }

        impl Conditions for $conditions {
            fn is_empty(&self) -> bool {
                true $(&& self.$member.is_none())*
            }
        }
    };
}

rule!(ComputerRule, ComputerConditions, "computer", ComputerExample { actions: Vec<ActionName>, device: Device, display: DisplayOwner, windows: Vec<String>, });
rule!(KeysRule, KeysConditions, "keys", String { chords: Vec<String>, });
rule!(UrlRule, UrlConditions, "url", String { scheme: Vec<String>, host: Vec<String>, port: Vec<u16>, address: Vec<AddressClass>, tunnel: TunnelContent, });
rule!(NetworkRule, NetworkConditions, "network", String { from: Vec<NetworkClient>, host: Vec<String>, port: Vec<u16>, address: Vec<AddressClass>, tunnel: TunnelContent, });
rule!(ShellRule, ShellConditions, "shell", String { words: Vec<WordPattern>, options: Vec<String>, shell: ShellPlacement, redirection: bool, });
rule!(EditRule, EditConditions, "edit", String { operations: Vec<String>, paths: Vec<String>, tool: EditTool, });

/// `tunnel` is what a rule permits, not a condition.
const TUNNEL_IN_EXCEPTION: &str = "an exception has no `tunnel`; write it in the rule";

/// One entry of a table: a rule, or the table's default.
trait RuleFile {
    /// Name of the table.
    const KIND: &'static str;
    type Conditions: Conditions;
    type Example;

    fn into_parts(self) -> RuleParts<Self::Conditions, Self::Example>;
}

/// The conditions of a rule or of an exception.
trait Conditions {
    fn is_empty(&self) -> bool;
}

/// An entry as it stands in the file.
struct RuleParts<C, E> {
    name: Option<String>,
    default: Option<Verdict>,
    verdict: Option<Verdict>,
    reason: String,
    limit: Option<Limit>,
    approve: Option<ApproveAt>,
    after_untrusted: Option<bool>,
    examples: Option<Examples<E>>,
    except: Option<Vec<C>>,
    conditions: C,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { match = [...], not_match = [...] }"
)]
struct Examples<E> {
    #[serde(rename = "match", default = "Vec::new")]
    matching: Vec<Spanned<E>>,
    #[serde(default = "Vec::new")]
    not_match: Vec<Spanned<E>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { count = 5, per_seconds = 60, then = \"ask\" }"
)]
struct LimitFile {
    count: usize,
    per_seconds: Option<u64>,
    #[serde(default = "ask")]
    then: Verdict,
}

fn ask() -> Verdict {
    Verdict::Ask
}

impl LimitFile {
    fn into_limit(self) -> Limit {
        Limit {
            count: self.count,
            per: self.per_seconds.map(Duration::from_secs),
            then: self.then,
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ApproveFile {
    Any,
    Terminal,
    Page,
}

impl ApproveFile {
    const fn into_approve(self) -> ApproveAt {
        match self {
            Self::Any => ApproveAt::Any,
            Self::Terminal => ApproveAt::Terminal,
            Self::Page => ApproveAt::Page,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a word, or a list of alternative words")]
enum WordPattern {
    Single(String),
    Alternatives(Vec<String>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ShellPlacement {
    Sandboxed,
    Host,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { action = \"click\", device = \"browser\" }"
)]
struct ComputerExample {
    action: ActionName,
    #[serde(default = "on_desktop")]
    device: Device,
    #[serde(default = "private")]
    display: DisplayOwner,
    /// Name of the window that receives the input.
    window: Option<String>,
}

/// An action by name. An unknown one is refused with the names that there are.
struct ActionName(ActionKind);

impl<'de> Deserialize<'de> for ActionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = name.parse().map_err(|_| {
            let kinds = ActionKind::ALL
                .iter()
                .filter(|kind| **kind != ActionKind::Other);
            let names: Vec<&str> = kinds.map(|kind| kind.name()).collect();
            let names = names.join(", ");
            D::Error::custom(format!("unknown action `{name}`, expected one of {names}"))
        })?;
        Ok(Self(kind))
    }
}

fn on_desktop() -> Device {
    Device::Desktop
}

fn private() -> DisplayOwner {
    DisplayOwner::Private
}

/// Converts positions in the file to lines, for errors.
struct FilePosition<'a> {
    text: &'a str,
    name: &'a str,
}

impl FilePosition<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text
            .get(..offset)
            .unwrap_or(self.text)
            .matches('\n')
            .count()
            + 1
    }

    /// The parser's message, with the key whose value has the wrong type: the parser names only what
    /// it found and what it expected.
    fn with_key(&self, error: &toml::de::Error) -> String {
        let message = in_words_of_toml(error.message());
        let is_about_value = [
            "invalid type",
            "invalid value",
            "unknown variant",
            "data did not",
        ];
        let start = error.span().map(|span| span.start);
        let before = start.and_then(|start| self.text.get(..start));
        let key = before.and_then(key_before);
        match key {
            Some(key)
                if is_about_value
                    .iter()
                    .any(|begin| message.starts_with(begin)) =>
            {
                format!("`{key}`: {message}")
            }
            _ => message,
        }
    }

    fn problem(&self, line: usize, problem: impl Into<String>) -> PolicyError {
        PolicyError::Rule {
            origin: self.name.to_owned(),
            line,
            problem: problem.into(),
        }
    }

    /// The rule's line, and its default name.
    fn rule_position<T>(&self, kind: &str, rule: &Spanned<T>) -> (usize, String) {
        let line = self.line(rule.span().start);
        (line, format!("{kind} rule at {}:{line}", self.name))
    }
}

/// The parser's message in one line, with what TOML calls the kinds of values.
fn in_words_of_toml(message: &str) -> String {
    let kinds = [
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected a boolean", "expected true or false"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u64", "expected a whole number"),
        ("expected usize", "expected a whole number"),
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: map", "invalid type: table"),
    ];
    let line = message.trim_end().replace('\n', "; ");
    kinds
        .into_iter()
        .fold(line, |line, (parser, toml)| line.replace(parser, toml))
}

/// The key of the value that begins after this text: the word before the last `=`.
fn key_before(text: &str) -> Option<&str> {
    let (before, _) = text.rsplit_once('=')?;
    let key = before.trim_end();
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"');
    let start = key.rfind(|c| !is_key(c)).map_or(0, |at| at + 1);
    key.get(start..).filter(|key| !key.is_empty())
}

pub(crate) fn read(text: &str, name: &str) -> Result<Policy, PolicyError> {
    let origin = FilePosition { text, name };
    let file: PolicyFile = toml::from_str(text).map_err(|error| PolicyError::File {
        origin: name.to_owned(),
        line: error.span().map_or(1, |span| origin.line(span.start)),
        message: origin.with_key(&error),
    })?;
    let mut policy = Policy::default_policy();
    policy.digest = Digest::of_json(&text.into());
    policy.computer = read_table(&origin, file.computer)?;
    policy.keys = read_table(&origin, file.keys)?;
    for entry in &file.url {
        let mut except = entry.get_ref().except.iter().flatten();
        if except.any(|except| except.tunnel.is_some()) {
            return Err(origin.problem(origin.line(entry.span().start), TUNNEL_IN_EXCEPTION));
        }
    }
    policy.url = read_table(&origin, file.url)?;
    policy.network = network::read_network(&origin, file.network)?;
    policy.shell = read_table(&origin, file.shell)?;
    policy.edit = read_table(&origin, file.edit)?;
    if let Some(approval) = file.approval {
        policy.min_answer_ms = approval.min_answer_ms;
    }
    if let Some(rented) = file.rented {
        policy.rented = RentedCeiling {
            sessions: rented.sessions,
            minutes: rented.minutes,
        };
    }
    if let Some(trusted) = file.trusted {
        let line = origin.line(trusted.span().start);
        policy.trusted = vec![conditions::hosts(
            &origin,
            line,
            &trusted.into_inner().host,
        )?];
    }
    Ok(policy)
}

/// How the conditions of one kind of rule become a matcher, and how its examples are checked.
trait ReadRule: RuleFile {
    type Matcher;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: Self::Conditions,
    ) -> Result<Self::Matcher, PolicyError>;

    /// Whether a rule matches an example.
    fn matches(
        origin: &FilePosition<'_>,
        line: usize,
        rule: &Rule<Self::Matcher>,
        example: &Self::Example,
    ) -> Result<bool, PolicyError>;
}

fn read_table<F: ReadRule>(
    origin: &FilePosition<'_>,
    entries: Vec<Spanned<F>>,
) -> Result<RuleTable<F::Matcher>, PolicyError> {
    let mut table = RuleTable::default();
    for entry in entries {
        let (line, name) = origin.rule_position(F::KIND, &entry);
        let parts = entry.into_inner().into_parts();
        if parts.reason.trim().is_empty() {
            return Err(origin.problem(line, "the rule's reason is empty; explain the rule"));
        }
        if parts.default.is_some() {
            let default = table_default(origin, line, name, parts)?;
            if table.default.replace(default).is_some() {
                let problem = format!("[[{}]] already has a default; keep one", F::KIND);
                return Err(origin.problem(line, problem));
            }
            continue;
        }
        table.examples += parts.examples.as_ref().map_or(0, |examples| {
            examples.matching.len() + examples.not_match.len()
        });
        table.rules.push(read_rule::<F>(origin, line, name, parts)?);
    }
    Ok(table)
}

/// A default can only tighten: it has no conditions, and nothing is permitted by it.
fn table_default<C: Conditions, E>(
    origin: &FilePosition<'_>,
    line: usize,
    name: String,
    parts: RuleParts<C, E>,
) -> Result<TableDefault, PolicyError> {
    let is_bare = parts.verdict.is_none()
        && parts.limit.is_none()
        && parts.after_untrusted.is_none()
        && parts.examples.is_none()
        && parts.except.is_none()
        && parts.conditions.is_empty();
    if !is_bare {
        let problem = "an entry with `default` has only a `reason`, a `name` and `approve`: it counts \
                       where no rule fits";
        return Err(origin.problem(line, problem));
    }
    let verdict = parts.default.unwrap_or(Verdict::Deny);
    if verdict < Verdict::Ask {
        let problem = "`default` is \"ask\" or \"deny\": it can only tighten what holds without \
                       rules; write a rule for what is permitted";
        return Err(origin.problem(line, problem));
    }
    let approve = parts.approve.unwrap_or_default();
    check_approve(origin, line, parts.approve, verdict, None)?;
    Ok(TableDefault {
        name: parts.name.unwrap_or(name),
        verdict,
        reason: parts.reason,
        approve,
    })
}

fn read_rule<F: ReadRule>(
    origin: &FilePosition<'_>,
    line: usize,
    name: String,
    parts: RuleParts<F::Conditions, F::Example>,
) -> Result<Rule<F::Matcher>, PolicyError> {
    let Some(verdict) = parts.verdict else {
        let problem =
            "the rule has no `verdict`; expected \"allow\", \"sandbox\", \"ask\" or \"deny\"";
        return Err(origin.problem(line, problem));
    };
    check_limit(origin, line, parts.limit, verdict)?;
    check_approve(origin, line, parts.approve, verdict, parts.limit)?;
    let after_untrusted = parts.after_untrusted.unwrap_or_default();
    if after_untrusted && verdict < Verdict::Ask {
        let problem = "a rule with `after_untrusted` can only tighten: its verdict is \"ask\" or \
                       \"deny\"";
        return Err(origin.problem(line, problem));
    }
    check_list(origin, line, "except", parts.except.as_ref())?;
    let mut except = Vec::new();
    for conditions in parts.except.unwrap_or_default() {
        if conditions.is_empty() {
            let problem = "an entry of `except` has no condition, so the rule would never match";
            return Err(origin.problem(line, problem));
        }
        except.push(F::matcher(origin, line, conditions)?);
    }
    let rule = Rule {
        name: parts.name.unwrap_or(name),
        matcher: F::matcher(origin, line, parts.conditions)?,
        except,
        verdict,
        reason: parts.reason,
        limit: parts.limit,
        approve: parts.approve.unwrap_or_default(),
        after_untrusted,
    };
    if let Some(examples) = &parts.examples {
        check_examples(origin, examples, |example, line| {
            F::matches(origin, line, &rule, example)
        })?;
    }
    Ok(rule)
}

/// A limit of zero is misleading, and one that does not tighten is useless.
fn check_limit(
    origin: &FilePosition<'_>,
    line: usize,
    limit: Option<Limit>,
    verdict: Verdict,
) -> Result<(), PolicyError> {
    let Some(limit) = limit else {
        return Ok(());
    };
    if limit.then <= verdict {
        let problem = "the limit's `then` must be stricter than the verdict";
        return Err(origin.problem(line, problem));
    }
    if limit.count == 0 {
        return Err(origin.problem(
            line,
            "the limit's count is 0; write a stricter verdict instead",
        ));
    }
    Ok(())
}

/// Where nobody is asked, nobody approves. A verdict of `sandbox` asks outside of the sandbox.
fn check_approve(
    origin: &FilePosition<'_>,
    line: usize,
    approve: Option<ApproveAt>,
    verdict: Verdict,
    limit: Option<Limit>,
) -> Result<(), PolicyError> {
    let may_request = |verdict| matches!(verdict, Verdict::Ask | Verdict::Sandbox);
    if approve.is_none()
        || may_request(verdict)
        || limit.is_some_and(|limit| may_request(limit.then))
    {
        return Ok(());
    }
    let problem = "`approve` says where a person is asked, and this rule never asks";
    Err(origin.problem(line, problem))
}

fn check_list<T>(
    origin: &FilePosition<'_>,
    line: usize,
    name: &str,
    list: Option<&Vec<T>>,
) -> Result<(), PolicyError> {
    if list.is_some_and(Vec::is_empty) {
        return Err(origin.problem(
            line,
            format!("`{name}` is empty; omit it to match everything"),
        ));
    }
    Ok(())
}

fn check_examples<E>(
    origin: &FilePosition<'_>,
    examples: &Examples<E>,
    mut does_match: impl FnMut(&E, usize) -> Result<bool, PolicyError>,
) -> Result<(), PolicyError> {
    let all = examples.matching.iter().map(|example| (example, true));
    for (example, wanted) in all.chain(examples.not_match.iter().map(|example| (example, false))) {
        let line = origin.line(example.span().start);
        if does_match(example.get_ref(), line)? != wanted {
            let text = origin.text.get(example.span()).unwrap_or_default();
            return Err(PolicyError::Example {
                origin: origin.name.to_owned(),
                line,
                example: text.split_whitespace().collect::<Vec<_>>().join(" "),
                wanted,
            });
        }
    }
    Ok(())
}
