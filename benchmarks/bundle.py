"""Makes a bundled model from a trained one: int8 weights, scores on test corpora, and a card that shows its mistakes.

python benchmarks/bundle.py runs/general general-en --corpus data/conll03 --corpus data/btc --labels btc=PER,ORG,LOC

Local paths in recipe, config and commands are replaced with
--rename models/minilm=sentence-transformers/all-MiniLM-L6-v2; any absolute path that is left is an error.

Given the bundled folder itself, it only scores the model again, for example after a change of its threshold.
"""

from __future__ import annotations

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
from script import RESULTS, header, parser_of, run, write_result

import anyner
from anyner.document import Document, Entity
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CARD, CONFIG, RECIPE, WEIGHTS, write_text
from anyner.storage.save import save
from anyner.view.terminal import draw

HERE = Path(__file__).resolve().parent
BUNDLED = HERE.parent / "src/anyner/storage/bundled"
GAP = " … "
_LOCAL_PATH = re.compile(r"(?<![\w./:])~?/[\w.-]+/[^\s\"',:]*")
CASINGS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}


def written_by_hand(path: Path) -> tuple[Mapping[str, Any], list[Document], list[Document]]:
    """The texts of a card, its sentences, and its longer example texts; their ids are their names."""
    about = yaml.safe_load(path.read_text(encoding="utf-8"))
    listed = (about["sentences"], about.get("texts", []))
    sentences, texts = (
        [Document(one["text"], _entities(one["text"], one["entities"]), id=one.get("name", "")) for one in own] for own in listed
    )
    return about, sentences, texts


def _entities(text: str, listed: Iterable[tuple[str, str]]) -> tuple[Entity, ...]:
    """Entities given by their words: the first occurrence, and the next one for an entity that is listed again."""
    found: list[Entity] = []
    for label, words in listed:
        entity = _entity(text, label, words, 0)
        while entity in found:
            entity = _entity(text, label, words, entity.start + 1)
        found.append(entity)
    return tuple(found)


def _entity(text: str, label: str, words: str, place: int) -> Entity:
    """Each fragment is the first occurrence after the previous fragment."""
    fragments = []
    for part in words.split(GAP):
        start = text.index(part, place)
        place = start + len(part)
        fragments.append((start, place))
    return Entity(label, tuple(fragments))


def in_casing(documents: Sequence[Document], change: Callable[[str], str]) -> list[Document]:
    """The documents in another casing; letters that would become several characters are kept."""
    return [replace(one, text=_changed(one.text, change)) for one in documents]


def _changed(text: str, change: Callable[[str], str]) -> str:
    return "".join(new if len(new := change(letter)) == 1 else letter for letter in text)


def compared(recognizer: Recognizer, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """What the model misses and gets wrong in each document, and its entities drawn."""
    rows = []
    for document, found in zip(documents, recognizer.predict(documents), strict=True):
        gold, predicted = {_shown(e) for e in document.entities}, {_shown(e) for e in found.entities}
        mistakes = {"missed": sorted(gold - predicted), "wrong": sorted(predicted - gold)}
        rows.append({"name": document.id, "text": document.text, **mistakes, "drawn": draw(found, colour=False)})
    return rows


def _shown(entity: Entity) -> str:
    return f"{entity.label} {entity.text}" if not entity.discontinuous else f"{entity.label} {entity.text} (with a gap)"


def scores(small: Recognizer, large: Recognizer | None, corpus: str, labels: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """Strict scores on a corpus's test part: of the int8 model on sentences, in other casings and on whole documents of raw text,
    and of the float32 model, if there is one."""
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


def without_local_paths(text: str, names: Mapping[str, str], where: str) -> str:
    """The text with paths replaced by names; exits if an absolute path is left."""
    for old, new in names.items():
        text = re.sub(rf"(?<![\w./-]){re.escape(old)}(?![\w.-])", new.replace("\\", r"\\"), text)
    if left := _LOCAL_PATH.search(text):
        sys.exit(f"{where}: contains the local path {left[0]}: replace it with --rename OLD=NEW")
    return text


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", help="folder of the trained model, or the bundled folder itself")
    parser.add_argument("name", help="name of the bundled model; benchmarks/bundled/NAME.yaml is its card's text")
    parser.add_argument("--corpus", action="append", default=[], help="folder with a test file; repeatable")
    parser.add_argument("--labels", action="append", default=[], help="CORPUS=A,B: the only labels annotated in that corpus")
    parser.add_argument("--training-command", default="anyner train recipe.yaml -o NEW_FOLDER")
    parser.add_argument(
        "--rename", action="append", default=[], help="OLD=NEW: replace in recipe, config and commands; repeatable"
    )
    parser.add_argument("--device", default="cpu", help="device for scoring and for the load time")
    parser.add_argument("-o", "--output", help="results file; default: benchmarks/results/bundled-NAME.json")
    arguments = parser.parse_args()
    about, sentences, texts = written_by_hand(HERE / "bundled" / f"{arguments.name}.yaml")
    labels = {name: frozenset(listed.split(",")) for name, _, listed in (one.partition("=") for one in arguments.labels)}
    names = dict(one.split("=", 1) for one in arguments.rename)
    began_with = header("bundled")
    began_with["command"] = without_local_paths(_without_renames(began_with["command"]), names, "the command")
    training_command = without_local_paths(arguments.training_command, names, "--training-command")
    trained, folder = Path(arguments.model), BUNDLED / arguments.name
    large = (
        None
        if trained.resolve() == folder
        else anyner.load(trained, device=arguments.device, precision="float32", runtime="torch")
    )
    if large:
        store(large, trained / RECIPE, folder, names)
    began = time.perf_counter()
    small = anyner.load(folder, device=arguments.device, precision="float32", runtime="torch")
    result = {
        **began_with,
        "name": arguments.name,
        "training_command": training_command,
        "bytes": sum(file.stat().st_size for file in folder.iterdir()),
        "weight_bytes": (folder / WEIGHTS).stat().st_size,
        "load_seconds": round(time.perf_counter() - began, 2),
        "corpora": [scores(small, large, corpus, labels) for corpus in arguments.corpus],
        "sentences": compared(small, sentences),
        "texts": compared(small, texts),
    }
    write_text(folder / CARD, card(arguments.name, about, small, result))
    write_result(result, arguments.output or str(RESULTS / f"bundled-{arguments.name}.json"))


def store(model: Recognizer, recipe: Path, folder: Path, names: Mapping[str, str]) -> None:
    """Writes the model with int8 weights, and its recipe and config without local paths."""
    written = without_local_paths(recipe.read_text(encoding="utf-8"), names, RECIPE)
    save(model, folder, "int8", overwrite=True)
    write_text(folder / RECIPE, written)
    write_text(folder / CONFIG, without_local_paths((folder / CONFIG).read_text(encoding="utf-8"), names, CONFIG))


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
    run(main)
