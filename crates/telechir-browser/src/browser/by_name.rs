//! Elements of a page by name: an action gets the ref of the element that its name means.

use std::convert::Infallible;

use telechir_device::{DeviceError, ScreenAction, ScreenTarget};
use telechir_protocol::{Action, ActionKind, NamedElement};

use super::Browser;
use crate::error::refused;
use crate::snapshot::{PageTree, Scope};

impl Browser {
    /// The action with refs in place of names; none if it names nothing.
    pub(super) async fn with_refs(
        &mut self,
        action: &ScreenAction,
    ) -> Result<Option<ScreenAction>, DeviceError> {
        // An element that is waited for may not be there yet.
        if action.kind() == ActionKind::WaitFor || !names_elements(action) {
            return Ok(None);
        }
        let (tab, _) = self.live_tab(tab_of(action)).await?;
        let tree = self.tree(&tab, Scope::default()).await?;
        let mut resolve = |target| match target {
            ScreenTarget::Named(named) => {
                let id = self.ref_in(&tree, &named)?;
                Ok(ScreenTarget::Element { id, frame: None })
            }
            other @ (ScreenTarget::Point(_) | ScreenTarget::Element { .. }) => Ok(other),
        };
        action.clone().try_map(&mut resolve, &mut Ok).map(Some)
    }

    /// The ref of the element of the active tab that a name means.
    pub(super) async fn ref_of(&mut self, named: &NamedElement) -> Result<String, DeviceError> {
        let (tab, _) = self.live_tab(None).await?;
        let tree = self.tree(&tab, Scope::default()).await?;
        self.ref_in(&tree, named)
    }

    fn ref_in(&mut self, tree: &PageTree, named: &NamedElement) -> Result<String, DeviceError> {
        check(named)?;
        let id = self.snapshots.named(tree, named);
        id.map_err(|error| refused(format!("Failed to {error}.")))
    }
}

/// Pages have neither the windows nor the program's ids of a desktop.
fn check(named: &NamedElement) -> Result<(), DeviceError> {
    match (&named.window, &named.id) {
        (None, None) => Ok(()),
        _ => Err(refused(
            "An element of a page is named by its name and role; leave out the window and the id.",
        )),
    }
}

fn names_elements(action: &ScreenAction) -> bool {
    let mut has_name = false;
    let _same = action.clone().try_map(
        &mut |target| {
            has_name |= matches!(target, ScreenTarget::Named(_));
            Ok::<_, Infallible>(target)
        },
        &mut Ok,
    );
    has_name
}

/// The tab that an action on an element names.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other action on an element names a tab"
)]
fn tab_of(action: &ScreenAction) -> Option<&str> {
    match action {
        Action::ReadPage { tab, .. }
        | Action::FormInput { tab, .. }
        | Action::FileUpload { tab, .. }
        | Action::ScrollTo { tab, .. } => tab.as_deref(),
        _ => None,
    }
}
