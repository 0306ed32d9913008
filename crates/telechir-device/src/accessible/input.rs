//! The windows that input by elements reaches.

use super::WithAccessibility;
use crate::{
    Accessibility, Computer, DeviceError, PointedWindows, ScreenAction, ScreenTarget, WindowSystem,
};

impl<C: Computer + WindowSystem, A: Accessibility> WithAccessibility<C, A> {
    /// The windows of an action's elements, by their titles; none if one has no window or the action
    /// also has points. An element's own action may enter something into the window with the focus.
    pub(super) async fn windows_of_elements(
        &mut self,
        action: &ScreenAction,
    ) -> Result<Option<PointedWindows>, DeviceError> {
        let windows = self.computer.windows().await?;
        let mut names = Vec::new();
        for target in action.targets() {
            if matches!(target, ScreenTarget::Point(_)) {
                return Ok(None);
            }
            let located = match self.ref_of(&target).await {
                Ok(id) => self.applications.element(&id, &windows).await,
                Err(error) => Err(error),
            };
            // The action itself reports why.
            let Ok(located) = located else {
                return Ok(None);
            };
            let of_title = windows.iter().filter(|w| w.title == located.window);
            let known = names.len();
            names.extend(of_title.map(|w| vec![w.class.clone(), w.instance.clone()]));
            if names.len() == known {
                return Ok(None);
            }
        }
        let passes_on = true;
        Ok((!names.is_empty()).then_some(PointedWindows { names, passes_on }))
    }
}
