//! `serve check`: what a server with these flags would serve, and everything that is in its way.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{Access, access, statvfs};
use telechir_host::tokens::Role;

use super::{listen, tls};
use crate::args::{ListenAddress, ServeFlags};
use crate::commands::tokens::token_file;
use crate::error::CliError;
use crate::input::write_text;
use crate::log::print_note;

/// Free space below which the disk is a problem: one session's outcomes and a few screenshots.
const MIN_DISK_BYTES: u64 = 256 << 20;

/// One thing that a server needs.
pub(crate) struct Checked {
    /// What it is, in a word.
    pub(crate) name: &'static str,
    /// What would be used, or why it cannot be.
    pub(crate) result: Result<String, CliError>,
}

/// Prints what would be served, and each problem in a line.
pub(super) async fn report(flags: &ServeFlags) -> Result<ExitCode, CliError> {
    let mut text = String::new();
    let mut problems = 0;
    for Checked { name, result } in all(flags).await {
        match result {
            Ok(found) => text.push_str(&format!("{name:<11} {found}\n")),
            Err(error) => {
                problems += 1;
                print_note(&format!("{name}: {}", error.text()));
            }
        }
    }
    for warning in warnings(flags) {
        text.push_str(&format!("{:<11} {warning}\n", "note"));
    }
    write_text(&text)?;
    Ok(match problems {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Checks everything, also after a problem.
pub(crate) async fn all(given: &ServeFlags) -> Vec<Checked> {
    let checked = |name, result| Checked { name, result };
    vec![
        checked("sessions", flags(given)),
        checked("policy", policy(given)),
        checked("exposure", exposure(given)),
        checked("tls", certificate(given)),
        checked("address", port(given).await),
        checked("tokens", tokens(given)),
        checked("recordings", recordings(given)),
    ]
}

/// The devices and limits.
pub(super) fn flags(given: &ServeFlags) -> Result<String, CliError> {
    let devices = &given.devices;
    if devices.is_empty() {
        return Err(CliError::usage(
            "no device: pass --desktop, --browser, --shell or --editor, or several of them",
        ));
    }
    devices.check().map_err(CliError::usage)?;
    if given.safety.run.is_some() {
        return Err(CliError::usage(
            "--run: every session of a server is a run of its own; omit it",
        ));
    }
    if let (Some(idle), Some(max)) = (given.idle_timeout, given.max_idle_timeout)
        && idle > max
    {
        return Err(CliError::usage(format!(
            "--idle-timeout {idle}: expected at most --max-idle-timeout, which is {max}"
        )));
    }
    let own = given.max_sessions_per_owner;
    let own = own
        .map(|own| format!(", {own} of each owner"))
        .unwrap_or_default();
    let devices = devices.as_flags();
    Ok(format!("at most {}{own}: {devices}", given.max_sessions))
}

/// The policy, with its examples.
pub(super) fn policy(given: &ServeFlags) -> Result<String, CliError> {
    crate::policy::load(&given.safety)?;
    let policy = given.safety.policy.as_ref();
    Ok(policy.map_or_else(|| "built in".to_owned(), ToString::to_string))
}

/// Whether nobody reads tokens on the way to the address.
pub(super) fn exposure(given: &ServeFlags) -> Result<String, CliError> {
    let ListenAddress::Tcp(address) = &given.listen else {
        return Ok("this user".to_owned());
    };
    let proxies: Vec<String> = given.behind_proxy.iter().map(ToString::to_string).collect();
    match (
        address.ip().is_loopback(),
        given.tls_cert.is_some(),
        proxies.is_empty(),
    ) {
        (_, _, false) => Ok(format!("clients of the proxies {}", proxies.join(", "))),
        (true, _, true) => Ok("this machine".to_owned()),
        (false, true, true) => Ok("everybody who reaches this address, over TLS".to_owned()),
        (false, false, true) => Err(CliError::usage(format!(
            "--listen {address}: others could reach this address, and tokens would cross the network \
             in the clear. Serve TLS with --tls-cert FILE --tls-key FILE, or put a reverse proxy with \
             TLS in front and name its address: --behind-proxy ADDRESS. Otherwise listen on 127.0.0.1"
        ))),
    }
}

/// What an operator should know about the address.
pub(super) fn warnings(given: &ServeFlags) -> Vec<String> {
    let ListenAddress::Tcp(address) = &given.listen else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if !given.behind_proxy.is_empty() {
        let proxies: Vec<String> = given.behind_proxy.iter().map(ToString::to_string).collect();
        warnings.push(format!(
            "only {} can connect, and the addresses of clients are what X-Forwarded-For has from there",
            proxies.join(", ")
        ));
    } else if !address.ip().is_loopback() {
        warnings.push(format!(
            "{address} is a public address: everybody who reaches it can send requests, and only the \
             tokens keep them out"
        ));
    }
    if address.ip().is_unspecified() && given.host.is_empty() {
        warnings.push(format!(
            "clients reach {address} by another name, and no request for it is served: pass --host \
             NAME:{}",
            address.port()
        ));
    }
    warnings
}

fn certificate(given: &ServeFlags) -> Result<String, CliError> {
    let file = given
        .tls_cert
        .as_ref()
        .map(|file| file.display().to_string());
    match tls(given)? {
        Some(_) => Ok(file.unwrap_or_default()),
        None => Ok("none".to_owned()),
    }
}

/// Whether the address is free. A server that runs has its own.
async fn port(given: &ServeFlags) -> Result<String, CliError> {
    match &given.listen {
        ListenAddress::Tcp(address) => {
            listen(&given.listen, &[], None).await?;
            Ok(address.to_string())
        }
        ListenAddress::Unix(path) => {
            let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
            writable(folder.unwrap_or_else(|| Path::new(".")))?;
            Ok(format!("unix:{}", path.display()))
        }
    }
}

fn tokens(given: &ServeFlags) -> Result<String, CliError> {
    let file = token_file(given.token_file.as_deref())?;
    let records = file.list().map_err(|e| CliError::message(e.to_string()))?;
    if records.is_empty() {
        return Err(CliError::message(format!(
            "{} has no tokens, so nobody can use the server; create one: telechir tokens new agent",
            file.path().display()
        )));
    }
    let count = |role: Role| records.iter().filter(|record| record.role == role).count();
    let counts = Role::ALL.map(|role| format!("{} {role}", count(role)));
    Ok(format!("{}: {}", file.path().display(), counts.join(", ")))
}

fn recordings(given: &ServeFlags) -> Result<String, CliError> {
    let (folder, shown) = match &given.safety.record {
        Some(folder) => (folder.clone(), folder.display().to_string()),
        None => (
            std::env::temp_dir(),
            "none: they end with their sessions".to_owned(),
        ),
    };
    let folder = nearest(&folder);
    writable(&folder)?;
    let room = statvfs(&folder)?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    if free < MIN_DISK_BYTES {
        return Err(CliError::message(format!(
            "{} MiB are free in {}; expected {} or more",
            free >> 20,
            folder.display(),
            MIN_DISK_BYTES >> 20
        )));
    }
    Ok(format!("{shown} ({} MiB free)", free >> 20))
}

/// The folder, or the nearest one around it that exists.
fn nearest(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let found = folder.ancestors().find(|path| path.exists());
    found.map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

fn writable(folder: &Path) -> Result<(), CliError> {
    let failed =
        |why: String| CliError::message(format!("failed to write to {}: {why}", folder.display()));
    let found = fs::metadata(folder).map_err(|e| failed(e.to_string()))?;
    if !found.is_dir() {
        return Err(failed("it is not a folder".to_owned()));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|e| failed(e.to_string()))
}
