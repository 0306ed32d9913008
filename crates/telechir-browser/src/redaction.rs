//! Removes secrets from texts of the other side, which may repeat them in another encoding.

/// Shorter secrets are not removed: they occur in ordinary words.
const MIN_SECRET_CHARS: usize = 4;
/// Shorter parts of a secret are not removed by themselves.
const MIN_PART_CHARS: usize = 8;
/// Encodings inside each other that are recognized.
const MAX_NESTED: usize = 2;
/// Shorter runs of letters and digits are no encoded text.
const MIN_RUN: usize = 6;

/// Decodes what of a text is encoded.
type Decoder = fn(&[u8]) -> Vec<u8>;

const DECODERS: [Decoder; 6] = [percent, form, escapes, references, base64_runs, hex_runs];

/// Stands for a secret.
const REDACTED: &str = "[redacted]";
/// Stands for a text that contains an encoded secret.
const WITHHELD: &str = "[withheld: it repeats an encoded secret]";

/// What must not be shown of an endpoint.
pub(crate) struct Redaction {
    /// In ASCII lower case, the longest first.
    secrets: Vec<String>,
}

impl Redaction {
    /// Secrets, in the encodings in which they are given and decoded.
    pub(crate) fn of(given: impl IntoIterator<Item = String>) -> Self {
        let mut secrets = Vec::new();
        for secret in given {
            let decodings = decodings(secret.as_bytes());
            let texts = decodings
                .iter()
                .flat_map(|text| text.split(|byte| *byte == 0));
            for text in texts.filter_map(|text| str::from_utf8(text).ok()) {
                // A login as `name:password`, which Basic authentication encodes.
                let halves = text
                    .split_once(':')
                    .map(|(name, password)| [name, password]);
                secrets.extend(halves.into_iter().flatten().map(str::to_owned));
                let parts = text.split(|c: char| !c.is_alphanumeric() && !"-_~+".contains(c));
                let parts = parts.filter(|part| part.chars().count() >= MIN_PART_CHARS);
                secrets.extend(parts.map(str::to_owned));
                secrets.push(text.to_owned());
            }
        }
        let lower = secrets
            .iter()
            .map(|secret| secret.trim().to_ascii_lowercase());
        let is_printable = |secret: &String| {
            secret.chars().count() >= MIN_SECRET_CHARS && !secret.chars().any(char::is_control)
        };
        let mut secrets: Vec<String> = lower.filter(is_printable).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// A text without the secrets: nothing of it, if it contains one in an encoding.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for secret in &self.secrets {
            shown = replace(&shown, secret);
        }
        let mut decoded = decodings(shown.as_bytes()).into_iter();
        let repeats = |decoded: Vec<u8>| {
            let lower = decoded.to_ascii_lowercase();
            let contains = |secret: &String| find(&lower, secret.as_bytes()).is_some();
            self.secrets.iter().any(contains)
        };
        if decoded.any(repeats) {
            WITHHELD.to_owned()
        } else {
            shown
        }
    }
}

/// Replaces a text in lower case wherever it occurs in any case.
fn replace(text: &str, secret: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut shown = String::new();
    let mut from = 0;
    for (at, found) in lower.match_indices(secret) {
        shown.push_str(&text[from..at]);
        shown.push_str(REDACTED);
        from = at + found.len();
    }
    shown.push_str(&text[from..]);
    shown
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

/// A text, and what it is if it, or a part of it, is encoded.
fn decodings(text: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![text.to_vec()];
    let mut last = 0;
    for _ in 0..MAX_NESTED {
        let end = all.len();
        for at in last..end {
            for decode in DECODERS {
                let decoded = decode(&all[at]);
                if !decoded.is_empty() && !all.contains(&decoded) {
                    all.push(decoded);
                }
            }
        }
        last = end;
    }
    all
}

/// Percent-encoding of URLs.
fn percent(text: &[u8]) -> Vec<u8> {
    unescape(text, |rest| match rest {
        [b'%', high, low, ..] => Some((vec![hex(*high)? << 4 | hex(*low)?], 3)),
        _ => None,
    })
}

/// Percent-encoding of forms, in which `+` is a space.
fn form(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    percent(&spaced)
}

/// Backslash escapes of JSON and of programming languages.
fn escapes(text: &[u8]) -> Vec<u8> {
    unescape(text, |rest| match rest {
        [b'\\', b'u', digits @ ..] => Some((character(digits.get(..4)?, 16)?, 6)),
        [b'\\', b'x', high, low, ..] => Some((vec![hex(*high)? << 4 | hex(*low)?], 4)),
        [b'\\', other, ..] => Some((vec![*other], 2)),
        _ => None,
    })
}

/// Character references of HTML.
fn references(text: &[u8]) -> Vec<u8> {
    unescape(text, |rest| {
        let inner = rest.strip_prefix(b"&")?;
        let end = inner.iter().take(10).position(|byte| *byte == b';')?;
        let decoded = match &inner[..end] {
            b"amp" => b"&".to_vec(),
            b"lt" => b"<".to_vec(),
            b"gt" => b">".to_vec(),
            b"quot" => b"\"".to_vec(),
            b"apos" => b"'".to_vec(),
            [b'#', b'x' | b'X', digits @ ..] => character(digits, 16)?,
            [b'#', digits @ ..] => character(digits, 10)?,
            _ => return None,
        };
        Some((decoded, end + 2))
    })
}

fn character(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    let digits = str::from_utf8(digits).ok()?;
    let character = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    Some(character.to_string().into_bytes())
}

fn hex(digit: u8) -> Option<u8> {
    u8::try_from(char::from(digit).to_digit(16)?).ok()
}

/// Replaces what `decode` reads at the start of the rest: the text, and how many bytes it stands for.
fn unescape(text: &[u8], decode: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (bytes, length) = decode(&text[at..]).unwrap_or_else(|| (vec![text[at]], 1));
        decoded.extend(bytes);
        at += length;
    }
    decoded
}

