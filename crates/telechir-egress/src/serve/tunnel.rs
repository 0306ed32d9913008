//! Copies bytes in both directions, after checking the SNI at the start of a tunnel.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use telechir_policy::Remote;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};

use super::ProxyConnection;
use crate::client_hello::{self, Sni};
use crate::connect;
use crate::egress::EgressShared;
use crate::metered::Metered;

/// Size of reads until the SNI is known, in bytes.
const CHUNK_BYTES: usize = 4096;

/// Runs a tunnel until it ends.
pub(super) async fn run(
    inner: &Arc<EgressShared>,
    remote: &Remote,
    mut program: impl AsyncRead + AsyncWrite + Unpin,
    mut network: Metered,
) {
    let ended = match read_sni(&mut program, &mut network).await {
        Ok((Some(name), _)) if !sni_matches(remote, &name) => {
            connect::report_sni_mismatch(inner, remote, &name);
            return;
        }
        Ok((_, first)) => match network.write_all(&first).await {
            Ok(()) => copy_bidirectional(&mut program, &mut network).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a tunnel failed");
    }
}

/// Whether an SNI matches the tunnel's host.
fn sni_matches(remote: &Remote, name: &str) -> bool {
    let host = remote.host();
    let literal = remote.literal();
    name == host || (literal.is_some() && name.parse::<IpAddr>().ok() == literal)
}

/// Reads until the SNI is known or absent; returns it with the bytes of the program read so far, of
/// which none was forwarded. Bytes of the host are forwarded in the meantime, because in other
/// protocols the host may send first.
async fn read_sni(
    program: &mut (impl AsyncRead + AsyncWrite + Unpin),
    network: &mut Metered,
) -> io::Result<(Option<String>, Vec<u8>)> {
    let mut first = Vec::with_capacity(CHUNK_BYTES);
    let mut reply = [0; CHUNK_BYTES];
    loop {
        // Both arms are cancel safe: bytes are consumed only when the read completes.
        tokio::select! {
            count = program.read_buf(&mut first) => match (count?, client_hello::read(&first)) {
                (1.., Sni::Incomplete) => {}
                (_, Sni::Name(name)) => return Ok((Some(name), first)),
                (_, Sni::Incomplete | Sni::Absent) => return Ok((None, first)),
            },
            count = network.read(&mut reply) => match count? {
                0 => return Ok((None, first)),
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
