//! The screens of a session for people who look at it, at any time and beside the running call.
//!
//! Looking needs no permission, changes nothing and is not recorded. What a model sees goes through
//! `observe.rs`.

mod tiles;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use telechir_device::{DeviceError, Frame, ScreenRegion, ScreenViewer};
use telechir_image::{Format, ImageError, encode, encode_within, shrink};
use telechir_protocol::Size;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};

use self::tiles::TileVersions;
use crate::{DeviceKind, ScreenshotRule};

/// Width of an image if the viewer names none.
const DEFAULT_WIDTH: u32 = 1280;
/// The smallest and the largest width that a viewer gets.
const WIDTHS: (u32, u32) = (64, 2560);
/// Maximum bytes of an image.
const MAX_BYTES: usize = 2 << 20;
/// Several viewers, and one that is too fast, get the same frame within this time: 30 each second.
const MIN_INTERVAL: Duration = Duration::from_millis(33);
/// After this time without a change an update is empty.
const MAX_CHANGE_WAIT: Duration = Duration::from_secs(5);
/// After this time without a viewer nothing waits for changes.
const REST_DELAY: Duration = Duration::from_secs(2);
/// A rectangle whose PNG is larger than a byte for each pixel is a photograph.
const PHOTOGRAPH: Format = Format::Jpeg { quality: 85 };

/// Captures the screens of a session. Clones share the connections.
#[derive(Clone, Debug)]
pub struct SessionScreens(Arc<Vec<Arc<ViewedScreen>>>);

#[derive(Debug)]
struct ViewedScreen {
    device: DeviceKind,
    /// How many viewers wait for a change.
    waiting: AtomicUsize,
    /// Whether somebody waited for a change since the viewer was last at rest.
    is_watched: AtomicBool,
    /// One of those who wait has it, and captures for all of them.
    state: Mutex<ViewState>,
    /// The newest version.
    latest: watch::Sender<u64>,
    /// How many want the state at once: whoever waits with it leaves it to them.
    wanting: watch::Sender<usize>,
}

#[derive(Debug)]
struct ViewState {
    viewer: Box<dyn ScreenViewer>,
    /// When somebody last waited for a change.
    watched_at: Option<Instant>,
    captured: Option<CapturedFrame>,
    tiles: TileVersions,
    last: Option<LastImage>,
}

#[derive(Debug)]
struct CapturedFrame {
    at: Instant,
    frame: Frame,
}

#[derive(Debug)]
struct LastImage {
    frame: Frame,
    image: ScreenImage,
}

/// An image of a screen for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenImage {
    /// The device that it shows.
    pub device: DeviceKind,
    /// Width and height in pixels.
    pub size: Size,
    /// The media type, such as `image/png`.
    pub media_type: &'static str,
    /// The file of the image, in the format of its media type; at most 2 MiB.
    pub bytes: Arc<Vec<u8>>,
}

/// What changed on a screen since a version that a viewer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenChanges {
    /// The version that the viewer has with these areas.
    pub version: u64,
    /// Width and height of the screen in pixels.
    pub size: Size,
    /// The areas that changed, at most 16; none if nothing did for a while.
    pub areas: Vec<ChangedArea>,
}

/// An area of a screen as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedArea {
    /// The area on the screen, in pixels.
    pub region: ScreenRegion,
    /// The media type, `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The file of the image, as large as the area.
    pub bytes: Vec<u8>,
}

/// Why there is no image of a screen. Texts continue "failed to".
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The session has no such screen, or none at all.
    #[error("find the requested screen: this session has {}", listed(.0))]
    Missing(Vec<DeviceKind>),
    /// The device could not be captured.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The frame could not be encoded.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The thread that encodes it ended without a result.
    #[error("encode the image")]
    Encoder,
}

fn listed(devices: &[DeviceKind]) -> String {
    let names: Vec<&str> = devices.iter().map(|device| device.name()).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => format!("only a {}", names.join(" and a ")),
    }
}

impl SessionScreens {
    pub(crate) fn new(
        viewers: impl IntoIterator<Item = (DeviceKind, Box<dyn ScreenViewer>)>,
    ) -> Self {
        let screens = viewers.into_iter().map(|(device, viewer)| {
            Arc::new(ViewedScreen {
                device,
                waiting: AtomicUsize::new(0),
                is_watched: AtomicBool::new(false),
                latest: watch::Sender::new(0),
                wanting: watch::Sender::new(0),
                state: Mutex::new(ViewState {
                    viewer,
                    watched_at: None,
                    captured: None,
                    tiles: TileVersions::default(),
                    last: None,
                }),
            })
        });
        Self(Arc::new(screens.collect()))
    }

