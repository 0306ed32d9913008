//! HTML drag and drop: reports an intercepted drag to the page as the pointer moves.

use serde_json::{Value, json};

use crate::cdp_session::CdpSession;
use crate::error::CdpError;
use crate::input_state::Mouse;
use crate::scale::Scale;

const DISPATCH_DRAG_EVENT: &str = "Input.dispatchDragEvent";

/// A drag that the page started.
#[derive(Debug)]
pub(crate) struct DragSession {
    data: Value,
    entered: bool,
}

impl DragSession {
    /// A drag that Chromium intercepted, with its data.
    pub(crate) const fn new(data: Value) -> Self {
        Self {
            data,
            entered: false,
        }
    }

    /// Moves the drag to a position.
    pub(crate) async fn move_to(
        &mut self,
        page: &CdpSession,
        mouse: Mouse,
    ) -> Result<(), CdpError> {
        if !self.entered {
            self.entered = true;
            self.dispatch(page, "dragEnter", mouse).await?;
        }
        self.dispatch(page, "dragOver", mouse).await
    }

    /// Drops at a position.
    pub(crate) async fn drop_at(mut self, page: &CdpSession, mouse: Mouse) -> Result<(), CdpError> {
        // The page accepts a drop only right after a `dragover`.
        self.move_to(page, mouse).await?;
        self.dispatch(page, "drop", mouse).await
    }

    /// Cancels the drag without a drop.
    pub(crate) async fn cancel(self, page: &CdpSession) -> Result<(), CdpError> {
        let nowhere = Mouse {
            x: 0,
            y: 0,
            scale: Scale::default(),
            modifiers: 0,
            buttons: 0,
        };
        self.dispatch(page, "dragCancel", nowhere).await
    }

    async fn dispatch(&self, page: &CdpSession, kind: &str, mouse: Mouse) -> Result<(), CdpError> {
        let (x, y) = mouse.in_page();
        let params = json!({
            "type": kind, "x": x, "y": y, "modifiers": mouse.modifiers,
            "data": self.data,
        });
        page.call(DISPATCH_DRAG_EVENT, params).await.map(|_| ())
    }
}
