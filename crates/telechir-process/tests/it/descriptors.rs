//! A child gets exactly what its description lists.

use std::fs::File;
use std::io::Write;

use telechir_process::{Resource, Spawn, SpawnError, SpawnStep, Stdio};

use crate::{lifeline, output, read_all, sh};

#[tokio::test]
async fn the_environment_contains_only_set_variables() {
    let (text, code) = output(Spawn::new("env")).await;
    assert_eq!((text.as_str(), code), ("", Some(0)));
    let (text, _) = output(
        Spawn::new("env")
            .env("A", "1")
            .env("B", "two words")
            .env("A", "3"),
    )
    .await;
    assert_eq!(text, "B=two words\nA=3\n");
}

#[tokio::test]
async fn only_mapped_descriptors_are_open() {
    let file = File::open("/dev/null").unwrap();
    let leak = rustix::io::fcntl_dupfd_cloexec(&file, 3).unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let (reader, writer) = lifeline();
    let spawn = Spawn::new("ls")
        .arg("/proc/self/fd")
        .fd(4, writer)
        .fd(3, file.into())
        .fd(13, reader);
    // 5 is the directory that `ls` reads.
    assert_eq!(
        output(spawn).await,
        ("0\n1\n13\n2\n3\n4\n5\n".to_owned(), Some(0))
    );
}

#[tokio::test]
async fn overlapping_descriptor_numbers_are_mapped_correctly() {
    let (mut files, mut spawn) = (Vec::new(), sh("for n in 3 4 5 6; do cat <&$n; done"));
    for number in 3..7 {
        let (reader, writer) = lifeline();
        write!(File::from(writer), "{number}").unwrap();
        files.push(reader);
    }
    for (number, file) in (3..7).zip(files) {
        spawn = spawn.fd(number, file);
    }
    assert_eq!(output(spawn).await.0, "3456");
}

#[tokio::test]
async fn standard_streams_default_to_null() {
    let (text, _) = output(sh("readlink /proc/self/fd/0 /proc/self/fd/2")).await;
    assert_eq!(text, "/dev/null\n/dev/null\n");
}

#[tokio::test]
async fn pipes_carry_input_and_both_outputs() {
    let script = sh("cat; echo error >&2");
    let mut child = script
        .stdin(Stdio::Piped)
        .stdout(Stdio::Piped)
        .stderr(Stdio::Piped)
        .spawn()
        .await
        .unwrap();
    File::from(child.take_stdin().unwrap())
        .write_all(b"input")
        .unwrap();
    assert_eq!(read_all(child.take_stdout().unwrap()).await, "input");
    assert_eq!(read_all(child.take_stderr().unwrap()).await, "error\n");
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn limits_folder_and_mask_are_set() {
    let spawn = sh("ulimit -n; pwd; umask")
        .limit(Resource::Nofile, 77)
        .cwd("/usr")
        .umask(0o077);
    assert_eq!(output(spawn).await.0, "77\n/usr\n0077\n");
}

#[tokio::test]
async fn signals_are_reset_to_default() {
    // Without 32, which belongs to the C library.
    let script =
        "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\t' | sed s/:000000008/:000000000/";
    let (text, _) = output(sh(script)).await;
    assert_eq!(text, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
}

#[tokio::test]
async fn a_missing_program_is_named_with_its_package() {
    let error = Spawn::new("no-such-program").spawn().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "start `no-such-program`: it was not found; install it or check its name"
    );
    let missing = SpawnError::NotFound {
        program: "bwrap".to_owned(),
        package: Some("bubblewrap"),
    };
    assert_eq!(
        missing.to_string(),
        "start `bwrap`: it was not found; install the package `bubblewrap`"
    );
}

#[tokio::test]
async fn a_refused_step_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let error = Spawn::new(&program).spawn().await.unwrap_err();
    assert!(
        matches!(
            error,
            SpawnError::System {
                step: SpawnStep::Execute,
                ..
            }
        ),
        "{error:?}"
    );
    let error = Spawn::new("true")
        .cwd("/no/such/folder")
        .spawn()
        .await
        .unwrap_err();
    assert!(matches!(error, SpawnError::NoFolder { .. }), "{error:?}");
    let error = Spawn::new("true").arg("a\0b").spawn().await.unwrap_err();
    assert!(
        matches!(
            error,
            SpawnError::ZeroByte {
                what: "an argument",
                ..
            }
        ),
        "{error:?}"
    );
}
