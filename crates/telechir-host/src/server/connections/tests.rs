//! Clients that share a turn: which of them is told what, over real sockets.

use serde_json::Value;
use telechir_policy::{Interface, Question};
use telechir_protocol::Content;

use super::*;
use crate::HostErrorKind;
use crate::approvals::{
    ApprovalCode, ApprovalQueue, CallerReply, OpenApproval, UnsandboxedDevices, question,
};
use crate::message::ScreenshotsFor;
use crate::server::status::HostSettings;

/// A session without devices.
struct Session {
    shared: Arc<Shared>,
    closing: watch::Sender<bool>,
    clients: JoinSet<()>,
    _folder: tempfile::TempDir,
}

/// A client of it.
struct TestClient {
    reader: MessageReader,
    writer: MessageWriter,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unsandboxed = UnsandboxedDevices::of(folder.path()).unwrap();
        let settings = HostSettings {
            devices: Vec::new(),
            config: Value::Null,
            policy: Digest::of_json(&Value::Null),
            idle_limit: Duration::from_secs(300),
            approval_timeout: Duration::from_secs(300),
            standing: None,
            tokens: None,
            is_resumed: false,
        };
        let calls = Arc::<CallTable>::default();
        let queue = ApprovalQueue::new(Duration::from_secs(300), unsandboxed, None);
        let control = ControlSlot::new();
        let shared = Shared {
            devtools: Arc::new(DevtoolsConnections::new().0),
            tasks: Arc::new(TaskRequests::new().0),
            message: NewestOutput::default(),
            person: Arc::new(PersonControl::new().0),
            status: SessionStatus::new("a".to_owned(), settings),
            approver: HostApprover::new(Arc::clone(&calls), queue, control.clone()),
            calls,
            closes: mpsc::channel(1).0,
            control,
        };
        Self {
            shared: Arc::new(shared),
            closing: watch::Sender::new(false),
            clients: JoinSet::new(),
            _folder: folder,
        }
    }

    async fn client(&mut self) -> TestClient {
        let (own, peer) = UnixStream::pair().unwrap();
        let (shared, closing) = (Arc::clone(&self.shared), self.closing.subscribe());
        self.clients.spawn(serve_client(own, shared, closing));
        let (reader, writer) = peer.into_split();
        let mut client = TestClient {
            reader: MessageReader::new(reader),
            writer: MessageWriter::new(writer),
        };
        client.writer.send(&Hello::current()).await.unwrap();
        let greeting = client.reader.next(MAX_CALL_BYTES).await.unwrap();
        assert!(matches!(greeting, Some(Greeting::Welcome(_))));
        client
    }
}

impl TestClient {
    async fn send(&self, id: u64, request: HostRequest) {
        self.writer.send(&Request { id, request }).await.unwrap();
    }

    async fn next(&mut self) -> Reply {
        let reply = timeout(Duration::from_secs(30), self.reader.next(MAX_CALL_BYTES)).await;
        reply.unwrap().unwrap().unwrap()
    }

    async fn request(&mut self, id: u64, request: HostRequest) -> HostReply {
        self.send(id, request).await;
        let reply = self.next().await;
        assert_eq!(reply.id, id);
        reply.reply
    }

    async fn execute(&self, id: u64, key: &str, texts: &[&str]) {
        let contents = texts.iter().map(|text| Content::text(*text));
        let request = TurnRequest {
            key: TurnKey::new(key),
            screenshots: ScreenshotsFor::OnRequest,
            interface: Interface::Terminal,
            queue_ms: 600_000,
            runs_on: false,
            may_be_retry: false,
            contents: contents.collect(),
            is_new: false,
            hosted_source: None,
        };
        self.send(id, HostRequest::Execute(request)).await;
    }
}

#[tokio::test]
async fn a_request_that_is_left_in_the_middle_of_a_message_keeps_the_connection() {
    let mut session = Session::new();
    let (mut leaving, mut staying) = (session.client().await, session.client().await);
    leaving.execute(1, "turn", &["x"]).await;
    let call = session.shared.calls.next().await;
    assert!(matches!(leaving.next().await.reply, HostReply::Started));
    staying.execute(1, "turn", &["x"]).await;
    assert!(matches!(staying.next().await.reply, HostReply::Started));
    // Longer than what the socket holds while nobody reads.
    let open = OpenApproval {
        code: ApprovalCode::random().unwrap(),
        question: Question {
            lines: vec!["x".repeat(4 << 20)],
            ..question("c", "make")
        },
        age_ms: 0,
        expires_in_ms: 1000,
        is_waiting: true,
        open_to_caller: true,
        closed_to_commands: None,
        can_be_standing: false,
        problem: None,
    };
    call.set(CallProgress::Question(Arc::new(open)));
    assert!(matches!(staying.next().await.reply, HostReply::Question(_)));
    leaving.reader.readable().await.unwrap();
    let (key, request) = (TurnKey::new("turn"), Some(1));
    leaving.send(2, HostRequest::Leave { key, request }).await;
    leaving.send(3, HostRequest::Describe).await;
    // Lets the session host read both before the long message is read.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let question = leaving.next().await;
    assert!(matches!(question.reply, HostReply::Question(_)));
    assert!(matches!(leaving.next().await.reply, HostReply::Done));
    let described = leaving.next().await;
    assert!(matches!(described.reply, HostReply::Described(_)));
    session
        .shared
        .calls
        .finish(CallEnd::Answered(Vec::new()), true);
    assert!(matches!(
        staying.next().await.reply,
        HostReply::Answered { .. }
    ));
    let described = leaving.request(4, HostRequest::Describe).await;
    assert!(
        matches!(described, HostReply::Described(_)),
        "nothing more of the request that was left"
    );
}

#[tokio::test]
async fn who_uses_the_key_of_another_turn_does_not_reply_to_its_questions() {
    let mut session = Session::new();
    let (mut own, mut other) = (session.client().await, session.client().await);
    own.execute(1, "turn", &["x"]).await;
    let _call = session.shared.calls.next().await;
    assert!(matches!(own.next().await.reply, HostReply::Started));
    other.execute(1, "turn", &["y"]).await;
    let HostReply::Failed { kind, .. } = other.next().await.reply else {
        panic!("the key belongs to another turn");
    };
    assert_eq!(kind, HostErrorKind::KeyReused);
    let code = ApprovalCode::random().unwrap();
    let reply = || HostRequest::ReplyToQuestion {
        code: code.clone(),
        reply: CallerReply::Closed,
    };
    let not_its_own = "not one of this client's turn";
    let HostReply::Failed { message, .. } = other.request(2, reply()).await else {
        panic!("not its question");
    };
    assert!(message.contains(not_its_own), "{message}");
    let replied = own.request(2, reply()).await;
    assert!(matches!(replied, HostReply::Done), "it is its own turn");
}
