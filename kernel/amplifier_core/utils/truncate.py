"""Make values fit to be logged: shorten long texts, blank out secrets.

Both walk dicts and lists, return copies, and leave every other value as it is.
"""

from collections.abc import Callable, Set
from typing import Any

SENSITIVE_KEYS = frozenset(
    {
        "api_key",
        "apikey",
        "api-key",
        "secret",
        "password",
        "token",
        "credential",
        "credentials",
        "private_key",
        "privatekey",
        "auth",
        "authorization",
    }
)


def truncate_values(obj: Any, max_length: int = 180) -> Any:
    """Cut every text longer than `max_length`, noting how much is missing."""
    if isinstance(obj, str):
        missing = len(obj) - max_length
        return f"{obj[:max_length]}... (truncated {missing} chars)" if missing > 0 else obj
    return _copy_with(obj, lambda _key, value: truncate_values(value, max_length))


def redact_secrets(obj: Any, sensitive_keys: Set[str] = SENSITIVE_KEYS) -> Any:
    """Replace the value of every key that is sensitive, whole key and any case."""

    def redacted(key: Any, value: Any) -> Any:
        if isinstance(key, str) and key.lower() in sensitive_keys:
            return "[REDACTED]"
        return redact_secrets(value, sensitive_keys)

    return _copy_with(obj, redacted)


def _copy_with(obj: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Rebuild a dict or list from `change(key, value)`; list items have no key."""
    if isinstance(obj, dict):
        return {key: change(key, value) for key, value in obj.items()}
    if isinstance(obj, list):
        return [change(None, value) for value in obj]
    return obj
