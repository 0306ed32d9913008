//! The body of an answer that owns what its principal may have only so much of, such as requests.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Longest part that is passed on at once. A connection takes as many parts as it can store, and drops
/// the body with the last one.
const MAX_PART_BYTES: usize = 16 << 10;

/// Keeps `owned` until a connection has taken the whole body, or is gone.
pub(super) fn keep_until_read(response: Response, owned: impl Send + Unpin + 'static) -> Response {
    response.map(|body| {
        let rest = Bytes::new();
        Body::new(OwningBody {
            body,
            rest,
            _owned: owned,
        })
    })
}

struct OwningBody<T> {
    body: Body,
    /// What was read of the body and is not passed on.
    rest: Bytes,
    _owned: T,
}

impl<T> OwningBody<T> {
    /// The next part. A copy, so that a part does not keep all of a large answer in memory.
    fn part(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(MAX_PART_BYTES);
        Frame::data(Bytes::copy_from_slice(&self.rest.split_to(length)))
    }
}

impl<T: Unpin> HttpBody for OwningBody<T> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        while this.rest.is_empty() {
            let frame = std::task::ready!(Pin::new(&mut this.body).poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => this.rest = data,
                Some(Ok(Err(frame))) => return Poll::Ready(Some(Ok(frame))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        Poll::Ready(Some(Ok(this.part())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_owned_is_free_after_the_last_part() {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * MAX_PART_BYTES + 1).collect();
        let owned = Arc::new(());
        let response =
            keep_until_read(Response::new(Body::from(bytes.clone())), Arc::clone(&owned));
        let mut body = response.into_body();
        let mut read = Vec::new();
        for length in [MAX_PART_BYTES, MAX_PART_BYTES, 1] {
            assert_eq!(Arc::strong_count(&owned), 2);
            let left = bytes.len() - read.len();
            assert_eq!(body.size_hint().exact(), u64::try_from(left).ok());
            assert!(!body.is_end_stream());
            let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(part.len(), length);
            read.extend_from_slice(&part);
        }
        assert_eq!(read, bytes);
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(Arc::strong_count(&owned), 1);
    }

    #[tokio::test]
    async fn an_empty_body_stays_empty() {
        let mut body = keep_until_read(Response::new(Body::empty()), ()).into_body();
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(body.frame().await.is_none());
    }
}
