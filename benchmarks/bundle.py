"""Makes a bundled model of a trained one: int8 weights, figures on test corpora, and a card that shows what it gets wrong.

python benchmarks/bundle.py runs/general general-en --corpus data/conll03 --corpus data/btc --labels btc=PER,ORG,LOC

What the model remembers of the machine it was trained on gets a name for everyone with
--rename models/minilm=sentence-transformers/all-MiniLM-L6-v2; absolute paths are refused.

Given the bundled folder itself, it scores that again and leaves the weights as they are: after a change of its threshold, say.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from documents import SEPARATORS, in_runs, row
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plainly import plainly

import anyner
from anyner.benchmark.record import header, write
from anyner.document import Document, Entity
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CARD, CONFIG, RECIPE, WEIGHTS, write_text
from anyner.storage.save import save
from anyner.view.terminal import draw

HERE = Path(__file__).resolve().parent
BUNDLED = HERE.parent / "src/anyner/storage/bundled"
GAP = " … "
_PLACE = re.compile(r"(?<![\w./:])~?/[\w.-]+/[^\s\"',:]*")
CASINGS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}


def written_by_hand(path: Path) -> tuple[Mapping[str, Any], list[Document]]:
    """What a card says, and its sentences as documents."""
    about = yaml.safe_load(path.read_text(encoding="utf-8"))
    return about, [Document(one["text"], _entities(one["text"], one["entities"])) for one in about["sentences"]]


def texts_by_hand(path: Path) -> list[Document]:
    """Its longer texts; the id says what each is."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8")).get("texts", [])
    return [Document(one["text"], _entities(one["text"], one["entities"]), id=one["name"]) for one in listed]


def _entities(text: str, listed: Iterable[tuple[str, str]]) -> tuple[Entity, ...]:
    """Entities by their words; each stands where it does first, and one that is named again where it does next."""
    found: list[Entity] = []
    for label, words in listed:
        entity = _entity(text, label, words, 0)
        while entity in found:
            entity = _entity(text, label, words, entity.start + 1)
        found.append(entity)
    return tuple(found)


def _entity(text: str, label: str, words: str, place: int) -> Entity:
    """Every fragment at its first place behind the one before it."""
    fragments = []
    for part in words.split(GAP):
        start = text.index(part, place)
        place = start + len(part)
        fragments.append((start, place))
    return Entity(label, tuple(fragments))


def in_casing(documents: Sequence[Document], change: Callable[[str], str]) -> list[Document]:
    """The documents in another casing; letters that would become several stay as they are."""
    return [replace(one, text=_changed(one.text, change)) for one in documents]


def _changed(text: str, change: Callable[[str], str]) -> str:
    return "".join(new if len(new := change(letter)) == 1 else letter for letter in text)


def compared(recognizer: Recognizer, documents: Sequence[Document]) -> list[dict[str, Any]]:
    rows = []
    for document, found in zip(documents, recognizer.predict(documents), strict=True):
        wanted, had = {_shown(e) for e in document.entities}, {_shown(e) for e in found.entities}
        told = {"missed": sorted(wanted - had), "wrong": sorted(had - wanted)}
        rows.append({"name": document.id, "text": document.text, **told, "drawn": draw(found, colour=False)})
    return rows


def _shown(entity: Entity) -> str:
    return f"{entity.label} {entity.text}" if not entity.discontinuous else f"{entity.label} {entity.text} (with a gap)"


