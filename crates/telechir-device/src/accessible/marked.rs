//! Which elements get a number on a picture.

use telechir_protocol::Size;

use super::{front_at, owner};
use crate::elements::Tree;
use crate::{Mark, MarkKind, ScreenTarget, Window};

/// Smaller than this in a direction, an element is not seen and not hit.
const SMALLEST: u32 = 4;

/// What is in view of the elements that can be acted on and that no other window covers.
pub(super) fn marked(tree: &Tree, windows: &[Window], size: Size, at_most: usize) -> Vec<Mark> {
    let mut own = None;
    let mut marks: Vec<Mark> = Vec::new();
    for element in &tree.elements {
        if element.depth == 0 {
            own = owner(windows, &element.name);
        }
        let Some(region) = element.bounds.and_then(|bounds| bounds.on(size)) else {
            continue;
        };
        let is_seen = region.size().width >= SMALLEST && region.size().height >= SMALLEST;
        // A link in a cell that it fills, or a button in what holds only it, is one thing to act on.
        let is_same = marks
            .last()
            .is_some_and(|mark| mark.region.centre() == region.centre());
        let is_in_front = own.is_none_or(|own| {
            !own.place.contains(region.centre())
                || front_at(windows, region.centre()).is_none_or(|front| front.id == own.id)
        });
        if marks.len() < at_most && element.is_interactive() && is_seen && !is_same && is_in_front {
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
