"""Nodes of a cluster send the spans of their own trials."""

import pytest

from tests.runs.ray.conftest import RayCluster
from tests.traces.receiver import receiving
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.test_sending_traces import LIVE
from tests.walks.watched_trials import KEY, MAIN, SUITE, check_arrived, shop

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_each_node_sends_its_own_trials_while_they_run(
    walk: Walk, write_suite: WriteSuite, cluster: RayCluster
) -> None:
    with receiving(cluster.host) as receiver, shop(receiver, host=cluster.host) as url:
        write_suite(
            SUITE.format(url=url), "".join(f"- {{id: c{n}, task: look}}\n" for n in range(4)), {"main.py": MAIN}
        )
        env = {"SHOP_KEY": KEY, "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=for-the-collector"}
        words = ("--executor", "ray", "--jobs", "1", "--sandbox", "local")
        done = walk(*LIVE, *words, "--otlp", receiver.url, env=env)
        check_arrived(receiver, trials=4)
    assert {"for-the-collector"} == {headers["x-api-key"] for _, headers, _ in receiver.requests}
    assert 2 == done.stderr.count("spans were sent to")
