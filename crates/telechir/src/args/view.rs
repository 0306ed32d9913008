//! Flags of `view`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use telechir_host::SessionName;

use super::ListenAddress;

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir view
  telechir view work --read-only
  telechir view --recording ~/recordings/work

Prints an address that opens the page once, within a minute, and serves the page until it is stopped.
docs/view.md describes it.";

#[derive(Debug, Args)]
pub(crate) struct ViewArguments {
    /// Show this session first.
    pub(crate) session: Option<SessionName>,
    /// Show the recording in DIR, as given to --record.
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub(crate) recording: Option<PathBuf>,
    /// Let the page answer no questions and cancel no calls.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Address to listen on: a loopback address with a port, 0 for any.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    pub(crate) listen: ListenAddress,
    /// Create the page's token in this file [default: telechir/tokens.json in XDG_STATE_HOME].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

fn loopback(text: &str) -> Result<ListenAddress, String> {
    let address: SocketAddr = text.parse().map_err(|_| expected())?;
    match address.ip().is_loopback() {
        true => Ok(ListenAddress::Tcp(address)),
        false => Err(expected()),
    }
}

fn expected() -> String {
    "expected a loopback address with a port, such as 127.0.0.1:7879; for others put `telechir serve` \
     behind a reverse proxy"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_accepted() {
        for accepted in ["127.0.0.1:0", "[::1]:7879"] {
            assert!(loopback(accepted).is_ok(), "{accepted}");
        }
        for refused in ["0.0.0.0:1", "192.0.2.1:80", "localhost", "unix:/a"] {
            assert!(loopback(refused).is_err(), "{refused}");
        }
    }
}
