"""Models whose tokenizers name no token that begins a story: which one is put first, and that it is said."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import decoders, pre_tokenizers, processors

from tslens import models, report
from tslens.analysis import heads, lens, neurons
from tslens.backends import is_space
from tslens.evaluation.loss import loss
from tslens.generate import Sampling, generate_written
from tslens.models.export import to_huggingface, to_llama2c, to_transformer_lens
from tslens.models.fast_tokenizer import from_transformers, to_transformers
from tslens.scan import scan
from tslens.train.budget import named_tokenizer
from tslens.train.settings import DataSettings

pytestmark = pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")

STORIES = ["The cat sat.\nIt was big.", "A dog ran to the cat.\n\nThe cat hid.", "Tim had a red ball."] * 8
LETTERS = sorted({letter for story in STORIES for letter in story})
CLOSED = ["cat", "dog", "ran", "sat"]


def of_letters(letters: list[str], unknown: str | None = None) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({a: i for i, a in enumerate(letters)}, unk_token=unknown))
    made.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    return made


def of_words(words: list[str], **more: Any) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, **more))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


def of_bytes() -> tokenizers.Tokenizer:
    """A byte-level BPE without a special token."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    every = pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, initial_alphabet=every, show_progress=False)
    made.train_from_iterator(STORIES, trainer)
    return made


def of_added(backend: tokenizers.Tokenizer, *special: str) -> tokenizers.Tokenizer:
    backend.add_special_tokens(list(special))
    return backend


KINDS: dict[str, tuple[Callable[[], tokenizers.Tokenizer], str, list[str]]] = {
    "bytes": (of_bytes, "Ċ", STORIES),
    "letters": (lambda: of_letters(LETTERS), "\n", STORIES),
    "letters, one unknown": (lambda: of_letters(["?", *LETTERS], "?"), "\n", STORIES),
    "letters of one line": (lambda: of_letters([a for a in LETTERS if a != "\n"]), " ", ["A red cat", "The dog ran"]),
    "a separator": (lambda: of_words(["[PAD]", "[UNK]", "[SEP]", *CLOSED], unk_token="[UNK]"), "[SEP]", STORIES),
    "another special token": (lambda: of_added(of_bytes(), "<|tale|>"), "<|tale|>", STORIES),
    "unknown words": (lambda: of_words(["[UNK]", *CLOSED], unk_token="[UNK]"), "[UNK]", STORIES),
    "words": (lambda: of_words(["<none>", *CLOSED]), "<none>", ["cat sat ran", "dog ran sat"]),
    "a sign of templates": (lambda: of_words(["$a:b", *CLOSED]), "$a:b", ["cat sat ran", "dog ran sat"]),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[tokenizers.Tokenizer, str, list[str]]:
    made, bos, stories = KINDS[request.param]
    return made(), bos, stories


def theirs(backend: tokenizers.Tokenizer, **special: Any) -> Any:
    """As a person has it."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=backend, name_or_path="own", **special)


def model_with(backend: tokenizers.Tokenizer, seed: int = 0, **special: Any) -> Any:
    """A HookedTransformer that TransformerLens gave the tokenizer."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    shape = {
        "n_layers": 2,
        "d_model": 24,
        "n_heads": 2,
        "d_head": 12,
        "n_ctx": 32,
        "device": "cpu",
        "act_fn": "gelu_new",
    }
    size = backend.get_vocab_size(with_added_tokens=True)
    model = HookedTransformer(
        HookedTransformerConfig(d_vocab=size, seed=seed, **shape), tokenizer=theirs(backend, **special)
    )
    torch.manual_seed(seed)
    for name, weight in model.named_parameters():
        if "b_" not in name:
            torch.nn.init.normal_(weight, std=0.2)
    return model


def test_the_token_is_chosen_and_said_once(kind: Any, capsys: pytest.CaptureFixture[str]) -> None:
    backend, bos, stories = kind
    model = model_with(backend)
    found = models.story_tokenizer_of(model)
    assert found.bos_text == bos and models.tokenizer_of(model) is found
    said = capsys.readouterr().err.splitlines()
    line = next(line for line in said if "names no token that begins a story" in line)
    assert f"{bos!r} is put before each, and {'none ends one' if is_space(bos) else 'ends one'}" in line
    assert "Name another as its bos_token" in line and sum("names no token" in line for line in said) == 1
    rows = found.encode(stories)
    plain = [encoding.ids for encoding in backend.encode_batch(stories, add_special_tokens=False)]
    assert rows == [[backend.token_to_id(bos), *ids] for ids in plain]
    assert found.ends == (() if is_space(bos) else (found.bos,))


