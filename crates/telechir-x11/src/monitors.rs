//! The monitors of a screen (RandR), listed and selected by name or number.

use std::fmt::Write as _;

use telechir_device::{DeviceError, ScreenRegion, Viewport};
use telechir_protocol::Size;
use x11rb::CURRENT_TIME;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::windows::{Rect, format_bounds};

/// The first RandR version with monitors.
const MIN_RANDR_VERSION: (u32, u32) = (1, 5);

/// One monitor and its area of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Monitor {
    name: String,
    bounds: Rect,
    is_primary: bool,
}

/// All monitors; empty if the server does not report any.
pub(crate) async fn list(connection: &Connection) -> Result<Vec<Monitor>, XError> {
    if !has_monitors(connection).await? {
        return Ok(Vec::new());
    }
    let x = connection.x();
    let request = x.randr_get_monitors(connection.root(), true)?;
    let listed = connection.reply(request).await?.monitors;
    let mut monitors = Vec::new();
    for monitor in listed {
        let name = connection.reply(x.get_atom_name(monitor.name)?).await?.name;
        monitors.push(Monitor {
            name: String::from_utf8_lossy(&name).into_owned(),
            bounds: Rect {
                x: monitor.x.into(),
                y: monitor.y.into(),
                width: monitor.width.into(),
                height: monitor.height.into(),
            },
            is_primary: monitor.primary,
        });
    }
    Ok(monitors)
}

/// Whether the server reports monitors.
async fn has_monitors(connection: &Connection) -> Result<bool, XError> {
    if !connection.has(randr::X11_EXTENSION_NAME)? {
        return Ok(false);
    }
    let (major, minor) = MIN_RANDR_VERSION;
    let request = connection.x().randr_query_version(major, minor)?;
    let version = connection.reply(request).await?;
    Ok((version.major_version, version.minor_version) >= MIN_RANDR_VERSION)
}

/// Sets the refresh rate of the server's only monitor, which clients with vertical sync use. False
/// if the server has no such monitor or refuses the mode.
pub(crate) async fn set_rate(connection: &Connection, rate: u32) -> Result<bool, XError> {
    const NAME: &str = "telechir";
    if !has_monitors(connection).await? {
        return Ok(false);
    }
    let (x, root) = (connection.x(), connection.root());
    let request = x.randr_get_screen_resources_current(root)?;
    let resources = connection.reply(request).await?;
    let ([crtc], [output]) = (&resources.crtcs[..], &resources.outputs[..]) else {
        return Ok(false);
    };
    let request = x.randr_get_crtc_info(*crtc, resources.config_timestamp)?;
    let shown = connection.reply(request).await?;
    let (width, height) = (shown.width, shown.height);
    // The mode has no blanking intervals.
    let dots = u64::from(width) * u64::from(height) * u64::from(rate);
    let Ok(dot_clock) = u32::try_from(dots) else {
        return Ok(false);
    };
    let mode = randr::ModeInfo {
        width,
        height,
        dot_clock,
        hsync_start: width,
        hsync_end: width,
        htotal: width,
        vsync_start: height,
        vsync_end: height,
        vtotal: height,
        name_len: u16::try_from(NAME.len()).unwrap_or_default(),
        ..randr::ModeInfo::default()
    };
    let request = x.randr_create_mode(root, mode, NAME.as_bytes())?;
    let mode = connection.reply(request).await?.mode;
    connection
        .checked(x.randr_add_output_mode(*output, mode)?)
        .await?;
    let request = x.randr_set_crtc_config(
        *crtc,
        CURRENT_TIME,
        resources.config_timestamp,
        shown.x,
        shown.y,
        mode,
        shown.rotation,
        &[*output],
    )?;
    Ok(connection.reply(request).await?.status == randr::SetConfig::SUCCESS)
}

