"""Words -> pieces, each distinct word cut once and remembered.

Every word is cut by itself, as if a space stood before it: so its pieces depend on nothing around it and can be remembered,
which makes tokenising many times cheaper than encoding whole sentences.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from anyner.errors import AnynerError
from anyner.text.windows import Pieces

_REMEMBERED = 200_000
_SHORTENED = 10_000
_MOST_PIECES = 64
"""A word of more pieces keeps its first three quarters and its end: ten thousand letters in a row are a word, not a document."""
_LONGEST_UNKNOWN = 64
"""A longer word that becomes one unknown piece was given up by the tokenizer (WordPiece stops at 100 letters), not read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The special pieces around a text, and the piece for what has no other."""

    prefix: Pieces
    suffix: Pieces
    pad: int
    unknown: int


class PieceVocabulary:
    """The encoder's tokenizer, as words need it."""

    def __init__(self, tokenizer: Tokenizer, pad: int | None = None, unknown: int | None = None) -> None:
        self.tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # a text that says "[SEP]" means these letters, not the piece
        self.frame = _frame(tokenizer, pad, unknown)
        self._reserved = {piece for piece, token in tokenizer.get_added_tokens_decoder().items() if token.special}
        self._known: dict[str, Pieces] = {}
        self._most = _MOST_PIECES
        self.shortened: set[str] = set()
        """Words that were too long to be read whole."""

    def limit(self, pieces: int) -> None:
        """No word may have more pieces than a window has room for."""
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
        """Remembers the words and returns what holds them all: another thread may empty the memory meanwhile."""
        known = self._known
        new = [word for word in dict.fromkeys(words) if word not in known]
        if len(known) + len(new) > _REMEMBERED:
            known = self._known = {word: known[word] for word in dict.fromkeys(words) if word in known}
            if len(self.shortened) > _SHORTENED:  # not sooner: windows of words cut before may still be waiting
                self.shortened.intersection_update(known)
        encodings = self.tokenizer.encode_batch([" " + word for word in new], add_special_tokens=False)
        for word, encoding in zip(new, encodings, strict=True):
            known[word] = self._fitting(word, tuple(encoding.ids) or (self.frame.unknown,))
        return known

    def _fitting(self, word: str, pieces: Pieces) -> Pieces:
        """The pieces, none of them special, or as many as a word may have; a word that is not read whole is noted."""
        if not self._reserved.isdisjoint(pieces):
            pieces = tuple(self.frame.unknown if piece in self._reserved else piece for piece in pieces)
        if len(pieces) > self._most:
            end = self._most // 4
            self.shortened.add(word)
            return pieces[: self._most - end] + pieces[len(pieces) - end :]
        if len(word) > _LONGEST_UNKNOWN and pieces == (self.frame.unknown,):
            self.shortened.add(word)
        return pieces

    def save(self, folder: Path) -> None:
        self.tokenizer.save(str(folder / "tokenizer.json"))
        plain = {"tokenizer_class": "PreTrainedTokenizerFast"}
        for name, piece in (("pad_token", self.frame.pad), ("unk_token", self.frame.unknown)):
            if token := self.tokenizer.id_to_token(piece):
                plain[name] = token
        (folder / "tokenizer_config.json").write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> PieceVocabulary:
        """From `tokenizer.json` (and the names in `tokenizer_config.json`), with no network and no code from the folder."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise AnynerError(f"{folder}: no tokenizer.json")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the tokenizers library raises a bare Exception
            raise AnynerError(f"{path}: not a tokenizer: {str(error).splitlines()[0]}") from None
        names = _special_names(folder / "tokenizer_config.json")
        pad, unknown = (tokenizer.token_to_id(names[key]) if key in names else None for key in ("pad_token", "unk_token"))
        return cls(tokenizer, pad, unknown)


def _special_names(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise AnynerError(f"{path}: not valid JSON") from None
    if not isinstance(plain, dict):
        raise AnynerError(f"{path}: not the settings of a tokenizer")
    names = {}
    for key in ("pad_token", "unk_token"):
        token = plain.get(key)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            names[key] = token
    return names


def _frame(tokenizer: Tokenizer, pad: int | None, unknown: int | None) -> Frame:
    """Found by encoding one word with and without its special pieces, so it holds for any tokenizer."""
    plain = tokenizer.encode(" a", add_special_tokens=False).ids
    framed = tokenizer.encode(" a", add_special_tokens=True).ids
    start = next(i for i in range(len(framed) + 1) if list(islice(framed, i, i + len(plain))) == plain)
    known = [tokenizer.token_to_id(token) for token in ("[UNK]", "<unk>", "<|endoftext|>")]
    unknown = unknown if unknown is not None else next((i for i in known if i is not None), plain[0] if plain else 0)
    pads = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    pad = pad if pad is not None else next((i for i in pads if i is not None), 0)
    return Frame(tuple(framed[:start]), tuple(framed[start + len(plain) :]), pad, unknown)
