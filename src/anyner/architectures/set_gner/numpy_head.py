"""Entity set generation around the exported networks: detection of heads, search and rescoring. numpy only."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from anyner.architectures import numpy_head
from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.generation import number_of_entities
from anyner.architectures.numpy_head import Array, Arrays, real_spans
from anyner.architectures.numpy_spans import Boundaries, Floats, Integers, rescored, sigmoid
from anyner.architectures.set_gner.config import LEAST_LIKELY, NONE, Config, Limits, SetOptions
from anyner.architectures.set_gner.decode import decode
from anyner.architectures.set_gner.numpy_search import Heads, Hypotheses, Sentences, generate
from anyner.architectures.settings import Decoding, least_before_rescoring, least_score
from anyner.encoding.arrays import BatchArrays


class NumpyHead(numpy_head.NumpyHead):
    CallOptions = SetOptions
    decode = staticmethod(decode)

    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        config, options, thresholds = self.config, decoding.options, decoding.thresholds
        assert isinstance(config, Config) and isinstance(options, SetOptions)
        assert config.longest is not None and config.most_at_one_word is not None
        real = batch.word_mask
        head_probability = sigmoid(read["parts"]) if "parts" in read else real.astype(np.float32)  # (B, M)
        number = number_of_entities(read["counts"], options.more) if "counts" in read else real.astype(np.int64)
        chosen = real & (head_probability >= thresholds.get("head", 0.0))
        classifier = self.span_classifier(read) if options.score_share else None
        share, reach = options.score_share if classifier is not None else 0.0, None
        if classifier is not None and not config.contiguous:
            reach = classifier.farthest(real_spans(batch), LEAST_LIKELY)  # (B, M) each
            chosen &= np.maximum(*reach) >= 0
        sentence, word = np.nonzero(chosen)  # (H,) each
        # the score is at most the probability times the number of entities
        least = math.log(least_before_rescoring(least_score(thresholds), share) / config.most_at_one_word)
        bounds = (reach[0][sentence, word], reach[1][sentence, word]) if reach is not None else None
        sentences = Sentences(partial(self.run, "following"), self._fixed(batch, read, config), batch.lengths, len(self.labels))
        best = generate(sentences, Heads(sentence, word, bounds), Limits(options.beam, config.longest, least), config)
        found = _proposed(best, sentence, head_probability[sentence, word], number[sentence, word])
        if classifier is None:
            return found
        sentence, label, size = found["place"].T  # (P,) each
        probability = classifier.probabilities(Boundaries.of_words(sentence, found["words"], size))  # (P, C)
        return {**found, "score": rescored(found["score"], probability[np.arange(len(label)), label], share)}

    def _fixed(self, batch: BatchArrays, read: Arrays, config: Config) -> dict[str, Array]:
        """The inputs of the decoder that are the same for all sequences of a sentence."""
        memory = {name: value for name, value in read.items() if name.startswith("memory_")}
        mask = batch.word_mask if config.reads == "words" else batch.piece_mask
        return {"inputs": read["inputs"], "keys": read["keys"], "mask": mask, "lengths": batch.lengths, **memory}


def _proposed(best: Hypotheses, sentence: Integers, head_probability: Floats, number: Integers) -> dict[str, Array]:
    """The `number` (H,) best entities of each head."""
    head, place = np.nonzero((np.arange(best.size.shape[1]) < number[:, None]) & (best.log > NONE))  # (P,) each
    score = np.minimum(np.exp(best.log[head, place]) * number[head].astype(np.float32), np.float32(1.0))
    which = np.column_stack([sentence[head], best.label[head, place], best.size[head, place]])
    return {"place": which, "words": best.units[head, place], "score": score, "head": head_probability[head]}
