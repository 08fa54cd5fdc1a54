"""From chunks to one output file, resuming an interrupted run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from anyner.bulk.chunks import Chunk, Done
from anyner.bulk.forms import Form
from anyner.bulk.parts import Parts
from anyner.bulk.workers import Task
from anyner.inference.recognizer import Recognizer
from anyner.version import __version__


def run_identity(recognizer: Recognizer, inputs: Any, form: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Identifies a run: runs with equal identities write the same bytes."""
    model = hashlib.sha256(recognizer.config.model_dump_json().encode(errors="backslashreplace")).hexdigest()
    runtime = type(recognizer.runtime).__name__ + ("" if recognizer.runtime.padded else " in int8")
    settings = {key: value for key, value in chosen.items() if key != "batch_tokens"}
    return {"anyner": __version__, "model": model, "runtime": runtime, "inputs": inputs, "form": form, "settings": settings}


def left_to_do(chunks: Iterable[Chunk], parts: Parts) -> Iterator[Task | Done]:
    """A task for every chunk, or `Done` if an earlier run wrote its part."""
    for number, chunk in enumerate(chunks):
        path = parts.path(number)
        yield Done(len(chunk.documents)) if path.exists() else Task(chunk, path)


def predict_chunks(
    chunks: Iterable[Chunk],
    parts: Parts,
    form: Form,
    do: Callable[[Iterable[Task]], Iterator[Done]],
    on_progress: Callable[[Done], object],
) -> Done:
    """`do` predicts tasks in order; `on_progress` is called after every chunk with all that is done, including earlier runs."""
    number = 0
    skipped: list[Done] = []

    def tasks() -> Iterator[Task]:
        nonlocal number
        for todo in left_to_do(chunks, parts):
            number += 1
            if isinstance(todo, Done):
                skipped.append(todo)
            else:
                yield todo

    done = Done(0)
    for one in do(tasks()):
        done = sum(skipped, done + one)
        skipped.clear()
        on_progress(done)
    done = sum(skipped, done)
    parts.join(number, form.join)
    return done
