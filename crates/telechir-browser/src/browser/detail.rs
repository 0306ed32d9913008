//! Screenshots of an element, and of a region with more pixels than the screen has.

use serde_json::json;
use telechir_device::{DeviceError, Frame, PartLocation, ScreenRegion, ScreenTarget};

use super::Browser;
use super::actions::element_of;
use crate::capture::frame_of;
use crate::error::refused;

/// Pixels of a detail for each pixel of the screen.
const DETAIL: u32 = 2;

impl Browser {
    /// Scrolls an element of the active tab into view; returns its part on the screen.
    pub(super) async fn visible_part(
        &mut self,
        target: &ScreenTarget,
    ) -> Result<PartLocation, DeviceError> {
        let id = match target {
            ScreenTarget::Named(named) => self.ref_of(named).await?,
            ScreenTarget::Point(_) | ScreenTarget::Element { .. } => element_of(target)?.to_owned(),
        };
        let (tab, _) = self.live_tab(None).await?;
        self.scroll_to(&tab, &id).await?;
        let element = self.element(&tab, &id)?;
        let tree = self.tree_with_boxes(&tab).await?;
        let mut nodes = tree.nodes.iter();
        let node = nodes.find(|node| node.element == element);
        let node = node.ok_or_else(|| self.stale(&tab, &id))?;
        let hidden = || refused(format!("The element {id} is not visible."));
        let [left, top, width, height] = node.bounds.ok_or_else(hidden)?;
        let edges = [
            left,
            top,
            left.saturating_add(width),
            top.saturating_add(height),
        ];
        let scale = self.input.scale;
        let edges @ [left, top, right, bottom] = edges.map(|edge| scale.edge(edge));
        let region = ScreenRegion::clip(self.size, edges).ok_or_else(hidden)?;
        let mut description = self.snapshots.line(node);
        let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
        let shown = region.size();
        if width.cast_unsigned() > shown.width || height.cast_unsigned() > shown.height {
            description += &format!(
                "; the screenshot shows {}x{} of its {width}x{height} pixels",
                shown.width, shown.height
            );
        }
        Ok(PartLocation {
            region,
            description,
        })
    }

    /// A region of a page without a window, with `DETAIL` times the pixels; a window's screen has no
    /// more.
    pub(super) async fn detail(
        &mut self,
        region: ScreenRegion,
    ) -> Result<Option<Frame>, DeviceError> {
        if self.screen.is_some() {
            return Ok(None);
        }
        let page = self.live_page().await?;
        let metrics = page.call("Page.getLayoutMetrics", json!({})).await?;
        let viewport = &metrics["cssVisualViewport"];
        let offset = |name: &str| viewport[name].as_f64().unwrap_or_default();
        let scale = self.input.scale;
        let (origin, size) = (region.origin(), region.size());
        let clip = json!({
            "x": scale.to_page(origin.x()) + offset("pageX"),
            "y": scale.to_page(origin.y()) + offset("pageY"),
            "width": scale.to_page(size.width), "height": scale.to_page(size.height),
            "scale": f64::from(DETAIL) * scale.get() / self.setup.scale.get(),
        });
        let params = json!({ "format": "png", "optimizeForSpeed": true, "clip": clip });
        let captured = page.call("Page.captureScreenshot", params).await?;
        frame_of(captured["data"].as_str().unwrap_or_default()).map(Some)
    }
}
