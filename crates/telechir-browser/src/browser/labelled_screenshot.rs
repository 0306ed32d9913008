//! A screenshot with the elements, epoch and pixel ratio of the same moment.

use telechir_device::{
    Computer as _, DeviceError, Element, ElementState, ElementStates, Frame, Mark, MarkKind,
    ScreenRegion, ScreenTarget,
};
use telechir_protocol::Size;

use super::Browser;
use crate::scale::Scale;
use crate::snapshot::{PageNode, PageTree, Scope};
use crate::tab_registry::Tab;

/// Attempts to take a screenshot without a change of the page meanwhile.
const MAX_ATTEMPTS: u32 = 3;
/// Elements smaller than this in one direction get no mark.
const MIN_MARK_PX: u32 = 4;

/// A screenshot with the elements that it shows.
#[derive(Clone, Debug)]
pub struct ScreenshotWithElements {
    /// The pixels of the page.
    pub frame: Frame,
    /// The interactive elements in view, in reading order.
    pub marks: Vec<Mark>,
    /// A number that increases with each observed change of the page.
    pub epoch: u64,
    /// Screenshot pixels per CSS pixel.
    pub pixel_ratio: f64,
    /// Whether the page was unchanged before and after the capture; a page that changes constantly
    /// never is.
    pub is_consistent: bool,
}

impl Browser {
    /// Captures the active page with at most `max_marks` elements.
    ///
    /// # Errors
    ///
    /// If the page does not answer, or the browser is gone.
    pub async fn screenshot_with_elements(
        &mut self,
        max_marks: usize,
    ) -> Result<ScreenshotWithElements, DeviceError> {
        let (tab, _) = self.live_tab(None).await?;
        let mut before = self.tree_with_boxes(&tab).await?;
        let mut attempts = 0;
        loop {
            let frame = self.capture().await?;
            let after = self.tree_with_boxes(&tab).await?;
            let is_consistent = before.epoch == after.epoch;
            attempts += 1;
            if is_consistent || attempts == MAX_ATTEMPTS {
                return Ok(ScreenshotWithElements {
                    marks: self.marks_in(&after, frame.size(), max_marks),
                    frame,
                    epoch: after.epoch,
                    pixel_ratio: after.head.ratio,
                    is_consistent,
                });
            }
            before = after;
        }
    }

    /// The interactive elements in view of the active page, up to a limit.
    pub(super) async fn visible_marks(
        &mut self,
        max_marks: usize,
    ) -> Result<Vec<Mark>, DeviceError> {
        let (tab, _) = self.live_tab(None).await?;
        let tree = self.tree_with_boxes(&tab).await?;
        let size = self.size;
        Ok(self.marks_in(&tree, size, max_marks))
    }

    pub(super) async fn tree_with_boxes(&mut self, tab: &Tab) -> Result<PageTree, DeviceError> {
        let scope = Scope {
            boxes: true,
            thorough: false,
        };
        self.tree(tab, scope).await
    }

    fn marks_in(&mut self, tree: &PageTree, screenshot: Size, max_marks: usize) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for node in &tree.nodes {
            if marks.len() == max_marks {
                break;
            }
            let Some(region) = region_of(node, screenshot, self.input.scale) else {
                continue;
            };
            // A button that fills its link is one element to act on.
            let is_same = marks.last().is_some_and(|mark| mark.region == region);
            if !node.is_interactive() || !node.is_in_view() || is_same {
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

/// The visible part of an element, if it is large enough.
fn region_of(node: &PageNode, screenshot: Size, scale: Scale) -> Option<ScreenRegion> {
    let [left, top, width, height] = node.bounds?;
    let edges = [
        left,
        top,
        left.saturating_add(width),
        top.saturating_add(height),
    ];
    let edges = edges.map(|edge| scale.edge(edge));
    let region = ScreenRegion::clip(screenshot, edges)?;
    let size = region.size();
    (size.width >= MIN_MARK_PX && size.height >= MIN_MARK_PX).then_some(region)
}

/// The element in the form of an accessibility element.
fn element(node: &PageNode, id: &str) -> Element {
    let is_editor = node.role == "textbox";
    let states = if is_editor {
        ElementStates::of(&[ElementState::Editable])
    } else {
        ElementStates::default()
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
