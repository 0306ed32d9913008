//! A sandboxed command changes a repository so that the user's next `git status` runs its code.

use std::fs;

use telechir_device::Shell as _;
use telechir_protocol::ShellOutcome;
use telechir_testkit::assert_eventually;

use super::Project;
use crate::{command, run};

/// Runs the attack inside, and checks that nothing of it is executed outside: while the session
/// goes on, and after it.
async fn check(project: Project, attack: &str) {
    let attack = attack.replace("PAYLOAD", &project.payload());
    let canary = project.canary();
    let mut shell = project.shell().await;
    let output = run(&mut shell, &attack).await;
    project.use_git();
    assert!(!canary.exists(), "while the session goes on: {output:?}");
    shell.close().await.unwrap();
    project.use_git();
    assert!(!canary.exists(), "after the session: {output:?}");
}

/// A program in the workspace, and a configuration that Git runs it by.
const EVIL: &str = "printf '#!/bin/sh\\nPAYLOAD\\n' > evil.sh; chmod +x evil.sh; \
    printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = \"%s\"\\n' \"$PWD/evil.sh\" > evil.cfg; ";

#[tokio::test]
async fn normal_work_with_git_is_possible() {
    let project = Project::new();
    project.git(&["config", "user.name", "n"]);
    project.git(&["config", "user.email", "n@example.org"]);
    let mut shell = project.shell().await;
    for command in [
        "git status",
        "echo more >> file && git add file && git commit -qm second",
        "git log --oneline && git diff HEAD~1",
        "git checkout -q -b topic && echo topic > topic && git add . && git commit -qm topic",
        "git checkout -q main && echo main > main && git add . && git commit -qm main",
        "git merge -q -m merged topic",
        "echo x >> file && git stash && git stash pop && git reset -q --hard",
        "git rebase -q HEAD~1 && git branch -qD topic && git tag v1",
        "git checkout -q -b other HEAD~1 && git cherry-pick main && git switch -q main",
        "git gc -q && git fsck && git reflog",
        // Protected as the name of a file only.
        "git branch AGENTS.md",
        "git log -1 AGENTS.md -- && git branch -qD AGENTS.md",
    ] {
        let output = run(&mut shell, command).await;
        assert_eq!(
            output.outcome,
            ShellOutcome::Success,
            "{command}: {output:?}"
        );
    }
    let output = run(&mut shell, "git status --porcelain; git ls-files").await;
    assert_eq!(output.stdout, "file\nmain\ntopic\n", "{output:?}");
    shell.close().await.unwrap();
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let left = fs::read_dir(project.path().join(".git")).unwrap().flatten();
    let mut left: Vec<String> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    left.retain(|name| ["commondir", "modules", "worktrees"].contains(&name.as_str()));
    assert_eq!(left, [""; 0], "placeholders are removed");
}