/// Base64 of both alphabets in every run of its characters, from each position in a group.
fn base64_runs(text: &[u8]) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    runs(text, value, 6, 4)
}

/// Pairs of hexadecimal digits in every run of them, from both positions.
fn hex_runs(text: &[u8]) -> Vec<u8> {
    runs(text, hex, 4, 2)
}

/// The bytes of which each digit has `bits`, for each run of digits and each of its first `starts`.
fn runs(text: &[u8], digit: impl Fn(u8) -> Option<u8>, bits: u32, starts: usize) -> Vec<u8> {
    let mut decoded = Vec::new();
    for run in text.split(|byte| digit(*byte).is_none()) {
        if run.len() < MIN_RUN {
            continue;
        }
        for start in 0..starts {
            let (mut value, mut have) = (0_u32, 0);
            for digit in run[start..].iter().filter_map(|byte| digit(*byte)) {
                value = (value << bits | u32::from(digit)) & 0xffff;
                have += bits;
                if have >= 8 {
                    have -= 8;
                    decoded.extend(u8::try_from(value >> have & 0xff));
                }
            }
            // What follows is another text.
            decoded.push(0);
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    /// The secret of these tests, decoded.
    const SECRET: &str = "k3y/with+signs&more=x";

    fn redaction() -> Redaction {
        Redaction::of([SECRET.to_owned()])
    }

    fn percent_encoded(text: &str) -> String {
        text.bytes().map(|byte| format!("%{byte:02x}")).collect()
    }

    #[test]
    fn a_secret_is_shown_in_no_encoding() {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02X}")).collect();
        let escaped: String = SECRET
            .chars()
            .map(|c| format!("\\u{:04x}", u32::from(c)))
            .collect();
        let form: String = url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
        let mut encodings = vec![
            SECRET.to_owned(),
            SECRET.to_ascii_uppercase(),
            SECRET.replace('/', "%2F"),
            SECRET.replace('&', "&amp;").replace('=', "&#61;"),
            SECRET.replace('/', "\\/"),
            percent_encoded(SECRET),
            percent_encoded(&percent_encoded(SECRET)),
            form,
            hex,
            escaped,
            percent_encoded(&STANDARD.encode(SECRET)),
        ];
        for before in ["", "a", "ab", "user:"] {
            let text = format!("{before}{SECRET}");
            encodings.push(STANDARD.encode(&text));
            encodings.push(URL_SAFE_NO_PAD.encode(&text));
        }
        for encoded in encodings {
            let shown = redaction().apply(&format!("refused {encoded} here"));
            assert!(!shown.contains(&encoded), "{shown}");
            assert!(
                shown.contains("[redacted]") || shown == WITHHELD,
                "{encoded}: {shown}"
            );
        }
    }

    #[test]
    fn a_secret_that_is_given_encoded_is_shown_in_no_form() {
        let basic = STANDARD.encode("robot:pa55word");
        for given in [basic.clone(), percent_encoded("robot:pa55word")] {
            let redaction = Redaction::of([given]);
            for echo in ["pa55word", "robot:pa55word", &basic, "for robot"] {
                let shown = redaction.apply(&format!("refused {echo}."));
                assert!(!shown.contains(echo), "{shown}");
            }
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "",
            "the WebSocket handshake returned 404 Not Found (no such path: %2Fjson)",
            "{\"error\": \"\\u0041ccess denied\", \"id\": \"c29tZXRoaW5nIGVsc2U=\"}",
            "100 % of 0123456789abcdef",
        ] {
            assert_eq!(redaction().apply(text), text);
        }
    }
}
