"""`make release`: the wheel, the source distribution and the bill of materials, checked, in `dist/`."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv-release" / "bin"
"""The tools of `make release-tools`: twine, cyclonedx-py, uv and pipx."""


class ToolsMissing(Exception):
    """The tools of a release are not installed."""


def tool(name: str) -> Path:
    """Raises ToolsMissing with the remedy."""
    path = TOOLS / name
    if not path.exists():
        raise ToolsMissing(f"{path} is not there: run `make release-tools`")
    return path


def build(source: Path, out: Path, *kinds: str) -> list[Path]:
    """Distributions (`wheel`, `sdist`) of the sources in a folder."""
    before = set(out.glob("*")) if out.exists() else set()
    targets = [word for kind in kinds for word in ("-t", kind)]
    subprocess.run([sys.executable, "-m", "hatchling", "build", *targets, "-d", out], cwd=source, check=True)
    return sorted(set(out.glob("*")) - before)


def check(files: list[Path]) -> None:
    """Raises CalledProcessError where an index would refuse a file, or could not show its description."""
    subprocess.run([tool("twine"), "check", "--strict", *files], check=True)


def bill_of_materials(wheel: Path, to: Path) -> None:
    """CycloneDX JSON of an installation without extras, at the locked versions. Equal wheels give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "installed" / "bin" / "python"
        uv = tool("uv")
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, python.parent.parent], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "requirements.lock", wheel]
        subprocess.run(install, check=True)
        words = [tool("cyclonedx-py"), "environment", "--output-reproducible", "--pyproject", ROOT / "pyproject.toml"]
        subprocess.run([*words, "--of", "JSON", "--output-file", to, python], check=True)
    json.loads(to.read_text(encoding="utf-8"))


def committed(folder: Path) -> Path:
    """A copy of what is committed."""
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-m", "-C", folder], input=packed, check=True)
    return folder


def main() -> int:
    """0: everything was built and passes; 3: the tools are missing."""
    try:
        tool("twine")
    except ToolsMissing as error:
        print(error, file=sys.stderr)
        return 3
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        files = build(committed(Path(folder) / "source"), dist, "wheel", "sdist")
    check(files)
    (wheel,) = dist.glob("*.whl")
    bill_of_materials(wheel, dist / f"{wheel.name.split('-py3')[0]}.cdx.json")
    for path in sorted(dist.iterdir()):
        print(f"{path.stat().st_size:>9}  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
