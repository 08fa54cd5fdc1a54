"""`ner_tags` of Hugging Face datasets: a tag for each token, as a string or as an index into the names of a `ClassLabel`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from anyner.corpora.corpus import ProblemLog
from anyner.corpora.tags import TaggedDocument, checked_tag
from anyner.corpora.textfiles import whole_text
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

KEY = "ner_tags"
_OWN_FILE = "label_names.json"
_NAME_FILES = (_OWN_FILE, "dataset_info.json", "dataset_infos.json", "README.md")
"""Files beside the corpus that may name the tags: first the user's own, then those that `datasets` writes."""
_HEADER = re.compile(r"---\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)


class TagReader:
    """Reads the tags of one file. Names of numbers are looked up at the first number."""

    def __init__(self, path: Path, log: ProblemLog, names: tuple[str, ...] = ()) -> None:
        self._path, self._log = path, log
        self._names = names
        self._names_file = "the metadata"

    def tagged(self, bare: Document, tags: object, line: int) -> TaggedDocument:
        """The document with its tags; tags that are not one for each token are refused."""
        if not isinstance(tags, list) or not (_all_are(str, tags) or _all_are(int, tags)):
            raise InvalidInputError(f'"{KEY}" is neither a list of strings nor of whole numbers')
        tokens = len(bare.words or ())
        if len(tags) != tokens:
            raise InvalidInputError(f'{tokens} tokens, but {len(tags)} tags under "{KEY}"')
        return TaggedDocument(bare, tuple(self._tag(tag, line) for tag in tags), (line,) * tokens)

    def _tag(self, tag: str | int, line: int) -> str:
        """A well-formed tag, or an empty one, which counts as O."""
        if isinstance(tag, int):
            if not self._names:
                self._names_file, self._names = _names_beside(self._path, line)
            if not 0 <= tag < len(self._names):
                self._log.dropped(line, f"tag {tag} is out of range: {self._names_file} names {len(self._names)} tags; read as O")
                return ""
            tag = self._names[tag]
        return checked_tag(tag, line, self._log)


def _all_are(kind: type, values: list[object]) -> bool:
    return all(type(value) is kind for value in values)


def _names_beside(path: Path, line: int) -> tuple[str, tuple[str, ...]]:
    """The first file beside `path` that names the tag numbers, and the names."""
    for name in _NAME_FILES:
        file = path.with_name(name)
        found = set(_names_in(file)) if file.is_file() else set()
        if len(found) > 1:
            raise AnynerError(f'{file}: different names for "{KEY}": put those of {path.name} into a {_OWN_FILE} beside it')
        if found:
            return name, found.pop()
    raise AnynerError(
        f'{path}:{line}: "{KEY}" are numbers without names: put a dataset_info.json beside the file '
        f'(dataset.info.write_to_directory writes one), or a {_OWN_FILE} such as ["O", "B-PER", "I-PER"]'
    )


def _names_in(file: Path) -> Iterator[tuple[str, ...]]:
    content = _content(file)
    features = [{"names": content}] if file.name == _OWN_FILE else _features(content)
    for feature in features:
        if names := class_names(feature):
            yield names
        elif file.name == _OWN_FILE:
            raise AnynerError(f'{file}: expected a list of tags such as ["O", "B-PER", "I-PER"], in the order of their numbers')


def _content(file: Path) -> object:
    text = whole_text(file)
    if file.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise AnynerError(f"{file}: not valid JSON: {error}") from None
    header = _HEADER.match(text)
    import yaml  # imported late: prediction does not need it

    try:
        return yaml.safe_load(header[1]) if header else None
    except (yaml.YAMLError, ValueError):  # the page need not be a dataset card
        return None


def _features(content: object, deep: int = 3) -> Iterator[object]:
    """The descriptions of the tags: of a single configuration, or of several in a list or by name.

    The depth is limited: in YAML with nested aliases, the search would never end.
    """
    match content:
        case {"features": {"ner_tags": feature}}:
            yield feature
        case {"features": [*features]}:  # of a dataset card
            yield from (one for one in features if isinstance(one, dict) and one.get("name") == KEY)
        case dict() | list() if deep:
            for part in content.values() if isinstance(content, dict) else content:
                yield from _features(part, deep - 1)


def class_names(feature: object) -> tuple[str, ...] | None:
    """The names of a `ClassLabel`; versions of `datasets` wrap it in different ways."""
    match feature:
        case {"names": names}:
            by_number = {str(number): name for number, name in names.items()} if isinstance(names, dict) else None
            listed = [by_number.get(str(number)) for number in range(len(by_number))] if by_number is not None else names
            return tuple(listed) if isinstance(listed, list) and _all_are(str, listed) else None
        case {"feature": inner} | {"sequence": inner} | {"list": inner} | {"class_label": inner} | [inner]:
            return class_names(inner)
    return None
