"""Answers of a server that misbehaves: none lost, none asked for again, none invented, and no limit exceeded."""

from typing import Literal

import pytest
from pydantic import BaseModel

from tests.llm.server import Server, spread
from tslens import llm
from tslens.llm.prices import Tokens

Score = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


class Grade(BaseModel):
    grammar: Score
    plot: Score


def requests(n, max_tokens=100):
    return [llm.Request("Grade the story.", f"Story {i}: the dog ran.", Grade, max_tokens) for i in range(n)]


def billed(server, model="claude-haiku-4-5"):
    price = llm.price_of(model)
    return sum(
        price.usd(
            Tokens(
                usage["input_tokens"],
                usage["output_tokens"],
                usage["cache_creation_input_tokens"],
                usage["cache_read_input_tokens"],
            ),
            batch=batch,
        )
        for usage, batch in server.usages
    )


@pytest.mark.parametrize("batch", [False, True])
def test_500_at_30_percent_faults(settings, tmp_path, batch):
    faults = spread(0.3) | {"expired": 0.05, "errored": 0.05}
    with Server(faults=faults) as server:
        given = settings(server, cache=tmp_path / "answers.jsonl", batch=batch, concurrency=16)
        outcomes = llm.ask(asked := requests(500), given)
        assert [outcome.request for outcome in outcomes] == asked
        assert server.again == []  # what was received was not asked for again
        for outcome in outcomes:
            text = outcome.request.text
            if outcome.answer is None:
                assert outcome.failure in ("refusal", "malformed", "truncated")
                assert text not in server.replies
            else:  # nothing is invented, nothing lost
                assert outcome.answer.model_dump() in server.replies[text]
        failed = [outcome for outcome in outcomes if outcome.failure]
        refused = {text for text, fault in server.asked if fault == "refusal"}
        assert refused <= {outcome.request.text for outcome in failed}
        assert 0 < len(failed) < 100
        spent, lost = sum(o.usd for o in outcomes), sum(o.lost_usd for o in outcomes)
        assert spent - 1e-9 <= billed(server) <= spent + lost + 1e-9
        calls = len(server.asked)
        again = llm.ask(requests(500), given)
        assert len(server.asked) == calls  # a second run costs nothing
        assert [o.answer for o in again] == [o.answer for o in outcomes]
        assert [o.failure for o in again] == [o.failure for o in outcomes]
        assert all(o.cached and o.usd == 0 for o in again)
