"""The search for circuits: a chain of heads that is built in is found with its edges, its controls find nothing."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom

from tslens import load, models, stats
from tslens.analysis import circuits
from tslens.analysis.circuits import controls, hypotheses
from tslens.analysis.circuits.edges import edges_of
from tslens.analysis.circuits.nodes import Circuits, node_names, screen
from tslens.analysis.circuits.runs import Runs
from tslens.analysis.circuits.search import Scale, halves, pruned, search
from tslens.models import Spec
from tslens.stories import pairs
from tslens.stories.pairs.tasks import BOYS, GIRLS
from tslens.tokenizer import Tokenizer

NODES = ["0.0", "0.1", "0.2", "0.3", "MLP 0", "1.0", "1.1", "1.2", "1.3", "MLP 1"]
CHAIN = ["0.1", "1.2"]


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return models.story_tokenizer_of(load("stories2M"))


@pytest.fixture(scope="module")
def planted(words: Tokenizer) -> Any:
    """A model in which head 0.1 averages the names of the prompt, head 1.2 averages what 0.1 wrote, and the logits read
    1.2 alone; every other head and both MLPs write noise elsewhere."""
    spec = Spec(96, 2, 4, d_vocab=words.size, n_ctx=64, tied=False)
    model = models.build(spec, tokenizer=words, seed=3)
    names = [tokens[0] for tokens in words.encode([" " + n for n in GIRLS + BOYS], bos=False) if len(tokens) == 1]
    n, generator = len(names), torch.Generator().manual_seed(4)
    assert 8 < n <= 24
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("W_O", "W_out")):  # noise into the last coordinates
                weight.zero_()
                weight[..., 3 * n :] = 0.05 * torch.randn(weight[..., 3 * n :].shape, generator=generator)
            elif name in ("embed.W_E", "pos_embed.W_pos"):
                weight.zero_()
                weight[..., 3 * n :] = 0.3 * torch.randn(weight[..., 3 * n :].shape, generator=generator)
        model.embed.W_E[names] = 0
        model.embed.W_E[names, torch.arange(n)] = 4
        for layer, head in ((0, 1), (1, 2)):
            attention = model.blocks[layer].attn
            for part in (attention.W_Q, attention.W_V, attention.W_O):
                part[head] = 0
            read, written = layer * n + torch.arange(n), (layer + 1) * n + torch.arange(n)
            attention.W_V[head, read, torch.arange(n)] = 1
            attention.W_O[head, torch.arange(n), written] = 6
        model.unembed.W_U.zero_()
        model.unembed.W_U[2 * n + torch.arange(n), names] = 1
    return model


@pytest.fixture(scope="module")
def characters(words: Tokenizer) -> pairs.Pairs:
    return pairs.pairs("character", words, 60, context=64)


@pytest.fixture(scope="module")
def answer(planted: Any, characters: pairs.Pairs) -> circuits.CircuitResult:
    return circuits.circuit(planted, characters, random=40, others=1, donated=3, resamples=3)


def test_a_planted_chain_is_found(answer: circuits.CircuitResult) -> None:
    assert answer.does and answer.nodes == NODES and answer.chosen == CHAIN
    own = answer.evidence[0]
    assert 0.9 <= own["low"] <= own["faithfulness"] <= own["high"] <= 1.1
    frame = answer.to_frame().set_index("node")
    assert (frame.loc[CHAIN, "alone"] > 0.9).all() and (frame.drop(CHAIN)["alone"].abs() < 0.1).all()
    assert (frame.loc[CHAIN, "frequency"] == 1).all() and frame["frequency"].sum() == 2
    assert "2 of 10 nodes (0.1, 1.2) keep" in answer.verdict and "over templates) of the answer" in answer.verdict


def test_random_sets_are_said_with_their_central_95_percent(answer: circuits.CircuitResult) -> None:
    random = answer.evidence[1]
    assert random["low"] <= random["faithfulness"] <= random["high"]
    shown = f"{random['faithfulness']:.2f} in the median (95% of them {random['low']:.2f} to {random['high']:.2f}; p = "
    assert f"random sets of that size {shown}" in answer.verdict


def test_intervals_are_over_templates(planted: Any, characters: pairs.Pairs) -> None:
    """Where one template alone loses half of its answer, the interval over its few pairs and the others' is wide."""
    found = controls.found_on(planted, characters, *halves(60, 0))
    template = torch.as_tensor(found.template)
    whole, nothing = (found.held.margins(torch.full((len(NODES),), value)) for value in (True, False))
    worse = torch.where(template == template[0], (whole + nothing) / 2, whole)
    rows = torch.stack([worse - nothing, whole - nothing], dim=1).numpy()
    pairwise = stats.bootstrap(rows, lambda part: part[:, 0].mean() / part[:, 1].mean(), n=500)
    kept = found.share(worse)
    assert kept.estimate == pytest.approx(pairwise.estimate) and kept.low < pairwise.low and kept.high > pairwise.high
    assert found.effect().method == kept.method == "delete-a-group jackknife"


