//! The app that a client can show beside the answers of tools (MCP Apps, version 2026-01-26): the latest
//! screenshot and the calls. It approves nothing.

use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

/// Where the app is.
pub(super) const ADDRESS: &str = "ui://telechir/view.html";
/// The extension in the capabilities of a client.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";
const PAGE: &str = include_str!("app.html");

/// Whether the client shows apps of this kind.
pub(super) fn is_shown_by(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let extensions = capabilities.and_then(|capabilities| capabilities.extensions);
    let shown = extensions.and_then(|extensions| extensions.get(EXTENSION).cloned());
    let kinds = shown.and_then(|shown| shown.get("mimeTypes")?.as_array().cloned());
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == MEDIA_TYPE))
}

/// The app in the list of resources.
pub(super) fn resource() -> Resource {
    Resource::new(ADDRESS, "view")
        .with_title("Screen and calls")
        .with_mime_type(MEDIA_TYPE)
        .with_description("Shows the latest screenshot and calls. It answers no questions.")
}

/// The page of the app. It loads nothing and connects to nothing, which is what clients enforce for one
/// that names no domain.
pub(super) fn read() -> ReadResourceResult {
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), json!({ "prefersBorder": true }));
    let page = ResourceContents::text(PAGE, ADDRESS).with_mime_type(MEDIA_TYPE);
    ReadResourceResult::new(vec![page.with_meta(meta)])
}

/// The member `ui` of a tool's metadata: the app shows its answers.
pub(super) fn of_tool() -> Value {
    json!({ "resourceUri": ADDRESS })
}
