"""What a person sees: the answer on stdout as it comes, everything else on stderr."""

import pytest
from helpers_app import App

LOOK_AND_ANSWER = """
    async def reply(number, request):
        return uses("look", show="files") if number == 1 else says("There is one file.")
"""


def test_the_answer_alone_is_on_stdout(app: App) -> None:
    (app.work / "notes.txt").touch()
    app.offer_provider(LOOK_AND_ANSWER)

    ended = app.run("run", "-p", "mock", "What is here?")

    assert (ended.code, ended.out) == (0, "There is one file.\n")
    assert ended.err.splitlines() == [
        "Stand-in (tiny)",
        "-> look(show='files')",
        "<- notes.txt",
    ]


def test_the_chosen_model_is_shown(app: App) -> None:
    ended = app.run("run", "-p", "mock", "-m", "parrot", "Hello")

    assert ended.err == "Mock (scripted replies) (parrot)\n"


async def test_every_chunk_is_shown_before_the_next_is_made(app: App) -> None:
    app.offer_provider(
        """
        async def stream_complete(self, request, **options):
            yield {"thinking": "hidden"}
            yield {"text": "one "}
            await wait_for("go")
            yield {"text": "two"}
            yield {"response": says("one two")}

        Standin.stream_complete = stream_complete
        """
    )
    running = await app.start("run", "-p", "mock", "Count.")

    await running.shown("one ")
    (app.work / "go").touch()
    ended = await running.end()

    assert (ended.code, ended.out) == (0, "two\n")


def test_words_tool_calls_and_answer_come_in_order(app: App) -> None:
    app.offer_provider(
        """
        async def stream_complete(self, request, **options):
            self.calls += 1
            if self.calls == 1:
                yield {"text": "Let me look."}
                yield {"response": uses("look", show="files")}
            else:
                yield {"text": "Done."}
                yield {"response": says("Done.")}

        Standin.stream_complete = stream_complete
        """
    )

    ended = app.shell("$amplifier run -p mock Hello 2>&1")

    assert ended.out.splitlines() == [
        "Stand-in (tiny)",
        "Let me look.",
        "-> look(show='files')",
        "<- nothing",
        "Done.",
    ]


def test_what_a_hook_makes_of_the_answer_is_shown_after_what_was_streamed(app: App) -> None:
    app.offer_provider(
        """
        async def stream_complete(self, request, **options):
            yield {"text": "draft"}
            yield {"response": says("final")}

        Standin.stream_complete = stream_complete
        """
    )

    ended = app.run("run", "-p", "mock", "Hello")

    assert ended.out == "draft\nfinal\n"


def test_long_or_tricky_tool_results_stay_one_harmless_line(app: App) -> None:
    app.offer_provider(LOOK_AND_ANSWER)
    app.offer_tool(
        """
        async def look(input):
            return ToolResult(output="\\x1b[2Jfirst\\nsecond " + "x" * 500)
        """
    )

    line = app.run("run", "-p", "mock", "Hello").err.splitlines()[2]

    assert line.startswith("<- ?[2Jfirst second xxx")
    assert line.endswith("...")
    assert len(line) == 100


@pytest.mark.parametrize(
    ("look", "shown"),
    [
        ("raise KeyError('lost')", "<- Error executing tool: KeyError: 'lost'"),
        ("return ToolResult(success=False, error={'message': 'Too dark.'})", "<- Too dark."),
    ],
)
def test_a_tool_that_fails_is_one_line_and_the_turn_goes_on(
    app: App, look: str, shown: str
) -> None:
    app.offer_provider(LOOK_AND_ANSWER)
    app.offer_tool(f"async def look(input):\n    {look}\n")

    ended = app.run("run", "-p", "mock", "Hello")

    assert (ended.code, ended.out) == (0, "There is one file.\n")
    assert ended.err.splitlines()[2:] == [shown]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("KeyError('usage')", "KeyError: 'usage'"),
        ("RuntimeError", "RuntimeError"),
        ("ValueError('two\\nlines')", "ValueError: two lines"),
        ("AuthenticationError('The key is wrong.')", "The key is wrong."),
    ],
)
def test_a_provider_that_raises_ends_the_turn_with_one_line(
    app: App, error: str, shown: str
) -> None:
    app.offer_provider(
        f"""
        from amplifier_core.llm_errors import AuthenticationError

        async def reply(number, request):
            raise {error}
        """
    )

    ended = app.run("run", "-p", "mock", "Hello")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == ["Stand-in (tiny)", f"amplifier: {shown}"]


