from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from anyner.architectures.biaffine.config import Config
from anyner.architectures.settings import CorpusStatistics, Shape
from anyner.corpora.corpus import summary
from anyner.corpora.source_documents import neighbours_attached
from anyner.document import Document, Entity
from anyner.encoding.batch import batch_of
from anyner.errors import AnynerError
from anyner.fragments import Fragments
from anyner.overlap import Policy
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.training.config import DataConfig, Recipe
from anyner.training.data.examples import DataCheck, note_unreachable, word_entities
from anyner.training.data.splits import Splits, held_out, read_data, thinned
from anyner.training.data.statistics import corpus_statistics, strictest_policy
from anyner.training.run import build

Writer = Callable[[Path, list[Document]], str]
ANY_SHAPE: frozenset[Shape] = frozenset({"flat", "nested", "crossing", "discontinuous"})
ANNA = Document("Anna saw Bern.", (Entity("Person", ((0, 4),)),))
BERN = Document("Anna saw Bern.", (Entity("Place", ((9, 13),)),))


def test_corpora_with_different_label_sets_are_joined(tmp_path: Path, written: Writer) -> None:
    one, other = written(tmp_path / "one.jsonl", [ANNA]), written(tmp_path / "other.jsonl", [BERN, ANNA])
    data = DataConfig.model_validate({"train": [{"path": one, "labels": ["Person"]}, other], "dev": one})
    splits = read_data(data, TextConfig())
    assert [document.labels for document in splits.train] == [frozenset({"Person"}), None, None]
    assert splits.labels == ("Person", "Place")
    assert len(splits.dev) == 1


def test_an_annotated_label_counts_even_if_it_never_occurs(tmp_path: Path, written: Writer) -> None:
    one = written(tmp_path / "one.jsonl", [ANNA])
    data = DataConfig.model_validate({"train": [{"path": one, "labels": ["Person", "Rare"]}], "dev": one})
    assert read_data(data, TextConfig()).labels == ("Person", "Rare")


def test_an_entity_outside_the_named_labels_is_an_error_that_names_the_file(tmp_path: Path, written: Writer) -> None:
    one = written(tmp_path / "one.jsonl", [ANNA, BERN])
    data = DataConfig.model_validate({"train": [{"path": one, "labels": ["Person"]}], "dev": one})
    with pytest.raises(AnynerError) as caught:
        read_data(data, TextConfig())
    assert str(caught.value).startswith(f"{one}: document 2 has an entity Place")


def test_files_of_equal_names_do_not_lend_each_other_neighbours(tmp_path: Path) -> None:
    paths = []
    for name, words in (("a", ("Alpha", "Beta")), ("b", ("Gamma", "Delta", "Zeta"))):
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / "train.conll")
        paths[-1].write_text("-DOCSTART- O\n\n" + "".join(f"{word} O\n\n" for word in words))
    data = DataConfig.model_validate({"train": list(map(str, paths)), "dev": str(paths[1])})
    splits = read_data(data, TextConfig(context=2))
    assert [(one.before, one.text, one.after) for one in splits.train] == [
        ("", "Alpha", "Beta"),
        ("Alpha", "Beta", ""),
        ("", "Gamma", "Delta Zeta"),
        ("Gamma", "Delta", "Zeta"),
        ("Gamma Delta", "Zeta", ""),
    ]
    assert [str(paths[1]) in str(problem) for problem in splits.problems] == [True, True]
    assert splits.dev == splits.train[2:]


def test_a_folder_without_train_is_refused(tmp_path: Path, written: Writer) -> None:
    written(tmp_path / "dev.jsonl", [ANNA])
    with pytest.raises(AnynerError, match="holds no train corpus") as caught:
        read_data(DataConfig(folder=str(tmp_path)), TextConfig())
    assert str(tmp_path) in str(caught.value)


def test_a_folder_gives_its_three_splits(tmp_path: Path, written: Writer) -> None:
    for name, documents in (("train", [ANNA, BERN]), ("valid", [ANNA]), ("test", [BERN])):
        written(tmp_path / f"{name}.jsonl", documents)
    splits = read_data(DataConfig(folder=str(tmp_path)), TextConfig())
    assert tuple(map(len, (splits.train, splits.dev, splits.test))) == (2, 1, 1)


