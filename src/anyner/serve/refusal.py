"""The error of a refused request: its status, and the reason in one line."""

from __future__ import annotations

from anyner.errors import AnynerError


class RefusedError(AnynerError):
    """Becomes the answer `{"error": …}` with this status."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
