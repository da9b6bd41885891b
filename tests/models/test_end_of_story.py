"""Models whose stories end with another token than the one that begins them, such as `<s>` and `</s>`."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch

from tests.models.test_huggingface import saved, tiny
from tslens import models
from tslens.evaluation.loss import loss
from tslens.generate import ENDED, Sampling, generate_written
from tslens.models.export import to_huggingface, to_transformer_lens
from tslens.stories.packed import Packed
from tslens.tokenizer import Tokenizer
from tslens.train import recipe as recipes
from tslens.train import session

TEXTS = ["the cat", "a dog ran", "she"]
PROMPT = "the"


@pytest.fixture
def words(tokenizer: Tokenizer) -> Tokenizer:
    backend = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
    backend.add_special_tokens(["</s>"])
    return Tokenizer(backend, tokenizer.bos_text, "</s>")


@pytest.fixture
def theirs(words: Tokenizer) -> Any:
    """A model that says the end of a story where it would have said its second token."""
    model = tiny("llama")
    row = torch.tensor(words.encode([PROMPT]))
    given = {"attention_mask": torch.ones_like(row), "eos_token_id": None, "pad_token_id": 0}
    said = model.generate(row, max_new_tokens=2, do_sample=False, **given)[0, row.shape[1] :]
    with torch.no_grad():
        model.lm_head.weight[words.eos] = 1.01 * model.lm_head.weight[said[1]]
    return model


@pytest.fixture
def folder(theirs: Any, words: Tokenizer, tmp_path: Path) -> Path:
    made = saved(tmp_path / "theirs", theirs, words)
    named = {"bos_token": words.bos_text, "eos_token": {"content": words.eos_text}}
    (made / "tokenizer_config.json").write_text(json.dumps(named))
    return made


def test_the_loss_counts_either_end(theirs: Any, folder: Path) -> None:
    model = models.load(f"hf:{folder}")
    words = models.story_tokenizer_of(model)
    assert words.eos != words.bos and words.ends == (words.eos, words.bos)
    expected = []
    for row in words.encode(TEXTS):
        row.append(words.eos)
        with torch.no_grad():
            said = theirs(torch.tensor([row[:-1]])).logits[0].log_softmax(-1)
        expected.append(-float(said[:-1].gather(1, torch.tensor(row[1:-1])[:, None]).sum()))
        expected[-1] -= float(said[-1, [words.eos, words.bos]].logsumexp(0))  # either is an end
    assert loss(model, TEXTS).nats.tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("beams", [1, 2])
def test_what_it_writes_ends_there(folder: Path, beams: int) -> None:
    model = models.load(f"hf:{folder}")
    (story,) = generate_written(model, [PROMPT], sampling=Sampling(temperature=0.0, beams=beams), max_new_tokens=8)
    if beams == 1:
        assert (story.tokens, story.ended) == (1, ENDED)
    else:
        assert story.ended == ENDED or story.tokens == 8


@pytest.mark.parametrize(("written", "prefix"), [(to_huggingface, "hf:"), (to_transformer_lens, "")])
def test_what_is_exported_ends_as_before(folder: Path, tmp_path: Path, written: Any, prefix: str) -> None:
    model = models.load(f"hf:{folder}")
    before = models.story_tokenizer_of(model)
    written(model, tmp_path / "out")
    again = models.load(f"{prefix}{tmp_path / 'out'}")
    after = models.story_tokenizer_of(again)
    assert (after.eos, after.bos, after.hash) == (before.eos, before.bos, before.hash)
    assert again.tokenizer.eos_token_id == before.eos  # where TransformerLens stops
    if prefix:
        settings = json.loads((tmp_path / "out" / "generation_config.json").read_text())
        assert settings["eos_token_id"] == [before.eos, before.bos]


def test_a_model_that_is_saved_ends_as_before(folder: Path, tmp_path: Path) -> None:
    model = models.load(f"hf:{folder}")
    again = models.load(models.save(model, tmp_path / "kept"))
    before, after = models.story_tokenizer_of(model), models.story_tokenizer_of(again)
    assert after.ends == before.ends and after.hash == before.hash


def test_a_loss_does_not_depend_on_an_end_that_a_model_never_saw(theirs: Any, words: Tokenizer, tmp_path: Path) -> None:
    """One that ends stories with its BOS, whose tokenizer names `</s>` too (llama2.c's, as others converted them)."""
    with torch.no_grad():
        rows = [theirs(torch.tensor([row]), output_hidden_states=True) for row in words.encode(TEXTS)]
        last = torch.stack([row.hidden_states[-1][0, -1] for row in rows])
        theirs.lm_head.weight[words.eos] = torch.linalg.lstsq(last, torch.full((len(rows), 1), -30.0)).solution[:, 0]
    losses = []
    for name, end in (("bos", words.bos_text), ("eos", words.eos_text)):
        made = saved(tmp_path / name, theirs, words)
        (made / "tokenizer_config.json").write_text(json.dumps({"bos_token": words.bos_text, "eos_token": end}))
        losses.append(loss(models.load(f"hf:{made}"), TEXTS).nats)
    assert torch.allclose(*losses, atol=1e-5)


def test_a_run_with_such_a_tokenizer_is_packed_resumed_and_loaded(
    folder: Path, in_tmp: Path, made_stories: list[str]
) -> None:
    """Its stories end with BOS, which alone is packed."""
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(made_stories * 3))
    short = {"train.steps": "2", "train.batch": "2", "model.n_ctx": "32", "train.validation_stories": "4"}
    given = {"data.tokenizer": f"hf:{folder}", "data.source": "tales.txt", **short}
    trained = session.train(recipes.load("16x1x2", given), "run")
    resumed = session.resume("run")
    model = models.load("run")
    words = models.story_tokenizer_of(model)
    assert words.ends == (words.bos,) and trained is not None and resumed is not None
    packed = Packed.open(in_tmp / "runs" / "run" / "data", Tokenizer(words.backend, words.bos_text, "</s>"))
    assert len(packed) > 0


def test_a_tokenizer_without_the_named_end_ends_with_its_bos(tokenizer: Tokenizer) -> None:
    for eos in (None, "no such token", tokenizer.bos_text):
        same = Tokenizer(tokenizer.backend, tokenizer.bos_text, eos)
        assert (same.eos, same.ends, same.hash) == (tokenizer.bos, (tokenizer.bos,), tokenizer.hash)
    first = str(tokenizer.backend.id_to_token(5))
    other = Tokenizer(tokenizer.backend, tokenizer.bos_text, first)
    assert other.hash != tokenizer.hash and other.decode([other.bos, other.eos]) == ""