def test_context_is_found_across_splits(tmp_path: Path) -> None:
    lines = [f'{{"text": "{text}", "entities": [], "doc": "d", "sentence": {n}}}\n' for n, text in enumerate("ABC")]
    (tmp_path / "train.jsonl").write_text(lines[0] + lines[2], encoding="utf-8")
    (tmp_path / "dev.jsonl").write_text(lines[1], encoding="utf-8")
    splits = read_data(DataConfig(folder=str(tmp_path)), TextConfig(context=1))
    assert (splits.dev[0].before, splits.dev[0].after) == ("A", "C")
    assert splits.train[0].after == "B"
    assert not read_data(DataConfig(folder=str(tmp_path)), TextConfig()).dev[0].before


def sentences(docs: int, each: int) -> list[Document]:
    return [replace(ANNA, doc=f"d{n}", sentence=k) for n in range(docs) for k in range(each)]


def test_whole_documents_are_held_out_of_train_and_dev(tmp_path: Path, written: Writer) -> None:
    everything = sentences(docs=20, each=3)
    written(tmp_path / "train.jsonl", [one for one in everything if one.sentence != 1])
    written(tmp_path / "dev.jsonl", [one for one in everything if one.sentence == 1])
    splits = read_data(DataConfig(folder=str(tmp_path), held_out=0.1), TextConfig())
    assert len(splits.dev) == 2 * 3
    assert len(splits.train) == 18 * 3
    assert not {one.doc for one in splits.train} & {one.doc for one in splits.dev}


