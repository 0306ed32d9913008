//! The conditions of each kind of rule, and how its examples are judged.

use telechir_protocol::{Chord, Command, EDIT_STEPS, EditTool};

use super::{
    ComputerConditions, ComputerExample, ComputerRule, EditConditions, EditRule, FilePosition,
    KeysConditions, KeysRule, ReadRule, ShellConditions, ShellPlacement, ShellRule, UrlConditions,
    UrlRule, WordPattern, check_list,
};
use crate::edit_rule::{Edit, EditMatch};
use crate::input_target::InputTarget;
use crate::key_rule::{KeysMatch, PressedKeys, unknown_key};
use crate::navigation::read_url;
use crate::rule::Rule;
use crate::screen_rule::{ComputerMatch, ScreenSubject};
use crate::shell_options::is_option;
use crate::shell_rule::{ShellMatch, ShellSubject};
use crate::url_rule::{Destination, UrlMatch};
use crate::{CommandReading, PolicyError, ShellReach, Verdict, read_command};

impl ReadRule for ComputerRule {
    type Matcher = ComputerMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: ComputerConditions,
    ) -> Result<ComputerMatch, PolicyError> {
        check_list(origin, line, "actions", conditions.actions.as_ref())?;
        check_list(origin, line, "windows", conditions.windows.as_ref())?;
        let lower = |windows: Vec<String>| {
            let windows = windows.into_iter();
            windows.map(|pattern| pattern.to_lowercase()).collect()
        };
        Ok(ComputerMatch {
            actions: conditions
                .actions
                .map(|actions| actions.into_iter().map(|action| action.0).collect()),
            device: conditions.device,
            display: conditions.display,
            windows: conditions.windows.map(lower),
        })
    }

    fn matches(
        _origin: &FilePosition<'_>,
        _line: usize,
        rule: &Rule<ComputerMatch>,
        example: &ComputerExample,
    ) -> Result<bool, PolicyError> {
        let names: Vec<String> = example.window.iter().cloned().collect();
        let step = ScreenSubject {
            kind: example.action.0,
            device: example.device,
            display: example.display,
            target: match names.as_slice() {
                [] => InputTarget::NoWindow,
                names => InputTarget::Windows {
                    certain: vec![names],
                    possible: Vec::new(),
                },
            },
        };
        Ok(rule.verdict_on(&step).is_some())
    }
}

impl ReadRule for KeysRule {
    type Matcher = KeysMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: KeysConditions,
    ) -> Result<KeysMatch, PolicyError> {
        let names = conditions.chords.unwrap_or_default();
        if names.is_empty() {
            return Err(origin.problem(line, "a keys rule needs `chords`, such as [\"alt+F4\"]"));
        }
        let chords = names.iter().map(|name| chord(origin, line, name));
        Ok(KeysMatch {
            chords: chords.collect::<Result<_, _>>()?,
        })
    }

    fn matches(
        origin: &FilePosition<'_>,
        line: usize,
        rule: &Rule<KeysMatch>,
        example: &String,
    ) -> Result<bool, PolicyError> {
        let pressed = PressedKeys::new(&[], &chord(origin, line, example)?);
        Ok(rule.verdict_on(&pressed).is_some())
    }
}

fn chord(origin: &FilePosition<'_>, line: usize, text: &str) -> Result<Chord, PolicyError> {
    let chord = Chord::parse(text).ok_or_else(|| {
        let problem = format!("invalid chord {text:?}; write it like \"ctrl+s\"");
        origin.problem(line, problem)
    })?;
    match unknown_key(&chord) {
        Some(key) => Err(origin.problem(
            line,
            format!(
                "the chord {text:?} has the unknown key {key:?}; expected a character, a modifier \
                 (ctrl, alt, shift, super) or a name such as Enter, Escape, Tab, Delete, PageUp, \
                 ArrowLeft or F5"
            ),
        )),
        None => Ok(chord),
    }
}

impl ReadRule for UrlRule {
    type Matcher = UrlMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: UrlConditions,
    ) -> Result<UrlMatch, PolicyError> {
        check_list(origin, line, "scheme", conditions.scheme.as_ref())?;
        check_list(origin, line, "host", conditions.host.as_ref())?;
        check_list(origin, line, "port", conditions.port.as_ref())?;
        check_list(origin, line, "address", conditions.address.as_ref())?;
        let host = conditions.host.map(|names| hosts(origin, line, &names));
        Ok(UrlMatch {
            scheme: conditions.scheme,
            host: host.transpose()?,
            port: conditions.port,
            address: conditions.address,
            tunnel: conditions.tunnel.unwrap_or_default(),
        })
    }

    fn matches(
        origin: &FilePosition<'_>,
        line: usize,
        rule: &Rule<UrlMatch>,
        example: &String,
    ) -> Result<bool, PolicyError> {
        let url = read_url(example)
            .ok_or_else(|| origin.problem(line, format!("the example {example:?} is not a URL")))?;
        Ok(rule.verdict_on(&Destination::new(&url, &[])).is_some())
    }
}

