"""What single values become: tool results and their content, costs, prices, content blocks."""

import base64
import copy
from decimal import Decimal
from typing import Any

from amplifier_core import (
    ContentBlock,
    ContentBlockType,
    ImageBlock,
    Pricing,
    SessionStatus,
    TextBlock,
    TextContent,
    ThinkingContent,
    ToolCallContent,
    ToolResult,
    ToolResultContent,
    Usage,
)
from facts import Facts, message, outcome, refusals

PIXEL = base64.b64encode(b"a picture").decode()
TOKENS = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def _image(**source: Any) -> Facts:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL} | source,
    }


def _content(*blocks: Any) -> Any:
    return refusals(lambda: ToolResult(content=list(blocks)).model_dump().get("content"))


def failed_tool_result_takes_its_output_from_the_error() -> Facts:
    def output(**fields: Any) -> Any:
        return ToolResult(**fields).output

    return {
        "message": output(success=False, error={"message": "boom"}),
        "number": output(success=False, error={"message": 5}),
        "no message": output(success=False, error={"code": 1}),
        "empty message": output(success=False, error={"message": ""}),
        "own output": output(success=False, output="mine", error={"message": "boom"}),
        "success": output(error={"message": "boom"}),
        "fields set": ToolResult(success=False, error={"message": "b"}).model_fields_set,
    }


def tool_result_as_text() -> Facts:
    return {
        "text": str(ToolResult(output="x")),
        "nothing": str(ToolResult()),
        "empty": str(ToolResult(output="")),
        "zero": str(ToolResult(output=0)),
        "dict": str(ToolResult(output={"a": 1})),
        "failed": str(ToolResult(success=False)),
        "error": str(ToolResult(success=False, error={"message": "boom"})),
        "wordless error": str(ToolResult(success=False, error={"code": 1})),
        "empty error": str(ToolResult(success=False, error={})),
    }


def tool_result_for_the_model() -> Facts:
    def text(**fields: Any) -> Any:
        return message(lambda: ToolResult(**fields).get_serialized_output())

    return {
        "text": text(output="x"),
        "dict": text(output={"a": [1, "é"]}),
        "list": text(output=[1, None]),
        "tuple": text(output=(1, 2)),
        "number": text(output=5),
        "false": text(output=False),
        "empty": text(output=""),
        "decimal": text(output={"a": Decimal("1.50")}),
        "nothing": text(),
        "failed": text(success=False),
        "error": text(success=False, error={"message": "boom"}),
        "wordless error": text(success=False, error={"code": 1}),
        "empty message": text(success=False, error={"message": ""}),
        "unserializable": outcome(
            lambda: ToolResult(output={"a": object()}).get_serialized_output()
        ),
    }


def control_characters_never_reach_the_model() -> Facts:
    everything = "".join(map(chr, range(0x100)))
    return {
        "latin": ToolResult(output=everything).get_serialized_output(),
        "surrogate": ToolResult(output="a\ud800b").get_serialized_output(),
        "emoji": ToolResult(output="ok \U0001f600").get_serialized_output(),
        "in json": ToolResult(output={"a": "\x00"}).get_serialized_output(),
    }


def tool_result_content_is_normalised() -> Facts:
    return {
        "none": ToolResult(content=None).model_dump(),
        "empty": ToolResult(content=[]).model_dump(),
        "text": _content({"type": "text", "text": "x", "visibility": "user", "more": 1}),
        "empty text": _content({"type": "text", "text": ""}),
        "block": _content(TextBlock(text="x", visibility="user")),
        "image": _content(_image()),
        "image block": _content(ImageBlock(**_image())),
        "extra in image": _content({**_image(), "alt": "x"}),
        "extra in source": _content(_image(more=1)),
        "tuple": refusals(lambda: ToolResult(content=({"type": "text", "text": "x"},)).content),
    }


def tool_result_content_is_checked() -> Facts:
    return {
        "not a list": refusals(lambda: ToolResult(content={"type": "text"})),
        "not an object": _content("x"),
        "no type": _content({"text": "x"}),
        "other type": _content({"type": "thinking", "thinking": "x"}),
        "number as text": _content({"type": "text", "text": 5}),
        "surrogate": _content({"type": "text", "text": "\ud800"}),
        "no source": _content({"type": "image"}),
        "by url": _content(_image(type="url")),
        "no media type": _content(_image(media_type=None)),
        "text media type": _content(_image(media_type="text/plain")),
        "upper case": _content(_image(media_type="IMAGE/png")),
        "parameter": _content(_image(media_type="image/png;x=1")),
        "wildcard": _content(_image(media_type="image/*")),
        "svg": _content(_image(media_type="image/svg+xml")),
        "no data": _content(_image(data="")),
        "unpadded": _content(_image(data="YQ")),
        "url safe": _content(_image(data="_-__")),
        "white space": _content(_image(data="YQ==\n")),
        "trailing bits": _content(_image(data="YR==")),
        "data url": _content(_image(data="data:image/png;base64,YQ==")),
    }


def tool_result_content_errors_say_what_is_wrong() -> Facts:
    def words(block: Any) -> list[str]:
        text = str(message(lambda: ToolResult(content=[block])))
        known = ["tool result content", "image source", "image media type", "image data"]
        return [part for part in known if part in text] + (["echo"] if "sesame" in text else [])

    return {
        "type": words({"type": "sesame"}),
        "source": words(_image(type="sesame")),
        "media type": words(_image(media_type="sesame")),
        "data": words(_image(data="sesame!")),
    }


