"""The agreement of a judge with people as tables: what is shown, what is marked, and what is left out."""

import io
import re
from typing import Any

from rich.console import Console

from harness.judging.agreement import AgreementReport, AgreementRow, Disagreement, People, PeopleAgreement
from harness.reports.render.judging import agreement_sections, agreement_view
from harness.scoring.statistics.agreement import AnswerPair, binary_agreement


def cells(*counts: int) -> Any:
    """Items that are right and judged to pass; right alone; judged alone; neither."""
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    every = [pair for pair, count in zip(kinds, counts, strict=True) for _ in range(count)]
    return binary_agreement([AnswerPair(str(number), *pair) for number, pair in enumerate(every)])


def row(name: str, verdict: Any, **fields: Any) -> AgreementRow:
    return AgreementRow(name=name, verdict=verdict, **{"eligibility": cells(9, 0, 0, 0), **fields})


def report(*criteria: AgreementRow, **fields: Any) -> AgreementReport:
    values = {"rubric": "manner", "rubric_version": "1", "against": "labels", "judges": ("m",), "domains": ()}
    overall = fields.pop("overall", row("all", cells(60, 5, 20, 15)))
    return AgreementReport(
        overall=overall, criteria=criteria, disagreements=fields.pop("found", ()), **values, **fields
    )


def printed(shown: AgreementReport) -> str:
    stream = io.StringIO()
    Console(file=stream, width=160, highlight=False).print(agreement_view(shown))
    return stream.getvalue()


def test_a_judge_that_does_not_beat_the_constant_answer_is_marked_unless_it_is_always_right() -> None:
    constant, perfect, none = row("constant", cells(90, 0, 10, 0)), row("perfect", cells(5, 0, 0, 0)), cells(0, 0, 0, 0)
    [table] = agreement_sections(report(constant, perfect, row("none", none)))
    assert {"all": "75 %", "constant": "90 % !", "perfect": "100 %"} == {one[0]: one[2] for one in table.rows}
    assert ("100", "65 %", "0.39", "92 %", "43 %", "+15 pt") == (
        table.rows[0][1], *table.rows[0][4:],
    )  # fmt: skip


def test_what_does_not_apply_and_what_people_say_of_each_other_have_tables_of_their_own() -> None:
    some, none = (PeopleAgreement(items=n, agreement=0.5, kappa=0.25) for n in (4, 0))
    people = row("tone", cells(1, 1, 1, 1), people=People(verdict=some, eligibility=none))
    apart = row("all", cells(3, 0, 0, 1), eligibility=cells(9, 0, 0, 1))
    verdicts, eligible, among = agreement_sections(report(people, overall=apart))
    assert ["all", "tone"] == [one[0] for one in verdicts.rows]
    assert ("all", "10", "100 %") == eligible.rows[0][:3]
    assert (("tone", "verdict", "4", "50 %", "0.25"),) == among.rows


def test_what_is_not_counted_is_named() -> None:
    plain = printed(report())
    assert "not counted" not in plain
    assert re.search("80 % by the judge, 65 % by", plain)
    left = row("all", cells(3, 0, 0, 1), judgements=40, judge_failed=2, without_right=1)
    shown = printed(report(overall=left, left_out=("run x was changed",)))
    assert "not counted: 2 failed judgements (5 %), 1 without a counterpart" in shown
    assert "omitted: run x was changed" in shown


def test_disagreements_are_named_with_the_command_that_shows_them_at_most_twenty() -> None:
    one = Disagreement(run="r", case_id="c", attempt=1, criterion="tone", right="not_eligible", judged="pass")
    later = one.model_copy(update={"attempt": 2, "rationale": "rude", "notes": ("first", "then")})
    lines = [line.rstrip() for line in printed(report(found=(one, later))).splitlines()]
    assert [
        "2 disagreements",
        "  tone: right not eligible, judged pass; harness explain r c --transcript everything",
        "    judge: -",
    ] == lines[-6:-3]
    assert lines[-3].endswith("harness explain r c --transcript everything --attempt 2")
    assert ["    judge: rude", "    first; then"] == lines[-2:]
    for count, marked in ((20, False), (21, True)):
        many = printed(report(found=(one,) * count))
        assert (20, marked) == (many.count("harness explain"), "the first 20 of them" in many)
