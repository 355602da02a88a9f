"""Builds the documentation into `site/`, strictly: `python -m tests.docs.build`.

Zensical aborts at a link to a page or an anchor that does not exist. What it writes is read again here: a style, a
script, a font or a picture from somewhere else would need a network to look at.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon))[^>]*\bhref=["']?(https?:)?//[^>]*>"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^;]*|url\(["']?(?:https?:)?//[^)]*\)""",
    re.IGNORECASE,
)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """What pages and styles load from other hosts; links that a reader may follow are none."""
    return [
        f"{path.relative_to(site)}: {match[0][:200]}"
        for pattern in ("*.html", "*.css")
        for path in sorted(site.rglob(pattern))
        for match in _LOADED.finditer(path.read_text(encoding="utf-8"))
    ]


def problems_in(project: Path, *before: str) -> list[str]:
    """Builds `site/` of a folder with `mkdocs.yml` and `docs/`, and gives what is wrong with it."""
    program = Path(sys.executable).parent / "zensical"
    if not program.exists():
        return ["zensical is not installed: make install"]
    command = [*before, program, "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=project, capture_output=True, text=True)
    if built.returncode:
        said = built.stderr.partition("Traceback")[0] or built.stdout
        return [re.sub(r"\x1b\[[0-9;]*m", "", said)]
    return loaded_from_elsewhere(project / "site")


def main() -> int:
    problems = problems_in(ROOT)
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}/: open index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
