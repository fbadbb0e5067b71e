"""What changed in a session's files: compared without reading or running anything of the repository."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from handoff_cli.errors import CliError
from handoff_cli.runner.working_tree import WorkingTree


def git(directory: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a commit, a changed file and one that git ignores."""
    path = tmp_path / "project"
    path.mkdir()
    git(path, "init", "-q")
    (path / ".gitignore").write_text("ignored\n")
    for name in ("a.txt", "b.txt"):
        (path / name).write_text("one\ntwo\n")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "first")
    (path / "b.txt").write_text("changed before\n")
    (path / "ignored").write_text("1\n")
    return path


@pytest.fixture
def tree(tmp_path: Path, project: Path) -> WorkingTree:
    """The base is noted."""
    made = WorkingTree(tmp_path / "state", "s-1", project)
    made.note("t-1")
    assert made.has_base
    return made


def test_files_that_changed_since_the_session_came_are_listed(project: Path, tree: WorkingTree) -> None:
    assert "Nothing changed" in tree.answer("")["text"]
    (project / "a.txt").write_text("one\nthree\nfour\n")
    (project / "new").mkdir()
    (project / "new" / "c d.txt").write_text("new\n")
    (project / "ignored").write_text("2\n")
    (project / "bin").write_bytes(b"\0\1")
    (project / "b.txt").unlink()
    said = tree.answer("")
    assert said["text"].startswith("4 files changed since the session came here, +3 −2.")
    lines = ["1. a.txt  +2 −1", "2. b.txt  +0 −1", "3. bin  binary", "4. new/c d.txt  +1 −0"]
    assert said["diff"].splitlines() == lines


def test_commits_of_the_agent_hide_nothing(project: Path, tree: WorkingTree) -> None:
    (project / "a.txt").write_text("one\nthree\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "second")
    git(project, "update-index", "--assume-unchanged", "b.txt")
    (project / "b.txt").write_text("hidden\n")
    assert tree.answer("")["diff"].splitlines() == ["1. a.txt  +1 −1", "2. b.txt  +1 −1"]


@pytest.mark.parametrize("name", ["a.txt", "1"])
def test_one_file_of_the_list_is_shown(project: Path, tree: WorkingTree, name: str) -> None:
    (project / "a.txt").write_text("one\nthree\n")
    said = tree.answer(name)
    assert said["outcome"] == "done"
    assert "-two\n+three\n" in said["diff"]


@pytest.mark.parametrize(
    "name", ["b.txt", "../secret", "/etc/passwd", ".git/config", "ignored", "7", "*", "--output=x"]
)
def test_nothing_else_is_shown(project: Path, tree: WorkingTree, name: str) -> None:
    (project.parent / "secret").write_text("secret\n")
    (project / "a.txt").write_text("one\nthree\n")
    said = tree.answer(name)
    assert (said["outcome"], said["diff"]) == ("refused", "1. a.txt  +1 −1")


def test_likely_secrets_are_masked_and_that_is_said(project: Path, tree: WorkingTree) -> None:
    token = "ghp_" + "a1B2" * 9
    (project / "a.txt").write_text(f"{token}\n")
    said = tree.answer("a.txt")
    assert token not in said["diff"]
    assert "[redacted GitHub token]" in said["diff"]
    assert "Likely secrets are masked." in said["text"]


def test_a_base_is_noted_once_for_each_turn(project: Path, tree: WorkingTree) -> None:
    (project / "a.txt").write_text("one\nthree\n")
    tree.note("t-1")
    assert "a.txt" in tree.answer("")["diff"]
    tree.note("t-2")
    assert "Nothing changed" in tree.answer("")["text"]


def test_a_directory_without_git_and_a_session_without_a_base_are_said(tmp_path: Path, project: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "no git repository" in WorkingTree(tmp_path / "state", "s-2", plain).answer("")["text"]
    assert "was not noted" in WorkingTree(tmp_path / "state", "s-3", project).answer("")["text"]


def test_another_working_tree_of_the_repository_is_compared(tmp_path: Path, project: Path) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "second"))
    tree = WorkingTree(tmp_path / "state", "s-2", tmp_path / "second")
    tree.note("t-1")
    (tmp_path / "second" / "a.txt").write_text("one\n")
    assert tree.answer("")["diff"] == "1. a.txt  +0 −1"


