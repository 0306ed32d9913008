//! Reads the process environment; no other module does.
#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one reader of the environment"
)]

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use telechir_browser::Profiles;
use telechir_process::is_root;
use tracing_subscriber::EnvFilter;

use crate::error::CliError;
use crate::log::{self, LogFormat};
use crate::service::{REGION, Service};

/// Overrides which log messages are printed.
const LOG: &str = "TELECHIR_LOG";

/// Credentials and endpoint of a provider. Not printable, so that no log contains the key.
pub(crate) struct ApiAccess {
    /// The API key.
    pub(crate) key: String,
    /// The URL before the request path.
    pub(crate) base_url: String,
    /// The flag or the variable that sets the URL.
    pub(crate) from: &'static str,
}

/// Logs to stderr: warnings by default, more with `-v`, or as `TELECHIR_LOG` sets.
pub(crate) fn start_logging(verbose: u8, format: LogFormat) {
    let default = match verbose {
        0 => "warn",
        1 => "info,hyper=warn",
        _ => "debug,hyper=info",
    };
    let filter = env::var(LOG).ok().filter(|_| verbose == 0);
    let filter = EnvFilter::new(filter.as_deref().unwrap_or(default));
    log::start(filter, format);
}

/// Key and endpoint of a service; `base_url` overrides the environment.
pub(crate) fn access(service: &Service, base_url: Option<String>) -> Result<ApiAccess, String> {
    let key = key(service)?;
    let given = base_url.map(|url| (url, "--base-url"));
    let set = || {
        let names = service.addresses.iter();
        names
            .filter_map(|name| Some((variable(name)?, *name)))
            .next()
    };
    let (base_url, from) = match given.or_else(set) {
        Some(given) => given,
        None => (address(service)?, "the default endpoint"),
    };
    Ok(ApiAccess {
        key,
        base_url,
        from,
    })
}

/// The API key of a service.
pub(crate) fn key(service: &Service) -> Result<String, String> {
    let name = service.name;
    let set: Vec<_> = service
        .keys
        .iter()
        .filter_map(|name| Some((name, variable(name)?)))
        .collect();
    if let [(one, key), (other, another)] = set.as_slice()
        && !service.has_fallback_key
        && key != another
    {
        return Err(format!(
            "two API keys for {name}: {one} and {other} are set to different values; unset one of them"
        ));
    }
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

/// The value of a variable that a flag names; none if it is unset or empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    first(&[name])
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

/// The file of the user's answers for all sessions. No workspace lets a model write to `.telechir`.
pub(crate) fn choice_file() -> Option<PathBuf> {
    let home = home().filter(|home| home.is_absolute())?;
    Some(home.join(".telechir/choices.json"))
}

/// The folder of the user's configuration files.
pub(crate) fn config_folder() -> Option<PathBuf> {
    named_folder("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))
}

/// An absolute folder that a variable names.
pub(crate) fn named_folder(variable: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).map(PathBuf::from);
    named.filter(|path| path.is_absolute())
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

/// The file of the user's tokens of the HTTP API.
pub(crate) fn token_file() -> Option<PathBuf> {
    let state = named_folder("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")));
    Some(state?.join("telechir/tokens.json"))
}

/// The folder in which rented browsers are recorded.
pub(crate) fn rented_folder() -> Option<PathBuf> {
    let state = named_folder("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")));
    let state = state.filter(|folder| folder.is_absolute())?;
    Some(state.join("telechir/rented"))
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

/// Variables that programs on the host need: who, where, how texts and tools are set up. All others
/// are left out, because any of them can hold a secret.
const HOST_VARIABLES: [&str; 52] = [
    "AT_SPI_BUS_ADDRESS",
    "CARGO_HOME",
    "COLORTERM",
    "COLUMNS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "EDITOR",
    "GOPATH",
    "GOROOT",
    "GTK_IM_MODULE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "NO_COLOR",
    "NO_PROXY",
    "NVM_DIR",
    "PAGER",
    "PATH",
    "PYENV_ROOT",
    "QT_ACCESSIBILITY",
    "QT_IM_MODULE",
    "QT_QPA_PLATFORMTHEME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VISUAL",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_DESKTOP",
    "XDG_SESSION_TYPE",
    "XDG_STATE_HOME",
    "XMODIFIERS",
];

