"""From a directory to a component: found, checked, compiled once, and of the kind it exports."""

import hashlib
import os
import sys
from pathlib import Path

import pytest
from amplifier_core.loader import ModuleLoader, ModuleValidationError
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.transports.wasm.compile_cache import CompileCache
from amplifier_core.transports.wasm.engine import engine
from helpers_wasm import GUESTS, guest_dir, mounted, text_dir, tool_text
from wasmtime import WasmtimeError

WASM = '[module]\ntransport = "wasm"\n'
DIGEST = hashlib.sha256((GUESTS / "tool.wasm").read_bytes()).hexdigest()


@pytest.mark.parametrize("digest", [DIGEST, DIGEST.upper()])
async def test_the_right_digest_is_accepted_however_it_is_spelled(
    tmp_path: Path, digest: str
) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "tool", f'{WASM}sha256 = "{digest}"\n'))

    assert list(coordinator.get("tools")) == ["echo-tool"]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (f'{WASM}sha256 = "{"0" * 64}"\n', "integrity check failed"),
        (f"{WASM}sha256 = 7\n", "integrity check failed"),
        (f'{WASM}type = "hook"\n', "exports a tool, but its manifest says 'hook'"),
        (f'{WASM}artifact = "../module.wasm"\n', "must be a simple filename"),
        (f'{WASM}artifact = ".hidden.wasm"\n', "must be a simple filename"),
        (f'{WASM}artifact = ""\n', "must be a simple filename"),
        (f'{WASM}artifact = "other.wasm"\n', "has no component 'other.wasm'"),
        (f"{WASM}[wasm]\ntimeot = 3\n", "unknown key 'timeot'. Did you mean 'timeout'?"),
    ],
)
async def test_a_manifest_that_means_another_component_is_refused(
    tmp_path: Path, manifest: str, told: str
) -> None:
    with pytest.raises(ModuleValidationError) as caught:
        await mounted(guest_dir(tmp_path, "tool", manifest))

    assert told in str(caught.value)


@pytest.mark.parametrize("manifest", ["", WASM])
async def test_a_component_that_is_a_link_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "module").mkdir()
    path = guest_dir(tmp_path / "module", "tool", manifest)
    (path / "module.wasm").rename(tmp_path / "elsewhere.wasm")
    (path / "module.wasm").symlink_to(tmp_path / "elsewhere.wasm")

    with pytest.raises(ModuleValidationError, match="escapes module directory"):
        await mounted(path)


async def test_a_component_may_have_any_name_and_needs_no_manifest(tmp_path: Path) -> None:
    (guest_dir(tmp_path, "hook") / "module.wasm").rename(tmp_path / "my-hook.wasm")
    coordinator = await mounted(tmp_path)

    assert (await coordinator.hooks.emit("tool:pre", {})).action == "deny"


@pytest.mark.parametrize(
    ("component", "told"),
    [
        ("(component)", "exports no known interface"),
        ("(module)", "is no WebAssembly component"),
        ("not a component at all", "is no WebAssembly component"),
        (
            tool_text().rstrip().removesuffix(")")
            + '(export "amplifier:modules/provider@1.0.0" (instance $tool)))',
            "exports multiple interfaces",
        ),
        (
            tool_text(
                more="""(import "amplifier:modules/kernel-service@1.0.0" (instance
                (export "execute-tool" (func (param "request" (list u8))))))"""
            ),
            "is a tool that imports kernel-service. Only an orchestrator may",
        ),
    ],
)
async def test_what_is_no_module_is_refused(tmp_path: Path, component: str, told: str) -> None:
    with pytest.raises(ModuleValidationError) as caught:
        await mounted(text_dir(tmp_path, component))

    assert told in str(caught.value)


async def test_an_import_that_no_host_offers_is_told(tmp_path: Path) -> None:
    component = tool_text(more='(import "acme:moon/phase" (instance (export "now" (func))))')

    with pytest.raises(RuntimeError, match="acme:moon/phase"):
        await mounted(text_dir(tmp_path, component))


async def test_without_the_extra_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [each for each in sys.modules if each.startswith("amplifier_core.transports.wasm")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wasmtime", None)

    with pytest.raises(ModuleLoadError, match=r"pip install 'amplifier-core\[wasm\]'"):
        await ModuleLoader().load("guest", source_hint=guest_dir(tmp_path, "tool"))


# -- the compile cache ------------------------------------------------------------------

CODE = tool_text().encode()


def test_a_component_is_compiled_once_and_kept_for_this_user_alone(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "a" / "b")
    cache.component(engine(), "digest", CODE)
    (entry,) = cache.folder.iterdir()

    # What is found is not compiled: nonsense would be noticed.
    cache.component(engine(), "digest", b"nonsense")

    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600
    assert "wasmtime" in entry.name


@pytest.mark.parametrize("spoil", ["truncate", "alter", "replace", "open", "link"])
def test_what_was_spoiled_in_the_cache_is_compiled_again(tmp_path: Path, spoil: str) -> None:
    cache = CompileCache(tmp_path / "cache")
    cache.component(engine(), "digest", CODE)
    (entry,) = cache.folder.iterdir()
    kept = entry.read_bytes()
    if spoil == "truncate":
        entry.write_bytes(kept[:100])
    elif spoil == "alter":
        entry.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    elif spoil == "replace":
        entry.write_bytes(hashlib.sha256(b"evil").digest() + b"evil")
    elif spoil == "open":
        entry.chmod(0o666)
    else:
        entry.rename(tmp_path / "moved")
        entry.symlink_to(tmp_path / "moved")

    with pytest.raises(WasmtimeError):
        cache.component(engine(), "digest", b"nonsense")
    cache.component(engine(), "digest", CODE)

    assert not entry.is_symlink()
    assert entry.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_others_can_write_into_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = CompileCache(tmp_path / "cache")
    cache.folder.mkdir()
    cache.folder.chmod(0o777)

    cache.component(engine(), "digest", CODE)

    assert list(cache.folder.iterdir()) == []
    assert "others can write into" in caplog.text


def test_where_nothing_can_be_kept_components_work_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    assert CompileCache(tmp_path / "file" / "cache").component(engine(), "digest", CODE)


def test_the_cache_keeps_the_newest_few(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    tmp_path.chmod(0o700)
    for number in range(70):
        old = tmp_path / f"{number}.cwasm"
        old.touch()
        os.utime(old, (number, number))

    cache.component(engine(), "digest", CODE)

    assert len(list(tmp_path.iterdir())) == 64
    assert not (tmp_path / "0.cwasm").exists()


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"AMPLIFIER_HOME": "/a", "XDG_CACHE_HOME": "/x"}, "/a/cache/wasm"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/amplifier/wasm"),
        ({"HOME": "/h"}, "/h/.cache/amplifier/wasm"),
    ],
)
def test_the_cache_is_where_a_user_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    for name in ("AMPLIFIER_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert str(CompileCache().folder) == folder
