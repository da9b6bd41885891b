"""Generation: cached equals uncached, ragged equals alone, seeds, filters by hand, beams against exhaustion."""

import itertools

import pytest
import torch

from tslens import forward
from tslens.generate import ENDED, Sampling, generate, generate_ids, generate_written, sample_token
from tslens.models import Spec, build, load, spec_of
from tslens.tokenizer import Tokenizer

GREEDY = Sampling(temperature=0.0)
SPECS = [
    Spec(32, 2, 4, d_vocab=23, n_ctx=24, tied=False),
    Spec(32, 3, 4, d_vocab=23, n_ctx=24, window=4, local_layers=(1,), scaled=False),
    Spec(32, 2, 4, d_vocab=23, n_ctx=24, style="llama", n_key_value_heads=2, rotary_adjacent=True, tied=False),
]


def random_model(spec: Spec, seed: int = 0):
    """A model whose next token is far from uniform, so that greedy ties cannot hide a mistake."""
    model = build(spec, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model


def uncached(model, prompt: list[int], steps: int, stop: int) -> list[int]:
    row = list(prompt)
    with torch.no_grad():
        while len(row) < len(prompt) + steps:
            token = int(forward.logits(model, torch.tensor([row]))[0, -1].argmax())
            if token == stop:
                break
            row.append(token)
    return row[len(prompt) :]


@pytest.mark.parametrize("spec", SPECS, ids=["gpt2", "windowed", "llama"])
def test_greedy_with_cache_and_ragged_prompts_equals_the_uncached_forward(spec):
    model = random_model(spec)
    prompts = [[1], [1, 5, 9, 2, 7, 3], [1, 4, 4]]
    expected = [uncached(model, p, 15, stop=0) for p in prompts]
    assert generate_ids(model, prompts, max_new_tokens=15, sampling=GREEDY, stop=0) == expected
    assert generate_ids(model, prompts[1:2], max_new_tokens=15, sampling=GREEDY, stop=0) == expected[1:2]
    assert any(len(set(e)) > 3 for e in expected)


@pytest.mark.parametrize("spec", SPECS, ids=["gpt2", "windowed", "llama"])
def test_greedy_in_bf16_writes_what_the_uncached_forward_holds_likeliest_but_for_rounding(spec):
    model = random_model(spec)
    prompts = [[1], [1, 5, 9, 2, 7, 3], [1, 4, 4]]
    for prompt, new in zip(
        prompts,
        generate_ids(model, prompts, max_new_tokens=15, sampling=GREEDY, stop=-1, precision="bfloat16"),
        strict=True,
    ):
        with torch.no_grad():
            said = forward.logits(model, torch.tensor([prompt + new]), dtype=torch.bfloat16)[0, len(prompt) - 1 : -1]
        behind = said.amax(-1) - said.gather(1, torch.tensor(new)[:, None])[:, 0]
        assert len(new) == 15 and behind.max() < 0.02 * said.abs().max()


def test_a_row_stops_at_the_end_of_its_story_and_the_others_go_on():
    model = random_model(SPECS[0])
    free = uncached(model, [1, 2], 15, stop=-1)
    at = next(i for i in range(1, 15) if free[i] not in free[:i])
    stop = free[at]
    cut, other = generate_ids(model, [[1, 2], [1, 3]], max_new_tokens=15, sampling=GREEDY, stop=stop)
    assert cut == free[:at]
    assert len(other) > 0 and other == uncached(model, [1, 3], 15, stop=stop)


def test_a_seed_says_what_a_row_draws_whatever_the_batch():
    model = random_model(SPECS[0])
    sampling = Sampling(temperature=1.5, seed=3)
    both = generate_ids(model, [[1], [1]], max_new_tokens=12, sampling=sampling, stop=-1)
    assert both == generate_ids(model, [[1], [1]], max_new_tokens=12, sampling=sampling, stop=-1)
    assert both[0] != both[1]
    assert generate_ids(model, [[1]], max_new_tokens=12, sampling=sampling, stop=-1) == both[:1]
    assert generate_ids(model, [[1]], max_new_tokens=12, sampling=Sampling(1.5, seed=4), stop=-1) != both[:1]


@pytest.mark.parametrize("spec", SPECS, ids=["gpt2", "windowed", "llama"])
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(1.5, seed=3), Sampling(0.0, beams=3)], ids=["0", "1.5", "beams"])
@pytest.mark.parametrize("stop", [-1, 4])
def test_a_long_neighbour_takes_nothing_from_a_short_row(spec, sampling, stop):
    """A row ends where its own context is full, and says until there what it says alone."""
    model, short, long = random_model(spec), [1, 2], [1, *range(2, 23)]
    (alone,) = generate_ids(model, [short], sampling=sampling, stop=stop)
    beside = generate_ids(model, [short, long], sampling=sampling, stop=stop)
    assert beside[0] == alone
    if stop == -1:
        assert [len(row) for row in beside] == [24 - 2, 24 - 22]


def test_the_largest_seed_draws():
    assert len(generate_ids(random_model(SPECS[0]), [[1]], sampling=Sampling(seed=2**32 - 1), stop=-1)[0]) == 23


