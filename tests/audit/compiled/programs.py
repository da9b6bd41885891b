"""RASP programs over story words, compiled by Tracr to the weights of transformers whose every part is known.

Tracr (Lindner et al. 2023, arXiv 2301.05062) is not on PyPI. In an environment of its own:

    pip install "git+https://github.com/google-deepmind/tracr" safetensors
    python tests/audit/compiled/programs.py

writes `programs.safetensors` beside this file, which tests/audit/test_compiled.py opens. Nothing of tslens is needed.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tracr.compiler import (
    assemble,
    basis_inference,
    craft_graph_to_model,
    craft_model_to_transformer,
    expr_to_craft_graph,
    rasp_to_graph,
)
from tracr.craft import bases, transformers
from tracr.rasp import rasp

BOS, PAD = "<|endoftext|>", "<pad>"
PLACES = 64  # tokens after BOS
CLASSES = {
    "NOUN": "dog cat bird ball tree house garden river flower boat cake apple table chair frog hill",
    "VERB": "found liked wanted watched carried pushed washed followed hugged kept",
    "ADJ": "big small red happy old little green soft funny brave",
    "ADV": "slowly quickly gently again happily loudly",
    "PROPN": "Tom Lily Ben Anna",
    "DET": "the a every",
    "ADP": "under near behind with",
    "CCONJ": "and",
    "PUNCT": ". ,",
}
CLASS_OF = {word: tag for tag, words in CLASSES.items() for word in words.split()}


def aggregated(predicate: Any, keys: Any, queries: Any, values: Any, name: str) -> Any:
    """A head that spreads its attention evenly over the keys that the predicate selects, and rests on BOS without."""
    return rasp.Aggregate(rasp.Select(keys, queries, predicate), values).named(name)


def at(distance: int, name: str) -> Any:
    """What stands so many tokens back."""
    return aggregated(lambda k, q: k == q - distance, rasp.indices, rasp.indices, rasp.tokens, name)


def class_of_word() -> Any:
    """The class of each word: one neuron for each class."""
    return rasp.Map(CLASS_OF.get, rasp.tokens).named("class")


def induction() -> Any:
    """What followed the earlier copies of a token."""
    before = at(1, "previous token")
    return aggregated(lambda k, q: k == q, before, rasp.tokens, rasp.tokens, "induction")


def share_of_nouns() -> Any:
    """Whether a fourth of the words so far, or more, are nouns."""
    noun = rasp.numerical(rasp.Map(lambda word: float(CLASS_OF.get(word) == "NOUN"), rasp.tokens)).named("noun")
    evenly = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LEQ)
    share = rasp.numerical(rasp.Aggregate(evenly, noun, default=0)).named("uniform")
    return rasp.Map(lambda value: value >= 0.25, share).named("many nouns")


def adjective_before() -> Any:
    """The class of each word, beside that of the word before: one neuron for each pair."""
    tags = class_of_word()
    before = aggregated(lambda k, q: k == q - 1, rasp.indices, rasp.indices, tags, "previous token")
    return rasp.SequenceMap(lambda a, b: f"{a} {b}" if (a, b) == ("ADJ", "NOUN") else b, before, tags).named("pair")


def programs() -> dict[str, Any]:
    """Every program by its name. Heads are named after what they do."""
    tags, indices, tokens = class_of_word(), rasp.indices, rasp.tokens
    return {
        "previous token": at(1, "previous token"),
        "offset 3": at(3, "offset 3"),
        "window": aggregated(lambda k, q: q - 4 < k <= q, indices, indices, tokens, "window"),
        "first word": aggregated(lambda k, q: k == 0, indices, indices, tokens, "first word"),
        "nothing": aggregated(lambda k, q: False, tokens, tokens, tokens, "nothing"),
        "same token": aggregated(lambda k, q: k == q, tokens, tokens, tokens, "same token"),
        "nouns": aggregated(lambda k, q: k == "NOUN", tags, tags, tags, "nouns"),  # values no wider than keys
        "induction": induction(),
        "share of nouns": share_of_nouns(),
        "words": rasp.Map(lambda word: word, tokens).named("word"),
        "pairs": adjective_before(),
    }


def compiled(program: Any) -> tuple[Any, Any, list[str]]:
    """A program as Tracr compiles it (`compiling.compile_rasp_to_model`): the weights, the parts that they were
    assembled from, and the module of each part."""
    found = rasp_to_graph.extract_rasp_graph(program)
    basis_inference.infer_bases(found.graph, found.sink, set(CLASS_OF), PLACES)
    bos = bases.BasisDirection(rasp.tokens.label, BOS)
    expr_to_craft_graph.add_craft_components_to_rasp_graph(found.graph, bos_dir=bos, mlp_exactness=100)
    parts = craft_graph_to_model.craft_graph_to_model(found.graph, found.sources)
    model = craft_model_to_transformer.craft_model_to_transformer(
        craft_model=parts,
        graph=found.graph,
        sink=found.sink,
        max_seq_len=PLACES,
        compiler_bos=BOS,
        compiler_pad=PAD,
        causal=True,
    )
    return model, parts, assemble._get_model_config_and_module_names(parts)[1]


def weights_of(model: Any, program: Any) -> dict[str, np.ndarray]:
    """The weights under TransformerLens's names; row i of the embedding is token i, BOS first."""
    params = {k: {name: np.asarray(v) for name, v in each.items()} for k, each in model.params.items()}
    ids = model.input_encoder.encoding_map
    rows = [ids[word] for word in (BOS, *CLASS_OF)]
    found = {
        "embed.W_E": params["token_embed"]["embeddings"][rows],
        "pos_embed.W_pos": params["pos_embed"]["embeddings"],
    }
    width, config = found["embed.W_E"].shape[1], model.model_config
    found["unembed.W_U"] = unembedding(model, program, width)
    for layer in range(config.num_layers):
        of, to = f"transformer/layer_{layer}", f"blocks.{layer}."
        for ours, theirs in zip("QKV", ("query", "key", "value"), strict=True):
            split = params[f"{of}/attn/{theirs}"]["w"].reshape(width, config.num_heads, config.key_size)
            found[f"{to}attn.W_{ours}"] = split.transpose(1, 0, 2)
        out = params[f"{of}/attn/linear"]["w"]
        found[f"{to}attn.W_O"] = out.reshape(config.num_heads, config.key_size, width)
        for ours, theirs in (("in", "linear_1"), ("out", "linear_2")):
            found[f"{to}mlp.W_{ours}"] = params[f"{of}/mlp/{theirs}"]["w"]
    biases = [each["b"] for key, each in params.items() if key.startswith("transformer") and "b" in each]
    assert not any(bias.any() for bias in biases)
    return found


