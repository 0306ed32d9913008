//! What the walker says of a page: nodes, parents before what they hold.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

/// Which document a node is of. Never given twice in a browser's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(pub(crate) u64);

/// An element of a document, by the number its walker gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ElementId {
    pub(crate) document: DocumentId,
    pub(crate) number: u32,
}

const ACTS: u8 = 1;
const IN_VIEW: u8 = 2;
const WORDS: u8 = 4;
const FRAME: u8 = 8;
const BREAKS: u8 = 16;
const WHOLE: u8 = 32;
const GLUED: u8 = 64;

/// An element, or words between elements. A copy costs next to nothing, for its words are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// How many of those before it hold it.
    pub(crate) depth: usize,
    /// The element; of words the one that holds them.
    pub(crate) element: ElementId,
    bits: u8,
    said: Arc<Said>,
    /// Left, top, width and height in pixels of its document's view, where it was asked for.
    pub(crate) place: Option<[i32; 4]>,
}

/// What a node says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) role: String,
    /// What it is called; the words themselves.
    pub(crate) name: String,
    /// What it holds. Never a password.
    pub(crate) value: String,
    /// How it is, in words with a space between.
    pub(crate) states: String,
    /// Where a link leads, what a select offers.
    pub(crate) more: String,
}

impl Deref for Node {
    type Target = Said;

    fn deref(&self) -> &Said {
        &self.said
    }
}

impl Node {
    /// Whether a person could act on it.
    pub(crate) const fn acts(&self) -> bool {
        self.bits & ACTS != 0
    }

    /// Whether some of it is in view.
    pub(crate) const fn is_in_view(&self) -> bool {
        self.bits & IN_VIEW != 0
    }

    /// Whether it is words and no element.
    pub(crate) const fn is_words(&self) -> bool {
        self.bits & WORDS != 0
    }

    /// Whether it holds another document.
    pub(crate) const fn is_frame(&self) -> bool {
        self.bits & FRAME != 0
    }

    /// Whether it is a frame that is to show a document with an address.
    pub(super) fn leads_somewhere(&self) -> bool {
        let is_own = self.more.starts_with("about:") || self.more.starts_with("javascript:");
        self.is_frame() && !self.more.is_empty() && !is_own
    }

    /// Whether it begins a line of its own where the page is drawn.
    pub(crate) const fn breaks(&self) -> bool {
        self.bits & BREAKS != 0
    }

    /// Whether its name says all the words in it.
    pub(crate) const fn is_told_by_its_name(&self) -> bool {
        self.bits & WHOLE != 0
    }

    /// Whether there is no space between it and what is before it.
    pub(crate) const fn is_glued(&self) -> bool {
        self.bits & GLUED != 0
    }

    /// The same node where its document lies: so deep, in view or not, from this pixel on.
    pub(super) fn moved(&self, depth: usize, is_in_view: bool, [left, top]: [i32; 2]) -> Self {
        let mut node = self.clone();
        node.depth += depth;
        if !is_in_view {
            node.bits &= !IN_VIEW;
        }
        node.place = node.place.map(|[x, y, width, height]| {
            [x.saturating_add(left), y.saturating_add(top), width, height]
        });
        node
    }

    /// The pixel of its top left corner, where that was asked for.
    pub(super) fn origin(&self) -> [i32; 2] {
        self.place.map_or([0, 0], |[x, y, ..]| [x, y])
    }

    /// Whether it says the same of itself as another one.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.said, &other.said) || self.said == other.said
    }

    /// Words that are said about the page beside what it holds.
    pub(crate) fn note(depth: usize, element: ElementId, words: &str) -> Self {
        Self {
            depth,
            element,
            bits: WORDS | BREAKS | IN_VIEW,
            said: Arc::new(Said {
                role: "note".to_owned(),
                name: words.to_owned(),
                ..Said::default()
            }),
            place: None,
        }
    }

    /// Reads a line of the walker's; none when it is none.
    pub(crate) fn read(document: DocumentId, line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let depth = next()?.parse().ok()?;
        let number = next()?.parse().ok()?;
        let bits = next()?.parse().ok()?;
        let [role, name, value, states, more] =
            [next()?, next()?, next()?, next()?, next()?].map(str::to_owned);
        let place = next().and_then(|place| {
            let mut edges = place.split(',').map(|edge| edge.parse().ok());
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
            said: Arc::new(Said {
                role,
                name,
                value,
                states,
                more,
            }),
            place,
        })
    }
}

