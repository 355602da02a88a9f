"""What a run imports before it knows that it needs it: each library costs every run its time."""

import subprocess
import sys
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2]
UNNEEDED = (
    "docker",
    "requests",
    "testcontainers",
    "cryptography",
    "jsonpath",
    "jsonschema",
    "referencing",
    "tenacity",
    "tomllib",
    "harness.cassettes.normalisation",
    "harness.cassettes.trial_recording",
    "harness.gateway.live_model",
    "harness.gateway.forward_proxy",
    "harness.gateway.sniffer",
    "harness.judging.calibration",
    "harness.reports.compare",
    "harness.scoring.verifiers.probes",
    "harness.users.logged_user",
    "harness.users.model_user",
    "harness.gateway.models.provider",
    "harness.gateway.upstream.mcp_connection",
)
"""Libraries and modules that a first run of a suite without containers, paths, models, hosts, users and judges never
uses.
"""
_RUN = f"""
import sys
from harness.cli.main import main
try:
    main()
except SystemExit as ended:
    print(*sorted(set({UNNEEDED!r}) & set(sys.modules)), file=sys.stderr)
    raise
"""
_LAUNCHER = "import sys; sys.path.insert(0, sys.argv[1]); import harness.sandbox.inside.launcher; print(*sys.modules)"


def test_a_plain_run_imports_nothing_that_it_does_without(tmp_path: Path) -> None:
    harness = [sys.executable, "-m", "harness"]
    subprocess.run([*harness, "init", str(tmp_path)], stdout=subprocess.DEVNULL, check=True)
    run = ["--project", str(tmp_path), "run", "hello", "--sandbox", "local"]
    done = subprocess.run([sys.executable, "-c", _RUN, *run], capture_output=True, text=True, check=True)
    assert "" == done.stderr.splitlines()[-1].strip()


def test_the_launcher_of_a_sandbox_starts_without_slow_modules() -> None:
    command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(HARNESS)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"typing", "collections", "re", "socket", "json", "subprocess"} & {*loaded}
