//! What all views of a page start with.

use super::bounded_text::{cut, quoted};
use super::node::PageTree;

/// What all views have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenderContext<'a> {
    pub(super) name: &'a str,
    pub(super) tree: &'a PageTree,
    /// Whether the snapshot is limited to a part of the page.
    pub(super) is_part: bool,
}

impl RenderContext<'_> {
    /// The first line: snapshot, epoch, page, viewport and scroll position.
    pub(super) fn header(&self) -> String {
        let part = if self.is_part { "part of " } else { "" };
        let (epoch, page) = (self.tree.epoch, page_line(self.tree));
        format!("{}, epoch {epoch}: {part}{page}", self.name)
    }
}

/// A page in one line: title, URL, viewport and scroll position.
pub(super) fn page_line(tree: &PageTree) -> String {
    let head = &tree.head;
    let title = quoted(&cut(&head.title, 100));
    // The content of such a URL is the page itself.
    let is_inline = head.url.starts_with("data:") || head.url.starts_with("blob:");
    let url = cut(&head.url, if is_inline { 20 } else { 200 });
    let [width, height] = head.view;
    let [x, y] = head.scroll;
    let [_, page_height] = head.extent;
    let scrolled = if page_height > height || x > 0 || y > 0 {
        format!(", scrolled to {x},{y} of a page {page_height} high")
    } else {
        String::new()
    };
    format!("{title} <{url}>, view {width}x{height}{scrolled}")
}
