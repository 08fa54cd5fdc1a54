"""What trainings behind the figures start from: adapted encoders and opinions, and the commands that make them.

Corpora lie in data/, encoders in minilm/ and mpnet/.
"""

from __future__ import annotations

from dataclasses import dataclass

FOLDS = 4


@dataclass(frozen=True, slots=True)
class Preparation:
    path: str
    """What it makes, as commands of trainings name it."""
    command: str
    folds: bool = False
    """Whether folds of it are trained side by side before."""


def _adapted(encoder: str, *changes: str) -> Preparation:
    path = f"runs/adapted-genia/{encoder}"
    data = f"--set data.folder=data/genia_disc --set encoder.source={encoder}"
    more = "".join(f" --set {change}" for change in changes)
    return Preparation(path, f"anyner adapt recipes/biaffine/genia_disc.yaml {data}{more} -o {path}")


def _opinions(name: str, recipe: str, encoder: str, corpus: str | None) -> Preparation:
    data = f" --set data.folder=data/{corpus}" if corpus else ""
    command = f"anyner crossfit recipes/{recipe}.yaml{data} --set encoder.source={encoder} -o runs/{name}"
    return Preparation(f"runs/{name}/opinions.jsonl", command, folds=True)


PREPARATIONS = {
    one.path: one
    for one in (
        _adapted("minilm"),
        _adapted("mpnet", "training.encoder_lr=5e-5", "adapting.epochs=25"),
        _opinions("opinions", "biaffine/genia-opinions", "minilm", "genia"),
        _opinions("opinions-mpnet", "biaffine/genia-opinions-mpnet", "mpnet", "genia"),
        _opinions("opinions-adapted", "biaffine/genia-opinions", "runs/adapted-genia/minilm", "genia"),
        _opinions("opinions-disc", "biaffine/genia_disc-opinions", "minilm", "genia_disc"),
        _opinions("opinions-disc-mpnet", "biaffine/genia_disc-opinions-mpnet", "mpnet", "genia_disc"),
        _opinions("opinions-disc-gaps", "set_gner/genia_disc-opinions", "runs/adapted-genia/minilm", "genia_disc"),
        _opinions("opinions-cadec", "set_gner/cadec-opinions-mpnet", "mpnet", "cadec"),
        _opinions("opinions-cadec-nag", "nag_ner/cadec-opinions-mpnet", "mpnet", "cadec"),
        _opinions("opinions-litbank", "biaffine/litbank", "minilm", "litbank"),
        _opinions("opinions-general", "biaffine/general-en-opinions", "mpnet", None),
    )
}
