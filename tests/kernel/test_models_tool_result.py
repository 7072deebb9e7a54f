"""What a tool answers, how it is checked, and what of it the model and the hooks see."""

import base64
import copy
import json
import pickle
import string
from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.message_models import ImageBlock, TextBlock, ThinkingBlock
from amplifier_core.models import ToolResult, _json_default, _sanitize_for_llm
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

TEXT = {"type": "text", "text": "a chart"}
SOURCE = {"type": "base64", "media_type": "image/png", "data": "YQ=="}
IMAGE = {"type": "image", "source": SOURCE}


def image(**changes: Any) -> dict[str, Any]:
    return {"type": "image", "source": SOURCE | changes}


def test_a_tool_result_is_a_success_without_output_by_default() -> None:
    assert ToolResult().model_dump() == {"success": True, "output": None, "error": None}


def test_a_failure_without_output_takes_its_error_message_as_output() -> None:
    result = ToolResult(success=False, error={"message": "no such file", "type": "OSError"})

    assert result.output == "no such file"
    assert result.model_fields_set == {"success", "error", "output"}


def test_an_error_message_keeps_its_type_when_it_becomes_the_output() -> None:
    assert ToolResult(success=False, error={"message": 404}).output == 404


@pytest.mark.parametrize(
    "arguments",
    [
        {"success": True, "error": {"message": "ignored"}},
        {"success": False, "error": {"message": ""}},
        {"success": False, "error": {"type": "OSError"}},
        {"success": False, "error": {}},
        {"success": False},
    ],
)
def test_output_stays_empty_when_no_failure_message_is_given(arguments: dict[str, Any]) -> None:
    assert ToolResult(**arguments).output is None


def test_a_given_output_wins_over_the_error_message() -> None:
    assert ToolResult(success=False, output="", error={"message": "m"}).output == ""


def test_assigning_an_error_later_does_not_fill_the_output() -> None:
    result = ToolResult()
    result.success = False
    result.error = {"message": "late"}

    assert result.output is None


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(output="done"), "done"),
        (ToolResult(output=[1, 2]), "[1, 2]"),
        (ToolResult(output=""), "Success"),
        (ToolResult(output=0), "Success"),
        (ToolResult(success=False, error={"message": "broken"}), "Error: broken"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(success=False, error={}), "Failed"),
        (ToolResult(success=False), "Failed"),
    ],
)
def test_str_tells_a_person_how_it_went(result: ToolResult, text: str) -> None:
    assert str(result) == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(), "Success"),
        (ToolResult(output="plain"), "plain"),
        (ToolResult(output=""), ""),
        (ToolResult(output=False), "False"),
        (ToolResult(output={"a": "é", "b": [1, None]}), '{"a": "\\u00e9", "b": [1, null]}'),
        (ToolResult(output=[]), "[]"),
        (ToolResult(output={"cost": Decimal("1.50")}), '{"cost": "1.50"}'),
        (ToolResult(output=(1, 2)), "(1, 2)"),
        (ToolResult(output=Decimal("1.50")), "1.50"),
        (ToolResult(success=False, output="partial"), "partial"),
        (ToolResult(success=False, error={"message": "broken"}), "broken"),
        (ToolResult(success=False, error={"code": 1}), "Error: Unknown error"),
        (ToolResult(success=False), "Error: Failed"),
        (ToolResult(content=[TEXT]), "Success"),
    ],
)
def test_the_model_reads_the_serialized_output(result: ToolResult, text: str) -> None:
    assert result.get_serialized_output() == text


def test_a_failure_whose_output_was_removed_is_serialized_from_its_error() -> None:
    result = ToolResult(success=False, error={"message": "broken"})
    result.output = None

    assert result.get_serialized_output() == "Error: broken"


def test_an_output_that_json_cannot_hold_is_refused_when_serialized() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        ToolResult(output={"values": {1, 2}}).get_serialized_output()


def test_only_decimals_get_a_json_form_of_their_own() -> None:
    assert _json_default(Decimal("0.10")) == "0.10"
    with pytest.raises(TypeError, match="object is not JSON serializable"):
        _json_default(object())


