"""A node with a container engine of its own is sent what it lacks, once."""

import pytest

from tests.ray.conftest import RayCluster
from tests.ray.test_cluster import CASES, CHECKS, kept, on
from tests.soak.second_engine import second_engine
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.test_shards import ANSWERS

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_a_node_with_an_engine_of_its_own_is_sent_the_image_once(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, CASES, {"main.py": ANSWERS})
    chosen = ("--case", "case-0", "--case", "case-1")
    walk("run", "s", "--run-name", "local", *chosen)
    with second_engine() as engine, RayCluster() as cluster:
        cluster.add(DOCKER_HOST=engine.host)
        first = walk(*on(cluster, "--run-name", "first", *chosen))
        again = walk(*on(cluster, "--run-name", "again", *chosen))
        with engine.client() as client:
            tags = [tag for image in client.images.list() for tag in image.tags]
            left = client.api.containers(all=True)
        assert [] == cluster.left()
    assert "MB) goes to node" in first.stderr
    assert "goes to node" not in again.stderr
    assert ["harness/base"] == [tag.partition(":")[0] for tag in tags]
    assert [] == left
    assert walk.scorecards("local") == kept(walk.scorecards("first")) == kept(walk.scorecards("again"))