def test_beams_find_one_story_for_a_prompt():
    tokenizer = Tokenizer.train(["the cat sat on the mat"] * 3, 280)
    model = build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=8), tokenizer=tokenizer)
    beams = Sampling(temperature=0.0, beams=2)
    assert len(generate(model, ["the", "cat"], max_new_tokens=3, sampling=beams)) == 2
    with pytest.raises(ValueError, match="Beam search finds one story for a prompt, not 4: ask for n=1, or sample"):
        generate(model, "the", n=4, sampling=beams)
    with pytest.raises(ValueError, match="n is 0"):
        generate(model, "the", n=0)


def test_top_k_and_top_p_keep_what_they_should():
    scores = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    chances = torch.linspace(0, 0.999, 200)

    def reach(**options) -> set[int]:
        return {int(sample_token(scores, c[None], Sampling(**options))) for c in chances}

    assert reach() == {0, 1, 2, 3}
    assert reach(top_k=2) == {0, 1}
    assert reach(top_p=0.5) == {0}
    assert reach(top_p=0.51) == {0, 1}
    assert reach(top_p=0.81) == {0, 1, 2}
    assert reach(temperature=0.01) == {0}
    assert reach(top_p=1e-320) == {0}  # 0 in single precision


def test_draws_follow_the_probabilities():
    scores = torch.tensor([0.5, 0.3, 0.15, 0.05]).log().expand(20_000, 4)
    uniform = torch.rand(20_000, generator=torch.Generator().manual_seed(0))
    share = torch.bincount(sample_token(scores, uniform, Sampling()), minlength=4) / 20_000
    assert torch.allclose(share, torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=0.012)


def test_wide_beams_find_the_likeliest_of_all_continuations():
    model = random_model(Spec(16, 1, 2, d_vocab=5, n_ctx=8), seed=2)
    steps, score = 3, {}
    with torch.no_grad():
        for tail in itertools.product(range(5), repeat=steps):
            logp = forward.logits(model, torch.tensor([[1, *tail]])).log_softmax(-1)
            score[tail] = sum(float(logp[0, i, w]) for i, w in enumerate(tail))
    wide = Sampling(temperature=0.0, beams=25)
    assert tuple(generate_ids(model, [[1]], max_new_tokens=steps, sampling=wide, stop=-1)[0]) == max(
        score, key=score.get
    )


def test_one_beam_more_is_never_less_likely_than_greedy():
    model = random_model(SPECS[0])

    def score(tail: list[int]) -> float:
        with torch.no_grad():
            logp = forward.logits(model, torch.tensor([[1, *tail]])).log_softmax(-1)
        return sum(float(logp[0, i, w]) for i, w in enumerate(tail))

    greedy = generate_ids(model, [[1]], max_new_tokens=6, sampling=GREEDY, stop=-1)[0]
    beams = generate_ids(model, [[1]], max_new_tokens=6, sampling=Sampling(temperature=0.0, beams=8), stop=-1)[0]
    assert score(beams) >= score(greedy) - 1e-5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: generate_ids(m, [[]], stop=0), "empty prompt"),
        (lambda m: generate_ids(m, [[1] * 24], stop=0), "fills this model's context of 24"),
        (lambda m: generate_ids(m, [[1]], max_new_tokens=0, stop=0), "at least 1"),
        (lambda m: Sampling(temperature=-1.0), "it must be 0 .greedy., or finite"),
        (
            lambda m: Sampling(temperature=float("nan")),
            "temperature is nan; it must be 0 .greedy., or finite",
        ),
        (lambda m: Sampling(temperature=1e-40), "or finite and 1e-06 or more"),
        (lambda m: Sampling(beams=1000, temperature=0), "beams is 1000; it must be from 1 to 256"),
        (lambda m: Sampling(temperature=float("inf")), "temperature is inf"),
        (lambda m: Sampling(seed=10**20), "seed is 1(0{20}); it must be a whole number from 0 to 4294967295"),
        (lambda m: Sampling(seed=-1), "seed is -1"),
        (lambda m: Sampling(top_p=1.5), "top_p"),
        (lambda m: Sampling(top_k=0), "top_k"),
        (lambda m: Sampling(beams=3), "Beam search"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call(build(SPECS[0]))


def test_a_story_says_why_it_ended() -> None:
    model = load("stories2M")
    begun = ["Tom had a ball.", "One day"]
    short = generate_written(model, begun, n=2, max_new_tokens=3, sampling=Sampling(seed=2))
    assert [one.prompt for one in short] == [begun[0]] * 2 + [begun[1]] * 2
    assert all(one.text.startswith(one.prompt) for one in short)
    assert [one.text for one in short] == generate(model, begun, n=2, max_new_tokens=3, sampling=Sampling(seed=2))
    assert {one.ended for one in short if one.tokens == 3} == {"most new tokens"}
    whole = generate_written(model, "", n=8, max_new_tokens=1000, sampling=Sampling(temperature=0.6))
    n_ctx = spec_of(model).n_ctx
    assert {one.ended for one in whole} <= {"end of story", "full context"} and any(one.ended == ENDED for one in whole)
    assert all(one.tokens == n_ctx - 1 for one in whole if one.ended == "full context")
