//! Typing by pasting: an option, for text that is long or that the keyboard's layout lacks. What
//! the clipboard held before, it holds again afterwards.

use std::time::Duration;

use telechir_device::DeviceError;
use telechir_protocol::{Chord, Key, Modifier, NamedKey};
use tokio::time::timeout;

use crate::clipboard::Selection;
use crate::display::Display;
use crate::display_io::Body;
use crate::error::XError;
use crate::keyboard::Found;
use crate::text;

/// Shorter text of the layout's own characters is quicker by keys.
const LONG: usize = 200;
/// How long a program may take to ask for what is pasted.
const CEILING: Duration = Duration::from_secs(2);
/// Programs that paste by shift+Insert, and what is marked; to them ctrl+v is a character.
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
    /// Key by key, whatever the text is. A new line is Enter.
    #[default]
    Keys,
    /// What is longer than 200 characters, or holds some that the keyboard's layout lacks, is
    /// pasted in one go, and the clipboard then holds again what it held. A new line is one in the
    /// text, which most programs take for Enter and some do not. Where the clipboard's owner does
    /// not give it out, text goes key by key.
    Paste,
}

impl Body {
    /// Whether text is worth pasting.
    pub(crate) async fn is_long_or_foreign(&mut self, text: &str) -> Result<bool, XError> {
        let modes = self.keyboard.look(&self.eyes.connection).await?;
        let is_missing = |c: char| {
            !c.is_control() && matches!(self.keyboard.of_char(c, modes), Found::Missing(_))
        };
        Ok(text.chars().count() > LONG || text.chars().any(is_missing))
    }

    /// Pastes text where the focus is; false when that would cost what the clipboard holds.
    pub(crate) async fn paste(
        &mut self,
        display: &Display,
        text: &str,
    ) -> Result<bool, DeviceError> {
        text::letters(text)?;
        let is_terminal = self.is_terminal().await?;
        let selections: &[Selection] = if is_terminal {
            &[Selection::Clipboard, Selection::Primary]
        } else {
            // What is marked stays so: to paste replaces it.
            &[Selection::Clipboard]
        };
        for selection in selections {
            let connection = &self.eyes.connection;
            match self.clipboard.keep(connection, *selection).await {
                Ok(kept) => self.kept.push(kept),
                Err(XError::Lost(error)) => return Err(XError::Lost(error).into()),
                Err(error) => {
                    tracing::debug!(%error, "the clipboard could not be kept");
                    self.kept.clear();
                    return Ok(false);
                }
            }
        }
        for selection in selections {
            self.clipboard.write(display, *selection, text).await?;
        }
        let pasted = self.press_paste(is_terminal).await;
        let put_back = self.put_back().await;
        pasted?;
        Ok(put_back.map(|()| true)?)
    }

    /// Makes the clipboard what it was before we pasted.
    pub(crate) async fn put_back(&mut self) -> Result<(), XError> {
        while let Some(kept) = self.kept.last() {
            self.clipboard.put_back(kept).await?;
            self.kept.pop();
        }
        Ok(())
    }

    /// Presses the keys that paste, and waits until the program took the text and went on.
    async fn press_paste(&mut self, is_terminal: bool) -> Result<(), DeviceError> {
        let keys = if is_terminal {
            vec![Key::Modifier(Modifier::Shift), Key::Named(NamedKey::Insert)]
        } else {
            vec![Key::Modifier(Modifier::Ctrl), Key::Char('v')]
        };
        let (Some(chord), Some(mut served)) = (Chord::new(keys), self.clipboard.served()) else {
            return Ok(());
        };
        let before = served.borrow_and_update().texts;
        self.key(&chord, 1).await?;
        let taken = served.wait_for(|served| served.texts > before && served.open == 0);
        match timeout(CEILING, taken).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => {
                return Err(XError::Lost("the clipboard's connection ended".into()).into());
            }
            Err(_) => {
                return Err(XError::Silent {
                    what: "paste the text: no program asked for it",
                    limit_ms: 2_000,
                }
                .into());
            }
        }
        Ok(self.keyboard.wait_until_read(&self.eyes.connection).await?)
    }

    async fn is_terminal(&self) -> Result<bool, XError> {
        let connection = &self.eyes.connection;
        let Some(active) = self.windows.active(connection).await? else {
            return Ok(false);
        };
        let described = self.windows.look(connection, active).await?;
        Ok(described.is_some_and(|window| {
            let class = window.class.to_lowercase();
            TERMINALS
                .iter()
                .any(|name| class == *name || class.ends_with(&format!("-{name}")))
        }))
    }
}
