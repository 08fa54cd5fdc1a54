"""The mention detector: which units begin, end or belong to entities, and how many begin there (equations 4 to 9)."""

from __future__ import annotations

from torch import Tensor, nn

from anyner.architectures.set_gner.config import Config


class Detector(nn.Module):
    """Two classifiers with hidden layers of their own: how many entities there are and where want other features."""

    def __init__(self, config: Config, width: int) -> None:
        super().__init__()
        assert config.most_at_one_word is not None, "the settings were not fitted to a corpus"
        hidden = config.detector_width or width

        def classifier(outputs: int) -> nn.Sequential:
            return nn.Sequential(
                nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(config.detector_dropout), nn.Linear(hidden, outputs)
            )

        self.parts = classifier(3) if config.parts else None
        self.occurrences = classifier(config.most_at_one_word + 1) if config.occurrences else None

    def begins(self, vectors: Tensor) -> Tensor | None:
        """Logits of beginning, ending and belonging, float32: (B, U, 3)."""
        return self.parts(vectors).float() if self.parts is not None else None

    def counts(self, vectors: Tensor) -> Tensor | None:
        """Logits of so many entities beginning there, from 0 on, float32: (B, U, O + 1)."""
        return self.occurrences(vectors).float() if self.occurrences is not None else None
