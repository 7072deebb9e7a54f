"""The contracts of the module kinds.

Any object with these members fits; nothing has to inherit from here, and `isinstance` is
not supported. `validation` checks a module against its contract.
"""

from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field

from .message_models import ChatRequest as ChatRequest
from .message_models import ChatResponse as ChatResponse
from .message_models import LazyModel
from .message_models import ToolCall as ToolCall
from .models import HookResult as HookResult
from .models import ModelInfo as ModelInfo
from .models import ProviderInfo as ProviderInfo
from .models import ToolResult as ToolResult

if TYPE_CHECKING:
    from .hooks import HookRegistry


class Orchestrator(Protocol):
    """The agent loop: turns a prompt into an answer with the help of everything mounted."""

    async def execute(
        self,
        prompt: str,
        context: "ContextManager",
        providers: "dict[str, Provider]",
        tools: "dict[str, Tool]",
        hooks: "HookRegistry",
        **kwargs: Any,
    ) -> str:
        """Run one turn. All arguments come by name; `coordinator` is among `kwargs`."""


class Provider(Protocol):
    """A way to reach models.

    A provider may also have `stream_complete(request)`, an async iterator of dicts: the
    `text` of a chunk is for the user, and the last chunk carries the finished
    `ChatResponse` under `response`.
    """

    @property
    def name(self) -> str:
        """Unique within a session."""

    def get_info(self) -> ProviderInfo:
        """Describe the provider; context managers read its `defaults` to find their budget."""

    async def list_models(self) -> list[ModelInfo]:
        """The models on offer, best effort."""

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """Answer `request`; `kwargs` override its fields. Failures are raised as `LLMError`."""

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        """The tool calls in `response`, in order; empty when there are none."""


class Tool(Protocol):
    """Something the model may call.

    A tool may also have `annotations`, a dict that tells hooks what a call touches:
    `effect` is "pure", "idempotent" or "external" (also when absent), `reads` and `writes`
    name the arguments that are paths, `hosts` lists the machines it talks to.
    """

    @property
    def name(self) -> str:
        """Unique within a session; what the model writes to call it."""

    @property
    def description(self) -> str:
        """Tells the model when to use the tool and what comes back."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of `input`, sent to the model as is."""
        return {}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        """Do the work. A failure the model can fix is a result, not an exception."""


class ContextManager(Protocol):
    """The memory of a conversation. Messages are dicts with a `role`.

    Compaction shortens what `get_messages_for_request` returns and never the stored history.
    Managers of the older contract have `compact()` in place of that method; it is optional
    here and loops fall back to it.
    """

    async def add_message(self, message: dict[str, Any]) -> None:
        """Append to the history."""

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: "Provider | None" = None
    ) -> list[dict[str, Any]]:
        """A new list that fits the budget; without one, the provider's window decides."""

    async def get_messages(self) -> list[dict[str, Any]]:
        """The whole history."""

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replace the history, to resume a session."""

    async def clear(self) -> None:
        """Forget everything."""


class HookHandler(Protocol):
    """Sees events, and may change or stop what they announce."""

    async def __call__(self, event: str, data: dict[str, Any]) -> HookResult:
        """Answer `event`; `data` is the handler's own shallow copy."""


class ApprovalRequest(LazyModel):
    """A question to an approval module: may this tool do that?"""

    tool_name: str
    action: str
    details: dict[str, Any] = Field(default_factory=dict)
    #: By convention low, medium, high or critical.
    risk_level: str
    #: Seconds to wait for a person; None waits for ever.
    timeout: float | None = Field(None, gt=0)


class ApprovalResponse(LazyModel):
    """The answer to an `ApprovalRequest`."""

    approved: bool
    reason: str | None = None
    #: Apply this answer to the same question from now on.
    remember: bool = False


class ApprovalProvider(Protocol):
    """A module that decides on approval requests."""

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        """Decide; raise `TimeoutError` when nobody does in time."""
