"""hooks-redaction: what listeners of events get to see."""

import base64
import json
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from amplifier_core.events import ALL_EVENTS
from amplifier_core.message_models import TextBlock
from amplifier_core.models import ToolResult
from helpers_records import PII, SECRET, TOKENS, coordinator_of, redacting, redactor
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.records import hooks_redaction

TOKEN = TOKENS["GitHub"]


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("MY_API_KEY", "DATABASE_URL", "TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


async def seen(coordinator: Any, event: str, **data: Any) -> dict[str, Any]:
    """What a later listener gets."""
    found: list[dict[str, Any]] = []

    async def listen(_: str, data: dict[str, Any]) -> None:
        found.append(data)

    unregister = coordinator.hooks.register(event, listen, priority=50)
    await coordinator.hooks.emit(event, data)
    unregister()
    return found[0]


EVENTS = sorted({*ALL_EVENTS, "provider:stream", "llm:stream_block_delta", "my:own"})


@pytest.mark.parametrize(
    "event", [each for each in EVENTS if each not in ("tool:pre", "tool:post")]
)
async def test_every_event_is_masked_for_later_listeners(event: str) -> None:
    async with redacting() as coordinator:
        data = await seen(coordinator, event, text=f"see {TOKEN}", mail="bob@example.com")

    assert data["text"] == f"see {SECRET}"
    assert data["mail"] == PII
    assert data["redaction"] == {"applied": True, "rules": ["pii-basic", "secrets"]}


@pytest.mark.parametrize("event", ["tool:pre", "tool:post"])
async def test_tools_get_and_give_real_values(event: str) -> None:
    async with redacting() as coordinator:
        data = await seen(coordinator, event, tool_input={"key": TOKEN})

    assert data["tool_input"] == {"key": TOKEN}
    assert "redaction" not in data


async def test_which_events_are_skipped_can_be_chosen() -> None:
    async with redacting(skip_events=["prompt:submit"]) as coordinator:
        assert (await seen(coordinator, "prompt:submit", prompt=TOKEN))["prompt"] == TOKEN
        assert (await seen(coordinator, "tool:pre", tool_input=TOKEN))["tool_input"] == SECRET


async def test_an_event_without_secrets_is_passed_on_as_it_is() -> None:
    payload = {"nested": {"list": [1, "two", None]}}
    async with redacting() as coordinator:
        result = await coordinator.hooks.emit("my:event", {"payload": payload})

    assert result.data is not None
    assert result.data["payload"] is payload
    assert "redaction" not in result.data


async def test_what_was_emitted_is_not_changed() -> None:
    payload = {"list": [TOKEN]}
    async with redacting() as coordinator:
        await seen(coordinator, "my:event", payload=payload)

    assert payload == {"list": [TOKEN]}


async def test_only_the_rules_asked_for_apply() -> None:
    async with redacting(rules=["pii-basic"]) as coordinator:
        data = await seen(coordinator, "my:event", text=f"{TOKEN} bob@example.com", password="x")

    assert data["text"] == f"{TOKEN} {PII}"
    assert data["password"] == "x"


async def test_earlier_listeners_see_the_original() -> None:
    async with redacting(priority=60) as coordinator:
        assert (await seen(coordinator, "my:event", text=TOKEN))["text"] == TOKEN


async def test_ids_and_times_of_the_kernel_stay() -> None:
    async with redacting(coordinator_of("bob@example.com")) as coordinator:
        data = await seen(coordinator, "my:event", text=TOKEN)

    assert data["session_id"] == "bob@example.com"


async def test_after_cleanup_nothing_is_masked() -> None:
    async with redacting() as coordinator:
        pass

    assert (await seen(coordinator, "my:event", text=TOKEN))["text"] == TOKEN
    assert coordinator.hooks.list_handlers() == {}


# -- known values -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "secret", ["Sonne-77-Mond", 'quo"te\\back7', "zw\u00f6lf B\u00e4ume 12", "a1/b2?c3&d4"]
)
async def test_values_of_secret_variables_are_masked_in_every_spelling(
    secret: str, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.setenv("MY_API_KEY", secret)
    spellings = [
        secret,
        json.dumps({"k": secret}),
        repr([secret]),
        f"x?y={quote(secret, safe='')}",
        base64.b64encode(secret.encode()).decode(),
    ]
    async with redacting() as coordinator:
        data = await seen(coordinator, "my:event", spellings=spellings, **{f"key {secret}": 1})

    assert f"key {SECRET}" in data
    assert all(SECRET in each for each in data["spellings"])
    assert not any(each in str(data) for each in (secret, quote(secret, safe="")))


@pytest.mark.parametrize(
    "plan",
    [
        {"providers": [{"module": "p", "config": {"api_key": "Sonne-77-Mond"}}]},
        {
            "tools": [
                {"module": "t", "config": {"headers": {"Authorization": "Bearer Sonne-77-Mond"}}}
            ]
        },
        {
            "tools": [
                {"module": "t", "config": {"credentials": {"user": "x", "it": ["Sonne-77-Mond"]}}}
            ]
        },
        {"tools": [{"module": "t", "config": {"dsn": "mysql://me:Sonne-77-Mond@db/x"}}]},
    ],
)
async def test_secrets_of_the_mount_plan_are_masked(plan: dict[str, Any]) -> None:
    async with redacting(coordinator_of(config=plan)) as coordinator:
        data = await seen(coordinator, "my:event", text="it was Sonne-77-Mond!")

    assert data["text"] == f"it was {SECRET}!"


async def test_modules_can_tell_further_secrets() -> None:
    coordinator = coordinator_of()
    coordinator.register_contributor("secrets.values", "vault", lambda: ["Sonne-77-Mond"])
    async with redacting(coordinator):
        assert (await seen(coordinator, "my:event", text="Sonne-77-Mond"))["text"] == SECRET


@pytest.mark.parametrize("value", ["postgres", "changeme", "true", "12345678", "abc"])
async def test_values_that_are_ordinary_words_are_not_hunted(
    value: str, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.setenv("MY_API_KEY", value)
    async with redacting() as coordinator:
        assert (await seen(coordinator, "my:event", text=f"a {value} b"))["text"] == f"a {value} b"


async def test_a_path_is_not_a_secret(clean_environment: pytest.MonkeyPatch, tmp_path: Any) -> None:
    clean_environment.setenv("MY_API_KEY", str(tmp_path))
    async with redacting() as coordinator:
        assert (await seen(coordinator, "my:event", text=str(tmp_path)))["text"] == str(tmp_path)


# -- names and paths ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["password", "api_key", "apiKey", "X-Api-Key", "APIKEY", "DB_PASSWORD_2", "client_secret",
     "accessToken", "PGPASSWORD", "Authorization", "Cookie", "privateKey", "SECRET_KEY_BASE"],
)  # fmt: skip
def test_the_value_of_a_secret_name_is_masked_whatever_it_is(name: str) -> None:
    assert redactor().redact({"a": [{name: "hushhush"}]})[0] == {"a": [{name: SECRET}]}


