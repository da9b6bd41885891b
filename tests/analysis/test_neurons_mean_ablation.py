"""Ablating labelled neurons: TransformerLens's hooks as oracle, weights by hand, a neuron that writes nothing."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

from tslens import models, plots
from tslens.analysis import neurons
from tslens.analysis.neurons.mean_ablation import _estimates, _increases, _served
from tslens.analysis.neurons.mean_ablation_result import KINDS, MISSED, SERVING
from tslens.batching import chosen
from tslens.halves import GROUPS, PAIRS, halves
from tslens.models import Spec, build
from tslens.stories.generator import generate
from tslens.tokenizer import Tokenizer

SERVES, SILENT = (0, 3), (1, 5)
WORD = " the"


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [story.text for story in generate(24, seed=8)]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest, corpus: list[str]) -> Any:
    """One neuron of the first layer that fires on a word and writes what often follows; one that writes nothing."""
    tokenizer = Tokenizer.train(corpus, 600)
    made = build(
        Spec(32, 2, 2, d_vocab=tokenizer.size, n_ctx=128, d_mlp=16, style=request.param), seed=1, tokenizer=tokenizer
    )
    rows = tokenizer.encode(corpus)
    word = tokenizer.encode([f"x{WORD}"], bos=False)[0][-1]
    after = torch.bincount(
        torch.tensor([b for row in rows for a, b in itertools.pairwise(row) if a == word]),
        minlength=tokenizer.size,
    )
    with torch.no_grad():
        made.embed.W_E *= 10  # logits of some size
        mlp = made.blocks[SERVES[0]].mlp
        reads = made.embed.W_E[word] / made.embed.W_E[word].norm()
        mlp.W_in[:, SERVES[1]] = 4 * reads
        if request.param == "llama":
            mlp.W_gate[:, SERVES[1]] = reads
        else:
            mlp.b_in[SERVES[1]] = -15  # it is silent on other words
        mlp.W_out[SERVES[1]] = 5 * made.unembed.W_U @ (after / after.sum())
        made.blocks[SILENT[0]].mlp.W_out[SILENT[1]] = 0
    return made


@pytest.fixture(scope="module")
def profiles(model: Any, corpus: list[str]) -> Any:
    """Profiles with two labels set by hand: the word, and another neuron's."""
    found = neurons.profiles(model, corpus)
    label, by_word, word = torch.full_like(found.label, -1), torch.zeros_like(found.by_word), found.word.clone()
    by_word[SERVES] = by_word[SILENT] = True
    word[SERVES] = word[SILENT] = models.tokenizer_of(model).encode([f"x{WORD}"], bos=False)[0][-1]
    return dataclasses.replace(found, label=label, by_word=by_word, word=word)


@pytest.fixture(scope="module")
def answer(model: Any, corpus: list[str], profiles: Any) -> Any:
    return neurons.mean_ablation(model, corpus, profiles, rows=24, context=128)


def place_of(answer: Any, place: tuple[int, int]) -> int:
    return list(zip(answer.layer.tolist(), answer.neuron.tolist(), strict=True)).index(place)


def test_increases_are_those_of_the_hooked_forward(model: Any, corpus: list[str]) -> None:
    read, places = chosen(corpus, models.tokenizer_of(model), rows=6, context=40), [SERVES, (1, 2)]
    baseline, increase = _increases(model, read, places)

    def losses(hooks: Any) -> torch.Tensor:
        logits = model.run_with_hooks(read.tokens, fwd_hooks=hooks)[:, :-1].log_softmax(-1)
        return -logits.gather(-1, read.tokens[:, 1:, None])[..., 0]

    scored = read.mask[:, 1:] & read.mask[:, :-1]
    with torch.no_grad():
        full = losses([])
        assert baseline == pytest.approx(float(full[scored].mean()), abs=1e-5)
        for i, (layer, neuron) in enumerate(places):

            def replace(acts: torch.Tensor, hook: Any, neuron: int = neuron) -> torch.Tensor:
                acts[..., neuron] = acts[..., neuron][read.mask].mean()
                return acts

            more = losses([(f"blocks.{layer}.mlp.hook_post", replace)]) - full
            assert torch.allclose(increase[i][scored], more[scored].double(), atol=1e-5)
            assert not increase[i][~scored].any()


