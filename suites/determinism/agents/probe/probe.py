"""Shows one thing that could differ between two runs: the user's message names which."""

import http.client
import json
import os
import random
import sys
import threading
import time
import uuid
from urllib.parse import urlsplit


def clock() -> object:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime())


def hash_order() -> object:
    return list({f"word-{number}" for number in range(40)})


def directory_order() -> object:
    os.makedirs("many", exist_ok=True)
    for number in (5, 3, 8, 1, 9, 2, 7):
        with open(f"many/{number}", "w", encoding="utf-8") as file:
            file.write("x")
    return os.listdir("many")


def environment() -> object:
    hidden = {"HARNESS_CLOCK_OFFSET_NS"}
    variables = {name: value for name, value in sorted(os.environ.items()) if name not in hidden}
    return {"variables": variables, "user": os.getuid(), "zone": time.tzname, "cwd": os.getcwd()}


def seeded_random() -> object:
    return [random.Random(7).random() for _ in range(3)]


def uuid4() -> object:
    return str(uuid.uuid4())


def random_numbers() -> object:
    return [random.random() for _ in range(3)]


def elapsed_time() -> object:
    started = time.perf_counter_ns()
    sum(range(100_000))
    return time.perf_counter_ns() - started


def thread_race() -> object:
    order: list[int] = []

    def run(number: int) -> None:
        for _ in range(300):
            order.append(number)
            time.sleep(0)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return order


SHOWN = {
    probe.__name__: probe
    for probe in (
        clock,
        hash_order,
        directory_order,
        environment,
        seeded_random,
        uuid4,
        random_numbers,
        elapsed_time,
        thread_race,
    )
}


def main() -> int:
    url = urlsplit(os.environ["HARNESS_GATEWAY_URL"])
    gateway = http.client.HTTPConnection(url.hostname, url.port)
    gateway.request("GET", "/turn")
    asked = json.loads(gateway.getresponse().read())["message"]
    answer = json.dumps({"message": json.dumps(SHOWN[asked]())})
    gateway.request("POST", "/reply", answer, {"Content-Type": "application/json"})
    return 0 if gateway.getresponse().status == 204 else 1


if __name__ == "__main__":
    sys.exit(main())
