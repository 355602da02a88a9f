"""What the trials of a run have in common of a provider: its patience, and that waiting for it needs no processor."""

import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.suite.cases import Case
from harness.suite.suites import Suite
from tests.gateway.conftest import Agent, Shop
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer, Thought

CHAT = "/v1/chat/completions"
HELLO = {"model": "small-1", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def gateway(suite: Suite, shop: Shop, tmp_path: Path) -> Iterator[Gateway]:
    secrets = {"MODEL_KEY": KEY}
    with Gateway(
        suite, "sealed", cassettes=tmp_path / "cassettes", services=shop, model_mode="live", secrets=secrets
    ) as opened:
        yield opened


@pytest.fixture
def trial(gateway: Gateway, case: Case) -> Iterator[Callable[[str], TrialSession]]:
    def open_trial(name: str) -> TrialSession:
        return gateway.open(SessionRequest(trial_id=name, case=case, attempt=1, agent="a", version="v1"))

    return open_trial


@pytest.mark.parametrize(("status", "told"), [(429, "1"), (529, "date")])
def test_a_provider_that_is_busy_is_left_alone_by_all_trials(
    trial, agent: Callable[[Path], Agent], models: ModelServer, status: int, told: str
) -> None:
    models.statuses = [status]
    models.retry_after = formatdate(time.time() + 2, usegmt=True) if told == "date" else told
    refused, _ = agent(trial("first").socket).ask("POST", CHAT, HELLO)
    answered, _ = agent(trial("second").socket).ask("POST", CHAT, HELLO)

    assert (status, 200) == (refused, answered)
    assert models.came[1] - models.came[0] > 0.7  # a date has whole seconds


@pytest.mark.slow
def test_one_provider_that_is_busy_holds_back_no_other(
    trial, agent: Callable[[Path], Agent], models: ModelServer
) -> None:
    models.statuses, models.retry_after = [429], "3600"
    agent(trial("first").socket).ask("POST", CHAT, HELLO)
    other, _ = agent(trial("second").socket).ask("POST", "/v1/messages", HELLO, {"anthropic-version": "2023-06-01"})
    assert 200 == other


def test_a_trial_waits_as_long_as_the_model_thinks(
    gateway: Gateway, trial, agent: Callable[[Path], Agent], models: ModelServer
) -> None:
    release = threading.Event()

    def think(_: list[str]) -> Thought:
        release.wait(60)
        return Thought("Well.")

    models.think = think
    first, second = trial("first"), trial("second")
    asking = [agent(session.socket) for session in (first, first, second)]
    threads = [threading.Thread(target=one.ask, args=("POST", CHAT, HELLO)) for one in asking]
    for thread in threads:
        thread.start()
    at_most = time.monotonic() + 60
    while gateway.waiting.trials < 2 and time.monotonic() < at_most:
        time.sleep(0.01)
    seen = gateway.waiting.trials
    release.set()
    for thread in threads:
        thread.join()

    assert (2, 0) == (seen, gateway.waiting.trials)
