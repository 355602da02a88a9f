"""A project with a store of scored sessions, written as a scorer writes them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.production.scores import SessionSampling, SessionScore
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Diagnosis, Scorecard

CARD = Scorecard(
    case_id="production",
    attempt=1,
    category="general",
    outcome="finished",
    success=True,
    digest="d",
)


def day_ns(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC).timestamp() * 1e9)


class Shop:
    """A project whose store `score` fills."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        layout = StoreLayout(folder / "online")
        layout.create()
        self.store = SessionStore.open(layout.folder)
        self.number = 0

    def score(self, *, day: str = "2026-01-01", reason: str | None = None, times: int = 1, **more: Any) -> None:
        """Scored sessions; `reason`: of the failed check `order`, None: it passed."""
        scores = []
        for _ in range(times):
            self.number += 1
            scores.append(self._score(day, reason, **more))
        self.store.score_store.add(scores)

    def _score(
        self,
        day: str,
        reason: str | None,
        *,
        diagnoses: tuple[Diagnosis, ...] = (),
        judgement: Judgement | None = None,
        release: str = "1.0",
        rate: float = 1.0,
        **more: Any,
    ) -> SessionScore:
        verdict = Verdict(check="order", verifier="v", version="1", passed=reason is None, reason=reason or "")
        card = CARD.model_copy(
            update={"verdicts": (verdict,), "success": reason is None, "diagnoses": diagnoses, **more.pop("card", {})}
        )
        fields: dict[str, Any] = {
            "session": f"default:s{self.number}",
            "digest": "d",
            "kind": "rules" if judgement is None else "judge",
            "scorer": "s",
            "scored_at": f"{day}T13:00:00",
            "suite": "shop",
            "source": "default",
            "release": release,
            "received_ns": day_ns(day) + self.number,
            "sampling": SessionSampling(rule="all", rate=rate, in_base=True),
            "card": card if judgement is None else None,
            "judgements": () if judgement is None else (judgement,),
        }
        return SessionScore.model_validate(fields | more)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def judged(criterion: str, rationale: str, *, failed: bool = False) -> Judgement:
    """A failing judgement; `failed`: the judge itself failed."""
    return Judgement(
        run="online",
        case_id="production",
        attempt=1,
        trajectory="d",
        rubric="r",
        rubric_version="1",
        rubric_digest="d",
        criterion=criterion,
        criterion_version="1",
        eligible=None if failed else True,
        passed=None if failed else False,
        failure=rationale if failed else None,
        rationale=rationale,
        judge=JudgeIdentity(model="m"),
    )