def test_fewer_documents_are_evenly_drawn_and_their_sources_stay_whole() -> None:
    alone = [Document(str(number)) for number in range(10)]
    assert [document.text for document in thinned(alone, 4)] == ["0", "3", "6", "9"]
    assert thinned(alone, 10) == tuple(alone)
    of_two = [Document(str(number), doc=str(number // 2)) for number in range(10)]
    assert [document.text for document in thinned(of_two, 5)] == ["0", "1", "4", "5", "8", "9"]


def test_the_last_documents_are_held_out_each_whole() -> None:
    documents = sentences(docs=30, each=2)
    train, dev = held_out((*documents[:10], *documents[11:], documents[10]), 0.2)
    assert [one.doc for one in dev] == [f"d{n}" for n in range(24, 30) for _ in range(2)]
    assert len(train) == 48


def test_a_folder_without_dev_can_hold_out_a_share_of_train(tmp_path: Path, written: Writer) -> None:
    written(tmp_path / "train.jsonl", [Document(f"Anna saw Bern {n} times.") for n in range(10)])
    splits = read_data(DataConfig(folder=str(tmp_path), held_out=0.3), TextConfig())
    assert (len(splits.train), len(splits.dev)) == (7, 3)


def test_dev_from_source_documents_of_train_is_reported(tiny: Callable[..., Recipe]) -> None:
    one, other = sentences(docs=1, each=2)
    (line,) = prepared(tiny, [one], [other, ANNA])
    assert line.startswith("1 of 2 dev documents have a source document (`doc`) of train")


def test_texts_of_train_in_dev_are_reported(tiny: Callable[..., Recipe]) -> None:
    train = [Document(f"Anna saw Bern {n} times.", (Entity("Person", ((0, 4),)),)) for n in range(12)]
    (line,) = checked(tiny, train, [*train[:2], ANNA])
    assert line == "2 of 3 dev documents have the text of a train document: dev scores are too high"
    assert checked(tiny, train[:1], train) == []


def test_equal_texts_are_held_out_together() -> None:
    train, dev = held_out([Document("Bern."), *[ANNA] * 9], 0.1)
    assert (len(train), len(dev)) == (1, 9)


def prepared(tiny: Callable[..., Recipe], train: list[Document], dev: list[Document], *changes: str) -> list[str]:
    return checked(tiny, train, [replace(one, text=f"{one.text} ") for one in dev], *changes)


def checked(tiny: Callable[..., Recipe], train: list[Document], dev: list[Document], *changes: str) -> list[str]:
    return build(tiny(*changes), Splits(tuple(train), tuple(dev), ()))[2].lines()


def test_nothing_is_reported_without_problems(tiny: Callable[..., Recipe]) -> None:
    assert prepared(tiny, [ANNA, BERN], [BERN]) == []


def test_an_entity_off_the_word_boundaries_is_reported(tiny: Callable[..., Recipe]) -> None:
    off = Document("Annabel slept.", (Entity("Person", ((0, 4),)),), id="d7")
    (line,) = prepared(tiny, [ANNA, off], [ANNA])
    assert line.startswith("1 entity is not on word boundaries, e.g. d7: Person 'Anna' [[0, 4]]")


def test_discontinuous_gold_is_reported_if_fragments_are_off(tiny: Callable[..., Recipe]) -> None:
    gap = Document("pain in hip and knee", (Entity("Symptom", ((0, 4), (16, 20))), Entity("Symptom", ((0, 11),))))
    assert prepared(tiny, [gap, ANNA], [ANNA]) == []
    (line,) = prepared(tiny, [gap, ANNA], [ANNA], "head.fragments=false")
    assert line == "1 of 3 training entities (33.3 %) cannot be predicted: discontinuous"


def test_an_entity_longer_than_a_window_is_reported_once(tiny: Callable[..., Recipe]) -> None:
    text = " ".join(["a"] * 60)
    long = Document(text, (Entity("X", ((0, len(text)),)), Entity("X", ((0, 1),)), Entity("X", ((50, 51),))))
    (line,) = prepared(tiny, [long, ANNA], [ANNA], "text.window=24")
    assert line == "1 of 4 training entities (25.0 %) cannot be predicted: longer than a window"


def test_dev_labels_that_train_does_not_have_are_reported(tiny: Callable[..., Recipe]) -> None:
    (line,) = prepared(tiny, [ANNA], [BERN, BERN, ANNA])
    assert line == "2 dev entities have labels that train does not have, counted as missed: Place (2)"


def test_many_labels_that_train_does_not_have_are_one_line(tiny: Callable[..., Recipe]) -> None:
    others = [replace(ANNA, entities=(Entity(f"L{number}", ((0, 4),)),)) for number in range(30)]
    (line,) = prepared(tiny, [ANNA], others)
    assert line.startswith("30 dev entities have labels that train") and line.endswith("L11 (1), and 18 more")


def test_problems_of_the_files_are_reported(tmp_path: Path, tiny: Callable[..., Recipe]) -> None:
    good = '{"text": "Anna saw Bern.", "entities": [{"label": "Person", "fragments": [[0, 4]]}]}\n'
    bad = '{"text": "Anna", "entities": [{"label": "Person", "fragments": [[0, 40]]}]}\n'
    (tmp_path / "train.jsonl").write_text(good + bad + good, encoding="utf-8")
    (tmp_path / "dev.jsonl").write_text(good, encoding="utf-8")
    splits = read_data(DataConfig(folder=str(tmp_path)), TextConfig())
    assert splits.problems
    (line,) = DataCheck(problems=splits.problems).lines()
    assert line == summary(splits.problems)
    assert f"{tmp_path / 'train.jsonl'}:2:" in line


def test_the_strictest_policy_that_a_corpus_satisfies() -> None:
    def policy(*entities: Fragments) -> Policy:
        other = [WordEntity("X", ((0, 1),))]
        return strictest_policy([other, [WordEntity("X", fragments) for fragments in entities]], ANY_SHAPE)

    assert policy(((0, 2),), ((2, 3),)) == "flat"
    assert policy(((0, 3),), ((0, 1),)) == policy(((0, 3),), ((0, 3),)) == "nested"
    assert policy(((0, 3),), ((2, 5),)) == policy(((0, 3),), ((0, 1),), ((2, 5),)) == "all"
    assert policy(((0, 1), (3, 5))) == "flat"
    assert policy(((0, 1), (3, 5)), ((0, 5),), ((1, 2),)) == "nested"
    assert policy(((0, 1), (3, 5)), ((0, 3),), ((1, 2),)) == "nested_spans"
    assert policy(((0, 1), (3, 5)), ((0, 3),), ((2, 5),)) == "all"


def test_what_cannot_be_expressed_does_not_loosen_the_policy(tiny: Callable[..., Recipe]) -> None:
    whole, coordinated, inner = (WordEntity("X", fragments) for fragments in (((0, 3),), ((0, 1), (4, 5)), ((2, 3),)))
    contiguous = ANY_SHAPE - {"discontinuous"}
    assert strictest_policy([[whole, coordinated]], ANY_SHAPE) == "flat_spans"
    assert strictest_policy([[whole, coordinated]], contiguous) == "flat"
    assert strictest_policy([[whole, coordinated, inner]], contiguous) == "nested"
    gaps = Document.from_words(["a", "b", "c", "d", "e"], [Entity("X", ((0, 3),)), Entity("X", ((0, 1), (4, 5)))])
    for architecture, head, policy in (
        ("biaffine", "{fragments: false}", "flat"),
        ("biaffine", "{}", "flat_spans"),
        ("set_gner", "{}", "flat_spans"),
    ):
        recognizer, *_ = build(tiny(f"architecture={architecture}", f"head={head}"), Splits((gaps,), (), ("X",)))
        assert recognizer.config.overlap == policy


def test_statistics_of_a_corpus(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny("text.window=40")
    recognizer, *_ = build(recipe, Splits((ANNA,), (), ()))

    def statistics(*entities: tuple[tuple[int, int], ...]) -> CorpusStatistics:
        words = ["a", "bb", "ccc", "d", "e"]
        document = Document.from_words(words, [Entity("X", fragments) for fragments in entities])
        return corpus_statistics(
            Splits((document,), (), ()),
            [[WordEntity("X", fragments) for fragments in entities]],
            text=recipe.text,
            encoder=recognizer.model.encoder,
            cut=lambda cut_words: [tuple(range(len(word))) for word in cut_words],
        )

    nested, gap = statistics(((0, 3),), ((0, 1),)), statistics(((0, 1), (3, 5)))
    assert (gap.lengths, gap.spans, gap.piece_lengths, gap.discontinuous) == ((3,), (5,), (3,), True)
    assert nested.most_at_one_word == 2
    assert (nested.piece_lengths, nested.most_words) == ((6, 1), 40)
    assert not nested.encoder_decoder


def test_an_entity_seen_by_two_windows_is_counted_once(tiny: Callable[..., Recipe]) -> None:
    text = " ".join(["a"] * 40)
    document = Document(text, (Entity("X", ((0, 1), (4, 5))), Entity("X", ((34, 35), (38, 39)))))
    recipe = tiny("text.window=24")
    recognizer, *_ = build(recipe, Splits((document, ANNA), (), ()))
    check = DataCheck()
    entities = word_entities(document, recipe.text, check)
    windows = recognizer.windows([document])
    assert len(windows) > 2
    note_unreachable(check, Config(), windows, entities)
    assert check.unreachable == {"discontinuous": 2}


def test_neighbouring_sentences_reach_the_windows(tiny: Callable[..., Recipe]) -> None:
    texts = ["Anna slept.", "Bern is near.", "Otto came."]
    train = tuple(Document(text, (Entity("X", ((0, 4),)),), doc="d", sentence=number) for number, text in enumerate(texts))
    recipe = tiny("text.context=1")
    recognizer, examples, _ = build(recipe, Splits(neighbours_attached(train, 1), (), ()))
    cut = recognizer.vocabulary.cut

    def pieces(words: str) -> tuple[int, ...]:
        return tuple(piece for word in cut(words.split()) for piece in word)

    middle = examples[1].window
    assert middle.before == pieces("Anna slept .")
    assert middle.after == pieces("Otto came .")
    frame = recognizer.vocabulary.frame
    whole = (*frame.prefix, *middle.before, *frame.suffix, *pieces("Bern is near ."), *frame.suffix)
    assert tuple(batch_of([middle], frame).piece_ids[0].tolist()) == (*whole, *middle.after, *frame.suffix)
    assert examples[0].window.before == ()
    assert examples[0].window.after == pieces("Bern is near .")


def test_a_share_that_leaves_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(AnynerError, match=r"data\.held_out: a share of 0\.99 leaves no document"):
        held_out([ANNA, Document("Bern.")], 0.99)


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        ([ANNA], "there is only one training document"),
        ([ANNA, ANNA], "all 2 training documents have the same text"),
        ([replace(ANNA, doc="d"), replace(BERN, doc="d")], r"all 2 training documents have the same source document \(`doc`\)"),
    ],
)
def test_documents_of_one_source_cannot_be_split(documents: list[Document], why: str) -> None:
    with pytest.raises(AnynerError, match=f"^{why}: dev cannot be held out: add a dev file$"):
        held_out(documents, 0.1)
