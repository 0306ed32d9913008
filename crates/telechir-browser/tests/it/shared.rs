//! One Chromium for the tests that run at the same time in this process: each test has its own
//! browser contexts in it.
//!
//! The threads of the tests own it together. The last one to end closes it and waits until it is
//! gone; the next test starts another one.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use telechir_browser::{Browser, Options, Surface};
use telechir_device::DeviceError;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};

use crate::common::{SIZE, options};

/// The Chromium in use, if any test uses it.
static CURRENT: Mutex<Weak<SharedChromium>> = Mutex::new(Weak::new());

thread_local! {
    /// Keeps Chromium running until the thread of this test ends.
    static IN_USE: RefCell<Option<Arc<SharedChromium>>> = const { RefCell::new(None) };
}

/// A Chromium on a thread of its own, because a test's runtime ends with the test.
struct SharedChromium {
    /// Dropped first: the thread closes Chromium when nobody can send requests.
    requests: Option<mpsc::UnboundedSender<ContextRequest>>,
    thread: Option<JoinHandle<()>>,
}

/// The options of a browser to open, and where it goes.
type ContextRequest = (Options, oneshot::Sender<Result<Browser, DeviceError>>);

/// Opens a browser with its own context in the shared Chromium.
pub(crate) async fn open(options: Options) -> Result<Browser, DeviceError> {
    let chromium = current();
    let (reply, opened) = oneshot::channel();
    let requests = chromium.requests.as_ref().unwrap();
    requests.send((options, reply)).unwrap();
    opened.await.unwrap()
}

/// The Chromium in use; a new one if there is none, or if it exited.
fn current() -> Arc<SharedChromium> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let running = current.upgrade().filter(|chromium| chromium.is_running());
    let chromium = running.unwrap_or_else(|| Arc::new(SharedChromium::start()));
    *current = Arc::downgrade(&chromium);
    let earlier = IN_USE.replace(Some(Arc::clone(&chromium)));
    // The last owner of an earlier one waits for its end: others need not.
    drop(current);
    drop(earlier);
    chromium
}

impl SharedChromium {
    fn start() -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let thread = thread::Builder::new().name("shared-chromium".to_owned());
        Self {
            requests: Some(requests),
            thread: Some(thread.spawn(|| serve(receiver)).unwrap()),
        }
    }

    fn is_running(&self) -> bool {
        self.requests
            .as_ref()
            .is_some_and(|requests| !requests.is_closed())
    }
}

impl Drop for SharedChromium {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _its_panic_is_printed = thread.join();
        }
    }
}

/// Starts Chromium, opens contexts in it until nobody needs one or it exits, and closes it.
fn serve(mut requests: mpsc::UnboundedReceiver<ContextRequest>) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let chromium = Browser::launch(Surface::Headless(SIZE), options())
            .await
            .unwrap();
        let lost = chromium.lost();
        tokio::pin!(lost);
        loop {
            tokio::select! {
                request = requests.recv() => {
                    let Some((options, reply)) = request else { break };
                    let opened = chromium.isolated(SIZE, options).await;
                    let _the_test_may_have_ended = reply.send(opened);
                }
                reason = &mut lost => panic!("the shared Chromium exited: {reason}"),
            }
        }
        chromium.close().await.unwrap();
    });
}