def test_space_is_text_within_a_story() -> None:
    found = from_transformers(theirs(of_bytes()))
    [row] = found.encode(STORIES[1:2])
    assert found.decode(row) == STORIES[1] and row.count(found.bos) == 3
    assert found.pieces(row)[0] == "\n" and "".join(found.pieces(row[1:])) == STORIES[1]
    ended = from_transformers(theirs(of_bytes(), eos_token="Ċ"))
    assert ended.ends == (ended.bos,)  # it was named


def test_a_named_one_counts(capsys: pytest.CaptureFixture[str]) -> None:
    backend = of_words(["[UNK]", "a:b", *CLOSED], unk_token="[UNK]")
    found = from_transformers(theirs(backend, bos_token="a:b"))
    assert found.bos_text == "a:b" and "names no token" not in capsys.readouterr().err
    assert to_transformers(found)("cat sat")["input_ids"] == found.encode(["cat sat"])[0]


def test_the_loss_is_that_of_the_text_after_it(kind: Any) -> None:
    backend, _, stories = kind
    model = model_with(backend)
    words, found = models.story_tokenizer_of(model), loss(model, stories)
    for i, (story, row) in enumerate(zip(stories, words.encode(stories), strict=True)):
        whole = len(row) <= model.cfg.n_ctx
        wanted = [*row, words.eos][: model.cfg.n_ctx + 1]
        with torch.no_grad():
            said = model(torch.tensor([wanted[:-1]]), prepend_bos=False)[0].log_softmax(-1)
        nats = -said[torch.arange(len(wanted) - 1), torch.tensor(wanted[1:])].sum()
        assert found.nats[i] == pytest.approx(float(nats), rel=1e-4)
        read = len(story) if whole else words.offsets(story)[len(wanted) - 1][1]
        assert int(found.text_bytes[i]) == read


def test_a_story_cut_at_a_token_that_ends_others_is_not_whole() -> None:
    model = model_with(of_letters(LETTERS))
    cut = "The cat sat. The cat sat. It ran" + "\n" + "The cat sat."
    assert cut[31:33] == "n\n"  # the context holds 32 tokens, and predicts one more
    cut = cut.replace(". It", " It")
    assert cut[31] == "\n"
    found = loss(model, [cut])
    assert int(found.text_bytes[0]) == 32 and found.cut == 1
    cut = "cat dog " * 15 + "cat hello dog ran"
    found = loss(model_with(of_words(["[UNK]", *CLOSED], unk_token="[UNK]")), [cut])
    assert int(found.text_bytes[0]) == len(cut) - len(" dog ran") and found.cut == 1 and found.unknown == 1


def test_everything_is_read_and_written(kind: Any) -> None:
    backend, _, stories = kind
    model = model_with(backend)
    roles, depth, profiles = scan(model, stories, [heads.Roles(), lens.ByDepth(), neurons.Profiles()])
    assert roles.role_code.shape == (2, 2) and math.isfinite(float(depth.kl.sum())) and profiles.label.shape == (2, 96)
    [written] = generate_written(model, [stories[0][:7]], max_new_tokens=9, sampling=Sampling(temperature=0.0))
    words = models.story_tokenizer_of(model)
    row = words.encode([stories[0][:7]])[0]
    for _ in range(9):
        with torch.no_grad():
            new = int(model(torch.tensor([row]), prepend_bos=False)[0, -1].argmax())
        if new in words.ends:
            break
        row.append(new)
    assert written.text == words.decode(row)


def test_a_page_of_it(tmp_path: Path) -> None:
    data = report.compute(model_with(of_bytes()), STORIES, twins=0, causes=False)
    assert report.write(report.draw(data), tmp_path / "page.html").is_file() and data.live is not None


def test_it_is_kept_and_exported(kind: Any, tmp_path: Path, refused: Any) -> None:
    backend, _, stories = kind
    model = model_with(backend)
    if '"unk_token":"<unk>"' in backend.to_str():  # a file must hold a token for what its vocabulary lacks
        with refused("cannot encode every text"):
            models.load(str(to_transformer_lens(model, tmp_path / "kept")))
        return
    words = models.story_tokenizer_of(model)
    rows, tokens = words.encode(stories), torch.tensor(words.encode(stories[:1]))[:, :32]
    with torch.no_grad():
        expected = model(tokens, prepend_bos=False)
    kept = models.load(str(to_transformer_lens(model, tmp_path / "kept")))
    hf = models.load(f"hf:{to_huggingface(model, tmp_path / 'hf')}")
    for again in (kept, hf, models.load(str(models.save(hf, tmp_path / "saved")))):
        own = models.story_tokenizer_of(again)
        assert own.encode(stories) == rows and own.ends == words.ends
        with torch.no_grad():
            assert torch.allclose(again(tokens, prepend_bos=False), expected, atol=1e-4)
    for made in (models.story_tokenizer_of(hf), words):
        models.attach_tokenizer(model, made)
        assert torch.equal(model.to_tokens(stories[:1])[:, :32], tokens)  # TransformerLens's own begins alike


