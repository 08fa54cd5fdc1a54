"""A classifier finds words that start entities, and a decoder generates all their entities in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart, Step
from anyner.architectures.decoder_step import decoder_step
from anyner.architectures.draw import Draw
from anyner.architectures.generation import PRETRAINED_RATE
from anyner.architectures.nag_ner.config import CANDIDATES, END, FIRST_UNIT, IMPOSSIBLE, MORE, RESCORED_LABELS, Config, NagOptions
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.network import Blocks, Network, Sentences
from anyner.architectures.nag_ner.search import WordScores, best_sequences, log_partition, word_scores
from anyner.architectures.nag_ner.targets import IGNORED, BlockTargets, block_targets
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.architectures.spans import span_classifier_of, span_losses, span_tables
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.contiguous import number_in_sentence
from anyner.layers.decoder import Memory
from anyner.layers.decoder_weights import load_decoder
from anyner.layers.sequences import Sequences, SequencesInGraph
from anyner.layers.span_classifier import Boundaries, rescored
from anyner.layers.units import WordUnits
from anyner.text.windows import PieceCutter

RANDOM_SHARE = 0.1
"""Weight of noise in the choice of negatives, so that all words are seen eventually."""


@dataclass(frozen=True, slots=True)
class BlockProposals(base.Proposals):
    """Q blocks with K candidate entities each, lower ranks first."""

    place: Tensor  # (Q, 2) sentence, word
    start: Tensor  # (Q,) probability that an entity starts there
    score: Tensor  # (Q, K) 0: no candidate
    label: Tensor  # (Q, K)
    count: Tensor  # (Q, K) number of words
    words: Tensor  # (Q, K, W) relative to the block's word


class Head(base.Head):
    Config = Config
    CallOptions = NagOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        assert config.most_at_one_word is not None and config.longest is not None, "the settings were not fitted to a corpus"
        self.settings, self.most, self.longest = config, config.most_at_one_word, config.longest
        self.network = Network(config, len(labels), encoder)
        width, counts = encoder.width, self.most + 1
        self.span_classifier = span_classifier_of(config.span_classifier, width, len(labels), discontinuous=not config.contiguous)
        self.start_classifier: nn.Module | None = None
        if config.start_classifier == "linear":
            self.start_classifier = nn.Linear(width, counts)
        elif config.start_classifier == "mlp":
            hidden = nn.Linear(width, width), nn.ReLU(), nn.Dropout(config.dropout)
            self.start_classifier = nn.Sequential(*hidden, nn.Linear(width, counts))

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        assert self.settings.decoder is not None
        load_decoder(self.network.decoder, self.settings.decoder, encoder)

    def rate_share(self, name: str) -> float:
        return PRETRAINED_RATE if self.settings.decoder != "new" and name.startswith("network.decoder.") else 1.0

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        """L_ne and L_g of equation 7; L_g is split into labels and words unless `loss` is positions."""
        host, sentences = gold.host, self.network.read(states, self._shift(states, draw))
        expressible = self.settings.expressible(host.first, host.last, np.diff(host.offsets))
        targets = block_targets(host.only(expressible), sentences.units, self.longest, self.most)
        starts = states.placed(targets.starts)  # (B, M)
        complete = gold.annotated.all(1)  # (B,) if not, a word may start an entity of a label not annotated
        parts: dict[str, LossPart] = {}
        hardness = states.placed(draw.uniform("negatives", states.content_keys, states.words.shape[1]))  # (B, M)
        if self.start_classifier is not None:
            logits = self.start_classifier(states.words).float()  # (B, M, O + 1)
            known = states.word_mask & (complete[:, None] | (starts > 0))
            loss = functional.cross_entropy(logits.flatten(0, 1), starts.flatten(), reduction="none").view(known.shape)
            parts["starts"] = LossPart.mean(loss, known)  # equation 3
            hardness = 1 - logits.detach().softmax(-1)[..., 0] + RANDOM_SHARE * hardness
        hardness = hardness.masked_fill((starts > 0) | ~states.word_mask, -1.0)
        blocks, entities = self._training_blocks(states, targets, hardness, draw), len(targets.word)
        counted = torch.ones(len(blocks.word), dtype=torch.bool, device=starts.device)
        counted[entities:] = complete[blocks.sentence[entities:]]
        hidden = self.network(sentences, blocks)  # (Q, T, w)
        label = states.placed(np.pad(targets.label + 1, (0, len(blocks.word) - entities)))  # (Q,) 0: no entity
        logits = gold.known(self.network.types(hidden[:, 0]).float(), blocks.sentence)  # (Q, 1 + C)
        labels = LossPart.mean(functional.cross_entropy(logits, label, reduction="none"), counted)
        output = self.network.output(hidden[:, 1:], blocks, sentences)
        words = self._word_loss(output, self._symbols(targets, blocks, sentences), counted, blocks, sentences)
        if self.settings.loss == "sequences":
            parts |= {"labels": labels, "words": words}
        else:  # the paper's L_g is one mean over all positions
            numerator, denominator = labels.numerator + words.numerator, labels.denominator + words.denominator
            parts["generation"] = LossPart(numerator, denominator)
        if self.network.last_word is not None:
            own = self._last_words(hidden, blocks, sentences)[:entities].gather(1, states.placed(targets.last)[:, None])
            parts["last words"] = LossPart(-own.sum(), own.new_full((), entities))
        return {**parts, **span_losses(self.span_classifier, self.settings.span_classifier, states, gold)}

    def _shift(self, states: States, draw: Draw) -> Tensor:
        """Random position offset of each sentence in its window, 0 for half of them: (B, 1)."""
        room = (self.settings.most_units or 0) - np.array(states.lengths)[:, None]  # (B, 1)
        drawn = 2 * draw.uniform("shift", states.content_keys, 1) - 1  # (B, 1)
        return states.placed((np.maximum(drawn, 0) * np.maximum(room, 0)).astype(np.int64))

    def _training_blocks(self, states: States, targets: BlockTargets, hardness: Tensor, draw: Draw) -> Blocks:
        """One block per entity, a negative one of the next rank at each of their words, and blocks of words without entities."""
        count, share, started = len(states.lengths), self.settings.negatives, targets.starts > 0
        more = np.nonzero(started & (targets.starts < self.most) & (share != "all"))  # (N,) sentences, words
        negatives: NDArray[np.int64] = np.array(states.lengths) - started.sum(1)
        if share != "all":
            negatives = np.minimum(negatives, share * np.bincount(targets.sentence, minlength=count) + 1)
        owner = np.repeat(np.arange(count), negatives)  # sentences of the negatives
        slot, rank = number_in_sentence(owner, count), np.zeros_like(owner)
        if self.start_classifier is None:  # every rank is decoded at every word, so each must learn no entity
            drawn = draw.uniform("ranks", states.content_keys, max(1, int(negatives.max())))
            rank = (drawn[owner, slot] * self.most).astype(np.int64)
        sequences = Sequences.of(np.concatenate([targets.sentence, more[0], owner]), count, hardness.device)
        ranks, words = np.concatenate([targets.rank, targets.starts[more], rank]), np.concatenate([targets.word, more[1], slot])
        rank_of, word_of = states.placed(np.stack([ranks, words]))  # (Q,) each
        known, hardest = len(sequences) - len(owner), hardness.argsort(dim=1, descending=True, stable=True)  # (B, M)
        word_of[known:] = hardest[sequences.sentence[known:], word_of[known:]]
        return Blocks(sequences, word_of, rank_of)

    def _symbols(self, targets: BlockTargets, blocks: Blocks, sentences: Sentences) -> Tensor:
        """The target symbols of every block: (Q, longest + 1). The target of a block without an entity is its word."""
        units, states = sentences.units, sentences.states
        own = states.placed(targets.symbols)
        place = blocks.sentence[len(own) :], blocks.word[len(own) :]
        first, size = (states.placed(part)[place][:, None] for part in (units.first, units.size))  # (N, 1) each
        number = torch.arange(own.shape[1], device=size.device)
        word = torch.where(number < size, FIRST_UNIT + first + number, torch.where(number == size, END, IGNORED))  # (N, L + 1)
        word[:, -1] = torch.where(size[:, 0] > self.longest, MORE, word[:, -1])
        return torch.cat([own, word])

    def _word_loss(self, output: Tensor, symbols: Tensor, counted: Tensor, blocks: Blocks, sentences: Sentences) -> LossPart:
        """Cross-entropy of the target symbols (Q, P), over all sequences or at each position; averaged over positions."""
        real = (symbols != IGNORED) & counted[:, None]
        own = functional.nll_loss(output.flatten(0, 1), symbols.flatten(), ignore_index=IGNORED, reduction="none")
        loss = (own.view_as(symbols) * counted[:, None]).sum()
        if self.settings.loss == "sequences":
            partition = self._log_partition(self._word_scores(output, blocks, sentences))
            loss = loss + (partition * counted).sum()
            jumps = (symbols[:, 1:] >= FIRST_UNIT) & (symbols[:, 1:] != symbols[:, :-1] + 1) & counted[:, None]
            if self.network.gap_cost is not None:
                loss = loss + (jumps.sum(0)[: self.longest - 1] * self.network.gap_cost[1:]).sum()
        return LossPart(loss, real.sum())

    def _last_words(self, hidden: Tensor, blocks: Blocks, sentences: Sentences) -> Tensor:
        """Log probability of each word of the sentence to be the last of an entity that does not fit: (Q, M)."""
        assert self.network.last_word is not None
        symbols: Tensor = self.network.last_word(hidden.mean(1, keepdim=True), blocks, sentences)
        return symbols[:, 0, FIRST_UNIT:]

    def _word_scores(self, output: Tensor, blocks: Blocks, sentences: Sentences) -> WordScores:
        farthest = self.settings.farthest or self.longest
        # contiguous entities span at most as many words as fit into a block
        return word_scores(output, blocks, sentences, min(farthest, self.longest) if self.settings.contiguous else farthest)

    def _log_partition(self, scores: WordScores) -> Tensor:
        """Log-partition over all word sequences, including those that do not fit: (Q,)."""
        end = torch.logaddexp(scores.end, scores.more.clamp(min=2 * IMPOSSIBLE))
        return log_partition(scores.placed, scores.sizes, end, self.network.gap_cost, largest=scores.largest)

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> BlockProposals:
        options = decoding.options
        assert isinstance(options, NagOptions)
        sentences, gap_cost = self.network.read(states), self.network.gap_cost
        blocks, start = self._expected_blocks(states, decoding)
        hidden = self.network(sentences, blocks)
        labels = self.network.types(hidden[:, 0]).float().softmax(-1)  # (Q, 1 + C)
        if greedy := options.decoding == "greedy":  # the best symbol at the label's position may be "no entity"
            labels = labels * (labels.argmax(1, keepdim=True) > 0)
        output = self.network.output(hidden[:, 1:], blocks, sentences, greedy=greedy)
        scores = self._word_scores(output, blocks, sentences)
        partition = self._log_partition(scores)[:, None] if self.settings.loss == "sequences" else None
        largest = scores.largest
        best = best_sequences(
            scores.placed, scores.sizes, scores.end, gap_cost, count=1 if greedy else CANDIDATES, largest=largest
        )
        score, count, words = _probability(best.score, best.units, partition), best.count, best.words  # (Q, K, …)
        if self.network.last_word is not None:  # one more candidate, contiguous: all words up to the most probable last one
            full = best_sequences(scores.placed, scores.sizes, scores.more, gap_cost, count=1, largest=largest)
            tails = self._last_words(hidden, blocks, sentences)  # (Q, M)
            word = torch.arange(tails.shape[1], device=tails.device)
            found, last = tails.masked_fill(word < blocks.word[:, None] + full.count, 2 * IMPOSSIBLE).max(1, keepdim=True)
            own = _probability(full.score, torch.full_like(full.count, self.longest), partition)  # (Q, 1)
            score = torch.cat([score, torch.where(found > IMPOSSIBLE, own, 0.0)], dim=1)
            count = torch.cat([count, last - blocks.word[:, None] + 1], dim=1)
            words = functional.pad(words, (0, len(word) - words.shape[2]))  # (Q, K, M)
            words = torch.cat([words, word.expand(len(words), 1, -1)], dim=1)
        by_label, kept = score[..., None] * labels[:, None, 1:], 1  # (Q, K, C)
        if self.span_classifier is not None and options.score_share > 0:
            owner = blocks.sentence[:, None].expand_as(count).flatten()
            absolute = blocks.word[:, None, None] + torch.where(score[..., None] > 0, words, 0)  # (Q, K, W)
            boundaries = Boundaries.of_words(owner, absolute.flatten(0, 1), count.flatten())
            likely = self.span_classifier.probabilities(self.span_classifier.read(states.words), boundaries)
            by_label, kept = rescored(by_label, likely.view_as(by_label), options.score_share), RESCORED_LABELS
        else:  # alternatives are only for a block whose best candidate another block has taken
            shares_start = (blocks.sentence.diff() == 0) & (blocks.word.diff() == 0)  # (Q - 1,) with the block before
            shares_start = functional.pad(shares_start, (1, 0)) | functional.pad(shares_start, (0, 1))
            by_label[:, 1 : best.score.shape[1]] *= shares_start[:, None, None]
        kept = min(kept, len(self.labels))
        likeliest, label = (part.flatten(1) for part in by_label.topk(kept, dim=2))  # (Q, K * kept) each
        count, words = (part.repeat_interleave(kept, dim=1) for part in (count, words))
        return BlockProposals(torch.stack([blocks.sentence, blocks.word], dim=1), start, likeliest, label, count, words)

    def read(self, states: States) -> Mapping[str, Tensor] | None:
        if self.settings.space != "pointer":
            return None
        words, _, memory = self.network.read_words(states)
        counts = {"counts": self.start_classifier(states.words)} if self.start_classifier is not None else {}
        return {"words": words, "vectors": states.words, **memory.named(), **counts, **span_tables(self, states)}

    def steps(self) -> Mapping[str, Step]:
        """The decoder: scores of labels, and of symbols at every position of blocks."""
        network = self.network
        sentences = {
            "words": torch.zeros(2, 5, network.decoder.shape.width),
            "vectors": torch.zeros(2, 5, network.word_width),
            "first_piece": torch.zeros(2, 5, dtype=torch.long),
            "word_mask": torch.ones(2, 5, dtype=torch.bool),
            "mask": torch.ones(2, 6 if network.reads_pieces else 5, dtype=torch.bool),
        }
        blocks = {"word": torch.tensor([0, 1, 2, 3]), "rank": torch.zeros(4, dtype=torch.long)}
        return {"blocks": decoder_step(self._of_blocks, network.decoder.shape, sentences, blocks)}

    def _of_blocks(self, given: Mapping[str, Tensor], memory: Memory, at: SequencesInGraph) -> Mapping[str, Tensor]:
        """The step of `steps`."""
        network, words, vectors, first = self.network, given["words"], given["vectors"], given["first_piece"]
        states = States(
            vectors, given["word_mask"], vectors, given["mask"], first, first, first, vectors[:, 0], (1, 2), ()
        )  # pieces are not read here
        no_units = WordUnits(np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0), dtype=np.int64))  # nor are units
        sentences = Sentences(states, no_units, words, network.positions_of(words), memory)
        blocks = Blocks(at, given["word"], given["rank"])
        hidden = network(sentences, blocks)  # (Q, T, w)
        found = {"labels": network.types(hidden[:, 0]).float(), "symbols": network.output(hidden[:, 1:], blocks, sentences)}
        if network.last_word is not None:
            found["tails"] = self._last_words(hidden, blocks, sentences)
        return {**found, "gap_cost": network.gap_cost + 0.0} if network.gap_cost is not None else found

    def _expected_blocks(self, states: States, decoding: Decoding) -> tuple[Blocks, Tensor]:
        """Blocks of all entities that the start classifier predicts, and the probability (Q,) that any starts at their words."""
        options, start = decoding.options, states.word_mask.float()  # (B, M)
        assert isinstance(options, NagOptions)
        number = torch.full_like(start, self.most)  # (B, M)
        if self.start_classifier is not None:
            counts = self.start_classifier(states.words).float()  # (B, M, O + 1)
            start = 1 - counts.softmax(-1)[..., 0]
            number = options.number_of_entities(counts) * (start >= decoding.thresholds["start"])  # equation 6
        expected = states.word_mask[..., None] & (torch.arange(self.most, device=start.device) < number[..., None])  # (B, M, O)
        sequences, place = Sequences.of_mask(expected.flatten(1))
        word = place // self.most  # (Q,)
        return Blocks(sequences, word, place % self.most), start[sequences.sentence, word]


def _probability(score: Tensor, units: Tensor, partition: Tensor | None) -> Tensor:
    """Probabilities of sequences with these log scores: globally normalised, or the geometric mean over positions; 0: none."""
    probability = (score - partition).exp() if partition is not None else (score / (units + 1)).exp()
    return torch.where(score > IMPOSSIBLE, probability, 0.0)
