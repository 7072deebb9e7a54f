"""What every provider demands of a conversation, written down without regard to how it is met."""

from typing import Any

from amplifier_core.message_models import ChatRequest


def problems(messages: list[dict[str, Any]]) -> list[str]:
    """Everything that some provider would refuse."""
    found = []
    open_calls: list[str] = []
    spoken = [each for each in messages if each["role"] not in ("system", "developer")]
    if spoken and spoken[0]["role"] != "user":
        found.append("it does not begin with the user")
    if spoken and spoken[-1]["role"] != "assistant":
        found.append("it does not end with the assistant")
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                found.append(f"{at} answers nothing")
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            found.append(f"{at} comes before the answers to {open_calls}")
        open_calls = [each["id"] for each in message.get("tool_calls") or ()]
        if len(set(open_calls)) < len(open_calls):
            found.append(f"{at} has two calls of one id")
        blocks = content if isinstance(content, list) else []
        in_blocks = [each["id"] for each in blocks if each["type"] == "tool_call"]
        if in_blocks and sorted(in_blocks) != sorted(open_calls):
            found.append(f"{at} has other calls in its blocks")
        if not content and not open_calls:
            found.append(f"{at} is empty")
    if open_calls:
        found.append(f"{open_calls} are never answered")
    ChatRequest.model_validate({"messages": messages})
    return found
