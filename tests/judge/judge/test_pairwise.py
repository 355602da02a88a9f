"""Two things compared in both orders: a judge that goes by the place gives no winner."""

import asyncio
import json
from collections.abc import Callable

import pytest
from aiohttp import web

from harness.gateway.model.asking import AskerOptions, ModelAsker
from harness.judge.pairwise import Pairwise, Preference
from harness.judge.settings import JudgeSettings
from tests.judge.judge.serving import served


def preference(tmp_path, choose: Callable[[str, str], str], provider: str = "openai") -> Preference:
    """Of "short" and "much longer" by a judge that chooses with the texts of A and B."""

    async def handle(request: web.Request) -> web.Response:
        body = await request.json()
        lines = body["messages"][-1]["content"].splitlines()
        said = {one["ref"]: one["said"] for one in (json.loads(line) for line in lines if line.startswith('{"ref"'))}
        text = choose(said["A"], said["B"])
        if provider == "anthropic":
            return web.json_response({"id": "1", "role": "assistant", "content": [{"type": "text", "text": text}]})
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": text}}]})

    async def compared(url: str) -> Preference:
        settings = JudgeSettings(model="m", provider=provider, base_url=url)
        asker = ModelAsker(settings.spec, settings.provider, AskerOptions(cassettes=tmp_path))
        async with asker, asker.tape("pair") as tape:
            pairwise = Pairwise(question="Which is better?", model="m", asker=asker)
            return await pairwise.compare(tape, "Say something", "short", "much longer")

    with served(handle, path="/v1" if provider == "openai" else "") as url:
        return asyncio.run(compared(url))


def better(which: str) -> str:
    return json.dumps({"better": which, "rationale": "so"})


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_judge_that_goes_by_the_thing_names_a_winner(tmp_path, provider):
    found = preference(tmp_path, lambda a, b: better("A" if len(a) > len(b) else "B"), provider)
    assert ("second", True) == (found.winner, found.consistent)


def test_a_judge_that_goes_by_the_place_names_none(tmp_path):
    found = preference(tmp_path, lambda a, b: better("A"))
    assert (None, False, "first", "second") == (found.winner, found.consistent, found.in_order, found.swapped)


def test_a_tie_in_both_orders_is_an_answer(tmp_path):
    assert ("neither", True) == (
        (found := preference(tmp_path, lambda a, b: better("neither"))).winner,
        found.consistent,
    )


def test_a_judge_that_fails_in_one_order_gives_no_winner(tmp_path):
    found = preference(tmp_path, lambda a, b: better("B") if a == "short" else "The second one!")
    assert (None, None, "second", None) == (found.winner, found.consistent, found.in_order, found.swapped)
    assert "another form" in found.failure
