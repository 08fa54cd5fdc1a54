"""`proposed` gives every window's proposals once, whatever the batches, and leaves the model as it was."""

from typing import Any

import numpy as np
import pytest
import torch

from anyner.document import Document
from anyner.inference.config import Precision
from anyner.inference.recognizer import Recognizer, word_budget
from anyner.inference.torch_runtime import arithmetic
from anyner.inference.tuning import proposed

Proposals = dict[int, dict[tuple[int, ...], float]]


def proposals_by_window(recognizer: Recognizer, documents: tuple[Document, ...], tokens: int) -> Proposals:
    windows = recognizer.windows(documents)
    found: Proposals = {place: {} for place in range(len(windows))}
    seen: list[int] = []
    loosest = recognizer.decoding(thresholds={"score": 0.1})
    for batch in proposed(recognizer, windows, loosest, tokens):
        seen.extend(batch.places)
        for (sentence, *span), score in zip(batch.proposals["place"], batch.proposals["score"], strict=True):
            found[batch.places[sentence]][tuple(map(int, span))] = float(score)
    assert sorted(seen) == list(range(len(windows)))
    return found


def test_proposals_do_not_depend_on_the_batches(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    one, other = (proposals_by_window(recognizer, documents, tokens) for tokens in (1, 4096))
    assert sum(map(len, one.values())) > 500
    for place in one:
        assert one[place].keys() == other[place].keys()
        np.testing.assert_allclose([one[place][span] for span in other[place]], list(other[place].values()), atol=1e-5)


def test_the_longest_windows_go_first(recognizer: Recognizer, documents: tuple[Document, ...]) -> None:
    windows = recognizer.windows(documents)
    places = [p for batch in proposed(recognizer, windows, recognizer.decoding(), 300) for p in batch.places]
    sizes = [sum(map(len, windows[place].pieces)) for place in places]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_in_the_mode_it_was_in(recognizer: Recognizer, training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = recognizer.windows([Document("Pain in the knee"), Document("and the hip")])
    propose, seen = recognizer.model.propose, []

    def spied(*arguments: Any) -> Any:
        seen.append(recognizer.model.training)
        return propose(*arguments)

    monkeypatch.setattr(recognizer.model, "propose", spied)
    recognizer.model.train(training)
    try:
        for _ in proposed(recognizer, windows, recognizer.decoding(), 8):
            assert recognizer.model.training == training
        assert seen == [False, False]
    finally:
        recognizer.model.eval()


@pytest.mark.parametrize(
    ("training", "precision", "inference"), [(False, "float32", True), (True, "float32", False), (False, "bfloat16", False)]
)
def test_inference_mode_is_for_models_that_only_predict(
    recognizer: Recognizer, training: bool, precision: Precision, inference: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []
    propose = recognizer.model.propose

    def spied(*given: Any) -> Any:
        seen.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        return propose(*given)

    monkeypatch.setattr(recognizer.model, "propose", spied)
    monkeypatch.setattr(recognizer.runtime, "precision", precision)
    recognizer.model.train(training)
    try:
        list(proposed(recognizer, recognizer.windows([Document("Pain")]), recognizer.decoding(), 8))
    finally:
        recognizer.model.eval()
    assert seen == [(inference, False)]
    assert not any(one.is_inference() for one in (*recognizer.model.parameters(), *recognizer.model.buffers()))


def test_no_windows_no_proposals(recognizer: Recognizer) -> None:
    assert list(proposed(recognizer, [], recognizer.decoding(), 100)) == []


def test_on_a_cpu_numbers_stay_float32() -> None:
    with arithmetic(torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_attention_is_never_planned_for_one_shape() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    for precision in ("float32", "bfloat16"):
        with arithmetic(torch.device("cpu"), precision):
            assert not torch.backends.cuda.cudnn_sdp_enabled()
            assert torch.backends.cuda.flash_sdp_enabled()
            assert torch.backends.cuda.mem_efficient_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_gradients_are_not_kept_while_proposing(recognizer: Recognizer) -> None:
    windows = recognizer.windows([Document("Pain in the knee")])
    for _ in proposed(recognizer, windows, recognizer.decoding(), 8):
        pass
    assert torch.is_grad_enabled()


def test_the_budget_leaves_room_for_special_pieces(recognizer: Recognizer) -> None:
    assert word_budget(recognizer.runtime, recognizer.vocabulary, recognizer.config) == 128 - 2 - 2
