"""A Ray cluster on this machine, in a process of its own: several nodes, any of which can be lost.

Obeys lines of JSON: `{"add": {NAME: VALUE}}` starts a node whose workers have these environment variables,
`{"lose": N}` kills the N-th one's processes. Ends, with all of its nodes, at the end of its input.
"""

import json
import os
import sys

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": sys.argv[1], "RAY_enable_worker_prestart": "0"}

from ray.cluster_utils import Cluster

PROCESSORS = 2
_STORE_BYTES = 200 * 1024 * 1024


def main() -> None:
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=True)
    nodes = []
    try:
        print(json.dumps(cluster.address), flush=True)
        for line in sys.stdin:
            match json.loads(line):
                case {"add": dict(env)}:
                    nodes.append(
                        cluster.add_node(num_cpus=PROCESSORS, object_store_memory=_STORE_BYTES, env_vars=env or None)
                    )
                case {"lose": int(number)}:
                    cluster.remove_node(nodes[number], allow_graceful=False)
            print(json.dumps("done"), flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
