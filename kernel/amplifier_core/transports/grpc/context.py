"""A context in another process."""

from __future__ import annotations

from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from .connection import Connection
from .messages import message_to_proto, messages_from_proto
from .values import int32


class RemoteContext:
    """Looks like a context of this process; what goes wrong over there is raised."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def add_message(self, message: dict[str, Any]) -> None:
        await self._ask("AddMessage", pb.AddMessageRequest(message=message_to_proto(message)))

    async def get_messages(self) -> list[dict[str, Any]]:
        answer = await self._ask("GetMessages", pb.Empty())
        return messages_from_proto(answer.messages)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None, **_: Any
    ) -> list[dict[str, Any]]:
        name = getattr(provider, "name", None)
        request = pb.GetMessagesForRequestParams(
            token_budget=int32(token_budget), provider_name=name if isinstance(name, str) else ""
        )
        answer = await self._ask("GetMessagesForRequest", request)
        return messages_from_proto(answer.messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        protos = [message_to_proto(each) for each in messages]
        await self._ask("SetMessages", pb.SetMessagesRequest(messages=protos))

    async def clear(self) -> None:
        await self._ask("Clear", pb.Empty())

    async def _ask(self, method: str, request: Any) -> Any:
        return await self._connection.call(rpc.ContextServiceStub, method, request)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._connection.place}>"


async def mount_context(
    connection: Connection, coordinator: Any, config: dict[str, Any], _: str = ""
) -> None:
    await coordinator.mount("context", RemoteContext(connection))
