//! The monitors that a screen reaches over (RandR), and one of them as all that is shown.

use std::fmt::Write as _;

use telechir_device::{DeviceError, ScreenRegion, Viewport};
use telechir_protocol::Size;
use x11rb::CURRENT_TIME;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::connection::Connection;
use crate::error::XError;
use crate::windows::{Rect, seen};

/// The first version that knows monitors.
const KNOWS_MONITORS: (u32, u32) = (1, 5);

/// One monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Monitor {
    name: String,
    place: Rect,
    is_primary: bool,
}

/// All monitors; none where the server does not say.
pub(crate) async fn list(connection: &Connection) -> Result<Vec<Monitor>, XError> {
    if !are_known(connection).await? {
        return Ok(Vec::new());
    }
    let x = connection.x();
    let asked = x.randr_get_monitors(connection.root(), true)?;
    let told = connection.reply(asked).await?.monitors;
    let mut monitors = Vec::new();
    for monitor in told {
        let name = connection.reply(x.get_atom_name(monitor.name)?).await?.name;
        monitors.push(Monitor {
            name: String::from_utf8_lossy(&name).into_owned(),
            place: Rect {
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

/// Whether the server says which monitors it has.
async fn are_known(connection: &Connection) -> Result<bool, XError> {
    if !connection.has(randr::X11_EXTENSION_NAME)? {
        return Ok(false);
    }
    let (major, minor) = KNOWS_MONITORS;
    let asked = connection.x().randr_query_version(major, minor)?;
    let version = connection.reply(asked).await?;
    Ok((version.major_version, version.minor_version) >= KNOWS_MONITORS)
}

/// Has the one monitor of a server of our own show so many pictures a second, as programs are told
/// that draw in step with it. False where the server has no such monitor, or does not let it.
pub(crate) async fn set_rate(connection: &Connection, rate: u32) -> Result<bool, XError> {
    const NAME: &str = "telechir";
    if !are_known(connection).await? {
        return Ok(false);
    }
    let (x, root) = (connection.x(), connection.root());
    let asked = x.randr_get_screen_resources_current(root)?;
    let known = connection.reply(asked).await?;
    let ([crtc], [output]) = (&known.crtcs[..], &known.outputs[..]) else {
        return Ok(false);
    };
    let asked = x.randr_get_crtc_info(*crtc, known.config_timestamp)?;
    let shown = connection.reply(asked).await?;
    let (width, height) = (shown.width, shown.height);
    // Nothing is sent between two lines or two pictures.
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
    let asked = x.randr_create_mode(root, mode, NAME.as_bytes())?;
    let mode = connection.reply(asked).await?.mode;
    connection
        .checked(x.randr_add_output_mode(*output, mode)?)
        .await?;
    let asked = x.randr_set_crtc_config(
        *crtc,
        CURRENT_TIME,
        known.config_timestamp,
        shown.x,
        shown.y,
        mode,
        shown.rotation,
        &[*output],
    )?;
    Ok(connection.reply(asked).await?.status == randr::SetConfig::SUCCESS)
}

/// The one monitor that is meant: by its number in the list, by its name, or the primary one.
pub(crate) fn choose<'a>(
    monitors: &'a [Monitor],
    meant: Option<&str>,
) -> Result<&'a Monitor, XError> {
    let found = match meant {
        None => monitors
            .iter()
            .find(|monitor| monitor.is_primary)
            .or_else(|| monitors.first()),
        Some(words) => {
            let named = |monitor: &&Monitor| monitor.name.eq_ignore_ascii_case(words.trim());
            let number: Option<usize> = words.trim().parse().ok();
            let numbered = || monitors.get(number?.checked_sub(1)?);
            monitors.iter().find(named).or_else(numbered)
        }
    };
    found.ok_or_else(|| {
        let there: Vec<&str> = monitors.iter().map(|one| one.name.as_str()).collect();
        let there = match there.as_slice() {
            [] => "this display tells of no monitors".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        let meant = meant.map_or_else(
            || "primary monitor".to_owned(),
            |m| format!("monitor {m:?}"),
        );
        XError::Impossible(format!("There is no {meant}; {there}."))
    })
}

impl Monitor {
    /// What of it is on a screen of this size.
    pub(crate) fn region(&self, screen: Size) -> Result<ScreenRegion, DeviceError> {
        self.place.on(screen).ok_or_else(|| DeviceError::Refused {
            message: format!("The monitor {} is not on the screen.", self.name),
        })
    }

    /// `HDMI-1 at [1280, 0, 2560, 800]`.
    pub(crate) fn label(&self, viewport: Viewport) -> String {
        format!("{} at {}", self.name, seen(self.place, viewport))
    }
}

/// A line for each, places as the model sees them.
pub(crate) fn say(monitors: &[Monitor], viewport: Viewport) -> String {
    if monitors.is_empty() {
        return "This display tells of no monitors.".to_owned();
    }
    let mut text = "Monitors, each with its [left, top, right, bottom]:".to_owned();
    for (number, monitor) in (1..).zip(monitors) {
        let place = monitor.label(viewport);
        let primary = if monitor.is_primary { ", primary" } else { "" };
        let _infallible = write!(text, "\n{number}. {place}{primary}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Monitor; 2] {
        [("left", 0), ("HDMI-1", 1280)].map(|(name, x)| Monitor {
            name: name.to_owned(),
            place: Rect {
                x,
                y: 0,
                width: 1280,
                height: 800,
            },
            is_primary: x > 0,
        })
    }

    #[test]
    fn a_monitor_is_meant_by_its_name_its_number_or_nothing() {
        let monitors = two();
        let chosen = |meant| choose(&monitors, meant).map(|one| one.name.as_str());
        for meant in [None, Some("hdmi-1"), Some(" 2 ")] {
            assert_eq!(chosen(meant).unwrap(), "HDMI-1", "{meant:?}");
        }
        assert_eq!(chosen(Some("1")).unwrap(), "left");
        for meant in ["0", "3", "DP-1", ""] {
            let said = chosen(Some(meant)).unwrap_err().to_string();
            assert!(said.contains("left, HDMI-1"), "{said}");
        }
    }

    #[test]
    fn monitors_are_said_as_the_screenshot_shows_them() {
        let viewport = Viewport::new(Size::new(2560, 800), Size::new(1280, 400));
        let said = say(&two(), viewport);
        assert!(
            said.ends_with(
                "1. left at [0, 0, 640, 400]\n2. HDMI-1 at [640, 0, 1280, 400], primary"
            ),
            "{said}"
        );
    }
}
