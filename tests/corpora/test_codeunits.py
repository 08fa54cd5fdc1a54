from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.codeunits import Utf8Offsets, Utf16Offsets


@given(text=st.text(alphabet="aë北😀 ", max_size=12))
def test_offsets_are_those_of_the_encoded_text(text: str) -> None:
    utf16, utf8 = Utf16Offsets(text), Utf8Offsets(text)
    units = [len(text[:place].encode("utf-16-le")) // 2 for place in range(len(text) + 1)]
    size = [len(text[:place].encode()) for place in range(len(text) + 1)]
    assert ([utf16.units(place) for place in range(len(text) + 1)], utf16.length) == (units, units[-1])
    for unit in range(units[-1] + 1):
        assert utf16.character(unit) == (units.index(unit) if unit in units else None)
    for byte in range(size[-1] + 1):
        assert utf8.character(byte) == (size.index(byte) if byte in size else None)
    assert (utf16.character(-1), utf16.character(units[-1] + 1)) == (-1, len(text) + 1)
