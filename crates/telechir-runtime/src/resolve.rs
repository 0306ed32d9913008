//! Resolves the host names that a policy judges by address.

use std::net::IpAddr;
use std::time::Duration;

use telechir_policy::Resolved;

/// All addresses of these hosts as this machine resolves them now; empty after `limit`.
pub(crate) async fn resolve(hosts: Vec<String>, limit: Duration) -> Vec<Resolved> {
    let mut resolved = Vec::with_capacity(hosts.len());
    for host in hosts {
        let addresses = addresses(&host, limit).await;
        resolved.push(Resolved { host, addresses });
    }
    resolved
}

async fn addresses(host: &str, limit: Duration) -> Vec<IpAddr> {
    match tokio::time::timeout(limit, tokio::net::lookup_host((host, 0))).await {
        Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}