/// Hosts in their canonical form.
pub(super) fn hosts(
    origin: &FilePosition<'_>,
    line: usize,
    names: &[String],
) -> Result<Vec<String>, PolicyError> {
    let names = names.iter();
    names.map(|name| ascii_host(origin, line, name)).collect()
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
    // URLs may have hosts with an asterisk; a pattern with one elsewhere would match nothing.
    let host = url::Host::parse(name.trim_end_matches('.')).ok();
    let host = host.filter(|_| !name.contains('*')).ok_or_else(|| {
        origin.problem(
            line,
            format!("invalid host {pattern:?}; write it like \"example.com\" or \"*.example.com\""),
        )
    })?;
    Ok(format!("{head}{host}"))
}

impl ReadRule for ShellRule {
    type Matcher = ShellMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: ShellConditions,
    ) -> Result<ShellMatch, PolicyError> {
        check_list(origin, line, "words", conditions.words.as_ref())?;
        let one_of = |one_of: WordPattern| match one_of {
            WordPattern::Single(word) => vec![word],
            WordPattern::Alternatives(words) => words,
        };
        let words: Option<Vec<Vec<String>>> = conditions
            .words
            .map(|words| words.into_iter().map(one_of).collect());
        if words.iter().flatten().any(Vec::is_empty) {
            return Err(origin.problem(line, "one of the words has no alternatives"));
        }
        if conditions.options.is_some() && words.is_none() {
            let problem = "`options` are those of a program; name it with `words`";
            return Err(origin.problem(line, problem));
        }
        let is_wrong = |option: &&String| {
            !is_option(option) || option.trim_end_matches('=').contains(['=', ' '])
        };
        if let Some(wrong) = conditions.options.iter().flatten().find(is_wrong) {
            let problem = format!(
                "{wrong:?} is not an option; write it like \"--stat\", \"-n\" or \"--format=\" \
                 (with any value)"
            );
            return Err(origin.problem(line, problem));
        }
        let placement = conditions.shell;
        Ok(ShellMatch {
            words,
            options: conditions.options,
            is_sandboxed: placement.map(|placement| matches!(placement, ShellPlacement::Sandboxed)),
            redirection: conditions.redirection.unwrap_or_default(),
        })
    }

    fn matches(
        _origin: &FilePosition<'_>,
        _line: usize,
        rule: &Rule<ShellMatch>,
        example: &String,
    ) -> Result<bool, PolicyError> {
        let is_sandboxed = rule.matcher.is_sandboxed.unwrap_or(true);
        Ok(shell_example(rule, example, is_sandboxed))
    }
}

/// A permissive rule must match every part of the example, a restrictive one any part.
fn shell_example(rule: &Rule<ShellMatch>, example: &str, is_sandboxed: bool) -> bool {
    let fits = |command, unknown: &str| {
        let part = ShellSubject {
            command,
            unknown,
            is_sandboxed,
            is_tainted: false,
            reach: ShellReach::Something,
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

impl ReadRule for EditRule {
    type Matcher = EditMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: EditConditions,
    ) -> Result<EditMatch, PolicyError> {
        check_list(origin, line, "operations", conditions.operations.as_ref())?;
        check_list(origin, line, "paths", conditions.paths.as_ref())?;
        let known = |name: &&String| !EDIT_STEPS.contains(&name.as_str());
        if let Some(unknown) = conditions.operations.iter().flatten().find(known) {
            let names = EDIT_STEPS.join(", ");
            return Err(origin.problem(
                line,
                format!("unknown operation {unknown:?}; expected one of {names}"),
            ));
        }
        Ok(EditMatch {
            operations: conditions.operations,
            paths: conditions.paths,
            tool: conditions.tool,
        })
    }

    fn matches(
        _origin: &FilePosition<'_>,
        _line: usize,
        rule: &Rule<EditMatch>,
        example: &String,
    ) -> Result<bool, PolicyError> {
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
    }
}
