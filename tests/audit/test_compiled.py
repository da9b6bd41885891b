"""Programs compiled by Tracr: their heads and neurons are known, not because we built them, and are named for what
they do; they have no norm, ReLU, and one-hot positions, so they take the slow path."""

import ast
import json
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from safetensors import safe_open

from tslens import forward, models, pos
from tslens.analysis import circuits, heads, neurons
from tslens.analysis.heads.replaced import CLASS, TOKENS
from tslens.analysis.neurons.choice import UNRESOLVED
from tslens.audit import running, settings
from tslens.models import HookedSpec
from tslens.scan import scan
from tslens.tokenizer import Tokenizer

FILE = Path(__file__).parent / "compiled" / "programs.safetensors"
LOUD = 10.0
"""The logit of what a program answers: its answer is then what the model says next."""
ROLES = {
    "previous token": {"previous token"},
    "offset 3": {"positional"},
    "window": {"positional"},
    "first word": {"positional"},
    "nothing": {"BOS sink"},
    "same token": {"self", "duplicate token"},  # it spreads evenly over a word and its earlier copies
    "nouns": {"content-dependent"},
    "induction": {"induction"},
    "uniform": {"diffuse"},
    "": {"diffuse"},  # a head that the program does not use: all its scores are 0
}
"""The roles that are right for a head, by what it is."""
KINDS = {"nouns": {"word class NOUN"}, "induction": {"induction"}}
"""The kind of key that a head chooses, where it chooses one. Duplicates count only in models that copy, and the
program of the same token repeats what it reads."""
TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PROPN", "DET", "ADP", "CCONJ", "PUNCT")


@dataclass(frozen=True)
class Compiled:
    """A program as a HookedTransformer, with what each of its parts is."""

    model: Any
    heads: dict[str, str]
    neurons: dict[str, str]
    example: list[str]
    residual: torch.Tensor
    """What Tracr's own transformer computes of the example, `[pos d_model]`."""


def facts() -> dict[str, Any]:
    with safe_open(FILE, "pt") as file:
        return json.loads(file.metadata()["facts"])


def word_tokenizer(words: list[str]) -> Tokenizer:
    """One token for each word of a list, spaces before words and none before marks; the first is BOS."""
    from tokenizers import decoders, normalizers, pre_tokenizers

    vocabulary = {words[0]: 0} | {word if word in ".," else f"▁{word}": i for i, word in enumerate(words[1:], start=1)}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=None))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex(r"▁\w+|[.,]"), "isolated")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    backend.add_special_tokens([tokenizers.AddedToken(words[0], special=True)])
    return Tokenizer(backend, words[0])


