//! The proxy as programs of a confinement find it: at a loopback that only they have.

use std::io;

use telechir_process::confinement::listen_inside;
use telechir_process::{Identity, Pid};
use tokio::net::TcpListener;

use crate::{Admission, Egress, Serving};

/// Where it is, in each confinement's own network. Nothing else is there when it begins.
const PORT: u16 = 3128;

/// Variables that tell programs of the proxy: what curl, git, pip, npm, cargo, Go, Python, Node
/// and wget read. What is at a confinement's own loopback is reached without it.
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
const OWN: &str = "localhost,127.0.0.1,::1,.localhost";

impl Egress {
    /// Variables for programs of a confinement that is served.
    pub fn environment() -> Vec<(String, String)> {
        let proxy = format!("http://127.0.0.1:{PORT}");
        let mut variables = Vec::new();
        for name in VARIABLES {
            let lower = name.to_ascii_lowercase();
            if lower != name {
                variables.push((lower, proxy.clone()));
            }
            variables.push((name.to_owned(), proxy.clone()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            variables.push((name.to_owned(), OWN.to_owned()));
        }
        // Node reads the others only then.
        variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        variables
    }

    /// Serves the confinement with this first process, which runs as `identity`, until what it
    /// returns is dropped. Nobody outside of it can come to this listener.
    ///
    /// # Errors
    /// When the confinement has ended, or the system lets nobody in.
    ///
    /// # Panics
    /// Outside a runtime.
    pub fn serve_inside(&self, first: Pid, identity: Option<Identity>) -> io::Result<Serving> {
        let listener = TcpListener::from_std(listen_inside(first, identity, PORT)?)?;
        Ok(self.serve(listener, Admission::Everyone))
    }
}
