"""A run as one run of MLflow: what it was as parameters, its figures as metrics, its report as artifacts.

The run of MLflow is found again by a tag, so that a second export updates it. Parameters cannot change in MLflow: one
that differs, as after scoring again, is kept, and the new value is written as a tag.
"""

import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from harness.cassette import Redactor
from harness.cassette.redaction.redaction import SHORTEST
from harness.distribution import extra_remedy
from harness.errors import HarnessError, UsageError
from harness.experiments.run_facts import created_ns, run_facts
from harness.report import Summary, summarise_run, summary_json, summary_markdown
from harness.results import RunFolder, RunManifest
from harness.values import Frozen, JsonValue, canonical_json, digest_of

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_KEY: Final = "harness.run_key"
_LONGEST: Final = 500
_UNUSABLE: Final = re.compile(r"[^\w./ -]", re.ASCII)
_SETTINGS: Final = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_HTTP_REDIRECTS": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""The client reaches for nothing but the tracking server, and keeps its credentials there."""
_DEFAULTS: Final = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
_CREDENTIALS: Final = ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")


class MlflowError(HarnessError):
    """The tracking server or store refused, or cannot be reached."""


class MlflowTarget(Frozen):
    """Where runs go."""

    tracking_uri: str
    experiment: str


class MlflowExport(Frozen):
    """The run of MLflow."""

    run_id: str
    created: bool
    """False: it was there, and was updated."""
    params: int
    metrics: int
    """The number of metrics whose value is new."""


def export_to_mlflow(folder: RunFolder, target: MlflowTarget, secrets: Mapping[str, str]) -> MlflowExport:
    """Creates or updates the run. `secrets` are removed from the report and from errors.

    Raises UsageError where the extra is missing, MlflowError where the store cannot be used.
    """
    for name, value in _SETTINGS.items():
        os.environ[name] = value
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    redactor = Redactor({**secrets, **_credentials(target)})
    summary = summarise_run(folder)
    with _errors(target, redactor):
        client = _client(target)
        run, created = _run(client, target, folder.manifest)
        params = _write_params(client, run, folder.manifest, redactor)
        metrics = _write_metrics(client, run, summary)
        client.log_text(run.info.run_id, redactor.text(summary_markdown(summary)), "report.md")
        client.log_text(run.info.run_id, redactor.text(summary_json(summary)), "summary.json")
        client.set_terminated(run.info.run_id, "FINISHED", end_time=_ended_ms(summary))
    return MlflowExport(run_id=run.info.run_id, created=created, params=params, metrics=metrics)


def _credentials(target: MlflowTarget) -> dict[str, str]:
    """Long enough to be told from other text."""
    found = {name: os.environ.get(name, "") for name in _CREDENTIALS}
    found["MLFLOW_TRACKING_URI"] = urlsplit(target.tracking_uri).password or ""
    return {name: value for name, value in found.items() if len(value) >= SHORTEST}


def _client(target: MlflowTarget) -> "MlflowClient":
    try:
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise UsageError("exporting to MLflow needs the extra `mlflow`", remedy=extra_remedy("mlflow")) from None
    return MlflowClient(tracking_uri=target.tracking_uri)


def _run(client: "MlflowClient", target: MlflowTarget, manifest: RunManifest) -> tuple["Run", bool]:
    """The run with the key of ours, else a new one."""
    key = digest_of([manifest.run, manifest.created, manifest.suite])[:32]
    known = client.get_experiment_by_name(target.experiment)
    experiment = client.create_experiment(target.experiment) if known is None else known.experiment_id
    found = client.search_runs([experiment], f"tags.`{_KEY}` = '{key}'", max_results=1)
    if found:
        return found[0], False
    tags = {_KEY: key, "harness.run": manifest.run, "harness.suite": manifest.suite, "harness.agent": manifest.agent}
    if manifest.release is not None:
        tags["harness.release"] = manifest.release
    made = client.create_run(
        experiment, start_time=created_ns(manifest) // 1_000_000, tags=_cut(tags), run_name=manifest.run
    )
    return made, True


def _write_params(client: "MlflowClient", run: "Run", manifest: RunManifest, redactor: Redactor) -> int:
    from mlflow.entities import Param

    facts = {name: redactor.text(_shown(value))[:_LONGEST] for name, value in run_facts(manifest).items()}
    known = run.data.params
    client.log_batch(run.info.run_id, params=[Param(name, facts[name]) for name in facts if name not in known])
    for name, value in facts.items():
        if known.get(name, value) != value:
            client.set_tag(run.info.run_id, f"harness.{name}", value)
    return len(facts)


def _write_metrics(client: "MlflowClient", run: "Run", summary: Summary) -> int:
    from mlflow.entities import Metric

    now_ms = time.time_ns() // 1_000_000
    known = run.data.metrics
    new = {name: value for name, value in metrics_of(summary).items() if known.get(name) != value}
    client.log_batch(run.info.run_id, metrics=[Metric(name, value, now_ms, 0) for name, value in new.items()])
    return len(new)


def metrics_of(summary: Summary) -> dict[str, float]:
    """Every known figure of a run; what is not known is left out, and no 0."""
    latency = summary.latency.trial if summary.latency is not None else None
    counts = summary.counts
    values: dict[str, float | None] = {
        "success_rate": summary.success.rate,
        "trials.planned": counts.planned,
        "trials.measured": counts.measured,
        "trials.unmeasured": counts.unmeasured,
        **{f"mean.{one.metric}": one.mean for one in summary.figures},
        **{f"run.{one.metric}": one.value for one in summary.run_scores},
        **{f"latency.{name}": getattr(latency, name, None) for name in ("p50_ms", "p95_ms")},
    }
    if summary.model_use is not None:
        use = summary.model_use
        values |= {
            "total.input_tokens": use.input_tokens,
            "total.output_tokens": use.output_tokens,
            "total.cost_usd": use.cost_usd,
        }
    known = {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}
    return {_UNUSABLE.sub("_", name)[:250]: value for name, value in known.items()}


@contextmanager
def _errors(target: MlflowTarget, redactor: Redactor) -> Iterator[None]:
    """Whatever the client raises, as an MlflowError that names the remedy."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:  # noqa: BLE001 - the stores of MLflow raise errors of many libraries
        said = redactor.text(f"{error}")
        raise MlflowError(
            f"MLflow at {_place(target.tracking_uri)}: {' '.join(said.split())[:600]}", remedy=_remedy(said)
        ) from None


def _remedy(said: str) -> str:
    if "MLFLOW_ALLOW_FILE_STORE" in said:
        return "use a tracking server (http://...) or sqlite:///FILE, or set MLFLOW_ALLOW_FILE_STORE=true"
    if "401" in said or "403" in said:
        return "check MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
    if "No module named" in said or "sqlalchemy" in said.lower():
        return "the extra has no database client: install the package mlflow, or use a tracking server (http://...)"
    return "check --tracking-uri, and that a tracking server answers there"


def _place(uri: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(uri)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else uri


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _cut(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: value[:_LONGEST] for name, value in tags.items()}


def _ended_ms(summary: Summary) -> int:
    """The start plus what the trials took together: a run folder does not tell when the run ended."""
    return created_ns(summary.manifest) // 1_000_000 + int(1000 * sum(summary.seconds.values()))
