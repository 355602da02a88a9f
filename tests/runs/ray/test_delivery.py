"""A node with a container engine of its own is sent what it lacks, once; and loses trials with it, but no result."""

import pytest

from qa.soak.second_engine import second_engine
from tests.runs.ray.conftest import RayCluster
from tests.runs.ray.test_cluster import AGENT, CASES, CHECKS, containers, kept, on, started, wait_until
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.test_stopping import committed

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_a_node_with_an_engine_of_its_own_is_sent_the_image_once_and_may_lose_the_engine(
    walk: Walk, write_suite: WriteSuite
) -> None:
    write_suite(CHECKS, CASES, {"main.py": AGENT})
    chosen = ("--case", "case-0", "--case", "case-1")
    walk("run", "s", "--run-name", "local", "--jobs", "4")
    with second_engine() as engine, RayCluster({"DOCKER_HOST": engine.host}) as cluster:
        first = walk(*on(cluster, "--run-name", "first", *chosen))
        with engine.client() as client:
            tags = [tag for image in client.images.list() for tag in image.tags]
            left = client.api.containers(all=True)
        assert [] == cluster.left()

        cluster.add()
        with started(walk, *on(cluster, "--run-name", "again", "--jobs", "2")) as process:
            wait_until(lambda: len(committed(walk, "again")) >= 1)
            engine.kill()
            output, _ = process.communicate(timeout=300)
        assert 0 == process.returncode, output
    assert "MB) goes to node" in first.stderr
    assert "goes to node" not in output
    assert ["harness/base"] == [tag.partition(":")[0] for tag in tags]
    assert [] == left
    whole, parts = walk.scorecards("local"), kept(walk.scorecards("first"))
    assert {place: whole[place] for place in parts} == parts
    assert whole == kept(walk.scorecards("again"))
    assert list((walk.folder / "runs" / "again" / "trials").glob("*/1.failed-1"))
    assert [] == containers("again")
