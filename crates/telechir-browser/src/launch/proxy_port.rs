//! A loopback port of the egress proxy for one browser.

use std::io;

use telechir_egress::{Admission, Serving};
use telechir_process::Identity;
use tokio::net::TcpListener;

use crate::options::Options;

/// The proxy of a browser; its port is open until this is dropped.
#[derive(Debug)]
pub(crate) struct ProxyPort {
    pub(super) proxy: Option<String>,
    _serving: Option<Serving>,
}

impl ProxyPort {
    /// Opens a port of the egress proxy, if the session has one. It serves the browser's user only:
    /// the session's user runs no other programs, and whoever can run programs as that user needs
    /// no proxy.
    pub(super) async fn open(options: &Options) -> io::Result<Self> {
        let Some(egress) = &options.egress else {
            return Ok(Self {
                proxy: options.proxy.clone(),
                _serving: None,
            });
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = format!("http://{}", listener.local_addr()?);
        let user = options.identity.unwrap_or_else(Identity::current).uid;
        Ok(Self {
            proxy: Some(proxy),
            _serving: Some(egress.serve(listener, Admission::User(user))),
        })
    }
}
