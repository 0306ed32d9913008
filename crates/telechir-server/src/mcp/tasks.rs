//! Tasks of another model, which outlive the calls that start and follow them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use telechir_tools::{ToolAnswer, ToolStatus};
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::sleep;

use super::calls::{CallKey, QuestionSender, ShownQuestion, other_call};
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
    tasks: Mutex<BTreeMap<u64, StartedTask>>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            max_followed: MAX_FOLLOWED,
            tasks: Mutex::default(),
        }
    }
}

/// A task, and what must be known of it while a call follows it. Dropping it stops the task.
#[derive(Debug)]
struct StartedTask {
    task: Arc<AsyncMutex<Task>>,
    running: AbortHandle,
    is_stopped: bool,
    /// The call that started it.
    started_by: CallKey,
}

impl StartedTask {
    fn stop(&mut self) {
        self.is_stopped = true;
        self.running.abort();
    }

    fn is_running(&self) -> bool {
        !self.is_stopped && !self.running.is_finished()
    }
}

impl Drop for StartedTask {
    fn drop(&mut self) {
        self.stop();
    }
}

#[derive(Debug)]
struct Task {
    running: JoinHandle<TaskResult>,
    questions: watch::Receiver<Option<ShownQuestion>>,
    /// The last question, and whether a follower replied to it.
    shown: Option<(ShownQuestion, bool)>,
    ended: Option<TaskResult>,
}

/// Stops a task whose call is cancelled before it is answered.
struct StopOnDrop<'a> {
    tasks: &'a Tasks,
    /// None once the call is answered.
    number: Option<u64>,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number
            && let Some(task) = self.tasks.lock().get_mut(&number)
        {
            task.stop();
        }
    }
}

impl Tasks {
    /// Starts a task and follows it. It goes on after the answer, but not after a cancelled call. A
    /// call that is sent again under its id follows the task that it started.
    pub(super) async fn start<F: Future<Output = TaskResult> + Send + 'static>(
        &self,
        started_by: CallKey,
        approvals: Box<dyn Approvals>,
        task: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> ToolAnswer {
        let started = Instant::now();
        let (number, is_new) = match self.add(started_by, task) {
            Ok(added) => added,
            Err(why) => return ToolAnswer::failed(ToolStatus::Error, &why, started.elapsed()),
        };
        let mut stop = StopOnDrop {
            tasks: self,
            number: is_new.then_some(number),
        };
        let answer = self.follow(&format!("task{number}"), approvals).await;
        stop.number = None;
        answer
    }

