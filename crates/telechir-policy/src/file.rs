//! The policy file: typed rules in TOML, whose own examples are checked on load.

use std::time::Duration;

use serde::Deserialize;
use telechir_protocol::{ActionKind, Chord, Command, EDIT_STEPS, EditTool};
use toml::Spanned;

use crate::edit_rule::{Edit, EditMatch};
use crate::key_rule::{KeysMatch, PressedKeys};
use crate::rule::{Limit, Rule};
use crate::screen_rule::{ComputerMatch, ScreenSubject};
use crate::shell_rule::{ShellMatch, ShellSubject};
use crate::tunnel_rule::TunnelContent;
use crate::url_rule::{Destination, UrlMatch, read_url};
use crate::{
    AddressClass, CommandReading, Device, Digest, DisplayOwner, Policy, PolicyError, Verdict,
    read_command,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    #[serde(default)]
    computer: Vec<Spanned<ComputerRule>>,
    #[serde(default)]
    keys: Vec<Spanned<KeysRule>>,
    #[serde(default)]
    url: Vec<Spanned<UrlRule>>,
    #[serde(default)]
    network: Vec<Spanned<NetworkFile>>,
    #[serde(default)]
    shell: Vec<Spanned<ShellRule>>,
    #[serde(default)]
    edit: Vec<Spanned<EditRule>>,
}

/// Defines a rule's struct: the common members and those of its kind.
macro_rules! rule {
    ($name:ident, $example:ty { $($member:ident: $type:ty,)* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            name: Option<String>,
            verdict: Verdict,
            reason: String,
            limit: Option<LimitFile>,
            #[serde(default = "Examples::none")]
            examples: Examples<$example>,
            $($member: Option<$type>,)*
        }

        impl $name {
            fn into_rule<M>(self, default_name: String, matcher: M) -> (Rule<M>, Examples<$example>) {
                let rule = Rule {
                    name: self.name.unwrap_or(default_name),
                    matcher,
                    verdict: self.verdict,
                    reason: self.reason,
                    limit: self.limit.map(LimitFile::into_limit),
                };
                (rule, self.examples)
            }
        }
    };
}

mod network;

use network::{NetworkFile, network_rule};

rule!(ComputerRule, ComputerExample { actions: Vec<ActionKind>, device: Device, display: DisplayOwner, });
rule!(KeysRule, String { chords: Vec<String>, });
rule!(UrlRule, String { scheme: Vec<String>, host: Vec<String>, port: Vec<u16>, address: Vec<AddressClass>, tunnel: TunnelContent, });
rule!(ShellRule, String { words: Vec<WordPattern>, shell: ShellPlacement, redirection: bool, });
rule!(EditRule, String { operations: Vec<String>, paths: Vec<String>, tool: EditTool, });

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Examples<E> {
    #[serde(rename = "match", default = "Vec::new")]
    matching: Vec<E>,
    #[serde(default = "Vec::new")]
    not_match: Vec<E>,
}

