"""Steps down to a smaller model while a larger one is overloaded."""

from __future__ import annotations

import time

from .options import AnthropicSettings

_STEPS = {
    "fable": "claude-opus-5-5",
    "mythos": "claude-opus-5-5",
    "opus": "claude-sonnet-5-5",
    "sonnet": "claude-haiku-5-5",
}

_of_the_process: dict[str, float] = {}


class Fallback:
    """Which model stands in for which, and until when."""

    def __init__(self, settings: AnthropicSettings) -> None:
        self._settings = settings
        self._avoided = _of_the_process if settings.persist_fallback_state else {}
        self._overloads: dict[str, int] = {}

    def model_for(self, asked: str) -> str:
        """`asked`, or what stands in for it while it is to be left alone."""
        model = asked
        while self._settings.fallback_on_overload and time.monotonic() < self._until(model):
            lower = self._below(model)
            if lower is None:
                break
            model = lower
        return model

    def overloaded(self, model: str) -> str | None:
        """Note that `model` had no room; the model to take in its place, if it is time for that."""
        count = self._overloads[model] = self._overloads.get(model, 0) + 1
        lower = self._below(model)
        settings = self._settings
        if not settings.fallback_on_overload or count < settings.fallback_retry_count or not lower:
            return None
        self._avoided[model] = time.monotonic() + settings.fallback_cooldown_seconds
        self._overloads[model] = 0
        return lower

    def answered(self, model: str) -> None:
        self._overloads.pop(model, None)

    def _until(self, model: str) -> float:
        return self._avoided.get(model, 0.0)

    def _below(self, model: str) -> str | None:
        listed = self._settings.fallback_models
        if listed is None:
            return next((lower for family, lower in _STEPS.items() if family in model), None)
        following = listed[listed.index(model) + 1 :] if model in listed else listed
        return following[0] if following else None
