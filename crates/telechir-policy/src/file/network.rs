//! `[[network]]` rules of a policy file: where programs of the shell and the desktop connect.

use serde::Deserialize;
use toml::Spanned;

use super::{Examples, LimitFile, Origin, ascii_host, check_examples, check_list, check_rule};
use crate::network_rule::NetworkRule;
use crate::rule::Rule;
use crate::url_rule::{Destination, UrlMatch};
use crate::{AddressClass, Client, PolicyError, Remote, Verdict};

rule!(NetworkFile, String { from: Vec<Client>, host: Vec<String>, port: Vec<u16>, address: Vec<AddressClass>, });

pub(super) fn network_rule(
    origin: &Origin<'_>,
    rule: Spanned<NetworkFile>,
) -> Result<NetworkRule, PolicyError> {
    let (line, name) = origin.place("network", &rule);
    let mut file = rule.into_inner();
    check_list(origin, line, "from", file.from.as_ref())?;
    check_list(origin, line, "host", file.host.as_ref())?;
    check_list(origin, line, "port", file.port.as_ref())?;
    check_list(origin, line, "address", file.address.as_ref())?;
    let from = file.from.take();
    if from.iter().flatten().any(|from| *from == Client::Browser) {
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
    };
    let (rule, examples) = file.into_rule(name, matcher);
    check_rule(origin, line, &rule)?;
    check_verdicts(origin, line, &rule)?;
    check_examples(origin, line, &examples, |example| {
        let remote = Remote::tunnel(example).map_err(|_| {
            let problem =
                format!("the example {example:?} is no host with a port, as example.com:443");
            origin.problem(line, problem)
        })?;
        let to = remote.literal().map(|address| crate::Found {
            address,
            is_this_machine: false,
        });
        let found: Vec<_> = to.into_iter().collect();
        let to = Destination::found(remote.url(), &found);
        Ok(rule.verdict_on(&to).is_some())
    })?;
    Ok(NetworkRule { from, rule })
}

/// A connection cannot wait for a person, and is in a sandbox already.
fn check_verdicts(
    origin: &Origin<'_>,
    line: usize,
    rule: &Rule<UrlMatch>,
) -> Result<(), PolicyError> {
    let is_clear = |verdict| matches!(verdict, Verdict::Allow | Verdict::Deny);
    let limit = rule.limit.is_none_or(|limit| is_clear(limit.then));
    if is_clear(rule.verdict) && limit {
        return Ok(());
    }
    let problem = "a connection cannot wait for a person: the verdict of a network rule, and \
                   `then` of its limit, is \"allow\" or \"deny\"";
    Err(origin.problem(line, problem))
}
