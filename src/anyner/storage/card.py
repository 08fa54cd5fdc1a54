"""The model card: a README.md made from the run, never written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined

from anyner.encoding.config import FeatureConfig
from anyner.inference.config import ModelConfig

_CARD = """\
---
library_name: anyner
pipeline_tag: token-classification
tags: [ner, {{ config.architecture }}]
---
# {{ config.architecture }} on {{ encoder }}

Finds {{ config.labels | join(", ") }} with [anyner](https://pypi.org/project/anyner) {{ config.anyner_version }}.

```python
import anyner
ner = anyner.load("path/to/this/folder")
for entity in ner.predict("Some text.").entities:
    print(entity.label, entity.text, entity.fragments, entity.score)
```

| | |
|---|---|
| architecture | `{{ config.architecture }}` |
| encoder | {{ encoder }} |
| words | {{ config.text.splitter }} splitter{{ ", given words of the corpus kept" if config.text.words == "given" }} |
{% if features %}| word features | {{ features }} |
{% endif %}| overlap policy | {{ config.overlap }} |
| thresholds | {% for name, value in config.thresholds.items() %}{{ name }} {{ value }}{{ ", " if not loop.last }}{% endfor %} |
| training documents | {{ documents }} |

## Figures
{% if dev is none %}
It learned from the dev documents as well, once epoch and thresholds had been chosen on them: it has no score of its own there.
{% else %}
Strict micro scores (label and every fragment exactly right) on the dev documents that the best epoch and the thresholds were
chosen on:

| precision | recall | F1 |
|---|---|---|
| {{ "%.2f" | format(100 * dev.precision) }} | {{ "%.2f" | format(100 * dev.recall) }} | {{ "%.2f" | format(100 * dev.f1) }} |
{% endif %}
A figure for unseen text comes from `anyner evaluate` on a test set that was not used for any choice.

## Limits
It knows only the labels above and the kind of text it was trained on. Scores are the architecture's own and are not calibrated.
{% if dev is not none %}
It was chosen on the dev documents, so the figures above are slightly flattering.
{% endif %}

## Training
{{ "Epoch" if dev is none else "Best epoch" }} {{ training.best_epoch + 1 }} of {{ training.epochs }}, {{ training.steps }} steps.
Repeat it with `anyner train recipe.yaml -o NEW_FOLDER`:

```yaml
{{ recipe | trim }}
```
"""


def card(config: ModelConfig, metrics: Mapping[str, Any], recipe: str, documents: int) -> str:
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, trim_blocks=True)
    template = environment.from_string(_CARD)
    encoder = config.encoder.source.rstrip("/").rsplit("/", 1)[-1]
    return template.render(
        config=config,
        encoder=encoder,
        features=_features(config.encoder.features),
        dev=metrics["dev"],
        training=metrics["training"],
        recipe=recipe,
        documents=documents,
    )


def _features(config: FeatureConfig) -> str:
    used = {"word shapes": config.shapes, "part-of-speech tags": config.pos, "static vectors": config.vectors}
    return ", ".join(name for name, setting in used.items() if setting)
