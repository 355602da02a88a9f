"""Retries live reads where the transport failed before any answer: no connection, no name resolution, a lost
connection.

Writes are never retried, because they may have taken effect; nor are timeouts, statuses or broken answers of the tool.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import aiohttp

from harness.cassette import Redactor

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0


class NoAnswer(Exception):
    """The transport failed before an answer started; `cause` describes the failure."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class RetriedCall:
    """Makes a call up to `1 + retries` times, and stores why it was retried."""

    def __init__(self, retries: int, within_s: float) -> None:
        """`within_s`: no retry begins later than this."""
        self._retries = retries
        self._within_s = within_s
        self.lost: list[str] = []
        """For each retry, how the previous call failed."""

    async def __call__(self, call: Callable[[], Awaitable[T]]) -> T:
        """Makes the call; raises the error of the last attempt, or the cause of its NoAnswer."""
        from tenacity import (  # a replayed run makes no such call
            AsyncRetrying,
            retry_if_exception_type,
            stop_after_attempt,
            stop_before_delay,
            wait_exponential,
            wait_random,
        )

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(NoAnswer),
            stop=stop_after_attempt(1 + self._retries) | stop_before_delay(self._within_s),
            wait=wait_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S) + wait_random(0, _FIRST_WAIT_S),
            before_sleep=self._note,
            reraise=True,
        )
        try:
            return await retrying(call)
        except NoAnswer as lost:
            raise lost.cause from None

    def _note(self, state: "RetryCallState") -> None:
        error = None if state.outcome is None else state.outcome.exception()
        if isinstance(error, NoAnswer):
            self.lost.append(f"{type(error.cause).__name__}: {error.cause}")


async def begun(request: aiohttp.client._RequestContextManager) -> aiohttp.ClientResponse:
    """The response, once its head has arrived. Raises NoAnswer, or ClientResponseError for an answer that is
    not HTTP.
    """
    try:
        return await request
    except aiohttp.ClientResponseError:
        raise
    except (aiohttp.ClientError, ConnectionError) as error:
        raise NoAnswer(error) from None


def retried_text(retried: Sequence[str], redactor: Redactor) -> str | None:
    """The trace attribute: a JSON list of how the transport failed before each retry."""
    return json.dumps([redactor.everywhere(one) for one in retried]) if retried else None
