"""A tool in another process."""

from __future__ import annotations

import json
import logging
from typing import Any

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ...correlation import tool_call
from ...models import ToolResult
from .connection import CONTROL_SECONDS, Connection, Metadata, RemoteModuleError
from .messages import InvalidToolContent, tool_content_from_proto
from .values import json_object, plain

logger = logging.getLogger("amplifier_core.loader_grpc")

JSON_TYPE = "application/json"
ANNOTATIONS_KEY = "x-amplifier"
CALL_ID_KEY = "x-amplifier-call-id"
IDEMPOTENCY_KEY = "x-amplifier-idempotency-key"
TOOL_KEY = "x-amplifier-tool"
"""Which tool of a module is meant, where it has several."""


# Made once: `json.dumps` makes one for every call that names a `default`.
_encode = json.JSONEncoder(default=plain).encode


class RemoteTool:
    """Looks like a tool of this process; `execute` never raises for what goes wrong over there."""

    def __init__(self, connection: Connection, spec: pb.ToolSpec, metadata: Metadata = ()) -> None:
        self._connection = connection
        self._metadata = metadata
        self.name = spec.name
        self.description = spec.description
        self.input_schema = json_object(spec.parameters_json, f"the schema of tool {spec.name!r}")
        annotations = self.input_schema.pop(ANNOTATIONS_KEY, None)
        self.annotations: dict[str, Any] = annotations if isinstance(annotations, dict) else {}

    def get_spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
        }

    async def execute(self, input: dict[str, Any] | None = None, **more: Any) -> ToolResult:
        """Run the tool over there; a failure of the way there is a failed result."""
        given = {**(input or {}), **more} if more else input or {}
        request = pb.ToolExecuteRequest(input=_encode(given).encode(), content_type=JSON_TYPE)
        try:
            answer = await self._connection.call(
                rpc.ToolServiceStub, "Execute", request, metadata=self._metadata + _correlation()
            )
        except RemoteModuleError as error:
            return _failed(str(error))
        return _result(self.name, answer)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self._connection.place}>"


def _correlation() -> Metadata:
    scope = tool_call.get()
    if scope is None:
        return ()
    return (
        (CALL_ID_KEY, _header(scope.call_id)),
        (IDEMPOTENCY_KEY, _header(scope.idempotency_key)),
    )


def _header(text: str) -> str:
    """Only printable ASCII may travel beside a call."""
    return "".join(each if " " <= each <= "~" else "?" for each in text)


def _result(name: str, answer: pb.ToolExecuteResponse) -> ToolResult:
    try:
        blocks, success, text = answer.content_blocks, answer.success, answer.error
        content = tool_content_from_proto(blocks) if blocks else None
        if not success and not text:
            text = f"Tool {name!r} failed and gave no reason."
        error = {"message": text} if text else None
        return ToolResult(
            success=success, output=_output(name, answer), error=error, content=content
        )
    except InvalidToolContent as error:
        logger.warning("Tool %r: %s", name, error)
        return _failed(str(error))
    except ValueError:
        logger.warning("Tool %r sent an answer that cannot be read", name)
        return _failed(
            f"Tool {name!r} sent an answer that cannot be read. Report it to its author."
        )


def _output(name: str, answer: pb.ToolExecuteResponse) -> Any:
    if not answer.output:
        return None
    if answer.content_type not in ("", JSON_TYPE):
        logger.warning("Tool %r calls its output %r; it is read as JSON", name, answer.content_type)
    return json.loads(answer.output)


def _failed(message: str) -> ToolResult:
    error = {"message": message, "type": "RemoteModuleError"}
    return ToolResult(success=False, output=message, error=error)


async def mount_tool(
    connection: Connection, coordinator: Any, config: dict[str, Any], name: str = ""
) -> None:
    """Mount the module's tool, or the one of that name if it has several."""
    which: Metadata = ((TOOL_KEY, name),) if name else ()
    spec = await connection.call(
        rpc.ToolServiceStub, "GetSpec", pb.Empty(), CONTROL_SECONDS, metadata=which
    )
    if not spec.name:
        raise RemoteModuleError(f"Module {connection.module_id!r} offers a tool without a name.")
    await coordinator.mount("tools", RemoteTool(connection, spec, which), name=spec.name)