def test_characters_that_model_apis_refuse_are_dropped_from_the_output() -> None:
    dirty = "a\x00b\x08\tc\x0b\x0c\nd\x0e\x1f\re\x7f\x85\x9f\xa0f\ud800\udfff\ue000"

    assert ToolResult(output=dirty).get_serialized_output() == "ab\tc\nd\re\xa0f\ue000"


def test_escaped_control_characters_in_json_survive() -> None:
    assert ToolResult(output=["\x00"]).get_serialized_output() == '["\\u0000"]'


@given(st.text(st.characters(exclude_categories=[])))
def test_sanitized_text_can_be_sent_and_loses_nothing_else(text: str) -> None:
    clean = _sanitize_for_llm(text)

    clean.encode("utf-8")
    assert _sanitize_for_llm(clean) == clean
    kept = [c for c in text if c in "\t\n\r" or (c.isprintable() and not "\ud800" <= c <= "\udfff")]
    assert [c for c in clean if c in "\t\n\r" or c.isprintable()] == kept


def test_content_keeps_text_and_inline_images_and_nothing_around_them() -> None:
    result = ToolResult(
        content=[TEXT | {"visibility": "user", "cache": 1}, image(detail="high") | {"alt": "x"}]
    )

    assert result.content == [TextBlock(text="a chart"), ImageBlock(source=SOURCE)]
    assert result.model_dump()["content"] == [TEXT, IMAGE]
    assert json.loads(result.model_dump_json())["content"] == [TEXT, IMAGE]


def test_content_accepts_blocks_and_tuples() -> None:
    blocks = (TextBlock(text="a chart", visibility="user"), ImageBlock(source=SOURCE))

    assert ToolResult(content=blocks).model_dump()["content"] == [TEXT, IMAGE]


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_empty_content_is_none_and_never_dumped(nothing: Any) -> None:
    result = ToolResult(content=nothing)

    assert result.content is None
    assert "content" not in result.model_dump()
    assert "content" not in json.loads(result.model_dump_json())


def test_empty_content_that_skipped_validation_is_not_dumped_either() -> None:
    assert "content" not in ToolResult.model_construct(content=[]).model_dump()


def test_excluding_content_leaves_it_out_of_the_dump() -> None:
    assert set(ToolResult(content=[TEXT]).model_dump(exclude={"content"})) == {
        "success",
        "output",
        "error",
    }


@pytest.mark.parametrize(
    "content",
    [
        5,
        "text",
        {},
        TEXT,
        iter([TEXT]),
        [5],
        [None],
        [{}],
        [["type", "text"]],
        [{"type": "audio"}],
        [{"type": ["text"], "text": "x"}],
        [{"type": "text"}],
        [{"type": "text", "text": 5}],
        [{"type": "text", "text": "\ud800"}],
        [ThinkingBlock(thinking="x")],
        [TEXT, {"type": "text"}],
    ],
)
def test_content_other_than_text_and_image_blocks_is_refused(content: Any) -> None:
    with pytest.raises(ValidationError, match="invalid tool result content"):
        ToolResult(content=content)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image"},
        {"type": "image", "source": "YQ=="},
        image(type="url", url="https://example.org/a.png"),
        image(type="file"),
        {"type": "image", "source": {"media_type": "image/png", "data": "YQ=="}},
        ImageBlock(source={"type": "url", "url": "https://example.org/a.png"}),
    ],
)
def test_images_must_carry_their_bytes(block: Any) -> None:
    with pytest.raises(ValidationError, match="invalid tool result image source"):
        ToolResult(content=[block])


@pytest.mark.parametrize("media_type", ["image/png", "image/PNG", "image/svg+xml", "image/x-foo"])
def test_any_plain_image_media_type_is_accepted(media_type: str) -> None:
    assert ToolResult(content=[image(media_type=media_type)]).content is not None


@pytest.mark.parametrize(
    "media_type",
    ["", "image/", "image/*", "IMAGE/png", "image/png; q=1", "image/a/b", "image/ü", "text/png", 5],
)
def test_other_media_types_are_refused(media_type: Any) -> None:
    with pytest.raises(ValidationError, match="invalid tool result image media type"):
        ToolResult(content=[image(media_type=media_type)])


