"""hooks-logging: which events are written, as what, and where to."""

import os
import re
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.events import ALL_EVENTS
from helpers_records import SECRET, TOKENS, coordinator_of, logged, read, redacting

from amplifier_modules.records import hooks_logging

TOKEN = TOKENS["GitHub"]


async def test_a_record_has_its_fields_in_order(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        record = await log.record(
            "llm:response", status="ok", duration_ms=3.5, request_id="r1", model="m", usage={"n": 1}
        )

    assert list(record) == [
        "ts", "lvl", "schema", "event", "session_id", "status", "duration_ms", "request_id", "data",
    ]  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", record["ts"])
    assert record["schema"] == {"name": "amplifier.log", "ver": "1.0.0"}
    assert (record["event"], record["session_id"]) == ("llm:response", "s1")
    assert record["data"].keys() == {"model", "usage", "parent_id", "timestamp"}


async def test_fields_of_a_record_are_lifted_out_of_the_data(tmp_path: Path) -> None:
    lifted = {
        "status": "x", "duration_ms": 1, "module": "m", "component": "c", "error": {"msg": "e"},
        "request_id": "r", "span_id": "s", "parent_span_id": "p", "redaction": {"applied": False},
    }  # fmt: skip
    async with logged(tmp_path) as log:
        record = await log.record("plan:end", **lifted)

    assert {name: record[name] for name in lifted} == lifted
    assert record["data"].keys() == {"parent_id", "timestamp"}


@pytest.mark.parametrize(
    ("event", "data", "level"),
    [
        ("plan:end", {}, "INFO"),
        ("plan:end", {"lvl": "warning"}, "WARNING"),
        ("plan:end", {"status": "error"}, "ERROR"),
        ("plan:end", {"error": {"msg": "x"}}, "ERROR"),
        ("plan:end", {"error": None}, "INFO"),
        ("tool:error", {}, "ERROR"),
        ("tool:error", {"lvl": "INFO"}, "ERROR"),
        ("tool:error", {"lvl": "DEBUG", "error": "x"}, "DEBUG"),
        ("plan:end", {"lvl": 3}, "INFO"),
    ],
)
async def test_the_level_follows_from_the_event(
    event: str, data: dict[str, Any], level: str, tmp_path: Path
) -> None:
    async with logged(tmp_path) as log:
        record = await log.record(event, **data)

    assert record["lvl"] == level
    assert "lvl" not in record["data"]


async def test_every_canonical_event_is_written(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        for event in ALL_EVENTS:
            await log.emit(event)

    assert [each["event"] for each in log.records] == ALL_EVENTS


async def test_an_event_without_a_session_is_not_written(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        log.coordinator.hooks.set_default_fields()
        await log.emit("plan:start")
        await log.coordinator.hooks.emit("plan:start", None)

    assert log.records == []
    assert not log.path.exists()


async def test_events_that_modules_declare_are_written(tmp_path: Path) -> None:
    coordinator = coordinator_of()
    coordinator.register_contributor("observability.events", "a", lambda: ["a:one", "plan:start"])
    coordinator.register_contributor("observability.events", "b", lambda: "b:two")
    async with logged(tmp_path, coordinator, additional_events=["c:three"]) as log:
        for event in ("a:one", "b:two", "c:three", "d:four", "plan:start"):
            await log.emit(event)

    assert [each["event"] for each in log.records] == ["a:one", "b:two", "c:three", "plan:start"]


async def test_events_listed_in_the_older_capability_are_written(tmp_path: Path) -> None:
    coordinator = coordinator_of()
    coordinator.register_capability("observability.events", ["old:style"])
    async with logged(tmp_path, coordinator) as log:
        await log.emit("old:style")

    assert len(log.records) == 1


async def test_what_happens_while_modules_are_mounted_is_written(tmp_path: Path) -> None:
    coordinator = coordinator_of()
    template = str(tmp_path / "log")
    close = await hooks_logging.mount(coordinator, {"session_log_template": template})
    await coordinator.hooks.emit("module:load_failed", {"module_id": "m", "error": f"no {TOKEN}"})
    close()

    [record] = read(tmp_path / "log")
    assert (record["lvl"], record["error"]) == ("ERROR", f"no {SECRET}")


async def test_discovery_can_be_turned_off(tmp_path: Path) -> None:
    coordinator = coordinator_of()
    coordinator.register_contributor("observability.events", "a", lambda: ["a:one"])
    async with logged(tmp_path, coordinator, auto_discover=False) as log:
        await log.emit("a:one")

    assert log.records == []


async def test_a_star_asks_for_every_event_once(tmp_path: Path) -> None:
    async with logged(tmp_path, additional_events=["*"]) as log:
        for event in ("plan:start", "any:thing", "llm:stream_block_delta"):
            await log.emit(event)

    assert [each["event"] for each in log.records] == ["plan:start", "any:thing"]


@pytest.mark.parametrize(
    ("excluded", "written"),
    [
        (None, ["plan:start", "llm:stream_start"]),
        ([], ["plan:start", "llm:stream_start", "llm:stream_block_delta"]),
        (["plan:*", "LLM:*"], ["llm:stream_start", "llm:stream_block_delta"]),
    ],
)
async def test_excluded_events_are_left_out_by_pattern(
    excluded: list[str] | None, written: list[str], tmp_path: Path
) -> None:
    config = {} if excluded is None else {"exclude_events": excluded}
    names = ["plan:start", "llm:stream_start", "llm:stream_block_delta"]
    async with logged(tmp_path, additional_events=names, **config) as log:
        for name in names:
            await log.emit(name)

    assert [each["event"] for each in log.records] == written


async def test_raw_payloads_can_be_left_out(tmp_path: Path) -> None:
    async with logged(tmp_path, strip_raw=True) as log:
        assert "raw" not in (await log.record("llm:request", raw={"a": 1}, model="m"))["data"]
    async with logged(tmp_path) as log:
        assert (await log.record("llm:request", raw={"a": 1}))["data"]["raw"] == {"a": 1}


async def test_of_a_streamed_piece_only_the_length_is_written(tmp_path: Path) -> None:
    """A secret that the stream has cut in two could not be recognised."""
    events = ["provider:stream"]
    chunk = {"text": "gh", "response": {"content": [{"text": "whole"}]}}
    async with logged(tmp_path, additional_events=events) as log:
        streamed = (await log.record("provider:stream", chunk=chunk))["data"]["chunk"]
        assert (await log.record("thinking:delta", delta="abc"))["data"][
            "delta"
        ] == "[3 characters]"

    assert streamed == {"text": "[2 characters]", "response": {"content": [{"text": "whole"}]}}
    async with logged(tmp_path, additional_events=events, stream_text=True) as log:
        assert (await log.record("provider:stream", chunk=chunk))["data"]["chunk"]["text"] == "gh"


# -- redaction at the writer ------------------------------------------------------------------


@pytest.mark.parametrize(
    "event", ["tool:pre", "tool:post", "tool:error", "llm:request", "plan:end"]
)
async def test_secrets_are_masked_in_every_record(event: str, tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        record = await log.record(event, a={"b": [f"<{TOKEN}>"]}, error={"msg": TOKEN}, api_key="x")

    assert record["data"]["a"] == {"b": [f"<{SECRET}>"]}
    assert record["error"] == {"msg": SECRET}
    assert record["data"]["api_key"] == SECRET
    assert record["redaction"] == {"applied": True, "rules": ["secrets"]}


async def test_personal_data_is_masked_if_hooks_redaction_is_to_do_so(tmp_path: Path) -> None:
    coordinator = coordinator_of()
    async with redacting(coordinator, allowlist=["ok"]), logged(tmp_path, coordinator) as log:
        post = await log.record("tool:post", result=f"bob@example.com {TOKEN}", ok="a@example.com")
        plan = await log.record("plan:end", plan="bob@example.com", token=f"x{TOKEN}")

    assert post["data"]["result"] == f"[REDACTED:PII] {SECRET}"
    assert post["data"]["ok"] == "a@example.com"
    assert post["redaction"]["rules"] == ["pii-basic", "secrets"]
    assert plan["redaction"] == {"applied": True, "rules": ["pii-basic", "secrets"]}


async def test_the_writer_masks_secrets_whatever_the_rules_of_hooks_redaction(
    tmp_path: Path,
) -> None:
    coordinator = coordinator_of()
    async with redacting(coordinator, rules=[]), logged(tmp_path, coordinator) as log:
        assert (await log.data(result=TOKEN))["result"] == SECRET


async def test_a_record_notes_what_was_masked_before_and_here(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        record = await log.record("tool:post", a=TOKEN, redaction={"rules": ["pii-basic"]})

    assert record["redaction"] == {"applied": True, "rules": ["pii-basic", "secrets"]}


# -- where ------------------------------------------------------------------------------------


async def test_the_default_place_is_the_project_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AMPLIFIER_HOME", raising=False)
    project = tmp_path / "my:project"
    project.mkdir()
    link = tmp_path / "link"
    link.symlink_to(project)
    coordinator = coordinator_of("abc")
    coordinator.register_capability("session.working_dir", str(link))
    async with logged(tmp_path, coordinator, session_log_template=hooks_logging.TEMPLATE) as log:
        await log.emit("plan:start")

    slug = str(project.resolve()).replace("/", "-").replace(":", "")
    assert slug.startswith("-")
    file = tmp_path / "home/.amplifier/projects" / slug / "sessions/abc/events.jsonl"
    assert len(read(file)) == 1


async def test_the_home_and_the_session_folder_can_be_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "amp"))
    first, second = coordinator_of("one"), coordinator_of("two")
    second.register_capability("session.dir", str(tmp_path / "own"))
    for coordinator in (first, second):
        async with logged(
            tmp_path, coordinator, session_log_template=hooks_logging.TEMPLATE
        ) as log:
            await log.emit("plan:start")

    assert list(tmp_path.glob("amp/projects/*/sessions/one/events.jsonl"))
    assert (tmp_path / "own/events.jsonl").exists()


@pytest.mark.parametrize("session_id", ["../../up", "..", "a/b\\c"])
async def test_a_session_id_cannot_lead_out_of_the_folder(session_id: str, tmp_path: Path) -> None:
    folder = tmp_path / "deep/er"
    template = str(folder / "{session_id}" / "log")
    async with logged(tmp_path, coordinator_of(session_id), session_log_template=template) as log:
        await log.emit("plan:start")

    assert len(list(folder.glob("*/log"))) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["deep"]


async def test_files_and_folders_are_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        template = str(tmp_path / "a/b/{session_id}.jsonl")
        async with logged(tmp_path, session_log_template=template) as log:
            await log.emit("plan:start")
    finally:
        os.umask(old)

    modes = {
        each: stat.S_IMODE((tmp_path / each).stat().st_mode)
        for each in ("a", "a/b", "a/b/s1.jsonl")
    }
    assert modes == {"a": 0o700, "a/b": 0o700, "a/b/s1.jsonl": 0o600}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"strip-raw": True}, "Did you mean 'strip_raw'"),
        ({"session_log_template": "{home}/x"}, "no placeholder 'home'"),
        ({"keep": -1}, "keep"),
        ({"max_value_chars": Decimal(1)}, "max_value_chars"),
    ],
)
async def test_a_mistake_in_the_config_is_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        await hooks_logging.mount(coordinator_of(), config)
