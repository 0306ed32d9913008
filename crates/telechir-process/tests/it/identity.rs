//! A child of root is unprivileged.

use telechir_process::{Identity, Spawn, SpawnError, is_root};

use crate::{output, sh};

#[tokio::test]
async fn a_child_of_root_has_its_user_and_no_capabilities() {
    if !is_root() {
        let other = Identity::unprivileged(7);
        let error = Spawn::new("true")
            .identity(other)
            .spawn()
            .await
            .unwrap_err();
        assert!(
            matches!(error, SpawnError::NotRoot { uid: 61_007, .. }),
            "{error:?}"
        );
        return;
    }
    let script = "id -u; id -g; id -G; grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status | tr -d '\\t'";
    let (text, _) = output(sh(script).identity(Identity::unprivileged(7))).await;
    let none = "0000000000000000";
    let expected = format!(
        "61007\n61007\n61007\nCapPrm:{none}\nCapEff:{none}\nCapBnd:{none}\nCapAmb:{none}\nNoNewPrivs:1\n"
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn our_own_identity_needs_no_root() {
    let (text, _) = output(sh("id -u")).await;
    assert_eq!(text.trim(), Identity::current().uid.to_string());
    if !is_root() {
        assert_eq!(
            output(sh("true").identity(Some(Identity::current())))
                .await
                .1,
            Some(0)
        );
    }
}

#[tokio::test]
async fn no_new_privs_can_be_disabled() {
    let script = sh("grep NoNewPrivs /proc/self/status | tr -d '\\t'");
    let identity = is_root().then(|| Identity::unprivileged(7)).flatten();
    assert_eq!(
        output(script.identity(identity).no_new_privs(false))
            .await
            .0,
        "NoNewPrivs:0\n"
    );
}

#[test]
fn there_is_no_identity_beyond_the_range() {
    assert_eq!(
        Identity::unprivileged(0),
        Some(Identity {
            uid: 61_000,
            gid: 61_000
        })
    );
    assert_eq!(Identity::unprivileged(4_000), None);
}
