//! A picture and what it shows, of the same moment: elements to number, the page's epoch, and how
//! many of the picture's pixels are one of the page's.

use telechir_device::{
    Computer as _, DeviceError, Element, Frame, Mark, MarkKind, ScreenRegion, ScreenTarget, State,
    States,
};
use telechir_protocol::Size;

use super::Browser;
use crate::tab_registry::Tab;
use crate::scale::Scale;
use crate::snapshot::{Node, Scope, Tree};

/// How often picture and page are taken again when the page changed between them.
const TRIES: u32 = 3;
/// Smaller than this in a direction, an element is not seen and not hit.
const SMALLEST: u32 = 4;

/// A picture and what it shows.
#[derive(Clone, Debug)]
pub struct ScreenshotWithElements {
    /// The pixels.
    pub frame: Frame,
    /// What can be acted on and is in view, in the order it is read.
    pub marks: Vec<Mark>,
    /// A number that rises with each change of the page that is seen.
    pub epoch: u64,
    /// Pixels of the picture to one of the page.
    pub pixel_ratio: f64,
    /// Whether the page was the same before and after the picture was taken. One that changes all
    /// the time never is.
    pub is_whole: bool,
}

impl Browser {
    /// Takes a picture of the page in front with at most so many elements to number.
    ///
    /// # Errors
    /// When the page does not answer, or the browser is gone.
    pub async fn paired(&mut self, at_most: usize) -> Result<ScreenshotWithElements, DeviceError> {
        let (tab, _) = self.living_tab(None).await?;
        let mut before = self.placed(&tab).await?;
        let mut tries = 0;
        loop {
            let frame = self.capture().await?;
            let after = self.placed(&tab).await?;
            let is_whole = before.epoch == after.epoch;
            tries += 1;
            if is_whole || tries == TRIES {
                return Ok(ScreenshotWithElements {
                    marks: self.marks_of(&after, frame.size(), at_most),
                    frame,
                    epoch: after.epoch,
                    pixel_ratio: after.head.ratio,
                    is_whole,
                });
            }
            before = after;
        }
    }

    /// What can be acted on and is in view of the page in front, at most so many.
    pub(super) async fn in_view(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        let (tab, _) = self.living_tab(None).await?;
        let tree = self.placed(&tab).await?;
        let size = self.size;
        Ok(self.marks_of(&tree, size, at_most))
    }

    async fn placed(&mut self, tab: &Tab) -> Result<Tree, DeviceError> {
        let scope = Scope {
            boxes: true,
            thorough: false,
        };
        self.tree(tab, scope).await
    }

    fn marks_of(&mut self, tree: &Tree, screenshot: Size, at_most: usize) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for node in &tree.nodes {
            if marks.len() == at_most {
                break;
            }
            let Some(region) = region_of(node, screenshot, self.setup.scale) else {
                continue;
            };
            // A button in a link that it fills is one thing to act on.
            let is_same = marks.last().is_some_and(|mark| mark.region == region);
            if !node.acts() || !node.is_in_view() || is_same {
                continue;
            }
            let id = self.snapshots.ref_of(node);
            let line = self.snapshots.line(node);
            marks.push(Mark {
                kind: MarkKind::of(&element(node, &id)),
                target: ScreenTarget::Element { id, frame: None },
                region,
                line,
            });
        }
        marks
    }
}

/// What of an element is on the picture, when it can be seen there.
fn region_of(node: &Node, screenshot: Size, scale: Scale) -> Option<ScreenRegion> {
    let [left, top, width, height] = node.place?;
    let edges = [
        left,
        top,
        left.saturating_add(width),
        top.saturating_add(height),
    ];
    let edges = edges.map(|edge| scale.edge(edge));
    let region = ScreenRegion::seen(screenshot, edges)?;
    let size = region.size();
    (size.width >= SMALLEST && size.height >= SMALLEST).then_some(region)
}

/// The element as a desktop's would be told.
fn element(node: &Node, id: &str) -> Element {
    let is_editor = node.role == "textbox";
    let states = if is_editor {
        States::of(&[State::Editable])
    } else {
        States::default()
    };
    Element {
        id: id.to_owned(),
        depth: node.depth,
        role: node.role.clone().into(),
        name: node.name.clone(),
        value: None,
        automation_id: None,
        states,
        bounds: None,
        actions: Vec::new(),
    }
}
