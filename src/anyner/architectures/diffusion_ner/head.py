"""Noisy spans are denoised into entities: trained from gold that was noised, predicting from pure noise in a few steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.decode import decode
from anyner.architectures.diffusion_ner.denoiser import Denoiser, Pointed, Sentence
from anyner.architectures.diffusion_ner.matching import by_inputs, by_predictions, costs, labels_pointed_at
from anyner.architectures.diffusion_ner.noising import noised
from anyner.architectures.diffusion_ner.reading import best, voted
from anyner.architectures.diffusion_ner.schedule import denoising_pairs, earlier, schedule_of
from anyner.architectures.diffusion_ner.state import clean_state, spans_at
from anyner.architectures.diffusion_ner.stretches import Stretches
from anyner.architectures.draw import NORMALS, Draw, normals
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.assignment import NOTHING
from anyner.layers.contiguous import Entities
from anyner.layers.everywhere import loss_everywhere
from anyner.layers.span_check import agreed, least_before
from anyner.layers.spanpool import Spans


@dataclass(frozen=True, slots=True)
class DenoisedSpans(base.Proposals):
    """P entities that the spans of a sample ended as; no two of the same words."""

    place: Tensor  # (P, 5) sentence, first word, last word (inclusive), label, sample
    score: Tensor  # (P,)


@dataclass(frozen=True, slots=True)
class DenoisingStep:
    """What the denoiser was asked at one step, and where it pointed."""

    step: int
    first: Tensor  # (B, K)
    last: Tensor  # (B, K)
    pointed: Pointed


class Head(base.Head):
    Config = Config
    CallOptions = DiffusionOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        self.schedule = schedule_of(config.schedule, config.diffusion_steps)
        self.denoiser = Denoiser(config, encoder.width, len(labels) + 1)
        self.register_buffer("normals", torch.tensor(normals()), persistent=False)  # on the device, where all of it is drawn from

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config, windows, stretches = self.settings, states, self.stretches(states)
        states, rows = stretches.states(windows), stretches.entities(Entities.of(gold.host)).rows(len(stretches.window))
        noisy = noised(rows, states, config, self.schedule, draw)
        first, last, step = (states.placed(array) for array in (noisy.first.numpy(), noisy.last.numpy(), noisy.step))
        gold_first, gold_last, gold_label = states.placed(np.stack([rows.first, rows.last, rows.label]))  # (B, G) each
        sentence = self.denoiser.read(states)
        answers = self.denoiser(sentence, first, last, step)
        if config.matching == "inputs":
            assigned = by_inputs(rows, noisy, config.apart)
        else:
            cost = costs(answers.detach(), gold_first, gold_last, gold_label).cpu().numpy()  # the batch's one wait
            assigned = by_predictions(cost, rows, noisy, self.schedule.kept[noisy.step].astype(np.float32), config)
        entity = states.placed(assigned)  # (B, K)
        matched, place = entity != NOTHING, entity.clamp(min=0)
        left, right = (
            self._pointing(logits, target.gather(1, place), states.word_mask)
            for logits, target in ((answers.left, gold_first), (answers.right, gold_last))
        )
        label = torch.where(matched, gold_label.gather(1, place) + 1, 0)  # (B, K)
        if config.type_target == "pointed":
            label = labels_pointed_at(answers, gold_first, gold_last, gold_label, states.placed(rows.counts))
        weight = torch.where(label > 0, 1.0, config.none_weight)
        annotated = gold.annotated[states.placed(stretches.window)]  # (B, C)
        unknown = functional.pad(~annotated, (1, 0))[:, None]  # (B, 1, 1 + C)
        types = functional.cross_entropy(
            answers.types.masked_fill(unknown, -1e4).flatten(0, 1), label.flatten(), reduction="none"
        ).view_as(weight)  # (B, K)
        parts = {
            "boundary": LossPart(torch.where(matched, left + right, 0.0).sum(), matched.sum(), config.boundary_weight),
            "type": LossPart((weight * types).sum(), weight.sum(), config.type_weight),
        }
        if self.denoiser.pairs is not None and sentence.pairs is not None and config.everywhere_weight:
            pairs = sentence.pairs if states is windows else self.denoiser.pairs.as_boundaries(windows.words)
            table = self.denoiser.pairs.of_kinds(pairs, slice(None))  # (windows, 1 + C, M, M)
            everywhere = loss_everywhere(table, windows.word_mask, gold)
            parts["everywhere"] = LossPart(everywhere, windows.word_mask.sum(), config.everywhere_weight)
        return parts

    def stretches(self, states: States) -> Stretches:
        """What a batch of windows is denoised in, the B rows of all that follows."""
        return Stretches.of(states.lengths, self.settings.stretch or max(states.lengths))

    @staticmethod
    def _pointing(logits: Tensor, target: Tensor, word_mask: Tensor) -> Tensor:
        """Binary cross-entropy over the words, summed: (B, K)."""
        wanted = functional.one_hot(target, logits.shape[2]).to(logits.dtype)  # (B, K, M)
        loss = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        return torch.where(word_mask[:, None], loss, 0.0).sum(2)

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> DenoisedSpans:
        options, stretches = decoding.options, self.stretches(states)
        assert isinstance(options, DiffusionOptions)
        states = stretches.states(states)
        sentence = self.denoiser.read(states)
        share = options.check_share if self.denoiser.pairs is not None and self.settings.everywhere_weight else 0.0
        least = (
            least_before(decoding.thresholds["score"], share) if options.samples == 1 else 0.0
        )  # a mean needs the weak ones too
        places, scores = [], []
        for sample in range(options.samples):
            steps = list(self.denoise(states, sentence, options, draw, sample))
            pointed = [step.pointed for step in (steps if options.every_step else steps[-1:])]
            answers = self.denoiser.typed(sentence, _side_by_side(pointed))
            place, score = (voted if options.voting else best)(answers, least)
            if share:
                score = agreed(score, self._checked(sentence, place), share)
            place, score = stretches.in_windows(states, place, score)
            places.append(functional.pad(place, (0, 1), value=sample))
            scores.append(score)
        return DenoisedSpans(torch.cat(places), torch.cat(scores))

    def _checked(self, sentence: Sentence, place: Tensor) -> Tensor:
        """What the bilinear form alone says of entities (P, 4): their probabilities (P,)."""
        assert self.denoiser.pairs is not None and sentence.pairs is not None
        number, first, last, label = place.unbind(1)  # (P,) each
        likely = self.denoiser.pairs.at(sentence.pairs, Spans(number, first, last)).softmax(1)  # (P, 1 + C)
        return likely.gather(1, 1 + label[:, None])[:, 0]

    def denoise(
        self, states: States, sentence: Sentence, options: DiffusionOptions, draw: Draw, sample: int = 0
    ) -> Iterator[DenoisingStep]:
        """From noise to entities, step by step (Algorithm 2)."""
        config = self.settings
        words = states.word_mask.sum(1)[:, None]  # (B, 1)
        pairs = denoising_pairs(config.diffusion_steps, options.steps)
        state, *fresh = self._noise(states, f"sample {sample}", options.spans, len(pairs) if options.eta else 1, draw)
        anew = self._noise(states, f"renewal of sample {sample}", options.spans, len(pairs), draw) if options.renewal else []
        times = self.denoiser.times(states.placed(np.array([here for here, _ in pairs])))  # (steps, 1, w)
        slot = self.denoiser.slots(state[..., 0])
        for number, (here, there) in enumerate(pairs):
            first, last = spans_at(state, words, config.state, config.scale)
            pointed = self.denoiser.pointed(sentence, first, last, times[number], slot)
            yield DenoisingStep(here, first, last, pointed)
            if there < 0:
                return
            left, right = pointed.left.argmax(2), pointed.right.argmax(2)
            lost = (right < left) | (self.denoiser.typed(sentence, pointed).types.argmax(2) == 0) if anew else None
            with base.exact(state.device):
                clean = clean_state(left, torch.maximum(left, right), words, config.state, config.scale)
                kept = (float(self.schedule.kept[here]), float(self.schedule.kept[there]))
                state = earlier(state, clean, kept, options.eta, fresh[number] if fresh else None)
                if lost is not None:
                    state = torch.where(lost[..., None], anew[number], state)

    def _noise(self, states: States, purpose: str, spans: int, times: int, draw: Draw) -> list[Tensor]:
        """So many times K states of noise: (B, K, 2) each."""
        walks = states.placed(draw.walks(purpose, states.content_keys))  # (B, 2)
        numbers = torch.arange(2 * spans * times, device=walks.device)
        assert isinstance(self.normals, Tensor)
        drawn = self.normals[(walks[:, :1] + walks[:, 1:] * numbers) & (NORMALS - 1)]  # (B, times * K * 2)
        return list(drawn.view(len(walks), times, spans, 2).unbind(1))


def _side_by_side(pointed: Sequence[Pointed]) -> Pointed:
    """Of several steps, as if all their spans were of one."""
    if len(pointed) == 1:
        return pointed[0]
    parts = zip(*((one.spans, one.left, one.right) for one in pointed), strict=True)
    return Pointed(*(torch.cat(part, dim=1) for part in parts))
