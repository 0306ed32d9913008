//! The OpenAPI 3.1 document, made from the table of routes.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use axum::response::Response;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use telechir_providers::Dialect;

use super::problem::{Problem, ProblemKind};
use super::request::{ApiRequest, reply};
use super::route::{Credentials, Parameter, Route};
use super::routes;

/// Problems that every route has.
const COMMON: &[ProblemKind] = &[
    ProblemKind::BadRequest,
    ProblemKind::Unauthorized,
    ProblemKind::Forbidden,
    ProblemKind::TooMany,
    ProblemKind::Internal,
];
/// Problems of routes with a body.
const OF_BODIES: &[ProblemKind] = &[
    ProblemKind::BodyTimeout,
    ProblemKind::LengthRequired,
    ProblemKind::TooLarge,
    ProblemKind::UnsupportedMedia,
    ProblemKind::Unreadable,
];

/// The document of this version of the program.
pub fn document(version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes::all() {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.name()] = operation(route, &mut generator);
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "telechir",
            "version": version,
            "description": "Gives any model a computer, and you control over its actions.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token of `telechir tokens new ROLE`.",
            }},
            "schemas": schemas,
        },
    })
}

/// `GET /v1/openapi.json`
pub(super) async fn serve(request: ApiRequest) -> Result<Response, Problem> {
    let document = document(&request.state.settings.version);
    Ok(reply(StatusCode::OK, &document))
}

/// `GET /v1/health`
pub(super) async fn health(request: ApiRequest) -> Result<Response, Problem> {
    let version = &request.state.settings.version;
    let document = json!({"status": "ok", "version": version});
    Ok(reply(StatusCode::OK, &document))
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let roles: Vec<&str> = route.roles.iter().map(|role| role.name()).collect();
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "description": match route.credentials {
            Credentials::Token => format!("Roles: {}.", roles.join(", ")),
            Credentials::Secret => "For programs with an address that has a secret.".to_owned(),
            Credentials::Page => "For the live page of this server.".to_owned(),
        },
        "x-roles": roles,
        "x-session-tokens": route.is_for_session_tokens(),
        "parameters": parameters(route),
    });
    if route.credentials != Credentials::Token {
        operation["security"] = json!([]);
    }
    if let Some(body) = &route.body {
        let schema = (body.schema)(generator);
        operation["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schema}},
        });
    }
    let mut responses = Map::new();
    for expected in route.replies {
        let mut response = json!({"description": expected.description});
        if let Some(schema) = expected.schema {
            response["content"] = json!({expected.content_type: {"schema": schema(generator)}});
        }
        match responses.get_mut(&expected.status.to_string()) {
            // The same status in another media type.
            Some(other) => join(other, &response),
            None => {
                responses.insert(expected.status.to_string(), response);
            }
        }
    }
    for (status, kinds) in problems(route) {
        responses.insert(
            status.to_string(),
            json!({
                "description": kinds.join(" "),
                "content": {"application/problem+json": {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                }},
            }),
        );
    }
    operation["responses"] = responses.into();
    operation
}

/// Adds the media types of another description of the same status.
fn join(response: &mut Value, other: &Value) {
    let described = |one: &Value| one["description"].as_str().unwrap_or_default().to_owned();
    let description = format!("{} {}", described(response), described(other));
    response["description"] = description.into();
    let contents = other["content"].as_object().into_iter().flatten();
    for (media_type, content) in contents {
        response["content"][media_type] = content.clone();
    }
}

