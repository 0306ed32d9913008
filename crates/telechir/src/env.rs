//! Reads the process environment; no other module does.
#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one reader of the environment"
)]

use std::env;
use std::path::PathBuf;

use telechir_browser::Profiles;
use telechir_process::is_root;
use tracing_subscriber::EnvFilter;

use crate::error::CliError;
use crate::service::{REGION, Service, key_names};

/// Credentials and endpoint of a provider. Not printable, so that no log contains the key.
pub(crate) struct ApiAccess {
    /// The API key.
    pub(crate) key: String,
    /// The URL before the request path.
    pub(crate) base_url: String,
}

/// Logs to stderr: warnings by default, more with `-v`, or as `TELECHIR_LOG` sets.
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

/// Key and endpoint of a service; `base_url` overrides the environment.
pub(crate) fn access(service: &Service, base_url: Option<String>) -> Result<ApiAccess, String> {
    let key = key(service)?;
    let given = base_url.or_else(|| first(service.addresses));
    let base_url = given.map_or_else(|| address(service), Ok)?;
    Ok(ApiAccess { key, base_url })
}

/// The API key of a service.
pub(crate) fn key(service: &Service) -> Result<String, String> {
    let name = service.name;
    first(service.keys).ok_or_else(|| {
        let keys = service.keys.join(" or ");
        format!("no API key for {name}: set {keys}{}", service.hint)
    })
}

/// The service's default endpoint.
fn address(service: &Service) -> Result<String, String> {
    let name = service.name;
    let Some(host) = service.host else {
        let addresses = service.addresses.join(" or ");
        return Err(format!(
            "no endpoint for {name}: pass --base-url or set {addresses}"
        ));
    };
    if !host.contains(REGION) {
        return Ok(host.to_owned());
    }
    let regions = ["AWS_REGION", "AWS_DEFAULT_REGION"];
    let region = first(&regions).ok_or_else(|| {
        format!(
            "no region for {name}: set {}, or pass --base-url",
            regions[0]
        )
    })?;
    let is_region = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !region.chars().all(is_region) {
        return Err(format!(
            "invalid region `{region}` in {}: expected letters, digits and hyphens",
            regions[0]
        ));
    }
    Ok(host.replace(REGION, &region))
}

/// The first of these variables with a non-empty value.
fn first(names: &[&str]) -> Option<String> {
    let values = names.iter().filter_map(|name| env::var(name).ok());
    values.into_iter().find(|value| !value.is_empty())
}

/// Whether text output may be coloured, see <https://no-color.org>.
pub(crate) fn colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The cookie file of the user's display.
pub(crate) fn xauthority() -> Option<PathBuf> {
    let named = env::var_os("XAUTHORITY").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".Xauthority")))
}

/// The name of the user's display.
pub(crate) fn display() -> Option<String> {
    first(&["DISPLAY"])
}

/// The address of the logged-in user's session bus.
pub(crate) fn session_bus() -> Option<String> {
    env::var("DBUS_SESSION_BUS_ADDRESS").ok()
}

/// The home folder in the environment.
pub(crate) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from)
}

/// The system's runtime folder of the logged-in user.
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    named.filter(|path| path.is_absolute())
}

/// The store of persistent browser profiles.
pub(crate) fn profiles() -> Result<Profiles, CliError> {
    let data = data_folder()
        .ok_or_else(|| CliError::message("no folder for profiles: set HOME or XDG_DATA_HOME"))?;
    Ok(Profiles::in_folder(data.join("profiles")))
}

/// The folder of persistent data. Users that root's browsers run as cannot enter root's home, so
/// root uses a system folder.
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

/// This process's environment for a shell on the host, without API keys.
pub(crate) fn environment() -> Vec<(String, String)> {
    let is_key = |name: &str| name.ends_with("_API_KEY") || key_names().any(|key| key == name);
    let texts = env::vars_os().filter_map(|(name, value)| {
        // Variables that are not UTF-8 are dropped.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    });
    texts.filter(|(name, _)| !is_key(name)).collect()
}