impl<E> Examples<E> {
    fn none() -> Self {
        Self {
            matching: Vec::new(),
            not_match: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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

#[derive(Deserialize)]
#[serde(untagged)]
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ComputerExample {
    action: ActionKind,
    #[serde(default = "on_desktop")]
    device: Device,
    #[serde(default = "private")]
    display: DisplayOwner,
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

pub(crate) fn read(text: &str, name: &str) -> Result<Policy, PolicyError> {
    let origin = FilePosition { text, name };
    let file: PolicyFile = toml::from_str(text).map_err(|error| PolicyError::File {
        origin: name.to_owned(),
        line: error.span().map_or(1, |span| origin.line(span.start)),
        message: error.message().to_owned(),
    })?;
    let mut policy = Policy::default_policy();
    policy.digest = Digest::of_json(&text.into());
    for rule in file.computer {
        policy.computer.push(computer_rule(&origin, rule)?);
    }
    for rule in file.keys {
        policy.keys.push(keys_rule(&origin, rule)?);
    }
    for rule in file.url {
        policy.url.push(url_rule(&origin, rule)?);
    }
    for rule in file.network {
        policy.network.push(network_rule(&origin, rule)?);
    }
    for rule in file.shell {
        policy.shell.push(shell_rule(&origin, rule)?);
    }
    for rule in file.edit {
        policy.edit.push(edit_rule(&origin, rule)?);
    }
    Ok(policy)
}

/// A rule without a reason is useless to its reader, and one with a limit of zero is misleading.
fn check_rule<M>(
    origin: &FilePosition<'_>,
    line: usize,
    rule: &Rule<M>,
) -> Result<(), PolicyError> {
    if rule.reason.trim().is_empty() {
        return Err(origin.problem(line, "the rule's reason is empty; explain the rule"));
    }
    if let Some(limit) = rule.limit {
        if limit.then <= rule.verdict {
            let problem = "the limit's `then` must be stricter than the verdict";
            return Err(origin.problem(line, problem));
        }
        if limit.count == 0 {
            return Err(origin.problem(
                line,
                "the limit's count is 0; write a stricter verdict instead",
            ));
        }
    }
    Ok(())
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

fn check_examples<E: std::fmt::Debug>(
    origin: &FilePosition<'_>,
    line: usize,
    examples: &Examples<E>,
    mut does_match: impl FnMut(&E) -> Result<bool, PolicyError>,
) -> Result<(), PolicyError> {
    let all = examples.matching.iter().map(|example| (example, true));
    for (example, wanted) in all.chain(examples.not_match.iter().map(|example| (example, false))) {
        if does_match(example)? != wanted {
            let example = format!("{example:?}");
            return Err(PolicyError::Example {
                origin: origin.name.to_owned(),
                line,
                example,
                wanted,
            });
        }
    }
    Ok(())
}

fn computer_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<ComputerRule>,
) -> Result<Rule<ComputerMatch>, PolicyError> {
    let (line, name) = origin.rule_position("computer", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "actions", file.actions.as_ref())?;
    let matcher = ComputerMatch {
        actions: file.actions.take(),
        device: file.device,
        display: file.display,
    };
    let (rule, examples) = file.into_rule(name, matcher);
    check_rule(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        let (kind, device, display) = (example.action, example.device, example.display);
        let step = ScreenSubject {
            kind,
            device,
            display,
        };
        Ok(rule.verdict_on(&step).is_some())
    })?;
    Ok(rule)
}

fn keys_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<KeysRule>,
) -> Result<Rule<KeysMatch>, PolicyError> {
    let (line, name) = origin.rule_position("keys", &rule);
    let mut file = rule.into_inner();
    let read = |text: &str| {
        Chord::parse(text).ok_or_else(|| {
            origin.problem(
                line,
                format!("invalid chord {text:?}; write it like \"ctrl+s\""),
            )
        })
    };
    let names = file.chords.take().unwrap_or_default();
    if names.is_empty() {
        return Err(origin.problem(line, "a keys rule needs `chords`, such as [\"alt+F4\"]"));
    }
    let chords = names
        .iter()
        .map(|name| read(name))
        .collect::<Result<_, _>>()?;
    let (rule, examples) = file.into_rule(name, KeysMatch { chords });
    check_rule(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        Ok(rule
            .verdict_on(&PressedKeys::new(&[], &read(example)?))
            .is_some())
    })?;
    Ok(rule)
}

fn url_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<UrlRule>,
) -> Result<Rule<UrlMatch>, PolicyError> {
    let (line, name) = origin.rule_position("url", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "scheme", file.scheme.as_ref())?;
    check_list(origin, line, "host", file.host.as_ref())?;
    check_list(origin, line, "port", file.port.as_ref())?;
    check_list(origin, line, "address", file.address.as_ref())?;
    let host = file.host.take().map(|hosts| {
        hosts
            .iter()
            .map(|host| ascii_host(origin, line, host))
            .collect::<Result<_, _>>()
    });
    let matcher = UrlMatch {
        scheme: file.scheme.take(),
        host: host.transpose()?,
        port: file.port.take(),
        address: file.address.take(),
        tunnel: file.tunnel.take().unwrap_or_default(),
    };
    let (rule, examples) = file.into_rule(name, matcher);
    check_rule(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        let url = read_url(example)
            .ok_or_else(|| origin.problem(line, format!("the example {example:?} is not a URL")))?;
        Ok(rule.verdict_on(&Destination::new(&url, &[])).is_some())
    })?;
    Ok(rule)
}

