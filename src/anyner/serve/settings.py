"""Limits of a server: sizes, timeouts and how requests share batches."""

from __future__ import annotations

from pydantic import Field

from anyner.settings import Settings


class ServeSettings(Settings):
    """Limits of a server. The command line sets those that depend on the deployment; the others keep one client from starving
    the rest."""

    key: str | None = Field(default=None, min_length=1)
    """The key that clients must send; None: no key."""
    hosts: tuple[str, ...] = ()
    """Accepted names in the Host header; empty: any. Keeps other web pages from reaching a server on this machine."""
    batch_wait: float = Field(default=0.0, ge=0.0, le=1.0)
    """Seconds a text waits for others to share its batch. Texts that arrive while a batch runs share the next one anyway."""
    batch_characters: int | None = Field(default=None, ge=1)
    """Characters of a batch, padding included; None: about the model's default batch size."""
    body_bytes: int = Field(default=4_000_000, ge=1)
    """Maximum size of a request body; for NDJSON, of a line."""
    all_bodies_bytes: int = Field(default=100_000_000, ge=1)
    """Maximum size of all bodies that are being read or answered."""
    body_seconds: float = Field(default=30.0, gt=0.0)
    """Timeout for a whole body; for NDJSON, for its next part."""
    texts: int = Field(default=1_000, ge=1)
    """Maximum number of texts in a request."""
    text_characters: int = Field(default=200_000, ge=1)
    """Maximum length of a text."""
    queue_texts: int = Field(default=4_000, ge=1)
    """Maximum number of texts that wait or run, for each model."""
    queue_characters: int = Field(default=8_000_000, ge=1)
    """Maximum number of their characters."""
    request_seconds: float = Field(default=60.0, gt=0.0)
    """Timeout from the end of a body to its answer; for NDJSON, for each text."""
    option_number: int = Field(default=100, ge=1)
    """Largest number that a request may set as an option: options decide how much is computed."""
    idle_seconds: float = Field(default=60.0, gt=0.0)
    """Timeout of connections without a request, and of those whose client does not read its answer."""
    stop_seconds: float = Field(default=90.0, gt=0.0)
    """Time to finish accepted requests before the server stops."""
