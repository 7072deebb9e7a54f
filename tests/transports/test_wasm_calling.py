"""Bytes across the border of a component, in one stride or one by one."""

from pathlib import Path

import pytest
from amplifier_core import _engine
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.transports.wasm import calling
from helpers_wasm import guest_dir, mounted_tool
from hypothesis import given, settings
from hypothesis import strategies as st
from wasmtime import _ffi as ffi


def _one_by_one() -> bool:
    return False


def _through_the_engine(payload: bytes) -> bytes:
    value = ffi.wasmtime_component_val_t()
    calling.write_bytes(payload, value)
    try:
        read: bytes = calling.read(value)
        return read
    finally:
        ffi.wasmtime_component_val_delete(value)


@given(st.binary(max_size=2_000))
@settings(max_examples=50, deadline=None)
def test_bytes_survive_both_ways(payload: bytes) -> None:
    assert _through_the_engine(payload) == payload
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calling, "_is_strided", _one_by_one)
        assert _through_the_engine(payload) == payload


def test_what_one_way_writes_the_other_way_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = bytes(range(256))
    value = ffi.wasmtime_component_val_t()
    calling.write_bytes(payload, value)

    assert calling._is_strided()
    monkeypatch.setattr(calling, "_is_strided", _one_by_one)

    assert calling.read(value) == payload
    ffi.wasmtime_component_val_delete(value)


async def test_an_engine_with_another_layout_of_values_works_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "_is_strided", _one_by_one)

    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        assert (await tool.execute({"input": "ü"})).output == {"input": "ü"}


# -- the names of older code --------------------------------------------------------------


@pytest.mark.parametrize(
    ("guest", "told"),
    [
        ("tool", {"name": "echo-tool"}),
        ("provider", {"name": "echo-provider"}),
        ("hook", {"subscriptions_count": 1}),
        ("context", {}),
        ("orchestrator", {}),
    ],
)
async def test_older_code_mounts_a_component_without_a_session(
    tmp_path: Path, guest: str, told: dict[str, object]
) -> None:
    coordinator = ModuleCoordinator()
    path = str(guest_dir(tmp_path, guest))

    answer = _engine.load_and_mount_wasm(coordinator, path)

    assert answer == {"module_type": guest, "status": "mounted", **told}
    assert _engine.load_wasm_from_path(path) == {"status": "loaded", "module_type": guest}


async def test_older_code_gets_an_approval_module_to_itself(tmp_path: Path) -> None:
    answer = _engine.load_and_mount_wasm(ModuleCoordinator(), guest_dir(tmp_path, "approval"))

    assert answer["status"] == "loaded"
    assert isinstance(answer["wrapper"], _engine.WasmApproval)


def test_older_code_is_told_what_is_no_component(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="transport 'python', not a component"):
        _engine.load_wasm_from_path(tmp_path)
    (tmp_path / "module.wasm").write_text("(component)")
    with pytest.raises(RuntimeError, match=r"Module loading failed: .* no known interface"):
        _engine.load_wasm_from_path(tmp_path)
