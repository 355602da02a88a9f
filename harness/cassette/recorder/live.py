"""Live answers, stored with a run or probe as cassettes of its own, which drift checks compare with the recordings.

<run>/live/<suite>/<case>.<attempt>.yaml     one trial
<run>/live/<suite>/probe.yaml                reads that were sent again without an agent
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.cassette.cassette import Cassette, load_cassette, save_cassette
from harness.cassette.recorder.journal import TrialJournal
from harness.cassette.recorder.merging import Merge
from harness.errors import CassetteError
from harness.plain_files import UnusableEntry, check_entries

FOLDER = "live"
PROBE = "probe"


@dataclass(frozen=True, kw_only=True)
class LiveCassette:
    """The live answers of one trial; of a probe, case and attempt are None."""

    suite: str
    case: str | None
    attempt: int | None
    path: Path

    def load(self) -> Cassette:
        """Raises CassetteError where the file is damaged."""
        return load_cassette(self.path)


def keep_live(journal: TrialJournal, folder: Path, suite: str, name: str) -> Merge:
    """The journal as a cassette; one of an earlier attempt is replaced."""
    save_cassette(folder / suite / f"{name}.yaml", Cassette(journal.recordings), suite=suite, case=name)
    journal.remove()
    return Merge()


def live_cassettes(run: Path) -> Iterator[LiveCassette]:
    """All live cassettes of a run or probe, by file name. Raises CassetteError for a link or a pipe among them."""
    _refuse_links(run)
    for path in sorted((run / FOLDER).glob("*/*.yaml")):
        if path.name.startswith("."):
            continue
        case, _, attempt = path.stem.rpartition(".")
        trial = attempt.isdigit() and bool(case)
        yield LiveCassette(
            suite=path.parent.name, case=case if trial else None, attempt=int(attempt) if trial else None, path=path
        )


def _refuse_links(run: Path) -> None:
    try:
        check_entries(run, besides=frozenset({"trials"}))
    except UnusableEntry as error:
        raise CassetteError(str(error), remedy="remove it: the harness never writes such an entry") from None
