"""Non-autoregressive generation around the exported networks: blocks, the best sequences of each, rescoring. numpy only."""

from __future__ import annotations

import numpy as np

from anyner.architectures import numpy_head
from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.generation import number_of_entities
from anyner.architectures.nag_ner.config import CANDIDATES, IMPOSSIBLE, RESCORED_LABELS, Config, NagOptions
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.numpy_search import NONE, WordScores, best_sequences, log_partition
from anyner.architectures.numpy_head import Array, Arrays, placed_in_grid
from anyner.architectures.numpy_spans import Boundaries, Floats, Integers, rescored, softmax
from anyner.architectures.settings import Decoding
from anyner.encoding.arrays import BatchArrays


class NumpyHead(numpy_head.NumpyHead):
    CallOptions = NagOptions
    decode = staticmethod(decode)

    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        options, config = decoding.options, self.config
        assert isinstance(options, NagOptions) and isinstance(config, Config)
        place, rank, start = self._expected_blocks(batch, read, decoding)  # (Q, 2), (Q,), (Q,)
        if not len(place):
            none = np.zeros((0, 1), dtype=np.int64)
            return {"place": place, "start": start, "score": none * 0.0, "label": none, "count": none, "words": none[..., None]}
        sentence, word = place.T
        found = self.run("blocks", self._inputs(batch, read, place, rank))
        labels, symbols = softmax(found["labels"], 1), found["symbols"]  # (Q, 1 + C), (Q, L + 1, 2 + M)
        if greedy := options.decoding == "greedy":  # the best symbol at the label's position may be "no entity"
            labels = labels * (labels.argmax(1, keepdims=True) > 0)
            symbols = np.where(symbols < symbols.max(-1, keepdims=True), np.float32(NONE), symbols)
        farthest = config.farthest or symbols.shape[1] - 1
        reach = min(farthest, symbols.shape[1] - 1) if config.contiguous else farthest
        scores = WordScores.of(symbols, word, batch.lengths[sentence], reach)
        gap_cost, partition = found.get("gap_cost"), None
        if config.loss == "sequences":
            ending = np.logaddexp(scores.end, np.maximum(scores.more, 2 * IMPOSSIBLE))
            partition = log_partition(scores.placed, ending, gap_cost)[:, None]  # (Q, 1)
        best = best_sequences(scores.placed, scores.end, gap_cost, 1 if greedy else CANDIDATES)
        score, count, words = _probability(best.score, best.count, partition), best.count, best.words  # (Q, K, …)
        if "tails" in found:  # one more candidate, contiguous: all words up to the most probable last one
            full = best_sequences(scores.placed, scores.more, gap_cost, 1)
            every = np.arange(found["tails"].shape[1])
            tails = np.where(every < word[:, None] + full.count, np.float32(2 * IMPOSSIBLE), found["tails"])  # (Q, M)
            own = _probability(full.score, np.full_like(full.count, symbols.shape[1] - 1), partition)  # (Q, 1)
            score = np.concatenate([score, np.where(tails.max(1, keepdims=True) > IMPOSSIBLE, own, np.float32(0))], axis=1)
            count = np.concatenate([count, tails.argmax(1)[:, None] - word[:, None] + 1], axis=1)
            words = np.pad(words, ((0, 0), (0, 0), (0, len(every) - words.shape[2])))  # (Q, K, M)
            words = np.concatenate([words, np.broadcast_to(every, (len(words), 1, len(every)))], axis=1)
        by_label, kept = score[..., None] * labels[:, None, 1:], 1  # (Q, K, C)
        classifier = self.span_classifier(read) if options.score_share > 0 else None
        if classifier is not None:
            absolute = word[:, None, None] + np.where(score[..., None] > 0, words, 0)  # (Q, K, W)
            owner = np.repeat(sentence, count.shape[1])
            boundaries = Boundaries.of_words(owner, absolute.reshape(len(owner), -1), count.ravel())
            likely = classifier.probabilities(boundaries).reshape(by_label.shape)
            by_label, kept = rescored(by_label, likely, options.score_share), RESCORED_LABELS
        else:  # alternatives are only for a block whose best candidate another block has taken
            shared = (np.diff(sentence) == 0) & (np.diff(word) == 0)  # (Q - 1,) with the block before
            shares_start = np.append(False, shared) | np.append(shared, False)
            by_label[:, 1 : best.score.shape[1]] *= shares_start[:, None, None]
        kept = min(kept, len(self.labels))
        label = np.argsort(-by_label, axis=2, kind="stable")[..., :kept]  # (Q, K, kept)
        likeliest = np.take_along_axis(by_label, label, 2)
        count, words = np.repeat(count, kept, axis=1), np.repeat(words, kept, axis=1)
        entities = {"label": label.reshape(len(place), -1), "count": count, "words": words}
        return {"place": place, "start": start, "score": likeliest.reshape(len(place), -1), **entities}

    def _expected_blocks(self, batch: BatchArrays, read: Arrays, decoding: Decoding) -> tuple[Integers, Integers, Floats]:
        """Sentence and word (Q, 2) and rank (Q,) of all entities that the start classifier predicts, and the probability (Q,)
        that any starts there."""
        options, config, start = decoding.options, self.config, batch.word_mask.astype(np.float32)  # (B, M)
        assert isinstance(options, NagOptions) and isinstance(config, Config) and config.most_at_one_word is not None
        number = np.full(start.shape, config.most_at_one_word)  # (B, M)
        if "counts" in read:
            start = 1 - softmax(read["counts"], 2)[..., 0]
            number = number_of_entities(read["counts"], options.more) * (start >= decoding.thresholds["start"])  # equation 6
        expected = batch.word_mask[..., None] & (np.arange(config.most_at_one_word) < number[..., None])  # (B, M, O)
        sentence, word, rank = np.nonzero(expected)  # (Q,) each
        return np.column_stack([sentence, word]), rank, start[sentence, word]

    def _inputs(self, batch: BatchArrays, read: Arrays, place: Integers, rank: Integers) -> dict[str, Array]:
        config, (sentence, word) = self.config, place.T
        assert isinstance(config, Config)
        memory = {name: value for name, value in read.items() if name.startswith("memory_")}
        reads_pieces = config.decoder != "new" or config.block_inputs != "words"
        masks = {"word_mask": batch.word_mask, "mask": batch.piece_mask if reads_pieces else batch.word_mask}
        known = {"words": read["words"], "vectors": read["vectors"], "first_piece": batch.first_piece}
        return {**known, **masks, **memory, **placed_in_grid(sentence, len(batch.lengths)), "word": word, "rank": rank}


def _probability(score: Floats, units: Integers, partition: Floats | None) -> Floats:
    """Probabilities of sequences with these log scores: globally normalised, or the geometric mean over positions; 0: none."""
    with np.errstate(over="ignore", invalid="ignore"):
        probability = np.exp(score - partition) if partition is not None else np.exp(score / (units + 1).astype(np.float32))
    result: Floats = np.where(score > IMPOSSIBLE, probability, np.float32(0))
    return result