/// Variables by which the client program of a container engine finds its engine.
const ENGINE_VARIABLES: [&str; 9] = [
    "CONTAINERS_CONF",
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "DOCKER_API_VERSION",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "DOCKER_TLS_VERIFY",
];

/// Environment of programs outside a sandbox, a shell on the host or applications on an existing
/// display: the usual variables, and those that `also` names.
pub(crate) fn outside_sandbox(also: &[String]) -> Vec<(String, String)> {
    let (known, left_out): (Vec<_>, Vec<_>) =
        variables().partition(|(name, value)| also.contains(name) || is_harmless(name, value, &[]));
    let mut names: Vec<String> = left_out.into_iter().map(|(name, _)| name).collect();
    if !names.is_empty() {
        names.sort();
        tracing::info!(
            names = %names.join(" "),
            "programs on this machine do not get these variables; --shell-env=NAME passes one to the shell"
        );
    }
    known
}

/// Environment of a session host: what it and the programs that it starts need.
pub(crate) fn session_host(also: &[String]) -> Vec<(String, String)> {
    let is_needed = |(name, value): &(String, String)| {
        also.contains(name) || name == LOG || is_harmless(name, value, &ENGINE_VARIABLES)
    };
    variables().filter(is_needed).collect()
}

/// Environment of a container engine's client program.
pub(crate) fn container_engine() -> Vec<(String, String)> {
    let known = |(name, value): &(String, String)| is_harmless(name, value, &ENGINE_VARIABLES);
    variables().filter(known).collect()
}

/// Our variables; those that are not UTF-8 are dropped.
fn variables() -> impl Iterator<Item = (String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text)
}

/// Whether a variable is a known one, and its value no URL with a password.
fn is_harmless(name: &str, value: &str, also: &[&str]) -> bool {
    let upper_case = name.to_ascii_uppercase();
    // Proxies have names in lower case, too.
    let is_proxy = upper_case.ends_with("_PROXY") && HOST_VARIABLES.contains(&&*upper_case);
    let is_known = HOST_VARIABLES.contains(&name)
        || also.contains(&name)
        || name.starts_with("LC_")
        || is_proxy;
    // The address of a proxy may have no scheme.
    is_known && !has_credentials(value) && !(is_proxy && value.contains('@'))
}

/// Whether a value contains a URL with a user or a password, which may contain any character but
/// white space.
fn has_credentials(value: &str) -> bool {
    let mut urls = value.split("://").skip(1);
    urls.any(|rest| {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest[..end].contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_variables_reach_a_shell_on_the_host() {
        for (name, value) in [
            ("GITHUB_TOKEN", "ghp_1"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("DB_PASSWORD", "x"),
            ("OPENAI_API_KEY", "x"),
            ("DATABASE_URL", "postgres://u:p@h/d"),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("LD_PRELOAD", "/tmp/x.so"),
            ("BASH_ENV", "/tmp/x"),
            ("path", "/bin"),
            ("DOCKER_AUTH_CONFIG", "{}"),
        ] {
            assert!(!is_harmless(name, value, &[]), "{name}");
        }
        for (name, value) in [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("http_proxy", "http://p:1"),
        ] {
            assert!(is_harmless(name, value, &[]), "{name}");
        }
        assert!(!is_harmless("DOCKER_HOST", "unix:///run/x", &[]));
        assert!(is_harmless(
            "DOCKER_HOST",
            "unix:///run/x",
            &ENGINE_VARIABLES
        ));
    }

    #[test]
    fn a_known_variable_with_a_password_is_left_out() {
        for value in [
            "http://user:secret@proxy:3128",
            "socks5h://user@proxy",
            "a http://b c=https://token@host/path",
            "user:secret@proxy:3128",
            "http://user:sec/ret@proxy:3128",
            "http://user:sec#ret@proxy:3128",
        ] {
            assert!(!is_harmless("HTTPS_PROXY", value, &[]), "{value}");
        }
        assert!(!is_harmless("PAGER", "view https://me:secret@host", &[]));
        assert!(is_harmless("HTTPS_PROXY", "http://proxy:3128", &[]));
        assert!(is_harmless("EDITOR", "edit me@host", &[]));
    }
}
