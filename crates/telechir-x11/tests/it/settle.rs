//! Settling ends when the screen is still.

use std::time::Duration;

use telechir_device::{Computer, Settle};
use telechir_protocol::UnsettledReason;

use crate::fixture::{self, POLITE};

const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(3),
};
/// A quiet period longer than the pauses that a busy machine causes between changes.
const PATIENT: Settle = Settle {
    quiet: Duration::from_millis(400),
    ceiling: Duration::from_secs(5),
};

#[tokio::test]
async fn a_still_screen_settles_after_the_quiet_period() {
    let folder = fixture::session_dir();
    let (mut desktop, _witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    desktop.settle(SETTLE).await.unwrap();
    let moved = fixture::move_to(desktop.size(), 700, 700);
    desktop.perform(&moved).await.unwrap();
    let settled = desktop.settle(SETTLE).await.unwrap();
    assert!(settled.is_settled(), "{settled:?}");
    assert!(settled.waited >= SETTLE.quiet, "{settled:?}");
    assert!(settled.waited < SETTLE.quiet * 6, "{settled:?}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn an_unchanged_screen_needs_no_wait() {
    let folder = fixture::session_dir();
    let (mut desktop, witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    desktop.settle(PATIENT).await.unwrap();
    let settled = desktop.settle(PATIENT).await.unwrap();
    assert!(settled.is_settled(), "{settled:?}");
    assert!(settled.waited < PATIENT.quiet / 4, "{settled:?}");
    // Unless the screen changed without an action.
    witness.paint(300, 300, 90, 30, 0x0011_2233);
    let settled = desktop.settle(PATIENT).await.unwrap();
    assert!(settled.is_settled(), "{settled:?}");
    assert!(settled.waited >= PATIENT.quiet, "{settled:?}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_busy_program_extends_the_wait() {
    let folder = fixture::session_dir();
    let mut display = fixture::managed(&folder).await;
    let args = [
        "-c",
        "end=$((SECONDS+60)); while ((SECONDS<end)); do :; done",
    ];
    display.launch("bash", &args).await.unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    let settled = desktop.settle(SETTLE).await.unwrap();
    assert!(settled.waited >= SETTLE.quiet * 4, "{settled:?}");
    // The program draws nothing. With a core available, the wait ends before the limit.
    assert_eq!(
        settled.unsettled,
        Some(UnsettledReason::Busy),
        "{settled:?}"
    );
    assert!(settled.waited < SETTLE.ceiling * 2, "{settled:?}");
    desktop.close().await.unwrap();
}

/// Paints every 20 ms while `desktop` settles; returns the result of the wait.
async fn settle_while_painting(
    (width, height): (u16, u16),
    settle: Settle,
) -> telechir_device::Settled {
    let folder = fixture::session_dir();
    let (mut desktop, witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    desktop.settle(SETTLE).await.unwrap();
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let mut colour = 0;
    let settled = {
        let settling = desktop.settle(settle);
        tokio::pin!(settling);
        loop {
            tokio::select! {
                settled = &mut settling => break settled.unwrap(),
                _ = tick.tick() => {
                    colour += 0x0010_2030;
                    witness.paint(300, 300, width, height, colour);
                }
            }
        }
    };
    desktop.close().await.unwrap();
    settled
}

#[tokio::test]
async fn a_blinking_caret_does_not_extend_the_wait() {
    let settled = settle_while_painting((2, 21), SETTLE).await;
    assert!(settled.is_settled(), "{settled:?}");
    assert!(settled.waited < Duration::from_secs(1), "{settled:?}");
}

#[tokio::test]
async fn a_small_animation_extends_the_wait_briefly() {
    let settled = settle_while_painting((40, 40), PATIENT).await;
    assert!(!settled.is_settled(), "{settled:?}");
    assert!(settled.waited < PATIENT.ceiling, "{settled:?}");
    let restless = settled.animated_region.unwrap();
    assert_eq!((restless.origin().x(), restless.origin().y()), (300, 300));
    assert_eq!(restless.size(), telechir_protocol::Size::new(40, 40));
}

#[tokio::test]
async fn a_continuously_changing_screen_is_waited_for_until_the_limit() {
    let settled = settle_while_painting((900, 500), PATIENT).await;
    assert!(!settled.is_settled(), "{settled:?}");
    assert!(settled.waited >= PATIENT.ceiling, "{settled:?}");
    assert_eq!(settled.animated_region, None);
}

#[tokio::test]
async fn a_video_is_reported_without_waiting() {
    let settled = settle_while_painting((480, 300), PATIENT).await;
    assert!(!settled.is_settled(), "{settled:?}");
    assert!(settled.waited < PATIENT.ceiling, "{settled:?}");
    let restless = settled.animated_region.unwrap();
    assert_eq!(restless.size(), telechir_protocol::Size::new(480, 300));
}
