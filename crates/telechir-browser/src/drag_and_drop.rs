//! A page's own drag and drop: what is dragged, told to the page as the pointer carries it.

use serde_json::{Value, json};

use crate::error::CdpError;
use crate::input_state::Mouse;
use crate::cdp_session::Page;
use crate::scale::Scale;

const DRAG: &str = "Input.dispatchDragEvent";

/// What a page lets the pointer carry.
#[derive(Debug)]
pub(crate) struct Dragged {
    data: Value,
    entered: bool,
}

impl Dragged {
    /// A drag that Chromium handed over with this data.
    pub(crate) const fn new(data: Value) -> Self {
        Self {
            data,
            entered: false,
        }
    }

    /// Carries it there.
    pub(crate) async fn move_to(&mut self, page: &Page, mouse: Mouse) -> Result<(), CdpError> {
        if !self.entered {
            self.entered = true;
            self.tell(page, "dragEnter", mouse).await?;
        }
        self.tell(page, "dragOver", mouse).await
    }

    /// Drops it there.
    pub(crate) async fn drop_at(mut self, page: &Page, mouse: Mouse) -> Result<(), CdpError> {
        // The page allows a drop only where it was asked just before.
        self.move_to(page, mouse).await?;
        self.tell(page, "drop", mouse).await
    }

    /// Ends it without a drop.
    pub(crate) async fn cancel(self, page: &Page) -> Result<(), CdpError> {
        let nowhere = Mouse {
            x: 0,
            y: 0,
            scale: Scale::default(),
            modifiers: 0,
            buttons: 0,
        };
        self.tell(page, "dragCancel", nowhere).await
    }

    async fn tell(&self, page: &Page, kind: &str, mouse: Mouse) -> Result<(), CdpError> {
        let (x, y) = mouse.in_page();
        let params = json!({
            "type": kind, "x": x, "y": y, "modifiers": mouse.modifiers,
            "data": self.data,
        });
        page.call(DRAG, params).await.map(|_| ())
    }
}
