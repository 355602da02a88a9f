"""The blocks of code of README.md and of every page below docs/, and what each of them is for.

The language says what a block is: `sh` is run, `yaml` is read, `python` is compiled, `text`, `json` and `toml` are
shown. A title with a folder (`title="suites/own/suite.yaml"`) is a file of the page's own project, written there
before the commands behind it run; a title without one (`title="environment.yaml"`) says which reader reads the block;
without a title a `yaml` block is a part of a suite. `# exit 1` behind a command is its exit status, and no other is
right; a command without it exits 0. A page that begins with `<!-- tests: continues PAGE -->` is run
behind that page, in the same shell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_EXITS = re.compile(r"^(.*\S)\s+# exit (\d+)$", re.MULTILINE)
_CONTINUES = re.compile(r"<!-- tests: continues (\S+) -->")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    title: str
    text: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file of the page's project."""
        return "/" in self.title

    @property
    def name(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        title = _TITLE.search(match[2])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match[1], title[1] if title else "", match[3]))
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def runs(page: Path) -> bool:
    """Whether there is a command to run on it, other than `make`."""
    return any(commands_in(block) for block in blocks_of(page))


def commands_in(block: Block) -> str:
    """The block without `make`, which is run by hand: empty where nothing is left."""
    if block.language != "sh":
        return ""
    typed = "\n".join(line for line in block.text.splitlines() if line and not line.startswith("make "))
    return _EXITS.sub(r"status=0; \1 || status=$?; test $status -eq \2", typed)


def script_of(page: Path) -> Iterator[str]:
    """What a reader of the page types and writes, for one shell."""
    for block in blocks_of(page):
        if block.is_file:
            yield f"echo '### {block.name}'\nmkdir -p \"$(dirname '{block.title}')\""
            yield f"cat > '{block.title}' <<'END OF BLOCK'\n{block.text}END OF BLOCK"
        elif commands_in(block):
            yield f"echo '### {block.name}'\n{commands_in(block)}"


def _chain(first: Path) -> list[Path]:
    """A page, the one that continues it, and so on."""
    chain = [first]
    while after := [page for page in PAGES if _continued(page) == chain[-1]]:
        (page,) = after
        chain.append(page)
    return chain


def _continued(page: Path) -> Path | None:
    found = _CONTINUES.match(page.read_text(encoding="utf-8"))
    return None if found is None else (page.parent / found[1]).resolve()


CHAINS = [_chain(page) for page in PAGES if _continued(page) is None]
