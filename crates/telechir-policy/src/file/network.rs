//! `[[network]]` rules of a policy file: connections of shell and desktop programs.

use serde::Deserialize;
use toml::Spanned;

use super::{
    Examples, FilePosition, LimitFile, ascii_host, check_examples, check_list, check_rule,
};
use crate::network_rule::NetworkRule;
use crate::rule::Rule;
use crate::tunnel_rule::TunnelContent;
use crate::url_rule::{Destination, UrlMatch};
use crate::{AddressClass, NetworkClient, PolicyError, Remote, Verdict};

rule!(NetworkFile, String { from: Vec<NetworkClient>, host: Vec<String>, port: Vec<u16>, address: Vec<AddressClass>, tunnel: TunnelContent, });

pub(super) fn network_rule(
    origin: &FilePosition<'_>,
    rule: Spanned<NetworkFile>,
) -> Result<NetworkRule, PolicyError> {
    let (line, name) = origin.rule_position("network", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "from", file.from.as_ref())?;
    check_list(origin, line, "host", file.host.as_ref())?;
    check_list(origin, line, "port", file.port.as_ref())?;
    check_list(origin, line, "address", file.address.as_ref())?;
    let from = file.from.take();
    if from
        .iter()
        .flatten()
        .any(|from| *from == NetworkClient::Browser)
    {
        let problem = "`from` is \"shell\", \"desktop\" or both; the browser has [[url]] rules";
        return Err(origin.problem(line, problem));
    }
    let hosts = file.host.take().map(|hosts| {
        let hosts = hosts.iter().map(|host| ascii_host(origin, line, host));
        hosts.collect::<Result<_, _>>()
    });
    let matcher = UrlMatch {
        scheme: None,
        host: hosts.transpose()?,
        port: file.port.take(),
        address: file.address.take(),
        tunnel: file.tunnel.take().unwrap_or_default(),
    };
    let (rule, examples) = file.into_rule(name, matcher);
    check_rule(origin, line, &rule)?;
    check_verdicts(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        let remote = Remote::for_tunnel(example).map_err(|_| {
            let problem = format!(
                "the example {example:?} is not a host with a port, such as example.com:443"
            );
            origin.problem(line, problem)
        })?;
        let to = remote.literal().map(|address| crate::ResolvedAddress {
            address,
            is_this_machine: false,
        });
        let found: Vec<_> = to.into_iter().collect();
        let to = Destination::found(remote.url(), &found);
        Ok(rule.verdict_on(&to).is_some())
    })?;
    Ok(NetworkRule { from, rule })
}

/// A connection cannot wait for approval, and is sandboxed already.
fn check_verdicts(
    origin: &FilePosition<'_>,
    line: usize,
    rule: &Rule<UrlMatch>,
) -> Result<(), PolicyError> {
    let is_clear = |verdict| matches!(verdict, Verdict::Allow | Verdict::Deny);
    let limit = rule.limit.is_none_or(|limit| is_clear(limit.then));
    if is_clear(rule.verdict) && limit {
        return Ok(());
    }
    let problem = "a connection cannot wait for approval: the verdict of a network rule, and \
                   `then` of its limit, must be \"allow\" or \"deny\"";
    Err(origin.problem(line, problem))
}
