//! The windows that input by elements reaches.

use telechir_protocol::Action;

use super::WithAccessibility;
use crate::elements::Element;
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
            // An entry of an open menu is in a popup, which may have another name.
            if located.element.is_menu_entry() {
                names.extend(self.names_under(&located.element).await?);
            }
        }
        let passes_on = true;
        Ok((!names.is_empty()).then_some(PointedWindows { names, passes_on }))
    }

    /// The names of the windows at the center of an element in view.
    async fn names_under(&mut self, element: &Element) -> Result<Vec<Vec<String>>, DeviceError> {
        let center = element
            .bounds
            .and_then(|bounds| bounds.centre_on(self.computer.size()));
        let Some(center) = center else {
            return Ok(Vec::new());
        };
        let point = Action::Move {
            at: ScreenTarget::Point(center),
        };
        let under = self.computer.input_windows(&[Some(point)]).await?.under;
        Ok(under
            .into_iter()
            .flatten()
            .flat_map(|under| under.names)
            .collect())
    }
}
