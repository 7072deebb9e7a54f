"""An orchestrator in another process; it reaches the session through KernelService."""

from __future__ import annotations

from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from .connection import Connection, RemoteModuleError


class RemoteOrchestrator:
    """Hands a turn over, and waits for the answer."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def execute(
        self,
        prompt: str,
        context: Any = None,
        providers: Any = None,
        tools: Any = None,
        hooks: Any = None,
        **_: Any,
    ) -> str:
        """Run one turn over there; cancelling this cancels it there too."""
        request = pb.OrchestratorExecuteRequest(prompt=prompt, session_id=self._session_id)
        answer = await self._connection.call(rpc.OrchestratorServiceStub, "Execute", request)
        if answer.error:
            module = self._connection.module_id
            raise RemoteModuleError(f"Orchestrator {module!r} failed: {answer.error}")
        return str(answer.response)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._connection.place}>"


async def mount_orchestrator(
    connection: Connection, coordinator: Any, config: dict[str, Any], _: str = ""
) -> None:
    if "timeout" not in connection.settings.model_fields_set:
        # A turn is as long as all its calls of models and tools together.
        connection.timeout = TURN_SECONDS
    await coordinator.mount("orchestrator", RemoteOrchestrator(connection, coordinator.session_id))


TURN_SECONDS = 24 * 3600.0
