"""A handler of the gateway that raises: its own trial is not scored, the run goes on, and `--resume` runs that one."""

import pytest

from tests.cli.failing import unwritable_suite
from tests.gateway.conftest import shop, shop_server
from tests.walks.conftest import Walk, WriteSuite

__all__ = ["shop", "shop_server"]


@pytest.mark.slow
def test_the_run_goes_on_and_is_resumed(walk: Walk, write_suite: WriteSuite, shop, tmp_path_factory) -> None:
    flag = tmp_path_factory.mktemp("flag") / "break"
    flag.touch()
    write_suite(*unwritable_suite(shop.url, flag))
    run = ("run", "s", "--sandbox", "local", "--live", "tools,record", "--jobs", "1", "--run-name", "r")

    told = walk.summary(*run, status=3)
    assert (2, 1) == (told["counts"]["finished"], told["counts"]["harness_failed"])
    broken = walk.trial("r", "breaks")
    assert "harness_failed" == broken["outcome"]
    assert "gateway" in broken["reason"]
    assert "Traceback" not in walk("report", "r").stdout
    before = walk.scorecards("r")

    flag.unlink()
    told = walk.summary("run", "--resume", "r")
    assert (3, 0) == (told["counts"]["finished"], told["counts"]["harness_failed"])
    after = walk.scorecards("r")
    assert {place: card for place, card in before.items() if "breaks" not in place} == {
        place: card for place, card in after.items() if "breaks" not in place
    }
