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


def main() -> int:
    program = Path(sys.executable).parent / "zensical"
    if not program.exists():
        print("zensical is not installed: make install", file=sys.stderr)
        return 3
    built = subprocess.run([program, "build", "--strict", "--clean"], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        print(built.stderr.partition("Traceback")[0] or built.stdout, file=sys.stderr)
        return 1
    problems = loaded_from_elsewhere(SITE)
    print(*problems, sep="\n", end="\n" if problems else "")
    if not problems:
        print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}/: open index.html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