/// The statuses of a route's problems, each with the titles of its kinds.
fn problems(route: &Route) -> Vec<(u16, Vec<String>)> {
    let of_body: &[ProblemKind] = route.body.as_ref().map_or(&[], |_| OF_BODIES);
    let of_path: &[ProblemKind] = match route.path.contains('{') {
        true => &[ProblemKind::NotFound],
        false => &[],
    };
    let is_possible = |kind: &&ProblemKind| {
        [COMMON, of_body, of_path, route.problems]
            .iter()
            .any(|kinds| kinds.contains(kind))
    };
    let kinds: Vec<ProblemKind> = ProblemKind::ALL
        .iter()
        .filter(is_possible)
        .copied()
        .collect();
    let statuses: BTreeSet<u16> = kinds.iter().map(|kind| kind.status().as_u16()).collect();
    let titles = |status: u16| {
        let kinds = kinds.iter().filter(|kind| kind.status().as_u16() == status);
        kinds.map(|kind| format!("{}.", kind.title())).collect()
    };
    statuses
        .into_iter()
        .map(|status| (status, titles(status)))
        .collect()
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut all: Vec<Value> = path_parameters(route.path).map(path_parameter).collect();
    let mut add = |parameters: &[Parameter], location: &str| {
        all.extend(parameters.iter().map(|parameter| {
            json!({
                "name": parameter.name,
                "in": location,
                "required": parameter.is_required,
                "description": parameter.description,
                "schema": schema_of(parameter.name, location),
            })
        }));
    };
    add(route.query, "query");
    add(route.headers, "header");
    all
}

fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    let description = match name {
        "dialect" => "The dialect of the body.",
        "turn" => "The key of the turn.",
        "digest" => "BLAKE3 digest of the image in hexadecimal digits.",
        "secret" => "The secret of the address.",
        _ => "The id.",
    };
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": schema_of(name, "path"),
    })
}

fn schema_of(name: &str, location: &str) -> Value {
    match (name, location) {
        ("dialect" | "to", _) => dialects(),
        ("from", "query") => json!({"type": "string"}),
        ("leave_functions", _) => json!({"type": "string", "enum": ["true", "false"]}),
        _ => json!({"type": "string"}),
    }
}

fn dialects() -> Value {
    let names = Dialect::ALL.map(Dialect::name);
    json!({"type": "string", "enum": names})
}

fn problem_schema() -> Value {
    let types: Vec<String> = ProblemKind::ALL
        .iter()
        .map(|kind| format!("urn:telechir:problem:{}", kind.slug()))
        .collect();
    json!({
        "type": "object",
        "description": "Problem details (RFC 9457).",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "enum": types},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "A sentence about this occurrence."},
            "free": {
                "type": "object",
                "description": "What is free, if a session was not opened for want of it.",
                "properties": {
                    "sessions": {"type": "integer", "description": "Sessions that anybody may open."},
                    "own_sessions": {"type": "integer", "description": "Sessions that the token's owner may open."},
                    "memory_bytes": {"type": "integer", "description": "Available memory of the machine."},
                },
            },
            "retry_after_ms": {"type": "integer", "description": "The time to wait before the request is sent again."},
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "UPDATE=1 makes this test rewrite the file"
    )]
    fn the_published_document_is_fresh() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = root.join("schemas/openapi.json");
        let document = document(env!("CARGO_PKG_VERSION"));
        let fresh = serde_json::to_string_pretty(&document).unwrap() + "\n";
        if std::env::var("UPDATE").is_ok() {
            fs::write(&path, &fresh).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap();
        assert!(
            published == fresh,
            "{} is stale: run this test with UPDATE=1",
            path.display()
        );
    }

    #[test]
    fn every_route_is_one_operation_with_a_name_of_its_own() {
        let document = document("0");
        let paths = document["paths"].as_object().unwrap();
        let operations = paths.values().flat_map(|methods| {
            let methods = methods.as_object().unwrap().values();
            methods.map(|operation| operation["operationId"].as_str().unwrap())
        });
        let mut documented: Vec<&str> = operations.collect();
        let mut routes: Vec<&str> = routes::all().map(|route| route.operation).collect();
        documented.sort_unstable();
        routes.sort_unstable();
        assert_eq!(documented, routes);
        documented.dedup();
        assert_eq!(documented, routes, "a name occurs twice");
    }

    #[test]
    fn every_reference_of_the_document_has_its_schema() {
        let document = document("0");
        let text = document.to_string();
        let references = text.split("\"$ref\":\"").skip(1);
        let references: BTreeSet<&str> = references
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(references.len() > 10, "{references:?}");
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }
}
