//! Resolves, judges and connects to the target of a request.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use telechir_policy::{Remote, ResolvedAddress, RuleReason, Verdict};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::decision::{ConnectionDecision, PROXY};
use crate::egress::EgressShared;
use crate::metered::Metered;
use crate::refusal::ProxyRefusal;

/// A connection that the policy allows.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) network: Metered,
    /// Whether a tunnel may carry what names no server.
    pub(crate) allows_any_tunnel: bool,
}

/// Connects to a target, if the policy allows it.
pub(crate) async fn connect(
    inner: &Arc<EgressShared>,
    remote: &Remote,
) -> Result<Connected, ProxyRefusal> {
    let host = remote.host();
    let judged = match inner.budget.is_spent() {
        true => Err(ProxyRefusal::QuotaExceeded(inner.budget.max_bytes)),
        false => judge(inner, remote, resolve(inner, &host)).await,
    };
    let (found, reason) = match judged {
        Ok(judged) => judged,
        Err(refusal) => {
            inner.report(refused(inner, remote, &refusal));
            return Err(refusal);
        }
    };
    let decision = ConnectionDecision::passed(inner.client, remote, reason);
    match connect_any(inner, remote, &found).await {
        Ok((stream, address)) => {
            let address = Some(address);
            inner.report(ConnectionDecision {
                address,
                ..decision
            });
            let (budget, idle) = (Arc::clone(&inner.budget), inner.limits.idle_timeout);
            Ok(Connected {
                network: Metered::new(stream, budget, idle),
                allows_any_tunnel: inner.gate().allows_any_tunnel(remote, &found),
            })
        }
        Err(source) => {
            inner.report(decision);
            Err(ProxyRefusal::Unreachable { host, source })
        }
    }
}

/// The addresses of a target if the policy allows all of them; `found` are those of its name, which
/// are awaited only if the name is not refused.
pub(crate) async fn judge(
    inner: &EgressShared,
    remote: &Remote,
    found: impl Future<Output = Result<Vec<IpAddr>, ProxyRefusal>>,
) -> Result<(Vec<ResolvedAddress>, RuleReason), ProxyRefusal> {
    let host = remote.host();
    // Before name resolution: a DNS query is itself a message.
    let early_refusal = inner.gate().refusal_by_name(remote);
    if let Some(reason) = early_refusal {
        return Err(ProxyRefusal::Policy { host, reason });
    }
    let addresses = match remote.literal() {
        Some(address) => vec![address],
        None => found.await?,
    };
    let found = addresses.into_iter().map(|address| ResolvedAddress {
        address,
        is_this_machine: is_this_machine(address),
    });
    let found: Vec<ResolvedAddress> = found.collect();
    let reason = inner.gate().judge(remote, &found, inner.started.elapsed());
    match reason.verdict {
        Verdict::Allow | Verdict::Sandbox => Ok((found, reason)),
        Verdict::Ask if inner.is_granted(remote) => Ok((found, reason)),
        Verdict::Ask => Err(ProxyRefusal::NotApproved { host, reason }),
        Verdict::Deny => Err(ProxyRefusal::Policy { host, reason }),
    }
}

/// The addresses of a name.
pub(crate) async fn resolve(inner: &EgressShared, host: &str) -> Result<Vec<IpAddr>, ProxyRefusal> {
    let unresolved = |why: String| ProxyRefusal::Unresolved {
        host: host.to_owned(),
        why,
    };
    match timeout(inner.limits.resolve_timeout, inner.resolver.resolve(host)).await {
        Ok(Ok(addresses)) if addresses.is_empty() => {
            Err(unresolved("the name has no address".to_owned()))
        }
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(unresolved(error.to_string())),
        Err(_) => Err(unresolved("name resolution timed out".to_owned())),
    }
}

/// Whether an address belongs to this machine, according to the routing table: connecting a UDP
/// socket sends nothing.
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

/// Connects to the first of these addresses that accepts, and to no other.
async fn connect_any(
    inner: &EgressShared,
    remote: &Remote,
    found: &[ResolvedAddress],
) -> io::Result<(TcpStream, IpAddr)> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for found in found {
        let ResolvedAddress { address, .. } = found;
        let socket = SocketAddr::new(*address, remote.port());
        match timeout(
            inner.limits.connect_timeout,
            connect_socket(inner, found, socket),
        )
        .await
        {
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

/// Connects to an address, through the upstream proxy if there is one. Addresses of this machine
/// are reached directly: from the upstream proxy they would mean another machine.
async fn connect_socket(
    inner: &EgressShared,
    found: &ResolvedAddress,
    socket: SocketAddr,
) -> io::Result<TcpStream> {
    match &inner.upstream {
        Some(upstream) if !is_here(found) => upstream.connect(socket).await,
        _ => TcpStream::connect(socket).await,
    }
}

/// Whether an address leads back to this machine, in whatever spelling.
fn is_here(found: &ResolvedAddress) -> bool {
    found.is_this_machine || found.address.to_canonical().is_loopback()
}

/// The decision that reports a refusal.
pub(crate) fn refused(
    inner: &EgressShared,
    remote: &Remote,
    refusal: &ProxyRefusal,
) -> ConnectionDecision {
    let (rule, reason) = match refusal.reason() {
        Some(reason) => (reason.rule.as_str(), reason.reason.clone()),
        None => (PROXY, refusal.to_string()),
    };
    ConnectionDecision::refused(inner.client, remote, rule, reason)
}

/// Reports a tunnel that was closed because of its first bytes.
pub(crate) fn report_tunnel(inner: &EgressShared, remote: &Remote, reason: String) {
    inner.report(ConnectionDecision::refused(
        inner.client,
        remote,
        PROXY,
        reason,
    ));
}

/// Reports a request without a valid target.
pub(crate) fn invalid_target(inner: &EgressShared, target: &str, why: &ProxyRefusal) {
    inner.report(ConnectionDecision::invalid_target(
        inner.client,
        target,
        why.to_string(),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routing_table_knows_the_addresses_of_this_machine() {
        for (address, is_own) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("198.51.100.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(
                is_this_machine(address.parse().unwrap()),
                is_own,
                "{address}"
            );
        }
    }

    #[test]
    fn addresses_of_this_machine_are_recognized() {
        for (address, is_this_machine, expected) in [
            ("192.0.2.7", true, true),
            ("127.0.0.1", false, true),
            ("::1", false, true),
            ("::ffff:127.0.0.9", false, true),
            ("127.0.0.1", true, true),
            ("192.0.2.7", false, false),
            ("2001:db8::1", false, false),
        ] {
            let address = address.parse().expect("an address");
            let found = ResolvedAddress {
                address,
                is_this_machine,
            };
            assert_eq!(is_here(&found), expected, "{found:?}");
        }
    }
}
