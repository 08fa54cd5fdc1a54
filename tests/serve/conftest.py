from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Puts the operation into the ids of schemathesis, which pytest 9.2 leaves out."""
    if not item.nodeid.endswith(item.name):
        item._id = item.id.with_params(item.name.partition("[")[2].removesuffix("]"))
