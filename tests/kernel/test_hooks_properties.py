"""Any mix of handlers obeys the rules of the event bus, compared with a small model of them."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from amplifier_core import ContextInjection, HookRegistry, HookResult
from amplifier_core.models import UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st

EVENT = "tool:pre"
INVALID = "Hook handler returned invalid response"
THOROUGH = settings(max_examples=300, deadline=None, derandomize=True)

Role = Literal["system", "user", "assistant"]


# -- what handlers may do -------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a handler does when called: give an answer, raise, or answer nonsense."""

    kind: Literal["answer", "raise", "malformed"]
    answer: Any = None
    error: type[BaseException] = ValueError


@dataclass(frozen=True)
class Spec:
    """A handler to be registered."""

    outcome: Outcome
    priority: int
    is_async: bool
    guard: bool
    event: str
    as_dict: bool


texts = st.sampled_from(["", "a", "b", "\ud800", "line\nline"])
maybe_text = st.none() | texts
datas = st.none() | st.dictionaries(st.sampled_from("xyz"), st.integers(0, 3), max_size=2)
items = st.builds(
    ContextInjection,
    content=st.sampled_from(["", "one", "two"]),
    role=st.sampled_from(["system", "user", "assistant"]),
    ephemeral=st.booleans(),
    append_to_last_tool_result=st.booleans(),
    hook_name=st.sampled_from(["unknown", "forged"]),
)
messages = st.builds(
    UserMessage,
    text=st.sampled_from(["m", "n"]),
    level=st.sampled_from(["info", "error"]),
    source=st.sampled_from([None, "other"]),
)
answers = st.builds(
    HookResult,
    action=st.sampled_from(
        ["continue", "continue", "deny", "modify", "modify", "inject_context", "inject_context",
         "ask_user"]
    ),
    data=datas,
    reason=maybe_text,
    context_injection=st.none() | st.sampled_from(["", "one", "two"]),
    context_injection_role=st.sampled_from(["system", "user", "assistant"]),
    ephemeral=st.booleans(),
    append_to_last_tool_result=st.booleans(),
    suppress_output=st.booleans(),
    approval_prompt=maybe_text,
    user_message=st.none() | st.sampled_from(["", "hello", "beware"]),
    user_message_level=st.sampled_from(["info", "warning"]),
    user_message_source=st.none() | st.just("me"),
    context_injections=st.just([]) | st.lists(items, max_size=2),
    user_messages=st.just([]) | st.lists(messages, max_size=2),
)  # fmt: skip
nonsense = st.sampled_from(
    ["ok", 5, True, [1], object(), {"action": "approve"}, {"reason": 5}, HookResult]
)
outcomes = st.one_of(
    st.just(Outcome("answer", None)),
    st.builds(Outcome, st.just("answer"), answers),
    st.builds(Outcome, st.just("answer"), answers),
    st.builds(Outcome, st.just("answer"), answers),
    st.builds(
        Outcome,
        st.just("raise"),
        error=st.sampled_from([ValueError, TimeoutError, asyncio.CancelledError]),
    ),
    st.builds(Outcome, st.just("malformed"), nonsense),
)
specs = st.builds(
    Spec,
    outcome=outcomes,
    priority=st.integers(-2, 2),
    is_async=st.booleans(),
    guard=st.booleans(),
    event=st.sampled_from([EVENT, EVENT, "*"]),
    as_dict=st.booleans(),
)