def test_what_was_streamed_before_a_failure_ends_its_line(app: App) -> None:
    app.offer_provider(
        """
        async def stream_complete(self, request, **options):
            yield {"text": "I begin"}
            raise RuntimeError("gone")

        Standin.stream_complete = stream_complete
        """
    )

    ended = app.run("run", "-p", "mock", "Hello")

    assert (ended.code, ended.out) == (1, "I begin\n")


def test_verbose_shows_the_traceback(app: App) -> None:
    app.offer("provider-broken", "async def mount(coordinator, config=None):\n    1 / 0\n")

    ended = app.run("run", "-v", "-p", "broken", "Hello")

    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "ZeroDivisionError" in ended.err


def test_a_warning_that_a_module_logs_is_one_line(app: App) -> None:
    app.offer_provider(
        """
        import logging

        async def reply(number, request):
            try:
                1 / 0
            except ZeroDivisionError:
                logging.getLogger("mock").warning("Odd,\\nbut true.", exc_info=True)
            return says("Hello.")
        """
    )

    ended = app.run("run", "-p", "mock", "Hello")

    assert (ended.code, ended.out) == (0, "Hello.\n")
    assert ended.err.splitlines() == ["Stand-in (tiny)", "warning: Odd, but true."]


NOISY = """
    print("imported")

    async def reply(number, request):
        print("printed")
        os.write(1, b"written\\n")
        os.system("echo by a child")
        return says("The answer.")
"""


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_nothing_that_a_module_prints_reaches_stdout(app: App, output_format: str) -> None:
    app.offer_provider(NOISY)

    ended = app.run("run", "-p", "mock", "Hello", "--output-format", output_format)

    assert ended.code == 0
    assert (ended.document["response"] if output_format == "json" else ended.out.strip()) == (
        "The answer."
    )
    assert {"imported", "printed", "written", "by a child"} <= set(ended.err.splitlines())


def test_what_stdout_cannot_show_is_written_as_an_escape(app: App) -> None:
    app.offer_provider("async def reply(number, request):\n    return says('Grüße 中 \\udcff')\n")

    ended = app.run("run", "-p", "mock", "Hello", PYTHONIOENCODING="latin-1")

    assert (ended.code, ended.out) == (0, "Grüße \\u4e2d \\udcff\n")


def test_a_reader_who_goes_away_ends_the_turn_quietly(app: App) -> None:
    app.offer_provider(
        """
        async def stream_complete(self, request, **options):
            number = 0
            while True:
                number += 1
                yield {"text": f"line {number}\\n"}
                await asyncio.sleep(0)

        Standin.stream_complete = stream_complete
        """
    )

    ended = app.shell("{ $amplifier run -p mock Count; echo $? >code; } | head -n 1")

    assert ended.out == "line 1\n"
    assert ended.err == "Stand-in (tiny)\n"
    assert (app.work / "code").read_text() == "1\n"


def test_closed_streams_are_no_reason_to_crash(app: App) -> None:
    unread = app.shell("$amplifier run -p mock Hello >&-")
    silent = app.shell("$amplifier run -p mock Hello 2>&-")

    assert (unread.code, unread.err) == (1, "Mock (scripted replies) (mock-model)\n")
    assert (silent.code, silent.err) == (0, "")
    assert silent.out.startswith("A canned reply")


@pytest.mark.parametrize("flags", [[], ["-v"], ["--output-format", "json"]])
def test_a_key_in_an_error_is_not_printed(app: App, flags: list[str]) -> None:
    app.offer_provider(
        """
        async def reply(number, request):
            raise RuntimeError("401 for key " + os.environ["STANDIN_API_KEY"])
        """
    )

    ended = app.run("run", "-p", "mock", *flags, "Hello", STANDIN_API_KEY="canary-0123")

    assert ended.code == 1
    assert "canary-0123" not in ended.out + ended.err
    assert "401 for key [REDACTED]" in ended.out + ended.err
