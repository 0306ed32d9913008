//! The session's proxy at a port of this machine, for one browser and nobody else.

use std::io;

use telechir_egress::{Admission, Serving};
use telechir_process::Identity;
use tokio::net::TcpListener;

use crate::options::Options;

/// Where a browser's traffic goes, as long as this is held.
#[derive(Debug)]
pub(crate) struct WayOut {
    pub(super) proxy: Option<String>,
    _serving: Option<Serving>,
}

impl WayOut {
    /// Opens the session's own, if there is one. It serves the browser's user alone: a session's
    /// user has no other programs, and who else can run programs as that user needs no proxy.
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
