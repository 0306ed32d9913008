//! Pixels in frames that are rotated, skewed, mirrored or in perspective.

use serde_json::{Value, json};
use telechir_device::DeviceError;

use super::node::ElementId;
use super::page::PageReader;
use crate::cdp_session::CdpSession;

impl PageReader<'_> {
    /// The pixel of a rotated frame's content, from its share of width and height: in the outermost
    /// document of the same process, to which CDP's boxes are relative, with that document's element.
    pub(super) async fn in_turned_frame(
        &self,
        owner: ElementId,
        share: &Value,
    ) -> Result<Option<(Value, ElementId)>, DeviceError> {
        let Some(document) = self.documents.get(owner.document) else {
            return Ok(None);
        };
        let page = CdpSession::new(self.client, document.session(), self.limit);
        let params = json!({
            "expression": format!("telechirWalker.element({})", owner.number),
            "contextId": document.context(), "objectGroup": "telechir-frames",
        });
        let found = page.call("Runtime.evaluate", params).await?;
        let params = json!({ "objectId": found["result"]["objectId"] });
        let model = page.call("DOM.getBoxModel", params).await?;
        let group = json!({ "objectGroup": "telechir-frames" });
        page.notify("Runtime.releaseObjectGroup", group);
        let quad: [f64; 8] = std::array::from_fn(|at| {
            let edge = model["model"]["content"][at].as_f64();
            edge.unwrap_or_default()
        });
        let share = [0, 1].map(|at| share[at].as_f64().unwrap_or_default());
        let at = projected(&quad, share).map(|edge| json!(to_pixel(edge.round())));
        let outermost = self.outermost_of_process(owner);
        let hit = self.call(outermost, "hitAt", at.into()).await?;
        Ok(hit.map(|hit| (hit, outermost)))
    }

    /// The frame element that contains this one, in the outermost document of the same process.
    fn outermost_of_process(&self, owner: ElementId) -> ElementId {
        let mut at = owner;
        while let Some(document) = self.documents.get(at.document)
            && let Some(above) = document.location.owner
            && let Some(parent) = self.documents.get(above.document)
            && parent.session() == document.session()
        {
            at = above;
        }
        at
    }
}

/// The point at a share of width and height of a rectangle that is drawn as this quadrilateral, from
/// the top left corner clockwise, also in perspective.
fn projected([x0, y0, x1, y1, x2, y2, x3, y3]: &[f64; 8], [across, down]: [f64; 2]) -> [f64; 2] {
    let (dx1, dx2, sx) = (x1 - x2, x3 - x2, x0 - x1 + x2 - x3);
    let (dy1, dy2, sy) = (y1 - y2, y3 - y2, y0 - y1 + y2 - y3);
    let area = dx1 * dy2 - dx2 * dy1;
    let [tilt_across, tilt_down] = match area.abs() < f64::EPSILON {
        true => [0.0; 2],
        false => [(sx * dy2 - dx2 * sy) / area, (dx1 * sy - sx * dy1) / area],
    };
    let depth = tilt_across * across + tilt_down * down + 1.0;
    let edge = |first: f64, right: f64, below: f64| {
        let right = right - first + tilt_across * right;
        let below = below - first + tilt_down * below;
        (right * across + below * down + first) / depth
    };
    [edge(*x0, *x1, *x3), edge(*y0, *y1, *y3)]
}

/// A coordinate in whole pixels.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
fn to_pixel(edge: f64) -> i64 {
    edge as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_point_of_the_quadrilateral() {
        let turned = [100.0, 0.0, 100.0, 40.0, 80.0, 40.0, 80.0, 0.0];
        assert_eq!(projected(&turned, [0.5, 0.5]), [90.0, 20.0]);
        assert_eq!(projected(&turned, [1.0, 0.0]), [100.0, 40.0]);
    }

    #[test]
    fn the_middle_in_perspective_is_where_the_diagonals_meet() {
        let leaning = [0.0, 0.0, 90.0, 30.0, 90.0, 60.0, 0.0, 90.0];
        let [x, y] = projected(&leaning, [0.5, 0.5]);
        assert!(
            (x - 67.5).abs() < 1e-9 && (y - 45.0).abs() < 1e-9,
            "{x} {y}"
        );
    }
}
