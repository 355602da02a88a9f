"""A user of an installed package or of a file of the suite: what its own code raises is an error that names it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.errors import HarnessError, UsageError
from harness.gateway import Cut, Heard, User
from harness.plugins import described
from harness.trace import UserReport
from harness.upstream import OutOfBudget


class InstalledUser:
    """Passes everything on to the plug-in's user; implements `User`."""

    def __init__(self, kind: str, make: Callable[[], User]) -> None:
        """Raises UsageError where the plug-in's code raises, as every method does."""
        self._kind = kind
        with self._named("opened"):
            self._user = make()
            self.sees_calls = bool(self._user.sees_calls)

    async def reply(self, heard: Heard) -> str | None:
        with self._named("asked for a message"):
            return await self._user.reply(heard)

    def unsaid(self) -> tuple[str, ...]:
        with self._named("asked what it left unsaid"):
            return self._user.unsaid()

    def report(self, heard: Heard, cut: Cut | None) -> UserReport | None:
        with self._named("asked for its report"):
            return self._user.report(heard, cut)

    @contextmanager
    def _named(self, when: str) -> Iterator[None]:
        try:
            yield
        except (HarnessError, OutOfBudget):
            raise
        except Exception as error:
            raise UsageError(
                f"the user {self._kind!r} raised {described(error)} when it was {when}",
                remedy="correct the plug-in; docs/how-to/extend/other.md says what a user has to do",
            ) from error
