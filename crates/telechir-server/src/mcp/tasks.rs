//! Tasks of another model, which outlive the calls that start and follow them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use telechir_tools::{ToolAnswer, ToolStatus};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::calls::{QuestionSender, ShownQuestion};
use crate::session_access::Approvals;

/// How long one call follows a task.
const MAX_FOLLOWED: Duration = Duration::from_secs(45);
/// Maximum number of remembered tasks; the oldest ended one is removed first.
const MAX_TASKS: usize = 16;

/// What a task returns: members of an answer, or a sentence for the model.
type TaskResult = Result<Map<String, Value>, String>;

/// The tasks of one session, by number.
#[derive(Debug)]
pub(super) struct Tasks {
    max_followed: Duration,
    tasks: Mutex<BTreeMap<u64, Arc<AsyncMutex<Task>>>>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            max_followed: MAX_FOLLOWED,
            tasks: Mutex::default(),
        }
    }
}

#[derive(Debug)]
struct Task {
    running: JoinHandle<TaskResult>,
    questions: mpsc::Receiver<ShownQuestion>,
    /// The last question, and whether a follower replied to it.
    shown: Option<(ShownQuestion, bool)>,
    ended: Option<TaskResult>,
}

impl Drop for Task {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Stops a task whose call is cancelled before it is answered.
struct StopOnDrop<'a> {
    tasks: &'a Tasks,
    number: Option<u64>,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.tasks.lock().remove(&number);
        }
    }
}

impl Tasks {
    /// Starts a task and follows it. It goes on after the answer, but not after a cancelled call.
    pub(super) async fn start<F: Future<Output = TaskResult> + Send + 'static>(
        &self,
        approvals: Box<dyn Approvals>,
        task: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> ToolAnswer {
        let started = Instant::now();
        if let Some(number) = self.unfinished() {
            let message = format!(
                "task{number} is still running: follow it with `task`, or stop it with `stop`, \
                 before the next one."
            );
            return ToolAnswer::failed(ToolStatus::Error, &message, started.elapsed());
        }
        let (sender, questions) = QuestionSender::new();
        let task = Task {
            running: tokio::spawn(task(Box::new(sender))),
            questions,
            shown: None,
            ended: None,
        };
        let number = self.add(task);
        let mut stop = StopOnDrop {
            tasks: self,
            number: Some(number),
        };
        let answer = self.follow(&format!("task{number}"), approvals).await;
        stop.number = None;
        answer
    }

    fn add(&self, task: Task) -> u64 {
        let mut tasks = self.lock();
        let number = tasks.last_key_value().map_or(1, |(last, _)| last + 1);
        tasks.insert(number, Arc::new(AsyncMutex::new(task)));
        while tasks.len() > MAX_TASKS {
            tasks.pop_first();
        }
        number
    }

    /// The task that has not ended, as far as nobody follows it.
    fn unfinished(&self) -> Option<u64> {
        let tasks = self.lock();
        let is_unfinished = |task: &Arc<AsyncMutex<Task>>| match task.try_lock() {
            Ok(task) => task.ended.is_none() && !task.running.is_finished(),
            Err(_) => true,
        };
        let mut unfinished = tasks.iter().filter(|(_, task)| is_unfinished(task));
        unfinished.next().map(|(number, _)| *number)
    }

    /// Waits for the end of a task, for as long as a call may take; its questions go to `approvals`.
    pub(super) async fn follow(&self, name: &str, mut approvals: Box<dyn Approvals>) -> ToolAnswer {
        let started = Instant::now();
        let Some(task) = self.find(name) else {
            return self.unknown(name);
        };
        let deadline = sleep(self.max_followed);
        tokio::pin!(deadline);
        let mut task = tokio::select! {
            task = task.lock() => task,
            () = &mut deadline => return still_running(name, started),
        };
        if let Some(ended) = task.ended.clone() {
            return answer(name, ended, started);
        }
        if let Some((question, false)) = &task.shown {
            approvals.show(question.open.clone()).await;
        }
        loop {
            let Task {
                running,
                questions,
                shown,
                ..
            } = &mut *task;
            tokio::select! {
                biased;
                Some(question) = questions.recv() => {
                    approvals.show(question.open.clone()).await;
                    *shown = Some((question, false));
                }
                reply = approvals.reply() => {
                    if let Some((question, is_replied)) = shown {
                        question.reply(reply);
                        *is_replied = true;
                    }
                }
                ended = running => {
                    let ended = ended.unwrap_or_else(|_| Err("The task was stopped.".to_owned()));
                    task.ended = Some(ended.clone());
                    return answer(name, ended, started);
                }
                () = &mut deadline => return still_running(name, started),
            }
        }
    }

