//! Screenshots for the model: settle, capture, scale, encode, store. Never an outdated one.

use std::time::Instant;

use telechir_device::{DeviceError, Frame, Labels, Mark, ScreenRegion, Settle, Settled, Viewport};
use telechir_policy::{Permitted, ScreenProposal};
use telechir_protocol::{CallId, Failure, FailureKind, FrameId, Media, Region, Settling, Size};

use crate::execute::{ScreenSlot, sentence};
use crate::recorder::{Recorder, millis};
use crate::screenshot::encode_screenshot;
use crate::{RuntimeError, ScreenshotRule, SessionEvent, SessionLimits};

/// A screenshot for a result.
#[derive(Clone, Debug)]
pub(crate) struct ModelScreenshot {
    pub(crate) media: Media,
    /// None for a part of the screen: points never refer to it.
    pub(crate) frame: Option<FrameId>,
    pub(crate) size: Size,
    /// Whether and how the screen settled.
    pub(crate) settling: Settling,
    /// The labels as text, if the screenshot has any.
    pub(crate) labels: Option<String>,
}

/// The latest screenshot of the full visible region, reused if the next one is identical.
#[derive(Clone, Debug)]
pub(crate) struct LastFrame {
    frame: Frame,
    size: Size,
    rule: ScreenshotRule,
    marks: Vec<Mark>,
    media: Media,
    blob: String,
    name: FrameId,
}

/// The area of the screen that a screenshot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CaptureArea {
    /// The complete visible region.
    Full,
    /// A region of the latest screenshot.
    Part(Region),
    /// The region of a window or a monitor on the screen.
    Located(ScreenRegion),
}

/// What gets labels on a screenshot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MarkMode {
    Off,
    /// Interactive elements, up to this number.
    Elements(usize),
    /// Also words that OCR finds in areas without accessibility information, up to this number in
    /// total.
    WithOcr(usize),
}

/// The settings and state for all screenshots of a session.
pub(crate) struct Camera<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) rule: ScreenshotRule,
    pub(crate) limits: &'a SessionLimits,
    pub(crate) marking: MarkMode,
    pub(crate) screenshots: &'a mut u64,
    /// How often a person has had control.
    pub(crate) epoch: u64,
}

