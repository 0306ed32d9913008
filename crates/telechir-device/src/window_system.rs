//! An optional ability of a computer: it knows the windows and monitors of its screen.

use async_trait::async_trait;

use crate::elements::ScreenBounds;
use crate::{DeviceError, ScreenAction, ScreenRegion, Viewport};

/// A window of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The device's id of the window, such as `w3`.
    pub id: String,
    /// Title of the window.
    pub title: String,
    /// The program's class name of the window.
    pub class: String,
    /// The program's instance name of the window.
    pub instance: String,
    /// Visible bounds, including the frame.
    pub bounds: ScreenBounds,
    /// Bounds of the content without the frame, the origin of the program's coordinates.
    pub content: ScreenBounds,
    /// Whether it has the keyboard focus.
    pub is_active: bool,
    /// Whether it is a dialog, or modal.
    pub is_dialog: bool,
    /// Whether it is on the screen.
    pub is_shown: bool,
}

/// The windows that input can reach, by the names that their programs give them: class and instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputWindows {
    /// The names of the window with the keyboard focus; absent if it is unknown.
    pub focused: Option<Vec<String>>,
    /// The names of every window.
    pub all: Vec<Vec<String>>,
    /// The windows under the points of each action, in order; absent if they are unknown.
    pub under: Vec<Option<PointedWindows>>,
}

/// The windows under the points of one action; where it has none, under the pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointedWindows {
    /// Their names; none where a point is on no window. One without a name may be anything.
    pub names: Vec<Vec<String>>,
    /// Whether one of them may pass input on to the window with the focus: it does not take the
    /// focus when it is clicked.
    pub passes_on: bool,
}

/// A part of the screen that only the device can locate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenPart {
    /// A window, as in [`Action::FocusWindow`](telechir_protocol::Action::FocusWindow); absent
    /// means the active one.
    Window(Option<String>),
    /// A monitor by name or number; absent means the primary one.
    Monitor(Option<String>),
}

/// The location of a part of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartLocation {
    /// The part's region on the screen.
    pub region: ScreenRegion,
    /// What the part is, and what its screenshot does not show.
    pub description: String,
}

/// The windows and monitors of a desktop.
#[async_trait]
pub trait WindowSystem: Send {
    /// Returns all windows, from back to front; none without a window manager.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn windows(&mut self) -> Result<Vec<Window>, DeviceError>;

    /// Returns the windows that input can reach, as the screen itself reports them, and those under
    /// the points of these actions. An action is absent if its points are unknown.
    ///
    /// # Errors
    /// When the screen is gone.
    async fn input_windows(
        &mut self,
        actions: &[Option<ScreenAction>],
    ) -> Result<InputWindows, DeviceError>;

    /// Limits the next action: it is refused before its input would reach a window of other names.
    /// Absent means no limit.
    fn limit_input(&mut self, windows: Option<Vec<Vec<String>>>);

    /// The region of the screen that the model sees: the complete screen, or one monitor if so
    /// configured.
    fn visible_region(&self) -> ScreenRegion;

    /// Locates a part of the screen, for a screenshot of it alone.
    ///
    /// # Errors
    /// When there is no such part, or several.
    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError>;

    /// Sets the viewport of later actions. Text output has points as in
    /// [`Viewport::screenshot_point`].
    fn set_viewport(&mut self, viewport: Viewport);

    /// Reports an action on the screen outside of [`Computer::perform`](crate::Computer::perform):
    /// the next settle waits for its effect.
    fn note_action(&mut self);
}
