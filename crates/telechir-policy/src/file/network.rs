//! `[[network]]` rules of a policy file: connections of shell and desktop programs.

use toml::Spanned;

use super::conditions::hosts;
use super::{
    FilePosition, NetworkConditions, NetworkRule, ReadRule, TUNNEL_IN_EXCEPTION, check_list,
    read_table,
};
use crate::network_rule::NetworkMatch;
use crate::rule::{Rule, RuleTable};
use crate::url_rule::{Destination, UrlMatch};
use crate::{NetworkClient, PolicyError, Remote, Verdict};

/// Reads the rules, whose verdicts must be clear.
pub(super) fn read_network(
    origin: &FilePosition<'_>,
    entries: Vec<Spanned<NetworkRule>>,
) -> Result<RuleTable<NetworkMatch>, PolicyError> {
    for entry in &entries {
        let line = origin.line(entry.span().start);
        check_verdicts(origin, line, entry.get_ref())?;
    }
    read_table(origin, entries)
}

impl ReadRule for NetworkRule {
    type Matcher = NetworkMatch;

    fn matcher(
        origin: &FilePosition<'_>,
        line: usize,
        conditions: NetworkConditions,
    ) -> Result<NetworkMatch, PolicyError> {
        check_list(origin, line, "from", conditions.from.as_ref())?;
        check_list(origin, line, "host", conditions.host.as_ref())?;
        check_list(origin, line, "port", conditions.port.as_ref())?;
        check_list(origin, line, "address", conditions.address.as_ref())?;
        let mut from = conditions.from.iter().flatten();
        if from.any(|from| *from == NetworkClient::Browser) {
            let problem = "`from` is \"shell\", \"desktop\" or both; the browser has [[url]] rules";
            return Err(origin.problem(line, problem));
        }
        let host = conditions.host.map(|names| hosts(origin, line, &names));
        let to = UrlMatch {
            scheme: None,
            host: host.transpose()?,
            port: conditions.port,
            address: conditions.address,
            tunnel: conditions.tunnel.unwrap_or_default(),
        };
        Ok(NetworkMatch {
            from: conditions.from,
            to,
        })
    }

    fn matches(
        origin: &FilePosition<'_>,
        line: usize,
        rule: &Rule<NetworkMatch>,
        example: &String,
    ) -> Result<bool, PolicyError> {
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
    }
}

/// A connection cannot wait for approval, and is sandboxed already.
fn check_verdicts(
    origin: &FilePosition<'_>,
    line: usize,
    rule: &NetworkRule,
) -> Result<(), PolicyError> {
    let is_clear = |verdict| matches!(verdict, Verdict::Allow | Verdict::Deny);
    let limit = rule.limit.as_ref().is_none_or(|limit| is_clear(limit.then));
    let given = rule.verdict.iter().chain(&rule.default);
    if !given.copied().all(is_clear) || !limit {
        let problem = "a connection cannot wait for approval: the verdict of a network rule, and \
                       `then` of its limit, must be \"allow\" or \"deny\"";
        return Err(origin.problem(line, problem));
    }
    let mut except = rule.except.iter().flatten();
    if except.any(|except| except.from.is_some()) {
        let problem =
            "an exception of a network rule has no `from`; write one rule for each program";
        return Err(origin.problem(line, problem));
    }
    let mut except = rule.except.iter().flatten();
    if except.any(|except| except.tunnel.is_some()) {
        return Err(origin.problem(line, TUNNEL_IN_EXCEPTION));
    }
    Ok(())
}
