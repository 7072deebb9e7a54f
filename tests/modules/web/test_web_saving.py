"""save_to_file writes whole files, in the allowed folders only."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookResult, ToolResult
from helpers_web import failure, fetch, mounted, reply, serve


async def save(path: str, folder: Path, body: bytes = b"content", **config: Any) -> ToolResult:
    content_type = config.pop("content_type", "text/plain")
    async with serve(reply(body, content_type)) as server:
        return await fetch(
            server.url(), arguments={"save_to_file": path}, working_dir=str(folder), **config
        )


def outside(path: Path) -> tuple[str, str]:
    return (
        "not_saved",
        f"{str(path)!r} is outside of the folders that files may be saved in. Choose a path in "
        "the working folder, or add its folder to 'allowed_write_paths'.",
    )


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_a_file_is_saved_whole_and_its_beginning_is_returned(tmp_path: Path) -> None:
    body = ("\u00e9" * 3000).encode()

    output = (await save("new/folder/page.txt", tmp_path, body)).output

    path = tmp_path / "new/folder/page.txt"
    assert path.read_bytes() == body
    assert names(path.parent) == ["page.txt"]
    output.pop("url")
    assert output == {
        "content": "\u00e9" * 1000,
        "content_type": "text/plain",
        "truncated": True,
        "total_bytes": 6000,
        "offset": 0,
        "limit": 1000,
        "returned_bytes": 2000,
        "saved_to": str(path),
        "saved_bytes": 6000,
    }


async def test_binary_content_is_saved_byte_for_byte(tmp_path: Path) -> None:
    body = bytes(range(256)) * 20

    output = (await save("a.bin", tmp_path, body, content_type="image/png")).output

    assert (tmp_path / "a.bin").read_bytes() == body
    assert (output["content"], output["saved_bytes"], output["truncated"]) == ("", 5120, False)


async def test_a_text_keeps_its_own_encoding_and_a_page_is_saved_as_its_text(
    tmp_path: Path,
) -> None:
    await save("a.txt", tmp_path, b"caf\xe9", content_type="text/plain; charset=latin1")
    await save("b.txt", tmp_path, b"<p>caf&eacute;</p>", content_type="text/html")

    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9"
    assert (tmp_path / "b.txt").read_bytes() == "caf\u00e9".encode()


async def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")

    assert (await save("a.txt", tmp_path)).success
    assert (tmp_path / "a.txt").read_text() == "content"


@pytest.mark.parametrize("path", ["../out.txt", "a/../../out.txt", "/out.txt", "~/out.txt", "."])
async def test_a_path_outside_is_refused_before_anything_is_fetched(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    monkeypatch.setenv("HOME", str(home))
    work.mkdir()
    meant = {"/out.txt": Path("/out.txt"), "~/out.txt": home / "out.txt", ".": work}

    async with serve(reply("content")) as server:
        arguments = {"save_to_file": path}
        result = await fetch(server.url(), arguments=arguments, working_dir=str(work))

    assert failure(result) == outside(meant.get(path, tmp_path / "out.txt"))
    assert server.requests == []
    assert names(tmp_path) == ["work"]


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\nb", "a\ud800", 5, ["a"]])
async def test_what_is_no_file_name_is_refused(path: Any, tmp_path: Path) -> None:
    assert failure(await save(path, tmp_path)) == (
        "invalid_input",
        "'save_to_file' is no file name. Pass a relative path.",
    )


async def test_only_the_listed_folders_may_be_written_in(tmp_path: Path) -> None:
    allowed = {"allowed_write_paths": ["downloads", str(tmp_path / "other")]}

    relative = await save("downloads/a.txt", tmp_path, **allowed)
    absolute = await save(str(tmp_path / "other/b.txt"), tmp_path, **allowed)
    refused = await save("c.txt", tmp_path, **allowed)

    assert relative.output["saved_to"] == str(tmp_path / "downloads/a.txt")
    assert absolute.output["saved_to"] == str(tmp_path / "other/b.txt")
    assert failure(refused) == outside(tmp_path / "c.txt")


async def test_nothing_is_saved_if_no_folder_is_listed(tmp_path: Path) -> None:
    assert failure(await save("a.txt", tmp_path, allowed_write_paths=[]))[0] == "not_saved"
    assert names(tmp_path) == []


async def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere, work = tmp_path / "elsewhere", tmp_path / "work"
    elsewhere.mkdir()
    work.mkdir()
    (work / "link").symlink_to(elsewhere)

    kind, text = failure(await save("link/a.txt", work))

    assert kind == "not_saved"
    assert text.startswith(f"{str(work / 'link/a.txt')!r} cannot be written: ")
    assert text.endswith(". Choose another file whose folders are no links.")
    assert names(elsewhere) == []


async def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "a.txt").symlink_to(target)

    assert (await save("a.txt", tmp_path)).success

    assert target.read_text() == "precious"
    assert (tmp_path / "a.txt").read_text() == "content"
    assert not (tmp_path / "a.txt").is_symlink()


async def test_a_working_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    relative = await save("a.txt", tmp_path / "link")
    real = await save(str(tmp_path / "real/b.txt"), tmp_path / "link")

    assert relative.success
    assert real.success
    assert names(tmp_path / "real") == ["a.txt", "b.txt"]


async def test_a_folder_in_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    kind, _ = failure(await save("a", tmp_path))

    assert kind == "not_saved"
    assert names(tmp_path) == ["a"]


async def test_the_session_names_the_working_folder_and_hears_of_the_file(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    async def hear(event: str, data: dict[str, Any]) -> HookResult:
        heard.append(data)
        return HookResult()

    async with asyncio.timeout(5), serve(reply("content")) as server, mounted() as coordinator:
        coordinator.register_capability("session.working_dir", str(tmp_path))
        coordinator.hooks.register("artifact:write", hear)
        execute = coordinator.get("tools", "web_fetch").execute
        await execute({"url": server.url(), "save_to_file": "a.txt"})

    assert (tmp_path / "a.txt").read_text() == "content"
    (data,) = heard
    assert (data["path"], data["bytes"]) == (str(tmp_path / "a.txt"), 7)


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", "x/../.git/config", "sub/.amplifier/settings.yaml", "in/x"]
)
async def test_nothing_is_saved_where_it_decides_what_runs_later(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "in").symlink_to(".git/hooks")

    kind, text = failure(await save(path, tmp_path))

    assert kind == "not_saved"
    assert "is denied by 'protected_paths'" in text
    assert list((tmp_path / ".git" / "hooks").iterdir()) == []


async def test_what_is_protected_from_saving_can_be_changed(tmp_path: Path) -> None:
    assert (await save(".git/config", tmp_path, protected_paths=[])).success
