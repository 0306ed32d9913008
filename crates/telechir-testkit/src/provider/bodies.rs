//! What Bedrock refuses of Anthropic's bodies at either of its doors, beside what Anthropic
//! refuses itself.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::shape::{Checked, ensure, list, object, word};
use super::{Refusal, anthropic};

/// Bytes of a body that InvokeModel takes.
const MOST_BYTES: usize = 25_000_000;
/// Bytes of base64 of one picture.
const MOST_BASE64: usize = 5 * 1024 * 1024;
/// Versions of a body, and the version of Anthropic's interface that each is.
const VERSIONS: &[(&str, &str)] = &[
    ("bedrock-2023-05-31", "2023-06-01"),
    ("2026-10-21", "2026-10-21"),
];

/// The model of a path `/model/{id}/invoke`; none when it is another path.
pub(super) fn model_of(path: &str) -> Option<&str> {
    super::converse::model_before(path, "/invoke")
}

/// Checks a request to the door that takes Anthropic's own.
pub(super) fn check_messages(headers: &HeaderMap, body: &Value, said: &[Vec<Value>]) -> Checked {
    check_key(headers)?;
    check_images(body, Transformations::Served)?;
    anthropic::check(headers, body, said)
}

/// Checks a body for a model whose id is in the path.
pub(super) fn check_invoke(
    path: &str,
    headers: &HeaderMap,
    body: &Value,
    said: &[Vec<Value>],
) -> Checked {
    let key = check_key(headers)?;
    let length = body.to_string().len();
    ensure(length <= MOST_BYTES, || {
        format!("1 validation error detected: the body has {length} bytes")
    })?;
    let members = object(body, "body")?;
    for name in ["model", "stream", "cache_control"] {
        ensure(!members.contains_key(name), || {
            format!("Malformed input request: #: extraneous key [{name}] is not permitted")
        })?;
    }
    let version = word(body, "anthropic_version");
    let known = VERSIONS.iter().find(|(own, _)| *own == version);
    let Some((_, version)) = known else {
        return Err(Refusal::invalid(format!(
            "anthropic_version: Field required, and must be known; found '{version}'"
        )));
    };
    let tools = body
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, "tools"))?;
    for tool in tools {
        let kind = word(tool, "type");
        ensure(!kind.contains("_toolset_"), || {
            format!("tools.0: Input tag '{kind}' does not match any of the expected tags")
        })?;
    }
    check_images(body, Transformations::Refused)?;
    let betas = body
        .get("anthropic_beta")
        .map_or(Ok(&[][..]), |betas| list(betas, "anthropic_beta"))?;
    let mut theirs = HeaderMap::new();
    header(&mut theirs, "x-api-key", key)?;
    header(&mut theirs, "anthropic-version", version)?;
    for beta in betas {
        let beta = beta
            .as_str()
            .ok_or_else(|| Refusal::invalid("anthropic_beta: Input should be a list of strings"))?;
        header(&mut theirs, "anthropic-beta", beta)?;
    }
    let mut request = members.clone();
    request.retain(|name, _| !matches!(name.as_str(), "anthropic_version" | "anthropic_beta"));
    let model = model_of(path).unwrap_or_default();
    request.insert("model".to_owned(), model.into());
    anthropic::check(&theirs, &request.into(), said)
}

fn header(headers: &mut HeaderMap, name: &'static str, value: &str) -> Checked {
    let odd = |_| Refusal::invalid(format!("{name}: {value:?}"));
    let value: HeaderValue = value.parse().map_err(odd)?;
    headers.append(HeaderName::from_static(name), value);
    Ok(())
}

/// The key, which is never in a header of Anthropic's own.
fn check_key(headers: &HeaderMap) -> Checked<&str> {
    let key = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if key.is_empty() {
        return Err(Refusal::unauthorized("Authorization header is missing"));
    }
    ensure(!headers.contains_key("x-api-key"), || {
        "x-api-key: the key of Bedrock goes into another header".to_owned()
    })?;
    Ok(key)
}

/// Whether a picture may say what becomes of it when it is too large.
#[derive(Clone, Copy, PartialEq)]
enum Transformations {
    Served,
    Refused,
}

/// Pictures come as their bytes, and not as many of them as Anthropic takes.
fn check_images(value: &Value, transformations: Transformations) -> Checked {
    match value {
        Value::Object(members) => {
            if word(value, "type") == "image" {
                let source = members.get("source").unwrap_or(&Value::Null);
                let kind = word(source, "type");
                ensure(kind == "base64", || {
                    format!("image.source.type: '{kind}' is not supported here")
                })?;
                let length = word(source, "data").len();
                ensure(length <= MOST_BASE64, || {
                    format!("image exceeds 5 MB maximum: {length} bytes > {MOST_BASE64} bytes")
                })?;
                let is_said = members.contains_key("transformations");
                ensure(
                    !is_said || transformations == Transformations::Served,
                    || "image.transformations: Extra inputs are not permitted".to_owned(),
                )?;
            }
            members
                .values()
                .try_for_each(|inner| check_images(inner, transformations))
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check_images(item, transformations)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
