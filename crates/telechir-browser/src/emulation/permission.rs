//! Permissions of web pages, by the names of Playwright and of CDP.

/// What a page may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each is the permission of the web platform of the same name"
)]
pub enum Permission {
    Geolocation,
    Notifications,
    Camera,
    Microphone,
    ClipboardRead,
    ClipboardWrite,
    Midi,
    BackgroundSync,
    Sensors,
    StorageAccess,
    IdleDetection,
    LocalFonts,
    WindowManagement,
}

/// Each permission with its name on the web platform and in CDP.
const NAMES: [(Permission, &str, &str); 13] = [
    (Permission::Geolocation, "geolocation", "geolocation"),
    (Permission::Notifications, "notifications", "notifications"),
    (Permission::Camera, "camera", "videoCapture"),
    (Permission::Microphone, "microphone", "audioCapture"),
    (
        Permission::ClipboardRead,
        "clipboard-read",
        "clipboardReadWrite",
    ),
    (
        Permission::ClipboardWrite,
        "clipboard-write",
        "clipboardSanitizedWrite",
    ),
    (Permission::Midi, "midi", "midi"),
    (
        Permission::BackgroundSync,
        "background-sync",
        "backgroundSync",
    ),
    (Permission::Sensors, "sensors", "sensors"),
    (Permission::StorageAccess, "storage-access", "storageAccess"),
    (Permission::IdleDetection, "idle-detection", "idleDetection"),
    (Permission::LocalFonts, "local-fonts", "localFonts"),
    (
        Permission::WindowManagement,
        "window-management",
        "windowManagement",
    ),
];

impl Permission {
    /// The permission with this name on the web platform.
    ///
    /// # Errors
    /// If no permission has it; the text lists the names.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(_, known, _)| *known == name);
        found.map(|(permission, ..)| *permission).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(_, known, _)| *known).collect();
            format!(
                "unknown permission {name:?}; expected one of {}",
                names.join(", ")
            )
        })
    }

    pub(super) fn cdp_name(self) -> &'static str {
        let found = NAMES.iter().find(|(permission, ..)| *permission == self);
        found.map_or("geolocation", |(.., name)| name)
    }
}
