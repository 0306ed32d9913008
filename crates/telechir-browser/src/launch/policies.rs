//! Enterprise policies of one Chromium, for what has no flag. Chromium reads them from `/etc`, where
//! its own mount namespace has them; the headless shell reads none.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::emulation::HttpCredentials;

/// Where Chromium reads policies, and where Google's builds do.
const CHROMIUM: &str = "/etc/chromium/policies/managed";
const CHROME: &str = "/etc/opt/chrome/policies/managed";

/// Chromium prefers the file that is last by name: the policies of the machine's administrator stay
/// in force.
const FILE: &str = "00-telechir.json";

/// URLs that Chromium itself shows, and those that it passes on without a question, to a program that
/// it does not find.
const ALLOWED_URLS: [&str; 13] = [
    "http://*",
    "https://*",
    "ws://*",
    "wss://*",
    "data:*",
    "blob:*",
    "about:*",
    "file://*",
    "filesystem:*",
    "view-source:*",
    "mailto:*",
    "news:*",
    "snews:*",
];

/// The folder from which this program reads policies.
pub(super) fn folder(program: &Path) -> &'static str {
    let name = program.to_string_lossy();
    if name.contains("google") {
        CHROME
    } else {
        CHROMIUM
    }
}

/// Writes our policies, beside copies of the administrator's, to a new folder in a browser's private
/// folder.
pub(super) fn write(
    program: &Path,
    private: &Path,
    credentials: &[HttpCredentials],
) -> io::Result<PathBuf> {
    let own = private.join("policies");
    fs::create_dir(&own)?;
    for file in fs::read_dir(folder(program)).into_iter().flatten() {
        let file = file?;
        // Chromium runs as another user, which must not read more than everybody.
        let is_readable =
            |found: fs::Metadata| found.is_file() && found.permissions().mode() & 0o004 != 0;
        if fs::metadata(file.path()).is_ok_and(is_readable) {
            fs::copy(file.path(), own.join(file.file_name()))?;
        }
    }
    fs::write(own.join(FILE), policies(credentials).to_string())?;
    for file in fs::read_dir(&own)? {
        fs::set_permissions(file?.path(), Permissions::from_mode(0o644))?;
    }
    // Readable by the browser's user, who does not own it; nobody else can enter the private folder.
    fs::set_permissions(&own, Permissions::from_mode(0o755))?;
    Ok(own)
}

fn policies(credentials: &[HttpCredentials]) -> Value {
    let origins: Vec<&str> = credentials.iter().map(HttpCredentials::origin).collect();
    json!({
        // A saved profile switches HTTP authentication off for all others.
        "AllHttpAuthSchemesAllowedForOrigins": origins,
        // The proxy compares the name in a TLS greeting, so no second one may be hidden in it.
        // Switches GREASE off, too.
        "EncryptedClientHelloEnabled": false,
        // No name is resolved but by the proxy.
        "DnsOverHttpsMode": "off",
        "BuiltInDnsClientEnabled": false,
        "NetworkPredictionOptions": 2,
        "QuicAllowed": false,
        "WebRtcIPHandling": "disable_non_proxied_udp",
        // A URL such as `vscode:` asks whether to start a program, in a dialog of Chromium's own that
        // holds the window. A blocked one is not loaded.
        "URLBlocklist": ["*"],
        "URLAllowlist": ALLOWED_URLS,
    })
}
