//! Profiles without a browser: made, listed, held by one, removed.

use super::*;

fn id(name: &str) -> ProfileId {
    name.parse().unwrap()
}

fn temp_profiles() -> (tempfile::TempDir, Profiles) {
    let folder = tempfile::tempdir().unwrap();
    let profiles = Profiles::in_folder(folder.path().join("deep/profiles"));
    (folder, profiles)
}

#[test]
fn names_have_plain_characters() {
    assert!("shop-1_a".parse::<ProfileId>().is_ok());
    for name in ["", ".", "..", "a/b", "é", "a b", &"x".repeat(33)] {
        assert!(name.parse::<ProfileId>().is_err(), "{name:?}");
    }
}

#[test]
fn a_released_profile_is_free_though_a_starting_program_inherited_its_lock() {
    let (_folder, profiles) = temp_profiles();
    profiles.create(&id("a")).unwrap();
    let claim = profiles
        .claim(&id("a"), ProfileUse::Persist, "one")
        .unwrap();
    let inherited = claim.lock().unwrap();
    let (_silent, never) = std::sync::mpsc::channel::<()>();
    let starting = std::thread::spawn(move || {
        // As long as a program may take to start.
        let _over = never.recv_timeout(Duration::from_millis(30));
        drop(inherited);
    });
    drop(claim);
    let reclaimed = profiles
        .claim(&id("a"), ProfileUse::Persist, "another")
        .unwrap();
    starting.join().unwrap();
    drop(reclaimed);
    profiles.delete(&id("a")).unwrap();
}

#[test]
fn a_profile_is_listed_until_it_is_deleted() {
    let (_folder, profiles) = temp_profiles();
    assert_eq!(profiles.list().unwrap(), []);
    profiles.create(&id("b")).unwrap();
    profiles.create(&id("a")).unwrap();
    assert!(matches!(
        profiles.create(&id("a")),
        Err(ProfileError::Exists(_))
    ));
    let listed = profiles.list().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0].id, listed[0].used, &listed[0].holder),
        (&id("a"), None, &None)
    );
    profiles.delete(&id("a")).unwrap();
    assert!(matches!(
        profiles.delete(&id("a")),
        Err(ProfileError::Missing(_))
    ));
    assert_eq!(profiles.list().unwrap().len(), 1);
}

#[test]
fn a_used_profile_is_refused_with_its_user() {
    let (_folder, profiles) = temp_profiles();
    let shop = id("shop");
    profiles.create(&shop).unwrap();
    let claim = profiles
        .claim(&shop, ProfileUse::Persist, "session work")
        .unwrap();
    let who = format!("session work (process {})", std::process::id());
    for usage in [ProfileUse::Persist, ProfileUse::ReadOnly] {
        let refused = profiles.claim(&shop, usage, "session other").unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "use profile shop: it is in use by {who}; a profile serves one browser at a time"
            )
        );
    }
    assert!(matches!(
        profiles.delete(&shop),
        Err(ProfileError::InUse { .. })
    ));
    assert_eq!(profiles.list().unwrap()[0].holder, Some(who));
    drop(claim);
    let listed = profiles.list().unwrap().remove(0);
    assert_eq!(listed.holder, None);
    assert!(listed.used.is_some());
    let copies = [(); 2].map(|()| {
        profiles
            .claim(&shop, ProfileUse::ReadOnly, "a copy")
            .unwrap()
    });
    assert!(
        profiles
            .claim(&shop, ProfileUse::Persist, "session work")
            .is_err()
    );
    drop(copies);
    profiles
        .claim(&shop, ProfileUse::Persist, "session work")
        .unwrap();
}

#[test]
fn a_profile_is_in_use_while_it_is_locked_and_not_by_a_starting_program() {
    let (_folder, profiles) = temp_profiles();
    let in_use = |name: &str| profiles.is_in_use(&id(name)).unwrap();
    assert!(!in_use("missing"));
    assert_eq!(profiles.describe(id("missing")), None);
    profiles.create(&id("a")).unwrap();
    assert!(!in_use("a"));
    let claim = profiles
        .claim(&id("a"), ProfileUse::Persist, "one")
        .unwrap();
    assert!(in_use("a"));
    let inherited = claim.lock().unwrap();
    let (_silent, never) = std::sync::mpsc::channel::<()>();
    let starting = std::thread::spawn(move || {
        let _over = never.recv_timeout(Duration::from_millis(30));
        drop(inherited);
    });
    drop(claim);
    assert!(!in_use("a"), "it was released");
    starting.join().unwrap();
}

#[test]
fn only_its_owner_can_enter_it() {
    let (root, profiles) = temp_profiles();
    profiles.create(&id("a")).unwrap();
    let folder = profiles.folder.join("a");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(DATA_DIR)), 0o700);
    assert_eq!(mode(&folder.join(LOCK_FILE)), 0o600);
    let claim = profiles
        .claim(&id("a"), ProfileUse::Persist, "a test")
        .unwrap();
    let Some(identity) = Identity::unprivileged(3_876).filter(|_| is_root()) else {
        return;
    };
    let closed = Permissions::from_mode(0o700);
    fs::set_permissions(root.path(), closed).unwrap();
    let refused = claim.transfer_to(Some(identity)).unwrap_err();
    assert!(refused.to_string().contains("cannot enter"), "{refused}");
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(root.path(), open).unwrap();
    let file = folder.join(DATA_DIR).join("file");
    fs::write(&file, "").unwrap();
    claim.transfer_to(Some(identity)).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().uid(), identity.uid);
    assert_eq!(claim.owner(), Some(identity));
    assert_eq!(mode(&folder), 0o710);
    drop(claim);
    assert_eq!(mode(&folder), 0o700);
}
