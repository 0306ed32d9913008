//! Counts approval questions: users who get too many stop reading them.

use std::collections::VecDeque;
use std::time::Duration;

/// Times of the questions within the last minute.
#[derive(Debug, Default)]
pub(crate) struct QuestionRate(VecDeque<Duration>);

impl QuestionRate {
    /// Records a question unless the minute already has `limit` questions.
    pub(crate) fn admit(&mut self, now: Duration, limit: usize) -> bool {
        let minute = Duration::from_secs(60);
        self.0.retain(|at| now.saturating_sub(*at) < minute);
        let fits = self.0.len() < limit;
        if fits {
            self.0.push_back(now);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_per_minute_are_limited() {
        let mut rate = QuestionRate::default();
        let at = Duration::from_secs;
        assert!(rate.admit(at(0), 2) && rate.admit(at(30), 2));
        assert!(!rate.admit(at(59), 2));
        assert!(rate.admit(at(60), 2));
        assert!(!rate.admit(at(89), 2) && rate.admit(at(90), 2));
    }
}
