//! Text arrives exactly, even in programs that make it difficult.

use std::time::Duration;

use telechir_device::Computer;
use telechir_testkit::contract::computer::Witness;
use telechir_testkit::witness::ReadMode;

use crate::fixture;

/// 355 different characters, more than there are unused keycodes, each several times.
fn many_characters() -> String {
    let blocks = [
        'а'..='я',
        'Α'..='Ρ',
        '一'..='亀',
        'ぁ'..='ゟ',
        '가'..='갯',
        '😀'..='😿',
    ];
    let all: Vec<char> = blocks.into_iter().flatten().collect();
    assert!(all.len() > 250, "{}", all.len());
    let mut text = String::new();
    for (index, c) in all.iter().cycle().take(1000).enumerate() {
        text.push(*c);
        if index % 7 == 0 {
            text.push_str("aZ ");
        }
    }
    text
}

async fn check(manners: ReadMode, text: &str) {
    let folder = fixture::session_dir();
    let (mut desktop, mut witness) = fixture::watched(fixture::bare(&folder).await, manners).await;
    desktop.perform(&fixture::type_text(text)).await.unwrap();
    assert_eq!(witness.text(text).await, text);
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn more_characters_than_free_keys_arrive_exactly() {
    check(fixture::POLITE, &many_characters()).await;
}

#[tokio::test]
async fn assigned_characters_are_typed_again_among_new_ones() {
    let folder = fixture::session_dir();
    let (mut desktop, mut witness) =
        fixture::watched(fixture::bare(&folder).await, fixture::POLITE).await;
    let all: Vec<char> = ('一'..='亀').collect();
    let first: String = all[..60].iter().collect();
    let second: String = all[60..90].iter().chain(&all[20..60]).collect();
    for text in [&first, &second, &first] {
        witness.forget().await;
        desktop.perform(&fixture::type_text(text)).await.unwrap();
        assert_eq!(witness.text(text).await, *text);
    }
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_slow_program_gets_every_character() {
    let manners = ReadMode {
        answers_pings: true,
        slowness: Duration::from_millis(2),
    };
    let text: String = many_characters().chars().take(400).collect();
    check(manners, &text).await;
}

#[tokio::test]
async fn a_program_without_pings_gets_every_character() {
    let text: String = many_characters().chars().take(400).collect();
    check(ReadMode::default(), &text).await;
}

#[tokio::test]
async fn caps_lock_does_not_change_what_is_written() {
    let folder = fixture::session_dir();
    let display = fixture::bare(&folder).await;
    let (mut desktop, mut witness) = fixture::watched(display, fixture::POLITE).await;
    let caps_lock = telechir_protocol::Chord::parse("Caps_Lock").unwrap();
    let press = telechir_protocol::Action::Key {
        chord: caps_lock,
        repeat: 1,
    };
    desktop.perform(&press).await.unwrap();
    desktop
        .perform(&fixture::type_text("aBcé漢Ж"))
        .await
        .unwrap();
    assert_eq!(witness.text("aBcé漢Ж").await, "aBcé漢Ж");
    // The lock is restored: a plain key types a capital.
    witness.forget().await;
    let a = telechir_protocol::Chord::parse("a").unwrap();
    desktop
        .perform(&telechir_protocol::Action::Key {
            chord: a,
            repeat: 1,
        })
        .await
        .unwrap();
    assert_eq!(witness.text("A").await, "A");
    desktop.close().await.unwrap();
}
