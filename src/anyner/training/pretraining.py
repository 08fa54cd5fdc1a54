"""Domain-adaptive pre-training: the encoder continues masked language modelling, with whole words masked, on your texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from anyner.corpora.corpus import summary
from anyner.corpora.joining import source_documents
from anyner.document import Document
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import TOKENIZER_SETTINGS, PieceVocabulary
from anyner.encoding.pretrained import is_encoder_half
from anyner.errors import AnynerError
from anyner.inference.batching import batches
from anyner.inference.torch_runtime import arithmetic
from anyner.storage.files import CONFIG, WEIGHTS, room_for
from anyner.text.config import TextConfig
from anyner.text.windows import Pieces, words_of
from anyner.training.auto import completed
from anyner.training.checkpoint import (
    CHECKPOINT_SECONDS,
    Place,
    has_checkpoint,
    remove_checkpoint,
    restore_checkpoint,
    write_checkpoint,
)
from anyner.training.config import Recipe
from anyner.training.data.splits import Corpora, Splits, sources_of, split_data
from anyner.training.encoder import starting_encoder
from anyner.training.optimizer import adamw, schedule, set_rates
from anyner.training.processes import LOCK, Interrupted, StopRequest, check_one_process, locked
from anyner.training.progress import Listener, clock

IGNORED = -100
"""Target of pieces that are not masked: cross-entropy skips it."""
_MASKS = ("[MASK]", "<mask>")
EPOCHS = 50
"""Default number of epochs; each masks other words."""
_MASKED = 0.2
"""Share of the words that are masked. Words are masked whole: their other pieces would give a masked piece away."""
_UNCHANGED, _REPLACED = 0.1, 0.1
"""Shares of the masked words that stay as they are or become random pieces, as in BERT."""
_WINDOW, _BATCH_TOKENS = 256, 16384
"""Maximum number of pieces in a window, and in a batch including padding."""
_HELD_OUT = 0.02
"""Share of the windows held out to measure accuracy."""
_HEAD_LR = 1e-3
"""Learning rate of the masked language modelling head, which is new and not kept."""
_UNFINISHED = frozenset({LOCK, WEIGHTS, "tokenizer.json", TOKENIZER_SETTINGS})
"""Files that a killed call may leave besides a checkpoint; config.json is moved into place last."""

Words = tuple[Pieces, ...]


@dataclass(frozen=True, slots=True)
class Pretrained:
    folder: Path
    words: int
    accuracy: float
    """Share of the masked pieces that are predicted correctly in held-out windows."""


def pretrain(
    recipe: Recipe, folder: Path, more: Sequence[Document] = (), epochs: int = EPOCHS, listener: Listener | None = None
) -> Pretrained:
    """Pre-trains the recipe's encoder on its training texts and on `more`, and writes it into a folder.

    Texts of dev and test are not read, so their scores stay valid. Repeat an interrupted call to continue it.
    """
    check_one_process("pre-training")
    listener = listener or Listener()
    with locked(folder):
        if not has_checkpoint(folder) and any(path.name not in _UNFINISHED for path in folder.iterdir()):
            raise AnynerError(f"{folder} is not an empty folder: choose another output folder")
        with listener.running("reading the corpus"):
            corpora = Corpora.read(recipe.data)
        recipe = completed(recipe, corpora)
        data = _training_texts(recipe, corpora)
        if data.problems:
            listener.note(summary(data.problems))
        with listener.running("cutting the texts into windows"):
            loop = _Loop(recipe, folder, (*data.train, *more), epochs, listener)
        listener.note(f"{loop.words:,} words in {len(loop.train):,} windows for training, {len(loop.held_out):,} held out")
        accuracy = loop.run()
        with room_for(folder), TemporaryDirectory(dir=folder, prefix=".new.") as temporary:
            whole = Path(temporary) / "encoder"
            loop.encoder.cpu().save_pretrained(whole)
            loop.vocabulary.save(whole)
            for path in sorted(whole.iterdir(), key=lambda path: path.name == CONFIG):
                path.replace(folder / path.name)
        remove_checkpoint(folder)  # from now on the folder is complete
    return Pretrained(folder, loop.words, accuracy)


def _training_texts(recipe: Recipe, corpora: Corpora) -> Splits:
    """Train and dev. A single source document cannot be split, so none of it is held out."""
    data = recipe.data.documents_only()
    if len(set(sources_of((*corpora.train, *corpora.dev)))) == 1:
        data = data.updated({"held_out": 0.0}, "data")
    return split_data(corpora, data, recipe.text)


class _Loop:
    def __init__(self, recipe: Recipe, folder: Path, documents: Sequence[Document], epochs: int, listener: Listener) -> None:
        self.folder, self.epochs, self.training, self.listener = folder, epochs, recipe.training, listener
        self.stop = StopRequest()
        torch.manual_seed(self.training.seed)
        self.encoder, self.vocabulary = starting_encoder(recipe.encoder, documents)
        if is_encoder_half(self.encoder):
            kind = self.encoder.config.model_type
            raise AnynerError(f"encoder.source: {kind} cannot be pre-trained here: it is not a masked language model")
        room = min(_WINDOW, Encoder(EncoderConfig(lstm_layers=0), self.encoder).most_pieces or _WINDOW)
        windows = list(word_windows(documents, recipe.text, self.vocabulary, room))
        order = np.random.default_rng(self.training.seed).permutation(len(windows)).tolist()
        few = max(1, round(len(order) * _HELD_OUT))
        self.held_out, self.train = ([windows[place] for place in part] for part in (order[:few], order[few:]))
        if not self.train:
            raise AnynerError(f"too little text for pre-training: {len(windows)} windows, need at least 2")
        self.words = sum(map(len, windows))
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.head = MaskedLanguageHead(self.encoder).to(self.device)
        self.encoder.to(self.device)
        rates = ((self.encoder, 2 * self.training.encoder_lr), (self.head, _HEAD_LR))
        self.optimizer = adamw((parameter, rate) for module, rate in rates for parameter in module.parameters())
        self.both = nn.ModuleDict({"encoder": self.encoder, "head": self.head})
        source = repr((recipe.encoder, self.training.seed, epochs, windows)).encode()
        self.place = Place(learned_from=blake2b(source, digest_size=16).hexdigest())
        if has_checkpoint(folder):
            self.place = restore_checkpoint(folder, self.both, self.optimizer, self.place.learned_from)

    def run(self) -> float:
        """Trains for all epochs and returns the accuracy. Ctrl-C leaves a checkpoint."""
        place, accuracy, done_before = self.place, 0.0, self.place.step
        began = saved = time.monotonic()
        with self.stop.on_ctrl_c():
            for epoch in range(place.epoch, self.epochs):
                batches = self._batches(self.train, epoch + 1)
                steps, total = self.epochs * len(batches), torch.zeros((), device=self.device)
                self.encoder.train()
                first, place.epoch = place.batch, epoch
                for number in range(first, len(batches)):
                    step = epoch * len(batches) + number
                    total += self._step(batches[number], [self.training.seed, epoch + 1, number], schedule(step, steps))
                    passed, place.batch, place.step = time.monotonic() - began, number + 1, place.step + 1
                    left = passed / (place.step - done_before) * (steps - step - 1)
                    self.listener.step(epoch + 1, (number + 1) / len(batches), None, left)
                    if self.stop.asked or time.monotonic() - saved > CHECKPOINT_SECONDS:
                        write_checkpoint(self.folder, self.both, self.optimizer, place)
                        saved = time.monotonic()
                    if self.stop.asked:
                        raise Interrupted(self.stop.exit_code)
                with self.listener.running(f"epoch {epoch + 1}: scoring the held-out windows"):
                    place.batch, accuracy = 0, self._accuracy()
                loss, passed = total.item() / max(1, len(batches) - first), time.monotonic() - began
                self.listener.note(f"epoch {epoch + 1}: loss {loss:.4f}, masked pieces predicted {accuracy:.1%}, {clock(passed)}")
        return accuracy or self._accuracy()  # a resumed call may have no epoch left

    def _batches(self, windows: Sequence[Words], epoch: int) -> list[list[Words]]:
        return window_batches(windows, self.vocabulary, _BATCH_TOKENS, np.random.default_rng([self.training.seed, epoch]))

    def _step(self, windows: Sequence[Words], seed: Sequence[int], share: float) -> Tensor:
        """Forward, backward, update; returns the loss. Dropout is seeded by epoch and batch, so resuming is exact."""
        torch.manual_seed(int(np.random.default_rng(seed).integers(2**31)))
        set_rates(self.optimizer, share)
        loss, _ = self._loss(windows, seed)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*self.encoder.parameters(), *self.head.parameters()], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def _loss(self, windows: Sequence[Words], seed: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The mean loss of the masked pieces, and which of them are predicted correctly: (N,)."""
        pieces, attention, targets = masked_batch(windows, self.vocabulary, np.random.default_rng(seed))
        places = (targets.flatten() != IGNORED).nonzero()[:, 0].to(self.device)  # (N,) on the host: no GPU sync
        with arithmetic(self.device, self.training.precision):
            output = self.encoder(input_ids=pieces.to(self.device), attention_mask=attention.to(self.device))
            logits = self.head(output.last_hidden_state.flatten(0, 1).index_select(0, places))  # (N, V)
        expected = targets.flatten().to(self.device).index_select(0, places)  # (N,)
        loss = functional.cross_entropy(logits.float(), expected, reduction="sum") / max(1, len(places))
        return loss, logits.argmax(-1) == expected

    @torch.no_grad()
    def _accuracy(self) -> float:
        """On the held-out windows, with the same words masked every time."""
        self.encoder.eval()
        correct = [self._loss(batch, [0, number])[1] for number, batch in enumerate(self._batches(self.held_out, 0))]
        predicted = torch.cat(correct).float()
        return float(predicted.mean()) if len(predicted) else 0.0