def tool_result_is_validated_on_assignment() -> Facts:
    result = ToolResult(output="x")
    facts = {
        "success": refusals(lambda: setattr(result, "success", "maybe")),
        "error": refusals(lambda: setattr(result, "error", "text")),
        "content": refusals(lambda: setattr(result, "content", [{"type": "video"}])),
    }
    result.content = [{"type": "text", "text": "x", "more": 1}]
    return {**facts, "normalised": result.model_dump()}


def tool_result_copies() -> Facts:
    result = ToolResult(output={"a": [1]}, content=[{"type": "text", "text": "x"}])
    return {
        "update": result.model_copy(update={"output": "y"}).model_dump(),
        "bad update": refusals(lambda: result.model_copy(update={"content": [1]})),
        "unknown update": result.model_copy(update={"surprise": 1}).model_dump(),
        "deep": result.model_copy(deep=True).output is result.output,
        "deepcopy": copy.deepcopy(result) == result,
        "json": result.model_dump_json(),
    }


def tool_result_in_events_hides_images() -> Facts:
    shown = ToolResult(output="x", content=[_image(), {"type": "text", "text": "y"}])
    presented = shown.safe_hook_presentation()
    first = presented["content"][0]
    return {
        "keys": sorted(presented),
        "kinds": [block["type"] for block in presented["content"]],
        "notice": isinstance(first["text"], str) and PIXEL not in first["text"],
        "text": presented["content"][1],
        "plain": ToolResult(output={"a": 1}).safe_hook_presentation(),
        "failed": ToolResult(success=False, error={"message": "b"}).safe_hook_presentation(),
    }


def _cost(make: Any, value: Any) -> Any:
    return refusals(lambda: make(value).cost_usd)


def cost_of_usage() -> Facts:
    return _cost_facts(lambda value: Usage(**TOKENS, cost_usd=value))


def cost_of_a_session() -> Facts:
    return _cost_facts(lambda value: SessionStatus(session_id="s", cost_usd=value))


def _cost_facts(make: Any) -> Facts:
    values = {
        "decimal": Decimal("0.10"),
        "int": 1,
        "text": "1.5",
        "float": 0.5,
        "bool": True,
        "word": "cheap",
        "nan": Decimal("NaN"),
        "negative": Decimal("-1"),
        "none": None,
    }
    small = make(Decimal("1E-9"))
    return {
        **{name: _cost(make, value) for name, value in values.items()},
        "dump": small.model_dump()["cost_usd"],
        "json": small.model_dump(mode="json")["cost_usd"],
        "zero": make(Decimal("0")).model_dump()["cost_usd"],
        "float text": "must be Decimal" in str(message(lambda: make(0.1))),
        "round trip": type(small).model_validate(small.model_dump()).cost_usd,
        "unset": "cost_usd" in make(None).model_dump(exclude_none=True),
        "json float": refusals(lambda: type(small).model_validate_json(_with_cost(small, "0.5"))),
        "json int": type(small).model_validate_json(_with_cost(small, "2")).cost_usd,
    }


def _with_cost(made: Any, cost: str) -> str:
    return made.model_dump_json().replace('"1E-9"', cost)


def status_as_dict() -> Facts:
    status = SessionStatus(session_id="s", cost_usd=Decimal("0.5"), last_error={"message": "x"})
    empty = SessionStatus(session_id="s").to_dict()
    return {
        "full": status.to_dict(),
        "keys": sorted(empty),
        "type": type(empty["started_at"]).__name__,
    }


def currencies() -> Facts:
    def currency(code: str) -> Any:
        priced = {"input_per_million": 1, "output_per_million": 1, "currency": code}
        return refusals(lambda: Pricing(**priced).currency)

    codes = ["USD", "EUR", "usd", "US", "USDT", "U5D", "ÄÖÜ", ""]
    return {
        **{code or "(empty)": currency(code) for code in codes},
        "trailing newline": currency("USD\n"),
        "words": "ISO 4217"
        in str(message(lambda: Pricing(input_per_million=1, output_per_million=1, currency="x"))),
    }


def content_of_streams() -> Facts:
    return {
        "types": {each.name: each.value for each in ContentBlockType},
        "is text": isinstance(ContentBlockType.TEXT, str),
        "block": ContentBlock(ContentBlockType.TEXT, raw={"a": 1}).to_dict(),
        "text": TextContent(text="x").to_dict(),
        "thinking": ThinkingContent(text="x", raw=object()).to_dict(),
        "call": ToolCallContent(id="1", name="t", arguments={"a": 1}).to_dict(),
        "empty call": ToolCallContent().to_dict(),
        "result": ToolResultContent(tool_call_id="1", output="x").to_dict(),
        "failed result": ToolResultContent(tool_call_id="1", error="boom").to_dict(),
        "empty error": ToolResultContent(tool_call_id="1", error="").to_dict(),
        "positional": TextContent(ContentBlockType.TEXT, None, "x").to_dict(),
        "equal": TextContent(text="x") == TextContent(text="x"),
    }
