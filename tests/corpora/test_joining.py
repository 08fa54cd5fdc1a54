from __future__ import annotations

from drawn_documents import raw_documents
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.joining import joined, parted, source_documents
from anyner.document import Document, Entity


@given(st.lists(raw_documents(), min_size=1, max_size=5), st.sampled_from([" ", "\n", "\n\n"]))
def test_what_is_joined_can_be_parted_again(parts: list[Document], separator: str) -> None:
    whole = joined(parts, separator)
    assert whole.text == separator.join(part.text for part in parts)
    again = list(parted(whole, parts, separator))
    assert [[entity.key for entity in part.entities] for part in again] == [[e.key for e in part.entities] for part in parts]


def test_an_entity_across_a_border_belongs_to_no_part() -> None:
    parts = [Document("in New"), Document("York now")]
    whole = joined(parts).with_entities([Entity("LOC", ((3, 11),)), Entity("TIME", ((12, 15),))])
    assert [[entity.text for entity in part.entities] for part in parted(whole, parts)] == [[], ["now"]]


def test_words_and_tags_are_joined_if_all_have_them() -> None:
    one, other = Document.from_words(["a", "b"]), Document.from_words(["c"])
    whole = joined([one, other], "\n")
    assert whole.words == ((0, 1), (2, 3), (4, 5))
    assert joined([one, Document("c")]).words is None


def test_source_documents() -> None:
    a, b, none = (Document("x", doc=doc) for doc in ("a", "b", None))
    labelled = Document("x", doc="b", labels=frozenset("L"))
    groups = list(source_documents([a, a, b, labelled, none, none, none, a], 2))
    assert groups == [[a, a], [b], [labelled], [none, none], [none], [a]]