impl Camera<'_> {
    /// Takes the screenshot for a step of a permitted proposal.
    pub(crate) async fn take(
        &mut self,
        screen: &mut ScreenSlot,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        (view, settle): (CaptureArea, Settle),
    ) -> Result<Result<ModelScreenshot, Failure>, RuntimeError> {
        let started = Instant::now();
        let (frame, settled) = match screen
            .settle_and_capture(permit, step, settle, self.limits)
            .await
        {
            Ok(seen) => seen,
            Err(error) => return Ok(Err(no_screenshot(&error))),
        };
        let part = match part_of(screen, view) {
            Ok(part) => part,
            Err(failure) => return Ok(Err(failure)),
        };
        let detail = match part {
            Some(region) => {
                let detail = screen.capture_detail(permit, step, region, self.limits);
                match detail.await {
                    Ok(detail) => detail,
                    Err(error) => return Ok(Err(no_screenshot(&error))),
                }
            }
            None => None,
        };
        let (frame, size, is_full_view) = match self.crop(screen, (frame, detail), part) {
            Ok(crop) => crop,
            Err(failure) => return Ok(Err(failure)),
        };
        let marked = match is_full_view {
            true => self.mark(screen, permit, step).await,
            false => None,
        };
        let drawn = marked.as_ref().map_or(&[][..], |marked| &marked.marks);
        let previous = screen.last_frame.as_ref().filter(|last_frame| {
            is_full_view && last_frame.matches(&frame, size, self.rule, drawn)
        });
        let (media, blob, identical_to) = match previous {
            Some(last_frame) => (
                last_frame.media.clone(),
                last_frame.blob.clone(),
                Some(last_frame.name.clone()),
            ),
            None => match self.encode(&frame, size, (drawn, screen.viewport)).await? {
                Some((media, blob)) => (media, blob, None),
                None => return Ok(Err(encode_failed())),
            },
        };
        let name = self.next_name();
        let labels = marked.as_ref().map(|marked| {
            screen.labels = Labels::of(name.clone(), &marked.marks);
            marked.label_text(&name, &screen.viewport)
        });
        if is_full_view && identical_to.is_none() {
            screen.last_frame = Some(LastFrame {
                frame,
                size,
                rule: self.rule,
                marks: marked.map(|marked| marked.marks).unwrap_or_default(),
                media: media.clone(),
                blob: blob.clone(),
                name: name.clone(),
            });
        }
        if is_full_view {
            screen.seen_epoch = self.epoch;
        }
        let settling = settling(&settled, identical_to.clone(), &screen.viewport);
        self.recorder.emit(SessionEvent::ScreenshotTaken {
            call_id: call_of(permit),
            device: screen.kind(),
            frame: name.clone(),
            blob,
            size,
            settled: settled.is_settled(),
            settle_ms: millis(settled.waited),
            unsettled: settled.unsettled,
            identical_to,
            ms: millis(started.elapsed()),
        });
        Ok(Ok(ModelScreenshot {
            media,
            frame: is_full_view.then_some(name),
            size,
            settling,
            labels,
        }))
    }

    /// Encodes a screenshot and stores it in the journal; none when encoding fails.
    async fn encode(
        &self,
        frame: &Frame,
        size: Size,
        (marks, viewport): (&[Mark], Viewport),
    ) -> Result<Option<(Media, String)>, RuntimeError> {
        let (frame, marks, rule) = (frame.clone(), marks.to_vec(), self.rule);
        let encoded = tokio::task::spawn_blocking(move || {
            encode_screenshot(&frame, size, (&marks, &viewport), rule)
        });
        match encoded.await {
            Ok(Ok((media, bytes))) => {
                let blob = self.recorder.journal.put_blob(bytes).await?;
                Ok(Some((media, blob)))
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a screenshot could not be encoded");
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }

    /// Collects the elements to label; none when labels are off. Failures only leave labels out.
    async fn mark(
        &self,
        screen: &mut ScreenSlot,
        permit: &Permitted<ScreenProposal>,
        step: usize,
    ) -> Option<MarkedElements> {
        let (max_marks, with_ocr) = match self.marking {
            MarkMode::Off => return None,
            MarkMode::Elements(max_marks) => (max_marks, false),
            MarkMode::WithOcr(max_marks) => (max_marks, true),
        };
        let mut marked = MarkedElements::default();
        match screen.marks(permit, step, max_marks, self.limits).await {
            Ok(marks) => marked.marks = marks,
            Err(error) => marked.unavailable.push(unavailable(&error)),
        }
        let left = max_marks.saturating_sub(marked.marks.len());
        if with_ocr && left > 0 {
            match screen.ocr(permit, step, left).await {
                Ok(ocr) => marked.marks.extend(ocr),
                Err(error) => marked.unavailable.push(unavailable(&error)),
            }
        }
        Some(marked)
    }

    /// The pixels to encode and their target size. Points refer to the latest full screenshot.
    ///
    /// A part has its own size if the model accepts that, or that of its detail.
    fn crop(
        &self,
        screen: &mut ScreenSlot,
        (frame, detail): (Frame, Option<Frame>),
        part: Option<ScreenRegion>,
    ) -> Result<(Frame, Size, bool), Failure> {
        match part {
            None => {
                let (screen_size, visible_region) = (frame.size(), screen.visible_region());
                let frame = crop_frame(frame, visible_region)?;
                let size = self.rule.fit(frame.size());
                screen.viewport = Viewport::of_part(screen_size, visible_region, size);
                Ok((frame, size, true))
            }
            Some(region) => {
                let part = detail.map_or_else(|| crop_frame(frame, region), Ok)?;
                let size = self.rule.of_part().fit(part.size());
                Ok((part, size, false))
            }
        }
    }

    fn next_name(&mut self) -> FrameId {
        *self.screenshots += 1;
        FrameId::new(format!("frame_{}", self.screenshots))
    }
}

impl LastFrame {
    fn matches(&self, frame: &Frame, size: Size, rule: ScreenshotRule, marks: &[Mark]) -> bool {
        let drawn = |mark: &Mark| (mark.region, mark.kind);
        (self.size, self.rule) == (size, rule)
            && self.marks.iter().map(drawn).eq(marks.iter().map(drawn))
            && self.frame.is_known_equal(frame)
    }
}

/// The region of a part on the screen; none for the complete screen.
fn part_of(screen: &ScreenSlot, view: CaptureArea) -> Result<Option<ScreenRegion>, Failure> {
    match view {
        CaptureArea::Full => Ok(None),
        CaptureArea::Part(region) => screen.viewport.region(region).map(Some).map_err(|error| {
            let message = sentence(&error.to_string());
            Failure::new(FailureKind::InvalidInput, message)
        }),
        CaptureArea::Located(region) => Ok(Some(region)),
    }
}

/// The part of a frame inside `region`, without a copy if that is the complete frame.
fn crop_frame(frame: Frame, region: ScreenRegion) -> Result<Frame, Failure> {
    if region == ScreenRegion::of_screen(frame.size()) {
        return Ok(frame);
    }
    frame.crop(region).ok_or_else(|| {
        let message = "The screen size changed; take a new screenshot.";
        Failure::new(FailureKind::InvalidInput, message)
    })
}

/// The settling of a screenshot, in the screenshot's own coordinates.
fn settling(settled: &Settled, identical_to: Option<FrameId>, viewport: &Viewport) -> Settling {
    Settling {
        settled: settled.is_settled(),
        settle_ms: millis(settled.waited),
        unsettled: settled.unsettled,
        animated_region: settled
            .animated_region
            .map(|region| viewport.screenshot_pixels(region)),
        identical_to,
    }
}

fn encode_failed() -> Failure {
    let message = "The screenshot could not be encoded.";
    Failure::new(FailureKind::Device, message)
}

/// The labels of a screenshot.
#[derive(Debug, Default)]
struct MarkedElements {
    marks: Vec<Mark>,
    /// Why labels are missing, as sentences.
    unavailable: Vec<String>,
}

impl MarkedElements {
    /// The labels as text, each with the centre of its region on the screenshot.
    fn label_text(&self, name: &FrameId, viewport: &Viewport) -> String {
        let name = name.as_str();
        let mut lines = vec![if self.marks.is_empty() {
            format!("{name} has no labels: no elements are known.")
        } else {
            format!("Labels of {name}:")
        }];
        let marks = (1u32..).zip(&self.marks);
        lines.extend(marks.map(|(n, mark)| format!("{n}: {}", mark_line(mark, viewport))));
        lines.extend(self.unavailable.iter().cloned());
        lines.join("\n")
    }
}

/// One line about a mark, with the centre of its region on the screenshot.
pub(crate) fn mark_line(mark: &Mark, viewport: &Viewport) -> String {
    let centre = mark.region.centre();
    let (x, y) = viewport.screenshot_point(centre.x().cast_signed(), centre.y().cast_signed());
    format!("{} at {x},{y}", mark.line)
}

/// Why elements are unavailable, as a sentence.
pub(crate) fn unavailable(error: &DeviceError) -> String {
    sentence(&format!("failed to {error}"))
}

fn call_of(permit: &Permitted<ScreenProposal>) -> CallId {
    permit.proposal().call_id.clone()
}

fn no_screenshot(error: &DeviceError) -> Failure {
    let kind = error.to_failure().kind;
    Failure::new(kind, format!("No screenshot: failed to {error}."))
}
