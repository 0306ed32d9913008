//! Flags of `serve` and `tokens`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use telechir_host::tokens::Role;

use super::{DeviceArguments, SafetyArguments};

/// Ten years.
const MAX_TIME_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir tokens new agent
  telechir serve --shell --browser --headless
  telechir serve --desktop --policy policy.toml --record recordings --listen 127.0.0.1:9000
  telechir serve --shell --listen unix:/run/user/1000/telechir.sock
  telechir serve --shell --listen 0.0.0.0:8443 --host api.example.com:8443 \\
    --tls-cert fullchain.pem --tls-key privkey.pem
  telechir serve check --config serve.toml

  curl -s http://127.0.0.1:7878/v1/sessions -H \"Authorization: Bearer $TOKEN\" \\
    -H 'Content-Type: application/json' -d '{\"devices\": [\"shell\"]}'

Sessions can have the devices of these flags and no others. They live in processes of their own, so
that a server that is restarted finds them again. docs/http.md describes the API.";

pub(super) const TOKEN_EXAMPLES: &str = "\
Examples:
  telechir tokens new agent
  telechir tokens new operator --name anna
  telechir tokens new agent --name ci --expires-in 30d
  telechir tokens list
  telechir tokens rotate 5f0c2ab19e77 --grace 1h
  telechir tokens revoke 5f0c2ab19e77

Prints a new token once; the file has its hash. An agent opens sessions and executes calls in them. A
viewer reads what all sessions do. An operator can do everything, and is the only one who answers
questions. Tokens with the same role and name have the same sessions, so that one can replace the
other.";

const CHECK_EXAMPLES: &str = "\
Examples:
  telechir serve check --config serve.toml
  telechir serve check --shell --listen 127.0.0.1:9000

Prints what a server with these flags would serve. Prints each problem in a line of its own, and then
exits with 1. Starts nothing.";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    #[command(flatten)]
    pub(crate) flags: ServeFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Print what would be served, and every problem; start nothing.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<ServeFlags>),
}

#[derive(Debug, Args)]
pub(crate) struct ServeFlags {
    /// Read flags from this TOML file, by their names without `--`; those of the command line win.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on: HOST:PORT, or unix:PATH for a socket that only you can use.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878")]
    pub(crate) listen: ListenAddress,
    /// Serve TLS with this certificate chain (PEM); SIGHUP reads it and its key again.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM), which other users must not be able to read.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serve a public address without TLS: a reverse proxy in front has it. Connections of other
    /// addresses than those named are refused, and X-Forwarded-For of these is believed.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', num_args = 1)]
    pub(crate) behind_proxy: Vec<IpAddr>,
    /// Serve requests for these values of `Host`, too, such as the name that clients of a proxy use.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) host: Vec<String>,
    /// Read the tokens from this file [default: telechir/tokens.json in XDG_STATE_HOME].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Maximum number of sessions that are open at the same time.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) max_sessions: u64,
    /// Maximum number of sessions that one owner (role and name) has open [default: no other limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) max_sessions_per_owner: Option<u64>,
    /// Record a session only if its client requests it, instead of every session.
    #[arg(long, requires = "record")]
    pub(crate) record_on_request: bool,
    /// Let programs drive the sessions' browsers by CDP: Playwright, Puppeteer, browser-use. The policy
    /// judges what they do.
    #[arg(long)]
    pub(crate) cdp_gateway: bool,
    /// Open no session while less than MIB of memory is available.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(0..=1_048_576))]
    pub(crate) min_free_memory: u64,
    /// Close a session after SECONDS without a call, unless its client requests another time
    /// [default: 900].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) idle_timeout: Option<u64>,
    /// The longest time without a call that a client can request [default: a year].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) max_idle_timeout: Option<u64>,
    /// On SIGTERM, let running requests go on for SECONDS before they are cancelled.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) shutdown_timeout: u64,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A TCP port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let address = text.replace("localhost:", "127.0.0.1:");
        let address = address.parse().map_err(|_| {
            "expected an IP address with a port, such as 127.0.0.1:7878, or unix:PATH".to_owned()
        })?;
        Ok(Self::Tcp(address))
    }
}

#[derive(Debug, Args)]
pub(crate) struct TokensArguments {
    /// The file of the tokens [default: telechir/tokens.json in XDG_STATE_HOME].
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) token_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: TokensCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Create a token and print it.
    New {
        /// What its owner may do: agent, viewer or operator.
        #[arg(value_parser = role)]
        role: Role,
        /// Name of its owner.
        #[arg(long, default_value = "default")]
        name: String,
        /// Accept the token for this time only: seconds, or a number with m, h or d.
        #[arg(long, value_name = "TIME", value_parser = time)]
        expires_in: Option<Duration>,
    },
    /// Replace a token: print a new one of the same role and name. The old one is accepted for a while.
    Rotate {
        /// Id of the old token, as listed.
        id: String,
        /// Accept the old token for this time: seconds, or a number with m, h or d.
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = time)]
        grace: Duration,
        /// Accept the new token for this time only.
        #[arg(long, value_name = "TIME", value_parser = time)]
        expires_in: Option<Duration>,
    },
    /// List the tokens: id, role, name, age.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token: from now on no server accepts it.
    Revoke {
        /// Id of the token, as listed.
        id: String,
    },
}

/// A time such as `90`, `30m`, `12h` or `30d`, of ten years at most.
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => text.split_at(end),
        None => (text, "s"),
    };
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => 0,
    };
    let total = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(seconds));
    let total = total.filter(|total| seconds > 0 && *total <= MAX_TIME_SECONDS);
    let problem = || "expected seconds, or a number with m, h or d, such as 30d; ten years at most";
    total
        .map(Duration::from_secs)
        .ok_or_else(|| problem().to_owned())
}

fn role(text: &str) -> Result<Role, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, seconds) in [
            ("0", 0),
            ("90", 90),
            ("90s", 90),
            ("30m", 1800),
            ("12h", 43200),
            ("2d", 172_800),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in [
            "",
            "d",
            "1w",
            "-1",
            "1.5h",
            "1 h",
            "99999d",
            "99999999999999999999d",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_is_a_port_or_a_socket() {
        let parsed = |text: &str| text.parse::<ListenAddress>();
        let port = "127.0.0.1:80".parse().unwrap();
        assert_eq!(parsed("127.0.0.1:80"), Ok(ListenAddress::Tcp(port)));
        assert_eq!(parsed("localhost:80"), Ok(ListenAddress::Tcp(port)));
        assert_eq!(parsed("unix:/a"), Ok(ListenAddress::Unix("/a".into())));
        for wrong in ["", "7878", "example.com:80", "unix:", "127.0.0.1"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
