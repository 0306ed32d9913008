//! The live view of a browser at a service, for people with its key alone.

use telechir_testkit::remote::{Face, LIVE_VIEW_SECRET};

use super::{RemoteFixture, assert_read_hello};
use crate::passwords::holding;
use crate::telechir::Ran;

#[test]
fn the_live_view_is_printed_to_who_has_the_key_and_stored_nowhere() {
    let mut remote = RemoteFixture::new(Face::Steel);
    let arguments = ["sessions", "live-view", "work"];
    for face in Face::ALL {
        if face != remote.face {
            remote.become_another(face);
        }
        assert_read_hello(&remote.click(&["--session=work"]));
        let view = Ran::of(&mut remote.command(&arguments), "");
        if face == Face::AgentCore {
            view.fails(1, &["no live view that is a page"]);
        } else {
            let line = format!("/live/{LIVE_VIEW_SECRET}\n");
            assert!(view.stdout.ends_with(&line), "{face:?}: {view:?}");
        }
        let mut without_key = remote.fixture.command(&arguments);
        Ran::of(&mut without_key, "").fails(2, &["needs a key"]);
        remote.close("work");
    }
    Ran::of(&mut remote.command(&arguments), "").fails(1, &["rents no browser"]);
    let (mut found, mut count) = (Vec::new(), 0);
    let folder = remote.fixture.telechir.folder();
    holding(folder, LIVE_VIEW_SECRET.as_bytes(), &mut found, &mut count);
    assert_eq!(found, Vec::<String>::new());
}
