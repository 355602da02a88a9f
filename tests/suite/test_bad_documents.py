"""Documents that no ordinary writer writes: each is refused in words that name the file, and nothing else happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.suite.documents import read_plain

_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
_MERGES = "m0: &m0 {a: 1}\n" + "".join(
    f"m{number}: &m{number} {{<<: [{','.join([f'*m{number - 1}'] * 10)}]}}\n" for number in range(1, 10)
)


def refusal(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidDocument) as refused:
        read_plain(path)
    return str(refused.value).removeprefix(str(folder) + "/")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_yaml_that_would_end_the_process_is_refused(tmp_path: Path, opening: str) -> None:
    """In a process of its own: PyYAML's reader in C runs out of stack."""
    (tmp_path / "deep.yaml").write_text(opening * 100_000)
    program = (
        "import sys; from pathlib import Path; from harness.suite.documents import read_plain; "
        "read_plain(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "deep.yaml"], capture_output=True, text=True)
    assert 1 == done.returncode
    assert re.search(r"InvalidDocument: \S*deep\.yaml:1: .*\b1000\b", done.stderr)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("laughs.yaml", _LAUGHS, "laughs.yaml:5: its aliases unfold to too many values"),
        ("merges.yaml", _MERGES, "merges.yaml:6: its aliases unfold to too many values"),
        ("itself.yaml", "a: &r [*r]", "itself.yaml:1: the alias *r stands inside itself"),
        ("deep.yaml", "[" * 200 + "]" * 200, "deep.yaml: is nested deeper than 100 levels"),
        ("deep.json", "[" * 200 + "]" * 200, "deep.json: is nested deeper than 100 levels"),
        ("deeper.json", "[" * 100_000, "deeper.json: is nested too deeply"),
        ("deeper.toml", "a = " + "[" * 100_000, "deeper.toml: is nested too deeply"),
        ("tag.yaml", "a: !!timestamp x", "tag.yaml: is not YAML: a value is not what its tag says"),
        ("int.yaml", "a: !!int ''", "int.yaml: is not YAML: a value is not what its tag says"),
        ("bool.yaml", "a: !!bool x", "bool.yaml: is not YAML: a value is not what its tag says"),
        ("float.yaml", "a:\n  b: .inf", "float.yaml:2: is not YAML: .inf is not a finite number"),
        ("half.json", '{"a": "\\ud800"}', "half.json: is not JSON: a text contains half of a surrogate pair"),
        ("float.json", '{"a": NaN}', "float.json: is not JSON: NaN is not a finite number"),
        ("large.json", '{"a": 1e400}', "large.json: is not JSON: 1e400 is not a finite number"),
    ],
)
def test_what_cannot_be_a_value_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    assert words == refusal(tmp_path, name, content)


@pytest.mark.parametrize("name", ["digits.json", "digits.yaml", "digits.toml"])
def test_a_number_of_more_digits_than_python_reads_is_refused(tmp_path: Path, name: str) -> None:
    content = ("a = " if name.endswith("toml") else "") + "9" * 5000
    assert refusal(tmp_path, name, content).startswith(
        f"{name}: is not {name.partition('.')[2].upper()}: Exceeds the limit"
    )


def test_aliases_that_unfold_to_little_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base: &b {a: [1, 2]}\none: {<<: *b, c: 3}\ntwo: [*b, *b]\n")
    assert {"base": {"a": [1, 2]}, "one": {"a": [1, 2], "c": 3}, "two": [{"a": [1, 2]}, {"a": [1, 2]}]} == read_plain(
        tmp_path / "a.yaml"
    )[0]


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "pipe.yaml", Path("/dev/zero"), tmp_path):
        with pytest.raises(InvalidDocument, match=re.escape(str(path))):
            read_plain(path)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match="embedded null byte"):
        read_plain(tmp_path / "a\0.yaml")


def test_a_message_that_quotes_a_megabyte_is_cut() -> None:
    assert 4000 >= len(str(UsageError(f"there is no {'x' * 1_000_000}; one of: a, b")))
    assert str(UsageError(f"there is no {'x' * 1_000_000}; one of: a, b")).endswith("x; one of: a, b")
