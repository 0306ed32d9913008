//! Signature version 4 of AWS, for requests and for the handshake of a socket.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};

/// The keys of an AWS user or role.
#[derive(Clone)]
pub(crate) struct AwsKeys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// What is signed.
#[derive(Clone, Debug)]
pub(crate) struct Unsigned<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// Names and values, not encoded.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case, with their values.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: &'a [u8],
}

/// For what a signature counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SigningScope<'a> {
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    /// Seconds since 1970.
    pub(crate) at: u64,
}

impl SigningScope<'_> {
    /// `20261122T130358Z`.
    pub(crate) fn timestamp(self) -> String {
        let (days, seconds) = (self.at / 86_400, self.at % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    fn text(self) -> String {
        let date = &self.timestamp()[..8];
        format!("{date}/{}/{}/aws4_request", self.region, self.service)
    }
}

/// The headers that sign a request, `host` not among them.
pub(crate) fn headers(
    keys: &AwsKeys,
    scope: SigningScope<'_>,
    host: &str,
    mut request: Unsigned<'_>,
) -> Vec<(&'static str, String)> {
    let mut added = vec![("x-amz-date", scope.timestamp())];
    if let Some(token) = &keys.token {
        added.push(("x-amz-security-token", token.clone()));
    }
    request.headers.push(("host", host.to_owned()));
    request.headers.extend(added.iter().cloned());
    let signed = signed_names(&request);
    let signature = signature(keys, scope, request);
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={signed}, Signature={signature}",
        keys.id,
        scope.text()
    );
    added.push(("authorization", authorization));
    added
}

fn signed_names(request: &Unsigned<'_>) -> String {
    let mut names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.join(";")
}

/// The signature of a request, in hexadecimal digits.
fn signature(keys: &AwsKeys, scope: SigningScope<'_>, mut request: Unsigned<'_>) -> String {
    request.headers.sort_unstable();
    let headers = request.headers.iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}:{}\n", value.trim()))
        .collect();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{}\n{}",
        request.method,
        encoded(request.path, b"/"),
        canonical_query(&request.query),
        signed_names(&request),
        hex(digest(&SHA256, request.body).as_ref()),
    );
    let to_sign = format!(
        "AWS4-HMAC-SHA256\n{}\n{}\n{}",
        scope.timestamp(),
        scope.text(),
        hex(digest(&SHA256, canonical.as_bytes()).as_ref())
    );
    let secret = format!("AWS4{}", keys.secret);
    let timestamp = scope.timestamp();
    let parts = [&timestamp[..8], scope.region, scope.service, "aws4_request"];
    let key = parts
        .iter()
        .fold(secret.into_bytes(), |key, part| mac(&key, part.as_bytes()));
    hex(&mac(&key, to_sign.as_bytes()))
}

/// The query as AWS orders and encodes it.
fn canonical_query(query: &[(String, String)]) -> String {
    let mut pairs: Vec<(String, String)> = query
        .iter()
        .map(|(name, value)| (encoded(name, b""), encoded(value, b"")))
        .collect();
    pairs.sort_unstable();
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("&")
}

/// Encodes all bytes but unreserved ones (RFC 3986) and these.
pub(crate) fn encoded(text: &str, also: &[u8]) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte if also.contains(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn mac(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(HMAC_SHA256, key), data)
        .as_ref()
        .to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Year, month and day of a day since 1970, by Howard Hinnant's `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "bedrock-agentcore.us-west-2.amazonaws.com";
    const STREAM: &str = "/browser-streams/aws.browser.v1/sessions/01KSESSION0000000000000001/";

    fn keys() -> AwsKeys {
        AwsKeys {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "SECRET".to_owned(),
            token: Some("TOKEN".to_owned()),
        }
    }

    /// 2026-11-22T13:04:33Z.
    const SCOPE: SigningScope<'static> = SigningScope {
        region: "us-west-2",
        service: "bedrock-agentcore",
        at: 1_795_352_673,
    };

    #[test]
    fn a_time_is_written_as_aws_wants_it() {
        let at = |at| SigningScope { at, ..SCOPE }.timestamp();
        assert_eq!(SCOPE.timestamp(), "20261122T130433Z");
        assert_eq!(at(0), "19700101T000000Z");
        assert_eq!(at(951_782_400), "20000229T000000Z");
        assert_eq!(at(4_107_542_399), "21000228T235959Z");
    }

    #[test]
    fn a_handshake_has_the_signature_of_the_official_client() {
        let path = format!("{STREAM}automation");
        let request = Unsigned {
            method: "GET",
            path: &path,
            query: Vec::new(),
            headers: Vec::new(),
            body: b"",
        };
        let headers = headers(&keys(), SCOPE, HOST, request);
        assert_eq!(
            headers[2].1,
            "AWS4-HMAC-SHA256 \
             Credential=AKIDEXAMPLE/20261122/us-west-2/bedrock-agentcore/aws4_request, \
             SignedHeaders=host;x-amz-date;x-amz-security-token, \
             Signature=c2347dd5bf7de44c81e006a5502b9c99e126e50e2048ee257af81ffeaf90655b"
        );
    }

    #[test]
    fn a_presigned_address_has_the_signature_of_the_official_client() {
        let path = format!("{STREAM}live-view");
        let credential = format!("AKIDEXAMPLE/{}", SCOPE.text());
        let query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", "20261122T130433Z"),
            ("X-Amz-Expires", "300"),
            ("X-Amz-SignedHeaders", "host"),
            ("X-Amz-Security-Token", "TOKEN"),
        ];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = Unsigned {
            method: "GET",
            path: &path,
            query: query.to_vec(),
            headers: vec![("host", HOST.to_owned())],
            body: b"",
        };
        assert_eq!(
            signature(&keys(), SCOPE, request),
            "4f812675fa3b2fa77a058efed81b98a1fdf11d2d9d2fa6498181066db1bd4f86"
        );
    }

    #[test]
    fn a_query_is_ordered_and_encoded() {
        let pairs = [("b", "a b/ü"), ("a", "2"), ("a", "1"), ("B", "")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(canonical_query(&pairs), "B=&a=1&a=2&b=a%20b%2F%C3%BC");
    }
}
