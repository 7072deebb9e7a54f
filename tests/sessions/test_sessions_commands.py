"""The commands about sessions, as a person types them."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from amplifier.cli import main
from amplifier.sessions.places import sessions_folder
from amplifier.sessions.record import decode, new_record


class Commands:
    """The command in a folder and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(main, list(arguments), **options)

    def document(self, *arguments: str) -> Any:
        done = self(*arguments, "--json")
        assert done.exit_code in (0, 1), done.output
        return json.loads(done.stdout)

    def turn(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command that runs a turn; it takes stdout for itself, so it needs a process."""
        return subprocess.run(
            [sys.executable, "-m", "amplifier.cli", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def log(self) -> Path:
        (found,) = sessions_folder(self.folder).glob("*/events.jsonl")
        return found


@pytest.fixture
def amplifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    return Commands(work)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's sessions, with one session of one turn."""
    folder, home = (tmp_path_factory.mktemp(name) for name in ("recorded", "home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AMPLIFIER_HOME", str(home))
        done = Commands(folder).turn("run", "--provider", "mock", "read the file")
        assert done.returncode == 0, done.stderr
        return sessions_folder(folder)


@pytest.fixture
def used(amplifier: Commands, recorded: Path) -> Commands:
    """With a copy of that session."""
    shutil.copytree(recorded, sessions_folder(amplifier.folder))
    return amplifier


def only_id(amplifier: Commands) -> str:
    (found,) = amplifier.document("session", "list")
    return str(found["session_id"])


def test_a_run_can_be_listed_shown_and_continued(used: Commands) -> None:
    done = used.turn("continue", "And then?")

    assert done.returncode == 0, done.stderr
    shown = used.document("session", "show", only_id(used)[:8])
    assert shown["turns"] == 2
    assert shown["status"] == "success"
    assert "read the file" in used("session", "list").output
    assert "[assistant]" in used("session", "show", only_id(used), "-T").output


def test_a_session_is_resumed_by_its_name(used: Commands) -> None:
    assert used("session", "rename", only_id(used)[:8], "my work").exit_code == 0

    assert used.turn("resume", "my work", "More.").returncode == 0
    assert used.turn("run", "--resume", "my work", "More.").returncode == 0

    assert used.document("session", "show", "my work")["turns"] == 3


def test_a_run_without_a_session_leaves_none(amplifier: Commands) -> None:
    assert amplifier.turn("run", "--no-session", "--provider", "mock", "Hello").returncode == 0

    assert amplifier.document("session", "list") == []


def test_what_does_not_exist_or_is_not_clear_is_told_in_one_line(used: Commands) -> None:
    used("session", "fork", only_id(used))
    for arguments, said in [
        (("session", "show", "nope"), "There is no session 'nope'"),
        (("session", "delete", "-f", ""), "There is no session ''"),
        (("session", "fork", "nope"), "There is no session"),
    ]:
        done = used(*arguments)
        assert done.exit_code == 1
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_prefix_that_fits_several_sessions_is_refused(used: Commands) -> None:
    first = only_id(used)
    while True:
        copy = used.document("session", "fork", first)["session_id"]
        if copy[0] == first[0]:
            break

    done = used("session", "show", first[0])

    assert done.exit_code == 1
    assert "Several sessions fit" in done.stderr


def test_a_copy_ends_at_the_turn_or_record_that_is_named(used: Commands) -> None:
    used.turn("continue", "Second.")
    origin = only_id(used)

    copy = used.document("session", "fork", origin, "--at", "1", "-n", "copy")["session_id"]
    by_record = used.document("session", "fork", origin, "--at", "seq:3")["session_id"]

    shown = used.document("session", "show", "copy")
    assert (shown["session_id"], shown["turns"]) == (copy, 1)
    assert shown["forked_from"]["session_id"] == origin
    assert used.document("session", "show", by_record)["records"] == 4
    assert {each["session_id"] for each in used.document("session", "list", "-t", origin)} == {
        origin,
        copy,
        by_record,
    }
    assert used("session", "fork", origin, "--at", "9").exit_code == 1
    assert used.turn("resume", copy, "On.").returncode == 0


def test_sessions_differ_from_the_first_event_that_is_not_the_same(used: Commands) -> None:
    origin = only_id(used)
    copy = used.document("session", "fork", origin)["session_id"]
    assert used.document("session", "diff", origin, copy) == {"same": True, "difference": None}

    used.turn("resume", copy, "More.")

    found = used.document("session", "diff", origin, copy)
    assert found["difference"]["event"] == "prompt:submit"
    assert used("session", "diff", origin, copy).exit_code == 1


def test_a_session_replays_without_a_model(used: Commands) -> None:
    used.turn("continue", "Second.")

    done = used("session", "replay", only_id(used))

    assert done.output == "No difference.\n"
    assert done.exit_code == 0


def test_a_replay_reports_the_first_event_that_differs(used: Commands) -> None:
    lines = used.log.read_bytes().splitlines(keepends=True)
    records = [decode(line) for line in lines]
    changed = [
        new_record(each.seq, each.event, {**each.data, "status": "other"}, key=each.key)
        if each.event == "turn:end"
        else each
        for each in records
    ]
    used.log.write_bytes(b"".join(each.line for each in changed))

    found = used.document("session", "replay", only_id(used))

    assert found["difference"]["event"] == "turn:end"


def test_a_session_becomes_a_test_that_passes(used: Commands, tmp_path: Path) -> None:
    done = used("session", "to-test", only_id(used), "-o", str(tmp_path / "made"))

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", done.output.strip()],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_an_export_masks_what_looks_like_a_secret(amplifier: Commands) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"
    amplifier.turn("run", "--provider", "mock", f"My token is {token}.")

    for shape in ("markdown", "json", "jsonl"):
        masked = amplifier("session", "export", only_id(amplifier), "--format", shape).output
        assert token not in masked
        assert "REDACTED" in masked
    whole = amplifier("session", "export", only_id(amplifier), "--no-redaction").output
    assert token in whole


def test_a_deleted_session_is_gone(used: Commands) -> None:
    assert used("session", "delete", only_id(used), input="n\n").exit_code == 1
    assert used("session", "delete", "-f", only_id(used)).exit_code == 0

    assert used.document("session", "list") == []


def test_cleanup_removes_what_was_not_used(used: Commands) -> None:
    os.utime(used.log, (0, 0))
    used.turn("run", "--provider", "mock", "New.")

    done = used("session", "cleanup", "-d", "7", "-f")

    assert done.output == "1 removed.\n"
    assert "New." in used("session", "list").output


def test_damage_is_told_exactly_and_put_aside(used: Commands) -> None:
    session_id, log = only_id(used), used.log
    content = log.read_bytes()
    lines = content.splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:5], lines[5].replace(b"e", b"E"), *lines[6:]]))

    report = used.document("session", "verify", session_id)
    assert report["records"] == 5
    assert report["records_after_damage"] == len(lines) - 6
    assert used.turn("resume", session_id, "On.").returncode == 1

    assert used("session", "repair", session_id).exit_code == 0

    assert used("session", "verify", session_id).exit_code == 0
    assert (log.parent / "events.damaged-5.bin").read_bytes() == b"".join(
        [lines[5].replace(b"e", b"E"), *lines[6:]]
    )
    assert used.turn("resume", session_id, "On.").returncode == 0


