//! Serves a sandbox: the proxy listens on the sandbox's own loopback interface.

use std::io;

use telechir_process::confinement::listen_inside;
use telechir_process::{Identity, Pid};
use tokio::net::TcpListener;

use crate::{Admission, Egress, Serving};

/// Port of the proxy in each sandbox's network namespace, where no other program uses it yet.
const PORT: u16 = 3128;

/// Proxy variables that curl, git, pip, npm, cargo, Go, Python, Node and wget read. The sandbox's
/// own loopback is reached without the proxy.
const VARIABLES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "WS_PROXY",
    "WSS_PROXY",
    "FTP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
];
const NO_PROXY_HOSTS: &str = "localhost,127.0.0.1,::1,.localhost";

impl Egress {
    /// The URL of the proxy in each served sandbox.
    pub fn proxy_inside() -> String {
        format!("http://127.0.0.1:{PORT}")
    }

    /// Environment variables for programs of a served sandbox.
    pub fn environment() -> Vec<(String, String)> {
        let proxy = Self::proxy_inside();
        let mut variables = Vec::new();
        for name in VARIABLES {
            let lower = name.to_ascii_lowercase();
            if lower != name {
                variables.push((lower, proxy.clone()));
            }
            variables.push((name.to_owned(), proxy.clone()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.push((name.to_owned(), NO_PROXY_HOSTS.to_owned()));
        }
        // Node ignores the other variables without this one.
        variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        variables
    }

    /// Serves the sandbox with this first process, which runs as `identity`, until the returned
    /// handle is dropped. Programs outside cannot connect to this listener.
    ///
    /// # Errors
    /// If the sandbox has ended, or its namespaces cannot be entered.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn serve_inside(&self, first: Pid, identity: Option<Identity>) -> io::Result<Serving> {
        let listener = TcpListener::from_std(listen_inside(first, identity, PORT)?)?;
        Ok(self.serve(listener, Admission::Everyone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some programs read one spelling, some the other.
    #[test]
    fn each_variable_is_there_once_in_both_spellings() {
        let variables = Egress::environment();
        let value = |name: &str| {
            let mut found = variables.iter().filter(|(other, _)| other == name);
            let value = found.next().map(|(_, value)| value.as_str());
            assert!(found.next().is_none(), "{name} is there twice");
            value
        };
        let proxy = Some("http://127.0.0.1:3128");
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
        ] {
            assert_eq!(value(name), proxy, "{name}");
        }
        assert_eq!(value("npm_config_proxy"), proxy);
        assert_eq!(value("NO_PROXY"), value("no_proxy"));
        assert_eq!(value("NODE_USE_ENV_PROXY"), Some("1"));
    }
}
