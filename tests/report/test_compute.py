import importlib

import pytest
import torch

from tslens import models, report
from tslens.corpus import Corpus
from tslens.report.compute import PROMPTS
from tslens.stories import stories
from tslens.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made", limit=24))


@pytest.fixture(scope="module")
def model(texts: list[str]):  # type: ignore[no-untyped-def]
    tokenizer = Tokenizer.train(texts, 300)
    spec = models.Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=48)
    return models.build(spec, seed=1, tokenizer=tokenizer)


def test_roles_that_swaps_contradict_do_not_count_beside_twins(  # type: ignore[no-untyped-def]
    model, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts beside twins are those after withholding, by label."""
    asked: list[dict[str, int]] = []

    class Compared:
        def without(self, lost: dict[str, int]) -> None:
            asked.append(lost)

    compute = importlib.import_module("tslens.report.compute")  # `report.compute` is its function
    monkeypatch.setattr(compute, "compare", lambda *_, **__: Compared())
    compute._twins(
        model,
        Corpus(tuple(texts), "made"),
        2,
        {"heads with a role": 5, "self heads": 2},
        {"heads with a role": 3, "self heads": 2},
    )
    assert asked == [{"heads with a role": 2, "self heads": 0}]


@pytest.mark.thorough
def test_everything_is_computed_in_one_call_and_drawn(model, texts: list[str]) -> None:  # type: ignore[no-untyped-def]
    own = 'Tom said <script>alert("me")</script>.'
    data = report.compute(model, texts, texts=[own], shown=3, causes=False, max_new_tokens=8)
    assert data.name == "16x2x2"
    assert data.heads.role_code.shape == (2, 2)
    assert data.neurons.profiles.max.shape == (2, 64)
    assert data.depth.depths == ["embed", "0", "1"]
    assert [p.tokens for p in data.patterns] == [lens.tokens for lens in data.lenses]
    assert data.patterns[0].text == own
    assert len(data.patterns) == 3
    assert max(len(p.tokens) for p in data.patterns) <= 48
    assert [prompt for prompt, _ in data.samples] == list(PROMPTS)
    assert all(text.startswith(prompt) for prompt, text in data.samples)
    page = report.draw(data)
    assert "<script>alert" not in page
    assert "24 stories" in page


def test_the_page_of_a_model_with_more_ids_than_tokens(texts: list[str]) -> None:
    tokenizer = Tokenizer.train(texts, 300)
    padded = models.build(models.Spec(16, 2, 2, d_vocab=320, n_ctx=48), seed=1, tokenizer=tokenizer)
    with torch.no_grad():
        padded.ln_final.w.zero_()
        padded.ln_final.b.copy_(torch.eye(16)[0])
        padded.embed.W_E[310, 0] = 50.0
    data = report.compute(padded, texts[:4], shown=1, max_new_tokens=2)
    assert data.samples[0] == ("", "<unused 310><unused 310>")
    page = report.draw(data)
    assert r"\u003cunused 310>" in page and "&lt;unused 310&gt;" in page and "<unused" not in page


def test_no_story_is_refused(model) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="no story"):
        report.compute(model, [])
