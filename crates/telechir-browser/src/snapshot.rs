//! Pages as a model reads them: elements with refs, in every frame and shadow root.
//!
//! `document` reads one document, `page` combines the documents of a tab, `refs` resolves refs,
//! `history` remembers the last snapshot. The views are in `compact`, `outline`, `changes`,
//! `article` and `json`.

mod article;
mod bounded_text;
mod changes;
mod compact;
mod document;
mod files;
mod find;
mod history;
mod json;
mod node;
mod outline;
mod page;
mod refs;
mod render_context;
mod shadow;

pub(crate) use bounded_text::cut;
pub(crate) use document::Scope;
pub(crate) use files::{GROUP, InlineFile, UploadFiles};
pub(crate) use history::{SnapshotRequest, SnapshotView, Snapshots, article_text};
pub(crate) use node::{ElementId, PageNode, PageTree};
pub(crate) use page::PageReader;
pub(crate) use refs::RefTarget;
