"""The same tool step in semantic-kernel: its own loop, with an instant model and function."""

from itertools import cycle
from typing import Any, ClassVar

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import ChatHistory, ChatMessageContent, FunctionCallContent
from semantic_kernel.functions import kernel_function
from timing import us_per_await

ANSWER = ChatMessageContent(role="assistant", content="done")


class Files:
    """Reads nothing, instantly."""

    @kernel_function(name="read", description="Returns a fixed text.")
    async def read(self, path: str) -> str:
        return "contents"


class Model(ChatCompletionClientBase):
    """Calls the function so many times and then answers, over and over again."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    answers: Any

    async def _inner_get_chat_message_contents(
        self, chat_history: ChatHistory, settings: PromptExecutionSettings
    ) -> list[ChatMessageContent]:
        return [next(self.answers)]


def model(steps: int) -> Model:
    calls = [
        FunctionCallContent(
            id=f"call-{number}",
            plugin_name="files",
            function_name="read",
            arguments='{"path": "a.txt"}',
        )
        for number in range(steps)
    ]
    answers = [ChatMessageContent(role="assistant", items=[call]) for call in calls]
    return Model(ai_model_id="standin", answers=cycle([*answers, ANSWER]))


async def us_per_turn(steps: int) -> float:
    """Microseconds of a turn with so many function calls."""
    kernel, chat = Kernel(), model(steps)
    kernel.add_plugin(Files(), "files")
    kernel.add_service(chat)
    behavior = FunctionChoiceBehavior.Auto(maximum_auto_invoke_attempts=steps + 1)
    settings = PromptExecutionSettings(function_choice_behavior=behavior)

    async def turn() -> ChatHistory:
        history = ChatHistory()
        history.add_user_message("go")
        answer = await chat.get_chat_message_content(history, settings, kernel=kernel)
        assert answer is ANSWER
        return history

    results = [message for message in await turn() if message.role == "tool"]
    assert [message.items[0].result for message in results] == ["contents"] * steps
    return await us_per_await(turn)


async def step() -> dict[str, float]:
    """Microseconds per function call: what 100 of them add to a turn."""
    return {"us": (await us_per_turn(100) - await us_per_turn(0)) / 100}
