"""Domain-adaptive pre-training: the encoder continues masked language modelling, with whole words masked, on your texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from anyner.document import Document
from anyner.encoding.config import EncoderConfig
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.encoding.pretrained import is_encoder_half
from anyner.errors import AnynerError
from anyner.inference.batching import batches
from anyner.inference.proposing import arithmetic
from anyner.storage.files import room_for
from anyner.text.config import TextConfig
from anyner.text.windows import Pieces, words_of
from anyner.training.config import PretrainingConfig, Recipe, TrainingConfig
from anyner.training.data.examples import DataCheck
from anyner.training.data.splits import read_data, source_ids
from anyner.training.encoder import starting_encoder
from anyner.training.optimizer import schedule, set_rates
from anyner.training.processes import StopRequest
from anyner.training.progress import Listener, Silent, clock

IGNORED = -100
"""Target of pieces that are not masked: cross-entropy skips it."""
_MASKS = ("[MASK]", "<mask>")
_UNCHANGED, _REPLACED = 0.1, 0.1
"""Shares of the masked words that stay as they are or become random pieces, as in BERT."""
_HELD_OUT = 0.02
"""Share of the windows for measuring accuracy."""
_HEAD_LR = 1e-3
"""Learning rate of the masked language modelling head, which is new and not kept."""

Words = tuple[Pieces, ...]


@dataclass(frozen=True, slots=True)
class Pretrained:
    folder: Path
    words: int
    epochs: int
    """Fewer than asked for if it was interrupted."""
    accuracy: float
    """Share of the masked pieces predicted right in held-out windows."""
    exit_code: int = 0
    """As a shell gives it after a signal: 130 after Ctrl-C, 143 after SIGTERM."""


def pretrain(recipe: Recipe, folder: Path, more: Sequence[Document] = (), listener: Listener | None = None) -> Pretrained:
    """Pre-trains the recipe's encoder on its training texts and on `more`, and writes it into a folder.

    Texts of dev and test are not read, so their scores stay valid.
    """
    listener = listener or Silent()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AnynerError(f"{folder} is not an empty folder: choose another output folder")
    data = read_data(recipe.data.documents_only(), recipe.text)
    for line in DataCheck(problems=data.problems).lines():
        listener.note(line)
    loop = _Loop(recipe, (*data.train, *more), listener)
    listener.note(f"{loop.words:,} words in {len(loop.train):,} windows for training, {len(loop.held_out):,} held out")
    epochs, accuracy = loop.run()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # the folder appears complete or not at all
    with room_for(folder), TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        whole = Path(temporary) / folder.name
        loop.encoder.cpu().save_pretrained(whole)
        loop.vocabulary.save(whole)
        whole.replace(folder)
    stopped = epochs < recipe.pretraining.epochs
    return Pretrained(folder, loop.words, epochs, accuracy, loop.stop.exit_code if stopped else 0)


class _Loop:
    def __init__(self, recipe: Recipe, documents: Sequence[Document], listener: Listener) -> None:
        self.config, self.training, self.listener = recipe.pretraining, recipe.training, listener
        self.stop = StopRequest()
        torch.manual_seed(self.training.seed)
        self.encoder, self.vocabulary = starting_encoder(recipe.encoder, documents)
        if is_encoder_half(self.encoder):
            kind = self.encoder.config.model_type
            raise AnynerError(f"encoder.source: {kind} cannot be pre-trained here: it is not a masked language model")
        room = min(self.config.window, Encoder(EncoderConfig(), self.encoder).most_pieces or self.config.window)
        windows = list(word_windows(documents, recipe.text, self.vocabulary, room))
        order = np.random.default_rng(self.training.seed).permutation(len(windows)).tolist()
        few = max(1, round(len(order) * _HELD_OUT))
        self.held_out, self.train = order[:few], order[few:]
        if not self.train:
            raise AnynerError(f"too little text for pre-training: {len(windows)} windows, need at least 2")
        self.words = sum(map(len, windows))
        self.masked = MaskedWords(windows, self.vocabulary, self.config.mask_share)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.head = MaskedLanguageHead(self.encoder).to(self.device)
        self.encoder.to(self.device)
        self._parameters = [*self.encoder.parameters(), *self.head.parameters()]
        self._optimizer = _optimizer(self.encoder, self.head, self.training, self.config)
        self._step, self._steps = 0, self.config.epochs * len(self._plan(self.train, 0))

    def run(self) -> tuple[int, float]:
        """Finished epochs, and the accuracy after them; Ctrl-C ends it sooner."""
        epochs, accuracy = 0, 0.0
        interrupted = False
        self._began = time.monotonic()
        with self.stop.on_ctrl_c():
            for epoch in range(1, self.config.epochs + 1):
                loss = self._epoch(epoch)
                if interrupted := loss is None:
                    break
                epochs, accuracy = epoch, self._accuracy()
                passed = clock(time.monotonic() - self._began)
                self.listener.note(f"epoch {epoch}: loss {loss:.4f}, masked pieces predicted {accuracy:.1%}, {passed}")
        return epochs, self._accuracy() if interrupted else accuracy

    def _epoch(self, epoch: int) -> float | None:
        """The mean loss of the steps; None if interrupted."""
        plan = self._plan(self.train, epoch)
        total = torch.zeros((), device=self.device)
        self.encoder.train()
        for number, places in enumerate(plan):
            if self.stop.asked:
                return None
            set_rates(self._optimizer, schedule(self._step, self._steps, self.training.warmup))
            loss, _ = self._loss(self.masked.batch(places, np.random.default_rng([self.training.seed, epoch, number])))
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._parameters, self.training.clip)
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)
            total += loss.detach()
            self._step += 1
            left = (time.monotonic() - self._began) / self._step * max(0, self._steps - self._step)
            self.listener.step(epoch, (number + 1) / len(plan), None, left)
        return total.item() / len(plan)

    def _plan(self, windows: Sequence[int], epoch: int) -> list[list[int]]:
        return self.masked.plan(windows, self.config.batch_tokens, np.random.default_rng([self.training.seed, epoch]))

    def _loss(self, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        """The mean loss of the masked pieces, and which are predicted right: (N,)."""
        places = (batch.targets.flatten() != IGNORED).nonzero()[:, 0].to(self.device)  # (N,) on the host: no GPU sync
        batch = batch.to(self.device)
        with arithmetic(self.device, self.training.precision):
            states = self.encoder(input_ids=batch.pieces, attention_mask=batch.attention_mask).last_hidden_state  # (B, S, d)
            logits = self.head(states.flatten(0, 1).index_select(0, places))  # (N, V)
        targets = batch.targets.flatten().index_select(0, places)  # (N,)
        loss = functional.cross_entropy(logits.float(), targets, reduction="sum") / max(1, len(places))
        return loss, logits.argmax(-1) == targets

    @torch.no_grad()
    def _accuracy(self) -> float:
        """On the held-out windows, with the same words masked every time."""
        self.encoder.eval()
        plan = self._plan(self.held_out, 0)
        right = [self._loss(self.masked.batch(places, np.random.default_rng([0, i])))[1] for i, places in enumerate(plan)]
        predicted = torch.cat(right).float()
        return float(predicted.mean()) if len(predicted) else 0.0


class MaskedLanguageHead(nn.Module):
    """Predicts masked pieces with the encoder's own embedding table, as BERT does."""

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        table = encoder.get_input_embeddings()
        assert isinstance(table, nn.Embedding)
        self._table = (table,)  # in a tuple, so that it is not registered as this module's parameter
        self.dense = nn.Linear(int(encoder.config.hidden_size), table.embedding_dim)
        nn.init.eye_(self.dense.weight)  # states of a masked language model are close to its table already
        self.norm = nn.LayerNorm(table.embedding_dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, states: Tensor) -> Tensor:
        """Logits of all pieces: (N, d) -> (N, V)."""
        return functional.linear(self.norm(functional.gelu(self.dense(states))), self._table[0].weight, self.bias)