def unembedding(model: Any, program: Any, width: int) -> np.ndarray:
    """One logit for each word that the program may answer; none for answers of another kind."""
    found, words = np.zeros((width, 1 + len(CLASS_OF)), np.float32), [BOS, *CLASS_OF]
    for row, label in enumerate(model.residual_labels):
        name, _, word = label.partition(":")
        if name == program.label and word in words:
            found[row, words.index(word)] = 1.0
    return found


def named(direction: Any) -> str:
    """The name of the expression that a direction of the residual stream belongs to, without Tracr's number for it."""
    return str(direction.name).removeprefix("_hidden_").rstrip("_").rpartition("_")[0]


def truths(parts: Any, modules: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """What each head and each neuron is, by `layer.number`: the name of a head's answer, the name and value of what a
    neuron stands for. What is in neither is empty."""
    heads, neurons = dict[str, str](), dict[str, str]()
    for name, part in zip(modules, parts.blocks, strict=True):
        layer = int(name.split("_")[1].split("/")[0])
        if isinstance(part, transformers.MLP):
            for i, direction in enumerate(part.fst.output_space.basis):
                neurons[f"{layer}.{i}"] = f"{named(direction)}:{direction.value}"
        else:
            for i, head in enumerate(part.as_multi().heads()):
                heads[f"{layer}.{i}"] = named(head.w_ov.output_space.basis[0])
    return heads, neurons


def main() -> None:
    tensors, facts = dict[str, np.ndarray](), dict[str, Any]()
    for name, program in programs().items():
        model, parts, modules = compiled(program)
        heads, neurons = truths(parts, modules)
        words = "Tom found the big dog near the big cat . the dog liked Tom .".split()
        read = model.apply([BOS, *words])
        shapes = {}
        for key, weight in weights_of(model, program).items():
            at_ = np.flatnonzero(weight)
            tensors[f"{name}/{key}/at"] = at_.astype(np.int32)
            tensors[f"{name}/{key}/value"] = weight.reshape(-1)[at_].astype(np.float32)
            shapes[key] = list(weight.shape)
        tensors[f"{name}/residual"] = np.asarray(read.residuals[-1][0], np.float32)
        facts[name] = {"shapes": shapes, "heads": heads, "neurons": neurons, "example": words}
        print(name, {k: v for k, v in shapes.items() if "0.attn.W_Q" in k}, heads, len(neurons), read.decoded)
    whole = {"words": [BOS, *CLASS_OF], "classes": CLASS_OF, "programs": facts}
    save_file(tensors, Path(__file__).with_suffix(".safetensors"), metadata={"facts": json.dumps(whole)})


if __name__ == "__main__":
    main()
