"""Text becomes tokens with BOS before each story and never inside, and every text comes back exactly."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from tslens.backends import ASIDE, read_backend
from tslens.byte_bpe import BYTE_LETTERS, END_OF_STORY
from tslens.errors import InputError
from tslens.models.fast_tokenizer import to_transformers
from tslens.tokenizer import Tokenizer, in_batches

STORIES = [
    "Tom had a red hat. The hat was on the mat.",
    'Anna said, "The cat sat on my hat!" Tom laughed.',
    "The fat cat ran. Then the cat had a nap on the mat.",
]
HARD = [
    "",
    " ",
    "\n\n",
    "a\r\nb\tc",
    "café naïve “quoted” – 12,345",
    "🐉🐲 zwj 👩‍👧",
    "\x00\x7f\u0301",
    END_OF_STORY,
    f"a{END_OF_STORY}b",
]


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return Tokenizer.train(STORIES * 3, 300)


def write_gpt2(folder: Path, merges: list[tuple[str, str]]) -> tuple[Path, Path]:
    """A vocabulary in GPT-2's two files: bytes, merges in order, end of text last."""
    tokens = [*BYTE_LETTERS.values(), *(left + right for left, right in merges), END_OF_STORY]
    vocab, rules = folder / "vocab.json", folder / "merges.txt"
    vocab.write_text(json.dumps({token: n for n, token in enumerate(tokens)}), encoding="utf-8")
    rules.write_text("#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merges), encoding="utf-8")
    return vocab, rules


def test_bos_comes_first_and_nowhere_else(trained: Tokenizer) -> None:
    for text in STORIES + HARD:
        ids = trained.encode([text])[0]
        assert ids[0] == trained.bos
        assert trained.bos not in ids[1:]
        assert trained.encode([text], bos=False)[0] == ids[1:]


def test_every_text_comes_back(trained: Tokenizer) -> None:
    assert [trained.decode(ids) for ids in trained.encode(STORIES + HARD)] == STORIES + HARD


def test_training_learns_the_commonest_pair_first() -> None:
    tokenizer = Tokenizer.train(["ab ab ab ab cd"], 259)
    # 257 are BOS and the bytes; "ab" occurs four times, of which three follow a space: "ab", then " ab".
    assert tokenizer.size == 259
    assert tokenizer.pieces(tokenizer.encode(["ab ab"])[0]) == [END_OF_STORY, "ab", " ab"]


def test_training_is_deterministic_and_its_hash_says_so(trained: Tokenizer) -> None:
    assert Tokenizer.train(STORIES * 3, 300).hash == trained.hash
    assert Tokenizer.train(STORIES * 3, 290).hash != trained.hash


def test_pieces_show_whole_characters_and_single_bytes() -> None:
    tokenizer = Tokenizer.train(["plain text"], 257)
    assert tokenizer.pieces(tokenizer.encode(["a é"])[0]) == [END_OF_STORY, "a", " ", "\\xc3", "\\xa9"]


def test_ids_without_a_token_have_a_name_everywhere() -> None:
    """Beyond the vocabulary, as where a model's was rounded up, and in a hole of it."""
    tokenizer = Tokenizer.train(["plain text"], 257)
    a, b = tokenizer.encode(["ab"], bos=False)[0]
    assert tokenizer.pieces([a, 257, 2**40]) == ["a", "<unused 257>", f"<unused {2**40}>"]
    assert tokenizer.decode([tokenizer.bos, a, 257, 300, b]) == "a<unused 257><unused 300>b"
    holed = Tokenizer(Backend(models.WordLevel({END_OF_STORY: 0, "cat": 2}, unk_token=END_OF_STORY)))
    assert (holed.size, holed.pieces(range(3)), holed.decode([2, 1])) == (
        3,
        [END_OF_STORY, "<unused 1>", "cat"],
        "cat<unused 1>",
    )
    with pytest.raises(ValueError, match="-1 is no token's id; ids run from 0 to 256"):
        tokenizer.pieces([-1])


def test_offsets_are_spans_of_characters() -> None:
    tokenizer = Tokenizer.train(["ab ab ab ab"], 259)
    # "é" is two bytes, hence two tokens over the same character.
    assert tokenizer.offsets("ab é ab") == [(0, 0), (0, 2), (2, 3), (3, 4), (3, 4), (4, 7)]
    assert tokenizer.offsets("ab", bos=False) == [(0, 2)]


def test_offsets_tile_the_text(trained: Tokenizer) -> None:
    for text in STORIES:
        spans = trained.offsets(text, bos=False)
        assert "".join(text[start:end] for start, end in spans) == text
        assert [text[start:end] for start, end in spans] == trained.pieces(trained.encode([text], bos=False)[0])


def test_a_saved_tokenizer_is_the_same_one(trained: Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.hash, again.bos, again.size) == (trained.hash, trained.bos, trained.size)
    assert again.encode(STORIES + HARD) == trained.encode(STORIES + HARD)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_an_unusual_bos_survives_saving(tmp_path: Path) -> None:
    backend = Backend(models.WordLevel({"[UNK]": 0, "[START]": 1, "<s>": 2, "cat": 3}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    Tokenizer(backend, bos="[START]").save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.encode(["cat dog"]) == [[1, 3, 0]]


def test_files_that_are_no_tokenizer_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no tokenizer"):
        Tokenizer.load(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text('{"version": "1.0"')
    with pytest.raises(ValueError, match=r"broken\.json is not a Hugging Face tokenizer\.json"):
        Tokenizer.load(tmp_path / "broken.json")
    Backend(models.WordLevel({"cat": 0}, unk_token="cat")).save(str(tmp_path / "nameless.json"))
    with pytest.raises(ValueError, match=r"has no token to put before a story \(looked for <\|endoftext\|>, <s>"):
        Tokenizer.load(tmp_path / "nameless.json")
    with pytest.raises(ValueError, match="has no token '<x>'"):
        Tokenizer(Backend(models.WordLevel({"cat": 0}, unk_token="cat")), bos="<x>")


WORDS = {"type": "WordLevel", "vocab": {"a": 0, "<s>": 1, "[UNK]": 2}, "unk_token": "[UNK]"}
NO_UNKNOWN = WORDS | {"vocab": {"a": 0, "<s>": 1}}
PIECES = NO_UNKNOWN | {"type": "WordPiece", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
UNIGRAM = {"type": "Unigram", "vocab": [["a", -1.0], ["<s>", 0.0]], "unk_id": None, "byte_fallback": False}
PAIRS = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], "continuing_subword_prefix": "####"}
EMPTY = WORDS | {"vocab": {"": 0, "<s>": 1}, "unk_token": ""}
NO_LENGTH = {"type": "FixedLength", "length": 0}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 1}


def write_json(path: Path, model: dict[str, object], **parts: object) -> None:
    """A ``tokenizer.json`` as others write it."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    whole = {"version": "1.0", **dict.fromkeys(names), "added_tokens": [], "model": model, **parts}
    path.write_text(json.dumps(whole), encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "parts", "said"),
    [
        (NO_UNKNOWN, {}, r"cannot encode every text \(WordLevel error: Missing \[UNK\].*needs its unknown token"),
        (PIECES, {}, r"cannot encode every text \(WordPiece error: Missing \[UNK\]"),
        (UNIGRAM, {}, r"cannot encode every text \(.*`unk_id` is missing\)"),
        (PAIRS, {}, r"is not a Hugging Face tokenizer\.json \(range end"),
        (WORDS, {"pre_tokenizer": NO_LENGTH}, r"cannot encode every text \(chunk size must be non-zero\)"),
        (
            WORDS | {"vocab": {"": 0, "<s>": 1}, "unk_token": ""},
            {"decoder": STRIP},
            r"cannot decode what it encodes \(",
        ),
    ],
)
def test_a_tokenizer_that_fails_on_some_texts_is_refused_where_it_is_loaded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], model: dict[str, object], parts: dict[str, object], said: str
) -> None:
    """The last three of them panic: what Rust code writes to stderr then, before it raises, is not shown."""
    write_json(tmp_path / "its.json", model, **parts)
    with pytest.raises(InputError, match=rf"its\.json {said}"):
        Tokenizer.load(tmp_path / "its.json")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("named", [{}, {"<s>": {"id": "<s>", "ids": [1], "tokens": []}}])
def test_a_template_that_names_a_token_it_does_not_describe(tmp_path: Path, named: dict[str, object]) -> None:
    first = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": first, "pair": first, "special_tokens": named}
    write_json(tmp_path / "its.json", WORDS, post_processor=template)
    assert Tokenizer.load(tmp_path / "its.json").bos == 1


GIVES_UP = {"type": "Split", "pattern": {"Regex": "(x+x+)+(?=y)|."}, "behavior": "Isolated", "invert": False}


def test_a_pattern_that_fails_on_a_story_is_said_without_a_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_json(tmp_path / "its.json", WORDS, pre_tokenizer=GIVES_UP)
    found = Tokenizer.load(tmp_path / "its.json")
    for ask in (lambda: found.encode(["ok", "x" * 40]), lambda: found.offsets("x" * 40)):
        with pytest.raises(InputError, match=r"a text.*retry-limit.*its regular expression fails on it: leave that"):
            ask()
    assert capfd.readouterr().err == ""


def test_what_other_threads_write_meanwhile_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """Two are in it at once, one of which panics; the progress that another thread shows meanwhile is not lost."""
    panic = type("PanicException", (BaseException,), {})
    with ASIDE:
        os.write(2, b"50%")
        with pytest.raises(panic), ASIDE:
            os.write(2, b"\nthread 'x' panicked")
            raise panic
    os.write(2, b" 100%")
    assert capfd.readouterr().err == "50% 100%"


def test_padding_and_truncation_of_a_file_are_not_used(tmp_path: Path) -> None:
    """A padding is of as many tokens as the file says, by the first text on."""
    padding = {"strategy": {"Fixed": 1000}, "direction": "Right", "pad_to_multiple_of": None}
    padding |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "<s>"}
    cut = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    write_json(tmp_path / "its.json", WORDS, padding=padding, truncation=cut)
    found = read_backend(tmp_path / "its.json")
    assert found.padding is None and found.truncation is None


def test_a_closed_vocabulary_in_memory_is_refused_on_the_first_unknown_word() -> None:
    closed = Tokenizer(Backend(models.WordLevel({END_OF_STORY: 0, "cat": 1}, unk_token="[UNK]")))
    assert closed.encode(["cat"]) == [[0, 1]]
    for ask in (lambda: closed.encode(["dog"]), lambda: closed.offsets("dog")):
        with pytest.raises(InputError, match="cannot encode a text, .dog.*give one that has a token for unknown words"):
            ask()


def test_a_token_that_only_looks_like_a_byte_is_text(tmp_path: Path) -> None:
    write_json(tmp_path / "its.json", WORDS | {"vocab": {"<0xZZ>": 0, "<s>": 1, "[UNK]": 2, "<0x41>": 3, "<0x+1>": 4}})
    tokenizer = Tokenizer.load(tmp_path / "its.json")
    assert tokenizer.pieces([0, 3, 4]) == ["<0xZZ>", "A", "<0x+1>"]


def test_a_file_whose_name_is_no_text_is_read(tmp_path: Path, trained: Tokenizer) -> None:
    trained.save(tmp_path / "its.json")
    path = (tmp_path / "its.json").rename(tmp_path / os.fsdecode(b"\xff.json"))
    assert Tokenizer.load(path).hash == trained.hash


@pytest.mark.parametrize("where", ["model", "added_tokens"])
def test_an_id_that_takes_all_memory_is_refused_before_it_is_read(tmp_path: Path, where: str) -> None:
    Tokenizer.train(["a b c d"], size=260).save(tmp_path / "tokenizer.json")
    fields = json.loads((tmp_path / "tokenizer.json").read_text())
    if where == "model":
        fields["model"]["vocab"]["zz"] = 4_000_000_000
    else:
        fields["added_tokens"][0]["id"] = 4_000_000_000
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    with pytest.raises(ValueError, match="a token with the id 4,000,000,000"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary of 256 is too small; give 257"):
        Tokenizer.train(STORIES, 256)
    with pytest.raises(ValueError, match="no stories to train a tokenizer on"):
        Tokenizer.train([], 300)
    with pytest.raises(ValueError, match=r"write encode\(\[text\]\)"):
        Tokenizer.train(STORIES, 257).encode("one text")


# The vocabulary of GPT-2, whole and cut

MERGES = [
    ("t", "h"),
    ("th", "e"),
    ("c", "a"),
    ("ca", "t"),
    ("Ġ", "the"),
    ("h", "a"),
    ("ha", "t"),
    ("Ġ", "cat"),
    ("x", "y"),
]


def test_a_whole_vocabulary_keeps_its_ids(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_gpt2(*write_gpt2(tmp_path, MERGES))
    assert tokenizer.size == 256 + len(MERGES) + 1
    assert tokenizer.bos == tokenizer.size - 1
    assert tokenizer.encode(["the cat"], bos=False) == [[257, 256 + 7]]


def test_a_cut_keeps_the_commonest_and_what_they_are_made_of(tmp_path: Path) -> None:
    # Whole, "the cat the cat" is the| cat| the| cat: " cat" twice, "the" and " the" once each, "hat" never.
    # Of 257 + 4, " cat" takes four (itself, cat, ca; and none for the bytes), so 3, and one is left: neither "the"
    # (2: the, th) nor " the" (3) fits; the unseen "th" is the first that does.
    cut = Tokenizer.from_gpt2(*write_gpt2(tmp_path, MERGES), keep=261, texts=["the cat the cat"])
    assert cut.size == 261
    assert set(cut.backend.get_vocab()) - set(BYTE_LETTERS.values()) == {END_OF_STORY, "ca", "cat", "Ġcat", "th"}
    assert cut.pieces(cut.encode(["the cat"])[0]) == [END_OF_STORY, "th", "e", " cat"]
    assert all(cut.decode(ids) == text for ids, text in zip(cut.encode(HARD), HARD, strict=True))


def test_files_of_another_layout_are_refused(tmp_path: Path) -> None:
    vocab, merges = write_gpt2(tmp_path, MERGES)
    with pytest.raises(ValueError, match="keep=100 is not between 257"):
        Tokenizer.from_gpt2(vocab, merges, keep=100, texts=STORIES)
    with pytest.raises(ValueError, match="needs texts="):
        Tokenizer.from_gpt2(vocab, merges, keep=258)
    with pytest.raises(FileNotFoundError, match=r"there is no .*absent"):
        Tokenizer.from_gpt2(tmp_path / "absent", merges)
    merges.write_text("t h\nth q\n")
    with pytest.raises(ValueError, match=r"the merge 'th q', unknown to vocab\.json"):
        Tokenizer.from_gpt2(vocab, merges)
    vocab.write_text(json.dumps(json.loads(vocab.read_text()) | {"zz": 7}))
    with pytest.raises(ValueError, match="has two tokens of one id, '.' and 'zz'"):
        Tokenizer.from_gpt2(vocab, merges)
    vocab.write_text('{"a": 0}')
    with pytest.raises(ValueError, match="lacks some of the 256 bytes"):
        Tokenizer.from_gpt2(vocab, merges)
    vocab.write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        Tokenizer.from_gpt2(vocab, merges)


@pytest.mark.thorough
def test_gpt2_cut_as_the_paper_did(shared: Path) -> None:
    files = shared / "data/tokenizers/gpt2_vocab.json", shared / "data/tokenizers/gpt2_merges.txt"
    lines = (shared / "data/stories/tinystories-v2.jsonl").read_text(encoding="utf-8").splitlines()[:600]
    texts = [json.loads(line)["text"] for line in lines]
    whole, cut = Tokenizer.from_gpt2(*files), Tokenizer.from_gpt2(*files, keep=4000, texts=texts)
    assert (whole.size, whole.bos, cut.size) == (50257, 50256, 4000)
    assert whole.encode(["Once upon a time"], bos=False) == [[7454, 2402, 257, 640]]  # GPT-2's published ids
    kept, same = set(cut.backend.get_vocab()), 0
    for text, before, after in zip(texts, whole.encode(texts), cut.encode(texts), strict=True):
        assert cut.decode(after) == text
        if all(whole.backend.id_to_token(i) in kept for i in before):
            same += 1
            assert cut.pieces(after) == whole.pieces(before)
    assert same > 100
    counts = Counter(i for ids in whole.encode(texts, bos=False) for i in ids)
    commonest = [whole.backend.id_to_token(i) for i, _ in counts.most_common(2000)]
    assert set(commonest) <= kept


def test_tokenizers_made_by_others_load(shared: Path) -> None:
    tokenizer = Tokenizer.load(shared / "data/tokenizers/simplestories-4096.json")
    assert (tokenizer.size, tokenizer.bos_text) == (4096, "[EOS]")
    ids = tokenizer.encode(["The cat sat."])[0]
    assert ids[0] == tokenizer.bos and tokenizer.bos not in ids[1:]
    assert tokenizer.pieces(ids)[1:] == ["the", "cat", "sat", "."]


def test_transformers_sees_the_same_tokens(trained: Tokenizer) -> None:
    other = to_transformers(trained)
    for text in STORIES + HARD:
        assert other(text)["input_ids"] == trained.encode([text])[0]
    assert other.bos_token_id == other.eos_token_id == other.pad_token_id == trained.bos
    assert other.decode(trained.encode(["a b"])[0], skip_special_tokens=True) == "a b"


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_transformer_lens_sees_the_same_tokens(trained: Tokenizer) -> None:
    from transformer_lens.utilities.tokenize_utils import get_tokenizer_with_bos

    other = to_transformers(trained)
    assert get_tokenizer_with_bos(other) is other  # taken as it is: nothing is looked up on the hub
    assert other("")["input_ids"] == [trained.bos]


def test_batches_cover_everything_in_order() -> None:
    assert list(in_batches("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(in_batches([], 2)) == []


def test_text_that_is_not_utf8_is_refused():
    words = Tokenizer.train(["a cat sat"], 300)
    with pytest.raises(ValueError, match="not UTF-8 at character 4; save or type it as UTF-8"):
        words.encode(["fine", "Tom \udcff ran"])
