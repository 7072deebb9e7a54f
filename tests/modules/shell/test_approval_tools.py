"""hooks-approval and tools: annotations, places, machines, and who may demand approval."""

from pathlib import Path
from typing import Any

import pytest
from helpers_approval import Guarded, Person, StandIn

from amplifier_modules.shell.approval import explain
from amplifier_modules.shell.rules_places import host_matches, host_of


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    return Guarded(project)


async def passes(guarded: Guarded, tool: str, **input: Any) -> bool:
    return (await guarded.call(tool, **input)).action == "continue"


# -- what tools say of themselves -------------------------------------------------------


@pytest.mark.parametrize(
    ("annotations", "allowed"),
    [
        ({"effect": "pure"}, True),
        ({"effect": "pure", "reads": ["path"]}, True),
        ({"effect": "pure", "reads": "path"}, True),
        ({"effect": "pure", "writes": ["path"]}, False),
        ({"effect": "pure", "hosts": ["example.org"]}, False),
        ({"effect": "pure", "hosts": ["path"]}, False),
        ({"effect": "idempotent"}, False),
        ({"effect": "external"}, False),
        ({"effect": True}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_only_what_merely_reads_passes_by_itself(
    guarded: Guarded, annotations: dict[str, Any] | None, allowed: bool
) -> None:
    await guarded.mount()
    await guarded.coordinator.mount("tools", StandIn("it", annotations), name="it")

    assert await passes(guarded, "it", path="src") is allowed


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("a", True), ("src/a", True), (".", True), ("src/../a", True), ("{project}/a", True),
        ("..", False), ("../a", False), ("src/../../a", False), ("/etc/passwd", False),
        ("~", False), ("~/a", False), ("~root/a", False), ("{project}-2/a", False),
        ("{project}/../a", False), ("out/etc/passwd", False), ("inner/a", True),
    ],
)  # fmt: skip
async def test_reads_pass_only_in_the_project(guarded: Guarded, path: str, allowed: bool) -> None:
    (guarded.project / "out").symlink_to("/")
    (guarded.project / "inner").symlink_to("src")
    await guarded.mount()

    given = path.format(project=guarded.project)
    assert await passes(guarded, "read_file", file_path=given) is allowed


async def test_a_url_is_noticed_though_the_tool_does_not_mention_it(guarded: Guarded) -> None:
    await guarded.mount()
    await guarded.coordinator.mount("tools", StandIn("it", {"effect": "pure"}), name="it")

    assert await passes(guarded, "it", url="https://example.org") is False


async def test_background_jobs_may_be_looked_after(guarded: Guarded) -> None:
    await guarded.mount()

    assert await passes(guarded, "bash", action="read", job_id="1")
    assert await passes(guarded, "bash", command="", action="list")
    assert not await passes(guarded, "bash", action="start")


# -- lists ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ({"tool": "write_file"}, ["a", "src/a", "/x", ".."]),
        ({"tool": "write_file", "path": "."}, ["a", "src/a"]),
        ({"tool": "write_file", "path": "src"}, ["src/a"]),
        ({"tool": "write_*", "path": "src"}, ["src/a"]),
        ({"tool": "write_file", "path": "src/*"}, ["src/a"]),
        ({"tool": "write_file", "path": "*"}, ["a", "src/a"]),
        ({"tool": "write_file", "host": "example.org"}, []),
        ({"tool": "edit_file"}, []),
        ({"path": "."}, []),
        ({"host": "example.org"}, []),
        ({"command": "write_file"}, []),
    ],
)
async def test_an_allowed_entry_covers_all_that_a_call_touches(
    guarded: Guarded, entry: dict[str, str], allowed: list[str]
) -> None:
    await guarded.mount(allow=[entry])

    paths = ["a", "src/a", "/x", ".."]
    passed = [path for path in paths if await passes(guarded, "write_file", file_path=path)]

    assert passed == allowed


async def test_a_place_alone_allows_reading_there(guarded: Guarded, tmp_path: Path) -> None:
    await guarded.mount(allow=[{"path": str(tmp_path / "other")}])

    assert await passes(guarded, "read_file", file_path=str(tmp_path / "other/a"))
    assert not await passes(guarded, "read_file", file_path=str(tmp_path / "third/a"))


@pytest.mark.parametrize(
    ("pattern", "path", "denied"),
    [
        (".env", ".env", True),
        (".env", "src/.env", False),
        ("**/.env", ".env", True),
        ("**/.env", "src/.env", True),
        ("*.pem", "src/a.pem", True),
        ("src", "src/deep/a", True),
        ("src", "srcs/a", False),
        ("src", "link/a", True),
        ("link", "link/a", True),
    ],
)
async def test_a_denied_place_is_denied_by_any_of_its_names(
    guarded: Guarded, pattern: str, path: str, denied: bool
) -> None:
    (guarded.project / "link").symlink_to("src")
    await guarded.mount(deny=[{"path": pattern}])

    assert await passes(guarded, "read_file", file_path=path) is not denied


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://docs.example.org/x", True),
        ("http://docs.example.org:8080/", True),
        ("https://DOCS.example.org./", True),
        ("https://example.org", False),
        ("https://docs.example.org.evil.example/", False),
        ("https://evil.example/docs.example.org", False),
        ("https://docs.example.org@evil.example/", False),
        ("https://evil.example#@docs.example.org", False),
        ("https://evil.example\\@docs.example.org/", False),
        ("https://docs.example.org\t.evil.example", False),
        ("https://docs.example.org\n", False),
        ("https://docs\uff0eexample.org", False),
        ("ftp://docs.example.org", False),
        ("file:///etc/passwd", False),
        ("https://", False),
        ("", False),
    ],
)
async def test_a_machine_is_allowed_by_its_exact_name(
    guarded: Guarded, url: str, allowed: bool
) -> None:
    await guarded.mount(allow=[{"tool": "web_fetch", "host": "docs.example.org"}])

    assert await passes(guarded, "web_fetch", url=url) is allowed


