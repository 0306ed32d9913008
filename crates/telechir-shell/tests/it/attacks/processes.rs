//! A program inside has no power over other processes by way of `/proc`.

use telechir_process::is_root;

use crate::{run, sandboxed};

#[tokio::test]
async fn a_program_cannot_hide_from_the_oom_killer() {
    let (mut shell, _workspace) = sandboxed().await;
    for attempt in [
        "echo 0 >/proc/self/oom_score_adj",
        "echo -1000 >/proc/self/oom_score_adj",
        "echo 0 >/proc/$BASHPID/oom_score_adj",
        "echo -17 >/proc/self/oom_adj",
        "echo 0 >/proc/self/task/$BASHPID/oom_score_adj",
        "echo 0 >/proc/thread-self/oom_score_adj",
        "echo 0 >/proc/self/root/proc/self/oom_score_adj",
        "echo 0 >/proc/1/root/proc/self/oom_score_adj",
        "cd /proc/self && echo 0 >oom_score_adj",
    ] {
        let output = run(
            &mut shell,
            &format!("({attempt}) 2>&1; cat /proc/self/oom_score_adj"),
        )
        .await;
        assert!(output.stdout.ends_with("\n900\n"), "{attempt}: {output:?}");
    }
}

#[tokio::test]
async fn a_program_cannot_make_others_the_victims_of_the_oom_killer() {
    let (mut shell, _workspace) = sandboxed().await;
    let attempt = "for p in /proc/[0-9]*; do (echo 1000 >$p/oom_score_adj) 2>/dev/null; done; \
                   cat /proc/[0-9]*/oom_score_adj 2>/dev/null | sort -u";
    assert_eq!(run(&mut shell, attempt).await.stdout, "900\n");
}

#[tokio::test]
async fn the_memory_of_processes_cannot_be_written() {
    let (mut shell, _workspace) = sandboxed().await;
    let attempt = "sleep 1000 & for p in 1 $! $$ $PPID self; do \
        for f in mem task/$p/mem clear_refs attr/current; do \
        perl -e 'sysopen F, \"/proc/'$p/$f'\", 2 and print \"'$p/$f' \"'; done; done; kill $!";
    assert_eq!(run(&mut shell, attempt).await.stdout, "");
    let outside = std::process::id();
    let attempt = format!(
        "perl -e 'open F, \"<\", \"/proc/{outside}/mem\" and sysread F, $x, 1 and print 1'"
    );
    assert_eq!(run(&mut shell, &attempt).await.stdout, "");
}

#[tokio::test]
async fn standard_streams_can_be_opened_again() {
    let (mut shell, _workspace) = sandboxed().await;
    let text = "echo a >/dev/stdout; echo b >/dev/stderr; echo c >/proc/self/fd/1; echo d | cat /dev/stdin; \
                cat <(echo e) /dev/fd/3 3<<<f; echo g | tee /dev/stderr >/dev/null";
    let output = run(&mut shell, text).await;
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("a\nc\nd\ne\nf\n", "b\ng\n")
    );
}

#[tokio::test]
async fn bubblewraps_first_process_offers_no_other_proc() {
    let (mut shell, _workspace) = sandboxed().await;
    // Programs that start read the locale and libraries.
    let text = "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -- '-> /' | \
                grep -v -e '/dev/' -e '/run/telechir' -e '-> /proc/' -e '-> /usr/' -e '-> /etc/'";
    let output = run(&mut shell, text).await;
    assert_eq!(output.stdout, "", "root: {}", is_root());
}
