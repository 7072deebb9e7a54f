"""Descriptions of providers, models and modules, and the status of a session."""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.models import (
    ConfigField,
    ModelInfo,
    ModuleInfo,
    Pricing,
    ProviderInfo,
    SessionStatus,
)
from pydantic import BaseModel, ValidationError

MODEL = {"id": "m-1", "display_name": "M 1", "context_window": 1000, "max_output_tokens": 100}
MODULE = {
    "id": "tool-bash",
    "name": "bash",
    "version": "1.0",
    "type": "tool",
    "mount_point": "tools",
    "description": "Runs commands.",
}


@pytest.mark.parametrize(
    ("model", "required"),
    [
        (Pricing, {"input_per_million": 1.0, "output_per_million": 2.0}),
        (ModelInfo, MODEL),
        (ConfigField, {"id": "key", "display_name": "Key", "prompt": "API key?"}),
        (ProviderInfo, {"id": "p", "display_name": "P"}),
        (ModuleInfo, MODULE),
        (SessionStatus, {"session_id": "s"}),
    ],
)
def test_each_required_field_is_demanded(model: type[BaseModel], required: dict[str, Any]) -> None:
    model(**required)
    for missing in required:
        with pytest.raises(ValidationError, match=f"{missing}\n  Field required"):
            model(**{name: value for name, value in required.items() if name != missing})


def test_a_price_is_in_dollars_and_knows_no_cache_by_default() -> None:
    assert Pricing(input_per_million=3, output_per_million=15).model_dump() == {
        "input_per_million": 3.0,
        "output_per_million": 15.0,
        "cache_read_per_million": None,
        "cache_write_per_million": None,
        "currency": "USD",
    }


@pytest.mark.parametrize("currency", ["usd", "US", "USDX", "ÜSD", "", "USD\n", "U1D"])
def test_a_currency_is_three_upper_case_letters(currency: str) -> None:
    with pytest.raises(ValidationError, match="ISO 4217"):
        Pricing(input_per_million=1, output_per_million=1, currency=currency)


def test_other_currencies_are_welcome() -> None:
    assert Pricing(input_per_million=1, output_per_million=1, currency="EUR").currency == "EUR"


def test_a_model_promises_nothing_it_does_not_list() -> None:
    assert ModelInfo(**MODEL).model_dump() == MODEL | {
        "capabilities": [],
        "defaults": {},
        "pricing": None,
    }


def test_a_model_carries_its_price() -> None:
    model = ModelInfo(**MODEL, pricing={"input_per_million": 1, "output_per_million": 2})

    assert model.pricing == Pricing(input_per_million=1, output_per_million=2)


def test_lists_and_dicts_are_not_shared_between_descriptions() -> None:
    ModelInfo(**MODEL).capabilities.append("tools")
    ProviderInfo(id="p", display_name="P").defaults["model"] = "m-1"

    assert ModelInfo(**MODEL).capabilities == []
    assert ProviderInfo(id="p", display_name="P").defaults == {}


def test_a_setup_question_is_required_text_by_default() -> None:
    assert ConfigField(id="key", display_name="Key", prompt="API key?").model_dump() == {
        "id": "key",
        "display_name": "Key",
        "field_type": "text",
        "prompt": "API key?",
        "env_var": None,
        "choices": None,
        "required": True,
        "default": None,
        "show_when": None,
        "requires_model": False,
    }
    with pytest.raises(ValidationError, match="'text', 'secret', 'choice' or 'boolean'"):
        ConfigField(id="k", display_name="K", prompt="?", field_type="number")  # type: ignore[arg-type]


def test_a_provider_describes_its_setup_questions() -> None:
    question = {"id": "key", "display_name": "Key", "prompt": "API key?", "field_type": "secret"}
    provider = ProviderInfo(id="p", display_name="P", config_fields=[question])

    assert provider.config_fields == [ConfigField(**question)]
    assert provider.model_dump(exclude={"config_fields"}) == {
        "id": "p",
        "display_name": "P",
        "credential_env_vars": [],
        "capabilities": [],
        "defaults": {},
    }


