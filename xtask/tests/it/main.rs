//! The guards of this repository, each broken on purpose to see that it bites.
#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test drives cargo itself"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs our lints over a crate that consists of `code` and returns the output of clippy.
fn clippy(code: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace manifest");
    let lints = manifest
        .split("[workspace.lints.rust]")
        .nth(1)
        .expect("lints in the manifest");
    let lints = lints
        .split("[profile")
        .next()
        .expect("text before the profiles");
    let lints = lints.replace("[workspace.lints.clippy]", "[lints.clippy]");
    let package =
        "[package]\nname = \"fixture\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(
        folder.path().join("Cargo.toml"),
        format!("{package}[lints.rust]{lints}"),
    )
    .expect("a manifest");
    fs::copy(root.join("clippy.toml"), folder.path().join("clippy.toml"))
        .expect("clippy's settings");
    fs::create_dir(folder.path().join("src")).expect("a folder");
    fs::write(
        folder.path().join("src/lib.rs"),
        format!("//! A fixture.\n{code}"),
    )
    .expect("a file");
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--quiet", "--offline", "--", "-D", "warnings"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env("CLIPPY_CONF_DIR", folder.path())
        .output()
        .expect("cargo runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn clippy_accepts_code_that_keeps_the_rules() {
    assert_eq!(clippy(""), "");
}

#[test]
fn clippy_refuses_each_banned_function_and_habit() {
    let output = clippy(
        r#"
        /// Reads the environment.
        pub fn a() -> Option<String> { std::env::var("A").ok() }
        /// Starts a program.
        pub fn b() -> std::process::Command { std::process::Command::new("b") }
        /// Sleeps.
        pub fn c() { std::thread::sleep(std::time::Duration::ZERO) }
        /// Unwraps.
        pub fn d(x: Option<u8>) -> u8 { x.unwrap() }
        /// Expects.
        pub fn e(x: Option<u8>) -> u8 { x.expect("e") }
        /// Prints.
        pub fn f() { println!("f") }
        /// Truncates.
        pub fn g(x: u64) -> u8 { x as u8 }
        pub fn undocumented() {}
        "#,
    );
    let wanted = [
        "std::env::var",
        "std::process::Command::new",
        "std::thread::sleep",
        "unwrap()` on an `Option`",
        "expect()` on an `Option`",
        "println!",
        "truncate",
        "missing documentation",
    ];
    for what in wanted {
        assert!(
            output.contains(what),
            "no complaint about {what} in:\n{output}"
        );
    }
}

#[test]
fn the_compiler_refuses_unsafe_code() {
    let output =
        clippy("/// Undefined.\npub fn a() { unsafe { std::hint::unreachable_unchecked() } }");
    assert!(output.contains("usage of an `unsafe` block"), "{output}");
}
