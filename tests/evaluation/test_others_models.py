"""Models of others: folders in the hub's layout are measured and asked as ours are; untrained ones answer by chance."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models.test_llama2c import write_model, write_tokenizer
from tslens import cli, forward, models
from tslens.evaluation.beginnings import continued, ours
from tslens.evaluation.bits import bits_per_byte
from tslens.evaluation.copies import cut_stories, endings_under
from tslens.evaluation.loss import loss
from tslens.evaluation.pairs import PairSet, own_pairs, score
from tslens.evaluation.prompts import evaluate
from tslens.evaluation.suites import Prompt, Suite, suite
from tslens.stories.pairs.phenomena import MinimalPair
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


def near_log_v(bits: float, texts: list[str], tokens: int, model) -> bool:
    """Whether bits per byte of the texts are log2(V) bits for each of their tokens."""
    of_bytes = bits * sum(len(text.encode()) for text in texts)
    return of_bytes / tokens == pytest.approx(math.log2(models.spec_of(model).d_vocab), abs=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_random_weights_lose_log_v_bits_a_token_everywhere(folders, made_stories, kind):
    """Of the good texts of pairs, of the right endings of a suite, and of the true endings of stories."""
    model = models.load(f"hf:{folders[kind]}")
    tokenizer = models.tokenizer_of(model)
    pairs = score({"m": model}, own_pairs(4, names=["agreement", "negation"]))
    tokens = sum(len(row) - 1 for row in tokenizer.encode(pairs.goods))
    row = pairs.summary().iloc[0]
    assert near_log_v(row["bits_per_byte"], pairs.goods, tokens, model)
    assert row["bits_low"] < row["bits_per_byte"] < row["bits_high"]
    asked = suite("facts")
    answer = evaluate({"m": model}, dataclasses.replace(asked, prompts=asked.by_hand))
    rows = [(p.text, f" {ending}") for p in asked.by_hand for ending in p.accepted]
    lengths = [[len(of) for of in tokenizer.encode([text, text + ending])] for text, ending in rows]
    tokens = sum(whole - alone for alone, whole in lengths)
    assert near_log_v(answer.bits_per_byte().estimate, [ending for _, ending in rows], tokens, model)
    said = answer.summary().set_index("score").loc["bits_per_byte of right endings"]
    assert said["value"] == answer.bits_per_byte().estimate and said["low"] < said["value"] < said["high"]
    cuts = cut_stories([story[:180] for story in made_stories[:6]], (0.5,))
    found = np.array(endings_under(model, cuts))
    read = [i for i in range(6) if not np.isnan(found[i])]
    lengths = [len(b) - len(a) for a, b in (tokenizer.encode([c.prompt, c.prompt + c.ending]) for c in cuts)]
    sizes = np.array([len(cut.ending.encode()) for cut in cuts])
    bits = bits_per_byte(found, sizes, np.arange(6)).estimate
    assert len(read) >= 2
    assert near_log_v(bits, [cuts[i].ending for i in read], sum(lengths[i] for i in read), model)


def test_bits_per_byte_of_a_llama2c_file(tmp_path):
    write_model(tmp_path / "m.bin", seq_len=32)
    write_tokenizer(tmp_path / "tok300.bin")
    bits_are_those_of_the_whole_forward(models.load(f"llama2c:{tmp_path / 'm.bin'}"))


def test_bits_per_byte_of_a_compressor(compressor):
    bits_are_those_of_the_whole_forward(compressor)


def bits_are_those_of_the_whole_forward(model):
    """Of the good texts of pairs and of the right endings of a suite, text by text."""
    tokenizer = models.tokenizer_of(model)

    def nats(text: str) -> float:
        tokens = torch.tensor(tokenizer.encode([text]))
        with torch.no_grad():
            logp = forward.logits(model, tokens)[0, :-1].double().log_softmax(-1)
        return -float(logp.gather(1, tokens[0, 1:, None]).sum())

    texts = ["the and a bat", "a hat and the", "the bat had a hat", "then a band"]
    pairs = PairSet("p", tuple(MinimalPair(text, text[::-1], "x", i) for i, text in enumerate(texts)))
    found = score({"m": model}, pairs).summary().iloc[0]
    per_byte = sum(map(nats, texts)) / math.log(2) / sum(map(len, texts))
    assert found["bits_per_byte"] == pytest.approx(per_byte, rel=1e-4)
    asked = Suite("short", "?", TWO)
    rows = [(prompt.text, f" {ending}") for prompt in TWO for ending in prompt.accepted]
    per_byte = sum(nats(a + b) - nats(a) for a, b in rows) / math.log(2) / sum(len(b) for _, b in rows)
    assert evaluate({"m": model}, asked).bits_per_byte().estimate == pytest.approx(per_byte, rel=1e-4)


def test_an_ending_longer_than_the_context_is_not_read(folders, made_stories):
    model = models.load(f"hf:{folders['gpt2']}")
    (cut,) = cut_stories([made_stories[0][:200]], (0.5,))
    found = endings_under(model, [cut, cut._replace(ending=""), cut._replace(ending=" the dog ran" * 100)])
    assert np.isnan(found).tolist() == [False, True, True]
    none = bits_per_byte(np.array([np.nan]), np.array([3]), np.array([0]))
    assert np.isnan([none.estimate, none.low]).all()


def test_bits_per_byte_by_hand():
    found = bits_per_byte(np.log([0.25, 0.5, 0.125]), np.array([1, 1, 1]), np.array([0, 0, 1]))
    assert found.estimate == pytest.approx(6 / 3) and found.low < 2 < found.high


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


def run(capsys, *arguments: str):
    """What a command prints as JSON."""
    assert cli.main(["eval", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def tales(tmp_path_factory, made_stories) -> str:
    """A file of 24 short stories, which fit the folders' contexts."""
    path = tmp_path_factory.mktemp("tales") / "tales.jsonl"
    ended = [" ".join(text.split()[:24]).rstrip(".,") + "." for text in made_stories]  # others are not read
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ended))
    return str(path)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_and_card_of_a_folder(folders, tales, in_tmp, capsys, kind):
    """The 5-gram stands beside both; bits per byte of the card are those of the named stories."""
    beside = ["--model", f"hf:{folders[kind]}", "--n-gram", tales]
    (in_tmp / "p.txt").write_text("The dog was big.\nThe dog were big.\nThe cat is old.\nThe cat are old.\n")
    rows = run(capsys, "pairs", *beside, "--pairs", "p.txt")["rows"]
    assert [row["scorer"] for row in rows] == [kind, f"5-gram of {tales} (other data)"]
    assert rows[0]["bits_per_byte"] > 1 and rows[1]["bits_per_byte"] is None
    card = run(capsys, "card", *beside, "--stories", tales, "--limit", "0", "--pairs", "2", "--twins", "1")
    assert card["n_grams"] == [rows[1]["scorer"]] and card["models"][-1:] == card["n_grams"]
    stories = [" ".join(json.loads(line)["text"].split()) for line in Path(tales).read_text().splitlines()]
    expected = loss(models.load(f"hf:{folders[kind]}"), stories).bits_per_byte
    of = {row["model"]: row["bits_per_byte"] for row in card["rows"]}
    assert of[kind] == pytest.approx(expected, rel=1e-5) and of[card["n_grams"][0]] is None
    assert of[card["twins"][0]] == pytest.approx(expected, rel=0.1) and "bits per byte of " in card["corpus"]
    alone = run(capsys, "card", *beside[:2], "--n-gram", "none", "--limit", "0", "--pairs", "2", "--twins", "0")
    assert alone["n_grams"] == [] and all(row["bits_per_byte"] is None for row in alone["rows"])


