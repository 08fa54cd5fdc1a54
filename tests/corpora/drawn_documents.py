"""Strategies for documents of all kinds, strange characters included."""

from __future__ import annotations

from hypothesis import strategies as st

from anyner.document import Document, Entity

STRANGE = [" ", "\n", "\r", "\t", "\x00", "\x1c", "\x85", "\u2028", "\u3000", "\ufeff", "\u200f", "é", "😀", "א", "|", "#", "-"]
_character = st.one_of(st.sampled_from("abc,;"), st.sampled_from(STRANGE), st.characters(exclude_categories=["Cs"]), st.just(" "))
_strange_words = st.text(_character, min_size=1, max_size=4)
_labels = st.sampled_from(["ADR", "PER", "B-x", "two words", "a|b", "é😀", "x\ty", "O"])
_tame_words = st.text(alphabet="abcé😀א.-", min_size=1, max_size=4).filter(lambda word: not word.startswith("-DOC"))


@st.composite
def _fragments(draw: st.DrawFn, length: int, most: int) -> tuple[tuple[int, int], ...]:
    count = draw(st.integers(1, most))
    places = draw(st.lists(st.integers(0, length), min_size=2, max_size=2 * count, unique=True).map(sorted))
    places = places[: len(places) // 2 * 2]
    return tuple(zip(places[::2], places[1::2], strict=True))


def _unique(document: Document, entities: list[Entity], in_words: bool, words: list[str]) -> tuple[Entity, ...]:
    """Entities that stay different once the document has joined their fragments over white space."""
    found: dict[object, Entity] = {}
    for entity in entities:
        alone = Document.from_words(words, [entity]) if in_words else Document(document.text, (entity,))
        found.setdefault(alone.entities[0].key, entity)
    return tuple(found.values())


@st.composite
def raw_documents(draw: st.DrawFn) -> Document:
    """Any text with any entities; it may have context, labels and given words that touch each other."""
    text = draw(st.text(_character, max_size=20))
    bare = Document(text)
    entity = st.builds(Entity, _labels, _fragments(len(text), 3), st.sampled_from([None, 0.25, 1.0]))
    entities = _unique(bare, draw(st.lists(entity, max_size=4)), False, []) if text else ()
    words = draw(st.sampled_from([None, tuple((place, place + 1) for place in range(len(text)))]))
    name, before = draw(st.sampled_from(["", "a-1", "x/y"])), draw(st.sampled_from(["", "So ."]))
    return Document(text, entities, name, words, before=before)


@st.composite
def word_documents(draw: st.DrawFn, words: st.SearchStrategy[str] = _strange_words, shape: str = "any") -> Document:
    """Words joined by single spaces with entities on word boundaries; `flat` entities never overlap."""
    listed = draw(st.lists(words, min_size=int(shape != "any"), max_size=7))
    labels = _labels if shape == "any" else st.sampled_from(["ADR", "PER", "é-x"])
    if not listed:
        return Document.from_words([])
    if shape == "flat":
        spans = draw(_fragments(len(listed), 3))
        entities = [Entity(draw(labels), (span,)) for span in spans]
    else:
        entities = draw(st.lists(st.builds(Entity, labels, _fragments(len(listed), 3)), min_size=int(shape != "any"), max_size=4))
    unique = _unique(Document(""), entities, True, listed)
    place = draw(st.sampled_from([(None, None), ("d1", 0), ("d1", 1), ("d2", 7)]))
    labels_ = draw(st.sampled_from([None, frozenset({"X"})]))
    return Document.from_words(listed, unique, doc=place[0], sentence=place[1], labels=labels_)


def tame_documents(shape: str) -> st.SearchStrategy[Document]:
    """Plain words and labels, at least one word and one entity: `flat` or `tame` (any shape)."""
    return word_documents(_tame_words, shape)


def any_documents() -> st.SearchStrategy[Document]:
    return st.one_of(raw_documents(), word_documents(), tame_documents("flat"), tame_documents("tame"))