def _optimizer(
    encoder: PreTrainedModel, head: MaskedLanguageHead, training: TrainingConfig, config: PretrainingConfig
) -> torch.optim.AdamW:
    groups = []
    for module, rate in ((encoder, config.lr or 2 * training.encoder_lr), (head, _HEAD_LR)):
        for matrices in (True, False):  # norms and biases have no weight decay
            own = [one for one in module.parameters() if (one.dim() > 1) == matrices]
            decay = training.weight_decay if matrices else 0.0
            groups.append({"params": own, "lr": rate, "peak_lr": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, fused=next(head.parameters()).is_cuda)


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    pieces: Tensor  # (B, S)
    attention_mask: Tensor  # (B, S) 1 or 0
    targets: Tensor  # (B, S) the original pieces where masked, IGNORED elsewhere

    def to(self, device: torch.device) -> MaskedBatch:
        return MaskedBatch(*(one.to(device, non_blocking=True) for one in (self.pieces, self.attention_mask, self.targets)))


class MaskedWords:
    """Windows of words in batches, a share of the words masked, each whole: the rest of a word would give a masked piece away."""

    def __init__(self, windows: Sequence[Words], vocabulary: PieceVocabulary, share: float) -> None:
        self.windows = windows
        self._sizes = [sum(map(len, window)) for window in windows]
        self._share, self._frame = share, vocabulary.frame
        known = (vocabulary.tokenizer.token_to_id(name) for name in _MASKS)
        self._mask = next((piece for piece in known if piece is not None), vocabulary.frame.unknown)
        self._vocabulary_size = vocabulary.tokenizer.get_vocab_size()

    def plan(self, windows: Sequence[int], batch_tokens: int, random: np.random.Generator) -> list[list[int]]:
        """The windows in batches of similar length, shuffled."""
        order = sorted(random.permutation(windows).tolist(), key=self._sizes.__getitem__)
        frame = len(self._frame.prefix) + len(self._frame.suffix)
        plan = list(batches([size + frame for size in self._sizes], order, batch_tokens))
        return [plan[number] for number in random.permutation(len(plan))]

    def batch(self, windows: Sequence[int], random: np.random.Generator) -> MaskedBatch:
        prefix, suffix = self._frame.prefix, self._frame.suffix
        longest = max(self._sizes[number] for number in windows) + len(prefix) + len(suffix)
        shown = np.full((len(windows), longest), self._frame.pad, dtype=np.int64)
        attention, targets = np.zeros_like(shown), np.full_like(shown, IGNORED)
        unchanged, replaced = self._share * _UNCHANGED, self._share * (_UNCHANGED + _REPLACED)
        for row, number in enumerate(windows):
            words = self.windows[number]
            pieces = np.fromiter(chain.from_iterable(words), dtype=np.int64)
            drawn = np.repeat(random.random(len(words)), [len(word) for word in words])  # one number for all pieces of a word
            others = random.integers(self._vocabulary_size, size=len(pieces))
            masked = np.select([drawn < unchanged, drawn < replaced, drawn < self._share], [pieces, others, self._mask], pieces)
            whole = [*prefix, *masked, *suffix]
            shown[row, : len(whole)], attention[row, : len(whole)] = whole, 1
            targets[row, len(prefix) : len(prefix) + len(pieces)] = np.where(drawn < self._share, pieces, IGNORED)
        return MaskedBatch(*map(torch.from_numpy, (shown, attention, targets)))


def word_windows(
    documents: Sequence[Document], text: TextConfig, vocabulary: PieceVocabulary, most_pieces: int
) -> Iterator[Words]:
    """Windows as full as they get; consecutive parts of one source document (`doc`) are read together."""
    room = most_pieces - len(vocabulary.frame.prefix) - len(vocabulary.frame.suffix)
    vocabulary.limit(room)
    for _, parts in groupby(zip(source_ids(documents), documents, strict=True), key=lambda pair: pair[0]):
        held: list[Pieces] = []
        size = 0
        for _, document in parts:
            for word in vocabulary.cut([document.text[start:end] for start, end in words_of(document, text)]):
                if size + len(word) > room:
                    yield tuple(held)
                    held, size = [], 0
                held.append(word)
                size += len(word)
        if held:
            yield tuple(held)