/// Divides the screen into monitors of these sizes, from left to right. Window managers and toolkits
/// then maximize windows on one and open dialogs beside their windows.
pub(crate) async fn set_up(connection: &Connection, sizes: &[Size]) -> Result<(), XError> {
    let (x, root) = (connection.x(), connection.root());
    if !has_monitors(connection).await? {
        let message = "This X server cannot divide its screen into monitors.".to_owned();
        return Err(XError::Impossible(message));
    }
    let request = x.randr_get_screen_resources_current(root)?;
    let outputs = connection.reply(request).await?.outputs;
    let mut left = 0;
    for (number, size) in (1..).zip(sizes) {
        let name = format!("monitor-{number}");
        let name = connection
            .reply(x.intern_atom(false, name.as_bytes())?)
            .await?
            .atom;
        let pixels = |length: u32| {
            let beyond = |_| XError::Impossible(format!("a monitor of {length} pixels"));
            u16::try_from(length).map_err(beyond)
        };
        let (width, height) = (pixels(size.width)?, pixels(size.height)?);
        let is_primary = number == 1;
        let monitor = randr::MonitorInfo {
            name,
            primary: is_primary,
            automatic: false,
            x: left,
            y: 0,
            width,
            height,
            // At 96 dots per inch, as the server counts.
            width_in_millimeters: size.width * 254 / 960,
            height_in_millimeters: size.height * 254 / 960,
            // The output would be a monitor of its own, of the size of the screen.
            outputs: if is_primary {
                outputs.clone()
            } else {
                Vec::new()
            },
        };
        connection
            .checked(x.randr_set_monitor(root, monitor)?)
            .await?;
        left = left.saturating_add_unsigned(width);
    }
    Ok(())
}

/// Selects a monitor by name or by number in the list; without a selector the primary one.
pub(crate) fn choose<'a>(
    monitors: &'a [Monitor],
    selector: Option<&str>,
) -> Result<&'a Monitor, XError> {
    let found = match selector {
        None => monitors
            .iter()
            .find(|monitor| monitor.is_primary)
            .or_else(|| monitors.first()),
        Some(selector) => {
            let named = |monitor: &&Monitor| monitor.name.eq_ignore_ascii_case(selector.trim());
            let number: Option<usize> = selector.trim().parse().ok();
            let numbered = || monitors.get(number?.checked_sub(1)?);
            monitors.iter().find(named).or_else(numbered)
        }
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = monitors.iter().map(|one| one.name.as_str()).collect();
        let names = match names.as_slice() {
            [] => "this display reports no monitors".to_owned(),
            names => format!("available: {}", names.join(", ")),
        };
        let selector = selector.map_or_else(
            || "primary monitor".to_owned(),
            |m| format!("monitor {m:?}"),
        );
        XError::Impossible(format!("There is no {selector}; {names}."))
    })
}

impl Monitor {
    /// The part of the monitor within a screen of this size.
    pub(crate) fn region(&self, screen: Size) -> Result<ScreenRegion, DeviceError> {
        self.bounds.on(screen).ok_or_else(|| DeviceError::Refused {
            message: format!("The monitor {} is outside the screen.", self.name),
        })
    }

    pub(crate) const fn bounds(&self) -> Rect {
        self.bounds
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Name and bounds, such as `HDMI-1 at [1280, 0, 2560, 800]`.
    pub(crate) fn label(&self, viewport: Viewport) -> String {
        format!("{} at {}", self.name, format_bounds(self.bounds, viewport))
    }
}

/// Renders one line per monitor, with bounds in screenshot coordinates.
pub(crate) fn render(monitors: &[Monitor], viewport: Viewport) -> String {
    if monitors.is_empty() {
        return "This display reports no monitors.".to_owned();
    }
    let mut text = "Monitors, each with its [left, top, right, bottom]:".to_owned();
    for (number, monitor) in (1..).zip(monitors) {
        let bounds = monitor.label(viewport);
        let primary = if monitor.is_primary { ", primary" } else { "" };
        let _infallible = write!(text, "\n{number}. {bounds}{primary}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Monitor; 2] {
        [("left", 0), ("HDMI-1", 1280)].map(|(name, x)| Monitor {
            name: name.to_owned(),
            bounds: Rect {
                x,
                y: 0,
                width: 1280,
                height: 800,
            },
            is_primary: x > 0,
        })
    }

    #[test]
    fn selects_a_monitor_by_name_number_or_default() {
        let monitors = two();
        let chosen = |selector| choose(&monitors, selector).map(|one| one.name.as_str());
        for selector in [None, Some("hdmi-1"), Some(" 2 ")] {
            assert_eq!(chosen(selector).unwrap(), "HDMI-1", "{selector:?}");
        }
        assert_eq!(chosen(Some("1")).unwrap(), "left");
        for selector in ["0", "3", "DP-1", ""] {
            let text = chosen(Some(selector)).unwrap_err().to_string();
            assert!(text.contains("left, HDMI-1"), "{text}");
        }
    }

    #[test]
    fn renders_bounds_in_screenshot_coordinates() {
        let viewport = Viewport::new(Size::new(2560, 800), Size::new(1280, 400));
        let text = render(&two(), viewport);
        assert!(
            text.ends_with(
                "1. left at [0, 0, 640, 400]\n2. HDMI-1 at [640, 0, 1280, 400], primary"
            ),
            "{text}"
        );
    }
}
