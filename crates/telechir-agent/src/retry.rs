//! Decides when a request is sent again. Pure: time and randomness are arguments.

use std::time::{Duration, SystemTime};

/// How often and how long a failed request is retried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryRule {
    /// Maximum number of requests, including the first.
    pub attempts: u32,
    /// The first wait; each later one is twice as long.
    pub first_wait: Duration,
    /// Maximum wait without the provider's advice, which may be longer.
    pub max_wait: Duration,
    /// Maximum total wait of one request. Longer advice from the provider ends the run.
    pub budget: Duration,
}

impl Default for RetryRule {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_millis(500),
            max_wait: Duration::from_secs(8),
            budget: Duration::from_secs(180),
        }
    }
}

/// A response's headers about retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice<'a> {
    /// Value of `x-should-retry`: `true` or `false` overrides the status.
    pub should_retry: Option<&'a str>,
    /// Value of `retry-after`: seconds or a date.
    pub retry_after: Option<&'a str>,
    /// Value of `retry-after-ms` in milliseconds; it overrides `retry-after`.
    pub retry_after_ms: Option<&'a str>,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// A response with an error status.
    Status(u16, Advice<'a>),
    /// The connection was refused or reset.
    Connection,
    /// No response in time. Attempted only twice, because the timeout is long.
    TimedOut,
    /// The body is not a provider's response: for example an HTML page, empty, or truncated.
    Malformed,
    /// The response reports a temporary failure of the model.
    Transient,
}

/// The decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Wait, then send the same request again.
    Wait(Duration),
    /// The error is permanent, or the limit is reached.
    GiveUp,
}

impl RetryRule {
    /// Decides after attempt number `attempt` (the first is 1) and a total wait of `waited`.
    ///
    /// `chance` in 0..1 shortens a wait without advice by up to a quarter, so that clients do not
    /// retry in lockstep.
    pub fn next(
        &self,
        failed: Attempt<'_>,
        attempt: u32,
        waited: Duration,
        now: SystemTime,
        chance: f64,
    ) -> RetryDecision {
        let attempts = if failed == Attempt::TimedOut {
            self.attempts.min(2)
        } else {
            self.attempts
        };
        if attempt >= attempts || !is_transient(failed) {
            return RetryDecision::GiveUp;
        }
        let advised = match failed {
            Attempt::Status(_, advice) => advised_wait(advice, now),
            Attempt::Connection | Attempt::TimedOut | Attempt::Malformed | Attempt::Transient => {
                None
            }
        };
        let wait = advised.unwrap_or_else(|| self.own_wait(attempt, chance));
        if waited.saturating_add(wait) > self.budget {
            RetryDecision::GiveUp
        } else {
            RetryDecision::Wait(wait)
        }
    }

    fn own_wait(&self, attempt: u32, chance: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(20);
        let wait = self
            .first_wait
            .saturating_mul(1 << doublings)
            .min(self.max_wait);
        wait.mul_f64(1.0 - 0.25 * chance.clamp(0.0, 1.0))
    }
}

fn is_transient(failed: Attempt<'_>) -> bool {
    match failed {
        Attempt::Connection | Attempt::TimedOut | Attempt::Malformed | Attempt::Transient => true,
        Attempt::Status(status, advice) => match advice.should_retry {
            Some("true") => true,
            Some("false") => false,
            _ => matches!(status, 408 | 409 | 429 | 500..=599),
        },
    }
}

fn advised_wait(advice: Advice<'_>, now: SystemTime) -> Option<Duration> {
    let milliseconds = advice.retry_after_ms.and_then(|text| seconds(text, 0.001));
    milliseconds.or_else(|| {
        let text = advice.retry_after?;
        seconds(text, 1.0).or_else(|| {
            let date = httpdate::parse_http_date(text.trim()).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        })
    })
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    // A duration's maximum exceeds every budget.
    (number >= 0.0).then(|| Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn status(code: u16) -> Attempt<'static> {
        Attempt::Status(code, Advice::default())
    }

    fn after(code: u16, retry_after: &'static str) -> Attempt<'static> {
        Attempt::Status(
            code,
            Advice {
                retry_after: Some(retry_after),
                ..Advice::default()
            },
        )
    }

    fn with_should_retry(code: u16, should_retry: &'static str) -> Attempt<'static> {
        Attempt::Status(
            code,
            Advice {
                should_retry: Some(should_retry),
                ..Advice::default()
            },
        )
    }

    fn check(failed: Attempt<'_>, attempt: u32, waited: u64, expected: Option<u64>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let next =
            RetryRule::default().next(failed, attempt, Duration::from_secs(waited), now, 0.0);
        let expected = expected.map_or(RetryDecision::GiveUp, |ms| {
            RetryDecision::Wait(Duration::from_millis(ms))
        });
        assert_eq!(
            next, expected,
            "{failed:?} attempt {attempt} waited {waited}"
        );
    }

    #[test]
    fn waits_double_up_to_the_limit() {
        for code in [408, 409, 429, 500, 502, 503, 504, 529] {
            check(status(code), 1, 0, Some(500));
        }
        for code in [400, 401, 402, 403, 404, 413, 422] {
            check(status(code), 1, 0, None);
        }
        check(Attempt::Connection, 1, 0, Some(500));
        check(Attempt::TimedOut, 1, 0, Some(500));
        check(Attempt::TimedOut, 2, 0, None);
        check(Attempt::Malformed, 2, 0, Some(1_000));
        check(Attempt::Transient, 3, 0, Some(2_000));
        check(status(500), 4, 0, Some(4_000));
        check(status(500), 5, 0, Some(8_000));
        check(status(500), 6, 0, None);
    }

    #[test]
    fn follows_the_provider_s_advice() {
        check(after(429, "3"), 1, 0, Some(3_000));
        check(after(429, "0.25"), 1, 0, Some(250));
        check(
            after(503, "Fri, 15 Jan 2027 08:00:10 GMT"),
            1,
            0,
            Some(10_000),
        );
        check(after(503, "Fri, 15 Jan 2027 07:00:00 GMT"), 1, 0, Some(0));
        check(after(429, "soon"), 1, 0, Some(500));
        check(after(429, "-4"), 1, 0, Some(500));
        let both = Advice {
            retry_after: Some("9"),
            retry_after_ms: Some("120"),
            should_retry: None,
        };
        check(Attempt::Status(429, both), 1, 0, Some(120));
        check(with_should_retry(400, "true"), 1, 0, Some(500));
        check(with_should_retry(500, "false"), 1, 0, None);
    }

    #[test]
    fn gives_up_if_the_wait_exceeds_the_budget() {
        check(after(429, "181"), 1, 0, None);
        check(after(429, "100"), 2, 100, None);
        check(after(429, "1e300"), 1, 0, None);
        check(status(500), 5, 179, None);
    }

    #[test]
    fn chance_shortens_a_wait_by_at_most_a_quarter() {
        let now = SystemTime::UNIX_EPOCH;
        let next = |chance| RetryRule::default().next(status(500), 5, Duration::ZERO, now, chance);
        assert_eq!(next(1.0), RetryDecision::Wait(Duration::from_secs(6)));
        assert_eq!(next(7.0), RetryDecision::Wait(Duration::from_secs(6)));
    }
}
