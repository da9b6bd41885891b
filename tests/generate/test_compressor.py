"""What a compressor writes: with its cache as without, from prompts of any length."""

from typing import Any

import pytest
import torch

from tslens.generate import Sampling, generate, generate_ids

NEVER = -1


@pytest.fixture
def rows(made_words: Any) -> torch.Tensor:
    """Three rows of tokens, [3, 32]."""
    return torch.randint(made_words.size, (3, 32), generator=torch.Generator().manual_seed(1))


def uncached(compressor: Any, prompt: list[int], steps: int) -> list[int]:
    """Greedy, the whole row anew for each token."""
    row = list(prompt)
    for _ in range(steps):
        row.append(int(compressor(torch.tensor([row]))[0, -1].argmax()))
    return row[len(prompt) :]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_greedy_is_the_uncached_forward(compressor: Any, rows: torch.Tensor, length: int) -> None:
    prompt = rows[0, :length].tolist()
    made = generate_ids(compressor, [prompt], max_new_tokens=11, sampling=Sampling(temperature=0), stop=NEVER)
    with torch.no_grad():
        assert made == [uncached(compressor, prompt, 11)]


@pytest.mark.thorough
def test_rows_of_odd_and_even_lengths_do_not_mind_one_another(compressor: Any, rows: torch.Tensor) -> None:
    prompts = [rows[0, :n].tolist() for n in (1, 6, 2, 3, 9, 8)]
    greedy = Sampling(temperature=0)
    with torch.no_grad():
        expected = [uncached(compressor, prompt, 9) for prompt in prompts]
    assert generate_ids(compressor, prompts, max_new_tokens=9, sampling=greedy, stop=NEVER) == expected
    drawn = Sampling(temperature=1.5, top_k=40, seed=5)
    together = generate_ids(compressor, prompts, max_new_tokens=9, sampling=drawn, stop=NEVER)
    longer = generate_ids(
        compressor, [*prompts[:4], rows[1, :20].tolist()], max_new_tokens=9, sampling=drawn, stop=NEVER
    )
    assert together[:4] == longer[:4] and together != expected


def test_beam_search_finds_no_less_likely_a_row_than_greedy(compressor: Any, rows: torch.Tensor) -> None:
    def log_probability(row: list[int]) -> float:
        tokens = torch.tensor([prompt + row])
        scores = compressor(tokens[:, :-1]).log_softmax(-1).gather(2, tokens[:, 1:, None])
        return float(scores[0, len(prompt) - 1 :].sum())

    prompt = rows[2, :4].tolist()
    with torch.no_grad():
        greedy, beams = (
            log_probability(
                generate_ids(
                    compressor, [prompt], max_new_tokens=4, sampling=Sampling(temperature=0, beams=b), stop=NEVER
                )[0]
            )
            for b in (1, 60)
        )
    assert beams >= greedy - 1e-4


def test_the_context_is_the_limit(compressor: Any, rows: torch.Tensor) -> None:
    for length in (30, 31):
        made = generate_ids(compressor, [rows[0, :length].tolist()], sampling=Sampling(temperature=0), stop=NEVER)
        assert len(made[0]) == 32 - length
    with pytest.raises(ValueError, match="fills this model's context of 32"):
        generate_ids(compressor, [rows[0].tolist()])


def test_stories_from_nothing_and_from_a_beginning(compressor: Any) -> None:
    made = generate(compressor, ["", "Once upon a time", "The cat"], n=2, max_new_tokens=6)
    assert len(made) == 6 and all(text.startswith("Once upon a time") for text in made[2:4])
    assert made == generate(compressor, ["", "Once upon a time", "The cat"], n=2, max_new_tokens=6)
