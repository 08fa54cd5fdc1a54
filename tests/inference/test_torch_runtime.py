"""Prediction with torch in a process forked from one that has used it."""

from multiprocessing import get_all_start_methods, get_context

import pytest
import torch


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="no forks on this system")
@pytest.mark.usefixtures("recognizer")
def test_a_fork_uses_one_thread_as_it_does_not_have_the_others() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with get_context("fork").Pool(1) as pool:
            assert pool.apply_async(torch.get_num_threads).get(timeout=60) == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
