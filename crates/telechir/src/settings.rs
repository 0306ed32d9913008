//! What comes from the environment, read once.
#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one reader of the environment"
)]

use std::env;
use std::path::PathBuf;

use tracing_subscriber::EnvFilter;

/// A provider's key and address. Not printable: the key is in no log.
pub(crate) struct Access {
    /// The key.
    pub(crate) key: String,
    /// The address before the path; absent means the provider's own.
    pub(crate) base_url: Option<String>,
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

/// Key and address of `provider` (`anthropic` or `openai`); `base_url` wins over the environment.
pub(crate) fn access(provider: &str, base_url: Option<String>) -> Result<Access, String> {
    let (key, address) = match provider {
        "anthropic" => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        _ => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    };
    let Some(secret) = env::var(key).ok().filter(|secret| !secret.is_empty()) else {
        return Err(format!("no key for {provider}: set {key}"));
    };
    let base_url = base_url.or_else(|| env::var(address).ok().filter(|url| !url.is_empty()));
    Ok(Access {
        key: secret,
        base_url,
    })
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

/// The folder for sockets and the like that the system gives a user who is logged in.
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    let named = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    named.filter(|path| path.is_absolute())
}

/// Our own environment, for a shell on the host; keys of providers stay here.
pub(crate) fn environment() -> Vec<(String, String)> {
    let is_key = |name: &str| name.ends_with("_API_KEY");
    let texts = env::vars_os().filter_map(|(name, value)| {
        // What is no text is no use to a shell either.
        Some((name.into_string().ok()?, value.into_string().ok()?))
    });
    texts.filter(|(name, _)| !is_key(name)).collect()
}
