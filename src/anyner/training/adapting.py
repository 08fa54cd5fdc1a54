"""An encoder goes on learning its language from the texts that it will read: words are hidden, and it finds them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
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
from anyner.encoding.pretrained import is_encoder_half
from anyner.errors import AnynerError
from anyner.inference.proposing import arithmetic
from anyner.storage.files import room_for
from anyner.training.config import AdaptingConfig, Recipe, TrainingConfig
from anyner.training.data import DataCheck, read_data
from anyner.training.hidden_words import NOT_ASKED, HiddenBatch, HiddenWords, word_windows
from anyner.training.interrupt import StopRequest
from anyner.training.optimizer import schedule, set_rates
from anyner.training.progress import Listener, Silent, clock
from anyner.training.start import starting_encoder


@dataclass(frozen=True, slots=True)
class Adapted:
    folder: Path
    words: int
    epochs: int
    """Fewer than were asked for if it was interrupted."""
    found: float
    """Share of the hidden pieces that were found in windows from which nothing was learned."""
    exit_code: int = 0
    """As a shell gives it after a signal: 130 after Ctrl-C, 143 after SIGTERM."""


class Namer(nn.Module):
    """Names hidden pieces by the encoder's own table, as BERT does."""

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        table = encoder.get_input_embeddings()
        assert isinstance(table, nn.Embedding)
        self._table = (table,)  # in a tuple: it stays the encoder's and is not registered
        self.dense = nn.Linear(int(encoder.config.hidden_size), table.embedding_dim)
        nn.init.eye_(self.dense.weight)  # what the encoder says is near to its own table already, if it learned in this way
        self.norm = nn.LayerNorm(table.embedding_dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, states: Tensor) -> Tensor:
        """Logits of all pieces: (N, d) -> (N, V)."""
        return functional.linear(self.norm(functional.gelu(self.dense(states))), self._table[0].weight, self.bias)


def adapt(recipe: Recipe, folder: Path, more: Sequence[Document] = (), listener: Listener | None = None) -> Adapted:
    """Writes the recipe's encoder into a folder after it has learned from the texts that train, and from `more`.

    The texts of dev and test stay unread, so that their scores tell what new texts will get.
    """
    listener = listener or Silent()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AnynerError(f"{folder} is not an empty folder: choose another output folder")
    data = read_data(recipe.data.as_they_are(), recipe.text)
    for line in DataCheck(problems=data.problems).lines():
        listener.note(line)
    adapting = _Adapting(recipe, (*data.train, *more), listener)
    listener.note(f"{adapting.count:,} words in {len(adapting.learned):,} windows, and {len(adapting.apart):,} windows apart")
    epochs, found = adapting.run()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # there whole or not at all
    with room_for(folder), TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        whole = Path(temporary) / folder.name
        adapting.encoder.cpu().save_pretrained(whole)
        adapting.vocabulary.save(whole)
        whole.replace(folder)
    stopped = epochs < recipe.adapting.epochs
    return Adapted(folder, adapting.count, epochs, found, adapting.stop.exit_code if stopped else 0)