/// A host in its canonical form: lower case, ASCII, numeric addresses normalized.
fn ascii_host(
    origin: &FilePosition<'_>,
    line: usize,
    pattern: &str,
) -> Result<String, PolicyError> {
    let (head, name) = match pattern.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None if pattern == "*" => return Ok(pattern.to_owned()),
        None => ("", pattern),
    };
    let host = url::Host::parse(name.trim_end_matches('.')).map_err(|_| {
        origin.problem(
            line,
            format!("invalid host {pattern:?}; write it like \"example.com\" or \"*.example.com\""),
        )
    })?;
    Ok(format!("{head}{host}"))
}

fn shell_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<ShellRule>,
) -> Result<Rule<ShellMatch>, PolicyError> {
    let (line, name) = origin.rule_position("shell", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "words", file.words.as_ref())?;
    let one_of = |one_of: WordPattern| match one_of {
        WordPattern::Single(word) => vec![word],
        WordPattern::Alternatives(words) => words,
    };
    let words: Option<Vec<Vec<String>>> = file
        .words
        .take()
        .map(|words| words.into_iter().map(one_of).collect());
    if words.iter().flatten().any(Vec::is_empty) {
        return Err(origin.problem(line, "one of the words has no alternatives"));
    }
    let placement = file.shell;
    let is_sandboxed = placement.map(|placement| matches!(placement, ShellPlacement::Sandboxed));
    let redirection = file.redirection.unwrap_or_default();
    let (rule, examples) = file.into_rule(
        name,
        ShellMatch {
            words,
            is_sandboxed,
            redirection,
        },
    );
    check_rule(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        Ok(shell_example(&rule, example, is_sandboxed.unwrap_or(true)))
    })?;
    Ok(rule)
}

fn edit_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<EditRule>,
) -> Result<Rule<EditMatch>, PolicyError> {
    let (line, name) = origin.rule_position("edit", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "operations", file.operations.as_ref())?;
    check_list(origin, line, "paths", file.paths.as_ref())?;
    let known = |name: &&String| !EDIT_STEPS.contains(&name.as_str());
    if let Some(unknown) = file.operations.iter().flatten().find(known) {
        let names = EDIT_STEPS.join(", ");
        return Err(origin.problem(
            line,
            format!("unknown operation {unknown:?}; expected one of {names}"),
        ));
    }
    let matcher = EditMatch {
        operations: file.operations.take(),
        paths: file.paths.take(),
        tool: file.tool,
    };
    let (rule, examples) = file.into_rule(name, matcher);
    check_rule(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        let edit = Edit {
            tool: rule.matcher.tool.unwrap_or(EditTool::Editor),
            name: rule
                .matcher
                .operations
                .as_ref()
                .and_then(|names| names.first())
                .map_or("replace", String::as_str),
            paths: vec![example],
        };
        Ok(rule.verdict_on(&edit).is_some())
    })?;
    Ok(rule)
}

/// A permissive rule must match every part of the example, a restrictive one any part.
fn shell_example(rule: &Rule<ShellMatch>, example: &str, is_sandboxed: bool) -> bool {
    let fits = |command, unknown: &str| {
        let part = ShellSubject {
            command,
            unknown,
            is_sandboxed,
            is_tainted: false,
        };
        rule.verdict_on(&part).is_some()
    };
    match read_command(&Command::Line(example.to_owned())) {
        CommandReading::Known(parts) if rule.verdict >= Verdict::Ask => {
            parts.iter().any(|part| fits(Some(part), ""))
        }
        CommandReading::Known(parts) => parts.iter().all(|part| fits(Some(part), "")),
        CommandReading::Unknown(reason) => fits(None, &reason),
        CommandReading::TooLong => false,
    }
}
