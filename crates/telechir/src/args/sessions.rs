//! Arguments of `sessions`.

use std::time::Duration;

use clap::Subcommand;
use telechir_host::SessionName;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions: name, state, process, age, idle time, devices.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Close a session and wait until all its processes are gone.
    Close {
        /// Name of the session.
        name: SessionName,
    },
    /// Print the address at which the browser that a session rents at a service is watched. Whoever
    /// has it can act in the browser. The service's key must be in the environment.
    LiveView {
        /// Name of the session.
        name: SessionName,
    },
    /// Keep a session open for some time from now, even without a call, and extend what it rents.
    Extend {
        /// Name of the session.
        name: SessionName,
        /// How long, such as 90s, 30m or 2h.
        #[arg(long = "for", value_name = "TIME", value_parser = time_span)]
        time: Duration,
    },
}

/// A time in seconds, minutes or hours: `90s`, `30m` or `2h`.
fn time_span(text: &str) -> Result<Duration, String> {
    const MAX_SECONDS: u64 = 30 * 24 * 3600;
    let units = [('s', 1), ('m', 60), ('h', 3600)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*seconds)
    });
    match parsed {
        Some(seconds @ 1..=MAX_SECONDS) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err("expected a time between 1s and 720h".to_owned()),
        None => Err("expected a number with s, m or h, such as 30m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_number_and_a_unit() {
        for (text, seconds) in [("1s", 1), ("90s", 90), ("30m", 1_800), ("720h", 2_592_000)] {
            assert_eq!(time_span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "m",
            "30",
            "0s",
            "-1m",
            "1.5h",
            "721h",
            "1d",
            "99999999999999999999h",
        ] {
            assert!(time_span(text).is_err(), "{text}");
        }
    }
}