def test_a_file_that_becomes_a_directory_or_a_link_is_compared(project: Path, tree: WorkingTree) -> None:
    tree.answer("")
    (project / "a.txt").unlink()
    (project / "a.txt").mkdir()
    (project / "a.txt" / "inner").write_text("x\n")
    (project / "b.txt").unlink()
    (project / "b.txt").symlink_to("/etc/passwd")
    listed = tree.answer("")["diff"]
    assert "a.txt/inner" in listed
    assert "root:" not in tree.answer("b.txt")["diff"]


HOOKS = (
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
)


def _driver(project: Path, ran: str, *settings: str) -> None:
    for setting in settings:
        git(project, "config", setting, ran)


def _hooks(project: Path, ran: str) -> None:
    for name in HOOKS:
        hook = project / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\n{ran}\n")
        hook.chmod(0o755)


def _filters(project: Path, ran: str) -> None:
    (project / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    _driver(project, ran, "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv")
    _driver(project, ran, "diff.evil.command", "diff.external", "merge.evil.driver")
    git(project, "config", "filter.evil.required", "true")


def _monitor(project: Path, ran: str) -> None:
    _driver(project, ran, "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass")
    _driver(project, ran, "core.gitProxy", "core.alternateRefsCommand", "credential.helper", "gpg.program")
    _driver(project, ran, "pager.diff-tree", "interactive.diffFilter", "uploadpack.packObjectsHook", "sequence.editor")
    _driver(project, f"!{ran}", "alias.diff-tree", "alias.update-index", "alias.ls-files", "alias.read-tree")
    hooks = project / "own-hooks"
    hooks.mkdir()
    (hooks / "post-index-change").write_text(f"#!/bin/sh\n{ran}\n")
    (hooks / "post-index-change").chmod(0o755)
    git(project, "config", "core.hooksPath", str(hooks))


def _nested(project: Path, ran: str) -> None:
    """A repository in the repository, as an agent can make one, and one that is a submodule."""
    for name in ("nested", "module"):
        inner = project / name
        inner.mkdir()
        git(inner, "init", "-q")
        (inner / "x").write_text("x\n")
        git(inner, "add", "-A")
        git(inner, "commit", "-qm", "inner")
        _driver(inner, ran, "core.fsmonitor", "diff.external")
        _hooks(inner, ran)
    git(project, "add", "module")
    git(project, "commit", "-qm", "with a module")
    (project / "module" / "x").write_text("y\n")


def _included(project: Path, ran: str) -> None:
    """A configuration that others lead to: included, of the working tree, and of where `.git` says the repository is."""
    evil = f'[core]\n\tfsmonitor = "{ran}"\n[diff]\n\texternal = "{ran}"\n'
    (project / "evil.config").write_text(evil)
    git(project, "config", "include.path", "../evil.config")
    git(project, "config", f"includeIf.gitdir:{project}/.path", "../evil.config")
    git(project, "config", "extensions.worktreeConfig", "true")
    (project / ".git" / "config.worktree").write_text(evil)
    elsewhere = project.with_name("elsewhere.git")
    (project / ".git").rename(elsewhere)
    (project / ".git").write_text(f"gitdir: {elsewhere}\n")


def _attributes(project: Path, ran: str) -> None:
    """Attributes that git reads from elsewhere than the tree."""
    _driver(project, ran, "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.evil.command")
    everything = "* filter=evil diff=evil\n"
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "attributes").write_text(everything)
    (project / "evil.attributes").write_text(everything)
    git(project, "config", "core.attributesFile", str(project / "evil.attributes"))


def _submodules(project: Path, ran: str) -> None:
    """Submodules that would be updated with a command."""
    _nested(project, ran)
    module = f'[submodule "module"]\n\tpath = module\n\turl = ext::{ran}\n\tupdate = !{ran}\n\tignore = none\n'
    (project / ".gitmodules").write_text(module)
    git(project, "config", "submodule.module.update", f"!{ran}")
    git(project, "config", "submodule.module.url", f"ext::{ran}")
    git(project, "config", "submodule.recurse", "true")
    git(project, "config", "diff.submodule", "diff")
    git(project, "config", "diff.ignoreSubmodules", "none")


def _promisor(project: Path, ran: str) -> None:
    """A repository that would fetch what it lacks, with a command."""
    _driver(project, f"ext::{ran}", "remote.evil.url")
    git(project, "config", "remote.evil.promisor", "true")
    git(project, "config", "extensions.partialClone", "evil")
    git(project, "config", "protocol.ext.allow", "always")


