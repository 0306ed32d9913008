//! The command line: what is switched off so that the browser is quiet, steady and calls nobody.

use telechir_device::Screen as _;
use telechir_protocol::Size;

use crate::options::{Options, Sandbox, Surface};
use crate::setup::Setup;

/// For every browser.
const ALWAYS: &[&str] = &[
    "--remote-debugging-pipe",
    // It opens with nothing to dismiss.
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
    // It speaks to nobody but the pages' own hosts.
    "--disable-background-networking",
    "--disable-component-update",
    // These two are asked in spite of all other flags; port 9 of loopback has no listener.
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
    // What is on the screen stays as it is until something happens.
    "--force-prefers-reduced-motion",
    "--disable-smooth-scrolling",
    "--wm-window-animations-disabled",
    "--animation-duration-scale=0",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--disable-gpu",
    // A page works on though another one is in front, and every return to a page is a load.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-back-forward-cache",
    "--disable-hang-monitor",
];

/// Features that call home, or put something over or beside the page. The popup below the address
/// bar, which nobody opens here, is a page with a process of its own in every window and context:
/// without it a context costs half the time and less than half the memory.
const FEATURES_OFF: &str = "--disable-features=Translate,OptimizationHints,OptimizationGuideModelDownloading,\
OptimizationTargetPrediction,OptimizationGuideOnDeviceModel,MediaRouter,DialMediaRouteProvider,\
AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,\
NetworkTimeServiceQuerying,PasswordLeakDetection,SafetyHub,ChromeWhatsNewUI,PrivacySandboxSettings4,\
GlobalMediaControls,AimEnabled,LensOverlay,GlicUI,AcceptCHFrame,WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// A process that waits for the next site. In the shell it would come with the sites' own ones, and
/// while a page or a context begins it takes a fifth of their time, and memory for ever. Without it
/// a page of another site comes a tenth later.
const SPARE_PAGE: &str = ",SpareRendererForSitePerProcess";

/// Pictures of pages without a window are taken in a newer way, which takes a third less time.
const FEATURES_ON: &str = "--enable-features=CDPScreenshotNewSurface";

/// Smaller shared memory than this makes pages crash.
const SHARED_MEMORY: u64 = 128 << 20;

/// The flags for this surface and these options.
pub(super) fn of(
    surface: &Surface,
    options: &Options,
    setup: &Setup,
    proxy: Option<&str>,
) -> Vec<String> {
    let mut flags: Vec<String> = ALWAYS.iter().map(|flag| (*flag).to_owned()).collect();
    let spare = if setup.is_shell { SPARE_PAGE } else { "" };
    flags.push([FEATURES_OFF, spare].concat());
    let size = match surface {
        Surface::Headless(size) => {
            // Its shell has no other way to be, and gives sites processes of their own only when told.
            let flag = if setup.is_shell {
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
    flags.extend(options.persona.flags());
    if options.sandbox == Sandbox::Off {
        flags.push("--no-sandbox".to_owned());
    }
    if let Some(proxy) = proxy {
        flags.push(format!("--proxy-server={proxy}"));
        // Without this, loopback would go past the proxy.
        flags.push("--proxy-bypass-list=<-loopback>".to_owned());
        // Media goes no other way; older versions know it by the longer name.
        for name in [
            "webrtc-ip-handling-policy",
            "force-webrtc-ip-handling-policy",
        ] {
            flags.push(format!("--{name}=disable_non_proxied_udp"));
        }
    }
    if !has_shared_memory() {
        flags.push("--disable-dev-shm-usage".to_owned());
    }
    flags
}

fn has_shared_memory() -> bool {
    rustix::fs::statvfs("/dev/shm")
        .is_ok_and(|found| found.f_blocks.saturating_mul(found.f_frsize) >= SHARED_MEMORY)
}
