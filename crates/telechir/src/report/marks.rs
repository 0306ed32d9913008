//! Where the actions of a call pointed, in pixels of the screenshot that the model aimed at.

use serde_json::Value;
use telechir_protocol::{Action, Content, Point, Size, Space, Target};

/// A position to mark on a screenshot.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ActionMark {
    /// A click, a press or a scroll.
    At((f64, f64)),
    /// A drag along these points.
    Path(Vec<(f64, f64)>),
}

/// The marks of a recorded call on a screenshot of this size; actions on elements have none.
pub(super) fn of_call(call: &Value, size: Size) -> Vec<ActionMark> {
    let Ok(Content::ComputerCall(call)) = serde_json::from_value(call.clone()) else {
        return Vec::new();
    };
    call.actions
        .iter()
        .filter_map(|action| of_action(action, size))
        .collect()
}

fn of_action(action: &Action, size: Size) -> Option<ActionMark> {
    if let Action::Drag { path, .. } = action {
        let path: Vec<_> = path
            .iter()
            .filter_map(|target| position(target, size))
            .collect();
        return (!path.is_empty()).then_some(ActionMark::Path(path));
    }
    Some(ActionMark::At(position(action.target()?, size)?))
}

fn position(target: &Target, size: Size) -> Option<(f64, f64)> {
    let Target::Point(Point { x, y, space }) = target else {
        return None;
    };
    match space {
        Space::Screenshot => Some((*x, *y)),
        Space::Thousandths => Some((
            x * f64::from(size.width) / 1000.0,
            y * f64::from(size.height) / 1000.0,
        )),
        Space::Screen => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn points_are_marked_in_pixels_of_the_screenshot() {
        let call = json!({"type": "computer_call", "call_id": "c1", "actions": [
            {"action": "click", "coordinate": [5, 6]},
            {"action": "click", "coordinate": {"x": 500, "y": 250, "space": "thousandths"}},
            {"action": "click", "coordinate": {"ref": "e4"}},
            {"action": "drag", "path": [[1, 2], [3, 4]]},
            {"action": "screenshot"},
        ]});
        assert_eq!(
            of_call(&call, Size::new(200, 100)),
            [
                ActionMark::At((5.0, 6.0)),
                ActionMark::At((100.0, 25.0)),
                ActionMark::Path(vec![(1.0, 2.0), (3.0, 4.0)])
            ]
        );
    }
}
