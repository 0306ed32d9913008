//! Taking a picture for the model: settled, captured, scaled, encoded, kept. Never an old one.

use std::time::Instant;

use telechir_device::{DeviceError, Frame, Labels, Mark, ScreenRegion, Settle, Settled, Viewport};
use telechir_policy::{Permitted, ScreenProposal};
use telechir_protocol::{CallId, Failure, FailureKind, FrameId, Media, Region, Settling, Size};

use crate::execute::{Screen, sentence};
use crate::recorder::{Recorder, millis};
use crate::screenshot::develop;
use crate::{Limits, RuntimeError, ScreenshotRule, SessionEvent};

/// A picture for a result.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    pub(crate) media: Media,
    /// None for a part of the screen: points never belong to it.
    pub(crate) frame: Option<FrameId>,
    pub(crate) size: Size,
    /// What is said of it.
    pub(crate) sighting: Settling,
    /// What its numbers are, when it has any.
    pub(crate) labels: Option<String>,
}

/// The newest picture of a whole screen: the next that shows the same is not encoded again.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    frame: Frame,
    size: Size,
    rule: ScreenshotRule,
    marks: Vec<Mark>,
    media: Media,
    blob: String,
    name: FrameId,
}

/// What of the screen the model wants to see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    /// All that the model is shown.
    Whole,
    /// A part of the newest picture.
    Part(Region),
    /// A window or a monitor.
    Seen(ScreenRegion),
}

/// What gets a number on a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Marking {
    Nothing,
    /// What can be acted on, at most so many.
    Elements(usize),
    /// Also words that are read off what says nothing of itself, at most so many altogether.
    AndWords(usize),
}

/// What is needed for every picture of a session.
pub(crate) struct Camera<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) rule: ScreenshotRule,
    pub(crate) limits: &'a Limits,
    pub(crate) marking: Marking,
    pub(crate) screenshots: &'a mut u64,
}

