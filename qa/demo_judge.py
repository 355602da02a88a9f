"""`make demo-judge`: judging without a real model: run, judge, compare with people's labels, calibrate.

    python -m qa.demo_judge [SUITE] [--rubric NAME] [--project FOLDER] [--jobs N]

It works on a copy of the suite in `.harness/judge-demo` and does not change the project; the agents run as plain
processes. The rules of the model, and those that revise its prompt, are in `suites/SUITE/judge/`. The figures
demonstrate the procedure and say nothing about the quality of a judge.
"""

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.cli.console import out, say
from harness.cli.running import run_ungated
from harness.judging.agreement import against_labels
from harness.judging.calibration import CalibrationSettings
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Rubric, load_rubric
from harness.judging.settings import JudgeSettings
from harness.judging.transcripts import CHARS_PER_TOKEN
from harness.reports.judged import judged_rubric
from harness.reports.render.judging import agreement_view, calibration_view, judged_view
from harness.runs.judge_calibration import CANDIDATE, Bench, Calibrating, Runs, calibrate_judge, certify_judge
from harness.runs.judging import JudgeRequest, judge_run
from harness.runs.measured_trials import subjects
from harness.runs.plan.plan import RunOptions
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import latest, read_judgements
from harness.suite.documents import read_document
from harness.suite.loading import load_suite
from qa.doubles.rule_model import RuleModel
from qa.doubles.rule_reflector import CalibrationRuleReflector
from qa.doubles.rules import RuleSet

_FOLDERS = ("suites", "cassettes")
_LEARNING = CalibrationSettings(max_calls=2500, minibatch=12)


@dataclass(frozen=True)
class _Stage:
    """The copy of the project."""

    project: Path
    folders: tuple[RunFolder, ...]
    rubric: Rubric
    settings: JudgeSettings

    @property
    def runs(self) -> Runs:
        """Reads the run again, with the new labels and judgements."""
        return Runs(self.project, self.folders, self.rubric)


def demonstrate(project: Path, name: str, rubric_name: str, jobs: int | None) -> None:
    """Runs every version of the agent, shows transcripts, judges, compares with people, calibrates, judges again."""
    copy = _copied(project, name)
    suite = load_suite(copy, name)
    rubric = load_rubric(rubric_name, suite.folder)
    own = copy / "suites" / name / "judge"
    folders = tuple(
        run_ungated(copy, RunOptions(suite=name, agent=agent, sandbox="local", run_name=agent, jobs=jobs))
        for agent in suite.agents
    )
    with RuleModel(read_document(own / "rule_model.yaml", RuleSet)) as model:
        stage = _Stage(copy, folders, rubric, JudgeSettings(model=model.name, base_url=model.url))
        _show_transcripts(stage)
        _judge(stage, "production")
        _show_agreement(stage, "the prompt in use")
        reflector = CalibrationRuleReflector(read_document(own / "revisions.yaml", dict[str, list[str]]))
        prompt = PromptRegistry(copy).get(rubric.prompt)
        bench = Bench(runs=stage.runs, prompt=prompt, settings=stage.settings)
        done = calibrate_judge(Calibrating(bench=bench, reflector=reflector, settings=_LEARNING))
        out().print(calibration_view(done))
        if done.after is not None:
            _judge(stage, CANDIDATE)
            _show_agreement(stage, "the calibrated prompt, on all cases, including the training cases")
            _certify(stage)
    out().print(
        f"\nthe rule model is a double, and the labels are samples of one annotator: these figures are no"
        f" measure of quality\nmore: harness --project {copy}"
        f" judge show {folders[-1].manifest.run}; annotate {folders[-1].manifest.run} --rubric {rubric.name} --as NAME",
        soft_wrap=True,
    )


def _copied(project: Path, suite: str) -> Path:
    """Copies the files of the suite to a folder of its own; an earlier copy is removed."""
    load_suite(project, suite)
    copy = project / ".harness" / "judge-demo"
    shutil.rmtree(copy, ignore_errors=True)
    for folder in _FOLDERS:
        if (project / folder / suite).is_dir():
            shutil.copytree(project / folder / suite, copy / folder / suite)
    for folder in ("images", "snapshots", "prompts"):
        if (project / folder).is_dir():
            shutil.copytree(project / folder, copy / folder, symlinks=True)
    return copy


def _show_transcripts(stage: _Stage) -> None:
    for folder in stage.folders:
        every = list(subjects(folder, load_suite(stage.project, folder.manifest.suite)))
        raw = sum(one.transcript.raw_chars for one in every)
        short = sum(one.transcript.chars for one in every)
        say(
            f"{folder.manifest.run}: {len(every)} transcripts of about {short // CHARS_PER_TOKEN} tokens,"
            f" {1 - short / raw:.0%} less than the trajectories as JSON"
        )


def _judge(stage: _Stage, label: str) -> None:
    prompt = PromptRegistry(stage.project).get(stage.rubric.prompt, label)
    for folder in stage.folders:
        request = JudgeRequest(rubric=stage.rubric, prompt=prompt, settings=stage.settings, mode="live")
        judge_run(stage.project, folder, request)
        score = judged_rubric(folder.path, stage.rubric.name)
        if score is not None:
            say(f"{folder.manifest.run} judged by {stage.rubric.name}, prompt {prompt.name}@{prompt.version}:")
            out().print(judged_view(score))


def _show_agreement(stage: _Stage, what: str) -> None:
    judged = [
        one for folder in stage.folders for one in latest(read_judgements(folder.path, stage.rubric.name)).values()
    ]
    say(f"against the sample labels, by {what}:")
    out().print(agreement_view(against_labels(judged, stage.runs.labels, stage.rubric)))


def _certify(stage: _Stage) -> None:
    """The calibration used the labels up, so that nothing is left to certify with: it says what is missing."""
    judged = [
        one for folder in stage.folders for one in latest(read_judgements(folder.path, stage.rubric.name)).values()
    ]
    judge = next(one.judge for one in judged if one.judge.prompt is not None)
    say("certificate of the calibrated judge, on labels that no calibration used:")
    for criterion, reason in certify_judge(stage.runs, judge, judged).items():
        say(f"  {criterion}: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", default="drive_thru")
    parser.add_argument("--rubric", default="counter", help="a rubric of the suite that people have labelled")
    parser.add_argument("--project", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--jobs", type=int, help="trials in parallel")
    given = parser.parse_args()
    demonstrate(given.project, given.suite, given.rubric, given.jobs)


if __name__ == "__main__":
    main()
