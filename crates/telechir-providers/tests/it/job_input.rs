//! Input for a background job refers to that job in every dialect, not to the foreground command.

use telechir_protocol::{Content, Message, Role, ShellAction, ShellCall};
use telechir_providers::{Dialect, Envelope, History};

#[test]
fn input_keeps_the_job_it_is_for() {
    for action in [
        ShellAction::SendText("ada\n".to_owned()),
        ShellAction::SendKey("ctrl+c".to_owned()),
        ShellAction::CloseInput,
        ShellAction::Interrupt,
    ] {
        let call = ShellCall {
            action,
            job: Some("job1".to_owned()),
            ..ShellCall::execute("call_1", Vec::new())
        };
        let messages = vec![Message::new(
            Role::Assistant,
            vec![Content::ShellCall(call.clone())],
        )];
        let history = History {
            messages,
            envelope: Envelope::List,
        };
        for dialect in Dialect::ALL {
            let (written, _) = dialect.encode_history(&history).unwrap();
            let read = dialect.decode_history(written.to_string().as_bytes());
            let (read, _) = read.unwrap();
            let contents = read.messages.iter().flat_map(|message| &message.contents);
            let mut calls = Vec::new();
            for content in contents {
                if let Content::ShellCall(call) = content {
                    calls.push((call.action.clone(), call.job.clone()));
                }
            }
            let wanted = (call.action.clone(), call.job.clone());
            assert_eq!(calls, [wanted], "{dialect}: {written}");
        }
    }
}
