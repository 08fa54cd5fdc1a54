"""Random documents for the tests of drawings: any text, any shapes, hostile labels, both writing directions."""

from __future__ import annotations

from hypothesis import strategies as st

from anyner.document import Document, Entity

LABELS = (
    "A",
    "Symptom",
    "<C&>",
    "</title></style><script>alert(1)</script>",
    "\x1b]0;\n",
    "بلد",
    "場所",
    "a very long label " * 9,
    "\udcff",
)
_LETTERS = st.sampled_from("ab il <&>\"'\n\r\t東京שלוםمدينة12,\u0301\u202e\u2028\x00\x1b\uffff") | st.characters(
    exclude_categories=["Cs"]
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(_LETTERS, min_size=1, max_size=120))
    entities = {}
    cuts = st.lists(st.integers(0, len(text)), min_size=2, max_size=8, unique=True)
    for ends in draw(st.lists(cuts.map(sorted), max_size=8)):
        fragments = tuple(zip(ends[::2], ends[1::2], strict=False))
        entity = Document(text, (Entity(draw(st.sampled_from(LABELS)), fragments),)).entities[0]
        entities[entity.key] = entity
    return Document(text, tuple(entities.values()), id=draw(st.sampled_from(("", *LABELS))))
