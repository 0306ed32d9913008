//! Moves images that a model made to the user, for services whose models send none.

use telechir_protocol::{Content, HostedCall, Message, Role};

use crate::duplicate_ids::is_own;
use crate::report::Report;

/// Which images a service accepts in the messages of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImagesOfModel {
    /// The dialect's encoder knows what to do with all of them.
    Encoded,
    /// Images as such, but not as results of tools that another provider ran.
    PlainOnly,
    /// None.
    Rejected,
}

/// The messages with the images that the service does not accept from its model as images of the
/// user, and a report of them; `None` if there are none.
pub(crate) fn move_to_user(
    messages: &[Message],
    own: &str,
    accepted: ImagesOfModel,
) -> Option<(Vec<Message>, Report)> {
    let has_any = |message: &Message| {
        let mut contents = message.contents.iter();
        let moves = |content: &Content| moves(content, accepted) && !is_own(message, content, own);
        message.role == Role::Assistant && contents.any(moves)
    };
    if accepted == ImagesOfModel::Encoded || !messages.iter().any(has_any) {
        return None;
    }
    let mut report = Report::default();
    let mut moved = messages.to_vec();
    let mut insertions: Vec<(usize, Vec<Content>)> = Vec::new();
    for (at, message) in moved.iter_mut().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        let mut images = Vec::new();
        let original = messages.get(at)?;
        let mut index = 0;
        message.contents.retain_mut(|content| {
            let location = format!("messages[{at}].contents[{index}]");
            let own = is_own(original, content, own);
            index += 1;
            own || take_images(content, accepted, &location, &mut images, &mut report)
        });
        if !images.is_empty() {
            insertions.push((at, images));
        }
    }
    for (at, images) in insertions.into_iter().rev() {
        let answers = moved[at + 1..]
            .iter()
            .take_while(|message| matches!(message.role, Role::User | Role::Tool))
            .count();
        match answers {
            0 => moved.insert(at + 1, Message::new(Role::User, images)),
            answers => moved[at + answers].contents.extend(images),
        }
    }
    Some((moved, report))
}

/// Whether a content is, or holds, an image that the service does not accept from its model.
fn moves(content: &Content, accepted: ImagesOfModel) -> bool {
    if let Content::ImageGenerationResult(call) | Content::CommandResult(call) = content {
        return call.results.iter().any(is_image);
    }
    accepted == ImagesOfModel::Rejected && is_image(content)
}

/// Takes the images out of a content; whether the content remains.
fn take_images(
    content: &mut Content,
    accepted: ImagesOfModel,
    location: &str,
    images: &mut Vec<Content>,
    report: &mut Report,
) -> bool {
    let mut take = |image: Content, id: &str| {
        let what = format!("image of the model {id}");
        report.preserved(
            what.trim_end(),
            location,
            "messages of the model hold no such image",
            "as an image of the user",
        );
        let note = format!("[Image that the assistant made {id}")
            .trim_end()
            .to_owned();
        images.extend([Content::text(note + ":]"), image]);
    };
    if is_image(content) {
        if accepted == ImagesOfModel::Rejected {
            take(content.clone(), "");
        }
        return accepted != ImagesOfModel::Rejected;
    }
    let is_generated = matches!(content, Content::ImageGenerationResult(_));
    if let Content::ImageGenerationResult(HostedCall {
        call_id, results, ..
    })
    | Content::CommandResult(HostedCall {
        call_id, results, ..
    }) = content
    {
        let id = call_id.as_ref().map_or("", |id| id.as_str());
        let (taken, rest): (Vec<Content>, Vec<Content>) =
            std::mem::take(results).into_iter().partition(is_image);
        *results = rest;
        let is_empty = results.is_empty() && !taken.is_empty();
        taken.into_iter().for_each(|image| take(image, id));
        return !(is_generated && is_empty);
    }
    true
}

fn is_image(content: &Content) -> bool {
    let media_type = if let Content::Data(data) = content {
        data.media_type()
    } else if let Content::Uri(uri) = content {
        uri.media_type.as_deref()
    } else {
        None
    };
    media_type.is_some_and(|kind| kind.starts_with("image/"))
}