def test_its_edges_are_the_chain(answer: circuits.CircuitResult) -> None:
    effect = answer.to_frame("edge_effect").set_index("edge")["edge_effect"]
    assert set(effect.index) == {
        *("input → 0.1", "input → 1.2", "input → logits"),
        *("0.1 → 1.2", "0.1 → logits", "1.2 → logits"),
    }
    assert (effect[["input → 0.1", "0.1 → 1.2", "1.2 → logits"]] > 0.9).all()
    assert (effect[["input → 1.2", "input → logits", "0.1 → logits"]].abs() < 0.1).all()
    assert (answer.edge_low <= answer.edge_effect + 1e-6).all() and (
        answer.edge_effect <= answer.edge_high + 1e-6
    ).all()


def test_without_mlps_the_chain_is_the_same(planted: Any, characters: pairs.Pairs, words: Tokenizer) -> None:
    """The same weights as an attention-only model: its nodes are heads alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        config = HookedTransformerConfig.from_dict(planted.cfg.to_dict() | {"attn_only": True, "act_fn": None})
        model: Any = HookedTransformer(config)
    kept = set(model.state_dict())
    model.load_state_dict({name: value for name, value in planted.state_dict().items() if name in kept})
    models.attach_tokenizer(model.eval(), words)
    found = circuits.circuit(model, characters, random=20, others=1, donated=2, resamples=2)
    assert found.nodes == [name for name in NODES if not name.startswith("MLP")] and found.chosen == CHAIN
    assert found.does and found.evidence[0]["low"] >= 0.9 and "2 of 8 nodes (0.1, 1.2) keep" in found.verdict
    patched = circuits.patching(model, characters[torch.arange(12)])
    assert not [name for name in patched.places if name.startswith("MLP")]
    assert {row["kind"] for row in patched.agreement} == {"residual", "attention", "head"}


def test_its_controls_find_nothing_like_it(answer: circuits.CircuitResult) -> None:
    rows = {row["control"].split(" ")[0]: row for row in answer.evidence}
    own, random = answer.evidence[0], answer.evidence[1]
    assert random["percentile"] > 90 and random["p"] < 0.15 and random["faithfulness"] < 0.2
    assert abs(rows["nonsense"]["effect"]) < 0.05 * own["effect"]  # nothing there to explain
    assert rows["permuted"]["effect"] < 0.5 * own["effect"] and 0.2 < rows["permuted"]["accuracy"] < 0.8
    donors = [row for row in answer.evidence if row["control"].startswith("outside")]
    assert len(donors) == 2 and all(row["low"] <= row["faithfulness"] <= row["high"] for row in donors)
    outside = [row["faithfulness"] for row in donors]
    assert outside == pytest.approx([own["faithfulness"]] * 2, abs=0.15)  # what is outside does not matter
    assert rows["Jaccard"]["overlap"] == 1 and rows["Jaccard"]["by_chance"] < 0.5
    tests = {
        row["control"].split(" ")[2].rstrip(":"): row["p"] for row in answer.evidence if "test of" in row["control"]
    }
    assert tests["independence"] > 0.05 and tests["minimality"] > 0.05


def test_the_graph_is_drawn_and_the_answer_saved(answer: circuits.CircuitResult, tmp_path: Any) -> None:
    assert {"0.1", "1.2", "input", "logits"} <= {text.get_text() for text in answer.figure().axes[0].texts}
    again = circuits.CircuitResult.load(answer.save(tmp_path))
    assert again.evidence == answer.evidence and torch.equal(again.members, answer.members)
    assert len(answer.summary()) == len(answer.evidence) and str(answer).startswith(answer.verdict)
    assert answer.to_json()["verdict"] == answer.verdict


def test_a_model_that_does_not_do_the_task_has_no_circuit(words: Tokenizer, characters: pairs.Pairs) -> None:
    model = models.build(Spec(24, 1, 2, d_vocab=words.size, n_ctx=64), tokenizer=words)
    found = circuits.circuit(model, characters)
    assert not found.does and found.chosen == [] and found.evidence == []
    assert "does not do this" in found.verdict and "does not do this" in found.figure().axes[0].get_title(loc="left")
    assert str(found) == found.verdict and found.summary()["control"].tolist() == [found.verdict]


# The search and its parts


def test_all_nodes_are_the_model_and_none_is_nothing_but_the_clean_embedding(planted: Any, characters: Any) -> None:
    sets, n = Circuits.of(planted, characters), len(NODES)
    assert node_names(models.spec_of(planted)) == NODES
    whole = circuits.accuracy(planted, characters)
    both = sets.margins(torch.ones(n).bool()), sets.margins(torch.zeros(n).bool())
    runs = Runs.of(planted, characters)
    torch.testing.assert_close(both[0], runs.margins(runs.clean).detach(), atol=1e-4, rtol=1e-4)
    scale = Scale.of(sets)
    assert (scale.faithfulness(both[1]), scale.faithfulness(both[0])) == pytest.approx((0, 1))
    assert whole.margin == pytest.approx(float(both[0].mean()), rel=0.2)


def test_a_set_is_what_hooks_of_transformer_lens_make_of_it(planted: Any, characters: pairs.Pairs) -> None:
    """The nodes outside replaced by their outputs on the corrupt prompt, by TransformerLens's own hooks."""
    members = torch.tensor([name in ("0.1", "0.3", "MLP 0", "1.2") for name in NODES])
    names = [f"blocks.{i}.{part}" for i in range(2) for part in ("attn.hook_z", "hook_mlp_out")]
    with torch.inference_mode():
        _, other = planted.run_with_cache(characters.corrupt, names_filter=names)

        def replaced(value: torch.Tensor, hook: Any) -> torch.Tensor:
            layer, value = hook.layer(), value.clone()
            inside = members[5 * layer : 5 * layer + 5]
            if "mlp" in hook.name:
                return value if inside[4] else other[hook.name]
            value[:, :, ~inside[:4]] = other[hook.name][:, :, ~inside[:4]]
            return value

        logits = planted.run_with_hooks(characters.clean, fwd_hooks=[(name, replaced) for name in names])
    ends = logits[torch.arange(len(characters)), characters.length - 1]
    expected = ends.gather(1, characters.right[:, None]) - ends.gather(1, characters.wrong[:, None])
    found = Circuits.of(planted, characters).margins(members)
    torch.testing.assert_close(found.float(), expected[:, 0], atol=1e-3, rtol=1e-3)


