//! The nodes of a page as the walker reports them, parents before their children.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

/// The id of a document, never reused by a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(pub(crate) u64);

/// An element of a document, by the number its walker assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ElementId {
    pub(crate) document: DocumentId,
    pub(crate) number: u32,
}

const INTERACTIVE: u8 = 1;
const IN_VIEW: u8 = 2;
const TEXT: u8 = 4;
const FRAME: u8 = 8;
const LINE_START: u8 = 16;
const NAMED_BY_CONTENT: u8 = 32;
const JOINED: u8 = 64;

/// An element, or text between elements. Cloning is cheap, because texts are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageNode {
    /// The number of its ancestors.
    pub(crate) depth: usize,
    /// The element; for text its parent element.
    pub(crate) element: ElementId,
    bits: u8,
    text: Arc<NodeText>,
    /// Left, top, width and height, if requested: in CSS pixels of the document's viewport, in a
    /// rendered snapshot in pixels of the screenshot.
    pub(crate) bounds: Option<[i32; 4]>,
}

/// The texts of a node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeText {
    pub(crate) role: String,
    /// The accessible name; for text the text itself.
    pub(crate) name: String,
    /// The current value; never a password.
    pub(crate) value: String,
    /// The states, separated by spaces.
    pub(crate) states: String,
    /// The URL of a link or frame; the options of a select; what a field wants; the size of a canvas
    /// or video; the total size of a table.
    pub(crate) detail: String,
}

impl Deref for PageNode {
    type Target = NodeText;

    fn deref(&self) -> &NodeText {
        &self.text
    }
}

impl PageNode {
    /// Whether it is interactive.
    pub(crate) const fn is_interactive(&self) -> bool {
        self.bits & INTERACTIVE != 0
    }

    /// Whether a part of it is in view.
    pub(crate) const fn is_in_view(&self) -> bool {
        self.bits & IN_VIEW != 0
    }

    /// Whether it is text, not an element.
    pub(crate) const fn is_text(&self) -> bool {
        self.bits & TEXT != 0
    }

    /// Whether it contains another document.
    pub(crate) const fn is_frame(&self) -> bool {
        self.bits & FRAME != 0
    }

    /// Whether it is a frame whose document has a URL of its own.
    pub(super) fn has_url(&self) -> bool {
        let is_own = self.detail.starts_with("about:") || self.detail.starts_with("javascript:");
        self.is_frame() && !self.detail.is_empty() && !is_own
    }

    /// Whether it starts a line where the page is rendered.
    pub(crate) const fn starts_line(&self) -> bool {
        self.bits & LINE_START != 0
    }

    /// Whether its name contains all of its text.
    pub(crate) const fn is_named_by_content(&self) -> bool {
        self.bits & NAMED_BY_CONTENT != 0
    }

    /// Whether it follows the previous node without a space.
    pub(crate) const fn joins_previous(&self) -> bool {
        self.bits & JOINED != 0
    }

    /// The node in the tree of the parent document: deeper, possibly out of view, and moved.
    pub(super) fn translated(&self, depth: usize, is_in_view: bool, [left, top]: [i32; 2]) -> Self {
        let mut node = self.clone();
        node.depth += depth;
        if !is_in_view {
            node.bits &= !IN_VIEW;
        }
        node.bounds = node.bounds.map(|[x, y, width, height]| {
            [x.saturating_add(left), y.saturating_add(top), width, height]
        });
        node
    }

    /// The top left corner, if positions were requested.
    pub(super) fn origin(&self) -> [i32; 2] {
        self.bounds.map_or([0, 0], |[x, y, ..]| [x, y])
    }

    /// Whether its texts equal those of another node.
    pub(super) fn same_text(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.text == other.text
    }

    /// A note about the page that is not part of its content.
    pub(crate) fn note(depth: usize, element: ElementId, text: &str) -> Self {
        Self {
            depth,
            element,
            bits: TEXT | LINE_START | IN_VIEW,
            text: Arc::new(NodeText {
                role: "note".to_owned(),
                name: text.to_owned(),
                ..NodeText::default()
            }),
            bounds: None,
        }
    }

    /// Parses a line of the walker; `None` if it is invalid.
    pub(crate) fn read(document: DocumentId, line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let depth = next()?.parse().ok()?;
        let number = next()?.parse().ok()?;
        let bits = next()?.parse().ok()?;
        let [role, name, value, states, detail] =
            [next()?, next()?, next()?, next()?, next()?].map(str::to_owned);
        let bounds = next().and_then(|bounds| {
            let mut edges = bounds.split(',').map(|edge| edge.parse().ok());
            Some([
                edges.next()??,
                edges.next()??,
                edges.next()??,
                edges.next()??,
            ])
        });
        Some(Self {
            depth,
            element: ElementId { document, number },
            bits,
            text: Arc::new(NodeText {
                role,
                name,
                value,
                states,
                detail,
            }),
            bounds,
        })
    }
}