    /// An image of this device as it is now; without a device, of the first one. It has at most this
    /// width (1280 pixels without one) and keeps its proportions.
    ///
    /// # Errors
    /// When there is no such screen, or it cannot be captured.
    pub async fn image(
        &self,
        device: Option<DeviceKind>,
        max_width: Option<u32>,
    ) -> Result<ScreenImage, ScreenError> {
        let (min, max) = WIDTHS;
        let width = max_width.unwrap_or(DEFAULT_WIDTH).clamp(min, max);
        self.find(device)?.image(width).await
    }

    /// Waits until this device differs from the version that a viewer has, a few seconds at most, and
    /// returns the areas that changed; without a version the complete screen, at once. Without a device
    /// it is the first one. Nothing is captured while nobody waits, and nothing is stored for a viewer.
    ///
    /// # Errors
    /// When there is no such screen, or it cannot be captured.
    pub async fn changes(
        &self,
        device: Option<DeviceKind>,
        since: Option<u64>,
    ) -> Result<ScreenChanges, ScreenError> {
        let screen = self.find(device)?;
        let _watching = Watching::start(screen);
        screen.changes(since).await
    }

    fn find(&self, device: Option<DeviceKind>) -> Result<&Arc<ViewedScreen>, ScreenError> {
        let mut screens = self.0.iter();
        let screen = screens.find(|screen| device.is_none_or(|wanted| screen.device == wanted));
        screen.ok_or_else(|| {
            ScreenError::Missing(self.0.iter().map(|screen| screen.device).collect())
        })
    }
}

/// Somebody waits for changes of a screen. Its viewer rests a while after the last one.
struct Watching<'a>(&'a Arc<ViewedScreen>);

impl<'a> Watching<'a> {
    fn start(screen: &'a Arc<ViewedScreen>) -> Self {
        screen.waiting.fetch_add(1, Ordering::SeqCst);
        if !screen.is_watched.swap(true, Ordering::SeqCst)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(rest_when_unwatched(Arc::downgrade(screen)));
        }
        Self(screen)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Somebody wants the state of a screen at once.
struct Wanting<'a>(&'a ViewedScreen);

impl<'a> Wanting<'a> {
    fn start(screen: &'a ViewedScreen) -> Self {
        screen.wanting.send_modify(|count| *count += 1);
        Self(screen)
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.0.wanting.send_modify(|count| *count -= 1);
    }
}

/// Ends what notices changes when nobody waited for any during [`REST_DELAY`].
async fn rest_when_unwatched(screen: Weak<ViewedScreen>) {
    loop {
        sleep(REST_DELAY).await;
        let Some(screen) = screen.upgrade() else {
            return;
        };
        let mut state = screen.state.lock().await;
        if state.watched_at.is_some_and(|at| at.elapsed() < REST_DELAY) {
            continue;
        }
        // Before the others are counted: whoever comes later starts another task.
        screen.is_watched.store(false, Ordering::SeqCst);
        if screen.waiting.load(Ordering::SeqCst) == 0 {
            return state.viewer.rest();
        }
        if screen.is_watched.swap(true, Ordering::SeqCst) {
            return;
        }
    }
}

