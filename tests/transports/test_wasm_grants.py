"""What a component sees of the machine: nothing, but for what the mount plan grants."""

import socket
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.loader import ModuleValidationError
from helpers_wasm import guest_dir, mounted, mounted_tool


async def _look(folder: Path, do: str, what: str = "", **config: Any) -> Any:
    (folder / "peek").mkdir(exist_ok=True)
    async with mounted_tool(guest_dir(folder / "peek", "peek"), config) as tool:
        return await tool.execute({"do": do, "what": what})


async def test_no_variable_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")

    assert (await _look(tmp_path, "names")).output == ""
    assert not (await _look(tmp_path, "env", "SECRET")).success


async def test_a_granted_variable_is_seen_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    monkeypatch.setenv("COLOUR", "blue")
    grant = {"env": ["COLOUR", "NOT_SET"]}

    assert (await _look(tmp_path, "env", "COLOUR", wasm=grant)).output == "blue"
    assert (await _look(tmp_path, "names", wasm=grant)).output == "COLOUR"


async def test_config_reaches_a_component_that_asks_for_it(tmp_path: Path) -> None:
    result = await _look(tmp_path, "env", "AMPLIFIER_MODULE_CONFIG", greeting="hi", wasm={})

    assert result.output == '{"greeting": "hi"}'


async def test_no_file_is_seen(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("private")

    assert not (await _look(tmp_path, "read", f"{tmp_path}/note")).success
    assert not (await _look(tmp_path, "write", f"{tmp_path}/new")).success
    assert not (tmp_path / "new").exists()


async def test_a_folder_granted_for_reading_is_read_and_not_changed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "note").write_text("for you")
    (tmp_path / "other").write_text("private")
    (shared / "link").symlink_to(tmp_path / "other")
    grant = {"read_dirs": [str(shared)]}

    assert (await _look(tmp_path, "read", f"{shared}/note", wasm=grant)).output == "for you"
    assert not (await _look(tmp_path, "write", f"{shared}/note", wasm=grant)).success
    assert not (await _look(tmp_path, "read", f"{tmp_path}/other", wasm=grant)).success
    assert not (await _look(tmp_path, "read", f"{shared}/../other", wasm=grant)).success
    assert not (await _look(tmp_path, "read", f"{shared}/link", wasm=grant)).success
    assert (shared / "note").read_text() == "for you"


async def test_a_folder_granted_for_writing_is_changed(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()

    result = await _look(tmp_path, "write", f"{shared}/new", wasm={"write_dirs": [str(shared)]})

    assert result.success, result.error
    assert (shared / "new").read_text() == "written by a guest"


async def test_the_network_is_out_of_reach(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = await _look(tmp_path, "connect", f"127.0.0.1:{port}")

    assert not result.success
    assert "denied" in result.error["message"]


async def test_a_component_cannot_sleep_but_can_read_the_clock(tmp_path: Path) -> None:
    assert (await _look(tmp_path, "clock")).output == "true"
    result = await _look(tmp_path, "sleep")

    assert "it tried to sleep, and a component may not" in result.error["message"]


async def test_the_last_words_of_a_component_are_in_its_error(tmp_path: Path) -> None:
    result = await _look(tmp_path, "complain", "far")

    assert result.error["message"].endswith("executed (this is far too much).")


@pytest.mark.parametrize(
    ("wasm", "told"),
    [
        ({"enw": ["HOME"]}, "unknown key 'enw'. Did you mean 'env'?"),
        ({"read_dirs": ["/does/not/exist"]}, "'/does/not/exist' is no folder"),
        ({"timeout": 0}, "timeout: Input should be greater than 0"),
        ({"timeout": float("inf")}, "timeout: Input should be a finite number"),
        ({"memory_mb": "much"}, "memory_mb: Input should be a valid integer"),
        ({"env": "HOME"}, "env: Input should be a valid list"),
        ([], "unknown key 'wasm'"),
    ],
)
async def test_a_mistake_in_the_grants_is_an_error(tmp_path: Path, wasm: Any, told: str) -> None:
    with pytest.raises(ModuleValidationError) as caught:
        await mounted(guest_dir(tmp_path, "peek"), {"wasm": wasm})

    assert told in str(caught.value)


async def test_a_manifest_cannot_grant_anything(tmp_path: Path) -> None:
    manifest = '[module]\ntransport = "wasm"\n[wasm]\nenv = ["HOME"]\n'

    with pytest.raises(ModuleValidationError, match=r"wrong \[wasm\]: unknown key 'env'"):
        await mounted(guest_dir(tmp_path, "peek", manifest))