#[tokio::test]
async fn what_git_cannot_do_is_explained_in_one_line() {
    let project = Project::new();
    project.git(&["branch", "topic"]);
    project.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    project.git(&["config", "remote.origin.url", "/nowhere"]);
    project.git(&[
        "config",
        "remote.origin.fetch",
        "+refs/heads/*:refs/remotes/origin/*",
    ]);
    project.git(&["checkout", "-q", "-b", "editor"]);
    fs::create_dir(project.path().join(".vscode")).unwrap();
    fs::write(project.path().join(".vscode/tasks.json"), "{}").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "editor"]);
    project.git(&["checkout", "-q", "main"]);
    let mut shell = project.shell().await;
    for (attempt, cause) in [
        (
            "git config user.name x",
            "[.git/config is read-only in this session",
        ),
        (
            "git branch -m topic other",
            "[.git/config is read-only in this session",
        ),
        (
            "git checkout -q -b new origin/main",
            "[.git/config is read-only in this session",
        ),
        (
            "git checkout -q -b newer origin/main 2>&1",
            "[.git/config is read-only in this session",
        ),
        (
            "git worktree add sub",
            "[.git/worktrees is read-only in this session",
        ),
        (
            "git checkout -q editor",
            "[.vscode cannot be created in this session",
        ),
        (
            "mkdir deep; (cd deep; mkdir ../.vscode)",
            "[.vscode cannot be created in this session",
        ),
    ] {
        let output = run(&mut shell, attempt).await;
        let lines = output.stderr.lines().filter(|line| line.starts_with('['));
        let lines: Vec<&str> = lines.collect();
        assert!(
            lines.len() == 1 && lines[0].starts_with(cause),
            "{attempt}: {output:?}"
        );
    }
    let output = run(
        &mut shell,
        "touch /usr/x; mkdir deep; cat deep/x/y; git status --short",
    )
    .await;
    assert!(!output.stderr.contains('['), "{output:?}");
    shell.close().await.unwrap();

    let project = Project::empty();
    let mut shell = project.shell().await;
    let output = run(&mut shell, "git init -q").await;
    assert!(
        output.stderr.contains("[.git is reserved in this session"),
        "{output:?}"
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn git_works_outside_while_a_session_runs() {
    let project = Project::new();
    let shell = project.shell().await;
    assert!(project.git(&["status"]).contains("On branch main"));
    project.git(&["checkout", "-q", "-b", "other"]);
    project.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    assert!(project.git(&["log", "--oneline"]).contains("second"));
    shell.close().await.unwrap();
}

#[tokio::test]
async fn hooks_and_configuration_cannot_be_changed() {
    for attack in [
        "git config core.fsmonitor ./evil.sh; cp evil.cfg .git/config; mv evil.cfg .git/config",
        "for hook in post-checkout pre-commit post-index-change reference-transaction; do \
         cp evil.sh .git/hooks/$hook; done",
        "mv .git/hooks .git/hooks.old; mkdir .git/hooks; cp evil.sh .git/hooks/pre-commit",
        "mv .git old; cp -r old .git; cp evil.cfg .git/config",
    ] {
        check(Project::new(), &format!("{EVIL}{attack}")).await;
    }
}

#[tokio::test]
async fn a_common_folder_elsewhere_is_not_obeyed() {
    let attack = "cp -r .git common; cp evil.cfg common/config; echo ../common > .git/commondir";
    check(Project::new(), &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn a_configuration_of_the_worktree_is_not_obeyed() {
    let project = Project::new();
    project.git(&["config", "extensions.worktreeConfig", "true"]);
    let attack = "cp evil.cfg .git/config.worktree";
    check(project, &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn the_repository_of_a_submodule_cannot_be_changed() {
    for attack in [
        "git config -f .git/modules/sub/config core.fsmonitor \"$PWD/evil.sh\"",
        "cp evil.cfg new; git config -f new core.worktree ../../../sub; \
         mv -f new .git/modules/sub/config",
        "for hook in post-checkout pre-commit post-index-change reference-transaction; do \
         cp evil.sh .git/modules/sub/hooks/$hook; done",
        "cp -r .git/modules/sub elsewhere; git config -f elsewhere/config core.worktree ../sub; \
         git config -f elsewhere/config core.fsmonitor \"$PWD/evil.sh\"; \
         echo 'gitdir: ../elsewhere' > sub/.git",
    ] {
        let project = Project::new();
        let library = Project::new();
        let url = library.path().to_str().unwrap();
        let allow = "protocol.file.allow=always";
        project.git(&["-c", allow, "submodule", "--quiet", "add", url, "sub"]);
        project.git(&["commit", "-qm", "submodule"]);
        assert!(project.path().join("sub/.git").is_file());
        check(project, &format!("{EVIL}{attack}")).await;
    }
}

#[tokio::test]
async fn a_new_submodule_is_not_obeyed() {
    let attack = "git init -q sub && (cd sub && git -c user.name=n -c user.email=n commit -q \
        --allow-empty -m x && git config core.fsmonitor \"$OLDPWD/evil.sh\"); git add sub";
    check(Project::new(), &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn a_gitlink_file_to_another_folder_is_not_obeyed() {
    let attack = "cp -r .git elsewhere; cp evil.cfg elsewhere/config; mkdir sub; \
        echo 'gitdir: ../elsewhere' > sub/.git";
    check(Project::new(), &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn an_embedded_bare_repository_is_not_obeyed() {
    for attack in [
        "git init -q --bare sub; git -C sub config core.fsmonitor \"$PWD/evil.sh\"; \
         git -C sub config core.worktree \"$PWD\"; git -C sub config core.bare false",
        "mkdir -p sub/objects sub/refs; echo 'ref: refs/heads/main' > sub/HEAD; \
         cp evil.cfg sub/config; echo '[core] worktree = ..' >> sub/config",
        "mkdir -p sub; echo 'ref: refs/heads/main' > sub/HEAD; cp evil.cfg sub/config; \
         cp -r .git common; cp evil.cfg common/config; echo ../common > sub/commondir",
    ] {
        check(Project::new(), &format!("{EVIL}{attack}")).await;
    }
}

#[tokio::test]
async fn a_bare_repository_at_the_top_is_not_obeyed() {
    let attack = "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; cp evil.cfg config; \
        echo 'bare = false' >> config; echo 'worktree = .' >> config; rm -rf .git/HEAD";
    check(Project::new(), &format!("{EVIL}{attack}")).await;
    check(Project::empty(), &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn a_rebase_that_runs_programs_is_not_continued() {
    let attack = "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; \
        cp onto orig-head; echo refs/heads/main > head-name; : > interactive; echo 1 > msgnum; \
        echo 1 > end; : > quiet; : > done; printf '\\texec PAYLOAD\\n' > git-rebase-todo";
    check(Project::new(), attack).await;
}

#[tokio::test]
async fn a_linked_worktree_with_another_common_folder_is_not_obeyed() {
    let project = Project::new();
    project.git(&["worktree", "add", "-q", "sub"]);
    let attack = "cp -r .git common; cp evil.cfg common/config; \
        echo ../../../common > .git/worktrees/sub/commondir; \
        cp evil.cfg .git/worktrees/sub/config.worktree; \
        mkdir -p .git/worktrees/new; cp .git/HEAD .git/worktrees/new";
    check(project, &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn hooks_at_any_configured_path_cannot_be_changed() {
    for config in [
        "[core] hooksPath=tools\n",
        "[core]\n\thooksPath = tools # ours\n",
        "[core]\n\thooksPath = \"too\\\nls\" ; ours\n",
        "[CORE]\nhookspath=./x/../tools\n",
        "[include]\n\tpath = ../included\n",
    ] {
        for exists in [false, true] {
            let project = Project::new();
            let own = project.path().join(".git/config");
            let text = fs::read_to_string(&own).unwrap() + config;
            fs::write(&own, text).unwrap();
            let included = "[core]\n\thooksPath = tools\n";
            if exists {
                fs::create_dir(project.path().join("tools")).unwrap();
            }
            if exists || config.contains("include") {
                fs::write(project.path().join("included"), included).unwrap();
            }
            let attack = "mkdir tools; for hook in post-checkout pre-commit post-index-change \
                reference-transaction; do cp evil.sh tools/$hook; done; cp evil.cfg included";
            check(project, &format!("{EVIL}{attack}")).await;
        }
    }
}

#[tokio::test]
async fn programs_and_files_of_the_configuration_cannot_be_changed() {
    for config in [
        "[core]\n\tfsmonitor = tools/watch.sh\n",
        "[include]\n\tpath = ../tools/missing\n",
        "[includeIf \"onbranch:other\"]\n\tpath = ../tools/missing\n",
        "[diff]\n\texternal = sh ./tools/watch.sh\n",
        "[filter \"a\"]\n\tclean = tools/watch.sh %f\n",
    ] {
        let project = Project::new();
        fs::create_dir(project.path().join("tools")).unwrap();
        let watch = project.path().join("tools/watch.sh");
        fs::write(&watch, "#!/bin/sh\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&watch, executable).unwrap();
        fs::write(project.path().join(".gitattributes"), "* filter=a\n").unwrap();
        let own = project.path().join(".git/config");
        let text = fs::read_to_string(&own).unwrap() + config;
        fs::write(&own, text).unwrap();
        let attack = "cp evil.sh tools/watch.sh; cp evil.sh new; mv -f new tools/watch.sh; \
            cp -r tools new; mv tools old && mv new tools; cp evil.cfg tools/missing; \
            git checkout -q -b other; git symbolic-ref HEAD refs/heads/other; echo x >> file";
        check(project, &format!("{EVIL}{attack}")).await;
    }
}

#[tokio::test]
async fn a_missing_file_that_an_included_one_includes_is_reserved() {
    let project = Project::new();
    let own = project.path().join(".git/config");
    let text = fs::read_to_string(&own).unwrap() + "[include]\n\tpath = ../included\n";
    fs::write(&own, text).unwrap();
    let included = project.path().join("included");
    fs::write(included, "[include]\n\tpath = more\n").unwrap();
    check(project, &format!("{EVIL}cp evil.cfg more")).await;
}

#[tokio::test]
async fn what_a_file_names_that_is_not_included_yet_is_reserved() {
    let project = Project::new();
    let own = project.path().join(".git/config");
    let include = "[includeIf \"onbranch:other\"]\n\tpath = ../inactive\n";
    let text = fs::read_to_string(&own).unwrap() + include;
    fs::write(&own, text).unwrap();
    let inactive = "[core]\n\tfsmonitor = tools/later.sh\n";
    fs::write(project.path().join("inactive"), inactive).unwrap();
    let attack = "mkdir tools; cp evil.sh tools/later.sh; git checkout -q -b other";
    check(project, &format!("{EVIL}{attack}")).await;
}

#[tokio::test]
async fn a_repository_where_none_was_is_not_obeyed() {
    for attack in [
        "git init -q; cp evil.cfg .git/config",
        "mkdir -p .git/objects .git/refs; cp evil.cfg .git/config; echo 'ref: refs/heads/main' > .git/HEAD",
        "git init -q elsewhere; cp evil.cfg elsewhere/.git/config; mv elsewhere/.git .",
        "git init -q sub; cp evil.cfg sub/.git/config",
        "git init -q sub; cp evil.sh sub/.git/hooks/pre-commit",
        "mkdir sub; git init -q sub/deep; git -C sub/deep config core.hooksPath \"$PWD\"; \
         cp evil.sh pre-commit",
    ] {
        check(Project::empty(), &format!("{EVIL}{attack}")).await;
    }
}

#[tokio::test]
async fn a_new_repository_with_a_harmless_configuration_stays() {
    let project = Project::empty();
    let mut shell = project.shell().await;
    let output = run(
        &mut shell,
        "git init -q sub && cd sub && git config user.name n && git config user.email n && \
         git commit -q --allow-empty -m x",
    )
    .await;
    assert_eq!(
        (output.outcome, output.stderr.as_str()),
        (ShellOutcome::Success, "")
    );
    let output = run(&mut shell, "git log --oneline | wc -l").await;
    assert_eq!(output.stdout.trim(), "1");
    // In place, so that no name changes.
    let output = run(
        &mut shell,
        "printf '[core]\\nfsmonitor=x\\n' >> .git/config",
    )
    .await;
    assert!(
        output.stderr.contains("sub/.git/config was moved"),
        "{output:?}"
    );
    shell.close().await.unwrap();
}

#[tokio::test]
async fn an_index_that_leads_into_the_repository_or_outside_is_not_obeyed() {
    for path in [
        ".git/hooks/post-checkout",
        "../escaped",
        ".GIT/x",
        "sub/.git/config",
    ] {
        let project = Project::new();
        craft_index(&project, path);
        let escaped = project.path().parent().unwrap().join("escaped");
        check(project, "cp crafted .git/index").await;
        assert!(!escaped.exists());
    }
}

/// Writes an index with this path of a program to the file `crafted`. Git itself refuses such a
/// path, so the index is written by hand: one entry, no checksum.
fn craft_index(project: &Project, path: &str) {
    let program = project.path().join("program");
    fs::write(&program, format!("#!/bin/sh\n{}\n", project.payload())).unwrap();
    let id = project.git(&["hash-object", "-w", "program"]);
    let id = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap());
    let mut entry = [&[0; 24][..], &0o100_755_u32.to_be_bytes(), &[0; 12]].concat();
    entry.extend(id);
    entry.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
    entry.extend(path.as_bytes());
    entry.resize(entry.len() + 8 - entry.len() % 8, 0);
    let index = [b"DIRC\0\0\0\x02\0\0\0\x01", &entry[..], &[0; 20]].concat();
    fs::write(project.path().join("crafted"), index).unwrap();
}

#[tokio::test]
async fn an_index_that_git_cannot_list_is_moved_away() {
    for hide in [
        "chmod 000 .git/index",
        "chmod 000 .git/objects; chmod 000 .git/index",
    ] {
        let project = Project::new();
        craft_index(&project, ".git/hooks/post-checkout");
        let mut shell = project.shell().await;
        let output = run(&mut shell, &format!("cp crafted .git/index; {hide}")).await;
        assert!(
            output
                .stderr
                .contains(".git/index was moved to .git/index.blocked")
                && output.stderr.contains("could not list its paths"),
            "{output:?}"
        );
        run(&mut shell, "chmod 755 .git/objects").await;
        shell.close().await.unwrap();
        project.use_git();
        assert!(!project.canary().exists());
    }
}

#[tokio::test]
async fn a_part_of_a_split_index_that_leads_into_the_repository_is_not_obeyed() {
    let hook = ".git/hooks/post-checkout";
    for write in [
        "cat new > .git/sharedindex.*",
        "mv -f new .git/sharedindex.*",
    ] {
        let project = Project::new();
        let innocent = "i".repeat(hook.len());
        let program = project.path().join(&innocent);
        fs::write(&program, format!("#!/bin/sh\n{}\n", project.payload())).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, executable).unwrap();
        project.git(&["add", &innocent]);
        let mut shell = project.shell().await;
        let split = run(
            &mut shell,
            "git update-index --split-index && ls .git/sharedindex.*",
        )
        .await;
        assert_eq!(split.outcome, ShellOutcome::Success, "{split:?}");
        let attack =
            format!("LC_ALL=C sed 's,{innocent},{hook},' .git/sharedindex.* > new; {write}");
        let output = run(&mut shell, &attack).await;
        assert!(
            output.stderr.contains("Git would write .git/hooks/"),
            "{output:?}"
        );
        shell.close().await.unwrap();
        fs::remove_file(&program).unwrap();
        project.use_git();
        assert!(!project.canary().exists());
    }
}

#[tokio::test]
async fn what_one_device_moved_away_is_not_moved_again_by_another() {
    let project = Project::empty();
    fs::create_dir(project.path().join("sub")).unwrap();
    let mut first = project.shell().await;
    let second = project.shell().await;
    let attack = "git init -q sub; mkdir -p sub/.git/hooks; echo id > sub/.git/hooks/pre-commit; \
        ln -s /tmp sub/.git/COMMIT_EDITMSG; mkdir sub/.vscode";
    run(&mut first, attack).await;
    second.close().await.unwrap();
    first.close().await.unwrap();
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(project.path().join(folder)).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name.contains(".blocked"))
            .collect()
    };
    let mut moved = [names("sub"), names("sub/.git")].concat();
    moved.sort();
    assert_eq!(
        moved,
        [".vscode.blocked", "COMMIT_EDITMSG.blocked", "hooks.blocked"]
    );
}

#[tokio::test]
async fn git_writes_over_no_link_that_a_command_left() {
    for (link, target) in [
        (".git/COMMIT_EDITMSG", "own"),
        (".git/FETCH_HEAD", "own"),
        (".git/logs/HEAD", "own"),
        (".git/logs/refs/heads/main", "own"),
        (".git/MERGE_MSG", "own"),
    ] {
        let project = Project::new();
        let own = project.outside.path().join(target);
        fs::write(&own, "own\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(&own, mode).unwrap();
        let attack = format!("rm -f {link}; ln -s {} {link}", own.display());
        let mut shell = project.shell().await;
        run(&mut shell, &attack).await;
        project.use_git();
        shell.close().await.unwrap();
        project.use_git();
        assert_eq!(fs::read_to_string(&own).unwrap(), "own\n", "{link}");
    }
}

#[tokio::test]
async fn a_background_process_cannot_put_it_back_after_the_session() {
    let project = Project::empty();
    let attack = format!(
        "{EVIL}(while :; do git init -q sub; cp evil.cfg sub/.git/config; sleep 0.01; done) \
         >/dev/null 2>&1 & disown"
    );
    let attack = attack.replace("PAYLOAD", &project.payload());
    let mut shell = project.shell().await;
    run(&mut shell, &attack).await;
    run(&mut shell, "sleep 0.2").await;
    shell.close().await.unwrap();
    project.use_git();
    assert!(!project.canary().exists());
}

#[tokio::test]
async fn a_configuration_that_the_user_replaces_during_the_session_stays_protected() {
    let project = Project::new();
    let mut shell = project.shell().await;
    // Git replaces the file, which removes the mount on it.
    project.git(&["config", "user.nickname", "me"]);
    let attack = format!("{EVIL}cp evil.cfg .git/config").replace("PAYLOAD", &project.payload());
    let refused = shell.run(&command(&attack)).await.unwrap_err().to_string();
    assert!(
        refused.contains("restarted") && refused.contains("not executed"),
        "{refused}"
    );
    run(&mut shell, &attack).await;
    assert!(project.read(".git/config").contains("nickname = me"));
    shell.close().await.unwrap();
    project.use_git();
    assert!(!project.canary().exists());
}

#[tokio::test]
async fn a_harmless_change_by_the_user_leaves_no_configuration_open() {
    for change in [
        &["config", "user.name", "me"][..],
        &["config", "branch.main.remote", "origin"],
    ] {
        let project = Project::new();
        let mut shell = project.shell().await;
        project.git(change);
        let attack = "cp evil.cfg .git/config; mv -f evil.cfg .git/config";
        let attack = format!("{EVIL}{attack}").replace("PAYLOAD", &project.payload());
        let refused = shell.run(&command(&attack)).await.unwrap_err().to_string();
        assert!(refused.contains("restarted"), "{refused}");
        run(&mut shell, &attack).await;
        shell.close().await.unwrap();
        assert!(!project.read(".git/config").contains("fsmonitor"));
        project.use_git();
        assert!(!project.canary().exists());
    }
}

#[tokio::test]
async fn a_configuration_that_the_user_changes_while_a_command_runs_is_not_obeyed() {
    let project = Project::new();
    project.git(&["config", "core.pager", "cat"]);
    let mut shell = project.shell().await;
    let attack = "touch ready; until grep -q fsmonitor .git/config; do \
                  cp evil.cfg .git/config 2>/dev/null; sleep 0.01; done";
    let attack = format!("{EVIL}{attack}").replace("PAYLOAD", &project.payload());
    let user = async {
        assert_eventually!(project.path().join("ready").exists());
        project.git(&["config", "user.name", "me"]);
        // If root runs the tests, the session's user could not write to it otherwise.
        let writable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        fs::set_permissions(project.path().join(".git/config"), writable).unwrap();
    };
    let (output, ()) = tokio::join!(run(&mut shell, &attack), user);
    assert!(
        output
            .stderr
            .contains(".git/config was moved to .git/config.blocked"),
        "{output:?}"
    );
    shell.close().await.unwrap();
    project.use_git();
    assert!(!project.canary().exists());
}

#[tokio::test]
async fn what_the_user_sets_while_a_command_runs_stays_and_is_protected() {
    let project = Project::new();
    project.git(&["config", "core.pager", "cat"]);
    let mut shell = project.shell().await;
    let wait = "touch ready; until [ -e go ]; do sleep 0.01; done";
    let user = async {
        assert_eventually!(project.path().join("ready").exists());
        project.git(&["config", "user.name", "me"]);
        fs::write(project.path().join("go"), "").unwrap();
    };
    let (output, ()) = tokio::join!(run(&mut shell, wait), user);
    assert_eq!(output.stderr, "");
    let attack = "echo '[core] fsmonitor = evil' >> .git/config";
    let refused = shell.run(&command(attack)).await.unwrap_err().to_string();
    assert!(refused.contains("restarted"), "{refused}");
    run(&mut shell, attack).await;
    shell.close().await.unwrap();
    let config = project.read(".git/config");
    assert!(config.contains("name = me") && config.contains("pager = cat"));
    assert!(!config.contains("evil"), "{config}");
}

#[tokio::test]
async fn what_was_moved_away_in_a_repository_restarts_no_shell() {
    let project = Project::empty();
    let mut shell = project.shell().await;
    let make = "mkdir new && cd new && git init -q && git config core.editor vi && \
                mkdir -p .git/hooks && echo id > .git/hooks/pre-commit";
    let output = run(&mut shell, make).await;
    assert!(output.stderr.contains("was moved to"), "{output:?}");
    let output = run(&mut shell, "pwd").await;
    assert!(output.stdout.ends_with("/new\n"), "{output:?}");
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_command_for_the_folder_of_a_lost_shell_is_not_executed_elsewhere() {
    let project = Project::empty();
    fs::write(project.path().join("keep"), "").unwrap();
    let mut shell = project.shell().await;
    run(&mut shell, "mkdir sub && cd sub").await;
    fs::write(project.path().join("sub/CLAUDE.md"), "").unwrap();
    let refused = shell.run(&command("rm -rf ./*")).await.unwrap_err();
    assert!(refused.to_string().contains("not executed"), "{refused}");
    assert!(project.path().join("keep").exists());
    shell.close().await.unwrap();
}

#[tokio::test]
async fn what_an_option_of_the_configuration_names_cannot_be_changed() {
    let project = Project::new();
    fs::create_dir(project.path().join("tools")).unwrap();
    fs::write(project.path().join("tools/ssh.conf"), "").unwrap();
    project.git(&["config", "core.sshCommand", "ssh -Ftools/ssh.conf -v"]);
    let mut shell = project.shell().await;
    let output = run(
        &mut shell,
        "echo 'ProxyCommand x' > tools/ssh.conf; mv tools other; rm tools/ssh.conf",
    )
    .await;
    assert_eq!(project.read("tools/ssh.conf"), "", "{output:?}");
    assert!(project.path().join("tools/ssh.conf").exists());
    shell.close().await.unwrap();
}

#[tokio::test]
async fn options_of_a_suspended_operation_run_no_program() {
    let project = Project::new();
    project.git(&["checkout", "-q", "-b", "side"]);
    project.git(&["commit", "--allow-empty", "-qm", "second"]);
    let pick = format!("pick {}", project.git(&["rev-parse", "HEAD"]).trim());
    project.git(&["checkout", "-q", "main"]);
    let mut shell = project.shell().await;
    // Git takes `git-merge-x/../evil` for the program of the strategy `x/../evil`.
    let program = format!(
        "mkdir -p git-merge-x && printf '#!/bin/sh\\n{}\\nexit 1' > evil && chmod +x evil",
        project.payload()
    );
    run(&mut shell, &program).await;
    let comments = "for i in {1..40000}; do echo '# a long comment in the options'; done";
    for attack in [
        "printf '[options]\\n\\tstrategy = x/../evil\\n' > opts".to_owned(),
        "echo '[options] strategy = x/../evil' > opts".to_owned(),
        "printf '[OPTIONS]\\nSTRATEGY = x/../ev\"il\" ; ours\\n' > opts".to_owned(),
        "printf '[options]\\nstrategy = x/../\\\\\\nevil\\n' > opts".to_owned(),
        "echo '[options] strategy = x/../evil' > ../../own && ln -s ../../own opts".to_owned(),
        format!("(echo '[options] strategy = x/../evil'; {comments}) > opts"),
    ] {
        let attack = format!(
            "mkdir .git/sequencer && cd .git/sequencer && git rev-parse HEAD > head \
             && printf '%s\\n' '{pick}' '{pick}' > todo && {attack}; cd -"
        );
        run(&mut shell, &attack).await;
        project.git(&["cherry-pick", "--continue"]);
        assert!(!project.canary().exists(), "{attack}");
        let left = project.path().join(".git/sequencer");
        assert!(!left.exists(), "{attack}");
    }
    for (folder, file, text) in [
        ("rebase-merge", "strategy", "x/../evil"),
        (
            "rebase-apply",
            "apply-opt",
            "'--build-fake-ancestor=/tmp/x'",
        ),
    ] {
        let attack = format!("mkdir .git/{folder} && printf %s \"{text}\" > .git/{folder}/{file}");
        run(&mut shell, &attack).await;
        let left = project.path().join(".git").join(folder);
        assert!(!left.exists(), "{folder}/{file}");
    }
    shell.close().await.unwrap();
}

/// `git rebase --continue` appends the steps that are done to a file, `git am`, `git cherry-pick` and
/// `git rerere` write others.
#[tokio::test]
async fn git_writes_over_no_link_in_a_folder_of_an_operation() {
    let project = Project::new();
    let outside = project.outside.path().join("file");
    let mut shell = project.shell().await;
    let links = [
        "rebase-merge/done",
        "rebase-apply/final-commit",
        "sequencer/todo",
        "rr-cache/0123456789012345678901234567890123456789/postimage",
        "lfs/objects",
        "lfs/tmp",
    ];
    let made = links.map(|link| {
        let (folder, _) = link.rsplit_once('/').unwrap();
        format!(
            "mkdir -p .git/{folder} && ln -s {} .git/{link}",
            outside.display()
        )
    });
    run(&mut shell, &made.join("; ")).await;
    for link in links {
        let left = fs::symlink_metadata(project.path().join(".git").join(link));
        assert!(left.is_err(), "{link}");
    }
    // A suspended operation of Git itself stays.
    let conflict = "git config user.name n; export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e \
                    GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e; git checkout -qb side; \
                    echo a > file; git commit -qam a; git checkout -q main; echo b > file; \
                    git commit -qam b; rm -rf .git/rebase-merge .git/rebase-apply .git/sequencer; \
                    git rebase side";
    run(&mut shell, conflict).await;
    assert!(project.path().join(".git/rebase-merge/done").is_file());
    shell.close().await.unwrap();
}

#[tokio::test]
async fn a_link_among_the_objects_is_moved_away() {
    let project = Project::new();
    let mut shell = project.shell().await;
    run(
        &mut shell,
        "rm -rf .git/objects/pack; ln -s /tmp .git/objects/pack",
    )
    .await;
    shell.close().await.unwrap();
    let pack = project.path().join(".git/objects/pack");
    assert!(!fs::symlink_metadata(pack).is_ok_and(|found| found.is_symlink()));
}
