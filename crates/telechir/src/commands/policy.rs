//! `policy`: shows, checks and tests policies, and makes sessions read theirs again.

mod verdict;

use std::process::ExitCode;

use telechir_host::{Probe, SessionName, SessionPaths, probe};
use telechir_policy::{ShippedPolicy, TableCounts};

use crate::args::{PolicyChoice, PolicyCommand};
use crate::error::CliError;
use crate::input::write_text;
use crate::session_host::{host_failure, paths};
use crate::socket_folder::folder;

pub(crate) async fn policy(command: PolicyCommand) -> Result<ExitCode, CliError> {
    match command {
        PolicyCommand::Check { file } => check(&file),
        PolicyCommand::Show { name } => show(name),
        PolicyCommand::Test(arguments) => verdict::test(&arguments),
        PolicyCommand::Reload { session } => reload(session).await,
    }
}

fn check(choice: &PolicyChoice) -> Result<ExitCode, CliError> {
    let policy = crate::policy::read(choice)?;
    let name = match choice {
        PolicyChoice::Shipped(policy) => policy.name().to_owned(),
        PolicyChoice::File(file) => file.display().to_string(),
    };
    write_text(&format!("{name}: valid; {}\n", contents(&policy.tables())))?;
    Ok(ExitCode::SUCCESS)
}

/// How many rules and examples a policy has.
fn contents(tables: &[TableCounts]) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let used = tables
        .iter()
        .filter(|table| table.rules > 0 || table.has_default);
    let mut parts: Vec<String> = used
        .map(|table| {
            let (name, rules) = (table.name, table.rules);
            let default = if table.has_default {
                " and a default"
            } else {
                ""
            };
            format!("[[{name}]] has {rules} rule{}{default}", plural(rules))
        })
        .collect();
    if parts.is_empty() {
        parts.push("no rules".to_owned());
    }
    let examples: usize = tables.iter().map(|table| table.examples).sum();
    parts.push(match examples {
        0 => "no examples".to_owned(),
        1 => "1 example, judged as expected".to_owned(),
        _ => format!("{examples} examples, judged as expected"),
    });
    parts.join(", ")
}

fn show(policy: Option<ShippedPolicy>) -> Result<ExitCode, CliError> {
    let text = match policy {
        Some(policy) => policy.text().to_owned(),
        None => ShippedPolicy::ALL
            .map(|policy| format!("{:<14} {}\n", policy.name(), policy.summary()))
            .concat(),
    };
    write_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

async fn reload(session: Option<SessionName>) -> Result<ExitCode, CliError> {
    let sessions = match &session {
        Some(name) => vec![paths(name)?],
        None => SessionPaths::all(&folder()?)?,
    };
    let mut code = ExitCode::SUCCESS;
    for paths in sessions {
        let name = &paths.name;
        match (reload_one(&paths).await, &session) {
            (Ok(Some(line)), _) => write_text(&format!("{line}\n"))?,
            (Ok(None), None) => {}
            (Ok(None), Some(_)) => {
                return Err(CliError::message(format!(
                    "no session named {name}; run `telechir sessions list`"
                )));
            }
            // One session must not prevent the reload of others.
            (Err(failure), _) => code = failure.report(),
        }
    }
    Ok(code)
}

/// Reloads the policy of one session; none if there is no such session.
async fn reload_one(paths: &SessionPaths) -> Result<Option<String>, CliError> {
    let name = &paths.name;
    let Probe::Alive(client) = probe(paths).await.map_err(host_failure)? else {
        return Ok(None);
    };
    let before = client.description().policy;
    let after = client
        .reload_policy()
        .await
        .map_err(|error| CliError::message(format!("session {name} keeps its policy: {error}")))?;
    Ok(Some(match before == after {
        true => format!("session {name}: the policy is unchanged ({after})"),
        false => format!("session {name}: the policy was reloaded ({after})"),
    }))
}