@pytest.mark.parametrize(
    "name",
    ["tokens", "token_count", "max_tokens", "password_file", "key", "author", "secretary",
     "authority", "token_type", "token_meter", "keyboard", "pass"],
)  # fmt: skip
def test_the_value_of_another_name_is_not(name: str) -> None:
    data = {"a": [{name: "hushhush"}]}

    assert redactor().redact(data) == (data, [])


def test_a_collection_of_secrets_keeps_its_shape() -> None:
    data = {"credentials": {"user": "u", "keys": ["a", 7], "on": True, "none": None}}

    hidden = {"user": SECRET, "keys": [SECRET, SECRET], "on": True, "none": None}
    assert redactor().redact(data)[0] == {"credentials": hidden}


def test_a_schema_that_describes_a_password_is_left_alone() -> None:
    data = {"properties": {"password": {"type": "string", "description": "yours"}}}

    assert redactor().redact(data) == (data, [])


def test_a_streamed_piece_called_token_is_left_alone() -> None:
    data = {"token": " internationally", "x": {"token": "Hello"}}

    assert redactor().redact(data) == (data, [])


def test_allowed_paths_and_what_is_below_them_are_left_alone() -> None:
    data = {"a": {"b": [TOKEN, TOKEN], "password": "x"}, "c": {"d": TOKEN}, "auth": {"user": "u"}}
    allowed = redactor(allowlist=("a.b[1]", "a.password", "c", "auth.user"))

    cleaned, _ = allowed.redact(data)

    assert cleaned["a"] == {"b": [SECRET, TOKEN], "password": "x"}
    assert cleaned["c"] == {"d": TOKEN}
    assert cleaned["auth"] == {"user": "u"}