def test_a_torn_end_is_told_on_resume(used: Commands) -> None:
    with used.log.open("ab") as file:
        file.write(b'{"v":1,"seq":99')

    done = used.turn("continue", "On.")

    assert done.returncode == 0
    assert "The last record was torn" in done.stderr
    assert used("session", "verify", only_id(used)).exit_code == 0


def test_a_missing_and_a_damaged_value_are_told(amplifier: Commands) -> None:
    amplifier.turn("run", "--provider", "mock", "x" * 100_000)
    (value,) = (amplifier.log.parent / "blobs").iterdir()

    value.write_bytes(b"changed")
    assert amplifier.document("session", "verify", only_id(amplifier))["damaged_values"]
    value.unlink()
    assert amplifier.document("session", "verify", only_id(amplifier))["missing_values"]
    assert "is missing" in amplifier("session", "show", only_id(amplifier), "-T").output


def test_sessions_are_found_by_what_was_said(used: Commands) -> None:
    used.turn("run", "--provider", "mock", "Something about 100% wool_socks")

    assert len(used.document("session", "search", "CANNED")) == 2
    (hit,) = used.document("session", "search", "100% wool_")
    assert "wool_socks" in hit["excerpt"]
    assert used.document("session", "search", "wool%socks") == []


def test_a_damaged_index_is_made_anew(used: Commands, tmp_path: Path) -> None:
    (tmp_path / "home" / "sessions-index.sqlite").write_bytes(b"nonsense" * 1_000)

    assert len(used.document("session", "search", "the file")) == 1


def test_a_session_of_the_public_layout_is_taken_over(amplifier: Commands, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    call = {"id": "c1", "tool": "bash", "arguments": {"command": "ls"}}
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
        {"role": "assistant", "content": "One file."},
        {"role": "user", "content": "Again."},
    ]
    lines = [*(json.dumps(each) for each in messages), "{torn"]
    (old / "transcript.jsonl").write_text("\n".join(lines))
    (old / "metadata.json").write_text(json.dumps({"session_id": "old-1", "name": "Old"}))

    assert amplifier.document("session", "import", str(old)) == {"session_id": "old-1"}

    shown = amplifier.document("session", "show", "Old", "-T")
    assert [each["role"] for each in shown["transcript"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert amplifier.turn("resume", "Old", "On.", "--provider", "mock").returncode == 0
    assert amplifier("session", "import", str(tmp_path)).exit_code == 1


@pytest.mark.parametrize("taken", ["old-1", "..", ""])
def test_a_session_whose_id_cannot_be_had_is_taken_over_under_another(
    amplifier: Commands, tmp_path: Path, taken: str
) -> None:
    (tmp_path / "transcript.jsonl").write_text('{"role": "user", "content": "List."}')
    (tmp_path / "metadata.json").write_text(json.dumps({"session_id": taken}))
    first = amplifier.document("session", "import", str(tmp_path))["session_id"]
    assert amplifier("session", "delete", "-f", first).exit_code == 0

    again = amplifier.document("session", "import", str(tmp_path))["session_id"]

    assert again not in (first, taken)
    assert amplifier.document("session", "show", again)["turns"] == 1


def test_a_thousand_sessions_are_searched_within_a_second(amplifier: Commands) -> None:
    folder = sessions_folder(amplifier.folder)
    for number in range(1_000):
        (folder / f"s{number}").mkdir(parents=True)
        said = f"Needle {number}." if number % 500 == 7 else "Hay. " * 200
        records = [
            new_record(0, "prompt:submit", {"prompt": said}),
            new_record(1, "message:added", {"message": {"role": "user", "content": said}}),
        ]
        content = b"".join(each.line for each in records)
        (folder / f"s{number}" / "events.jsonl").write_bytes(content)
    amplifier("session", "search", "needle")

    begin = time.process_time()
    found = amplifier.document("session", "search", "needle")

    assert time.process_time() - begin < 1
    assert sorted(each["session_id"] for each in found) == ["s507", "s7"]