/// How a document lies in its view.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) title: String,
    pub(crate) url: String,
    /// Pixels of the screen to one of the page.
    pub(crate) ratio: f64,
    /// Width and height of the view.
    pub(crate) view: [i64; 2],
    /// How far it is scrolled to the right and down.
    pub(crate) scroll: [i64; 2],
    /// Width and height of the whole document.
    pub(crate) extent: [i64; 2],
}

impl Head {
    /// As it stands in JSON.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "width": self.view[0], "height": self.view[1],
            "scroll_x": self.scroll[0], "scroll_y": self.scroll[1],
            "page_width": self.extent[0], "page_height": self.extent[1],
            "device_pixel_ratio": self.ratio,
        })
    }
}

/// A page at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(crate) head: Head,
    pub(crate) nodes: Vec<Node>,
    /// Elements beyond what is read.
    pub(crate) left: u64,
    /// A number that rises with each change of the page that is seen.
    pub(crate) epoch: u64,
}

impl Tree {
    /// An element and all it holds; none when it is not here.
    pub(crate) fn below(&self, element: ElementId) -> Option<&[Node]> {
        let first = self
            .nodes
            .iter()
            .position(|node| !node.is_words() && node.element == element)?;
        Some(&self.nodes[first..self.end_of(first)])
    }

    /// Where the part ends that the node at this place holds.
    pub(crate) fn end_of(&self, place: usize) -> usize {
        end_of(&self.nodes, place)
    }
}

/// Where the part ends that the node at this place holds.
pub(crate) fn end_of(nodes: &[Node], place: usize) -> usize {
    let Some(root) = nodes.get(place) else {
        return nodes.len();
    };
    let below = &nodes[place + 1..];
    let length = below.iter().position(|node| node.depth <= root.depth);
    length.map_or(nodes.len(), |length| place + 1 + length)
}

/// For each node the place of the one that holds it; none for the outermost.
pub(super) fn holders(nodes: &[Node]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut holders = Vec::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        while open
            .last()
            .is_some_and(|last| nodes[*last].depth >= node.depth)
        {
            open.pop();
        }
        holders.push(open.last().copied());
        open.push(place);
    }
    holders
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Nodes of one document from the walker's fields: depth, bits, role, name; numbered from 1.
    pub(crate) fn nodes(lines: &[(usize, u8, &str, &str)]) -> Vec<Node> {
        (1..)
            .zip(lines)
            .map(|(number, (depth, bits, role, name)): (u32, _)| {
                let line = format!("{depth}\t{number}\t{bits}\t{role}\t{name}\t\t\t\t");
                Node::read(DocumentId(1), &line).unwrap()
            })
            .collect()
    }

    #[test]
    fn a_line_is_a_node() {
        let line = "2\t7\t19\tslider\tVolume\t30\tdisabled\t\t1,-2,30,40";
        let node = Node::read(DocumentId(3), line).unwrap();
        assert!(node.acts() && node.is_in_view() && node.breaks());
        assert!(!node.is_words() && !node.is_frame());
        assert_eq!((node.depth, node.element.number), (2, 7));
        assert_eq!(
            (node.name.as_str(), node.value.as_str(), node.place),
            ("Volume", "30", Some([1, -2, 30, 40]))
        );
        assert_eq!(Node::read(DocumentId(3), "no\tnode"), None);
    }

    #[test]
    fn a_part_ends_with_the_last_it_holds() {
        let nodes = nodes(&[
            (0, 0, "main", ""),
            (1, 0, "list", ""),
            (2, 1, "link", "a"),
            (1, 1, "link", "b"),
            (0, 1, "link", "c"),
        ]);
        assert_eq!([0, 1, 2].map(|place| end_of(&nodes, place)), [4, 3, 3]);
        assert_eq!(holders(&nodes), [None, Some(0), Some(1), Some(0), None]);
    }
}
