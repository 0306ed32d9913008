//! Persistent profiles: stored data is available with the same profile only.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use telechir_browser::{Browser, Options, Profile, ProfileId, ProfileLock, ProfileUse, Profiles};
use telechir_protocol::Action;
use telechir_testkit::site::Site;

use crate::common::{go, launched_with, options, text_of};
use crate::window::windowed_with;

/// Reports what an earlier visit stored, and stores it.
const PAGE: &str = "<title>x</title><p id=p></p><script>\
    const stored = () => [document.cookie, localStorage.seen].join(' and ');\
    p.textContent = `knows ${stored()}.`;\
    document.cookie = 'login=ada; max-age=99999';\
    localStorage.seen = 'before';</script>";
const NOTHING: &str = "knows and .";
const ALL: &str = "knows login=ada and before.";

/// A folder with one profile.
struct ProfileFixture {
    _folder: tempfile::TempDir,
    profiles: Profiles,
    site: Site,
}

fn shop() -> ProfileId {
    "shop".parse().unwrap()
}

impl ProfileFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let profiles = Profiles::in_folder(folder.path().join("profiles"));
        profiles.create(&shop()).unwrap();
        Self {
            _folder: folder,
            profiles,
            site: Site::serve([("page", PAGE)]).await.unwrap(),
        }
    }

    /// A browser with the profile.
    async fn browser(&self, usage: ProfileUse) -> (Browser, ProfileLock) {
        let (options, claim) = self.options(usage);
        (launched_with(options).await, claim)
    }

    /// The options of a browser with the profile.
    fn options(&self, usage: ProfileUse) -> (Options, ProfileLock) {
        let claim = self.profiles.claim(&shop(), usage, "a test").unwrap();
        claim.transfer_to(options().identity).unwrap();
        let profile = match usage {
            ProfileUse::Persist => Profile::Persistent(claim.data()),
            ProfileUse::ReadOnly => Profile::CopyOf(claim.data()),
        };
        let options = Options {
            profile,
            ..options()
        };
        (options, claim)
    }

    /// What the page reports in this browser, which is then closed.
    async fn knows(&self, mut browser: Browser) -> String {
        go(&mut browser, &self.site.url("page")).await.unwrap();
        let text = text_of(&mut browser, Action::PageText { tab: None }).await;
        browser.close().await.unwrap();
        text
    }
}

#[tokio::test]
async fn stored_data_is_available_with_the_same_profile_only() {
    let fixture = ProfileFixture::new().await;
    let (first, claim) = fixture.browser(ProfileUse::Persist).await;
    if let Some(identity) = options().identity {
        let data = claim.data().join("Default/Preferences");
        assert_eq!(fs::metadata(data).unwrap().uid(), identity.uid);
    }
    let text = fixture.knows(first).await;
    assert!(text.contains(NOTHING), "{text}");
    drop(claim);

    let (copy, claim) = fixture.browser(ProfileUse::ReadOnly).await;
    let text = fixture.knows(copy).await;
    assert!(text.contains(ALL), "{text}");
    drop(claim);

    let text = fixture.knows(launched_with(options()).await).await;
    assert!(text.contains(NOTHING), "{text}");
    let (reopened, _claim) = fixture.browser(ProfileUse::Persist).await;
    let text = fixture.knows(reopened).await;
    assert!(text.contains(ALL), "{text}");
}

#[tokio::test]
async fn a_headless_profile_can_be_used_in_a_window() {
    let fixture = ProfileFixture::new().await;
    let (first, claim) = fixture.browser(ProfileUse::Persist).await;
    let text = fixture.knows(first).await;
    assert!(text.contains(NOTHING), "{text}");
    drop(claim);
    let (options, claim) = fixture.options(ProfileUse::Persist);
    let text = fixture.knows(windowed_with(options).await).await;
    assert!(text.contains(ALL), "{text}");
    drop(claim);
    let (reopened, _claim) = fixture.browser(ProfileUse::Persist).await;
    let text = fixture.knows(reopened).await;
    assert!(text.contains(ALL), "{text}");
}

#[tokio::test]
async fn a_copy_is_discarded_with_its_data() {
    let fixture = ProfileFixture::new().await;
    let (copy, claim) = fixture.browser(ProfileUse::ReadOnly).await;
    let text = fixture.knows(copy).await;
    assert!(text.contains(NOTHING), "{text}");
    assert_eq!(fs::read_dir(claim.data()).unwrap().count(), 0);
}
