"""Words -> pieces, each distinct word tokenised once and cached.

Every word is tokenised by itself, as if a space stood before it. So its pieces do not depend on its context and can be cached,
which is many times cheaper than tokenising whole sentences. The tokenizer reads the plain form of a word: invisible
characters, full-width letters and split accents do not hide a name. The word itself and its position in the text do not change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

from tokenizers import Tokenizer

from anyner.encoding.tokenizer_limits import MOST_BYTES, check_tokenizer
from anyner.encoding.untrusted import read_json
from anyner.errors import AnynerError, first_line
from anyner.text.windows import Pieces

_CACHED_WORDS = 200_000
LONGEST_WORD = 64
"""Maximum pieces per word. Longer words keep the start and the end: ten thousand letters in a row are a word, not a document."""
_LONGEST_UNKNOWN = 64
"""A longer word that becomes one unknown piece counts as not read: WordPiece gives up at 100 letters."""
_MOST_CHARACTERS = 1024
"""Maximum characters of a word that the tokenizer reads: WordPiece takes cubic time, and 64 pieces need no more."""
_LONGEST_CACHED = 100
"""Longer words are not cached: they are rarely repeated, and one may have a million characters."""

TOKENIZER_SETTINGS = "tokenizer_config.json"

_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]+")
_ALPHABETIC = "0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u052f\u1c80-\u1c8f\u1d00-\u1fff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff"
"""Latin, Greek, Cyrillic and digits. Arabic and Indic scripts need their joiners, and so do emoji."""
_IDLE_JOINERS = re.compile(f"(?<=[{_ALPHABETIC}])[\u200c\u200d]+(?=[{_ALPHABETIC}])")
_WIDE = "０-９Ａ-Ｚａ-ｚ"
# Full-width letters with the signs between them, half-width Katakana, Latin ligatures, mathematical letters. The rest of
# NFKC is left out: vocabularies have pieces of their own for "²", "½", "™", "…" and full-width punctuation.
_VARIANTS = re.compile(f"[{_WIDE}]++(?:[！-～][{_WIDE}]++)*+|[\uff66-\uff9f]+|[\ufb00-\ufb06]+|[\U0001d400-\U0001d7ff]+")


def plain_form(word: str) -> str:
    """The word in the letters that vocabularies have: NFC, no invisible characters, full-width letters as plain ones.

    >>> plain_form("Ａｎｎａ"), plain_form("Mu\u0308n\u00adchen"), plain_form("m²")
    ('Anna', 'München', 'm²')
    """
    if word.isascii():
        return word
    plain = normalize("NFC", _VARIANTS.sub(lambda variants: normalize("NFKC", variants[0]), _INVISIBLE.sub("", word)))
    while (shorter := normalize("NFC", _IDLE_JOINERS.sub("", plain))) != plain:  # reordered marks can leave other joiners idle
        plain = shorter
    return plain or word


def _abridged(word: str) -> str:
    """The start and the end of a word that is too long for the tokenizer."""
    if len(word) <= _MOST_CHARACTERS:
        return word
    end = _MOST_CHARACTERS // 4
    return word[: _MOST_CHARACTERS - end] + word[-end:]


class Shortened(tuple[int, ...]):
    """The pieces of a word that was too long to be read in full."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """The special pieces around a text, padding and the unknown piece."""

    prefix: Pieces
    suffix: Pieces
    pad: int
    unknown: int

    @property
    def special(self) -> int:
        """Number of special pieces around a text."""
        return len(self.prefix) + len(self.suffix)


class PieceVocabulary:
    """The encoder's tokenizer, for single words."""

    def __init__(self, tokenizer: Tokenizer, pad: int | None = None, unknown: int | None = None) -> None:
        self.tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # a text that says "[SEP]" means these letters, not the piece
        self.frame = _frame(tokenizer, pad, unknown)
        self._reserved = {piece for piece, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        self._known: dict[str, Pieces] = {}
        self._most = LONGEST_WORD

    def limit(self, pieces: int) -> None:
        """Limits the pieces of a word to those that fit into a window."""
        if pieces < self._most:
            self._most = pieces
            self._known.clear()

    def cut(self, words: Sequence[str]) -> list[Pieces]:
        """The pieces of each word; a word the tokenizer drops becomes the unknown piece, so it keeps its place."""
        known = self._known
        try:
            return [known[word] for word in words]
        except KeyError:
            known = self._learn(words)
            return [known[word] for word in words]

    def _learn(self, words: Sequence[str]) -> dict[str, Pieces]:
        """The pieces of these words, cached unless a word is long."""
        known = self._known  # another thread may replace it meanwhile
        distinct = dict.fromkeys(words)
        found = {word: pieces for word in distinct if (pieces := known.get(word))}
        new = [word for word in distinct if word not in found]
        learned = dict(zip(new, self._read(new), strict=True))
        kept = {word: pieces for word, pieces in learned.items() if len(word) <= _LONGEST_CACHED}
        if len(known) + len(kept) > _CACHED_WORDS:
            self._known = found | kept
        else:
            known.update(kept)
        return found | learned

    def _read(self, words: Sequence[str]) -> Iterator[Pieces]:
        originals = [_abridged(word) for word in words]
        forms = [plain_form(original) for original in originals]
        for word, original, form, pieces in zip(words, originals, forms, self._tokenized(forms), strict=True):
            if form != original and self.frame.unknown in pieces:
                # A vocabulary learned from such words may know only their original form.
                (as_it_stands,) = self._tokenized([original])
                yield self._fitting(word, pieces if self.frame.unknown in as_it_stands else as_it_stands)
            else:
                yield self._fitting(word, pieces)

    def _tokenized(self, words: Sequence[str]) -> list[Pieces]:
        with _library_errors("the tokenizer fails on the text"):
            encodings = self.tokenizer.encode_batch([" " + word for word in words], add_special_tokens=False)
        return [tuple(encoding.ids) or (self.frame.unknown,) for encoding in encodings]

    def _fitting(self, word: str, pieces: Pieces) -> Pieces:
        """The pieces without special ones, at most as many as a word may have; `Shortened` if the word is not read in full."""
        if not self._reserved.isdisjoint(pieces):
            pieces = tuple(self.frame.unknown if piece in self._reserved else piece for piece in pieces)
        if len(pieces) > self._most:
            end = self._most // 4
            return Shortened(pieces[: self._most - end] + pieces[len(pieces) - end :])
        not_read = len(word) > _MOST_CHARACTERS or (len(word) > _LONGEST_UNKNOWN and pieces == (self.frame.unknown,))
        return Shortened(pieces) if not_read else pieces

    def save(self, folder: Path) -> None:
        self.tokenizer.save(str(folder / "tokenizer.json"))
        named = {"pad_token": self.frame.pad, "unk_token": self.frame.unknown}
        tokens = {name: token for name, piece in named.items() if (token := self.tokenizer.id_to_token(piece))}
        plain = {"tokenizer_class": "PreTrainedTokenizerFast", **tokens}
        (folder / TOKENIZER_SETTINGS).write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")

    def check_fits(self, rows: int, where: str) -> None:
        """Refuses a tokenizer with more pieces than the encoder's embedding has rows."""
        frame = self.frame
        listed = self.tokenizer.get_vocab(with_added_tokens=True).values()
        pieces = 1 + max((*listed, *frame.prefix, *frame.suffix, frame.pad, frame.unknown))
        if pieces > rows:
            raise AnynerError(f"{where}: the tokenizer has {pieces:,} pieces, the encoder {rows:,}: they do not belong together")

    @classmethod
    def load(cls, folder: Path) -> PieceVocabulary:
        """From `tokenizer.json` (and the names in `tokenizer_config.json`), with no network and no code from the folder."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise AnynerError(f"{folder}: no tokenizer.json")
        plain = read_json(path, MOST_BYTES, "not a tokenizer")
        check_tokenizer(plain, str(path))
        settings = tokenizer_settings(folder)
        with _library_errors(f"{path}: not a tokenizer"):
            tokenizer = Tokenizer.from_str(json.dumps(plain, ensure_ascii=False))  # from the checked content: the file may change
            return cls(tokenizer, *(_special_piece(tokenizer, settings.get(key)) for key in ("pad_token", "unk_token")))


@contextmanager
def _library_errors(what: str) -> Iterator[None]:
    """Turns what the library raises into an `AnynerError`: a bare Exception, or a BaseException where it panics."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise AnynerError(f"{what}: {first_line(error)}") from None


def tokenizer_settings(folder: Path) -> dict[str, Any]:
    path = folder / TOKENIZER_SETTINGS
    plain = read_json(path) if path.is_file() else {}
    if not isinstance(plain, dict):
        raise AnynerError(f"{path}: not the settings of a tokenizer")
    return plain


def _special_piece(tokenizer: Tokenizer, token: Any) -> int | None:
    name = token.get("content") if isinstance(token, dict) else token
    return tokenizer.token_to_id(name) if isinstance(name, str) else None


def _frame(tokenizer: Tokenizer, pad: int | None, unknown: int | None) -> Frame:
    """Found by encoding one word with and without special pieces, so it works for any tokenizer."""
    plain = tokenizer.encode(" a", add_special_tokens=False).ids
    framed = tokenizer.encode(" a", add_special_tokens=True).ids
    start = next(i for i in range(len(framed) + 1) if list(islice(framed, i, i + len(plain))) == plain)
    known = [tokenizer.token_to_id(token) for token in ("[UNK]", "<unk>", "<|endoftext|>")]
    unknown = unknown if unknown is not None else next((i for i in known if i is not None), plain[0] if plain else 0)
    pads = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    pad = pad if pad is not None else next((i for i in pads if i is not None), 0)
    return Frame(tuple(framed[:start]), tuple(framed[start + len(plain) :]), pad, unknown)