@pytest.mark.parametrize(
    "kind", ["orchestrator", "provider", "tool", "context", "hook", "resolver"]
)
def test_a_module_is_of_a_known_kind(kind: str) -> None:
    assert ModuleInfo(**MODULE | {"type": kind}).type == kind
    with pytest.raises(ValidationError, match="type"):
        ModuleInfo(**MODULE | {"type": kind + "s"})


def test_a_session_starts_running_with_empty_counters() -> None:
    before = datetime.now()
    status = SessionStatus(session_id="s")

    assert before <= status.started_at <= datetime.now()
    assert status.model_dump(exclude={"session_id", "started_at"}) == {
        "ended_at": None,
        "status": "running",
        "total_messages": 0,
        "tool_invocations": 0,
        "tool_successes": 0,
        "tool_failures": 0,
        "total_input_tokens": 0,
        "total_output_tokens": 0,
        "cost_usd": None,
        "last_activity": None,
        "last_error": None,
        "failed_modules": None,
    }


def test_a_session_cannot_be_in_an_unknown_state() -> None:
    with pytest.raises(ValidationError, match="'running', 'completed', 'failed' or 'cancelled'"):
        SessionStatus(session_id="s", status="paused")  # type: ignore[arg-type]


def test_status_becomes_a_json_ready_dict_without_empty_fields() -> None:
    status = SessionStatus(
        session_id="s",
        started_at=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
        cost_usd=Decimal("0"),
        failed_modules=[{"module_id": "tool-x", "error": "boom"}],
    )

    assert status.to_dict() == {
        "session_id": "s",
        "started_at": "2030-01-02T03:04:05Z",
        "status": "running",
        "total_messages": 0,
        "tool_invocations": 0,
        "tool_successes": 0,
        "tool_failures": 0,
        "total_input_tokens": 0,
        "total_output_tokens": 0,
        "cost_usd": "0",
        "failed_modules": [{"module_id": "tool-x", "error": "boom"}],
    }


def test_the_cost_of_a_session_is_exact_and_never_a_float() -> None:
    status = SessionStatus(session_id="s", cost_usd="0.10")  # type: ignore[arg-type]

    assert status.cost_usd == Decimal("0.10")
    assert status.model_dump()["cost_usd"] == "0.10"
    with pytest.raises(ValidationError, match="must be Decimal"):
        SessionStatus(session_id="s", cost_usd=0.1)  # type: ignore[arg-type]


def test_the_schema_of_a_cost_allows_text() -> None:
    choices = SessionStatus.model_json_schema()["properties"]["cost_usd"]["anyOf"]

    assert "string" in {choice["type"] for choice in choices}


def test_importing_the_models_builds_none_of_their_validators() -> None:
    """Building them all would double the time a program takes to start."""
    script = (
        "from pydantic import BaseModel\n"
        "from amplifier_core import interfaces, message_models, models\n"
        "found = {value for module in (interfaces, message_models, models)"
        " for value in vars(module).values()"
        " if isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel}\n"
        "built = [model for model in found if model.__pydantic_complete__]\n"
        "assert len(found) > 25 and built == [], built\n"
        "models.HookResult(reason='why')\n"
        "assert models.HookResult.__pydantic_complete__\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_threads_may_use_a_model_for_the_first_time_together() -> None:
    script = (
        "import sys, threading\n"
        "from amplifier_core.message_models import ChatRequest\n"
        "from amplifier_core.models import HookResult\n"
        "sys.setswitchinterval(1e-6)\n"
        "start, made = threading.Barrier(8), []\n"
        "def use():\n"
        "    start.wait(5)\n"
        "    HookResult(action='deny').model_dump()\n"
        "    made.append(ChatRequest(messages=[{'role': 'user', 'content': 'x'}]))\n"
        "threads = [threading.Thread(target=use) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join(30) for thread in threads]\n"
        "assert len(made) == 8 and all(request == made[0] for request in made)\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
