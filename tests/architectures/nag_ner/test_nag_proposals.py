"""Proposals combine the scores of blocks and the span classifier."""

from typing import Any

import numpy as np
import pytest
import torch
from head_batches import LABELS, LENGTHS, states_of
from nag_batches import decoding, head_of

from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.head import CANDIDATES
from anyner.architectures.nag_ner.search import best_sequences

ALL_PASS = {"start": 0.0, "score": 0.0, "discontinuous": 0.0}


@torch.no_grad()
@pytest.mark.parametrize("contiguous", [False, True])
def test_generated_and_classified_probabilities_are_combined(contiguous: bool) -> None:
    classifier = {"width": 4, "rescore_fragments": False}
    head, states = head_of(span_classifier=classifier, contiguous=contiguous), states_of()
    assert head.span_classifier is not None
    torch.nn.init.zeros_(head.span_classifier.spans.linear.bias)
    torch.nn.init.normal_(head.span_classifier.spans.bilinear, std=3.0)
    chosen = decoding(head, ALL_PASS, more=0.0, score_share=0.3)
    proposals = head.propose(states, chosen, Draw(0))
    sentences, (blocks, _) = head.network.read(states), head._expected_blocks(states, chosen)
    hidden = head.network(sentences, blocks)
    labels = head.network.types(hidden[:, 0]).softmax(-1)[:, 1:]  # (Q, C)
    scores = head._word_scores(head.network.output(hidden[:, 1:], blocks, sentences), blocks, sentences)
    best = best_sequences(scores.placed, scores.sizes, scores.end, head.network.gap_cost, count=CANDIDATES, largest=1)
    probability = (best.score - head._log_partition(scores)[:, None]).exp()  # (Q, k)
    table = head.span_classifier.spans(states.words).softmax(1)  # (B, classes, M, M)
    compared = changed = 0
    for block, (sentence, word) in enumerate(proposals.place.tolist()):
        for number in range(CANDIDATES):
            size, own = int(best.count[block, number]), labels[block]
            if size:
                last = word + int(best.words[block, number, size - 1])
                kind = 1 + (0 if contiguous or last - word + 1 == size else len(LABELS))
                likely = table[sentence, kind : kind + len(LABELS), word, last]  # (C,)
                both = (probability[block, number] * own) ** 0.7 * likely**0.3  # (C,)
                two = slice(2 * number, 2 * number + 2)
                assert proposals.label[block, two].tolist() == both.topk(2).indices.tolist()
                assert proposals.score[block, two].tolist() == pytest.approx(both.topk(2).values.tolist(), rel=1e-4)
                compared += 1
                changed += int(both.argmax()) != int(own.argmax())
    assert compared > 5 and changed, "the span classifier also affects the label"


@torch.no_grad()
def test_without_rescoring_only_blocks_of_the_same_word_have_alternatives() -> None:
    head, states = head_of(span_classifier={"width": 4}, tail=False), states_of()
    for more, share, several in ((1.0, 0.0, False), (0.0, 0.0, True), (1.0, 0.5, True)):
        proposals = head.propose(states, decoding(head, ALL_PASS, more=more, score_share=share), Draw(0))
        others = proposals.score[:, 2 if share else 1 :]
        assert bool((others > 0).any()) == several
    found = head.decode(proposals.on_host(), len(LENGTHS), decoding(head, ALL_PASS))
    assert all(0 <= entity.first <= entity.last < length for length, own in zip(LENGTHS, found, strict=True) for entity in own)


@pytest.mark.parametrize(("second", "labels"), [(0.04, {"A", "B"}), (0.001, {"A"})])
def test_a_span_can_have_two_labels_even_if_one_is_far_likelier(second: float, labels: set[str]) -> None:
    """Two blocks of one word are each sure of a different label."""
    likely = np.array([0.93, second, 0.01])
    score = np.sqrt(0.9 * np.array([[0.95, 0.03, 0.01], [0.05, 0.9, 0.01]]) * likely)  # (blocks, labels)
    order = np.argsort(-score, axis=1)[:, :2]
    proposals: dict[str, np.ndarray[Any, Any]] = {
        "place": np.zeros((2, 2), dtype=np.int64),
        "start": np.ones(2),
        "score": np.take_along_axis(score, order, 1),
        "label": order,
        "count": np.ones((2, 2), dtype=np.int64),
        "words": np.zeros((2, 2, 1), dtype=np.int64),
    }
    found = decode(proposals, 1, decoding(head_of(), {"start": 0.05, "score": 0.15, "discontinuous": 0.15}))
    assert {entity.label for entity in found[0]} == labels
