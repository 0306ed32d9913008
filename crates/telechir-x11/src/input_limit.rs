//! Limits input to the windows that the caller has judged: between that and the input, another window
//! can get the focus or appear under a point.

use telechir_device::{DeviceError, ScreenAction};
use telechir_protocol::Action;

use crate::connection::Connection;
use crate::error::XError;
use crate::focus::Focus;
use crate::windows::WindowRegistry;

/// The names of the windows that input may reach.
#[derive(Debug, Default)]
pub(crate) struct InputLimit {
    /// Class and instance of each; absent means every window.
    windows: Option<Vec<Vec<String>>>,
}

impl InputLimit {
    pub(crate) fn set(&mut self, windows: Option<Vec<Vec<String>>>) {
        self.windows = windows;
    }

    /// Refuses keys for another window than one of these. Call it right before keys are pressed.
    pub(crate) async fn check_focus(
        &self,
        connection: &Connection,
        (windows, focus): (&WindowRegistry, &Focus),
    ) -> Result<(), XError> {
        if self.windows.is_none() {
            return Ok(());
        }
        match windows.focused_names(connection, focus).await? {
            Some(names) => self.check(&names),
            None => Ok(()),
        }
    }

    /// Refuses a press of a button in another window than one of these.
    pub(crate) async fn check_pointer(
        &self,
        connection: &Connection,
        (windows, focus): (&WindowRegistry, &Focus),
        action: &ScreenAction,
    ) -> Result<(), DeviceError> {
        let presses = matches!(
            action,
            Action::Click { .. }
                | Action::MouseDown { .. }
                | Action::MouseUp { .. }
                | Action::Drag { .. }
                | Action::Type { at: Some(_), .. }
        );
        if self.windows.is_none() || !presses {
            return Ok(());
        }
        let Some(pointed) = windows.pointed(connection, focus, action).await? else {
            return Ok(());
        };
        for names in &pointed.names {
            self.check(names)?;
        }
        if pointed.passes_on {
            self.check_focus(connection, (windows, focus)).await?;
        }
        Ok(())
    }

    fn check(&self, names: &[String]) -> Result<(), XError> {
        let mut names = names.iter().filter(|name| !name.is_empty()).peekable();
        let name = names.peek().copied();
        let is_of = |window: &Vec<String>| match name {
            Some(_) => names.clone().all(|name| window.contains(name)),
            None => window.iter().all(String::is_empty),
        };
        if self.windows.iter().flatten().any(is_of) {
            return Ok(());
        }
        let name = name.map_or_else(
            || "one without a name".to_owned(),
            |name| format!("{name:?}"),
        );
        Err(XError::Impossible(format!(
            "Not sent: the input would now reach another window ({name}) than when the call was \
             judged. Take a screenshot and try again."
        )))
    }
}
