"""A model without MLPs: its page and its study have all but neurons."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tslens import report
from tslens.corpus import Corpus
from tslens.models.fast_tokenizer import to_transformers
from tslens.stories import stories
from tslens.study import everything
from tslens.study.parts import PARTS
from tslens.study.work import TWINS
from tslens.tokenizer import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(stories("made", limit=30, seed=3))


@pytest.fixture(scope="module")
def attention_only(texts: list[str]) -> Any:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    tokenizer = Tokenizer.train(texts, 500)
    shape = {"n_layers": 2, "d_model": 16, "n_heads": 2, "d_head": 8, "n_ctx": 48, "seed": 0, "device": "cpu"}
    config = HookedTransformerConfig(d_vocab=tokenizer.size, attn_only=True, **shape)
    return HookedTransformer(config, tokenizer=to_transformers(tokenizer))


def test_its_page_shows_heads_and_lens_and_no_neurons(attention_only: Any, texts: list[str]) -> None:
    data = report.compute(attention_only, texts, twins=1, shown=1, causes=False, max_new_tokens=4)
    page = report.draw(data)
    content = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data.neurons is None and "neurons" not in content and not content["whole"]
    assert content["heads"]["shape"] == [2, 2] and content["lens"] and content["stories"]
    assert 'id="neurons"' not in page and 'href="#neurons"' not in page and "attention only" in page
    assert "of 4 heads" in page and "settled" in page


@pytest.mark.thorough
def test_its_page_opens(attention_only: Any, texts: list[str], opener: Any, tmp_path: Path) -> None:
    data = report.compute(attention_only, texts, twins=1, shown=1, causes=False, max_new_tokens=4)
    page = opener(report.write(report.draw(data), tmp_path / "page.html"))
    assert page.all("#heads-view button") and page.complaints() == []


def test_its_study_says_that_it_has_no_neurons(
    attention_only: Any, texts: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    asked = tuple(part for part in PARTS if part.name in ("scan", TWINS, "tested labels"))
    monkeypatch.setattr(importlib.import_module("tslens.study.everything"), "PARTS", asked)
    summary, *answers = everything(attention_only, Corpus(tuple(texts), "made ones"), checked=20, twins=1)
    assert {"roles", "logit lens", "attribution", "residuals", TWINS} <= {answer.name for answer in answers}
    assert "neurons" not in {answer.name for answer in answers}
    assert any("has no MLPs and no neurons" in said for said in summary.result.findings)
    (counted,) = (answer.result for answer in answers if answer.name == TWINS)
    assert counted.labels and not any("neurons" in label for label in counted.labels)