def load(name: str) -> Compiled:
    whole = facts()
    about, tensors = whole["programs"][name], {}
    with safe_open(FILE, "pt") as file:
        for key, shape in about["shapes"].items():
            weight = torch.zeros(shape).flatten()
            weight[file.get_tensor(f"{name}/{key}/at").long()] = file.get_tensor(f"{name}/{key}/value")
            tensors[key] = weight.view(shape)
        residual = file.get_tensor(f"{name}/residual")
    tensors["unembed.W_U"] *= LOUD
    n_heads, d_model, d_head = about["shapes"]["blocks.0.attn.W_Q"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        config = HookedTransformerConfig(
            n_layers=max(int(key.split(".")[1]) for key in tensors if key.startswith("blocks")) + 1,
            d_model=d_model,
            d_head=d_head,
            n_heads=n_heads,
            n_ctx=len(tensors["pos_embed.W_pos"]),
            d_mlp=about["shapes"]["blocks.0.mlp.W_in"][1],
            d_vocab=len(whole["words"]),
            act_fn="relu",
            normalization_type=None,
            init_weights=False,
            device="cpu",
        )
        model = HookedTransformer(config)
    left = model.load_state_dict(tensors, strict=False)
    assert not left.unexpected_keys
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key not in tensors:
                assert ".b_" in key
                parameter.zero_()
    models.attach_tokenizer(model, word_tokenizer(whole["words"]))
    return Compiled(model.eval(), about["heads"], about["neurons"], about["example"], residual)


def sentences(words: dict[str, list[str]], draw: random.Random) -> Iterator[str]:
    """Sentences of a small grammar, without end."""

    def thing() -> str:
        adjective = f"{draw.choice(words['ADJ'])} " if draw.random() < 0.5 else ""
        return f"{draw.choice(words['DET'])} {adjective}{draw.choice(words['NOUN'])}"

    while True:
        who = draw.choice(words["PROPN"]) if draw.random() < 0.4 else thing()
        text = f"{who} {draw.choice(words['VERB'])} {thing()}"
        text += f" {draw.choice(words['ADP'])} {thing()}" if draw.random() < 0.4 else ""
        text += f" {draw.choice(words['ADV'])}" if draw.random() < 0.4 else ""
        text += f", and {draw.choice(words['VERB'])} {thing()}" if draw.random() < 0.4 else ""
        yield f"{text}."


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """150 stories of the programs' words, each about a few of them."""
    found, classes = [], facts()["classes"]
    for seed in range(150):
        draw = random.Random(seed)
        words = {tag: [word for word, own in classes.items() if own == tag] for tag in TAGS}
        few = {tag: draw.sample(of, min(5, len(of))) for tag, of in words.items()}
        told = sentences(few, draw)
        found.append(" ".join(next(told) for _ in range(5)))
    return found


NAMES = tuple(facts()["programs"])


@pytest.fixture(params=NAMES, scope="module")
def compiled(request: pytest.FixtureRequest) -> Compiled:
    return load(request.param)


def test_it_computes_what_tracr_computes(compiled: Compiled) -> None:
    tokenizer = models.tokenizer_of(compiled.model)
    text = " ".join(compiled.example).replace(" .", ".").replace(" ,", ",")
    ids = torch.tensor(tokenizer.encode([text]))
    assert tokenizer.decode(ids[0]) == text and ids.shape[1] == 1 + len(compiled.example)
    assert isinstance(models.spec_of(compiled.model), HookedSpec)
    last = f"blocks.{compiled.model.cfg.n_layers - 1}.hook_resid_post"
    with torch.no_grad():
        found = forward.activations(compiled.model, ids, [last])[last][0]
    torch.testing.assert_close(found, compiled.residual, atol=1e-4, rtol=1e-4)


def test_the_words_have_the_classes_that_the_programs_give_them(texts: list[str]) -> None:
    """As in the audit, a word is of the class that its tag is most often."""
    classes, tags = facts()["classes"], dict[str, list[str]]()
    for text in texts:
        for start, end, tag in pos.tag_words(text):
            tags.setdefault(text[start:end], []).append(tag)
    found = {word: max(set(of), key=of.count) for word, of in tags.items()}
    assert {word: tag for word, tag in found.items() if tag != classes[word]} == {}
    assert found.keys() == classes.keys()


def wanted(name: str, ids: torch.Tensor) -> torch.Tensor:
    """The keys that a head's program selects, `[query key]`; BOS where it selects none."""
    i, j = torch.arange(len(ids))[:, None], torch.arange(len(ids))
    words, classes = facts()["words"], facts()["classes"]
    noun = torch.tensor([classes.get(words[token]) == "NOUN" for token in ids])
    before = torch.cat([torch.tensor([-1]), ids[:-1]]).where(torch.arange(len(ids)) > 1, -1)
    on = {
        "previous token": i - j == 1,
        "offset 3": i - j == 3,
        "window": i - j < 4,
        "first word": (j == 1).expand(len(ids), -1),
        "nothing": torch.zeros(len(ids), len(ids), dtype=torch.bool),
        "same token": ids[:, None] == ids,
        "nouns": noun.expand(len(ids), -1),
        "induction": before == ids[:, None],
        "uniform": torch.ones(len(ids), len(ids), dtype=torch.bool),
    }[name]
    on = on & (j <= i) & (j > 0)
    on[:, 0] = ~on.any(1)
    return on


def test_every_head_attends_where_its_program_says(compiled: Compiled, texts: list[str]) -> None:
    tokenizer = models.tokenizer_of(compiled.model)
    for row in tokenizer.encode(texts[:4]):
        ids = torch.tensor(row[: compiled.model.cfg.n_ctx])
        _, cache = compiled.model.run_with_cache(ids[None])
        for layer in range(compiled.model.cfg.n_layers):
            for head in range(compiled.model.cfg.n_heads):
                pattern = cache["pattern", layer][0, head]
                on = torch.ones_like(pattern).tril()
                if name := compiled.heads.get(f"{layer}.{head}", ""):
                    on = wanted(name, ids).float()
                even = on / on.sum(1, keepdim=True)
                assert torch.minimum(pattern, even).sum(1)[2:].mean() > 0.9, (layer, head, name)


def fires(of: str, value: str, ids: torch.Tensor) -> torch.Tensor | None:
    """Where a neuron fires; None for one whose number is no class."""
    words, classes = facts()["words"], facts()["classes"]
    of_ids = [classes.get(words[token], "") for token in ids]
    if of == "word":
        return torch.tensor([words[token] == value for token in ids])
    if of in ("class", "noun"):
        return torch.tensor([own == ("NOUN" if of == "noun" else value) for own in of_ids])
    if of == "pair":
        return torch.tensor([f"{a} {b}" == pair_of(value) for a, b in pairwise(["", *of_ids])])
    return None


def pair_of(value: str) -> str:
    """The classes of a word and of the one before it that a neuron of the program `pairs` stands for."""
    _, before, _, own = ast.literal_eval(value)
    return f"{before} {own}"


def test_every_neuron_fires_where_its_program_says(compiled: Compiled, texts: list[str]) -> None:
    tokenizer = models.tokenizer_of(compiled.model)
    (row,) = tokenizer.encode(texts[:1])
    ids = torch.tensor(row[: compiled.model.cfg.n_ctx])
    _, cache = compiled.model.run_with_cache(ids[None])
    for place, truth in compiled.neurons.items():
        layer, neuron = map(int, place.split("."))
        on = fires(*truth.split(":", 1), ids)
        if on is not None:
            assert torch.equal((cache["post", layer][0, :, neuron] > 0.5)[2:], on[2:]), (place, truth)


# Labels


@pytest.mark.thorough
def test_every_head_is_named_for_what_its_program_does(compiled: Compiled, texts: list[str]) -> None:
    found = heads.roles(compiled.model, texts)
    for layer in range(compiled.model.cfg.n_layers):
        for head in range(compiled.model.cfg.n_heads):
            name = compiled.heads.get(f"{layer}.{head}", "")
            assert found.roles[layer][head] in ROLES[name], (layer, head, name)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["nouns", "induction", "same token", "previous token"])