impl ViewedScreen {
    /// The state, which nobody who waits for changes keeps meanwhile.
    async fn enter(&self) -> MutexGuard<'_, ViewState> {
        let _until_entered = Wanting::start(self);
        self.state.lock().await
    }

    /// Captures the screen for everybody who waits.
    async fn capture(&self, state: &mut ViewState) -> Result<(), ScreenError> {
        state.capture().await?;
        let version = state.tiles.latest();
        self.latest.send_if_modified(|latest| {
            let is_new = *latest != version;
            *latest = version;
            is_new
        });
        Ok(())
    }

    async fn image(&self, max_width: u32) -> Result<ScreenImage, ScreenError> {
        let mut state = self.enter().await;
        let is_recent = |captured: &CapturedFrame| captured.at.elapsed() < MIN_INTERVAL;
        if !state.captured.as_ref().is_some_and(is_recent) {
            self.capture(&mut state).await?;
        }
        let Some(frame) = state.frame() else {
            return Err(ScreenError::Encoder);
        };
        let is_same = |last: &&LastImage| {
            last.image.size == fit(frame.size(), max_width) && last.frame.is_known_equal(&frame)
        };
        if let Some(last) = state.last.as_ref().filter(is_same) {
            return Ok(last.image.clone());
        }
        let (device, shown) = (self.device, frame.clone());
        let encoding = spawn_blocking(move || image_of(device, &shown, max_width));
        let image = encoding.await.map_err(|_| ScreenError::Encoder)??;
        state.last = Some(LastImage {
            frame,
            image: image.clone(),
        });
        Ok(image)
    }

    async fn changes(&self, since: Option<u64>) -> Result<ScreenChanges, ScreenError> {
        let deadline = Instant::now() + MAX_CHANGE_WAIT;
        let mut latest = self.latest.subscribe();
        let mut wanted = self.wanting.subscribe();
        let mut is_first = since.is_none();
        let (frame, version, areas) = loop {
            // Who waits longest gets the state and waits for a change, the others for what it captures.
            let is_newer = |version: &u64| is_first || Some(*version) != since;
            let mut state = tokio::select! {
                biased;
                () = until(&mut latest, is_newer) => self.enter().await,
                () = sleep_until(deadline) => self.enter().await,
                state = self.state.lock() => state,
            };
            state.watched_at = Some(Instant::now());
            if !is_first {
                let version = state.tiles.latest();
                let is_over = Some(version) != since || Instant::now() >= deadline;
                match state.frame() {
                    Some(frame) if is_over => {
                        break (frame, version, state.tiles.changed_since(since));
                    }
                    Some(_) => {
                        let left = deadline.saturating_duration_since(Instant::now());
                        // Both are cancel-safe.
                        tokio::select! {
                            biased;
                            () = until(&mut wanted, |count| *count > 0) => continue,
                            () = state.viewer.until_changed(left) => {}
                        }
                    }
                    None => {}
                }
            }
            if let Some(captured) = &state.captured {
                sleep_until(captured.at + MIN_INTERVAL).await;
            }
            self.capture(&mut state).await?;
            is_first = false;
        };
        let size = frame.size();
        let areas = match frame.png() {
            // It is there already, and to encode the areas takes longer.
            Some(_) if is_most_of(size, &areas) => vec![ScreenRegion::of_screen(size)],
            _ => areas,
        };
        let encoding = spawn_blocking(move || {
            let areas = areas.into_iter().map(|area| changed_area(&frame, area));
            areas.collect::<Result<Vec<ChangedArea>, ImageError>>()
        });
        Ok(ScreenChanges {
            version,
            size,
            areas: encoding.await.map_err(|_| ScreenError::Encoder)??,
        })
    }
}

impl ViewState {
    fn frame(&self) -> Option<Frame> {
        self.captured
            .as_ref()
            .map(|captured| captured.frame.clone())
    }

    /// Captures the screen and finds what changed.
    async fn capture(&mut self) -> Result<(), ScreenError> {
        let at = Instant::now();
        let frame = self.viewer.capture().await?;
        if frame.png().is_some() {
            // Decoding takes long; clones share the pixels.
            let packed = frame.clone();
            let decoding = spawn_blocking(move || packed.bgrx().len());
            decoding.await.map_err(|_| ScreenError::Encoder)?;
        }
        let before = self.captured.as_ref().map(|captured| &captured.frame);
        self.tiles.add(before, &frame);
        self.captured = Some(CapturedFrame { at, frame });
        Ok(())
    }
}

/// Waits until the value is so. Cancel-safe.
async fn until<T>(value: &mut watch::Receiver<T>, is_so: impl FnMut(&T) -> bool) {
    // Its sender lives as long as the screen.
    let _or_gone = value.wait_for(is_so).await.is_ok();
}

/// Whether these areas together are more than half of a screen.
fn is_most_of(screen: Size, areas: &[ScreenRegion]) -> bool {
    let pixels = |size: Size| u64::from(size.width) * u64::from(size.height);
    let changed: u64 = areas.iter().map(|area| pixels(area.size())).sum();
    changed > pixels(screen) / 2
}

