"""Writes the files of this folder with the libraries that own the formats; the tests read them without these libraries.

python tests/corpora/files/make.py, with spaCy 3.8, datasets 5.2 and bconv 1.2 installed
"""

from __future__ import annotations

import io
from pathlib import Path

import bconv
import datasets
import spacy
from spacy.tokens import DocBin

HERE = Path(__file__).parent
TEXT = "😀 Zoë Alden took Cryoprin in Kelford."
SPANS = [(2, 11, "Person"), (17, 25, "Drug"), (29, 36, "Place"), (2, 5, "GivenName")]


def make_spacy() -> None:
    language = spacy.blank("en")
    flat = language(TEXT)
    flat.set_ents([flat.char_span(*span[:2], label=span[2]) for span in SPANS[:3]])
    nested = language(TEXT)
    nested.spans["sc"] = [nested.char_span(*span[:2], label=span[2]) for span in SPANS]
    DocBin(docs=[flat, nested, language("No annotation here.")]).to_disk(HERE / "docbin.spacy")


def make_datasets() -> None:
    names = ["O", "B-Person", "I-Person", "B-Place", "I-Place"]
    tags = datasets.Sequence(datasets.ClassLabel(names=names))
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": tags})
    rows = {"tokens": [["Zoë", "Alden", "left", "Kelford"], ["Yes"]], "ner_tags": [[1, 2, 0, 3], [0]]}
    tagged = datasets.Dataset.from_dict(rows, features=features)
    tagged.to_parquet(HERE / "tags.parquet")
    tagged.save_to_disk(HERE / "saved")
    spans = [{"start": start, "end": end, "label": label} for start, end, label in SPANS]
    datasets.Dataset.from_dict({"text": [TEXT], "spans": [spans]}).to_parquet(HERE / "spans.parquet")


def make_biomedical() -> None:
    """bconv counts bytes of UTF-8 in BioC, and characters in PubTator."""
    lines = [f"7|t|{TEXT}", "7|a|Zoë is well.", *(f"7\t{s}\t{e}\t{TEXT[s:e]}\t{label}\tX:1" for s, e, label in SPANS)]
    lines += ["7\t38\t41\tZoë\tPerson\tX:1", "", ""]
    collection = bconv.load(io.StringIO("\n".join(lines)), fmt="pubtator")
    for name, kind in (("bytes.xml", "bioc_xml"), ("bytes.json", "bioc_json"), ("pubtator.txt", "pubtator")):
        made = bconv.dumps(collection, fmt=kind)
        (HERE / name).write_bytes(made if isinstance(made, bytes) else made.encode())


if __name__ == "__main__":
    make_spacy()
    make_datasets()
    make_biomedical()
