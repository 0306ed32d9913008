//! Reads the host of an HTTP/1.1 request, which browsers send in a tunnel for a WebSocket without
//! TLS.

use super::{Greeting, host_of};

const NOT_KNOWN: &str = "it is neither TLS nor HTTP";
const NO_HOST: &str = "its request does not name one host";

/// Parses the bytes received so far.
pub(super) fn read(bytes: &[u8]) -> Greeting {
    let Some(line_end) = find(bytes, b"\r\n") else {
        // Nothing but a method may precede the first space.
        let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        return if method.iter().all(u8::is_ascii_uppercase) && !bytes.contains(&b'\n') {
            Greeting::Incomplete
        } else {
            Greeting::Unnamed(NOT_KNOWN)
        };
    };
    if !is_request_line(&bytes[..line_end]) {
        return Greeting::Unnamed(NOT_KNOWN);
    }
    match find(&bytes[line_end..], b"\r\n\r\n") {
        Some(end) => {
            host(&bytes[line_end..line_end + end]).map_or(Greeting::Unnamed(NO_HOST), |host| {
                Greeting::Named {
                    host,
                    may_hide_name: false,
                }
            })
        }
        None => Greeting::Incomplete,
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Whether a line is a method, a path and the version, each a word.
fn is_request_line(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    match words[..] {
        [method, path, b"HTTP/1.1"] => {
            !method.is_empty()
                && method.iter().all(u8::is_ascii_uppercase)
                && path.starts_with(b"/")
                && path.iter().all(u8::is_ascii_graphic)
        }
        _ => false,
    }
}

/// The host in the only `Host` header. Servers disagree about unusual headers, so none is accepted.
fn host(headers: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(headers).ok()?;
    let mut host = None;
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
        if name.is_empty() || !name.bytes().all(is_plain) || value.contains(['\r', '\n', '\0']) {
            return None;
        }
        if name.eq_ignore_ascii_case("host") && host.replace(value.trim()).is_some() {
            return None;
        }
    }
    let host = host?;
    let (name, port) = match host.strip_prefix('[') {
        Some(address) => {
            let (name, rest) = address.split_once(']')?;
            (name, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => host.split_once(':').unwrap_or((host, "")),
    };
    // A server may take what is no port for the host, as in `good:x@evil`.
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    is_port.then(|| host_of(name)).flatten()
}
