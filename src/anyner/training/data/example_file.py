"""Training examples in a memory-mapped Arrow file, for corpora whose windows would take too much memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.examples import Entities, Example, WindowSoftLabels
from anyner.encoding.pieces import PieceVocabulary
from anyner.errors import AnynerError
from anyner.storage.files import write_whole
from anyner.text.windows import Window
from anyner.training.config import Recipe
from anyner.training.data.splits import Splits, plain_of
from anyner.version import __version__

EXAMPLES = "examples.arrow"
_ROWS = 1000
"""Examples in each record batch of the file; the last one may have fewer."""
_NUMBERS = ("piece_ids", "word_pieces", "word_lengths", "before", "after", "line_starts", "annotated")
_ENTITIES = ("label", "sizes", "words", "thousandths")
_LISTS = (*_NUMBERS, *_ENTITIES, *(f"soft_{name}" for name in _ENTITIES))
_MADE_FROM = b"made_from"
_SURROGATES = "surrogatepass"
"""Error handler: the name of a source document may have lone surrogates, as JSON strings can."""
_Row = dict[str, Any]
_Numbers = NDArray[np.int32]


class ExampleFile(Sequence[Example]):
    """The examples as far as training needs them: without the positions of their words in the text."""

    def __init__(self, path: Path) -> None:
        arrow = _arrow()
        self._file = arrow.ipc.open_file(arrow.memory_map(str(path)))
        self._parts: dict[int, _Part] = {}
        parts = self._file.num_record_batches
        self._length = _ROWS * (parts - 1) + self._file.get_batch(parts - 1).num_rows if parts else 0

    @property
    def made_from(self) -> str:
        """The hash that was given to `write`."""
        return str(self._file.schema.metadata[_MADE_FROM], "ascii")

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> list[Example]: ...
    def __getitem__(self, place: int | slice) -> Example | list[Example]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self._length))]
        if not 0 <= place < self._length:
            raise IndexError(place)
        number, row = divmod(place, _ROWS)
        if number not in self._parts:
            self._parts[number] = _Part(self._file.get_batch(number))
        return self._parts[number].example(row)

    @classmethod
    def write(cls, examples: Iterable[Example], path: Path, made_from: str) -> ExampleFile:
        """`made_from`: a hash of the data, by which `fitting` recognises the file later."""
        arrow = _arrow()
        lists = [(name, arrow.list_(arrow.int32())) for name in _LISTS]
        strings, numbers = [(name, arrow.binary()) for name in ("text", "source")], [("times", arrow.int32())]
        soft = [("soft_weight", arrow.float64()), ("covers_discontinuous", arrow.bool_())]
        schema = arrow.schema([*lists, *strings, *numbers, *soft], metadata={_MADE_FROM: made_from.encode()})

        def fill(temporary: Path) -> None:
            with arrow.OSFile(str(temporary), "wb") as file, arrow.ipc.new_file(file, schema) as writer:
                rows = map(_row, examples)
                while part := list(islice(rows, _ROWS)):
                    writer.write_batch(arrow.RecordBatch.from_pylist(part, schema=schema))

        write_whole(path, fill)
        return cls(path)


def hash_of_data(recipe: Recipe, data: Splits, vocabulary: PieceVocabulary) -> str:
    """A hash of the version, the recipe, the tokenizer, the training documents and their soft labels."""
    digest = blake2b(f"{__version__}\x1f{recipe.to_yaml()}\x1f{vocabulary.tokenizer.to_str()}".encode(), digest_size=16)
    for one in chain(data.train, data.soft_labels):
        digest.update(json.dumps(plain_of(one)).encode())
    return digest.hexdigest()


def fitting(path: Path, made_from: str) -> ExampleFile | None:
    """The file, if it is complete and was made from exactly this data; else None."""
    try:
        found = ExampleFile(path)
        return found if found.made_from == made_from else None
    except (OSError, ValueError, KeyError, TypeError):  # missing, damaged, or another kind of file
        return None


def is_available() -> bool:
    try:
        _arrow()
    except AnynerError:
        return False
    return True


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise AnynerError("a file of training examples needs pyarrow: pip install 'anyner[parquet]'") from None
    return pyarrow


def _row(example: Example) -> _Row:
    window, soft = example.window, example.soft_labels
    of_entities = {name: getattr(example.entities, name) for name in _ENTITIES}
    of_soft = {f"soft_{name}": getattr(soft.entities, name) if soft is not None else () for name in _ENTITIES}
    return {
        "piece_ids": [piece for pieces in window.pieces for piece in pieces],
        "word_pieces": list(map(len, window.pieces)),
        "word_lengths": list(map(len, window.words)),
        "before": window.before,
        "after": window.after,
        "line_starts": window.line_starts,
        "annotated": example.annotated.astype(np.int32),
        **of_entities,
        **of_soft,
        "text": "".join(window.words).encode(),
        "source": None if example.source is None else example.source.encode(errors=_SURROGATES),
        "times": example.times,
        "soft_weight": soft.weight if soft is not None else None,
        "covers_discontinuous": soft is not None and soft.covers_discontinuous,
    }


class _Part:
    """One record batch of the file; its values are read only on access."""

    def __init__(self, batch: Any) -> None:
        batch.validate(full=True)
        self._lists = {name: (batch.column(name).offsets.to_numpy(), batch.column(name).values.to_numpy()) for name in _LISTS}
        self._others = {name: batch.column(name) for name in ("text", "source", "times", "soft_weight", "covers_discontinuous")}

    def example(self, row: int) -> Example:
        text, source, times, weight, covers = (column[row].as_py() for column in self._others.values())
        text, source = text.decode(), None if source is None else source.decode(errors=_SURROGATES)
        soft = None if weight is None else WindowSoftLabels(self._entities(row, "soft_"), weight, covers)
        return Example(self._window(row, text), self._entities(row), self._numbers(row, "annotated") > 0, soft, times, source)

    def _window(self, row: int, text: str) -> Window:
        pieces = self._numbers(row, "piece_ids").tolist()
        before, after, lines = (tuple(self._numbers(row, name).tolist()) for name in ("before", "after", "line_starts"))
        return Window(
            document=0,
            first_word=0,
            starts=[],
            ends=[],
            words=[text[start:end] for start, end in _ranges(self._numbers(row, "word_lengths"))],
            pieces=[tuple(pieces[start:end]) for start, end in _ranges(self._numbers(row, "word_pieces"))],
            before=before,
            after=after,
            line_starts=lines,
        )

    def _entities(self, row: int, prefix: str = "") -> Entities:
        return Entities(**{name: self._numbers(row, f"{prefix}{name}").astype(np.int64) for name in _ENTITIES})

    def _numbers(self, row: int, name: str) -> _Numbers:
        offsets, values = self._lists[name]
        return values[offsets[row] : offsets[row + 1]]  # type: ignore[no-any-return]


def _ranges(lengths: _Numbers) -> Iterator[tuple[int, int]]:
    return pairwise(accumulate(lengths.tolist(), initial=0))
