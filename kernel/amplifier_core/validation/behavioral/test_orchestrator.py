"""What every orchestrator does when it is put to use."""

from __future__ import annotations

from typing import Any

from ..harness import async_tests
from .mistakes import answer_or_refusal

__all__ = ["OrchestratorBehaviorTests"]

MockDeps = tuple[Any, dict[str, Any], dict[str, Any], Any]
_PARTS = ("context", "providers", "tools", "hooks")


@async_tests
class OrchestratorBehaviorTests:
    """Subclass as `Test...` in the tests of an orchestrator module.

    A turn is run without a coordinator, which an orchestrator has to cope with.
    """

    async def test_mount_succeeds(self, orchestrator_module: Any) -> None:
        assert orchestrator_module is not None

    async def test_orchestrator_has_execute_method(self, orchestrator_module: Any) -> None:
        assert callable(getattr(orchestrator_module, "execute", None)), "There is no execute()."

    async def test_execute_returns_string(
        self, orchestrator_module: Any, mock_deps: MockDeps
    ) -> None:
        answer = await _turn(orchestrator_module, mock_deps)
        assert isinstance(answer, str), f"execute() returned {answer!r}."
        assert answer, "execute() returned an empty answer."

    async def test_execute_with_empty_prompt(
        self, orchestrator_module: Any, mock_deps: MockDeps
    ) -> None:
        answer = await answer_or_refusal(_turn(orchestrator_module, mock_deps, prompt=""))
        assert answer is None or isinstance(answer, str), f"execute() returned {answer!r}."

    async def test_orchestrator_uses_provider(
        self, orchestrator_module: Any, mock_deps: MockDeps
    ) -> None:
        await _turn(orchestrator_module, mock_deps)
        provider = mock_deps[1]["default"]
        assert provider.complete.await_count > 0, "The provider was never asked."

    async def test_orchestrator_updates_context(
        self, orchestrator_module: Any, mock_deps: MockDeps
    ) -> None:
        await _turn(orchestrator_module, mock_deps)
        assert mock_deps[0].add_message.await_count > 0, "Nothing was added to the context."


async def _turn(orchestrator: Any, deps: MockDeps, prompt: str = "Hello") -> Any:
    return await orchestrator.execute(prompt=prompt, **dict(zip(_PARTS, deps, strict=True)))
