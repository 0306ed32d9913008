//! What comes from the environment, read once.
#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one reader of the environment"
)]

use std::env;
use std::path::PathBuf;

use telechir_browser::Profiles;
use telechir_process::is_root;
use tracing_subscriber::EnvFilter;

use crate::error::Failure;
use crate::service::{REGION, Service, key_names};

/// A provider's key and address. Not printable: the key is in no log.
pub(crate) struct Access {
    /// The key.
    pub(crate) key: String,
    /// The address before the path.
    pub(crate) base_url: String,
}

/// Logs to standard error: warnings, or more with `-v`, or what `TELECHIR_LOG` says.
pub(crate) fn start_logging(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info,hyper=warn",
        _ => "debug,hyper=info",
    };
    let filter = env::var("TELECHIR_LOG").ok().filter(|_| verbose == 0);
    let filter = EnvFilter::new(filter.as_deref().unwrap_or(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        .init();
}

/// Key and address of a service; `base_url` wins over the environment.
pub(crate) fn access(service: &Service, base_url: Option<String>) -> Result<Access, String> {
    let key = key(service)?;
    let given = base_url.or_else(|| first(service.addresses));
    let base_url = given.map_or_else(|| address(service), Ok)?;
    Ok(Access { key, base_url })
}

/// The key of a service.
pub(crate) fn key(service: &Service) -> Result<String, String> {
    let name = service.name;
    first(service.keys).ok_or_else(|| {
        let keys = service.keys.join(" or ");
        format!("no key for {name}: set {keys}{}", service.hint)
    })
}

/// The service's own address.
fn address(service: &Service) -> Result<String, String> {
    let name = service.name;
    let Some(host) = service.host else {
        let addresses = service.addresses.join(" or ");
        return Err(format!(
            "no address for {name}: give --base-url or set {addresses}"
        ));
    };
    if !host.contains(REGION) {
        return Ok(host.to_owned());
    }
    let regions = ["AWS_REGION", "AWS_DEFAULT_REGION"];
    let region = first(&regions).ok_or_else(|| {
        format!(
            "no region for {name}: set {}, or give --base-url",
            regions[0]
        )
    })?;
    let is_region = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !region.chars().all(is_region) {
        return Err(format!("{} is `{region}`, which is no region", regions[0]));
    }
    Ok(host.replace(REGION, &region))
}

/// The first of these variables that is set to something.
fn first(names: &[&str]) -> Option<String> {
    let values = names.iter().filter_map(|name| env::var(name).ok());
    values.into_iter().find(|value| !value.is_empty())
}

/// Whether text for people may be coloured: <https://no-color.org> is heeded.
pub(crate) fn colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The cookie file of the display that the user is at.
pub(crate) fn xauthority() -> Option<PathBuf> {
    let named = env::var_os("XAUTHORITY").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".Xauthority")))
}

/// The display that the user is at.
pub(crate) fn display() -> Option<String> {
    first(&["DISPLAY"])
}

/// The address of the session bus of the user who is logged in.
pub(crate) fn session_bus() -> Option<String> {
    env::var("DBUS_SESSION_BUS_ADDRESS").ok()
}

/// The folder for sockets and the like that the system gives a user who is logged in.
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    named.filter(|path| path.is_absolute())
}

/// Profiles of browsers, which last.
pub(crate) fn profiles() -> Result<Profiles, Failure> {
    let data = data_folder().ok_or_else(|| {
        Failure::message("there is no place for profiles: set HOME or XDG_DATA_HOME to a folder")
    })?;
    Ok(Profiles::in_folder(data.join("profiles")))
}

/// The folder for what lasts beyond a session. Root's home is closed to the users that browsers of
/// root run as, so root has a folder of the system's.
fn data_folder() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let usual = || {
        if is_root() {
            Some(PathBuf::from("/var/lib"))
        } else {
            absolute("HOME").map(|home| home.join(".local/share"))
        }
    };
    absolute("XDG_DATA_HOME")
        .or_else(usual)
        .map(|data| data.join("telechir"))
}

/// Our own environment, for a shell on the host; keys of providers stay here.
pub(crate) fn environment() -> Vec<(String, String)> {
    let is_key = |name: &str| name.ends_with("_API_KEY") || key_names().any(|key| key == name);
    let texts = env::vars_os().filter_map(|(name, value)| {
        // What is no text is no use to a shell either.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    });
    texts.filter(|(name, _)| !is_key(name)).collect()
}
