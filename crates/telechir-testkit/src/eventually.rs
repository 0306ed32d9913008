//! Waits for what a test expects, with one limit for the whole suite.

use std::time::{Duration, Instant};

/// How long a test waits for something that must happen. A quiet machine needs a hundredth of it: a
/// test that waits this long has found a hang, not a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two looks at the value: short against any test, and without a core for itself.
const PAUSE: Duration = Duration::from_millis(5);

/// A wait in progress, for [`assert_eventually!`](crate::assert_eventually).
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    end: Instant,
}

impl Wait {
    /// Starts a wait that ends after [`PATIENCE`].
    #[expect(clippy::new_without_default, reason = "a wait starts when it is made")]
    pub fn new() -> Self {
        Self {
            end: Instant::now() + PATIENCE,
        }
    }

    /// Whether the time is over.
    pub fn is_over(self) -> bool {
        Instant::now() >= self.end
    }

    /// Lets others run before the next look.
    pub async fn pause(self) {
        tokio::time::sleep(PAUSE).await;
    }

    /// Lets others run before the next look, in code that is not asynchronous.
    pub fn pause_blocking(self) {
        let end = Instant::now() + PAUSE;
        // Another thread may unpark this one.
        while let Some(rest) = end.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(rest);
        }
    }
}

/// Evaluates a condition until it holds and fails the test if it does not within
/// [`PATIENCE`](crate::eventually::PATIENCE). For asynchronous tests; the condition may await.
///
/// With a closure that judges a value, the result is the first value that fits, and the failure
/// shows the last one. A text, formatted as by `assert!`, says what was expected.
///
/// ```
/// # use telechir_testkit::assert_eventually;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let file = std::path::Path::new("/proc/self/stat");
/// assert_eventually!(file.exists());
/// let text = assert_eventually!(tokio::fs::read_to_string(file).await, |text| text.is_ok());
/// # assert!(text.is_ok());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[macro_export]
macro_rules! assert_eventually {
    ($($arguments:tt)+) => {
        $crate::__eventually!([wait => wait.pause().await] $($arguments)+)
    };
}

/// Like [`assert_eventually!`](crate::assert_eventually), for tests that are not asynchronous.
#[macro_export]
macro_rules! assert_eventually_blocking {
    ($($arguments:tt)+) => {
        $crate::__eventually!([wait => wait.pause_blocking()] $($arguments)+)
    };
}

/// The loop of both macros, which differ in their pause.
#[doc(hidden)]
#[macro_export]
macro_rules! __eventually {
    ([$wait:ident => $pause:expr] $value:expr, |$name:pat_param| $fits:expr $(, $($text:tt)+)?) => {{
        let $wait = $crate::eventually::Wait::new();
        loop {
            // Asked before the look, so that a slow look is not the last.
            let is_last = $wait.is_over();
            let value = $value;
            let fits = {
                let $name = &value;
                $fits
            };
            if fits {
                break value;
            }
            if is_last {
                panic!(
                    "not within {:?}: {}; last value: {value:#?}",
                    $crate::eventually::PATIENCE,
                    $crate::__eventually_text!([stringify!($fits)] $($($text)+)?),
                );
            }
            $pause;
        }
    }};
    ([$wait:ident => $pause:expr] $condition:expr $(, $($text:tt)+)?) => {{
        let $wait = $crate::eventually::Wait::new();
        loop {
            let is_last = $wait.is_over();
            if $condition {
                break;
            }
            if is_last {
                panic!(
                    "not within {:?}: {}",
                    $crate::eventually::PATIENCE,
                    $crate::__eventually_text!([stringify!($condition)] $($($text)+)?),
                );
            }
            $pause;
        }
    }};
}

/// The text of a failure: the caller's, or the condition itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __eventually_text {
    ([$condition:expr]) => {
        $condition
    };
    ([$condition:expr] $($text:tt)+) => {
        format!($($text)+)
    };
}