PLANTED: dict[str, Callable[[Path, str], None]] = {
    "hooks": _hooks,
    "filters and drivers": _filters,
    "monitor, pager, aliases": _monitor,
    "nested repositories": _nested,
    "a promisor": _promisor,
    "configurations that are included": _included,
    "attributes elsewhere": _attributes,
    "submodules with commands": _submodules,
}


@pytest.mark.parametrize("when", ["before the base", "after the base"])
@pytest.mark.parametrize("plant", PLANTED)
def test_nothing_that_a_repository_plants_is_started(tmp_path: Path, project: Path, plant: str, when: str) -> None:
    ran = tmp_path / "ran"
    command = f"touch {ran}"
    tree = WorkingTree(tmp_path / "state", "s-1", project)
    if when == "before the base":
        PLANTED[plant](project, command)
        ran.unlink(missing_ok=True)  # the person's own git may have run it
    tree.note("t-1")
    assert tree.has_base
    if when == "after the base":
        PLANTED[plant](project, command)
        ran.unlink(missing_ok=True)
    (project / "a.txt").write_text("one\nthree\n")
    assert "a.txt  +1 −1" in tree.answer("")["diff"]
    assert "+three" in tree.answer("a.txt")["diff"]
    assert not ran.exists()


@pytest.mark.parametrize("name", ["HEAD", "packed-refs", "commondir", ""])
@pytest.mark.parametrize("what", ["a pipe", "a device"])
def test_what_stands_in_place_of_a_file_of_the_repository_is_not_read(
    tmp_path: Path, project: Path, name: str, what: str
) -> None:
    git(project, "pack-refs", "--all")
    path = project / ".git" / name
    if path.exists():
        path.rename(tmp_path / "before")
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    tree = WorkingTree(tmp_path / "state", "s-1", project)
    tree.note("t-1")
    (project / "a.txt").write_text("one\nthree\n")
    assert "a.txt  +1 −1" in tree.answer("")["diff"]


def test_a_directory_that_becomes_a_link_leads_nowhere(tmp_path: Path, project: Path) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "notes.txt").write_text("mine\n")
    git(project, "add", "-A")
    tree = WorkingTree(tmp_path / "state", "s-1", project)
    tree.note("t-1")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.txt").write_text("a secret\n")
    (project / "inner" / "notes.txt").unlink()
    (project / "inner").rmdir()
    (project / "inner").symlink_to(tmp_path / "private")
    assert "inner/notes.txt  +0 −1" in tree.answer("")["diff"]
    assert "a secret" not in tree.whole(10_000)[0]


def test_variables_of_git_are_not_passed_on(
    tmp_path: Path, project: Path, tree: WorkingTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {ran}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "diff.external")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {ran}")
    monkeypatch.setenv("GIT_TRACE", str(ran))
    (project / "a.txt").write_text("one\nthree\n")
    assert "+three" in tree.answer("a.txt")["diff"]
    assert not ran.exists()


def test_nothing_is_written_into_the_repository(project: Path, tmp_path: Path) -> None:
    def files() -> set[tuple[str, int]]:
        return {(str(path), path.stat().st_size) for path in (project / ".git").rglob("*") if path.is_file()}

    before = files()
    tree = WorkingTree(tmp_path / "state", "s-1", project)
    tree.note("t-1")
    (project / "a.txt").write_text("one\nthree\n")
    tree.answer("a.txt")
    assert files() == before
    assert (tmp_path / "state" / "trees").stat().st_mode & 0o77 == 0


def test_the_whole_patch_is_what_was_listed_with_likely_secrets_masked(project: Path, tree: WorkingTree) -> None:
    token = "ghp_" + "a1" * 20
    (project / "a.txt").write_text(f"one\nthree\n{token}\n")
    (project / "new.txt").write_text("new\n")
    tree.answer("")
    (project / "late.txt").write_text("late\n")
    patch, masked = tree.whole(10_000)
    assert (masked, token in patch) == (True, False)
    assert "+three\n" in patch
    assert "+new\n" in patch
    assert "late" not in patch


def test_a_patch_over_the_limit_is_refused(project: Path, tree: WorkingTree) -> None:
    (project / "new.txt").write_text("new\n" * 500)
    tree.answer("")
    with pytest.raises(CliError, match="The whole has 2 kB, so it is not sent as a file"):
        tree.whole(1000)
