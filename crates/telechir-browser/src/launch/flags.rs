//! The command line: flags for a quiet, stable browser that contacts nobody by itself.

use telechir_protocol::Size;

use crate::options::{ChromiumSandbox, Options, Surface};
use crate::setup::Setup;

/// Flags for every browser.
const COMMON_FLAGS: &[&str] = &[
    "--remote-debugging-pipe",
    // No first-run pages, prompts or dialogs.
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-default-apps",
    "--disable-search-engine-choice-screen",
    "--password-store=basic",
    "--noerrdialogs",
    "--hide-crash-restore-bubble",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    // No connections except those of pages.
    "--disable-background-networking",
    "--disable-component-update",
    // These two services are contacted regardless of all other flags; nothing listens on loopback
    // port 9.
    "--component-updater=url-source=https://127.0.0.1:9/none",
    "--gaia-url=https://127.0.0.1:9",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-field-trial-config",
    "--metrics-recording-only",
    "--no-pings",
    "--no-service-autorun",
    "--dns-prefetch-disable",
    "--disable-quic",
    // The screen changes only when something happens.
    "--force-prefers-reduced-motion",
    "--disable-smooth-scrolling",
    "--wm-window-animations-disabled",
    "--animation-duration-scale=0",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--disable-gpu",
    // Background pages keep working, and every return to a page is a load.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-back-forward-cache",
    "--disable-hang-monitor",
];

/// Features that contact services or cover the page. The omnibox popup, which no action opens, is a
/// page with its own process in every window and context: without it a context costs half the time
/// and less than half the memory.
const FEATURES_OFF: &str = "--disable-features=Translate,OptimizationHints,OptimizationGuideModelDownloading,\
OptimizationTargetPrediction,OptimizationGuideOnDeviceModel,MediaRouter,DialMediaRouteProvider,\
AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,\
NetworkTimeServiceQuerying,PasswordLeakDetection,SafetyHub,ChromeWhatsNewUI,PrivacySandboxSettings4,\
GlobalMediaControls,AimEnabled,LensOverlay,GlicUI,AcceptCHFrame,WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// The headless shell's spare renderer costs a fifth of the time to open a page or context, and
/// memory permanently. Without it, a page of another site loads a tenth later.
const SPARE_RENDERER_OFF: &str = ",SpareRendererForSitePerProcess";

/// A newer screenshot implementation, which takes a third less time.
const FEATURES_ON: &str = "--enable-features=CDPScreenshotNewSurface";

/// With less shared memory, pages crash.
const MIN_SHARED_MEMORY_BYTES: u64 = 128 << 20;

/// The flags for a surface and options.
pub(super) fn of(
    surface: &Surface,
    options: &Options,
    setup: &Setup,
    proxy: Option<&str>,
) -> Vec<String> {
    let mut flags: Vec<String> = COMMON_FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    let spare = if setup.is_headless_shell {
        SPARE_RENDERER_OFF
    } else {
        ""
    };
    flags.push([FEATURES_OFF, spare].concat());
    let size = match surface {
        Surface::Headless(size) => {
            // The headless shell is always headless, and isolates sites only with this flag.
            let flag = if setup.is_headless_shell {
                "--site-per-process"
            } else {
                "--headless=new"
            };
            flags.extend([flag, FEATURES_ON].map(str::to_owned));
            *size
        }
        Surface::Window(screen) => {
            flags.extend(
                ["--kiosk", "--ozone-platform=x11", "--window-position=0,0"].map(str::to_owned),
            );
            screen.size()
        }
    };
    let Size { width, height } = setup.scale.size(size);
    flags.push(format!("--window-size={width},{height}"));
    flags.push(format!("--force-device-scale-factor={}", options.scale));
    flags.extend(options.emulation.flags());
    if options.sandbox == ChromiumSandbox::Off {
        flags.push("--no-sandbox".to_owned());
    }
    if let Some(proxy) = proxy {
        flags.push(format!("--proxy-server={proxy}"));
        // Without this, loopback would bypass the proxy.
        flags.push("--proxy-bypass-list=<-loopback>".to_owned());
        // WebRTC must not bypass the proxy; older versions know the longer name.
        for name in [
            "webrtc-ip-handling-policy",
            "force-webrtc-ip-handling-policy",
        ] {
            flags.push(format!("--{name}=disable_non_proxied_udp"));
        }
        // No name is resolved: the proxy resolves those that it judged. In place of names that are
        // resolved by multicast, Chromium asks for `~NOTFOUND`.
        let host = proxy_host(proxy);
        flags.push(format!(
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {host}"
        ));
    }
    if !has_shared_memory() {
        flags.push("--disable-dev-shm-usage".to_owned());
    }
    flags
}

/// The host in a proxy's URL.
fn proxy_host(proxy: &str) -> &str {
    let after_scheme = proxy.split_once("://").map_or(proxy, |(_, rest)| rest);
    let end = after_scheme.trim_end_matches('/');
    end.rsplit_once(':').map_or(end, |(host, _)| host)
}

fn has_shared_memory() -> bool {
    rustix::fs::statvfs("/dev/shm")
        .is_ok_and(|found| found.f_blocks.saturating_mul(found.f_frsize) >= MIN_SHARED_MEMORY_BYTES)
}
