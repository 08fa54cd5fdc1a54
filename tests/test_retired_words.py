"""The project speaks the field's language: identifiers, keys, commands and phrases that are retired do not come back."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXEMPT = "src/anyner/storage/format.py"
"""Has the names that weights of the bundled models were stored with."""
RETIRED = (
    # identifiers and keys
    r"opinion_share", r"data\.opinions", r"head\.opinions", r"know_gaps", r"HeldArrays", r"drawn_gold", r"gaps_repeated",
    r"coordinated_epochs", r"data\.coordinated", r"moved_uphill", r"boundary_pairs", r"BoundaryPairs", r"loss_everywhere",
    r"everywhere_weight", r"pairs_dropout", r"head\.pairs", r"[Ss]pan_?[Cc]heck", r"[Ff]ragment_?[Cc]heck", r"head\.check",
    r"check_(share|weight|dropout|fragments|links|grid)", r"InformedCheck", r"log_total", r"homes_of", r"[Cc]orpus_?[Ff]acts",
    r"layers\.waves", r"fresh_(layers|width|vocabulary)", r"source: fresh", r"chosen\.(epoch|thresholds)", r"CHOSEN",
    r"adapting[.:]", r"AdaptingConfig", r"hidden_words", r"HiddenWords", r"copy_epochs", r"mlm_head", r"loss_compat",
    r"null_counts", r"scale_shift", r"plainly",
    # commands
    r"anyner (adapt|choose|crossfit)\b", r"train --as\b", r"\bcrossfit\b",
    # phrases
    r"second opinion", r"opinions of", r"entit(y|ies) with(out)? gaps", r"\bwith gaps\b", r"\bwithout gaps\b",
    r"learns? the language", r"hidden words", r"moved embeddings", r"embeddings moved", r"is no switch", r"not to be had",
)  # fmt: skip


def _pages() -> list[Path]:
    kinds = (("src", "*.py"), ("src", "*.md"), ("docs", "*.md"), ("recipes", "*.yaml"))
    found = [path for folder, pattern in kinds for path in sorted((ROOT / folder).rglob(pattern))]
    return [*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def test_no_retired_word_is_used() -> None:
    retired = re.compile("|".join(f"(?:{word})" for word in RETIRED))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in _pages()
        if path.relative_to(ROOT).as_posix() != EXEMPT
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "synthetic/" not in path.as_posix()
        for match in [retired.search(line)]
        if match
    ]
    assert not found, "\n".join(found)


def test_the_list_finds_what_it_lists() -> None:
    retired = re.compile("|".join(f"(?:{word})" for word in RETIRED))
    for line in (
        "anyner crossfit a.yaml",
        "`data.opinions`",
        "entities with gaps",
        "self.span_check",
        "encoder: {source: fresh}",
    ):
        assert retired.search(line), line
    assert not retired.search("an opinion; the gap between two fragments; check the data; fresh clone")
