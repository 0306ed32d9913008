//! What Bedrock rejects in Anthropic bodies at either endpoint, in addition to Anthropic's own
//! checks.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::shape::{Validated, ensure, list, object, text_or_empty};
use super::{Rejection, anthropic};

/// Maximum bytes of an InvokeModel body.
const MAX_BODY_BYTES: usize = 25_000_000;
/// Maximum base64 bytes of one image.
const MAX_BASE64_BYTES: usize = 5 * 1024 * 1024;
/// Body versions, each with the version of Anthropic's API it stands for.
const VERSIONS: &[(&str, &str)] = &[
    ("bedrock-2023-05-31", "2023-06-01"),
    ("2026-10-21", "2026-10-21"),
];

/// The model id in a path `/model/{id}/invoke`, if it is one.
pub(super) fn model_of(path: &str) -> Option<&str> {
    super::converse::model_before(path, "/invoke")
}

/// Validates a request to the endpoint for Anthropic's own format.
pub(super) fn check_messages(
    headers: &HeaderMap,
    body: &Value,
    history: &[Vec<Value>],
) -> Validated {
    check_key(headers)?;
    check_images(body, Transformations::Served)?;
    anthropic::check(headers, body, history)
}

/// Validates a body for a model whose id is in the path.
pub(super) fn check_invoke(
    path: &str,
    headers: &HeaderMap,
    body: &Value,
    history: &[Vec<Value>],
) -> Validated {
    let key = check_key(headers)?;
    let length = body.to_string().len();
    ensure(length <= MAX_BODY_BYTES, || {
        format!("1 validation error detected: the body has {length} bytes")
    })?;
    let members = object(body, "body")?;
    for name in ["model", "stream", "cache_control"] {
        ensure(!members.contains_key(name), || {
            format!("Malformed input request: #: extraneous key [{name}] is not permitted")
        })?;
    }
    let version = text_or_empty(body, "anthropic_version");
    let known = VERSIONS.iter().find(|(own, _)| *own == version);
    let Some((_, version)) = known else {
        return Err(Rejection::invalid(format!(
            "anthropic_version: Field required, and must be known; found '{version}'"
        )));
    };
    let tools = body
        .get("tools")
        .map_or(Ok(&[][..]), |tools| list(tools, "tools"))?;
    for tool in tools {
        let kind = text_or_empty(tool, "type");
        ensure(!kind.contains("_toolset_"), || {
            format!("tools.0: Input tag '{kind}' does not match any of the expected tags")
        })?;
    }
    check_images(body, Transformations::Refused)?;
    let betas = body
        .get("anthropic_beta")
        .map_or(Ok(&[][..]), |betas| list(betas, "anthropic_beta"))?;
    let mut anthropic_headers = HeaderMap::new();
    header(&mut anthropic_headers, "x-api-key", key)?;
    header(&mut anthropic_headers, "anthropic-version", version)?;
    for beta in betas {
        let beta = beta.as_str().ok_or_else(|| {
            Rejection::invalid("anthropic_beta: Input should be a list of strings")
        })?;
        header(&mut anthropic_headers, "anthropic-beta", beta)?;
    }
    let mut request = members.clone();
    request.retain(|name, _| !matches!(name.as_str(), "anthropic_version" | "anthropic_beta"));
    let model = model_of(path).unwrap_or_default();
    request.insert("model".to_owned(), model.into());
    anthropic::check(&anthropic_headers, &request.into(), history)
}

fn header(headers: &mut HeaderMap, name: &'static str, value: &str) -> Validated {
    let odd = |_| Rejection::invalid(format!("{name}: {value:?}"));
    let value: HeaderValue = value.parse().map_err(odd)?;
    headers.append(HeaderName::from_static(name), value);
    Ok(())
}

/// Validates the key, which must not be in Anthropic's header.
fn check_key(headers: &HeaderMap) -> Validated<&str> {
    let key = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    if key.is_empty() {
        return Err(Rejection::unauthorized("Authorization header is missing"));
    }
    ensure(!headers.contains_key("x-api-key"), || {
        "x-api-key: the key of Bedrock goes into another header".to_owned()
    })?;
    Ok(key)
}

/// Whether images may have `transformations` for oversized ones.
#[derive(Clone, Copy, PartialEq)]
enum Transformations {
    Served,
    Refused,
}

/// Images must be inline, within stricter limits than Anthropic's.
fn check_images(value: &Value, transformations: Transformations) -> Validated {
    match value {
        Value::Object(members) => {
            if text_or_empty(value, "type") == "image" {
                let source = members.get("source").unwrap_or(&Value::Null);
                let kind = text_or_empty(source, "type");
                ensure(kind == "base64", || {
                    format!("image.source.type: '{kind}' is not supported here")
                })?;
                let length = text_or_empty(source, "data").len();
                ensure(length <= MAX_BASE64_BYTES, || {
                    format!("image exceeds 5 MB maximum: {length} bytes > {MAX_BASE64_BYTES} bytes")
                })?;
                let has_transformations = members.contains_key("transformations");
                ensure(
                    !has_transformations || transformations == Transformations::Served,
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