async def test_every_machine_of_a_call_has_to_be_allowed(guarded: Guarded) -> None:
    await guarded.mount(allow=[{"host": "*.example.org"}])

    both = ["https://a.example.org", "https://b.example.org"]
    assert await passes(guarded, "web_fetch", url=both)
    assert not await passes(guarded, "web_fetch", url=[*both, "https://example.com"])
    assert not await passes(guarded, "web_fetch")


async def test_a_machine_that_cannot_be_told_counts_as_denied(guarded: Guarded) -> None:
    await guarded.mount(Person(), deny=[{"host": "evil.example"}])

    assert not await passes(guarded, "web_fetch", url="https://x@evil.example")
    assert await passes(guarded, "web_fetch", url="https://example.org")


def test_hosts_are_read_strictly() -> None:
    assert host_of("https://[::1]/") is None
    assert host_of("example.org/x") == "example.org"
    assert host_matches("*.example.org", "a.example.org")
    assert not host_matches("*.example.org", "example.org")
    assert not host_matches("*.example.org", "aexample.org")


# -- who demands approval ---------------------------------------------------------------


async def test_a_session_may_demand_approval_of_a_tool(guarded: Guarded) -> None:
    await guarded.mount()
    guarded.coordinator.session_state["require_approval_tools"] = ["read_file"]

    assert not await passes(guarded, "read_file", file_path="a")
    assert guarded.events[-1][1]["rule"] == "session: require_approval_tools"


async def test_a_tool_may_demand_approval_of_itself(guarded: Guarded) -> None:
    await guarded.mount()
    tool = StandIn("it", {"effect": "pure"}, require_approval=True)
    await guarded.coordinator.mount("tools", tool, name="it")

    assert not await passes(guarded, "it")


async def test_the_config_may_demand_approval_or_waive_it(guarded: Guarded) -> None:
    waived = {"require_approval": False}
    options = {"read_file": {"require_approval": True}, "web_fetch": waived, "write_file": waived}
    await guarded.mount(tools=options | {"bash": waived})

    assert not await passes(guarded, "read_file", file_path="a")
    assert await passes(guarded, "web_fetch", url="https://example.org")
    assert await passes(guarded, "write_file", file_path="a")
    assert not await passes(guarded, "bash", command="rm x")


async def test_policy_driven_only_judges_what_the_session_and_the_lists_name(
    guarded: Guarded,
) -> None:
    await guarded.mount(policy_driven_only=True, deny=[{"command": "rm"}])
    guarded.coordinator.session_state["require_approval_tools"] = {"web_fetch"}

    assert await passes(guarded, "write_file", file_path="/x")
    assert await passes(guarded, "bash", command="make")
    assert not await passes(guarded, "bash", command="make; rm x")
    assert not await passes(guarded, "web_fetch", url="https://example.org")


async def test_an_allowed_entry_satisfies_a_demand(guarded: Guarded) -> None:
    await guarded.mount(allow=[{"tool": "read_file", "path": "src"}])
    guarded.coordinator.session_state["require_approval_tools"] = ["read_file"]

    assert await passes(guarded, "read_file", file_path="src/a")
    assert not await passes(guarded, "read_file", file_path="a")


# -- config -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"alow": []}, "allow"),
        ({"allow": [{}]}, "names a tool"),
        ({"allow": [{"tool": "*"}]}, "needs a name"),
        ({"allow": [{"tool": ""}]}, "names a tool"),
        ({"allow": [{"comand": "ls"}]}, "comand"),
        ({"allow": [{"command": "curl *", "host": "x"}]}, "host"),
        ({"rules": [{"pattern": "ls"}]}, "action"),
        ({"rules": [{"pattern": "ls", "action": "approve"}]}, "action"),
        ({"default_action": "maybe"}, "default_action"),
        ({"default_timeout": 0}, "default_timeout"),
        ({"tools": {"x": {"approval": True}}}, "approval"),
        ({"audit": {"enable": True}}, "enable"),
    ],
)
def test_a_config_that_cannot_be_read_is_refused(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explain("bash", {"command": "ls"}, config)


def test_another_project_folder_may_be_named(tmp_path: Path) -> None:
    pure = {"effect": "pure", "reads": ["path"]}

    def verdict(path: str) -> str:
        config, where = {"project": "sub"}, str(tmp_path)
        said = explain("it", {"path": path}, config, project=where, annotations=pure)
        return str(said["verdict"])

    assert (verdict("sub/a"), verdict("a")) == ("allow", "ask")


async def test_a_tool_that_starts_elsewhere_is_judged_there(guarded: Guarded) -> None:
    reads = {"effect": "pure", "reads": ["path"]}
    await guarded.mount()
    for name, folder in (("here", str(guarded.project / "src")), ("there", "/"), ("odd", "src")):
        await guarded.coordinator.mount("tools", StandIn(name, reads, folder=folder), name=name)

    assert await passes(guarded, "here", path="a")
    assert await passes(guarded, "here", path="../a")
    assert not await passes(guarded, "here", path="../../a")
    assert not await passes(guarded, "there", path="etc/passwd")
    assert not await passes(guarded, "there")
    assert await passes(guarded, "odd", path="a")


async def test_without_a_path_what_is_read_is_where_paths_start(guarded: Guarded) -> None:
    reads = {"effect": "pure", "reads": ["path"]}
    await guarded.mount(project="src")
    await guarded.coordinator.mount("tools", StandIn("look", reads), name="look")

    assert await passes(guarded, "look", path="src")
    assert not await passes(guarded, "look")
