//! Typing by pasting: optional, for text that is long or contains characters missing in the layout.
//! The previous clipboard content is restored afterwards.

use std::time::Duration;

use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};
use tokio::time::timeout;

use crate::clipboard::Selection;
use crate::display::XDisplay;
use crate::display_io::DisplayIo;
use crate::error::XError;
use crate::keyboard::KeyLookup;
use crate::text;

/// Shorter text is faster to type if the layout has all its characters.
const MIN_PASTE_CHARS: usize = 200;
/// Maximum wait for the client to request the pasted text.
const PASTE_TIMEOUT: Duration = Duration::from_secs(2);
/// Window classes that paste the primary selection on shift+Insert and treat ctrl+v as a character.
const TERMINALS: [&str; 12] = [
    "xterm",
    "uxterm",
    "urxvt",
    "rxvt",
    "st",
    "kitty",
    "alacritty",
    "terminal",
    "konsole",
    "terminator",
    "tilix",
    "mlterm",
];

/// How text is entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Typing {
    /// Key by key, whatever the text contains. A line break is typed as Enter.
    #[default]
    Keys,
    /// Pastes text that is longer than 200 characters or contains characters missing in the layout,
    /// then restores the clipboard. Line breaks are pasted as characters, which most programs treat
    /// as Enter. If the clipboard cannot be saved first, the text is typed key by key.
    Paste,
}

impl DisplayIo {
    /// Whether text is long enough or needs characters that the layout lacks.
    pub(crate) async fn should_paste(&mut self, text: &str) -> Result<bool, XError> {
        let modes = self.keyboard.refresh(&self.view.connection).await?;
        let is_missing = |c: char| {
            !c.is_control() && matches!(self.keyboard.of_char(c, modes), KeyLookup::NotInLayout(_))
        };
        Ok(text.chars().count() > MIN_PASTE_CHARS || text.chars().any(is_missing))
    }

    /// Pastes text into the focused window; false if the clipboard could not be saved and restored.
    pub(crate) async fn paste(
        &mut self,
        display: &XDisplay,
        text: &str,
    ) -> Result<bool, DeviceError> {
        text::keystrokes(text)?;
        let is_terminal = self.is_terminal().await?;
        let selections: &[Selection] = if is_terminal {
            &[Selection::Clipboard, Selection::Primary]
        } else {
            // Owning the primary selection would deselect the text that the paste replaces.
            &[Selection::Clipboard]
        };
        for selection in selections {
            let connection = &self.view.connection;
            match self.clipboard.save(connection, *selection).await {
                Ok(saved) => self.saved_selections.push(saved),
                Err(XError::Lost(error)) => return Err(XError::Lost(error).into()),
                Err(error) => {
                    tracing::debug!(%error, "the clipboard could not be saved; typing key by key");
                    self.saved_selections.clear();
                    return Ok(false);
                }
            }
        }
        for selection in selections {
            self.clipboard.write(display, *selection, text).await?;
        }
        let pasted = self.press_paste(is_terminal).await;
        let restored = self.restore_selections().await;
        pasted?;
        Ok(restored.map(|()| true)?)
    }

    /// Restores the selections that were saved before a paste.
    pub(crate) async fn restore_selections(&mut self) -> Result<(), XError> {
        while let Some(saved) = self.saved_selections.last() {
            self.clipboard.restore(saved).await?;
            self.saved_selections.pop();
        }
        Ok(())
    }

    /// Presses the paste shortcut and waits until the client has requested and read the text.
    async fn press_paste(&mut self, is_terminal: bool) -> Result<(), DeviceError> {
        let keys = if is_terminal {
            vec![Key::Modifier(Modifier::Shift), Key::Named(NamedKey::Insert)]
        } else {
            vec![Key::Modifier(Modifier::Ctrl), Key::Char('v')]
        };
        let (Some(chord), Some(mut served)) = (Chord::new(keys), self.clipboard.served()) else {
            return Ok(());
        };
        let before = served.borrow_and_update().text_transfers;
        self.key(&chord, 1).await?;
        let taken =
            served.wait_for(|served| served.text_transfers > before && served.open_transfers == 0);
        match timeout(PASTE_TIMEOUT, taken).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => {
                return Err(XError::Lost("the clipboard connection was lost".into()).into());
            }
            Err(_) => {
                return Err(XError::TimedOut {
                    what: "paste the text: no program requested it",
                    limit_ms: 2_000,
                }
                .into());
            }
        }
        Ok(self.keyboard.wait_until_read(&self.view.connection).await?)
    }

    async fn is_terminal(&self) -> Result<bool, XError> {
        let connection = &self.view.connection;
        let Some(active) = self.windows.active(connection).await? else {
            return Ok(false);
        };
        let described = self.windows.inspect(connection, active).await?;
        Ok(described.is_some_and(|window| {
            let class = window.class.to_lowercase();
            TERMINALS
                .iter()
                .any(|name| class == *name || class.ends_with(&format!("-{name}")))
        }))
    }
}
