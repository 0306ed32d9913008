//! The script around a command: it loads and saves what lasts between commands, and ends the command
//! after its time.

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telechir_device::ShellCommand;
use telechir_protocol::Command;
use telechir_providers::InterpreterAnswer;

/// Linux passes no longer argument to a program, and the service starts one with the command.
const MAX_COMMAND_BYTES: usize = 120_000;

/// Arguments: name of the folder of the state, mark of this command, whether the state is saved, the command's own
/// folder, the command, its variables. `timeout` leads a process group, by which the command is ended.
const SCRIPT: &str = r#"
__telechir_end() {
  local __telechir_code=$?
  builtin trap - EXIT
  if [ "$2" = save ]; then
    {
      builtin declare -p; builtin declare -f; builtin alias -p
      builtin printf 'builtin cd -- %q\n' "$PWD"
    } > "$1/new" 2> /dev/null
    command mv -f -- "$1/new" "$1/state"
    builtin printf '%s\n' "$__telechir_code" > "$1/status"
  fi
  if [ "$2" != job ]; then command rm -f -- "$1/group"; fi
  builtin printf '%s%s\n' "$3" "$PWD" >&2
  builtin exit "$__telechir_code"
}
set -- "${TMPDIR:-/tmp}/$1" "${@:2}"
mkdir -p -m 700 -- "$1"
if [ "$3" != job ]; then printf '%s\n' "$PPID" > "$1/group"; fi
if [ -e "$1/$2" ]; then exit 137; fi
shopt -s expand_aliases
if [ -f "$1/state" ]; then . "$1/state" > /dev/null 2>&1; fi
while \[ $# -gt 5 ]; do \builtin export "$6"; \builtin set -- "${@:1:5}" "${@:7}"; done
if \[ -n "$4" ]; then \builtin cd -- "$4" || \builtin exit; fi
\builtin trap "__telechir_end $(\builtin printf '%q %q %q' "$1" "$3" "$2")" EXIT
\builtin set -- "$1/status" "$5"
if \[ -f "$1" ]; then \builtin set -- "$2" "$(\command cat -- "$1")"; else \builtin set -- "$2" 0; fi
\builtin eval '\builtin set --; (\builtin exit '"$2"'); '"$(\builtin printf '\\builtin eval %q' "$1")"
"#;

/// Ends the command that runs now, or begins later. Arguments: name of the folder of the state, mark of
/// the command.
const END: &str = r#"
set -- "${TMPDIR:-/tmp}/$1" "$2"
mkdir -p -m 700 -- "$1"
: > "$1/$2"
if [ -f "$1/group" ]; then kill -KILL -- "-$(cat -- "$1/group")"; rm -f -- "$1/group"; fi
"#;

/// How a command stands to the state of the shell, with which each begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandUse {
    /// What it changes lasts.
    Continue,
    /// What it changes ends with it.
    Apart,
    /// It runs beside later commands, without a limit.
    Job,
}

impl CommandUse {
    /// A folder or variables of one command alone must not last.
    pub(super) fn of(command: &ShellCommand) -> Self {
        match command.cwd.is_none() && command.env.is_empty() {
            true => Self::Continue,
            false => Self::Apart,
        }
    }
}

/// A command with its script, as the service gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    pub(super) text: String,
    /// Begins the last line of standard error, which has the folder. No command can know it.
    pub(super) mark: String,
    timeout: Duration,
}

impl Wrapped {
    pub(super) fn new(
        folder: &str,
        command: &ShellCommand,
        state: CommandUse,
    ) -> Result<Self, String> {
        let line = match &command.command {
            Command::Line(line) => line.clone(),
            // No alias or function takes the place of the program.
            Command::Argv(_) => format!("\\command -- {}", command.command.to_line()),
        };
        let mark = mark();
        // A job has no limit: 0 is none.
        let seconds = match state {
            CommandUse::Job => 0.0,
            CommandUse::Continue | CommandUse::Apart => command.timeout.as_secs_f64().max(0.001),
        };
        let mut words = vec!["timeout".to_owned(), "--kill-after=1".to_owned()];
        words.push(format!("{seconds:.3}"));
        let mut variables = Vec::new();
        for (name, value) in &command.env {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let is_valid = !name.is_empty()
                && name.bytes().all(is_name)
                && !name.starts_with(|c: char| c.is_ascii_digit());
            if !is_valid {
                return Err(format!("{name:?} is no name of a variable."));
            }
            variables.push(format!("{name}={value}"));
        }
        let save = match state {
            CommandUse::Continue => "save",
            CommandUse::Apart => "load",
            CommandUse::Job => "job",
        };
        let cwd = command.cwd.as_deref().unwrap_or_default();
        let script = [
            "bash", "-c", SCRIPT, "bash", folder, &mark, save, cwd, &line,
        ];
        words.extend(script.map(str::to_owned));
        words.extend(variables);
        if words.iter().any(|word| word.contains('\0')) {
            return Err("A command cannot have a zero byte.".to_owned());
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let text = words.join(" ");
        if text.len() > MAX_COMMAND_BYTES {
            return Err(format!(
                "A command has {} bytes with its quotes, and at most {MAX_COMMAND_BYTES} are run at \
                 once; write long data to a file in parts.",
                text.len()
            ));
        }
        Ok(Self {
            text,
            mark,
            timeout: command.timeout,
        })
    }

    /// Whether `timeout` ended the command: by its exit codes, after that time.
    pub(super) fn is_ended_by_timeout(&self, answer: &InterpreterAnswer) -> bool {
        let has_code = matches!(answer.exit_code, Some(124 | 137));
        let took = answer.duration_ms.map(Duration::from_millis);
        has_code && took.is_none_or(|took| took >= self.timeout)
    }
}

/// The command that ends the one with this mark, also one that has not begun.
pub(super) fn end_command(folder: &str, mark: &str) -> String {
    let words = ["bash", "-c", END, "bash", folder, mark].map(quoted);
    words.join(" ")
}

/// Standard error without the last line of the script, and the folder in it.
pub(super) fn without_trailer<'a>(stderr: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    let begin = match mark {
        // The mark of a job is not kept.
        "" => stderr.rfind(MARK),
        mark => stderr.rfind(mark),
    };
    let Some(begin) = begin else {
        return (stderr, None);
    };
    let line = stderr[begin..].trim_end_matches('\n');
    if line.contains('\n') {
        return (stderr, None);
    }
    let folder = line.get(mark.len()..).filter(|_| !mark.is_empty());
    (&stderr[..begin], folder)
}

const MARK: &str = "telechir-end-";

/// A mark that no other command has.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("{MARK}{:x}-{now:x}-{count:x}:", process::id())
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trailer_is_no_output() {
        let mark = mark();
        let stderr = format!("one\ntwo{mark}/a b\n");
        assert_eq!(without_trailer(&stderr, &mark), ("one\ntwo", Some("/a b")));
        assert_eq!(without_trailer(&stderr, ""), ("one\ntwo", None));
        assert_eq!(without_trailer("cut off", &mark), ("cut off", None));
        let forged = format!("{mark}/x\nmore");
        assert_eq!(without_trailer(&forged, &mark), (forged.as_str(), None));
    }

    #[test]
    fn a_word_comes_back_as_it_was() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