@pytest.mark.parametrize(
    "data",
    [
        "",
        "YQ",
        "YQ=",
        "YR==",
        "YQ==\n",
        " YQ==",
        "-_-_",
        "====",
        "YWJjYQ==YWJj",
        "data:image/png;base64,YQ==",
        "é",
        b"YQ==",
        None,
    ],
)
def test_image_data_must_be_canonical_base64(data: Any) -> None:
    with pytest.raises(ValidationError, match="invalid tool result image data"):
        ToolResult(content=[image(data=data)])


@given(st.binary(min_size=1))
def test_every_encoded_image_is_accepted_and_kept_as_it_is(raw: bytes) -> None:
    data = base64.b64encode(raw).decode()

    assert ToolResult(content=[image(data=data)]).model_dump()["content"] == [image(data=data)]


@given(st.text(alphabet=string.ascii_letters + string.digits + "+/=-_ \n", min_size=1))
def test_accepted_image_data_is_the_one_spelling_of_its_bytes(data: str) -> None:
    try:
        ToolResult(content=[image(data=data)])
    except ValidationError:
        return
    assert base64.b64encode(base64.b64decode(data)).decode() == data


def test_errors_do_not_repeat_what_the_tool_returned() -> None:
    with pytest.raises(ValidationError) as caught:
        ToolResult(success="SECRET", content="SECRET")

    assert "SECRET" not in str(caught.value)


def test_assignment_is_validated_like_construction() -> None:
    result = ToolResult()
    result.content = [TEXT | {"cache": 1}]  # type: ignore[list-item]

    assert result.model_dump()["content"] == [TEXT]
    with pytest.raises(ValidationError, match="invalid tool result content"):
        result.content = "text"  # type: ignore[assignment]
    with pytest.raises(ValidationError, match="no attribute 'outptu'"):
        result.outptu = "typo"  # type: ignore[attr-defined]


@pytest.mark.parametrize("dump", [ToolResult.model_dump, ToolResult.model_dump_json])
def test_content_smuggled_past_validation_fails_when_dumped(dump: Any) -> None:
    smuggled = ToolResult.model_construct(content=[image(type="url")])

    with pytest.raises(PydanticSerializationError, match="invalid tool result image source"):
        dump(smuggled)


def test_a_copy_is_equal_and_separate() -> None:
    result = ToolResult(output={"rows": [1]}, content=[TEXT])
    copied = result.model_copy()

    assert copied == result
    assert copied.content is not result.content
    assert copied.output is result.output
    assert copied.model_fields_set == result.model_fields_set


def test_a_deep_copy_shares_nothing() -> None:
    result = ToolResult(output={"rows": [1]})

    assert result.model_copy(deep=True).output == result.output
    assert result.model_copy(deep=True).output is not result.output


def test_updates_of_a_copy_are_validated_and_unknown_ones_dropped() -> None:
    result = ToolResult(output="before", content=[TEXT])
    copied = result.model_copy(update={"output": "after", "unknown": 1})

    assert copied == ToolResult(output="after", content=[TEXT])
    with pytest.raises(ValidationError, match="invalid tool result content"):
        result.model_copy(update={"content": [{"type": "audio"}]})


def test_a_copy_that_becomes_a_failure_gets_its_output_from_the_error() -> None:
    update = {"success": False, "error": {"message": "broken"}}

    assert ToolResult().model_copy(update=update).output == "broken"


def test_hooks_see_a_notice_in_place_of_an_image() -> None:
    output = {"rows": object()}
    shown = ToolResult(output=output, content=[TEXT, IMAGE, IMAGE]).safe_hook_presentation()

    assert shown["output"] is output
    assert shown["content"][0] == TEXT
    assert [block["type"] for block in shown["content"]] == ["text"] * 3
    assert "YQ==" not in repr(shown)
    assert shown["content"][1] is not shown["content"][2]


def test_hooks_see_no_content_where_there_is_none() -> None:
    assert ToolResult(success=False, output="x", error={"a": 1}).safe_hook_presentation() == {
        "success": False,
        "output": "x",
        "error": {"a": 1},
    }


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda result: pickle.loads(pickle.dumps(result)),
        lambda result: ToolResult.model_validate_json(result.model_dump_json()),
        lambda result: ToolResult.model_validate(result.model_dump()),
    ],
)
def test_results_survive_copying_and_round_trips(duplicate: Any) -> None:
    result = ToolResult(success=False, error={"message": "m"}, content=[TEXT, IMAGE])

    assert duplicate(result) == result