def test_no_member_of_what_a_search_finds_can_go(planted: Any, characters: pairs.Pairs, loud: Any) -> None:
    """Also of a random model, whose nodes work with and against one another."""
    words_of = models.story_tokenizer_of(planted)
    model = loud(models.build(Spec(24, 2, 4, d_vocab=words_of.size, n_ctx=64), tokenizer=words_of))
    sets = Circuits.of(model, characters)
    order = screen(model, characters).mean(0)
    members, scale = search(sets, order), Scale.of(sets)
    assert scale.faithfulness(sets.margins(members)) >= 0.9
    for node in members.nonzero().flatten().tolist():
        fewer = members.clone()
        fewer[node] = False
        assert scale.faithfulness(sets.margins(fewer)) < 0.9
    assert torch.equal(pruned(sets, members, order, scale), members)


def test_halves_share_nothing_and_edges_add_up(planted: Any, characters: pairs.Pairs) -> None:
    on, held = halves(60, seed=2)
    assert sorted([*on.tolist(), *held.tolist()]) == list(range(60)) and len(on) == 30
    assert not torch.equal(on, halves(60, seed=3)[0])
    runs = Runs.of(planted, characters[torch.arange(6)])
    found = edges_of(runs, torch.tensor([name in CHAIN for name in NODES]))
    assert found.lost.shape == (6, len(found.sources)) and ("MLP 0" not in found.sources)


