"""What a program sees: one JSON document on stdout, whatever happens."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from helpers_app import App, Ended


def run(app: App, provider: str = "mock", *more: str, **env: str) -> Ended:
    return app.run("run", "-p", provider, "--output-format", "json", "Hello", *more, **env)


def test_an_answer_is_a_document(app: App) -> None:
    ended = run(app, "mock", "--model", "parrot")

    document = ended.document
    assert ended.code == 0
    assert list(document) == [
        *("status", "response", "session_id", "bundle", "model", "timestamp"),
        *("usage", "children"),
    ]
    assert document["status"] == "success"
    assert document["response"].startswith("A canned reply")
    assert document["model"] == "parrot"
    assert document["bundle"] == "plain"
    assert UUID(document["session_id"])
    age = datetime.now(UTC) - datetime.fromisoformat(document["timestamp"])
    assert timedelta() <= age < timedelta(minutes=1)


def test_nothing_is_told_on_stderr(app: App) -> None:
    assert run(app, "mock").err == ""


def test_a_failure_is_a_document_with_the_session(app: App) -> None:
    app.offer_provider("async def reply(number, request):\n    raise RuntimeError('out of ink')\n")

    ended = run(app)

    document = ended.document
    assert ended.code == 1
    assert (document["status"], document["error"]) == ("error", "RuntimeError: out of ink")
    assert UUID(document["session_id"])
    assert "timestamp" in document
    assert "response" not in document


def test_a_failure_before_there_is_a_session_is_a_document(app: App) -> None:
    ended = run(app, "moc")

    assert ended.code == 1
    assert ended.document["error"] == "There is no provider 'moc'. Did you mean 'mock'?"
    assert "session_id" not in ended.document


def test_a_module_that_fails_to_load_is_a_document(app: App) -> None:
    app.offer("provider-broken", "async def mount(coordinator, config=None):\n    1 / 0\n")

    ended = run(app, "broken")

    assert ended.code == 1
    assert "'provider-broken': division by zero" in ended.document["error"]
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("count", [1, 2])
def test_a_tool_that_ends_the_program_does_not_end_the_document(app: App, count: int) -> None:
    app.offer_tool("async def look(input):\n    sys.exit(7)\n")
    app.offer_provider(
        f"""
        async def reply(number, request):
            calls = [ToolCall(id=str(n), name="look", arguments={{}}) for n in range({count})]
            return ChatResponse(content=[], tool_calls=calls)
        """
    )

    ended = run(app)

    assert ended.code == 1
    assert ended.document["error"] == "A module ended the program with SystemExit(7)."


def test_a_cleanup_that_fails_adds_no_second_document(app: App) -> None:
    app.offer_provider(
        """
        async def reply(number, request):
            return says("Done.")

        async def mount(coordinator, config=None):
            await coordinator.mount("providers", Standin(), name="mock")

            def cleanup():
                raise RuntimeError("stuck")

            return cleanup
        """
    )

    ended = run(app)

    assert (ended.code, ended.document["response"]) == (0, "Done.")
    assert "stuck" in ended.err


def test_the_document_is_the_same_in_every_encoding(app: App) -> None:
    app.offer_provider("async def reply(number, request):\n    return says('Grüße 中')\n")

    ended = run(app, PYTHONIOENCODING="ascii")

    assert (ended.code, ended.document["response"]) == (0, "Grüße 中")


def test_a_turn_says_what_it_used(app: App) -> None:
    usage = run(app).document["usage"]

    assert list(usage) == ["model_calls", "input_tokens", "output_tokens", "cost_usd"]
    assert usage["model_calls"] == 1
    assert usage["output_tokens"] > 0
    assert usage["cost_usd"] is None


def test_a_trace_has_every_call_with_its_result_and_time(app: App) -> None:
    app.offer_tool('async def look(input):\n    return ToolResult(output="one file")\n')
    app.offer_provider(
        """
        async def reply(number, request):
            return uses("look", show="files") if number == 1 else says("Done.")
        """
    )

    ended = app.run("run", "-p", "mock", "--output-format", "json-trace", "Hello")

    (call,) = ended.document["execution_trace"]
    kept = ["type", "tool", "arguments", "result", "timestamp", "duration_ms", "sequence"]
    assert list(call) == kept
    assert (call["type"], call["tool"], call["sequence"]) == ("tool_call", "look", 1)
    assert call["arguments"] == {"show": "files"}
    assert call["result"]["output"] == "one file"
    assert call["duration_ms"] >= 0
    assert datetime.fromisoformat(call["timestamp"])
    metadata = ended.document["metadata"]
    assert (metadata["total_tool_calls"], metadata["total_agents_invoked"]) == (1, 0)
    assert metadata["duration_ms"] >= call["duration_ms"]


def test_a_trace_has_the_calls_before_a_failure_and_those_that_were_denied(app: App) -> None:
    (app.home / "settings.yaml").write_text("bundle: {active: guarded}\n")
    (app.home / "bundles/guarded.yaml").write_text(
        "bundle: {name: guarded}\ntools: [{module: tool-look}]\nhooks: [{module: hooks-approval}]\n"
    )
    app.offer_provider(
        """
        async def reply(number, request):
            if number == 1:
                return uses("look")
            raise RuntimeError("out of ink")
        """
    )
    app.offer_tool('async def look(input):\n    return ToolResult(output="one file")\n')

    ended = app.run("run", "-p", "mock", "--output-format", "json-trace", "Hello")

    assert (ended.code, ended.document["status"]) == (1, "error")
    (call,) = ended.document["execution_trace"]
    assert "error" in call["result"]