/// An area of a frame as an image: without loss, unless it is a photograph.
fn changed_area(frame: &Frame, region: ScreenRegion) -> Result<ChangedArea, ImageError> {
    let area = |bytes: Vec<u8>, format: Format| ChangedArea {
        region,
        media_type: format.media_type(),
        bytes,
    };
    if region.size() == frame.size()
        && let Some(png) = frame.png()
    {
        return Ok(area(png.to_vec(), Format::Png));
    }
    // The tiles of a frame are within it.
    let part = frame.crop(region).unwrap_or_else(|| frame.clone());
    let png = encode(&part, Format::Png)?;
    let pixels = region.size().width as usize * region.size().height as usize;
    if png.len() <= pixels {
        return Ok(area(png, Format::Png));
    }
    let photograph = encode(&part, PHOTOGRAPH)?;
    Ok(area(photograph, PHOTOGRAPH))
}

fn image_of(device: DeviceKind, frame: &Frame, max_width: u32) -> Result<ScreenImage, ImageError> {
    let size = fit(frame.size(), max_width);
    let frame = shrink(frame, size)?;
    let (bytes, format) = match frame.png() {
        Some(png) if png.len() <= MAX_BYTES => (png.to_vec(), Format::Png),
        _ => encode_within(&frame, &ScreenshotRule::native().formats(), MAX_BYTES)?,
    };
    Ok(ScreenImage {
        device,
        size,
        media_type: format.media_type(),
        bytes: Arc::new(bytes),
    })
}

