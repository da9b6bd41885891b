"""Models of others: folders in the hub's layout are measured and asked as ours are; untrained ones answer by chance."""

import dataclasses
import math

import pytest
import torch

from tslens import cli, models
from tslens.evaluation.beginnings import continued, ours
from tslens.evaluation.loss import loss
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import Prompt, Suite, suite
from tslens.tokenizer import Tokenizer

KINDS = ("gpt2", "gpt-neo")
TWO = (Prompt("the cat saw a", ("dog",), ("fish",), "cats"), Prompt("it was a", ("red one",), ("blue one",), "colours"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory, made_stories):
    """A GPT-2 and a GPT-Neo of random weights, as `save_pretrained` writes them, each with a tokenizer of its own."""
    import transformers

    torch.manual_seed(0)
    found = {}
    for kind, size in zip(KINDS, (400, 500), strict=True):
        folder, tokenizer = tmp_path_factory.mktemp("hub") / kind, Tokenizer.train(made_stories, size)
        shape = {"vocab_size": tokenizer.size, "bos_token_id": tokenizer.bos, "eos_token_id": tokenizer.bos}
        if kind == "gpt2":
            sizes = {"n_positions": 128, "n_embd": 16, "n_layer": 2, "n_head": 2}
            theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, **sizes))
        else:
            sizes = {"max_position_embeddings": 128, "hidden_size": 16, "num_layers": 2, "num_heads": 2}
            sizes |= {"attention_types": [[["global", "local"], 1]], "window_size": 64}
            theirs = transformers.GPTNeoForCausalLM(transformers.GPTNeoConfig(**shape, **sizes))
        theirs.save_pretrained(folder)
        tokenizer.save(folder / "tokenizer.json")
        found[kind] = folder
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_random_weights_lose_log_v_bits_a_token(folders, made_stories, kind):
    model = models.load(f"hf:{folders[kind]}")
    result = loss(model, [story[:300] for story in made_stories])
    size = models.spec_of(model).d_vocab
    assert result.nats_per_token / math.log(2) == pytest.approx(math.log2(size), abs=0.05)
    per_byte = result.nats_per_token / math.log(2) * int(result.tokens.sum()) / int(result.text_bytes.sum())
    assert result.bits_per_byte == pytest.approx(per_byte)  # so models of both vocabularies compare


def test_random_weights_answer_a_suite_by_chance(folders):
    """By words alone they would favour short endings; the twins take that out."""
    result = evaluate([models.load(f"hf:{folder}") for folder in folders.values()], suite("facts"), written=1)
    assert result.models == list(KINDS) and result.margin.shape == (2, 736)
    for model in range(2):
        for part in result.parts():
            assert 0.5 in result.right(model, part) and abs(result.right(model, part).estimate - 0.5) < 0.1
    assert list(result.differences()["right"]) == ["undecided"] * 2
    assert all(len(row) == 1 for own in result.completions for row in own)


def test_the_same_texts_are_continued_by_models_of_all_kinds(folders, compressor, made_stories):
    named = {kind: models.load(f"hf:{folder}") for kind, folder in folders.items()} | {"compressor": compressor}
    result = continued(named, [type(ours()[0])(story[:20]) for story in made_stories[:3]], max_new_tokens=8)
    assert result.models == [*KINDS, "compressor"] and result.words.shape == (3, 3)


def test_a_compressor_answers_and_writes(compressor):
    short = Suite("short", "?", tuple(q for p in TWO for q in (p, dataclasses.replace(
        p, text=f"no {p.text}", accepted=p.rejected, rejected=p.accepted))))  # fmt: skip
    result = evaluate(compressor, short, written=2)
    assert result.margin.isfinite().all() and len(set(result.log_probability[0].tolist())) == 8
    assert [len(row) for row in result.completions[0]] == [2] * 4


def test_the_commands_take_them(folders, capsys):
    several = [word for folder in folders.values() for word in ("--model", f"hf:{folder}")]
    assert cli.main(["eval", "reasoning", *several, "--completions", "0"]) == 0
    printed = capsys.readouterr().out
    assert "gpt2" in printed and "gpt-neo" in printed and "paired" in printed