# Controls and tests, by hand


def test_nonsense_answers_stand_in_no_prompt_and_are_the_same_throughout(planted: Any, characters: Any) -> None:
    made = controls.nonsense(planted, characters, 1)
    exchanged = dict(zip(characters.right.tolist(), made.right.tolist(), strict=True))
    assert all(exchanged[r] == m for r, m in zip(characters.right.tolist(), made.right.tolist(), strict=True))
    assert all(exchanged.get(w, m) == m for w, m in zip(characters.wrong.tolist(), made.wrong.tolist(), strict=True))
    assert len(set(exchanged.values())) == len(exchanged)
    assert not {*made.right.tolist(), *made.wrong.tolist()} & {
        *made.clean.flatten().tolist(),
        *made.corrupt.flatten().tolist(),
    }
    assert not torch.equal(controls.nonsense(planted, characters, 2).right, made.right)


def test_donors_are_other_pairs_of_the_same_template_and_length(characters: pairs.Pairs) -> None:
    order = controls.donor_order(characters, torch.Generator().manual_seed(1))
    assert sorted(order.tolist()) == list(range(len(characters)))
    for i, donor in enumerate(order.tolist()):
        kind = (characters.template == characters.template[i]) & (characters.length == characters.length[i])
        assert kind[donor] and (donor != i or int(kind.sum()) == 1)


def test_overlap_by_hand() -> None:
    sets = [torch.tensor(members).bool() for members in ([1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0])]
    assert controls.jaccard(sets).estimate == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    apart = controls.jaccard([torch.arange(8) < n for n in (8, 8, 1)])  # as a t interval, -0.9 to 1.7
    assert apart.estimate == pytest.approx((1 + 2 / 8) / 3) and (apart.low, apart.high) == (0, 1)
    assert controls.jaccard_by_chance([4, 4], 4, 0) == 1
    assert controls.jaccard_by_chance([1, 1], 4, 0, draws=2000) == pytest.approx(0.25, abs=0.04)


def test_equivalence_by_hand() -> None:
    """Always above the model in four pairs: as far from one half are 0 and 4 of 4, at 0.6."""
    share, p = hypotheses.equivalence(np.full(4, 2.0), np.ones(4))
    assert (share, p) == pytest.approx((1, 0.6**4 + 0.4**4))
    assert hypotheses.equivalence(np.ones(6), np.ones(6)) == (0.5, 1)  # ties


def test_independence_is_rejected_where_it_does_not_hold_and_seldom_elsewhere() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    assert hypotheses.independence(x**2, x) < 0.01  # dependent without correlation
    p = [hypotheses.independence(rng.normal(size=25), rng.normal(size=25), seed) for seed in range(40)]
    assert sum(value < 0.05 for value in p) <= 6 and 0.3 < float(np.mean(p)) < 0.7


def test_minimality_by_hand() -> None:
    found = hypotheses.minimality(np.array([-5.5, 0.5]), np.arange(1.0, 11.0))
    assert found == pytest.approx([binom.cdf(5, 10, 0.9), binom.cdf(0, 10, 0.9)])
    assert np.isnan(hypotheses.minimality(np.ones(2), np.zeros(0))).all()


def test_too_few_controls_are_refused(planted: Any, characters: pairs.Pairs, refused: Any) -> None:
    with refused("needs 20 random sets, 1 other task and 2 resamples or more; got 19, 3 and 8"):
        circuits.circuit(planted, characters, random=19)
