//! The scripts that bash runs: the report hook, and the line that runs one command.

use telechir_device::{DeviceError, ShellCommand};
use telechir_protocol::Command;

use crate::control_channel::{COMMAND, ControlChannel};
use crate::processes::JOB;

/// bash's startup script.
///
/// `exec` has no `builtin` prefix, because its redirections would not persist with one. `$?` must
/// stay unchanged: the report saves it first, and bash restores it after `PROMPT_COMMAND`. Input
/// that a command did not read must not become the next command, and an end of input left for
/// bash must not end it. The prompt variables are reset each time because commands change them.
pub(crate) fn startup(channel: &ControlChannel) -> String {
    let (control, own) = (
        quote(&channel.inside("control")),
        quote(&channel.inside("own")),
    );
    format!(
        "unset HISTFILE\nset +o history\n\
         PS1= PS2= PS0= IGNOREEOF=1000\n\
         __telechir_report() {{\n\
         builtin local code=$?\n\
         exec >{own} 2>&1\n\
         while builtin read -t 0; do builtin read -r -t 0.01 -N 4096 __telechir_unread; done\n\
         __telechir_unread=\n\
         if [[ $__telechir_back ]]; then builtin eval \"$__telechir_back\"; __telechir_back=; fi\n\
         PS1= PS2= PS0=\n\
         builtin printf '%d\\0%d\\0%s\\0' \"$__telechir_number\" \"$code\" \"$PWD\" >{control}\n\
         }}\n\
         __telechir_keep() {{\n\
         builtin local code=$?\n\
         builtin unset PROMPT_COMMAND\n\
         PROMPT_COMMAND=__telechir_report\n\
         builtin return $code\n\
         }}\n\
         PROMPT_COMMAND=__telechir_report\n"
    )
}

/// The line that is typed to run the newest command.
///
/// It contains the command's number, which the report repeats: an interrupt can produce a prompt
/// before the line is read. The assignment is hidden in a file name because only there it leaves
/// `$?` unchanged.
pub(crate) fn line(channel: &ControlChannel, reads: &str) -> String {
    let [reads, out, err] = [reads, "out", "err"].map(|name| quote(&channel.inside(name)));
    let (number, pair) = (channel.number(), channel.pair());
    format!(
        "builtin . {reads} >{out}{pair} 2>{err}$((__telechir_number={number},{pair})); \
         __telechir_keep\n"
    )
}

/// The script for a command with its own directory or variables: it sets them, then runs the
/// command.
///
/// # Errors
/// If a variable's name is invalid.
pub(crate) fn run(channel: &ControlChannel, command: &ShellCommand) -> Result<String, DeviceError> {
    let mut script = String::new();
    if let Some(cwd) = &command.cwd {
        let cwd = quote(cwd);
        script.push_str("builtin printf -v __telechir_back 'builtin cd -- %q;' \"$PWD\"\n");
        script.push_str(&format!("builtin cd -- {cwd} || builtin return\n"));
    }
    for (name, value) in &command.env {
        let name = checked_name(name)?;
        let value = quote(value);
        script.push_str(&format!(
            "if [[ -v {name} ]]; then\n\
             builtin printf -v __telechir_back '%s{name}=%q;' \"$__telechir_back\" \"${name}\"\n\
             [[ ${{{name}@a}} == *x* ]] || __telechir_back+='export -n {name};'\n\
             else __telechir_back+='unset {name};'; fi\n\
             builtin export {name}={value}\n"
        ));
    }
    let file = quote(&channel.inside(COMMAND));
    script.push_str(&format!("builtin . {file}\n"));
    Ok(script)
}

/// The script that starts a background job: a process that leads a session on its own terminal,
/// with the shell's directory, exported variables and functions.
pub(crate) fn start_job(
    channel: &ControlChannel,
    name: &str,
    mark: &str,
    terminal: &str,
) -> String {
    let file = |part: &str| quote(&channel.inside(&format!("{name}.{part}")));
    let (main, out, err) = (file("main"), file("out"), file("err"));
    let (mark, terminal) = (quote(mark), quote(terminal));
    format!(
        "(\n\
         for __telechir_name in $(builtin compgen -A function); do\n\
         [[ $__telechir_name == __telechir_* ]] || builtin export -f \"$__telechir_name\"\n\
         done\n\
         builtin unset BASH_ENV\n\
         builtin export {JOB}={mark}\n\
         builtin exec /usr/bin/setsid --ctty --fork \"$BASH\" --noprofile --norc {main} \
         <{terminal} >{out} 2>{err}\n\
         )\n"
    )
}

/// The script of the job's leader, which reports the exit code in every case.
pub(crate) fn lead_job(channel: &ControlChannel, name: &str) -> String {
    let file = |part: &str| quote(&channel.inside(&format!("{name}.{part}")));
    let (run, end, go) = (file("run"), file("end"), file("go"));
    format!(
        "trap : INT QUIT TERM HUP\n\
         printf 'begun\\0' >{end}\n\
         read -r <{go}\n\
         \"$BASH\" --noprofile --norc {run}\n\
         printf '%d\\0' \"$?\" >{end}\n"
    )
}

/// The job's own script: its directory and variables, then the command.
///
/// # Errors
/// If a variable's name is invalid.
pub(crate) fn run_job(command: &ShellCommand) -> Result<String, DeviceError> {
    let mut script = String::new();
    if let Some(cwd) = &command.cwd {
        script.push_str(&format!("builtin cd -- {} || builtin exit\n", quote(cwd)));
    }
    for (name, value) in &command.env {
        let value = quote(value);
        script.push_str(&format!("builtin export {}={value}\n", checked_name(name)?));
    }
    script.push_str(&text(&command.command)?);
    Ok(script)
}

/// The command as a script.
///
/// # Errors
/// If it contains a zero byte, which bash would drop.
pub(crate) fn text(command: &Command) -> Result<String, DeviceError> {
    let line = command.to_line();
    if line.contains('\0') {
        let message = "The command contains a zero byte, which no shell can read.".to_owned();
        return Err(DeviceError::Refused { message });
    }
    Ok(match command {
        Command::Line(_) => line + "\n",
        // Without aliases and functions: argv names a program.
        Command::Argv(_) => format!("builtin command -- {line}\n"),
    })
}

fn checked_name(name: &str) -> Result<&str, DeviceError> {
    if is_name(name) {
        return Ok(name);
    }
    let message = format!(
        "`{name}` is not a valid variable name; use letters, digits and `_`, not a digit first."
    );
    Err(DeviceError::Refused { message })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Quotes one shell word.
pub(crate) fn quote(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}