def test_a_neuron_that_predicts_what_follows_a_word_serves_it_and_a_silent_one_nothing(answer: Any) -> None:
    serves, silent = place_of(answer, SERVES), place_of(answer, SILENT)
    assert answer.finding(serves) == "missed most on the tokens of its label" and answer.contrast[serves] > 0.05
    assert answer.finding(silent) == "not missed there"
    assert answer.increase[silent].abs() < 1e-6 and answer.contrast[silent].abs() < 1e-6
    assert answer.served[serves] == answer.served[silent] > 10
    assert answer.counts()[f"{KINDS[1]} {SERVING}"] == 1 and answer.controls() == {KINDS[0]: 0, KINDS[1]: 0}
    assert answer.by_word.all() and not answer.counts()[f"{KINDS[0]} {SERVING}"]
    assert set(answer.control.tolist()).isdisjoint({SERVES[1], SILENT[1]})


def test_an_answer_prints_draws_comes_back_and_is_refused(
    answer: Any, model: Any, corpus: list[str], profiles: Any, tmp_path: Path, refused: Any
) -> None:
    assert "1 of 2 one-word neurons (0 of as many" in str(answer) and "part-of-speech" not in str(answer)
    assert "labelled" in plots.svg(answer.figure())
    again = neurons.MeanAblationResult.load(answer.save(tmp_path))
    assert torch.equal(again.contrast, answer.contrast) and again.labels == answer.labels
    with refused("An interval needs 4 stories"):
        neurons.mean_ablation(model, corpus[:3], profiles)
    with refused("No neuron has a label"):
        nothing = dataclasses.replace(profiles, by_word=torch.zeros_like(profiles.by_word))
        neurons.mean_ablation(model, corpus, nothing)
    with refused("The labels are those of another"):
        neurons.mean_ablation(model, corpus, dataclasses.replace(profiles, model="another"))


@pytest.mark.thorough
def test_labelled_neurons_of_a_trained_model_serve_more_often_than_others() -> None:
    model, texts = models.load("stories2M"), [story.text for story in generate(60, seed=3)]
    found = neurons.mean_ablation(model, texts, neurons.profiles(model, texts), most=40)
    assert all(found.counts()[f"{kind} {SERVING}"] >= found.controls()[kind] for kind in KINDS)
    assert found.counts()[f"{KINDS[0]} {SERVING}"] > found.controls()[KINDS[0]] and not found.by_word.all()


def test_counts_follow_the_findings_and_have_halves(answer: Any, model: Any, corpus: list[str], profiles: Any) -> None:
    findings = [answer.finding(place) for place in range(len(answer.labels))]
    missed = int(((answer.q < 0.05) & (answer.low > 0)).sum())
    most = findings.count("missed most on the tokens of its label")
    assert answer.counts() == {
        f"{KINDS[0]} {MISSED}": 0,
        f"{KINDS[0]} {SERVING}": 0,
        f"{KINDS[1]} {MISSED}": missed,
        f"{KINDS[1]} {SERVING}": most,
    }
    assert len(answer.of_halves) == 2 * PAIRS and all(
        half.keys() == answer.counts().keys() for half in answer.of_halves
    )
    assert any(half[f"{KINDS[1]} {SERVING}"] for half in answer.of_halves)
    alone = neurons.mean_ablation(model, corpus, profiles, rows=24, controls=False)
    assert alone.counts() == answer.counts() and torch.equal(alone.contrast, answer.contrast)
    assert alone.control_contrast.isnan().all() and "unlabelled" not in str(alone) and alone.figure().axes
    assert neurons.mean_ablation(model, corpus, profiles, rows=19).of_halves == []  # too few for halves


def test_a_half_is_an_answer_on_its_rows_alone(model: Any, corpus: list[str], profiles: Any) -> None:
    """The rows of a half, in the order of their hashes, give the same estimates as those rows given twice."""
    found = neurons.mean_ablation(model, corpus, profiles, rows=24, controls=False)
    read, groups = chosen(corpus, models.tokenizer_of(model), rows=24, context=128), next(iter(halves()))
    half = [row for row in range(24) if row % GROUPS in groups] * 2
    places = list(zip(found.layer.tolist(), found.neuron.tolist(), strict=True))
    served, (_, increase) = _served(model, read, profiles, places), _increases(model, read, places)
    rows = [(on[half], off[half]) for on, off in served]
    part = _estimates(read.mask[half, 1:] & read.mask[half, :-1], increase[:, half], rows)
    expected = int(((part["contrast_q"] < 0.05) & (part["contrast_low"] > 0.002)).sum())
    assert found.of_halves[0][f"{KINDS[1]} {SERVING}"] == expected
