"""What can go wrong with a model, in one vocabulary for every provider.

    LLMError
    ├── RateLimitError             retry
    │   └── QuotaExceededError
    ├── AuthenticationError
    │   └── AccessDeniedError
    ├── ProviderUnavailableError   retry
    │   └── NetworkError           retry
    ├── LLMTimeoutError            retry
    ├── StreamError                retry
    ├── ContextLengthError, ContentFilterError, InvalidRequestError, InvalidToolCallError
    └── NotFoundError, AbortError, ConfigurationError

A provider translates what its SDK raises with `raise ... from`. Retrying is in `utils.retry`.
"""


class LLMError(Exception):
    """A model call failed. The attributes say who failed and whether to try again.

    `retry_after` is the number of seconds the vendor asked to wait. `delay_multiplier`
    stretches the backoff that `compute_delay()` finds for this one error; it is
    applied after the max_delay cap, so that an overloaded vendor can be given a longer rest.
    """

    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        status_code: int | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        delay_multiplier: float = 1.0,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.status_code = status_code
        self.retryable = type(self).retryable if retryable is None else retryable
        self.retry_after = retry_after
        self.delay_multiplier = delay_multiplier

    def __repr__(self) -> str:
        usual = {"retryable": False, "delay_multiplier": 1.0}
        names = ("provider", "model", "status_code", "retryable", "retry_after", "delay_multiplier")
        unusual = [name for name in names if getattr(self, name) != usual.get(name)]
        parts = [repr(str(self)), *(f"{name}={getattr(self, name)!r}" for name in unusual)]
        return f"{type(self).__name__}({', '.join(parts)})"


class RateLimitError(LLMError):
    """Too many requests for now (429)."""

    retryable = True


class QuotaExceededError(RateLimitError):
    """The paid quota is used up; waiting does not help."""

    retryable = False


class AuthenticationError(LLMError):
    """The credentials are missing or wrong (401)."""


class AccessDeniedError(AuthenticationError):
    """The credentials are right and do not permit this (403)."""


class ContextLengthError(LLMError):
    """The request is longer than the model can read (413)."""


class ContentFilterError(LLMError):
    """The vendor's safety filter refused the request or the answer."""


class InvalidRequestError(LLMError):
    """The vendor could not make sense of the request (400, 422)."""


class ProviderUnavailableError(LLMError):
    """The vendor is down or overloaded (5xx)."""

    retryable = True


class NetworkError(ProviderUnavailableError):
    """No answer arrived: name lookup, connection or TLS failed."""


class LLMTimeoutError(LLMError):
    """The answer did not arrive in time."""

    retryable = True


class NotFoundError(LLMError):
    """The vendor knows no such model or endpoint (404)."""


class StreamError(LLMError):
    """The answer broke off while streaming."""

    retryable = True


class AbortError(LLMError):
    """The caller cancelled the request."""


class InvalidToolCallError(LLMError):
    """The model wrote a tool call that cannot be parsed."""

    def __init__(
        self,
        message: str,
        *,
        tool_name: str | None = None,
        raw_arguments: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        status_code: int | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(
            message, provider=provider, model=model, status_code=status_code, retryable=retryable
        )
        self.tool_name = tool_name
        self.raw_arguments = raw_arguments


class ConfigurationError(LLMError):
    """The provider is set up wrongly; no request was sent."""
