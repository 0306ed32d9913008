//! Copies bytes in both directions, after checking which server the first bytes of a tunnel name.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use telechir_policy::{NetworkClient, Remote};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};

use super::ProxyConnection;
use crate::connect::{self, Connected};
use crate::egress::EgressShared;
use crate::greeting::{self, Greeting};
use crate::metered::Metered;

/// Size of reads until the server's name is known, in bytes.
const CHUNK_BYTES: usize = 4096;

/// Runs a tunnel until it ends.
pub(super) async fn run(
    inner: &Arc<EgressShared>,
    remote: &Remote,
    mut program: impl AsyncRead + AsyncWrite + Unpin,
    connected: Connected,
) {
    let Connected {
        mut network,
        allows_any_tunnel,
    } = connected;
    let ended = match read_greeting(&mut program, &mut network).await {
        Ok((greeting, first)) => {
            let refused = (!first.is_empty())
                .then(|| refusal(inner.client, remote, &greeting, allows_any_tunnel));
            if let Some(reason) = refused.flatten() {
                connect::report_tunnel(inner, remote, reason);
                return;
            }
            match network.write_all(&first).await {
                Ok(()) => copy_bidirectional(&mut program, &mut network).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a tunnel failed");
    }
}

/// Why a tunnel must not carry what begins so; `None` if it may.
fn refusal(
    client: NetworkClient,
    remote: &Remote,
    greeting: &Greeting,
    allows_any_tunnel: bool,
) -> Option<String> {
    const FIX: &str = "A rule with tunnel = \"any\" allows it.";
    let is_named = remote.literal().is_none();
    match greeting {
        Greeting::Named { host, .. } if !is_same_host(remote, host) => Some(format!(
            "The server named in the tunnel differs from the CONNECT host: {host:?}."
        )),
        // Chromium resolves no names here, so it never has the keys to hide one; its headless shell
        // cannot be told to leave out the decoy.
        Greeting::Named { may_hide_name, .. }
            if *may_hide_name && client != NetworkClient::Browser && !allows_any_tunnel =>
        {
            Some(format!(
                "The tunnel's TLS greeting may have a second, encrypted server name (ECH). {FIX}"
            ))
        }
        Greeting::Named { .. } => None,
        // An address has no name to compare.
        Greeting::Unnamed(_) | Greeting::Incomplete if allows_any_tunnel || !is_named => None,
        Greeting::Unnamed(why) => Some(format!(
            "The server of the tunnel cannot be compared with the CONNECT host: {why}. {FIX}"
        )),
        Greeting::Incomplete => Some(format!(
            "The server of the tunnel cannot be compared with the CONNECT host: its first message is \
             incomplete. {FIX}"
        )),
    }
}

/// Whether a name in a greeting is the tunnel's host.
fn is_same_host(remote: &Remote, name: &str) -> bool {
    let host = remote.host();
    let literal = remote.literal();
    name == host || (literal.is_some() && name.parse::<IpAddr>().ok() == literal)
}

/// Reads until the server's name is known, or that there is none; returns it with the bytes of the
/// program read so far, of which none was forwarded. Bytes of the host are forwarded in the
/// meantime, because in other protocols the host may send first.
async fn read_greeting(
    program: &mut (impl AsyncRead + AsyncWrite + Unpin),
    network: &mut Metered,
) -> io::Result<(Greeting, Vec<u8>)> {
    let mut first = Vec::with_capacity(CHUNK_BYTES);
    let mut reply = [0; CHUNK_BYTES];
    let mut host_may_send = true;
    loop {
        // Both arms are cancel safe: bytes are consumed only when the read completes.
        tokio::select! {
            count = program.read_buf(&mut first) => match (count?, greeting::read(&first)) {
                (1.., Greeting::Incomplete) => {}
                (_, greeting) => return Ok((greeting, first)),
            },
            count = network.read(&mut reply), if host_may_send => match count? {
                // The host may still receive.
                0 => {
                    host_may_send = false;
                    program.shutdown().await?;
                }
                count => program.write_all(&reply[..count]).await?,
            },
        }
    }
}

/// Copies bytes of an upgraded connection, which is no longer HTTP.
pub(super) async fn join_upgraded(conn: ProxyConnection, program: OnUpgrade, network: OnUpgrade) {
    // Counts against the connection limit until the end.
    let _conn = conn;
    let joined = async {
        let (program, network) = tokio::try_join!(program, network).map_err(io::Error::other)?;
        let (mut program, mut network) = (TokioIo::new(program), TokioIo::new(network));
        copy_bidirectional(&mut program, &mut network).await
    };
    if let Err(error) = joined.await {
        tracing::debug!(%error, "an upgraded connection failed");
    }
}
