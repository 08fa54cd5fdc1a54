"""`ner_tags` of Hugging Face datasets: a tag for each token, spelt out or as its number among the names of a `ClassLabel`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from anyner.corpora.annotation import ProblemLog, shown
from anyner.corpora.tags import WELL_FORMED, TaggedWord, scheme_of, with_tagged_entities
from anyner.corpora.textfiles import whole_text
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

KEY = "ner_tags"
_OWN_FILE = "label_names.json"
_NAME_FILES = (_OWN_FILE, "dataset_info.json", "dataset_infos.json", "README.md")
"""Where names are looked for, beside the corpus: first what a user wrote for it, then what `datasets` writes."""
_HEADER = re.compile(r"---\r?\n(.*?)^---", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TaggedDocument:
    """A document whose entities are still tags: which scheme they follow shows only in all tags of the file."""

    bare: Document
    line: int
    tags: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Names:
    file: str
    names: tuple[str, ...] = ()


def tagged_document(bare: Document, tags: object, line: int) -> TaggedDocument:
    """The document with its tags; tags that are not one for each token are refused."""
    if not isinstance(tags, list) or not (_all_are(str, tags) or _all_are(int, tags)):
        raise InvalidInputError(f'"{KEY}" is neither a list of strings nor of whole numbers')
    tokens = len(bare.words or ())
    if len(tags) != tokens:
        raise InvalidInputError(f'{tokens} tokens, but {len(tags)} tags under "{KEY}"')
    return TaggedDocument(bare, line, tuple(tags))


def _all_are(kind: type, values: list[object]) -> bool:
    return all(type(value) is kind for value in values)


def with_entities(read: Sequence[Document | TaggedDocument], path: Path, log: ProblemLog) -> Iterator[Document]:
    """The documents of a file in their order, tags turned into entities."""
    tagged = [one for one in read if isinstance(one, TaggedDocument)]
    numbered = next((one for one in tagged if _has_numbers(one)), None)
    names = _names_beside(path, numbered.line) if numbered is not None else _Names("")
    words = [tuple(_tagged_words(one, names, log)) for one in tagged]
    scheme = scheme_of([[word.tag for word in own] for own in words])
    words_of_next = iter(words)
    for one in read:
        if isinstance(one, TaggedDocument):
            yield with_tagged_entities(one.bare, next(words_of_next), scheme, log)
        else:
            yield one


def _has_numbers(document: TaggedDocument) -> bool:
    return any(isinstance(tag, int) for tag in document.tags[:1])


def _tagged_words(document: TaggedDocument, names: _Names, log: ProblemLog) -> Iterator[TaggedWord]:
    text = document.bare.text
    for (start, end), tag in zip(document.bare.words or (), document.tags, strict=True):
        yield TaggedWord(document.line, text[start:end], _checked_tag(tag, names, document.line, log))


def _checked_tag(tag: str | int, names: _Names, line: int, log: ProblemLog) -> str:
    """A well-formed tag, or an empty one, which counts as O."""
    if isinstance(tag, int):
        if not 0 <= tag < len(names.names):
            log.dropped(line, f"tag {tag} is none of the {len(names.names)} that {names.file} names, read as O")
            return ""
        tag = names.names[tag]
    if not WELL_FORMED.fullmatch(tag):
        log.dropped(line, f"tag {shown(tag)} is malformed, read as O")
        return ""
    return tag


def _names_beside(path: Path, line: int) -> _Names:
    """The names of the tag numbers, from the first file beside `path` that has them."""
    for name in _NAME_FILES:
        file = path.with_name(name)
        found = set(_names_in(file)) if file.is_file() else set()
        if len(found) > 1:
            raise AnynerError(f'{file}: has different names for "{KEY}": put those of {path.name} into a {_OWN_FILE} beside it')
        if found:
            return _Names(name, found.pop())
    raise AnynerError(
        f'{path}:{line}: "{KEY}" are numbers without names: put a dataset_info.json beside the file '
        f'(dataset.info.write_to_directory writes one), or a {_OWN_FILE} such as ["O", "B-PER", "I-PER"]'
    )


def _names_in(file: Path) -> Iterator[tuple[str, ...]]:
    content = _content(file)
    features = [{"names": content}] if file.name == _OWN_FILE else _features(content)
    for feature in features:
        if names := _class_names(feature):
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
    try:
        return yaml.safe_load(header[1]) if header else None
    except (yaml.YAMLError, ValueError):  # some other page, which need not be a dataset card
        return None


def _features(content: object) -> Iterator[object]:
    """Each description of the tags: of the only configuration, or of several, listed or by name."""
    match content:
        case {"features": {"ner_tags": feature}}:
            yield feature
        case {"features": [*features]}:  # of a dataset card
            yield from (one for one in features if isinstance(one, dict) and one.get("name") == KEY)
        case dict():
            for part in content.values():
                yield from _features(part)
        case list():
            for part in content:
                yield from _features(part)


def _class_names(feature: object) -> tuple[str, ...] | None:
    """The names of a `ClassLabel`, however it is wrapped: versions of `datasets` write a list of them in different ways."""
    match feature:
        case {"names": names}:
            by_number = {str(number): name for number, name in names.items()} if isinstance(names, dict) else None
            listed = [by_number.get(str(number)) for number in range(len(by_number))] if by_number is not None else names
            return tuple(listed) if isinstance(listed, list) and _all_are(str, listed) else None
        case {"feature": inner} | {"sequence": inner} | {"list": inner} | {"class_label": inner} | [inner]:
            return _class_names(inner)
    return None
