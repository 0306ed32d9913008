//! The windows that input can reach, with and without a window manager.

use telechir_device::InputWindows;
use x11rb::protocol::xproto::{ConnectionExt as _, Window};

use super::WindowRegistry;
use super::inspect::{self, WindowInfo};
use crate::connection::Connection;
use crate::error::XError;
use crate::focus::Focus;

impl WindowRegistry {
    /// The window with the server's own keyboard focus, and all windows of programs. Without a window
    /// manager these are the windows on the root window.
    pub(crate) async fn input_windows(
        &self,
        connection: &Connection,
        focus: &Focus,
    ) -> Result<InputWindows, XError> {
        let (windows, is_managed) = match self.managed(connection).await {
            Ok(windows) => (windows, true),
            Err(XError::Impossible(_)) => (top_level(connection).await?, false),
            Err(error) => return Err(error),
        };
        let all = inspect::describe(connection, &self.atoms, &windows).await?;
        let focused = match focus.focused(connection).await? {
            Some(window) => self.inspect(connection, window).await?,
            None => None,
        };
        // Without a manager, helper windows without a name are among them.
        let is_program = |names: &Vec<String>| is_managed || names.iter().any(|n| !n.is_empty());
        Ok(InputWindows {
            focused: focused.map(names),
            all: all.into_iter().map(names).filter(is_program).collect(),
        })
    }
}

async fn top_level(connection: &Connection) -> Result<Vec<Window>, XError> {
    let tree = connection.x().query_tree(connection.root())?;
    Ok(connection.reply(tree).await?.children)
}

fn names(window: WindowInfo) -> Vec<String> {
    vec![window.class, window.instance]
}