class _Adapting:
    def __init__(self, recipe: Recipe, documents: Sequence[Document], listener: Listener) -> None:
        self.config, self.training, self.listener = recipe.adapting, recipe.training, listener
        self.stop = StopRequest()
        torch.manual_seed(self.training.seed)
        self.encoder, self.vocabulary = starting_encoder(recipe.encoder, documents)
        if is_encoder_half(self.encoder):
            kind = self.encoder.config.model_type
            raise AnynerError(f"encoder.source: {kind} did not learn from hidden words, and cannot go on with it")
        room = min(self.config.window, Encoder(EncoderConfig(), self.encoder).most_pieces or self.config.window)
        windows = list(word_windows(documents, recipe.text, self.vocabulary, room))
        order = np.random.default_rng(self.training.seed).permutation(len(windows)).tolist()
        few = max(1, round(len(order) * self.config.held_out))
        self.apart, self.learned = order[:few], order[few:]
        if not self.learned:
            raise AnynerError(f"the texts are too short to learn a language from: {len(windows)} windows of words")
        self.count = sum(map(len, windows))
        self.words = HiddenWords(windows, self.vocabulary, self.config.hidden)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.namer = Namer(self.encoder).to(self.device)
        self.encoder.to(self.device)
        self._parameters = [*self.encoder.parameters(), *self.namer.parameters()]
        self._optimizer = _optimizer(self.encoder, self.namer, self.training, self.config)
        self._step, self._steps = 0, self.config.epochs * len(self._plan(self.learned, 0))

    def run(self) -> tuple[int, float]:
        """Epochs that were learned, and the share of hidden pieces found after them; ends sooner on Ctrl-C."""
        epochs, found = 0, 0.0
        interrupted = False
        self._began = time.monotonic()
        with self.stop.on_ctrl_c():
            for epoch in range(1, self.config.epochs + 1):
                loss = self._epoch(epoch, self.stop)
                if interrupted := loss is None:
                    break
                epochs, found = epoch, self._found()
                passed = clock(time.monotonic() - self._began)
                self.listener.note(f"epoch {epoch}: loss {loss:.4f}, {found:.1%} of hidden pieces found, {passed}")
        return epochs, self._found() if interrupted else found

    def _epoch(self, epoch: int, stop: StopRequest) -> float | None:
        """The mean loss of an epoch's steps; None: it was interrupted."""
        plan = self._plan(self.learned, epoch)
        total = torch.zeros((), device=self.device)
        self.encoder.train()
        for number, places in enumerate(plan):
            if stop.asked:
                return None
            set_rates(self._optimizer, schedule(self._step, self._steps, self.training.warmup))
            loss, _ = self._loss(self.words.batch(places, np.random.default_rng([self.training.seed, epoch, number])))
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
        return self.words.plan(windows, self.config.batch_tokens, np.random.default_rng([self.training.seed, epoch]))

    def _loss(self, batch: HiddenBatch) -> tuple[Tensor, Tensor]:
        """The mean loss of the hidden pieces, and which were found: (N,)."""
        places = (batch.hidden.flatten() != NOT_ASKED).nonzero()[:, 0].to(self.device)  # (N,) sought on the host, which knows
        batch = batch.to(self.device)
        with arithmetic(self.device, self.training.precision):
            states = self.encoder(input_ids=batch.shown, attention_mask=batch.attention_mask).last_hidden_state  # (B, S, d)
            logits = self.namer(states.flatten(0, 1).index_select(0, places))  # (N, V)
        hidden = batch.hidden.flatten().index_select(0, places)
        loss = functional.cross_entropy(logits.float(), hidden, reduction="sum") / max(1, len(places))
        return loss, logits.argmax(-1) == hidden

    @torch.no_grad()
    def _found(self) -> float:
        """Share of the hidden pieces found in the windows apart; the same ones are hidden every time."""
        self.encoder.eval()
        plan = self._plan(self.apart, 0)
        right = [self._loss(self.words.batch(places, np.random.default_rng([0, i])))[1] for i, places in enumerate(plan)]
        found = torch.cat(right).float()
        return float(found.mean()) if len(found) else 0.0


def _optimizer(encoder: PreTrainedModel, namer: Namer, training: TrainingConfig, config: AdaptingConfig) -> torch.optim.AdamW:
    groups = []
    for module, rate in ((encoder, config.lr or 2 * training.encoder_lr), (namer, config.head_lr)):
        for matrices in (True, False):  # norms and biases have no weight decay
            own = [one for one in module.parameters() if (one.dim() > 1) == matrices]
            decay = training.weight_decay if matrices else 0.0
            groups.append({"params": own, "lr": rate, "peak_lr": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, fused=next(namer.parameters()).is_cuda)