def register(hooks: HookRegistry, name: str, spec: Spec, called: list[tuple[str, Any]]) -> None:
    def act(event: str, data: dict[str, Any]) -> Any:
        called.append((name, dict(data)))
        data["spoilt"] = name
        if spec.outcome.kind == "raise":
            raise spec.outcome.error(f"by {name}")
        answer = spec.outcome.answer
        return dict(answer) if spec.as_dict and isinstance(answer, HookResult) else answer

    async def act_later(event: str, data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        return act(event, data)

    handler = act_later if spec.is_async else act
    hooks.register(spec.event, handler, spec.priority, name, guard=spec.guard)


# -- the rules, written down a second time --------------------------------------------


@dataclass
class Model:
    """What should come of an event: precedence deny, ask_user, inject_context, continue."""

    data: dict[str, Any]
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    modified: bool = False
    question: dict[str, Any] | None = None
    injecting: list[dict[str, Any]] = field(default_factory=list)
    injections: list[dict[str, Any]] = field(default_factory=list)
    said: list[tuple[dict[str, Any], list[dict[str, Any]]]] = field(default_factory=list)

    def run(self, chain: list[tuple[str, Spec]]) -> dict[str, Any]:
        for name, spec in chain:
            self.called.append((name, dict(self.data)))
            fields = self._answer_of(name, spec)
            if fields is None:
                continue
            if fields["action"] == "deny":
                return self._beside(fields)
            self._take(name, fields)
        return self._conclusion()

    def _answer_of(self, name: str, spec: Spec) -> dict[str, Any] | None:
        outcome = spec.outcome
        if outcome.kind == "malformed":
            return plain(action="deny", reason=INVALID)
        if outcome.kind == "raise":
            why = f"Guard {name!r} failed on {EVENT!r}: {outcome.error.__name__}: by {name}"
            return plain(action="deny", reason=why) if spec.guard else None
        return None if outcome.answer is None else fields_of(outcome.answer)

    def _take(self, name: str, fields: dict[str, Any]) -> None:
        if fields["action"] == "ask_user" and self.question is None:
            self.question = fields
            return
        if fields["action"] == "modify" and fields["data"] is not None:
            self.data, self.modified = fields["data"], True
        if fields["action"] == "inject_context":
            self._inject(name, fields)
        own = {
            "text": fields["user_message"],
            "level": fields["user_message_level"],
            "source": fields["user_message_source"] or name,
        }
        self.said.append((fields, fields["user_messages"] + ([own] if own["text"] else [])))

    def _inject(self, name: str, fields: dict[str, Any]) -> None:
        listed = fields["context_injections"]
        if not listed and fields["context_injection"] is not None:
            single = {
                "content": fields["context_injection"],
                "role": fields["context_injection_role"],
                "ephemeral": fields["ephemeral"],
                "append_to_last_tool_result": fields["append_to_last_tool_result"],
            }
            listed = [single]
        if listed:
            self.injecting.append(fields)
            self.injections += [{**one, "hook_name": name, "event": EVENT} for one in listed]

    def _messages(self, but: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        return [one for fields, said in self.said if fields is not but for one in said]

    def _beside(self, winner: dict[str, Any]) -> dict[str, Any]:
        return {
            **winner,
            "context_injections": self.injections + winner["context_injections"],
            "user_messages": self._messages() + winner["user_messages"],
        }

    def _conclusion(self) -> dict[str, Any]:
        changed = self.data if self.modified else None
        if self.question is not None:
            own = self.question["data"]
            return self._beside({**self.question, "data": changed if own is None else own})
        if not self.injecting:
            return plain(action="continue", data=self.data, user_messages=self._messages())
        first = self.injecting[0]
        if len(self.injecting) == 1:
            base = {**first, "user_messages": self._messages(first) + first["user_messages"]}
            base["data"] = changed if first["data"] is None else first["data"]
        else:
            reasons = [one["reason"] for one in self.injecting if one["reason"]]
            base = plain(
                action="inject_context",
                data=changed,
                reason="\n".join(reasons) if reasons else None,
                suppress_output=first["suppress_output"],
                user_messages=self._messages(),
            )
        return base | self._merged_scalars()

    def _merged_scalars(self) -> dict[str, Any]:
        leader = self.injections[0]
        return {
            "context_injections": self.injections,
            "context_injection": "\n\n".join(one["content"] for one in self.injections),
            "context_injection_role": leader["role"],
            "ephemeral": leader["ephemeral"],
            "append_to_last_tool_result": any(
                one["append_to_last_tool_result"] for one in self.injections
            ),
        }


def plain(**fields: Any) -> dict[str, Any]:
    return fields_of(HookResult()) | fields


def fields_of(result: HookResult) -> dict[str, Any]:
    """All fields, also those that are never dumped."""
    return {
        **dict(result),
        "context_injections": [dict(one) for one in result.context_injections],
        "user_messages": [dict(one) for one in result.user_messages],
    }


def without_timestamp(data: dict[str, Any] | None) -> dict[str, Any] | None:
    return data and {key: value for key, value in data.items() if key != "timestamp"}


@THOROUGH
@given(st.lists(specs, max_size=7))
def test_any_mix_of_handlers_adds_up_to_what_the_rules_say(mix: list[Spec]) -> None:
    hooks, called = HookRegistry(), []
    given_answers = [
        fields_of(spec.outcome.answer)
        for spec in mix
        if isinstance(spec.outcome.answer, HookResult)
    ]
    for index, spec in enumerate(mix):
        register(hooks, f"h{index}", spec, called)
    ordered = sorted(enumerate(mix), key=lambda each: each[1].priority)
    model = Model({"a": 1})
    expected = model.run([(f"h{index}", spec) for index, spec in ordered])
    data = {"a": 1}

    observed = fields_of(asyncio.run(hooks.emit(EVENT, data)))

    if str(observed["reason"]).endswith(INVALID):
        observed["reason"] = INVALID
    observed["data"] = without_timestamp(observed["data"])
    assert observed == expected
    assert [(name, without_timestamp(seen)) for name, seen in called] == model.called
    assert data == {"a": 1}
    assert given_answers == [
        fields_of(spec.outcome.answer)
        for spec in mix
        if isinstance(spec.outcome.answer, HookResult)
    ]


@THOROUGH
@given(st.lists(specs, max_size=7))
def test_collecting_from_any_mix_asks_everyone_and_keeps_all_data(mix: list[Spec]) -> None:
    hooks, called = HookRegistry(), []
    for index, spec in enumerate(mix):
        register(hooks, f"h{index}", spec, called)
    ordered = sorted(enumerate(mix), key=lambda each: each[1].priority)
    answers_given = [spec.outcome.answer for _, spec in ordered if spec.outcome.kind == "answer"]

    collected = asyncio.run(hooks.emit_and_collect(EVENT, {"a": 1}))

    assert collected == [each.data for each in answers_given if each and each.data is not None]
    assert called == [(f"h{index}", {"a": 1}) for index, _ in ordered]


# -- registering and removing ---------------------------------------------------------


@dataclass
class Record:
    event: str
    priority: int
    name: str
    token: int
    call: int


event_names = st.sampled_from(["a", "b", "*"])
operations = st.one_of(
    st.tuples(
        st.just("register"),
        st.lists(event_names, min_size=1, max_size=3),
        st.integers(-1, 1),
        st.sampled_from(["x", "y", "z"]),
    ),
    st.tuples(st.just("take back"), st.integers(0, 30)),
    st.tuples(st.just("unregister"), st.sampled_from(["x", "y", "z"])),
    st.tuples(st.just("emit"), event_names),
)


def listed(records: list[Record]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for record in sorted(records, key=lambda each: each.priority):
        names.setdefault(record.event, []).append(record.name)
    return names


def heard(records: list[Record], event: str) -> list[int]:
    """Which handlers run for an event: its own and those of "*", by priority and age."""
    running = [each for each in records if each.event in (event, "*")]
    return [each.call for each in sorted(running, key=lambda each: (each.priority, each.token))]


@THOROUGH
@given(st.lists(operations, max_size=20))
def test_any_sequence_of_changes_keeps_lists_and_order_of_calls_right(changes: list[Any]) -> None:
    hooks = HookRegistry()
    records: list[Record] = []
    taking_back: list[Any] = []
    log: list[int] = []
    for number, (what, *arguments) in enumerate(changes):
        if what == "register":
            each_event, priority, name = arguments
            call = len(taking_back)
            taking_back.append(
                hooks.register(each_event, lambda e, d, call=call: log.append(call), priority, name)
            )
            records += [
                Record(event, priority, name, number * 10 + place, call)
                for place, event in enumerate(each_event)
            ]
        elif what == "take back" and arguments[0] < len(taking_back):
            taking_back[arguments[0]]()
            records = [each for each in records if each.call != arguments[0]]
        elif what == "unregister":
            hooks.unregister(arguments[0])
            records = [each for each in records if each.name != arguments[0]]
        elif what == "emit":
            log.clear()
            asyncio.run(hooks.emit(arguments[0], {}))
            assert log == heard(records, arguments[0])
        assert hooks.list_handlers() == listed(records)
    for event in ("a", "b", "*", "never registered"):
        log.clear()
        asyncio.run(hooks.emit(event, {}))
        assert log == heard(records, event)
        assert hooks.list_handlers(event) == {event: listed(records).get(event, [])}
