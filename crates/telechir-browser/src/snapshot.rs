//! Pages as a model reads them: elements with refs, in every frame and shadow root.
//!
//! `document` reads one document, `page` combines the documents of a tab, `turned_frame` finds pixels
//! in rotated frames, `refs` resolves refs, `history` remembers the last snapshot. The views are in `compact`, `outline`, `changes`,
//! `article` and `json`.

mod article;
mod bounded_text;
mod changes;
mod compact;
mod distinct;
mod document;
mod files;
mod find;
mod history;
mod json;
mod listeners;
mod named;
mod node;
mod outline;
mod page;
mod refs;
mod render_context;
mod shadow;
mod turned_frame;

pub(crate) use bounded_text::cut;
pub(crate) use document::Scope;
pub(crate) use files::{GROUP, InlineFile, UploadFiles};
pub(crate) use history::{
    SnapshotRequest, SnapshotView, Snapshots, article_text, outline_for_people,
};
pub(crate) use node::{DocumentId, ElementId, PageNode, PageTree};
pub(crate) use page::PageReader;
pub(crate) use refs::RefTarget;
