"""What a server allows: sizes, times and how requests share batches."""

from __future__ import annotations

from pydantic import Field

from anyner.settings import Settings


class ServeSettings(Settings):
    """Limits of a server. The command line sets those that depend on the place it runs at; the others bound what one client can
    take from the rest."""

    key: str | None = Field(default=None, min_length=1)
    """What clients must send; None: no key."""
    hosts: tuple[str, ...] = ()
    """Names by which the server may be called; none: any. Keeps other web pages from reaching a server on this machine."""
    batch_wait: float = Field(default=0.0, ge=0.0, le=1.0)
    """Seconds a text waits for others to share its batch. Texts that arrive while a batch runs share the next one anyway."""
    batch_characters: int | None = Field(default=None, ge=1)
    """Characters of a batch, padding included; None: about as many as the model reads at once where it runs."""
    body_bytes: int = Field(default=4_000_000, ge=1)
    """Largest body of a request; of NDJSON the longest line."""
    all_bodies_bytes: int = Field(default=100_000_000, ge=1)
    """Bytes of all bodies that are being read."""
    body_seconds: float = Field(default=30.0, gt=0.0)
    """Time for a whole body; of NDJSON for its next part."""
    texts: int = Field(default=1_000, ge=1)
    """Most texts of a request."""
    text_characters: int = Field(default=200_000, ge=1)
    """Longest text."""
    queue_texts: int = Field(default=4_000, ge=1)
    """Most texts that wait or run, for each model."""
    queue_characters: int = Field(default=8_000_000, ge=1)
    """Most characters of them."""
    request_seconds: float = Field(default=60.0, gt=0.0)
    """Time from the end of a body to its answer; of NDJSON for each text."""
    option_number: int = Field(default=100, ge=1)
    """Largest number that a request may choose as an option: options decide how much is computed."""
    idle_seconds: float = Field(default=60.0, gt=0.0)
    """Time until a connection without a request is closed, and one whose client does not read its answer."""
    stop_seconds: float = Field(default=90.0, gt=0.0)
    """Time to finish what was accepted before the server stops."""
