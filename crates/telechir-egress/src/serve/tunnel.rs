//! Bytes both ways. Of a tunnel's first ones the name is read with which TLS begins.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use telechir_policy::Remote;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};

use super::Door;
use crate::client_hello::{self, Said};
use crate::connect;
use crate::egress::Inner;
use crate::metered::Metered;

/// What is read at once before a tunnel's name is known.
const PIECE: usize = 4096;

/// Carries a tunnel to its end.
pub(super) async fn run(
    inner: &Arc<Inner>,
    remote: &Remote,
    mut program: impl AsyncRead + AsyncWrite + Unpin,
    mut network: Metered,
) {
    let ended = match begin(&mut program, &mut network).await {
        Ok((Some(name), _)) if !is_of(remote, &name) => {
            connect::misnamed(inner, remote, &name);
            return;
        }
        Ok((_, first)) => match network.write_all(&first).await {
            Ok(()) => copy_bidirectional(&mut program, &mut network).await,
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a tunnel ended");
    }
}

/// Whether TLS with this name belongs to a tunnel to this place.
fn is_of(remote: &Remote, name: &str) -> bool {
    let host = remote.host();
    let literal = remote.literal();
    name == host || (literal.is_some() && name.parse::<IpAddr>().ok() == literal)
}

/// Waits until it is known with which name TLS begins, if it is TLS, and gives that and what came
/// from the program so far, of which nothing was passed on. The other side may speak first, as in
/// other protocols, and is heard.
async fn begin(
    program: &mut (impl AsyncRead + AsyncWrite + Unpin),
    network: &mut Metered,
) -> io::Result<(Option<String>, Vec<u8>)> {
    let mut first = Vec::with_capacity(PIECE);
    let mut answer = [0; PIECE];
    loop {
        // Both can be dropped: bytes are taken only when they are told.
        tokio::select! {
            count = program.read_buf(&mut first) => match (count?, client_hello::read(&first)) {
                (1.., Said::More) => {}
                (_, Said::Name(name)) => return Ok((Some(name), first)),
                (_, Said::More | Said::Nothing) => return Ok((None, first)),
            },
            count = network.read(&mut answer) => match count? {
                0 => return Ok((None, first)),
                count => program.write_all(&answer[..count]).await?,
            },
        }
    }
}

/// Joins both ends of what is no HTTP any more.
pub(super) async fn join(door: Door, program: OnUpgrade, network: OnUpgrade) {
    // The place among all connections is held until the end.
    let _door = door;
    let joined = async {
        let (program, network) = tokio::try_join!(program, network).map_err(io::Error::other)?;
        let (mut program, mut network) = (TokioIo::new(program), TokioIo::new(network));
        copy_bidirectional(&mut program, &mut network).await
    };
    if let Err(error) = joined.await {
        tracing::debug!(%error, "a connection of another protocol ended");
    }
}
