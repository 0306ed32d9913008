//! Web pages as a computer: drives Chromium through a thin CDP client over a private pipe.
//!
//! Knows pages, tabs and input, but not X11: the screen of a window is passed in as a
//! [`telechir_device::Screen`].
//!
//! ```no_run
//! use telechir_browser::{Browser, Options, Surface};
//! use telechir_device::{Computer as _, Viewport};
//! use telechir_protocol::{Action, Size};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let size = Size::new(1280, 800);
//! let mut browser = Browser::launch(Surface::Headless(size), Options::default()).await?;
//! let url = "https://example.com".to_owned();
//! let navigate = Viewport::unscaled(size).action(&Action::Navigate { url, tab: None })?;
//! browser.perform(&navigate).await?;
//! assert_eq!(browser.capture().await?.size(), size);
//! browser.close().await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod attach;
mod attachment;
mod browser;
mod capture;
mod cdp_session;
mod client;
mod context;
mod devtools;
mod drag_and_drop;
mod emulation;
mod endpoint;
mod error;
mod event_router;
mod file_transfer;
mod framing;
mod fs_tree;
mod initial_origins;
mod input_state;
mod keyboard;
mod launch;
mod memory;
mod navigate;
mod options;
mod pointer;
mod profiles;
mod redaction;
mod request_filter;
mod scale;
mod screencast;
mod script;
mod settle;
mod setup;
mod snapshot;
mod socket;
mod storage_state;
mod tab_registry;
mod tabs;
mod us_keyboard;
mod viewer;
mod walker;

pub use address::check_url;
pub use attachment::{AttachedTabs, Attachment, BrowserService, EndpointError, TabChoice};
pub use browser::{Browser, ScreenshotWithElements};
pub use emulation::{ColorScheme, Emulation, Geolocation, HttpCredentials, Permission};
pub use endpoint::{CdpEndpoint, InvalidEndpoint};
pub use launch::headless_shell_program;
pub use options::{
    AllowedUrls, ChromiumSandbox, FileAccess, Options, OwnNetwork, Profile, StorageStateFiles,
    Surface,
};
pub use pointer::PIXELS_PER_CLICK;
pub use profiles::{
    ProfileError, ProfileId, ProfileInfo, ProfileLock, ProfileUse, Profiles, restrict_folder,
};
