"""A session with hooks-approval and no one else, and the corpus of commands."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from amplifier_core import ApprovalRequest, ApprovalResponse, HookResult, ToolResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.shell import approval

CORPUS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
)


class Line(NamedTuple):
    claim: str
    config: dict[str, Any]
    expect: str
    command: str


def corpus() -> Iterator[Line]:
    for group in CORPUS["group"]:
        lines = group["lines"].strip("\n").split("\n")
        for command in [*lines, *group.get("texts", [])]:
            config = CORPUS["config"][group["config"]]
            yield Line(group["claim"], config, group["expect"], command)


class Person:
    """Answers questions the same way, and remembers them."""

    def __init__(self, approved: bool = True, **answer: Any) -> None:
        self.answer = {"approved": approved, **answer}
        self.asked: list[ApprovalRequest] = []

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        self.asked.append(request)
        return ApprovalResponse(**self.answer)


class StandIn:
    """A tool that says what it touches and does nothing."""

    description = "Does nothing."
    input_schema: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, name: str, annotations: dict[str, Any] | None = None, **more: Any) -> None:
        self.name = name
        if annotations is not None:
            self.annotations = annotations
        for key, value in more.items():
            setattr(self, key, value)

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(success=True)


READ = StandIn("read_file", {"effect": "pure", "reads": ["file_path"]})
WRITE = StandIn("write_file", {"effect": "idempotent", "writes": ["file_path"]})
FETCH = StandIn("web_fetch", {"effect": "idempotent", "hosts": ["url"]})


class Guarded:
    """A coordinator with the guard mounted, and all approval events that it emitted."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.coordinator = MockCoordinator()
        self.coordinator.approval_system = None
        self.coordinator.register_capability("session.working_dir", str(project))
        self.events: list[tuple[str, dict[str, Any]]] = []
        for event in ("approval:required", "approval:granted", "approval:denied"):
            self.coordinator.hooks.register(event, self._note, name="notes")
        self.cleanup: Any = None

    def _note(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))

    async def mount(self, person: Any = None, **config: Any) -> "Guarded":
        config.setdefault("audit", {"path": str(self.project.parent / "audit" / "log.jsonl")})
        for tool in (READ, WRITE, FETCH, StandIn("bash", {"effect": "external"})):
            await self.coordinator.mount("tools", tool, name=tool.name)
        self.cleanup = await approval.mount(self.coordinator, config)
        if person is not None:
            self.coordinator.get_capability("approval.register_provider")(person)
        return self

    async def call(self, tool: str, call_id: str = "c1", /, **input: Any) -> HookResult:
        data = {"tool_name": tool, "tool_input": input, "tool_call_id": call_id}
        result: HookResult = await self.coordinator.hooks.emit("tool:pre", data)
        return result

    async def bash(self, command: str) -> HookResult:
        return await self.call("bash", command=command)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]