    /// Stops a task and forgets it.
    pub(super) fn stop(&self, name: &str) -> ToolAnswer {
        let removed = number(name).and_then(|number| self.lock().remove(&number));
        if removed.is_none() {
            return self.unknown(name);
        }
        let mut members = Map::new();
        members.insert("task".to_owned(), name.into());
        ToolAnswer::success(members, Duration::ZERO)
    }

    /// Stops all tasks, because their session ends.
    pub(super) fn stop_all(&self) {
        self.lock().clear();
    }

    fn find(&self, name: &str) -> Option<Arc<AsyncMutex<Task>>> {
        number(name).and_then(|number| self.lock().get(&number).cloned())
    }

    fn unknown(&self, name: &str) -> ToolAnswer {
        let names: Vec<String> = self.lock().keys().map(|n| format!("task{n}")).collect();
        let existing = match names.is_empty() {
            true => "there are none; start one with `instruction`".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let message = format!("No task is named `{name}`; {existing}.");
        ToolAnswer::failed(ToolStatus::Error, &message, Duration::ZERO)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<AsyncMutex<Task>>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number(name: &str) -> Option<u64> {
    name.strip_prefix("task")?.parse().ok()
}

fn answer(name: &str, ended: TaskResult, started: Instant) -> ToolAnswer {
    let mut answer = match ended {
        Ok(members) => ToolAnswer::success(members, started.elapsed()),
        Err(message) => ToolAnswer::failed(ToolStatus::Error, &message, started.elapsed()),
    };
    answer.insert("task", name.into());
    answer
}

fn still_running(name: &str, started: Instant) -> ToolAnswer {
    let message = format!("{name} is still running: call again with `task` to follow it.");
    let mut answer = ToolAnswer::failed(ToolStatus::Running, &message, started.elapsed());
    answer.insert("task", name.into());
    answer
}

#[cfg(test)]
mod tests {
    use telechir_testkit::assert_eventually;
    use tokio::sync::oneshot;

    use super::*;

    fn nobody() -> Box<dyn Approvals> {
        Box::new(QuestionSender::new().0)
    }

    fn tasks() -> Tasks {
        Tasks {
            max_followed: Duration::from_millis(20),
            ..Tasks::default()
        }
    }

    #[tokio::test]
    async fn a_task_outlives_the_call_that_started_it() {
        let tasks = tasks();
        let (end, ended) = oneshot::channel::<()>();
        let first = tasks.start(nobody(), move |_| async move {
            let _sender_gone = ended.await;
            Ok(Map::from_iter([("text".to_owned(), "done".into())]))
        });
        let first = first.await;
        assert_eq!((first.status, first.is_error), (ToolStatus::Running, false));
        let second = tasks.start(nobody(), |_| async { Ok(Map::new()) }).await;
        assert_eq!(second.status, ToolStatus::Error, "one at a time");
        end.send(()).expect("a task");
        assert_eventually!(tasks.follow("task1", nobody()).await, |answer| {
            answer.status == ToolStatus::Success && answer.members["text"] == "done"
        });
        let again = tasks.follow("task1", nobody()).await;
        assert_eq!(again.members["text"], "done", "the result stays");
    }

    #[tokio::test]
    async fn a_task_is_stopped_by_name_and_with_a_cancelled_call() {
        let tasks = tasks();
        let forever = |_| std::future::pending::<TaskResult>();
        let call = tasks.start(nobody(), forever);
        let cancelled = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(cancelled.is_err());
        assert_eq!(tasks.unfinished(), None, "stopped with its call");
        let running = tasks.start(nobody(), forever).await;
        let name = running.members["task"].as_str().expect("a name").to_owned();
        assert_eq!(tasks.stop(&name).status, ToolStatus::Success);
        assert_eq!(
            tasks.follow(&name, nobody()).await.status,
            ToolStatus::Error
        );
    }
}
