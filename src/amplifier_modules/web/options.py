"""The config of tool-web."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from amplifier_modules.settings import PROTECTED_PATHS, Settings
from amplifier_modules.web.addresses import special_kind
from amplifier_modules.web.client import Limits
from amplifier_modules.web.failures import WebError
from amplifier_modules.web.guard import Guard
from amplifier_modules.web.hosts import HostList
from amplifier_modules.web.targets import Target, read_target

MODULE_ID = "tool-web"


def _readable(patterns: list[str]) -> list[str]:
    HostList.read(patterns)
    return patterns


def _hosts_or_false(value: Any) -> Any:
    if value is True:
        raise ValueError("list the hosts that may have private addresses")
    return [] if value is False else value


Hosts = Annotated[list[str], AfterValidator(_readable)]


class WebSettings(Settings):
    """Keys of tool-web."""

    timeout: float = Field(10, gt=0, le=600)
    """Seconds for one call in all: lookup, redirects and body."""
    max_bytes: int = Field(10_000_000, ge=1)
    max_redirects: int = Field(5, ge=0, le=20)
    default_limit: int = Field(204800, ge=1)
    extract_text: bool = True
    allowed_domains: Hosts = Field(default_factory=list)
    blocked_domains: Hosts = Field(default_factory=list)
    allow_private: Annotated[Hosts, BeforeValidator(_hosts_or_false)] = Field(default_factory=list)
    working_dir: str | None = None
    allowed_write_paths: list[str] | None = None
    """Folders for `save_to_file`; the working folder if None, and no saving if empty."""
    protected_paths: tuple[str, ...] = PROTECTED_PATHS
    """Parts of paths that nothing is saved to in any folder."""
    max_results: int = Field(5, ge=1, le=100)
    search_engine: str | None = None
    search_url: str | None = None
    api_key: SecretStr | None = None
    api_key_header: str = Field("Authorization", pattern=r"^[A-Za-z0-9-]+$")

    @property
    def limits(self) -> Limits:
        return Limits(self.timeout, self.max_bytes, self.max_redirects)

    @property
    def guard(self) -> Guard:
        return Guard(
            HostList.read(self.allowed_domains),
            HostList.read(self.blocked_domains),
            HostList.read(self.allow_private),
        )


def search_target(settings: WebSettings) -> Target | None:
    """Where to search; None if the built-in engine is off.

    Raises:
        ValueError: the keys of the search contradict each other.
    """
    engine = _engine(settings)
    if engine == "none":
        for key in ("search_url", "api_key"):
            if getattr(settings, key) is not None:
                raise _wrong(f"{key!r} is of no use without search_engine 'json'. Remove one.")
        return None
    if settings.search_url is None:
        raise _wrong("search_engine 'json' needs a 'search_url'. Add one.")
    try:
        target = read_target(settings.search_url)
    except WebError as error:
        raise _wrong(f"'search_url' is of no use. {error}") from None
    if settings.api_key is not None:
        _check_key(settings.api_key.get_secret_value(), target)
    return target


def _check_key(key: str, target: Target) -> None:
    if not key or not key.isascii() or not key.isprintable():
        raise _wrong("'api_key' is not plain text. Check where it comes from.")
    if target.scheme == "http" and not _is_loopback(target):
        raise _wrong("'api_key' would be sent unencrypted. Use an https 'search_url'.")


def _engine(settings: WebSettings) -> str:
    name = settings.search_engine
    if name is None:
        return "none" if settings.search_url is None else "json"
    if name in ("none", "json"):
        return name
    raise _wrong(
        f"there is no search engine {name!r}. Use 'json' with a 'search_url', or 'none' and a "
        "module that offers the capability 'web.search_backend'."
    )


def _is_loopback(target: Target) -> bool:
    address = target.address
    return target.host == "localhost" if address is None else special_kind(address) == "loopback"


def _wrong(text: str) -> ValueError:
    return ValueError(f"Config of {MODULE_ID!r}: {text}")