def test_known_secrets_are_masked_at_allowed_paths_too() -> None:
    allowed = redactor(allowlist=("a",), known=("Sonne-77-Mond",))

    assert allowed.redact({"a": f"{TOKEN} Sonne-77-Mond"})[0] == {"a": f"{TOKEN} {SECRET}"}


# -- any kind of value -----------------------------------------------------------------------


class Pair(NamedTuple):
    left: str
    right: int


@dataclass(frozen=True)
class Card:
    text: str


def test_models_keep_their_type() -> None:
    result = ToolResult(success=False, output={"x": TOKEN}, error={"message": f"no {TOKEN}"})
    data = {"block": TextBlock(text=TOKEN), "result": result, "card": Card(TOKEN)}

    cleaned, _ = redactor().redact(data)

    assert cleaned["block"] == TextBlock(text=SECRET)
    assert cleaned["result"].output == {"x": SECRET}
    assert cleaned["result"].error == {"message": f"no {SECRET}"}
    assert cleaned["card"] == Card(SECRET)
    assert result.output == {"x": TOKEN}


def test_other_containers_keep_theirs() -> None:
    data = {"t": (TOKEN, 1), "n": Pair(TOKEN, 2), "s": {TOKEN}, "b": TOKEN.encode()}

    cleaned, _ = redactor().redact(data)

    assert cleaned == {"t": (SECRET, 1), "n": Pair(SECRET, 2), "s": {SECRET}, "b": SECRET.encode()}


def test_an_exception_becomes_its_masked_text() -> None:
    assert redactor().redact({"e": ValueError(f"no {TOKEN}")})[0] == {
        "e": f"ValueError: no {SECRET}"
    }


def test_what_contains_itself_stays_so() -> None:
    loop: dict[str, Any] = {"text": TOKEN}
    loop["self"] = loop

    cleaned = redactor().redact({"loop": loop})[0]["loop"]

    assert cleaned["text"] == SECRET
    assert cleaned["self"] is cleaned


def test_what_is_too_deep_to_be_looked_at_is_not_shown() -> None:
    deep: Any = TOKEN
    for _ in range(5000):
        deep = [deep]

    assert TOKEN not in str(redactor().redact({"deep": deep})[0])


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6), st.just(f"<{TOKEN}>")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
        st.builds(lambda text: Card(text), inner),
        st.tuples(inner),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.dictionaries(st.sampled_from("abc"), anything))
def test_no_token_survives_wherever_it_is(data: dict[str, Any]) -> None:
    cleaned, rules = redactor().redact(data)

    assert TOKEN not in repr(cleaned)
    assert bool(rules) == (TOKEN in repr(data))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"rule": []}, "Did you mean 'rules'"),
        ({"rules": ["pii"]}, "rules"),
        ({"priority": "x"}, "priority"),
    ],
)
async def test_a_mistake_in_the_config_is_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        await hooks_redaction.mount(coordinator_of(), config)


class _Unreadable(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("not now")


async def test_an_event_that_cannot_be_redacted_reaches_nobody_with_its_content() -> None:
    async with redacting() as coordinator:
        inner = _Unreadable(token=TOKEN)
        found = await seen(coordinator, "my:own", session_id="s1", token=TOKEN, inner=inner)

    assert TOKEN not in repr(found)
    assert found["session_id"] == "s1"
    assert found["redaction"] == {"applied": True, "rules": ["secrets"], "failed": True}
