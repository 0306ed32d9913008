//! `generate`: completions and manual pages, from the definition of the command line.

use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::args::{Cli, GenerateCommand};
use crate::error::CliError;
use crate::input::write_bytes;

const NAME: &str = "telechir";

pub(crate) fn generate(command: &GenerateCommand) -> Result<ExitCode, CliError> {
    let mut definition = Cli::command();
    let mut bytes = Vec::new();
    match command {
        GenerateCommand::Completions { shell } => {
            clap_complete::generate(*shell, &mut definition, NAME, &mut bytes);
        }
        GenerateCommand::Man { command } => {
            definition.build();
            let page = page(&definition, command.as_deref())?;
            Man::new(page).render(&mut bytes)?;
        }
    }
    write_bytes(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// The definition of one command under its full name, or of all.
fn page(definition: &Command, name: Option<&str>) -> Result<Command, CliError> {
    let Some(name) = name else {
        return Ok(definition.clone());
    };
    let shown = || {
        definition
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
    };
    let found = shown().find(|command| command.get_name() == name);
    let Some(found) = found else {
        let names = shown().map(Command::get_name);
        let names: Vec<&str> = names.filter(|name| *name != "help").collect();
        return Err(CliError::usage(format!(
            "there is no command {name:?}; expected one of {}",
            names.join(", ")
        )));
    };
    Ok(found.clone())
}
