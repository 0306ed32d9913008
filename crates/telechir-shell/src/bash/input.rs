//! Sends input to a command that waits for it.

use telechir_device::{DeviceError, ShellInput, Typed};
use tokio::time::{Instant, timeout_at};

use super::{Bash, CommandEnd, shell_gone};
use crate::terminal::{MAX_LINE_BYTES, TerminalModes};
use crate::{input_wait, keys, processes};

impl Bash {
    /// Whether the terminal hides what is typed into the running command.
    pub(super) fn hides_typed_input(&self) -> bool {
        let session = self.session.as_ref().filter(|_| self.running.is_some());
        // If the modes cannot be read, hiding is the safe assumption.
        session.is_some_and(|session| {
            let modes = session.terminal.modes_now();
            modes.map_or(true, |modes| !modes.has_echo)
        })
    }

    /// Types into the waiting command and follows it.
    pub(super) async fn answer(&mut self, input: &ShellInput) -> Result<CommandEnd, DeviceError> {
        let (Some(session), Some(running)) = (&mut self.session, &mut self.running) else {
            let message = "No command is waiting for input; run one first.".to_owned();
            return Err(DeviceError::Refused { message });
        };
        let modes = session.terminal.modes_now().map_err(shell_gone)?;
        let bytes = bytes(&input.typed, modes, running.has_open_line)?;
        running.has_open_line = has_unfinished_line(&input.typed);
        running.drain(Some(&session.terminal));
        running.reset_output(input.max_output_bytes, &self.spools);
        running.expect_echo(echo(&input.typed, modes));
        running.started = Instant::now();
        let deadline = running.started + input.timeout;
        match bytes {
            None => {
                let foreground = session.terminal.foreground().map_err(shell_gone)?;
                if foreground == session.shell {
                    session.interrupt();
                } else {
                    let group = input_wait::group_processes(foreground);
                    // If every process dies of the interrupt, bash must not run the rest of the
                    // command.
                    if !group
                        .iter()
                        .any(|process| processes::handles_interrupts(process.pid))
                    {
                        session.interrupt();
                    }
                    input_wait::interrupt(foreground);
                }
            }
            Some(bytes) => {
                // A program that does not read fills the terminal; the command then times out.
                if let Ok(sent) = timeout_at(deadline, session.terminal.send(&bytes)).await {
                    sent.map_err(shell_gone)?;
                }
            }
        }
        self.end(deadline).await
    }
}

/// The bytes to type; `None` for an interrupt, which is sent as a signal.
pub(crate) fn bytes(
    typed: &Typed,
    modes: TerminalModes,
    has_open_line: bool,
) -> Result<Option<Vec<u8>>, DeviceError> {
    Ok(match typed {
        Typed::Text(text) => {
            let max_line = text.split('\n').map(str::len).max().unwrap_or(0);
            if modes.is_canonical && max_line > MAX_LINE_BYTES {
                let message = format!(
                    "A terminal takes lines of up to {MAX_LINE_BYTES} bytes, and this text has one of \
                     {max_line}; send shorter lines, or give the text to the program in a file."
                );
                return Err(DeviceError::Refused { message });
            }
            Some(text.clone().into_bytes())
        }
        Typed::Key(chord) => match keys::bytes(chord)? {
            // Some programs disable the key and still handle the signal.
            byte if byte == [0x03] && modes.is_canonical => None,
            bytes => Some(bytes),
        },
        // Twice: after an unfinished line, the first one only submits that line.
        Typed::End if modes.is_canonical && has_open_line => Some(vec![0x04, 0x04]),
        Typed::End => Some(vec![0x04]),
        Typed::Interrupt => None,
    })
}

/// Whether the input ends with an unfinished line.
pub(crate) fn has_unfinished_line(typed: &Typed) -> bool {
    matches!(typed, Typed::Text(text) if !text.is_empty() && !text.ends_with('\n'))
}

/// The bytes that the terminal echoes.
pub(crate) fn echo(typed: &Typed, modes: TerminalModes) -> &[u8] {
    match typed {
        Typed::Text(text) if modes.has_echo => text.as_bytes(),
        Typed::Text(_) | Typed::Key(_) | Typed::End | Typed::Interrupt => &[],
    }
}