def test_a_head_chooses_the_kind_of_key_that_its_program_selects(name: str, texts: list[str]) -> None:
    compiled, few = load(name), texts[:50]
    chosen = scan(compiled.model, few, running.controlled_by(compiled.model, few, 2, made=0).kinds)
    for place, own in compiled.heads.items():
        layer, head = map(int, place.split("."))
        assert set(chosen.kinds[layer][head]) == KINDS.get(own, set()), own


@pytest.mark.thorough
def test_induction_reads_the_previous_token_through_its_keys(texts: list[str]) -> None:
    """The one path of the program: without it the answer is lost; without that through queries or values it is not."""
    compiled = load("induction")
    found = circuits.paths(compiled.model, rows=8, most=1)
    assert found.sources == ["0.0"] and found.targets == ["1.0"] and found.copies
    query, key, value = found.effect[:, 0, 0].tolist()
    assert key > 1 and found.low[1, 0, 0] > 0 and abs(query) < 1e-4 and abs(value) < 1e-4
    lost = heads.ablation(compiled.model, kinds=["zero"], rows=8)
    assert (lost.low[0] > 1).all()  # nats a token: both heads are needed


@pytest.mark.thorough
def test_words_of_one_part_of_speech_swapped_move_no_head_that_reads_only_that(texts: list[str]) -> None:
    """Random words move the attention of the head that looks for nouns, words of the same part of speech do not; heads
    of positions are moved by neither."""
    moved = {}
    for name in ("nouns", "offset 3"):
        compiled = load(name)
        found = heads.swaps(compiled.model, texts[:6], copies=2, context=40)
        moved[name] = found.change[0, :, -1, 0].tolist()  # by kind of swap
    assert max(moved["offset 3"]) < 0.02
    assert moved["nouns"][TOKENS] > 0.3 > 0.1 > moved["nouns"][CLASS]


