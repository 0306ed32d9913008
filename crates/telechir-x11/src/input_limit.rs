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

    /// `names` are pairs of class and instance. The windows of a program share their class, while
    /// menus and dialogs can have instances of their own.
    fn check(&self, names: &[String]) -> Result<(), XError> {
        let Some(windows) = &self.windows else {
            return Ok(());
        };
        let pairs = names.chunks(2);
        let mut names = pairs.filter_map(|pair| pair.iter().find(|name| !name.is_empty()));
        let name = names.clone().next();
        let is_of = |window: &Vec<String>| match name {
            Some(_) => names.clone().all(|name| window.contains(name)),
            None => window.iter().all(String::is_empty),
        };
        if windows.iter().any(is_of) {
            return Ok(());
        }
        let name = names.next();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_window_is_one_of_the_judged_if_all_its_classes_are() {
        let mut limit = InputLimit::default();
        assert!(limit.check(&owned(&["XTerm", "xterm"])).is_ok());
        limit.set(Some(vec![
            owned(&["Firefox", "Navigator"]),
            owned(&["Tabbed", "tabbed", "Viewer", "viewer"]),
            owned(&["", "nameless"]),
        ]));
        for names in [
            &["Firefox", "Navigator"][..],
            &["Firefox", "Popup"],
            &["Tabbed", "tabbed"],
            &["Tabbed", "tabbed", "Viewer", "viewer"],
            &["", "nameless"],
        ] {
            assert!(limit.check(&owned(names)).is_ok(), "{names:?}");
        }
        for names in [
            &["XTerm", "xterm"][..],
            &["Firefox", "Navigator", "XTerm", "xterm"],
            &["Tabbed", "tabbed", "XTerm", "xterm"],
            &["", "xterm"],
            &["", ""],
            &[],
        ] {
            assert!(limit.check(&owned(names)).is_err(), "{names:?}");
        }
        limit.set(Some(vec![owned(&["", ""])]));
        assert!(limit.check(&[]).is_ok() && limit.check(&owned(&["", ""])).is_ok());
        assert!(limit.check(&owned(&["XTerm", "xterm"])).is_err());
        limit.set(Some(Vec::new()));
        assert!(limit.check(&owned(&["Firefox", "Navigator"])).is_err());
    }
}
