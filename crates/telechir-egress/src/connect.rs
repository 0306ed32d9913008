//! From what a program asks for to a connection with an address that was judged.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use telechir_policy::{Found, Remote, RuleReason, Verdict};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::decision::{Decision, PROXY};
use crate::egress::Inner;
use crate::metered::Metered;
use crate::refusal::Refusal;

/// Connects with a place, if the policy lets it.
pub(crate) async fn connect(inner: &Arc<Inner>, remote: &Remote) -> Result<Metered, Refusal> {
    let (found, ground) = match judged(inner, remote).await {
        Ok(judged) => judged,
        Err(refusal) => {
            inner.tell(refused(inner, remote, &refusal));
            return Err(refusal);
        }
    };
    let decision = Decision::passed(inner.client, remote, ground);
    match dial(inner, remote, &found).await {
        Ok((stream, address)) => {
            let address = Some(address);
            inner.tell(Decision {
                address,
                ..decision
            });
            let (budget, idle) = (Arc::clone(&inner.budget), inner.limits.idle);
            Ok(Metered::new(stream, budget, idle))
        }
        Err(source) => {
            inner.tell(decision);
            let host = remote.host();
            Err(Refusal::Unreachable { host, source })
        }
    }
}

/// All addresses of a place, when every one of them may be reached.
async fn judged(inner: &Inner, remote: &Remote) -> Result<(Vec<Found>, RuleReason), Refusal> {
    let host = remote.host();
    if inner.budget.is_spent() {
        return Err(Refusal::UsedUp(inner.budget.most));
    }
    // Before it is looked up: a name is a message to whoever is asked for it.
    let before = inner.gate().before(remote);
    if let Some(ground) = before {
        return Err(Refusal::Policy { host, ground });
    }
    let found = find(inner, remote).await?;
    let ground = inner.gate().judge(remote, &found, inner.began.elapsed());
    match ground.verdict {
        Verdict::Allow | Verdict::Sandbox => Ok((found, ground)),
        Verdict::Ask if found.is_empty() => Ok((found, ground)),
        Verdict::Ask if inner.is_granted(remote) => Ok((found, ground)),
        Verdict::Ask => Err(Refusal::Unasked { host, ground }),
        Verdict::Deny => Err(Refusal::Policy { host, ground }),
    }
}

async fn find(inner: &Inner, remote: &Remote) -> Result<Vec<Found>, Refusal> {
    let addresses = match remote.literal() {
        Some(address) => vec![address],
        None => resolve(inner, &remote.host()).await?,
    };
    let found = addresses.into_iter().map(|address| Found {
        address,
        is_this_machine: is_this_machine(address),
    });
    Ok(found.collect())
}

async fn resolve(inner: &Inner, host: &str) -> Result<Vec<IpAddr>, Refusal> {
    let unresolved = |why: String| Refusal::Unresolved {
        host: host.to_owned(),
        why,
    };
    match timeout(inner.limits.resolve, inner.resolver.resolve(host)).await {
        Ok(Ok(addresses)) if addresses.is_empty() => Err(unresolved("it has none".to_owned())),
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(unresolved(error.to_string())),
        Err(_) => Err(unresolved("nobody answered in time".to_owned())),
    }
}

/// Whether the system would go from this address to itself. Asks the table of routes: connecting a
/// socket for datagrams sends nothing.
fn is_this_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let any: SocketAddr = match address {
        IpAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        IpAddr::V6(_) => ([0; 16], 0).into(),
    };
    let from = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind(any)?;
        socket.connect((address, 9))?;
        Ok(socket.local_addr()?.ip())
    };
    from().is_ok_and(|from| from == address)
}

/// Connects with the first address that answers: with one of these, and with no other.
async fn dial(inner: &Inner, remote: &Remote, found: &[Found]) -> io::Result<(TcpStream, IpAddr)> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for found in found {
        let Found { address, .. } = found;
        let socket = SocketAddr::new(*address, remote.port());
        match timeout(inner.limits.connect, reach(inner, found, socket)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok((stream, *address));
            }
            Ok(Err(error)) => failed = error,
            Err(_) => failed = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failed)
}

/// Connects with an address, through the proxy behind this one where there is one: but what is of
/// this machine is not to be found from there.
async fn reach(inner: &Inner, found: &Found, socket: SocketAddr) -> io::Result<TcpStream> {
    let is_here = found.is_this_machine || found.address.to_canonical().is_loopback();
    match &inner.upstream {
        Some(upstream) if !is_here => upstream.connect(socket).await,
        _ => TcpStream::connect(socket).await,
    }
}

/// The decision behind a refusal.
fn refused(inner: &Inner, remote: &Remote, refusal: &Refusal) -> Decision {
    let (rule, reason) = match refusal.ground() {
        Some(ground) => (ground.rule.as_str(), ground.reason.clone()),
        None => (PROXY, refusal.to_string()),
    };
    Decision::refused(inner.client, remote, rule, reason)
}

/// A tunnel that says one host and means another.
pub(crate) fn misnamed(inner: &Inner, remote: &Remote, name: &str) {
    let reason = format!("TLS inside of the tunnel begins with another name: {name:?}.");
    inner.tell(Decision::refused(inner.client, remote, PROXY, reason));
}

/// A request that names no place.
pub(crate) fn unreadable(inner: &Inner, place: &str, why: &Refusal) {
    inner.tell(Decision::unreadable(inner.client, place, why.to_string()));
}
