"""What the providers on OpenAI's SDK share: the client, its errors, the list of models."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from amplifier_core.message_models import ChatResponse, Degradation
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo

from amplifier_modules.providing.failures import Report
from amplifier_modules.providing.options import RemoteSettings
from amplifier_modules.providing.pieces import Plan
from amplifier_modules.providing.remote import RemoteProvider
from amplifier_modules.providing.sdk import Sdk

from .adapting import Adapter
from .models import CAPABILITIES
from .rehearsal import rehearse
from .requests import note

S = TypeVar("S", bound=RemoteSettings)

_LIMITS = "x-ratelimit-"
_NO_KEY = "none"
_STATUS_OF = {
    "server_error": 500,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "vector_store_timeout": 504,
}
_OWN_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


@dataclass(frozen=True)
class FamilyPlan(Plan):
    """A plan that knows which parameters the request itself asked for."""

    sampled: tuple[str, ...] = ()


class FamilyProvider(RemoteProvider[S]):
    """A provider on OpenAI's SDK."""

    sdk = Sdk(
        "openai",
        extra="openai",
        parts=("openai.resources.responses", "openai.resources.chat"),
        rehearse=rehearse,
    )
    title: ClassVar[str]
    credential_variables: ClassVar[tuple[str, ...]] = ()
    url_variables: ClassVar[tuple[str, ...]] = ()
    is_openai: ClassVar[bool] = False
    """Whether the other end is OpenAI itself, and not somebody who speaks like it."""

    def __init__(self, settings: S, key: Any, coordinator: Any) -> None:
        super().__init__(settings, key, coordinator)
        self._adapter = Adapter()
        self._whole_answer_timeout: Any = None

    @abstractmethod
    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use."""

    @abstractmethod
    def config_fields(self) -> list[ConfigField]:
        """What the set-up wizard asks for."""

    @abstractmethod
    def described(self, model: Any) -> ModelInfo:
        """A model of the vendor's list."""

    def get_info(self) -> ProviderInfo:
        active = self.get_model_info()
        return ProviderInfo(
            id=self.name,
            display_name=self.title,
            credential_env_vars=list(self.credential_variables),
            capabilities=[*CAPABILITIES, "thinking"],
            defaults={
                "model": active.id,
                "context_window": active.context_window,
                "max_output_tokens": active.max_output_tokens,
            },
            config_fields=self.config_fields(),
        )

    def base_url(self) -> str | None:
        return self.settings.base_url or first_set(self.url_variables)

    def new_client(self, sdk: Any) -> Any:
        # What the environment says about an account at OpenAI is nobody else's business.
        foreign = {} if self.is_openai else {name: sdk.Omit() for name in _OWN_HEADERS}
        return sdk.AsyncOpenAI(
            api_key=self.key.get_secret_value() if self.key else _NO_KEY,
            base_url=self.base_url(),
            default_headers=foreign,
            **self.client_options(sdk),
        )

    def client_options(self, sdk: Any) -> dict[str, Any]:
        settings = self.settings
        connect = settings.connect_timeout
        self._whole_answer_timeout = sdk.Timeout(settings.timeout, connect=connect)
        return {
            "max_retries": 0,
            "timeout": sdk.Timeout(settings.idle_timeout, connect=connect),
            # A redirect would take the key to wherever it points.
            "http_client": sdk.DefaultAsyncHttpxClient(
                verify=self.sdk.tls(), follow_redirects=False
            ),
        }

    async def created(
        self,
        create: Callable[..., Awaitable[Any]],
        body: Mapping[str, Any],
        named: Sequence[str],
        **more: Any,
    ) -> Any:
        """Call the SDK's `create`, again without what the model turns down."""
        while True:
            adapted = self._adapter.adapted(body)
            rest = {key: value for key, value in adapted.items() if key not in named}
            known = {key: adapted[key] for key in named}
            try:
                return await create(**known, extra_body=rest, **more)
            except Exception as error:
                if not self._adapter.learns(adapted, error):
                    raise

    def finished(self, plan: FamilyPlan, response: ChatResponse) -> ChatResponse:
        """`response` with a note of what the model did not take of what was asked."""
        refused = self._adapter.refused(plan.model)
        notes = [_left_out(name, plan.body[name]) for name in plan.sampled if name in refused]
        noted = replace(plan, degradations=(*plan.degradations, *notes))
        return response.model_copy(update={"degradation": noted.degradation()})

    async def fetch_models(self) -> list[ModelInfo]:
        client = await self.client()
        return [self.described(each) async for each in client.models.list() if self.lists(each.id)]

    def lists(self, model: str) -> bool:
        return True

    def report(self, error: Exception) -> Report | None:
        code = getattr(error, "code", None)
        if not hasattr(error, "body"):
            return None
        said = _message(error)
        if code and code not in said:
            said = f"{said} ({code})"
        response = getattr(error, "response", None)
        status = getattr(error, "status_code", None)
        if response is not None and status is not None and status >= 300:
            return Report(status, said, dict(response.headers))
        if error.body is None or status is not None:
            return None
        return Report(status_of(code), said)


def status_of(code: str | None) -> int:
    """What the status would have been, of an error in the middle of an answer."""
    return _STATUS_OF.get(code, 400) if code else 500


def _message(error: Any) -> str:
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error")
        said = body.get("message") or (inner if isinstance(inner, str) else None)
        return str(said or error)
    return str(body or error)


def _left_out(name: str, value: Any) -> Degradation:
    return note(f"{name} {value}", "the model's own", "this model does not take it")


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    lowered = {name.lower(): value for name, value in headers.items()}
    return {
        name.removeprefix(_LIMITS): value
        for name, value in lowered.items()
        if name.startswith(_LIMITS)
    }


def first_set(variables: Sequence[str]) -> str | None:
    """The first of these environment variables that is set to something."""
    return next((os.environ[each].strip() for each in variables if os.environ.get(each)), None)