@pytest.mark.parametrize("kind", KINDS)
def test_write_and_copies_of_a_folder(folders, tales, in_tmp, capsys, kind):
    (in_tmp / "prompts.txt").write_text("The dog\nA cat\n")
    name = ["--model", f"hf:{folders[kind]}"]
    sizes = ["--n", "1", "--beams", "0", "--limit-tokens", "5"]
    run(capsys, "write", *name, "--prompts", "prompts.txt", *sizes, "--out", "written")
    lines = [json.loads(line) for line in Path("written/completions.jsonl").read_text().splitlines()]
    assert Path("written/side-by-side.csv").read_text().startswith("prompt,")
    assert [(line["model"], line["prompt"]) for line in lines] == [(kind, "The dog"), (kind, "A cat")]
    how = ["--stories", tales, "--train", tales, "--limit", "4", "--tokens", "5", "--cut", "0.5", "--twins", "1"]
    rows = {row["measure"]: row for row in run(capsys, "copies", *name, *how)["rows"]}
    bits = rows["bits_per_byte of the true ending"]
    assert bits["low"] < bits["written"] < bits["high"] and bits["true_endings"] is None
    assert bits["permuted twin 0"] == pytest.approx(bits["written"], rel=0.1)  # both are untrained


@pytest.mark.parametrize("kind", KINDS)
def test_instruct_of_a_folder(folders, in_tmp, capsys, kind):
    told = [f"Words: {word}, big, ran\nStory: The {word} ran home." for word in ("dog", "cat", "cow")]
    (in_tmp / "told.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in told))
    asked = ["--stories", "told.jsonl", "--samples", "1", "--limit-tokens", "6"]
    record = run(capsys, "instruct", "--model", f"hf:{folders[kind]}", *asked)
    assert record["models"] == [kind] and len(record["instructions"]) == 3
    words = [row for row in record["rows"] if row["what"] == "score"]
    assert words and all(0 <= row["value"] < 0.5 for row in words)  # noise holds no words that were asked for
