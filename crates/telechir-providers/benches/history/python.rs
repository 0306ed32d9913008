//! Measures the same bytes with the provider's Python SDK.
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark starts Python as a user would; the script selects the interpreter"
)]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The durations of each round with the SDK and with its types; `None` without the SDK.
pub(crate) fn rounds(bytes: &[u8]) -> Option<[Vec<Duration>; 2]> {
    let python = std::env::var("TELECHIR_PEERS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/history/sdk.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(bytes).ok()?;
    let output = child
        .wait_with_output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut rounds: [Vec<Duration>; 2] = Default::default();
    // The first round is a warm-up.
    for line in text.lines().skip(1) {
        let (sdk, types) = line.split_once(' ')?;
        for (rounds, seconds) in rounds.iter_mut().zip([sdk, types]) {
            rounds.push(Duration::from_secs_f64(seconds.parse().ok()?));
        }
    }
    Some(rounds)
}