/// The size of a screen's image.
fn fit(screen: Size, max_width: u32) -> Size {
    if screen.width <= max_width {
        return screen;
    }
    let height = u64::from(screen.height) * u64::from(max_width) / u64::from(screen.width);
    Size::new(max_width, u32::try_from(height).unwrap_or(1).max(1))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;

    use async_trait::async_trait;
    use tokio::sync::Notify;
    use tokio::task::JoinSet;
    use tokio::time::timeout;

    use super::*;

    static SHADE: AtomicU8 = AtomicU8::new(1);

    #[derive(Debug)]
    struct Wall(u32);

    #[async_trait]
    impl ScreenViewer for Wall {
        async fn capture(&mut self) -> Result<Frame, DeviceError> {
            let size = Size::new(self.0, 100);
            let shade = SHADE.load(Ordering::Relaxed);
            let length = (self.0 * 100 * 4) as usize;
            Frame::new(size, vec![shade; length]).ok_or_else(|| DeviceError::Refused {
                message: "a wrong length".to_owned(),
            })
        }

        async fn until_changed(&mut self, limit: Duration) {
            sleep(limit).await;
        }

        fn rest(&mut self) {}
    }

    fn screens() -> SessionScreens {
        let wall = |width| -> Box<dyn ScreenViewer> { Box::new(Wall(width)) };
        SessionScreens::new([
            (DeviceKind::Desktop, wall(200)),
            (DeviceKind::Browser, wall(4000)),
        ])
    }

    #[tokio::test]
    async fn an_image_has_the_width_that_was_requested_within_limits() {
        let screens = screens();
        for (device, width, expected) in [
            (None, None, (200, 100)),
            (Some(DeviceKind::Desktop), Some(100), (100, 50)),
            (Some(DeviceKind::Desktop), Some(0), (64, 32)),
            (Some(DeviceKind::Browser), None, (1280, 32)),
            (Some(DeviceKind::Browser), Some(u32::MAX), (2560, 64)),
        ] {
            let image = screens.image(device, width).await.unwrap();
            assert_eq!(image.size, Size::new(expected.0, expected.1), "{width:?}");
            assert!(image.bytes.starts_with(b"\x89PNG"));
        }
    }

    /// Shows one shade after another; each capture is counted.
    #[derive(Clone, Debug, Default)]
    struct Blinking {
        captures: Arc<AtomicUsize>,
        rests: Arc<AtomicUsize>,
        changes: Arc<Notify>,
    }

    #[async_trait]
    impl ScreenViewer for Blinking {
        async fn capture(&mut self) -> Result<Frame, DeviceError> {
            let shade = self.captures.fetch_add(1, Ordering::Relaxed);
            let pixel = [u8::try_from(shade).unwrap_or(0), 0, 0, 0];
            let frame = Frame::new(Size::new(8, 4), pixel.repeat(32));
            Ok(frame.expect("32 pixels"))
        }

        async fn until_changed(&mut self, limit: Duration) {
            let _unchanged = timeout(limit, self.changes.notified()).await;
        }

        fn rest(&mut self) {
            self.rests.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_captured_while_nobody_looks() {
        let wall = Blinking::default();
        let viewer: Box<dyn ScreenViewer> = Box::new(wall.clone());
        let screens = SessionScreens::new([(DeviceKind::Desktop, viewer)]);
        let captures = || wall.captures.load(Ordering::Relaxed);
        let first = screens.changes(None, None).await.unwrap();
        assert_eq!((first.areas.len(), captures()), (1, 1));
        let next = screens.changes(None, Some(first.version)).await.unwrap();
        assert_eq!((next.areas.len(), captures()), (1, 2));
        assert!(next.version > first.version);
        sleep(Duration::from_secs(3600)).await;
        let rests = wall.rests.load(Ordering::Relaxed);
        assert_eq!((captures(), rests), (2, 1), "nobody looked for an hour");
        // Who begins later gets all of it, and who waits gets the newest alone.
        let again = screens.changes(None, None).await.unwrap();
        let waiting = screens.changes(None, Some(first.version)).await.unwrap();
        assert_eq!(again.areas, waiting.areas);
    }

    /// Shows the same for ever; each wait for a change is counted.
    #[derive(Clone, Debug, Default)]
    struct Still(Arc<AtomicUsize>);

    #[async_trait]
    impl ScreenViewer for Still {
        async fn capture(&mut self) -> Result<Frame, DeviceError> {
            let frame = Frame::new(Size::new(8, 4), vec![0; 128]);
            Ok(frame.expect("32 pixels"))
        }

        async fn until_changed(&mut self, limit: Duration) {
            self.0.fetch_add(1, Ordering::Relaxed);
            sleep(limit).await;
        }

        fn rest(&mut self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn viewers_of_a_screen_that_does_not_change_wake_nobody() {
        let wall = Still::default();
        let viewer: Box<dyn ScreenViewer> = Box::new(wall.clone());
        let screens = SessionScreens::new([(DeviceKind::Desktop, viewer)]);
        let first = screens.changes(None, None).await.unwrap();
        let mut waits = JoinSet::new();
        let started = Instant::now();
        for _ in 0..10 {
            let (screens, since) = (screens.clone(), Some(first.version));
            waits.spawn(async move { screens.changes(None, since).await.unwrap() });
        }
        let updates = waits.join_all().await;
        assert!(updates.iter().all(|update| update.areas.is_empty()));
        assert_eq!(started.elapsed(), MAX_CHANGE_WAIT);
        let count = wall.0.load(Ordering::Relaxed);
        assert!(count <= 10, "{count} waits for ten viewers");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_change_lets_others_look() {
        let viewer: Box<dyn ScreenViewer> = Box::new(Still::default());
        let screens = SessionScreens::new([(DeviceKind::Desktop, viewer)]);
        let first = screens.changes(None, None).await.unwrap();
        let since = Some(first.version);
        let look = async {
            sleep(Duration::from_secs(1)).await;
            let before = Instant::now();
            screens.image(None, None).await.unwrap();
            let second = screens.changes(None, None).await.unwrap();
            assert_eq!(second.version, first.version);
            before.elapsed()
        };
        let (one, other, took) = tokio::join!(
            screens.changes(None, since),
            screens.changes(None, since),
            look
        );
        assert!(took < Duration::from_millis(100), "{took:?}");
        for update in [one.unwrap(), other.unwrap()] {
            assert_eq!((update.version, update.areas.len()), (first.version, 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_screen_that_does_not_change_is_an_empty_update() {
        let screens = screens();
        let desktop = Some(DeviceKind::Desktop);
        let first = screens.changes(desktop, None).await.unwrap();
        let size = first.areas.iter().map(|area| area.region.size());
        assert_eq!(size.collect::<Vec<_>>(), [Size::new(200, 100)]);
        let since = Some(first.version);
        let (one, other) = tokio::join!(
            screens.changes(desktop, since),
            screens.changes(desktop, since)
        );
        for later in [one.unwrap(), other.unwrap()] {
            assert_eq!((later.version, later.areas.len()), (first.version, 0));
        }
    }

    #[tokio::test]
    async fn a_missing_screen_is_an_error_that_lists_the_others() {
        let error = screens().image(Some(DeviceKind::Shell), None).await;
        let error = error.unwrap_err().to_string();
        assert_eq!(
            error,
            "find the requested screen: this session has only a desktop and a browser"
        );
        let error = SessionScreens::new([]).image(None, None).await.unwrap_err();
        assert!(error.to_string().ends_with("has none"), "{error}");
    }
}