def scores(small: Recognizer, large: Recognizer | None, corpus: str, labels: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """Strict scores on a corpus's test part: of the stored model sentence by sentence, in other casings and on whole documents of
    raw text, and of the model before it was stored, if it is still there."""
    name = Path(corpus).name
    test = next(path for path in sorted(Path(corpus).glob("test.*")))
    documents = [replace(one, labels=labels.get(name)) for one in anyner.read(str(test)).documents]
    found = anyner.evaluate(small, documents)
    gaps = next((one for one in found.slices if (one.group, one.name) == ("discontinuous", "mentions")), None)
    return {
        "corpus": name,
        "documents": len(documents),
        **{key: getattr(found.strict, key) for key in ("precision", "recall", "f1")},
        "discontinuous_f1": gaps.f1 if gaps else None,
        "whole": _whole(small, documents) if any(one.doc is not None for one in documents) else None,
        **{casing: anyner.evaluate(small, in_casing(documents, change)).strict.f1 for casing, change in CASINGS.items()},
        "float32": anyner.evaluate(large, documents).strict.f1 if large else None,
    }


def _whole(recognizer: Recognizer, documents: Sequence[Document]) -> dict[str, Any]:
    runs = list(in_runs(documents, None))
    return {name: row(recognizer, runs, separator) for name, separator in SEPARATORS.items()}


def for_everyone(text: str, names: Mapping[str, str], where: str) -> str:
    """The text with other names for places of this machine; one that is left is refused."""
    for old, new in names.items():
        text = re.sub(rf"(?<![\w./-]){re.escape(old)}(?![\w.-])", new.replace("\\", r"\\"), text)
    if left := _PLACE.search(text):
        sys.exit(f"{where} names {left[0]}, which is a place of one machine: give it another name with --rename OLD=NEW")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of the trained model, or the bundled folder itself")
    parser.add_argument("name", help="name of the bundled model; benchmarks/bundled/NAME.yaml is its card's text")
    parser.add_argument("--corpus", action="append", default=[], help="folder with a test file; may be given again")
    parser.add_argument("--labels", action="append", default=[], help="CORPUS=A,B: only these are annotated there")
    parser.add_argument("--training-command", default="anyner train recipe.yaml -o NEW_FOLDER")
    parser.add_argument(
        "--rename", action="append", default=[], help="OLD=NEW, in recipe, config and commands; may be given again"
    )
    parser.add_argument("--device", default="cpu", help="where it is scored; the time to load is of this device too")
    parser.add_argument("-o", "--output", help="results file; default: benchmarks/results/bundled-NAME.json")
    arguments = parser.parse_args()
    about, sentences = written_by_hand(HERE / "bundled" / f"{arguments.name}.yaml")
    labels = {name: frozenset(listed.split(",")) for name, _, listed in (one.partition("=") for one in arguments.labels)}
    names = dict(one.split("=", 1) for one in arguments.rename)
    began_with = header("bundled")
    began_with["command"] = for_everyone(_without_renames(began_with["command"]), names, "the command")
    training_command = for_everyone(arguments.training_command, names, "--training-command")
    trained, folder = Path(arguments.model), BUNDLED / arguments.name
    large = None if trained.resolve() == folder else anyner.load(trained, device=arguments.device, precision="float32")
    if large:
        store(large, trained / RECIPE, folder, names)
    began = time.perf_counter()
    small = anyner.load(folder, device=arguments.device, precision="float32")
    result = {
        **began_with,
        "name": arguments.name,
        "training_command": training_command,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "weight_bytes": (folder / WEIGHTS).stat().st_size,
        "load_seconds": round(time.perf_counter() - began, 2),
        "corpora": [scores(small, large, corpus, labels) for corpus in arguments.corpus],
        "sentences": compared(small, sentences),
        "texts": compared(small, texts_by_hand(HERE / "bundled" / f"{arguments.name}.yaml")),
    }
    write_text(folder / CARD, card(arguments.name, about, small, result))
    write(result, arguments.output or HERE / "results" / f"bundled-{arguments.name}.json")


def store(model: Recognizer, recipe: Path, folder: Path, names: Mapping[str, str]) -> None:
    """Writes it as int8; its recipe and config name no place of one machine."""
    written = for_everyone(recipe.read_text(encoding="utf-8"), names, RECIPE)
    save(model, folder, "int8", overwrite=True)
    write_text(folder / RECIPE, written)
    write_text(folder / CONFIG, for_everyone((folder / CONFIG).read_text(encoding="utf-8"), names, CONFIG))


def _without_renames(command: str) -> str:
    parts = shlex.split(command)
    return shlex.join(part for before, part in zip(["", *parts], parts, strict=False) if "--rename" not in (before, part))


def card(name: str, about: Mapping[str, Any], model: Recognizer, result: Mapping[str, Any]) -> str:
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, loader=FileSystemLoader(HERE / "bundled")
    )
    return environment.get_template("card.md.jinja").render(
        name=name,
        about=about["about"],
        data=about["data"],
        chosen=about["chosen"],
        limits=about["limits"],
        config=model.config,
        encoder=about["encoder"],
        before=any(one["float32"] is not None for one in result["corpora"]),
        gaps=any(one["discontinuous_f1"] is not None for one in result["corpora"]),
        right=sum(not one["missed"] and not one["wrong"] for one in result["sentences"]),
        result=result,
        percent=lambda share: "" if share is None else f"{100 * share:.1f}",
    )


if __name__ == "__main__":
    plainly(main)