impl Camera<'_> {
    /// Takes the picture that a step of a permitted proposal asks for.
    pub(crate) async fn take(
        &mut self,
        screen: &mut Screen,
        permit: &Permitted<ScreenProposal>,
        step: usize,
        (view, settle): (View, Settle),
    ) -> Result<Result<Shot, Failure>, RuntimeError> {
        let began = Instant::now();
        let (frame, settled) = match screen.look(permit, step, settle, self.limits).await {
            Ok(seen) => seen,
            Err(error) => return Ok(Err(unseen(&error))),
        };
        let (frame, size, is_whole) = match self.cut(screen, frame, view) {
            Ok(cut) => cut,
            Err(failure) => return Ok(Err(failure)),
        };
        let marked = match is_whole {
            true => self.mark(screen, permit, step).await,
            false => None,
        };
        let drawn = marked.as_ref().map_or(&[][..], |marked| &marked.marks);
        let again = screen
            .kept
            .as_ref()
            .filter(|kept| is_whole && kept.shows(&frame, size, self.rule, drawn));
        let (media, blob, same_as) = match again {
            Some(kept) => (
                kept.media.clone(),
                kept.blob.clone(),
                Some(kept.name.clone()),
            ),
            None => match self.develop(&frame, size, (drawn, screen.viewport)).await? {
                Some((media, blob)) => (media, blob, None),
                None => return Ok(Err(undeveloped())),
            },
        };
        let name = self.next_name();
        let labels = marked.as_ref().map(|marked| {
            screen.labels = Labels::of(name.clone(), &marked.marks);
            marked.told(&name, &screen.viewport)
        });
        if is_whole && same_as.is_none() {
            screen.kept = Some(Kept {
                frame,
                size,
                rule: self.rule,
                marks: marked.map(|marked| marked.marks).unwrap_or_default(),
                media: media.clone(),
                blob: blob.clone(),
                name: name.clone(),
            });
        }
        let sighting = sighting(&settled, same_as.clone(), &screen.viewport);
        self.recorder.announce(SessionEvent::ScreenshotTaken {
            call_id: call_of(permit),
            device: screen.kind(),
            frame: name.clone(),
            blob,
            size,
            settled: settled.is_settled(),
            settle_ms: millis(settled.waited),
            unsettled: settled.unsettled,
            identical_to: same_as,
            ms: millis(began.elapsed()),
        });
        Ok(Ok(Shot {
            media,
            frame: is_whole.then_some(name),
            size,
            sighting,
            labels,
        }))
    }

    /// Encodes a picture and keeps it in the journal; none when it cannot be encoded.
    async fn develop(
        &self,
        frame: &Frame,
        size: Size,
        (marks, viewport): (&[Mark], Viewport),
    ) -> Result<Option<(Media, String)>, RuntimeError> {
        let (frame, marks, rule) = (frame.clone(), marks.to_vec(), self.rule);
        let developed =
            tokio::task::spawn_blocking(move || develop(&frame, size, (&marks, &viewport), rule));
        match developed.await {
            Ok(Ok((media, bytes))) => {
                let blob = self.recorder.journal.put_blob(bytes).await?;
                Ok(Some((media, blob)))
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a picture is missing");
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }

    /// What is numbered; none when nothing is to be. A picture without numbers is better than
    /// none.
    async fn mark(
        &self,
        screen: &mut Screen,
        permit: &Permitted<ScreenProposal>,
        step: usize,
    ) -> Option<Marked> {
        let (at_most, with_words) = match self.marking {
            Marking::Nothing => return None,
            Marking::Elements(at_most) => (at_most, false),
            Marking::AndWords(at_most) => (at_most, true),
        };
        let mut marked = Marked::default();
        match screen.marks(permit, step, at_most, self.limits).await {
            Ok(marks) => marked.marks = marks,
            Err(error) => marked.lacks.push(lacking(&error)),
        }
        let left = at_most.saturating_sub(marked.marks.len());
        if with_words && left > 0 {
            match screen.words(permit, step, left).await {
                Ok(words) => marked.marks.extend(words),
                Err(error) => marked.lacks.push(lacking(&error)),
            }
        }
        Some(marked)
    }

    /// The pixels to encode and the size to encode them at. Points belong to the newest whole one.
    fn cut(
        &self,
        screen: &mut Screen,
        frame: Frame,
        view: View,
    ) -> Result<(Frame, Size, bool), Failure> {
        match view {
            View::Whole => {
                let (screen_size, shown) = (frame.size(), screen.shown());
                let frame = cropped(frame, shown)?;
                let size = self.rule.fit(frame.size());
                screen.viewport = Viewport::of_part(screen_size, shown, size);
                Ok((frame, size, true))
            }
            View::Part(region) => {
                let region = screen.viewport.region(region).map_err(|error| {
                    let message = sentence(&error.to_string());
                    Failure::new(FailureKind::InvalidInput, message)
                })?;
                self.closer(frame, region)
            }
            View::Seen(region) => self.closer(frame, region),
        }
    }

    /// A part, in its own size where the model can take that: nobody points at its pixels.
    fn closer(&self, frame: Frame, region: ScreenRegion) -> Result<(Frame, Size, bool), Failure> {
        let part = cropped(frame, region)?;
        let size = self.rule.of_part().fit(part.size());
        Ok((part, size, false))
    }

    fn next_name(&mut self) -> FrameId {
        *self.screenshots += 1;
        FrameId::new(format!("frame_{}", self.screenshots))
    }
}

impl Kept {
    fn shows(&self, frame: &Frame, size: Size, rule: ScreenshotRule, marks: &[Mark]) -> bool {
        let drawn = |mark: &Mark| (mark.region, mark.kind);
        (self.size, self.rule) == (size, rule)
            && self.marks.iter().map(drawn).eq(marks.iter().map(drawn))
            && self.frame.is_known_as(frame)
    }
}

/// The part of a frame inside `region`; all of it without a copy.
fn cropped(frame: Frame, region: ScreenRegion) -> Result<Frame, Failure> {
    if region == ScreenRegion::whole(frame.size()) {
        return Ok(frame);
    }
    frame.crop(region).ok_or_else(|| {
        let message = "The screen changed its size; look again.";
        Failure::new(FailureKind::InvalidInput, message)
    })
}

/// What is said of a picture beside it, in the picture's own places.
fn sighting(settled: &Settled, same_as: Option<FrameId>, viewport: &Viewport) -> Settling {
    Settling {
        settled: settled.is_settled(),
        settle_ms: millis(settled.waited),
        unsettled: settled.unsettled,
        animated_region: settled
            .animated_region
            .map(|region| viewport.screenshot_pixels(region)),
        identical_to: same_as,
    }
}

fn undeveloped() -> Failure {
    let message = "The picture of the screen could not be encoded.";
    Failure::new(FailureKind::Device, message)
}

/// What is numbered on a picture.
#[derive(Debug, Default)]
struct Marked {
    marks: Vec<Mark>,
    /// Why something is missing, in sentences.
    lacks: Vec<String>,
}

impl Marked {
    /// In words, each with the middle of its place on the picture.
    fn told(&self, name: &FrameId, viewport: &Viewport) -> String {
        let name = name.as_str();
        let mut lines = vec![if self.marks.is_empty() {
            format!("{name} has no labels: nothing is known of what it shows.")
        } else {
            format!("Labels of {name}:")
        }];
        let marks = (1u32..).zip(&self.marks);
        lines.extend(marks.map(|(n, mark)| format!("{n}: {}", placed(mark, viewport))));
        lines.extend(self.lacks.iter().cloned());
        lines.join("\n")
    }
}

/// A mark in words, with the middle of its place on the picture.
pub(crate) fn placed(mark: &Mark, viewport: &Viewport) -> String {
    let centre = mark.region.centre();
    let (x, y) = viewport.seen_at(centre.x().cast_signed(), centre.y().cast_signed());
    format!("{} at {x},{y}", mark.line)
}

/// What is missing, as a sentence.
pub(crate) fn lacking(error: &DeviceError) -> String {
    sentence(&format!("failed to {error}"))
}

fn call_of(permit: &Permitted<ScreenProposal>) -> CallId {
    permit.proposal().call_id.clone()
}

fn unseen(error: &DeviceError) -> Failure {
    let kind = error.to_failure().kind;
    Failure::new(kind, format!("There is no picture: failed to {error}."))
}
