//! Selects the elements to label on a screenshot.

use telechir_protocol::Size;

use super::{front_at, owner};
use crate::elements::ElementTree;
use crate::{Mark, MarkKind, ScreenTarget, Window};

/// A smaller element can neither be seen nor clicked.
const MIN_ELEMENT_PX: u32 = 4;

/// Interactive elements that are in view and not covered by another window.
pub(super) fn interactive_marks(
    tree: &ElementTree,
    windows: &[Window],
    size: Size,
    max_marks: usize,
) -> Vec<Mark> {
    let mut own = None;
    let mut marks: Vec<Mark> = Vec::new();
    for element in &tree.elements {
        if element.depth == 0 {
            own = owner(windows, &element.name);
        }
        let Some(region) = element.bounds.and_then(|bounds| bounds.on(size)) else {
            continue;
        };
        let is_seen =
            region.size().width >= MIN_ELEMENT_PX && region.size().height >= MIN_ELEMENT_PX;
        // A link that fills its cell, or a button that is alone in its container, is one target.
        let is_same = marks
            .last()
            .is_some_and(|mark| mark.region.centre() == region.centre());
        let is_in_front = own.is_none_or(|own| {
            !own.bounds.contains(region.centre())
                || front_at(windows, region.centre()).is_none_or(|front| front.id == own.id)
        });
        let is_marked = element.is_interactive() && !element.is_unused_cell();
        if marks.len() < max_marks && is_marked && is_seen && !is_same && is_in_front {
            marks.push(Mark {
                target: ScreenTarget::Element {
                    id: element.id.clone(),
                    frame: None,
                },
                region,
                kind: MarkKind::of(element),
                line: element.line(),
            });
        }
    }
    marks
}
