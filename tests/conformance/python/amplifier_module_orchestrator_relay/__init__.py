"""`relay`: the plainest agent loop."""

import json
from typing import Any

from amplifier_core.message_models import ChatRequest, ToolSpec
from conforming_orders import Orders, number

__amplifier_module_type__ = "orchestrator"


class Relay:
    def __init__(self, config: dict[str, Any]) -> None:
        self._prefix = config.get("prefix", "")
        self._max_steps = number(config, "max_steps", 10)
        self._orders = Orders()

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, **_: Any
    ) -> str:
        said = await self._orders.obey(prompt)
        if said is not None:
            return said
        verdict = await hooks.emit("prompt:submit", {"prompt": prompt})
        if verdict.action == "deny":
            return str(verdict.reason)
        await context.add_message({"role": "user", "content": prompt})
        answer = await self._steps(context, next(iter(providers.values())), tools, hooks)
        await hooks.emit("prompt:complete", {"prompt": prompt, "response": answer})
        return f"{self._prefix}{answer}"

    async def _steps(self, context: Any, provider: Any, tools: Any, hooks: Any) -> str:
        specs = [
            ToolSpec(name=each.name, description=each.description, parameters=each.input_schema)
            for each in tools.values()
        ]
        for _ in range(self._max_steps):
            await hooks.emit("provider:request", {"provider": provider.name})
            request = ChatRequest(messages=await context.get_messages_for_request(), tools=specs)
            response = await provider.complete(request)
            calls = provider.parse_tool_calls(response)
            text = "".join(getattr(block, "text", "") for block in response.content)
            await context.add_message(_assistant(text, calls))
            if not calls:
                return text
            for call in calls:
                await context.add_message(await _answered(call, tools, hooks))
        return "The steps are used up."


async def _answered(call: Any, tools: Any, hooks: Any) -> dict[str, Any]:
    data = {"tool_name": call.name, "tool_input": call.arguments, "tool_call_id": call.id}
    verdict = await hooks.emit("tool:pre", data)
    if verdict.action == "deny":
        said: Any = f"Denied: {verdict.reason}"
    else:
        given = (verdict.data or data)["tool_input"]
        result = await tools[call.name].execute(given)
        await hooks.emit("tool:post", {**data, "tool_input": given, "result": result})
        said = result.output if result.success else result.error
    content = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _assistant(text: str, calls: Any) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += (
        {"type": "tool_call", "id": call.id, "name": call.name, "input": call.arguments}
        for call in calls
    )
    return {"role": "assistant", "content": blocks}


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("orchestrator", Relay(config))
