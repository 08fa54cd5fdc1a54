"""Windows in, proposals out, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anyner.architectures.decode import HostProposals
from anyner.architectures.settings import Decoding
from anyner.encoding.pieces import PieceVocabulary
from anyner.inference.batching import batches, longest_first, window_size
from anyner.inference.runtime import Runtime
from anyner.overlap import resolve
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of one batch, on the host; `places` are the indices of its windows."""

    places: tuple[int, ...]
    proposals: HostProposals


class Proposer:
    """Runs a model over windows."""

    def __init__(self, runtime: Runtime, vocabulary: PieceVocabulary) -> None:
        self.runtime = runtime
        self.vocabulary = vocabulary
        self.extra = len(vocabulary.frame.prefix) + len(vocabulary.frame.suffix)
        """Number of special pieces of every window."""

    def propose(self, windows: Sequence[Window], decoding: Decoding, batch_tokens: int) -> Iterator[Proposed]:
        """Proposals of the windows, in batches of similar length, longest first."""
        sizes = [window_size(window) + self.extra for window in windows]
        padded = self.runtime.padded
        plan = list(batches(sizes, longest_first(windows, padded), batch_tokens, padded=padded))
        # No second thread: both would run Python, and passing the GIL costs more than the wait it hides.
        for places in plan:
            yield Proposed(tuple(places), self.propose_batch([windows[place] for place in places], decoding))

    def propose_batch(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        """Proposals of the windows of one batch."""
        return self.runtime.propose(windows, decoding)


def decoded(runtime: Runtime, proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence of a batch. Entities below the threshold of their label displace no others."""
    least = decoding.label_thresholds
    if not least:
        return runtime.decode(proposals, sentences, decoding)
    found = runtime.decode(proposals, sentences, replace(decoding, policy="all"))
    kept = ([entity for entity in own if (entity.score or 0.0) >= least.get(entity.label, 0.0)] for own in found)
    return [resolve(own, decoding.policy) for own in kept]
