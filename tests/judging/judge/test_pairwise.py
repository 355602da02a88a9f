"""Two things compared in both orders: a judge that goes by the place gives no winner."""

import asyncio
import json
from collections.abc import Callable

import pytest
from aiohttp import web

from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import ModelClientOptions
from harness.judging.pairwise import Pairwise, Preference
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Criterion
from harness.judging.settings import JudgeSettings
from harness.judging.transcripts import Piece
from tests.judging.judge.serving import served


def preference(tmp_path, choose: Callable[[str, str], str], provider: str = "openai") -> Preference:
    """Of "short" and "much longer" by a judge that chooses with the texts of A and B."""

    async def handle(request: web.Request) -> web.Response:
        body = await request.json()
        lines = body["messages"][-1]["content"].splitlines()
        said = {one["ref"]: one["said"] for one in (json.loads(line) for line in lines if line.startswith('{"ref"'))}
        text = choose(said["A.s1"], said["B.s1"])
        if provider == "anthropic":
            return web.json_response({"id": "1", "role": "assistant", "content": [_anthropic(text)]})
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": text}}]})

    async def compared(url: str) -> Preference:
        settings = JudgeSettings(model="m", provider=provider, base_url=url)
        asker = ModelClient(settings.spec, settings.provider, ModelClientOptions(cassettes=tmp_path))
        async with asker, asker.cassette("pair") as cassette:
            pairwise = Pairwise(
                criterion=Criterion(id="brief", statement="Says it in few words.", evidence=("claims",)),
                prompt=PromptRegistry(tmp_path).get("compare"),
                model="m",
                asker=asker,
            )
            return await pairwise.compare(cassette, [_piece("short")], [_piece("much longer")])

    with served(handle, path="/v1" if provider == "openai" else "") as url:
        return asyncio.run(compared(url))


def _piece(text: str) -> Piece:
    return Piece(ref="s1", kind="agent", text=text)


def _anthropic(text: str) -> dict[str, object]:
    return {"type": "tool_use", "id": "t1", "name": "verdict", "input": json.loads(text)}


def better(which: str) -> str:
    return json.dumps({"rationale": "so", "better": which})


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_judge_that_goes_by_the_thing_names_a_winner(tmp_path, provider):
    found = preference(tmp_path, lambda a, b: better("A" if len(a) > len(b) else "B"), provider)
    assert ("second", True) == (found.winner, found.consistent)


def test_a_judge_that_goes_by_the_place_names_none(tmp_path):
    found = preference(tmp_path, lambda a, b: better("A"))
    assert (None, False, "first", "second") == (found.winner, found.consistent, found.in_order, found.swapped)


def test_a_tie_in_both_orders_is_an_answer(tmp_path):
    found = preference(tmp_path, lambda a, b: better("neither"))
    assert ("neither", True) == (found.winner, found.consistent)


def test_a_judge_that_fails_in_one_order_gives_no_winner(tmp_path):
    found = preference(tmp_path, lambda a, b: better("B") if a == "short" else "The second one!")
    assert (None, None, "second", None) == (found.winner, found.consistent, found.in_order, found.swapped)
    assert "not JSON" in found.failure


def test_an_answer_that_names_no_place_is_a_failure(tmp_path):
    found = preference(tmp_path, lambda a, b: better("C"))
    assert (None, None) == (found.winner, found.consistent)
    assert "better" in found.failure
