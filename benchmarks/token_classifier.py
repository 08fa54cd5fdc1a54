"""A plain Hugging Face token classifier as a baseline: one BIO tag for each word's first piece, nothing else.

python benchmarks/token_classifier.py ENCODER CORPUS --sentences 100 --seed 0 -o benchmarks/results/token-classifier-NAME.json

ENCODER is a folder that AutoModelForTokenClassification reads, CORPUS one with train and test files. `--sentences` is the number
of training sentences to draw with the seed. Batches of 8; a learning rate of 1e-4 with warm-up and linear decay; 15 epochs, of
which the last is scored; dev is not used. It is for flat entities: of two that overlap it learns the first.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from script import header, parser_of, run, write_result
from transformers import AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification

from anyner.corpora.reading import read_splits
from anyner.corpora.wordform import entities_in_words
from anyner.document import Document, Entity
from anyner.evaluation.evaluate import evaluate_documents

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, RATE, EPOCHS, MOST_PIECES = 8, 1e-4, 15, 500
IGNORED = -100
"""Tag of pieces that the loss ignores."""


def tags_of(document: Document) -> list[str]:
    """A BIO tag for each word."""
    tags = ["O"] * len(document.words or ())
    for entity, fragments in entities_in_words(document):
        first, stop = fragments[0] if len(fragments) == 1 else (0, 0)
        if first < stop and all(tag == "O" for tag in tags[first:stop]):
            tags[first:stop] = [f"B-{entity.label}", *[f"I-{entity.label}"] * (stop - first - 1)]
    return tags


def entities_of(document: Document, tags: Sequence[str]) -> list[Entity]:
    """The entities that tags of the words describe; an I- tag that continues nothing begins one."""
    words, found = document.words or (), list[tuple[str, int, int]]()
    for place, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        if kind == "I" and found and found[-1][0] == label and found[-1][2] == place:
            found[-1] = (label, found[-1][1], place + 1)
        elif kind != "O":
            found.append((label, place, place + 1))
    return [Entity(label, ((words[first][0], words[stop - 1][1]),)) for label, first, stop in found]


def encoded(
    documents: Sequence[Document], tokenizer: Any, number: Mapping[str, int]
) -> tuple[list[dict[str, list[int]]], list[list[int]]]:
    """Pieces and their tags for each document, and the word that each piece begins, or -1."""
    rows, begun = [], []
    for document in documents:
        words = [document.text[start:end] for start, end in document.words or ()]
        coded, tags = tokenizer(words, is_split_into_words=True, truncation=True, max_length=MOST_PIECES), tags_of(document)
        own, places = coded.word_ids(), list[int]()
        for piece, word in enumerate(own):
            places.append(-1 if word is None or (piece and own[piece - 1] == word) else word)
        rows.append({"input_ids": coded["input_ids"], "labels": [IGNORED if w < 0 else number[tags[w]] for w in places]})
        begun.append(places)
    return rows, begun


def trained(encoder: str, documents: Sequence[Document], names: Sequence[str], seed: int) -> tuple[Any, Any]:
    """The tokenizer, and a model fine-tuned on the documents."""
    torch.manual_seed(seed)
    tokenizer, shuffled = AutoTokenizer.from_pretrained(encoder), random.Random(seed)
    model = AutoModelForTokenClassification.from_pretrained(encoder, num_labels=len(names)).to(DEVICE)
    rows, _ = encoded(documents, tokenizer, {name: place for place, name in enumerate(names)})
    padded = DataCollatorForTokenClassification(tokenizer)
    steps = EPOCHS * -(-len(rows) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 10 * (step + 1) / steps) * (1 - step / steps))
    model.train()
    for _ in range(EPOCHS):
        order = shuffled.sample(range(len(rows)), len(rows))
        for start in range(0, len(order), BATCH):
            batch = padded([rows[place] for place in order[start : start + BATCH]])
            model(**batch.to(DEVICE)).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    return tokenizer, model.eval()


@torch.inference_mode()
def predicted(tokenizer: Any, model: Any, documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """The documents with the entities that the model finds."""
    bare = [document.with_entities(()) for document in documents]
    rows, begun = encoded(bare, tokenizer, {"O": 0})
    found = list(bare)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]["input_ids"]))
    for start in range(0, len(order), BATCH):
        own = order[start : start + BATCH]
        batch = tokenizer.pad([{"input_ids": rows[place]["input_ids"]} for place in own], return_tensors="pt")
        best = model(**batch.to(DEVICE)).logits.argmax(-1).tolist()
        for place, numbers in zip(own, best, strict=True):
            tags = ["O"] * len(bare[place].words or ())
            for word, number in zip(begun[place], numbers, strict=False):
                if word >= 0:
                    tags[word] = names[number]
            found[place] = bare[place].with_entities(entities_of(bare[place], tags))
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("encoder")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    splits = read_splits(str(arguments.corpus))
    train, test = list(splits.train or ()), list(splits.test or ())
    if arguments.sentences:
        train = random.Random(arguments.seed).sample(train, arguments.sentences)
    labels = sorted({entity.label for document in train for entity in document.entities})
    names = ["O", *(f"{kind}-{label}" for label in labels for kind in "BI")]
    tokenizer, model = trained(arguments.encoder, train, names, arguments.seed)
    scores = evaluate_documents(test, predicted(tokenizer, model, test, names))
    result = {
        **header("token_classifier"),
        "corpus": arguments.corpus.name,
        "sentences": len(train),
        "seed": arguments.seed,
        "test": {"documents": len(test), "strict": scores.strict.to_json()},
    }
    print(f"{arguments.corpus.name}, {len(train):,} sentences, seed {arguments.seed}: test F1 {100 * scores.strict.f1:.2f}")
    write_result(result, arguments.output)


if __name__ == "__main__":
    run(main)
