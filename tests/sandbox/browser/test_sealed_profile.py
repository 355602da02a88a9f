"""Where a browser begins is part of the snapshot."""

import json
from pathlib import Path

import pytest

from harness.errors import InvalidDocument
from harness.sandbox.snapshots import SnapshotStore

PROFILE = {"cookies": [{"name": "who", "value": "ada", "domain": "site.test", "path": "/"}], "origins": []}
STATES = """
states:
  plain: {browser: {base_url: "http://site.test/"}}
  known: {browser: {base_url: "http://site.test/", files: profile.json}}
"""


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    folder = tmp_path / "images" / "shop"
    folder.mkdir(parents=True)
    (folder / "environment.yaml").write_text(STATES)
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    return SnapshotStore(tmp_path, None)


def test_address_and_profile_are_sealed(store: SnapshotStore) -> None:
    plain, known = (store.build("shop", name) for name in ("plain", "known"))

    assert [None, PROFILE] == [one.browser_profile for one in (plain, known)]
    assert {"http://site.test/"} == {one.browser_url for one in (plain, known)}
    assert PROFILE == store.verify("shop", "known").browser_profile
    assert plain.digest != known.digest


def test_a_profile_that_is_none_is_refused_by_name(store: SnapshotStore, tmp_path: Path) -> None:
    store.build("shop", "plain")
    (tmp_path / "images/shop/profile.json").write_text('{"cookie": []}')

    with pytest.raises(InvalidDocument, match=r"profile\.json.*`cookies` and `origins`"):
        store.build("shop", "known")
