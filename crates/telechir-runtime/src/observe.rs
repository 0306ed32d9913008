//! Taking a picture for the model: settled, captured, scaled, encoded, kept. Never an old one.

use std::time::Instant;

use telechir_device::{DeviceError, Frame, Settle, Viewport};
use telechir_policy::{Permitted, ScreenProposal};
use telechir_protocol::{CallId, Failure, FailureKind, FrameId, Media, Region, Size};

use crate::execute::Screen;
use crate::picture::Picture;
use crate::recorder::{Recorder, millis};
use crate::{Limits, PictureRule, RuntimeError, SessionEvent};

/// A picture for a result.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    pub(crate) media: Media,
    /// None for a part of the screen: points never belong to it.
    pub(crate) frame: Option<FrameId>,
    pub(crate) size: Size,
}

/// What of the screen the model wants to see.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    Whole,
    Part(Region),
}

/// What is needed for every picture of a session.
pub(crate) struct Camera<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) rule: PictureRule,
    pub(crate) limits: &'a Limits,
    pub(crate) pictures: &'a mut u64,
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
        let encoded = tokio::task::spawn_blocking(move || Picture::encode(&frame, size)).await;
        let Ok(Ok(picture)) = encoded else {
            let message = "The picture of the screen could not be encoded.";
            return Ok(Err(Failure::new(FailureKind::Device, message)));
        };
        let media = picture.to_media();
        let blob = self.recorder.journal.put_blob(picture.png).await?;
        let name = self.next_name();
        self.recorder.announce(SessionEvent::PictureTaken {
            call_id: call_of(permit),
            device: screen.kind(),
            frame: name.clone(),
            blob,
            size: picture.size,
            settled: settled.settled,
            ms: millis(began.elapsed()),
        });
        Ok(Ok(Shot {
            media,
            frame: is_whole.then_some(name),
            size: picture.size,
        }))
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
                let size = self.rule.fit(frame.size());
                screen.viewport = Viewport::new(frame.size(), size);
                Ok((frame, size, true))
            }
            View::Part(region) => {
                let invalid = |message: String| Failure::new(FailureKind::InvalidInput, message);
                let region = screen
                    .viewport
                    .region(region)
                    .map_err(|error| invalid(crate::execute::sentence(&error.to_string())))?;
                let part = frame.crop(region).ok_or_else(|| {
                    invalid("The screen changed its size; look again.".to_owned())
                })?;
                let size = self.rule.fit(part.size());
                Ok((part, size, false))
            }
        }
    }

    fn next_name(&mut self) -> FrameId {
        *self.pictures += 1;
        FrameId::new(format!("frame_{}", self.pictures))
    }
}

fn call_of(permit: &Permitted<ScreenProposal>) -> CallId {
    permit.proposal().call_id.clone()
}

fn unseen(error: &DeviceError) -> Failure {
    let kind = error.to_failure().kind;
    Failure::new(kind, format!("There is no picture: failed to {error}."))
}
