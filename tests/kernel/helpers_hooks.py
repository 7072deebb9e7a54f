"""Small handlers and shorthands for the tests of the event bus."""

from collections.abc import Awaitable, Callable
from typing import Any

from amplifier_core import HookRegistry, HookResult

Handler = Callable[[str, Any], Any]


def answering(answer: object) -> Handler:
    """A handler that always gives the same answer."""
    return lambda event, data: answer


def answering_later(answer: object) -> Callable[[str, Any], Awaitable[object]]:
    """The same as a coroutine function."""

    async def handler(event: str, data: Any) -> object:
        return answer

    return handler


def raising(error: BaseException) -> Handler:
    def handler(event: str, data: Any) -> None:
        raise error

    return handler


def noting(log: list[str], name: str, answer: object = None) -> Handler:
    """A handler that leaves its name in `log`."""

    def handler(event: str, data: Any) -> object:
        log.append(name)
        return answer

    return handler


def keeping(seen: list[Any]) -> Handler:
    """A handler that keeps the data it was given."""
    return lambda event, data: seen.append(data)


async def emitted(*answers: object, data: Any = None) -> HookResult:
    """What emit makes of these answers, given by handlers named h0, h1, ... in this order."""
    hooks = HookRegistry()
    for index, answer in enumerate(answers):
        hooks.register("tool:pre", answering(answer), name=f"h{index}")
    return await hooks.emit("tool:pre", {} if data is None else data)