    /// Adds a task, or finds the one that the same call started before. Returns its number, and
    /// whether it is new.
    fn add<F: Future<Output = TaskResult> + Send + 'static>(
        &self,
        started_by: CallKey,
        task: impl FnOnce(Box<dyn Approvals>) -> F,
    ) -> Result<(u64, bool), String> {
        let mut tasks = self.lock();
        if let Some(id) = &started_by.id {
            let has_id = |known: &StartedTask| known.started_by.id.as_ref() == Some(id);
            if let Some((number, known)) = tasks.iter().find(|(_, known)| has_id(known)) {
                return match known.started_by.is_repeated_by(&started_by) {
                    true => Ok((*number, false)),
                    false => Err(other_call(id)),
                };
            }
        }
        if let Some((number, _)) = tasks.iter().find(|(_, task)| task.is_running()) {
            return Err(format!(
                "task{number} is still running: follow it with `task`, or stop it with `stop`, \
                 before the next one."
            ));
        }
        let (sender, questions) = QuestionSender::new();
        let running = tokio::spawn(task(Box::new(sender)));
        let added = StartedTask {
            running: running.abort_handle(),
            is_stopped: false,
            started_by,
            task: Arc::new(AsyncMutex::new(Task {
                running,
                questions,
                shown: None,
                ended: None,
            })),
        };
        let number = tasks.last_key_value().map_or(1, |(last, _)| last + 1);
        tasks.insert(number, added);
        while tasks.len() > MAX_TASKS {
            tasks.pop_first();
        }
        Ok((number, true))
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
                Ok(()) = questions.changed() => {
                    let Some(question) = questions.borrow_and_update().clone() else {
                        continue;
                    };
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
        let tasks = self.lock();
        let found = number(name).and_then(|number| tasks.get(&number));
        found.map(|known| Arc::clone(&known.task))
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, StartedTask>> {
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
    use crate::mcp::calls::CALL_ID;

    fn nobody() -> Box<dyn Approvals> {
        Box::new(QuestionSender::new().0)
    }

    /// A call with this id, or without one.
    fn by(id: Option<&str>, instruction: &str) -> CallKey {
        let meta = id.map(|id| (CALL_ID.to_owned(), id.into()));
        let arguments = Map::from_iter([("instruction".to_owned(), instruction.into())]);
        let key = CallKey::of(
            "execute_computer_use",
            &arguments,
            &meta.into_iter().collect(),
        );
        key.expect("an id")
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
        let first = tasks.start(by(None, "a"), nobody(), move |_| async move {
            let _sender_gone = ended.await;
            Ok(Map::from_iter([("text".to_owned(), "done".into())]))
        });
        let first = first.await;
        assert_eq!((first.status, first.is_error), (ToolStatus::Running, false));
        let second = tasks
            .start(by(None, "a"), nobody(), |_| async { Ok(Map::new()) })
            .await;
        assert_eq!(second.status, ToolStatus::Error, "one at a time");
        end.send(()).expect("a task");
        assert_eventually!(tasks.follow("task1", nobody()).await, |answer| {
            answer.status == ToolStatus::Success && answer.members["text"] == "done"
        });
        let again = tasks.follow("task1", nobody()).await;
        assert_eq!(again.members["text"], "done", "the result stays");
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_is_stopped_by_name_and_with_a_cancelled_call() {
        let tasks = tasks();
        let forever = |_| std::future::pending::<TaskResult>();
        let call = tasks.start(by(None, "a"), nobody(), forever);
        let cancelled = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(cancelled.is_err());
        let stopped = tasks.follow("task1", nobody()).await;
        assert_eq!(stopped.members["message"], "The task was stopped.");
        let running = tasks.start(by(None, "a"), nobody(), forever).await;
        let name = running.members["task"].as_str().expect("a name").to_owned();
        assert_eq!(tasks.stop(&name).status, ToolStatus::Success);
        assert_eq!(
            tasks.follow(&name, nobody()).await.status,
            ToolStatus::Error
        );
    }

    #[tokio::test]
    async fn a_task_that_is_stopped_ends_while_a_call_follows_it() {
        let tasks = tasks();
        let (alive, mut ended) = oneshot::channel::<()>();
        let running = tasks.start(by(None, "a"), nobody(), move |_| async move {
            let _alive = alive;
            std::future::pending().await
        });
        assert_eq!(running.await.status, ToolStatus::Running);
        let follower = tasks.follow("task1", nobody());
        tokio::pin!(follower);
        tokio::select! {
            biased;
            answer = &mut follower => panic!("{answer:?}"),
            () = std::future::ready(()) => {}
        }
        tasks.stop("task1");
        assert_eq!(follower.await.members["message"], "The task was stopped.");
        assert_eq!(ended.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_sent_again_follows_its_task() {
        let tasks = tasks();
        let first = by(Some("c1"), "a");
        let forever = |_| std::future::pending::<TaskResult>();
        let started = tasks.start(first.clone(), nobody(), forever).await;
        let again = tasks.start(first, nobody(), |_| async {
            Err("a second task".to_owned())
        });
        assert_eq!(again.await.members["task"], started.members["task"]);
        let other = tasks.start(by(Some("c1"), "b"), nobody(), forever).await;
        let why = other.members["message"].as_str().expect("a message");
        assert!(why.starts_with("telechir/callId c1 belongs to"), "{why}");
        // A cancelled call is not executed again either.
        tasks.stop("task1");
        let cancelled = tasks.start(by(Some("c2"), "a"), nobody(), forever);
        tokio::time::timeout(Duration::from_millis(1), cancelled)
            .await
            .expect_err("no answer yet");
        let again = tasks.start(by(Some("c2"), "a"), nobody(), forever).await;
        assert_eq!(again.members["message"], "The task was stopped.");
    }
}
