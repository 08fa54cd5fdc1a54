from __future__ import annotations

import signal
from threading import Thread

import pytest

from anyner.training.processes import StopRequest


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_is_a_request_and_the_handlers_are_restored(number: int, code: int) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    stop = StopRequest()
    with stop.on_ctrl_c():
        assert not stop.asked
        signal.raise_signal(number)
        assert stop.asked
    assert stop.exit_code == code
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_one_stops_at_once(first: int) -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), StopRequest().on_ctrl_c():
        signal.raise_signal(first)
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(SystemExit) as caught, StopRequest().on_ctrl_c():
        signal.raise_signal(first)
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 143
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before


def test_another_thread_leaves_signals_alone() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    inside: list[object] = []

    def work() -> None:
        with StopRequest().on_ctrl_c():
            inside.extend(signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert inside == before