def of_processor(layout: str) -> tokenizers.Tokenizer:
    """A tokenizer whose post-processor alone tells what begins a text."""
    made, first = of_words(["[PAD]", "[UNK]", "[B]", "[E]", *CLOSED], unk_token="[UNK]"), ("[B]", 2)
    template = processors.TemplateProcessing(single=["[B]", "$A"], special_tokens=[first])
    made.post_processor = {
        "a template": template,
        "several": processors.Sequence([processors.ByteLevel(), template]),
        "BERT": processors.BertProcessing(("[E]", 3), first),
        "RoBERTa": processors.RobertaProcessing(("[E]", 3), first),
    }[layout]
    return made


@pytest.mark.parametrize("layout", ["a template", "several", "BERT", "RoBERTa"])
def test_what_its_processor_puts_first_is_no_guess(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = from_transformers(theirs(of_processor(layout)))
    assert found.bos_text == "[B]" and "names no token" not in capsys.readouterr().err


@pytest.mark.parametrize("key", ["cls_token", "eos_token"])
def test_a_folder_is_read_as_the_tokenizer_itself(key: str, tmp_path: Path) -> None:
    backend = of_words(["[PAD]", "[UNK]", "-", *CLOSED], unk_token="[UNK]")
    model = model_with(backend, **{key: "-"})
    words = models.story_tokenizer_of(model)
    folder = to_huggingface(model, tmp_path / "hf")
    (folder / "tokenizer.json").write_text(backend.to_str())
    (folder / "tokenizer_config.json").write_text(json.dumps({key: "-"}))
    again = models.story_tokenizer_of(models.load(f"hf:{folder}"))
    assert words.bos_text == again.bos_text == "-" and words.ends == again.ends


def test_words_that_begin_stories_stay_within_them() -> None:
    found = from_transformers(theirs(of_words(["the", *CLOSED])))
    assert found.decode(found.encode(["cat ran the dog"])[0]) == "cat ran the dog"
    found = from_transformers(theirs(of_words(["[UNK]", *CLOSED], unk_token="[UNK]")))
    assert found.decode(found.encode(["cat hello dog"])[0]) == "cat [UNK] dog"
    named = from_transformers(theirs(of_words(["[UNK]", "<s>", *CLOSED], unk_token="[UNK]")))
    assert named.decode([1, 2, 1, 3]) == "cat dog"


def test_a_bos_that_is_set_later_counts(capsys: pytest.CaptureFixture[str]) -> None:
    model = model_with(of_words(["[PAD]", *CLOSED, "<go>"]))
    assert models.tokenizer_of(model).bos_text == "[PAD]"
    model.tokenizer.bos_token = "<go>"
    assert models.tokenizer_of(model).bos_text == "<go>"


def test_transformers_keeps_line_breaks_of_what_is_exported(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = to_huggingface(model_with(of_bytes()), tmp_path / "hf")
    read = AutoTokenizer.from_pretrained(folder)
    assert read.decode(read(STORIES[0])["input_ids"], skip_special_tokens=True).strip() == STORIES[0]


def test_llama2c_takes_no_beginning_that_is_text(tmp_path: Path, refused: Any) -> None:
    spec = models.Spec(24, 2, 3, style="llama", d_vocab=of_bytes().get_vocab_size(), n_ctx=32)
    model = models.build(spec, tokenizer=from_transformers(theirs(of_bytes())))
    with refused("its stories begin with 'Ċ', which is also text"):
        to_llama2c(model, tmp_path / "out")
    assert not is_space("") and not (tmp_path / "out").exists()


def test_training_needs_a_token_that_is_not_text(tmp_path: Path, refused: Any) -> None:
    theirs(of_bytes()).save_pretrained(tmp_path / "bytes")
    with refused("has no token that begins a story, only 'Ċ'"):
        named_tokenizer(DataSettings(tokenizer=f"hf:{tmp_path / 'bytes'}"))
    theirs(of_added(of_bytes(), "<|tale|>")).save_pretrained(tmp_path / "tale")
    found = named_tokenizer(DataSettings(tokenizer=f"hf:{tmp_path / 'tale'}"))
    assert found is not None and found.bos_text == "<|tale|>"


def test_a_tokenizer_without_any_token_is_refused(refused: Any) -> None:
    with refused("no token to put before a story"):
        from_transformers(theirs(of_words([])))