class MaskedLanguageHead(nn.Module):
    """Predicts masked pieces with the encoder's own embedding table, as BERT does."""

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        table = encoder.get_input_embeddings()
        assert isinstance(table, nn.Embedding)
        self._table = (table,)  # in a tuple, so that it is not registered as this module's parameter
        self.dense = nn.Linear(int(encoder.config.hidden_size), table.embedding_dim)
        nn.init.eye_(self.dense.weight)  # final states of a masked language model are already close to its embedding table
        self.norm = nn.LayerNorm(table.embedding_dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, states: Tensor) -> Tensor:
        """Logits of all pieces: (N, d) -> (N, V)."""
        return functional.linear(self.norm(functional.gelu(self.dense(states))), self._table[0].weight, self.bias)


def window_batches(
    windows: Sequence[Words], vocabulary: PieceVocabulary, tokens: int, random: np.random.Generator
) -> list[list[Words]]:
    """The windows in batches of similar length, shuffled."""
    sizes = [sum(map(len, window)) + vocabulary.frame.special for window in windows]
    order = sorted(random.permutation(len(windows)).tolist(), key=sizes.__getitem__)
    plan = list(batches(sizes, order, tokens))
    return [[windows[place] for place in plan[number]] for number in random.permutation(len(plan))]


def masked_batch(
    windows: Sequence[Words], vocabulary: PieceVocabulary, random: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """(B, S) each: the pieces with some words masked, the attention mask, and the targets: the masked pieces, else IGNORED."""
    prefix, suffix = vocabulary.frame.prefix, vocabulary.frame.suffix
    known = (vocabulary.tokenizer.token_to_id(name) for name in _MASKS)
    mask = next((piece for piece in known if piece is not None), vocabulary.frame.unknown)
    inputs: list[Tensor] = []
    targets: list[Tensor] = []
    for words in windows:
        pieces = np.fromiter(chain.from_iterable(words), dtype=np.int64)
        drawn = np.repeat(random.random(len(words)), [len(word) for word in words]) / _MASKED  # one for all pieces of a word
        others = random.integers(vocabulary.tokenizer.get_vocab_size(), size=len(pieces))
        masked = np.select([drawn < _UNCHANGED, drawn < _UNCHANGED + _REPLACED, drawn < 1], [pieces, others, mask], pieces)
        inputs.append(torch.tensor([*prefix, *masked, *suffix]))
        target = np.where(drawn < 1, pieces, IGNORED)
        targets.append(torch.tensor([*(IGNORED for _ in prefix), *target, *(IGNORED for _ in suffix)]))
    return (
        pad_sequence(inputs, batch_first=True, padding_value=vocabulary.frame.pad),
        pad_sequence([torch.ones_like(row) for row in inputs], batch_first=True),
        pad_sequence(targets, batch_first=True, padding_value=IGNORED),
    )


def word_windows(
    documents: Sequence[Document], text: TextConfig, vocabulary: PieceVocabulary, most_pieces: int
) -> Iterator[Words]:
    """Windows packed as full as possible; consecutive parts of one source document (`doc`) are read together."""
    room = most_pieces - vocabulary.frame.special
    vocabulary.limit(room)
    for parts in source_documents(documents, 1):
        held: list[Pieces] = []
        size = 0
        for word in vocabulary.cut([part.text[start:end] for part in parts for start, end in words_of(part, text)]):
            if size + len(word) > room:
                yield tuple(held)
                held, size = [], 0
            held.append(word)
            size += len(word)
        if held:
            yield tuple(held)
