"""Features on the page: kept beside the model whose weights they are of; what exceeds twins and random ones leads."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models, report
from tslens.report import ReportData
from tslens.report.features import COUNTS, FoundFeatures, claim, keep, kept, section
from tslens.report.findings import findings
from tslens.report.shell import bundle
from tslens.sae import KINDS, BestFeaturesResult, ComparedFeaturesResult, RecoveredResult
from tslens.stories import stories
from tslens.tokenizer import Tokenizer
from tslens.twins import TwinsResult

EVIL = "<script>alert(1)</script>"
HOOK = "blocks.0.hook_resid_post"


def compared(hook: str = HOOK, words: int = 9) -> ComparedFeaturesResult:
    """Of the neurons, features and random features 5, 40 and 8 with a part of speech, 6, `words` and 7 with a word."""
    labelled = torch.tensor([[5, 6], [40, words], [8, 7]])
    number = torch.tensor([64, 48, 48])
    rest = {name: torch.full((3,), 0.5) for name in ("active", "explained")}
    rest |= {name: torch.full((3, 2), 0.5) for name in ("share", "auroc", "precision", "base_rate")}
    counts = {name: torch.full((3, 2), 2) for name in ("tested", "holding", "predicting")}
    ends = {"labelled_low": labelled - 3.0, "labelled_high": labelled + 3.0}
    return ComparedFeaturesResult("m", hook, 30, number, number, labelled=labelled, **ends, **rest, **counts)


def recovered(share: float = 0.9) -> RecoveredResult:
    """A model of which zeros cost 4 nats, and a twin of which they cost nothing."""
    shares = torch.tensor([[share, 0.5, 0.1], [torch.nan] * 3])
    other = {name: torch.ones(2, 3) for name in ("loss", "explained", "active", "dead")}
    ends = {"recovered_low": shares - 0.05, "recovered_high": shares + 0.05}
    losses = {"own_loss": torch.tensor([2.0, 6.0]), "zero_loss": torch.tensor([6.0, 6.0])}
    return RecoveredResult("m", HOOK, 48, 30, ["m", "fresh twin 0"], recovered=shares, **ends, **other, **losses)


def best(n: int = 2, text: str = f" cat {EVIL}") -> BestFeaturesResult:
    """Features of which the first half has a part of speech and the second a word, all of whose text is markup."""
    by_word = torch.arange(n) >= n // 2
    measures = {name: torch.full((n, 2), 0.8) for name in ("value", "low", "high")}
    rates = {name: torch.full((n,), 0.1) for name in ("firing_rate", "base_rate")}
    contexts = [[["a", text, EVIL]] * 3 for _ in range(n)]
    labels = [f"{EVIL} {i}" for i in range(n)]
    text_fields = {"contexts": contexts, "promotes": [[EVIL] * 5] * n}
    return BestFeaturesResult("m", HOOK, 48, 4, list(range(n)), labels, by_word, **rates, **measures, **text_fields)


def twins(most: int = 3) -> TwinsResult:
    """Counts that lead for parts of speech unless a twin has more, and never for words."""
    count, of_twins = torch.tensor([38, 9]), torch.tensor([[most, 20]])
    low, p = count - 2.0, torch.tensor([0.5, 1.0])
    ends = (of_twins[0], of_twins[0])
    leads = low > of_twins[0]
    return TwinsResult("m", 30, list(COUNTS), ["fresh twin 0"], count, low, low + 4, *ends, p, leads, of_twins)


def found(**changed: Any) -> FoundFeatures:
    parts: dict[str, Any] = {"compared": compared(), "recovered": recovered(), "best": best(), "twins": twins()}
    return FoundFeatures(**parts | changed)


def test_features_are_kept_beside_the_model_of_these_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    tokenizer = Tokenizer.train(list(stories("made", limit=20)), 300)
    spec = models.Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=16)
    model, other = (models.build(spec, seed=seed, tokenizer=tokenizer) for seed in (0, 1))
    assert kept(model) == []
    keep(model, found())
    keep(model, found(compared=compared("blocks.0.hook_attn_out"), twins=None))
    keep(model, found(recovered=recovered(0.8)))  # the last of an activation stays
    second, first = kept(model)
    assert first.compared.hook == HOOK and float(first.recovered.recovered[0, 0]) == pytest.approx(0.8)
    assert first.twins is not None and first.best.contexts[0][0] == ["a", f" cat {EVIL}", EVIL]
    assert second.compared.hook == "blocks.0.hook_attn_out" and second.twins is None
    assert kept(other) == []
    (next(tmp_path.glob("features/*")) / HOOK / "RecoveredResult" / "result.json").write_text("{")
    assert [one.compared.hook for one in kept(model)] == ["blocks.0.hook_attn_out"]  # half an answer is none


def test_a_count_leads_only_beyond_random_features_and_every_twin() -> None:
    assert found().exceeds == (True, False)  # of words a twin has more, and random features about as many
    assert found(twins=twins(most=37)).exceeds == (False, False)
    assert found(twins=None).exceeds == (False, False)
    assert compared().beyond_random.tolist() == [True, False]
    assert compared(words=40).beyond_random.tolist() == [True, True]
    figure, said = claim(found(), 0)
    assert figure == "40 of 48 features"
    assert said == (
        "have a part of speech (37 to 43), and of 2 tested 2 predict on other stories; random features 8 (5 to 11), "
        "those of 1 untrained twins 3 on 30 stories, "
        "where the model has 38: more than both."
    )
    assert claim(found(), 1)[1].endswith("where the model has 9: not surely more than both.")
    assert claim(found(twins=None), 0)[1].endswith("and no untrained twin was counted.")


def test_the_section_leads_with_what_exceeds_its_controls() -> None:
    shown = section([found()], "m")
    assert EVIL not in shown and f"cat {EVIL}".replace("<", "&lt;").replace(">", "&gt;") in shown
    assert shown.index("have a part of speech") < shown.index('<p class="muted">9 of 48 features have one word')
    assert (
        "features recover 90.0% [85.0%, 95.0%], random features 50.0%" in shown
        and "Untrained twins: 1 of 1 lose" in shown
    )
    assert [shown.index(f">{kind}</td>") for kind in KINDS] == sorted(shown.index(f">{kind}</td>") for kind in KINDS)
    words_first = section([found(compared=compared(words=40), twins=words_lead())], "m")
    assert words_first.index("have one word") < words_first.index("have a part of speech")
    assert words_first.index("alert(1)&lt;/script&gt; 1<") < words_first.index("alert(1)&lt;/script&gt; 0<")
    assert "No label holds" in section([found(best=best(0))], "m")
    assert "tslens analyze features --model m" in section([], "m")


def words_lead() -> TwinsResult:
    """Counts of which those of words alone lead."""
    made = twins(most=37)
    made.leads[:] = torch.tensor([False, True])
    return made


def test_findings_lead_with_features_that_exceed_their_controls(made: Callable[..., ReportData]) -> None:
    for twin, leads in ((3, True), (37, False)):
        (card,) = (f for f in findings(made(features=[found(twins=twins(most=twin))])) if f.section == "features")
        assert card.leads is leads and card.figure == "40 of 48 features" and HOOK in card.claim
        assert "zeros there cost 4.00 nats" in card.evidence
    assert not any(f.section == "features" for f in findings(made()))


@pytest.mark.thorough
def test_features_take_their_room_from_what_the_budget_cuts(made: Callable[..., ReportData]) -> None:
    data = made(tokens=64, stories=3, d_mlp=128, ranks=20)
    whole = len(report.draw(data).encode())
    more = dataclasses.replace(data, features=[found(best=best(12)), found()])
    assert len(report.draw(more).encode()) > whole
    page = report.draw(more, budget=whole - len(bundle().encode()))
    assert len(page.encode()) <= whole and page.count('class="panel features"') == 2
    assert "more would have outgrown" in page


def test_the_features_stand_on_the_page(
    opener: Callable[[Path], Any], made: Callable[..., ReportData], tmp_path: Path
) -> None:
    page = opener(report.write(report.draw(made(features=[found()])), tmp_path / "report.html"))
    assert page.one("#features h3").text.startswith(HOOK)
    assert page.one("#features mark").text.strip() == f"cat {EVIL}"
    assert page.complaints() == []