/// The title, URL and viewport of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageHead {
    pub(crate) title: String,
    pub(crate) url: String,
    /// Device pixels per CSS pixel.
    pub(crate) ratio: f64,
    /// Width and height of the viewport.
    pub(crate) view: [i64; 2],
    /// Horizontal and vertical scroll position.
    pub(crate) scroll: [i64; 2],
    /// Width and height of the document.
    pub(crate) extent: [i64; 2],
}

impl PageHead {
    /// The member `view` of the JSON view.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "width": self.view[0], "height": self.view[1],
            "scroll_x": self.scroll[0], "scroll_y": self.scroll[1],
            "page_width": self.extent[0], "page_height": self.extent[1],
            "device_pixel_ratio": self.ratio,
        })
    }
}

/// The nodes of a page at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageTree {
    pub(crate) head: PageHead,
    pub(crate) nodes: Vec<PageNode>,
    /// The number of elements beyond the limits.
    pub(crate) omitted: u64,
    /// A number that increases with each observed change of the page.
    pub(crate) epoch: u64,
}

impl PageTree {
    /// An element with its descendants; `None` if it is not in the tree.
    pub(crate) fn below(&self, element: ElementId) -> Option<&[PageNode]> {
        let first = self
            .nodes
            .iter()
            .position(|node| !node.is_text() && node.element == element)?;
        Some(&self.nodes[first..self.end_of(first)])
    }

    /// The index after the last descendant of the node at `index`.
    pub(crate) fn end_of(&self, bounds: usize) -> usize {
        end_of(&self.nodes, bounds)
    }
}

/// The index after the last descendant of the node at `index`.
pub(crate) fn end_of(nodes: &[PageNode], bounds: usize) -> usize {
    let Some(root) = nodes.get(bounds) else {
        return nodes.len();
    };
    let below = &nodes[bounds + 1..];
    let length = below.iter().position(|node| node.depth <= root.depth);
    length.map_or(nodes.len(), |length| bounds + 1 + length)
}

/// For each node the index after its last descendant.
pub(super) fn ends(nodes: &[PageNode]) -> Vec<usize> {
    let mut open: Vec<usize> = Vec::new();
    let mut ends = vec![nodes.len(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        while let Some(last) = open.pop_if(|last| nodes[*last].depth >= node.depth) {
            ends[last] = index;
        }
        open.push(index);
    }
    ends
}

/// For each node the index of its parent; `None` for the outermost ones.
pub(super) fn parents(nodes: &[PageNode]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut parents = Vec::with_capacity(nodes.len());
    for (bounds, node) in nodes.iter().enumerate() {
        while open
            .last()
            .is_some_and(|last| nodes[*last].depth >= node.depth)
        {
            open.pop();
        }
        parents.push(open.last().copied());
        open.push(bounds);
    }
    parents
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Nodes of one document from depth, bits, role and name; numbered from 1.
    pub(crate) fn nodes(lines: &[(usize, u8, &str, &str)]) -> Vec<PageNode> {
        (1..)
            .zip(lines)
            .map(|(number, (depth, bits, role, name)): (u32, _)| {
                let line = format!("{depth}\t{number}\t{bits}\t{role}\t{name}\t\t\t\t");
                PageNode::read(DocumentId(1), &line).unwrap()
            })
            .collect()
    }

    #[test]
    fn a_line_is_parsed_into_a_node() {
        let line = "2\t7\t19\tslider\tVolume\t30\tdisabled\t\t1,-2,30,40";
        let node = PageNode::read(DocumentId(3), line).unwrap();
        assert!(node.is_interactive() && node.is_in_view() && node.starts_line());
        assert!(!node.is_text() && !node.is_frame());
        assert_eq!((node.depth, node.element.number), (2, 7));
        assert_eq!(
            (node.name.as_str(), node.value.as_str(), node.bounds),
            ("Volume", "30", Some([1, -2, 30, 40]))
        );
        assert_eq!(PageNode::read(DocumentId(3), "no\tnode"), None);
    }

    #[test]
    fn a_subtree_ends_with_its_last_descendant() {
        let nodes = nodes(&[
            (0, 0, "main", ""),
            (1, 0, "list", ""),
            (2, 1, "link", "a"),
            (1, 1, "link", "b"),
            (0, 1, "link", "c"),
        ]);
        assert_eq!([0, 1, 2].map(|bounds| end_of(&nodes, bounds)), [4, 3, 3]);
        assert_eq!(ends(&nodes), [4, 3, 3, 4, 5]);
        assert_eq!(parents(&nodes), [None, Some(0), Some(1), Some(0), None]);
    }
}