def label(profiles: Any, place: str) -> str:
    return profiles.label_of(*map(int, place.split(".")))


@pytest.mark.thorough
def test_every_class_that_a_neuron_fires_on_is_its_label(texts: list[str]) -> None:
    """The one word of a class is named itself: one word is no class."""
    compiled = load("nouns")
    profiles = neurons.profiles(compiled.model, texts)
    found = {truth.partition(":")[2]: label(profiles, place) for place, truth in compiled.neurons.items()}
    assert found.pop("CCONJ") == "token: and"
    assert found == {tag: tag for tag in found} and len(found) == 8


@pytest.mark.thorough
def test_a_neuron_of_two_classes_is_named_after_the_word_it_fires_on_or_not_at_all(texts: list[str]) -> None:
    compiled = load("pairs")
    profiles = neurons.profiles(compiled.model, texts)
    found = {truth: label(profiles, place) for place, truth in compiled.neurons.items() if truth.startswith("pair")}
    own = {truth: pair_of(truth.partition(":")[2]).split()[-1] for truth in found}
    fitting = {truth: ("token: and" if tag == "CCONJ" else tag, UNRESOLVED) for truth, tag in own.items()}
    assert {truth: name for truth, name in found.items() if name not in fitting[truth]} == {}
    assert sum(name != UNRESOLVED for name in found.values()) > 30


@pytest.mark.thorough
def test_a_neuron_of_one_word_has_no_other_word_for_its_name(texts: list[str]) -> None:
    """Marks and "and" too, of whose classes the top list holds one word. Words of which the sample holds few tokens may
    have no label."""
    compiled = load("words")
    profiles = neurons.profiles(compiled.model, texts)
    found = {truth.partition(":")[2]: label(profiles, place) for place, truth in compiled.neurons.items()}
    named = {word: name for word, name in found.items() if name != UNRESOLVED}
    assert named == {word: f"token: {word}" for word in named} and len(named) > 35
    assert {",", ".", "and", "the", "a", "every", "dog"} <= named.keys()


@pytest.mark.thorough
def test_the_share_of_nouns_so_far_is_told_from_nouns_by_its_auroc(texts: list[str]) -> None:
    """A neuron of the share of nouns is larger right after a noun: it earns the label, with an AUROC that says how
    little it is worth beside that of a neuron that fires on nouns."""
    compiled = load("share of nouns")
    profiles = neurons.profiles(compiled.model, texts)
    places = {truth: tuple(map(int, place.split("."))) for place, truth in compiled.neurons.items()}
    noun = places.pop("noun:None")
    assert profiles.label_of(*noun) == "NOUN" and profiles.auroc[noun] > 0.99
    shares = [float(profiles.auroc[place]) for place in places.values() if profiles.label_of(*place) != UNRESOLVED]
    assert {profiles.label_of(*place) for place in places.values()} <= {"NOUN", UNRESOLVED}
    assert max(shares) < 0.8


@pytest.mark.thorough
def test_no_label_depends_on_how_the_stories_are_read(texts: list[str]) -> None:
    for name in ("induction", "nouns"):
        model = load(name).model
        n, changed = settings.changed(model, texts[:24], running.controlled_by(model, texts[:24], 1, made=0))
        assert n and set(changed.values()) == {0}
