"""The slow path: a model that the fast forward does not cover gives what TransformerLens computes of it, and one that
it covers the same on both."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tslens import forward, generate, models, report, twins
from tslens.analysis import circuits, heads, lens, neurons
from tslens.analysis.circuits import runs
from tslens.audit import audit
from tslens.errors import InputError
from tslens.models import HookedSpec, Spec
from tslens.models.hooked_spec import hooked_spec
from tslens.models.twins import Twin
from tslens.models.validation import remember
from tslens.scan import scan
from tslens.tokenizer import Tokenizer

COVERED = {
    "gpt2": Spec(32, 2, 4),
    "gpt2 untied, windows, unscaled": Spec(32, 2, 4, tied=False, scaled=False, window=7, local_layers=(1,), eps=1e-3),
    "llama": Spec(32, 2, 4, style="llama", rotary_adjacent=True),
    "llama untied, grouped": Spec(32, 2, 4, style="llama", tied=False, n_key_value_heads=2),
}
OTHERS: dict[str, dict[str, Any]] = {
    "relu without norm": {"normalization_type": None, "act_fn": "relu"},
    "gelu": {"act_fn": "gelu"},
    "attention only": {"attn_only": True, "act_fn": None},
    "folded layer norm": {"normalization_type": "LNPre", "act_fn": "gelu_new"},
    "RMS norm, learned positions": {"normalization_type": "RMS", "act_fn": "silu", "gated_mlp": True},
    "wide heads, scaled by layer": {"act_fn": "gelu_new", "d_head": 12, "scale_attn_by_inverse_layer_idx": True},
    "parallel, part of a head rotated": {
        "parallel_attn_mlp": True,
        "act_fn": "gelu_new",
        "positional_embedding_type": "rotary",
        "rotary_dim": 4,
    },
    "positions in queries and keys": {"positional_embedding_type": "shortformer", "act_fn": "relu"},
    "positions in scores, window": {
        "positional_embedding_type": "alibi",
        "act_fn": "relu",
        "normalization_type": "RMSPre",
        "use_local_attn": True,
        "window_size": 9,
        "attn_types": ["global", "local"],
    },
    "grouped heads, layer norm": {"act_fn": "gelu_new", "n_key_value_heads": 2},
    "groups of one head, layer norm": {"act_fn": "gelu_new", "n_key_value_heads": 4},
    "capped scores, normed queries": {"attn_scores_soft_cap": 2.0, "use_qk_norm": True, "act_fn": "relu"},
    "bias of the unembedding": {"act_fn": "gelu_new"},
    "capped logits": {"act_fn": "gelu_new", "output_logits_soft_cap": 3.0},
    "norm after the embedding": {"act_fn": "gelu_new", "post_embedding_ln": True},
    "norms after attention and MLP": {
        "act_fn": "gelu",
        "gated_mlp": True,
        "normalization_type": "RMS",
        "use_normalization_before_and_after": True,
        "positional_embedding_type": "rotary",
        "rotary_dim": 8,
        "output_logits_soft_cap": 30.0,
    },
    "norms after attention and MLP alone": {
        "act_fn": "silu",
        "gated_mlp": True,
        "normalization_type": "RMS",
        "original_architecture": "Olmo2ForCausalLM",
        "positional_embedding_type": "rotary",
        "rotary_dim": 8,
    },
    "experts": {
        "act_fn": "silu",
        "gated_mlp": True,
        "normalization_type": "RMS",
        "num_experts": 3,
        "experts_per_token": 2,
        "positional_embedding_type": "rotary",
        "rotary_dim": 8,
    },
    "sinks": {"act_fn": "gelu_new", "use_attention_sinks": True},
    "rotary positions that depend on the length": {
        "act_fn": "gelu_new",
        "positional_embedding_type": "rotary",
        "rotary_dim": 8,
        "use_dynamic_ntk_rope": True,
        "train_seq_length": 36,
    },
    "final norm of another kind": {"act_fn": "gelu_new", "final_rms": True},
}
N_CTX = 40


def other(name: str, words: Tokenizer, **options: Any) -> Any:
    """A HookedTransformer of this configuration, with a tokenizer and with every parameter away from zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformer_lens import HookedTransformer, HookedTransformerConfig

        shape = {"n_layers": 2, "d_model": 32, "n_ctx": N_CTX, "d_head": 8, "n_heads": 4, "d_mlp": 48, "device": "cpu"}
        config = HookedTransformerConfig(**shape | {"d_vocab": words.size} | OTHERS.get(name, {}) | options)
        model: Any = HookedTransformer(config)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator) + float(parameter.mean().round()))
    models.attach_tokenizer(model, words)
    return model.eval()


@pytest.fixture(params=OTHERS, scope="module")
def model(request: pytest.FixtureRequest, made_words: Tokenizer) -> Any:
    return other(request.param, made_words)


@pytest.fixture(params=COVERED, scope="module")
def both(request: pytest.FixtureRequest, made_words: Tokenizer, loud: Callable[[Any], Any]) -> tuple[Any, Any]:
    """A covered model, and a copy that takes the slow path."""
    spec = Spec(**COVERED[request.param].to_dict() | {"d_vocab": made_words.size, "n_ctx": N_CTX, "local_layers": ()})
    spec = Spec(**spec.to_dict() | {"local_layers": COVERED[request.param].local_layers})
    fast = loud(models.build(spec, seed=1, tokenizer=made_words))
    slow = copy.deepcopy(fast)
    remember(slow, hooked_spec(slow, ["a test"]))
    assert type(models.spec_of(fast)) is Spec and isinstance(models.spec_of(slow), HookedSpec)
    return fast, slow


@pytest.fixture(scope="module")
def corpus(made_stories: list[str]) -> list[str]:
    return made_stories[:8]


def tokens(model: Any, rows: int = 3, length: int = 24) -> torch.Tensor:
    return torch.randint(1, model.cfg.d_vocab, (rows, length), generator=torch.Generator().manual_seed(5))


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    """Within 1e-5 of the largest value, or of 1."""
    size = float(a[a.isfinite()].abs().max().clamp(min=1))
    torch.testing.assert_close(a, b, atol=1e-5 * size, rtol=0)


# Both paths are one function


def test_a_covered_model_has_the_same_activations_on_both_paths(both: tuple[Any, Any]) -> None:
    fast, _ = both
    names, read = forward.hook_names(models.spec_of(fast)), tokens(fast)
    with torch.no_grad():
        mine, theirs = (forward.activations(model, read, names) for model in both)
        assert mine.keys() == theirs.keys() == set(names)
        for name in names:
            close(mine[name], theirs[name].expand_as(mine[name]))
        torch.testing.assert_close(*(forward.token_losses(model, read) for model in both), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(*(forward.loss(model, read)[0] for model in both), atol=1e-3, rtol=1e-5)


def test_a_covered_model_has_the_same_edited_forward_on_both_paths(both: tuple[Any, Any]) -> None:
    read = tokens(both[0])

    def edit(value: torch.Tensor) -> torch.Tensor:
        return value * 0.5

    places = ("hook_k_input", "attn.hook_v", "attn.hook_z", "hook_attn_out", "hook_mlp_in", "mlp.hook_post")
    with torch.no_grad():
        runs = [forward.EditedForward.of(model) for model in both]
        for place in places:
            edits = {f"blocks.0.{place}": edit, "blocks.1.hook_mlp_out": torch.ones(3, 24, 32)}
            mine, theirs = (run(run.embedded(read), edits, keep=["blocks.1.attn.hook_z"]) for run in runs)
            close(mine[0], theirs[0])
            close(mine[1]["blocks.1.attn.hook_z"], theirs[1]["blocks.1.attn.hook_z"])
        start = runs[0](runs[0].embedded(read), last=0)[0]
        close(runs[0](start, first=1)[0], runs[1](start, first=1)[0])
        close(runs[0](start, first=2)[0], runs[1](start, first=2)[0])  # nothing runs
        seen: list[list[torch.Tensor]] = [[], []]
        shifted = torch.arange(24)
        shifted[1:] += 9
        for positions in (None, shifted):
            for run, found in zip(runs, seen, strict=True):
                run.patterns(read, lambda layer, pattern, found=found: found.append(pattern), positions)
        for mine_, theirs_ in zip(*seen, strict=True):
            close(mine_, theirs_)
        assert not torch.allclose(seen[1][0], seen[1][2], atol=1e-3)  # a shift is felt


@pytest.mark.thorough
def test_a_covered_model_has_the_same_labels_on_both_paths(both: tuple[Any, Any], corpus: list[str]) -> None:
    asked = [heads.Roles(positions=24), heads.Kinds(), neurons.Profiles(), lens.ByComponent()]
    fast, slow = (scan(model, corpus, asked, context=32) for model in both)
    assert torch.equal(fast[0].role_code, slow[0].role_code)
    assert torch.equal(fast[2].label, slow[2].label) and torch.equal(fast[2].by_word, slow[2].by_word)
    close(fast[0].positional_fraction, slow[0].positional_fraction)
    torch.testing.assert_close(fast[1].score, slow[1].score, atol=1e-5, rtol=1e-4, equal_nan=True)
    assert fast[3].components == [name for name in slow[3].components if name in fast[3].components]


# What the slow path gives is what TransformerLens computes


def test_a_row_of_a_padded_batch_has_the_activations_that_it_has_alone(model: Any) -> None:
    spec, read = models.spec_of(model), tokens(model)
    assert isinstance(spec, HookedSpec)
    shown = {"hook_attn_in", "hook_q_input", "hook_k_input", "hook_v_input", "hook_mlp_in", "attn.hook_result"}
    names = [name for name in forward.hook_names(spec) if not name.endswith(tuple(shown)) and "unembed" not in name]
    # TransformerLens names these and does not compute them, or shapes or shifts them by the batch.
    odd = (
        "hook_attn_input",
        "q_norm.hook_scale",
        "k_norm.hook_scale",
        "q_norm.hook_normalized",
        "k_norm.hook_normalized",
    )
    odd += ("hook_pos_embed", "hook_attn_scores") if spec.positions == "scores" else ()
    names = [name for name in names if not name.endswith(odd)]
    read[1, 15:] = read[2, 9:] = models.tokenizer_of(model).bos
    with torch.no_grad():
        found = forward.activations(model, read, names)
        losses = forward.token_losses(model, read)
        for row, n in enumerate((24, 15, 9)):
            _, cache = model.run_with_cache(read[row : row + 1, :n])
            for name, value in forward.of_story(found, row, n).items():
                torch.testing.assert_close(value, cache[name], atol=1e-5, rtol=1e-5, msg=name)
            alone = model(read[row : row + 1, :n], return_type="loss", loss_per_token=True)[0]
            torch.testing.assert_close(losses[row, : n - 1], alone, atol=1e-5, rtol=1e-5)
        total, count = forward.loss(model, read)
        torch.testing.assert_close(total / count, losses.mean(), atol=1e-5, rtol=1e-5)


def test_its_patterns_and_its_lens_are_its_own(model: Any, corpus: list[str]) -> None:
    text = corpus[0][:36]
    ids = torch.tensor(models.tokenizer_of(model).encode([text]))
    with torch.no_grad():
        logits, cache = model.run_with_cache(ids)
        for layer, pattern in enumerate(heads.repeated.patterns(model, ids)):
            among_tokens = cache["pattern", layer] / cache["pattern", layer].sum(-1, keepdim=True)
            torch.testing.assert_close(pattern, among_tokens, atol=1e-5, rtol=1e-5)
        final = lens.of_prompt(model, text, k=3)
        torch.testing.assert_close(final.top_probability[-1], logits[0].softmax(-1).topk(3).values, atol=1e-5, rtol=0)
    for options in ({}, {"centred": False}, {"contrast": "."}):
        found = lens.attribution(model, text, **options)
        assert found.remainder < 1e-4 * float(logits.abs().max())
    if (cap := model.cfg.output_logits_soft_cap) > 0:
        logits = cap * torch.atanh(logits / cap)  # as they are before it
    true = logits[0].gather(1, torch.tensor([*ids[0, 1:].tolist(), int(logits[0, -1].argmax())])[:, None])[:, 0]
    found = lens.attribution(model, text, centred=False)
    torch.testing.assert_close(found.contribution.sum(0), true, atol=1e-4, rtol=1e-4)
    assert ("MLP 0" in found.components) == (not model.cfg.attn_only)
    assert ("position" in found.components) == (model.cfg.positional_embedding_type == "standard")


def test_a_changed_head_or_neuron_writes_what_transformer_lens_writes(model: Any) -> None:
    """The others left as they are; through a norm after attention or MLP too."""
    read, part = tokens(model), "mlp.hook_post"
    with torch.no_grad():
        _, cache = model.run_with_cache(read)
        z = cache["blocks.1.attn.hook_z"]
        changes = forward.head_changes(model, 1, z, z.roll(1, 0))

        def written(name: str, value: torch.Tensor, out: str) -> torch.Tensor:
            edits = {f"blocks.1.{name}": value}
            run = forward.EditedForward.of(model)
            found = run(run.embedded(read), edits, keep=[f"blocks.1.{out}"])[1][f"blocks.1.{out}"]
            return found - cache[f"blocks.1.{out}"]

        for head in range(4):
            other = z.clone()
            other[:, :, head] = z.roll(1, 0)[:, :, head]
            close(changes[:, :, head], -written("attn.hook_z", other, "hook_attn_out"))
        if models.spec_of(model).mlp_width:
            post = cache[f"blocks.1.{part}"].clone()
            change = forward.neuron_change(model, 1, post, 7, torch.tensor(0.5))
            post[..., 7] = 0.5
            close(change, written(part, post, "hook_mlp_out"))


def test_a_head_is_ablated_as_by_a_hook_of_transformer_lens(model: Any, corpus: list[str]) -> None:
    found = heads.ablation(model, corpus, kinds=["zero"], rows=4, context=24)
    read = heads.rows.story_rows(model, corpus, 4, 24)
    gained = torch.zeros(2, 4)
    with torch.no_grad():
        for head in range(4):

            def off(z: torch.Tensor, hook: Any, head: int = head) -> torch.Tensor:
                z = z.clone()
                z[:, :, head] = 0
                return z

            for layer in range(2):
                losses = [
                    F.cross_entropy(logits[:, :-1][read.scored[:, 1:]], read.tokens[:, 1:][read.scored[:, 1:]])
                    for logits in (
                        model.run_with_hooks(read.tokens, fwd_hooks=[(f"blocks.{layer}.attn.hook_z", off)]),
                        model(read.tokens),
                    )
                ]
                gained[layer, head] = losses[0] - losses[1]
    torch.testing.assert_close(found.increase[0], gained, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["relu without norm", "positions in queries and keys"])
def test_shifted_positions_are_those_of_a_shifted_table(name: str, made_words: Tokenizer) -> None:
    model = other(name, made_words)
    read, positions = tokens(model, 2, 12), torch.arange(12)
    positions[1:] += 8
    moved = copy.deepcopy(model)
    with torch.no_grad():
        moved.pos_embed.W_pos[1:12] = model.pos_embed.W_pos[9:20]
        seen: list[torch.Tensor] = []
        forward.EditedForward.of(model).patterns(read, lambda _, pattern: seen.append(pattern), positions)
        _, cache = moved.run_with_cache(read)
    for layer, pattern in enumerate(seen):
        torch.testing.assert_close(pattern, cache["pattern", layer])


def test_it_writes_what_transformer_lens_writes(model: Any) -> None:
    rows = [[0, 5, 7], [0, 9], [0, 30, 31, 32, 33]]
    with torch.no_grad():
        found = generate.generate_ids(model, rows, max_new_tokens=6, sampling=generate.Sampling(temperature=0), stop=-1)
        for row, new in zip(rows, found, strict=True):
            for step in range(6):
                assert new[step] == int(model(torch.tensor([row + new[:step]]))[0, -1].argmax())
    n_ctx = models.spec_of(model).n_ctx
    long = [list(range(1, n_ctx - 1)), [4, 5]]  # the first is full after two tokens, the second goes on
    found = generate.generate_ids(model, long, max_new_tokens=5, sampling=generate.Sampling(temperature=0), stop=-1)
    assert [len(row) for row in found] == [2, 5]


# Analyses


@pytest.mark.thorough
def test_every_question_has_an_answer(model: Any, corpus: list[str]) -> None:
    asked: list[Any] = [heads.Roles(positions=24), heads.Kinds(), heads.Writes(), lens.Residuals(), lens.ByComponent()]
    attention_only = model.cfg.attn_only
    asked += [neurons.Profiles(), neurons.Selectivity()] if models.spec_of(model).mlp_width else []
    answers = scan(model, corpus, asked, context=24)
    again = scan(model, corpus, heads.Roles(positions=24), context=24, batch_tokens=64)
    assert torch.equal(answers[0].role_code, again.role_code)  # whatever stands beside a story in its batch
    assert answers[3].median[0].isfinite().all()
    assert answers[3].median[2].isnan().all() == attention_only
    found = heads.swaps(model, corpus[:4], copies=2, context=24)
    assert found.change[:2].isfinite().all()
    assert found.shift.isfinite().all() == (models.spec_of(model).positions != "scores")
    assert len(circuits.composition(model).heads) == 8
    assert circuits.tokens(model, 1, 2, k=3, through_mlp=False, draws=3).qk.isfinite().all()
    circuits.paths(model, rows=2, most=2)


def test_neurons_of_an_attention_only_model_are_refused(made_words: Tokenizer, corpus: list[str], refused: Any) -> None:
    model = other("attention only", made_words)
    for ask in (neurons.profiles, neurons.selectivity):
        with refused("attention only: it has no MLPs and no neurons"):
            ask(model, corpus)
    with refused("this model has no neurons that are read"):
        audit(model, made_stories_of(corpus))
    with refused("is no activation of a 32x2 model. Did you mean"):
        forward.activations(model, tokens(model), ["blocks.0.attn.hook_patern"])


def test_a_token_costs_the_experts_that_it_is_given_to(made_words: Tokenizer) -> None:
    few, many = (models.spec_of(other("experts", made_words, num_experts=n)) for n in (2, 6))
    assert many.flops_per_token() - few.flops_per_token() == 2 * 2 * 4 * 32  # four more weights of the choice
    assert many.flops_per_token(training=True) == 3 * many.flops_per_token()
    none = other("gelu", made_words, num_experts=0, experts_per_token=0)
    assert models.spec_of(none).mlp_width == 48
    without = other("attention only", made_words, num_experts=2, experts_per_token=1)
    assert models.spec_of(without).because == ("attention only",)


def test_pairs_fit_the_rows_that_a_model_reads(made_words: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: object, context: int, seed: int) -> None:
        raise LookupError(f"{context} tokens, seed {seed}")

    monkeypatch.setattr(runs, "made_pairs", made)
    with pytest.raises(LookupError, match="36 tokens, seed 0"):
        runs.pairs_for(other("rotary positions that depend on the length", made_words), "pronoun", 4, 0)


def made_stories_of(corpus: list[str]) -> list[str]:
    """Enough different texts for an audit to begin."""
    return [f"{text} {i}" for i in range(4) for text in corpus]


@pytest.mark.parametrize("kind", ["permuted", "fresh"])
def test_its_twins_are_models_of_its_kind(model: Any, kind: str) -> None:
    twin = Twin(kind, 0).of(model)
    spec, own = models.spec_of(model), models.spec_of(twin)
    fast = kind == "fresh" and bool(spec.outside)  # fresh biases are zero, and nothing else kept it from the fast path
    assert (type(own) is Spec) if fast else own.to_dict() == spec.to_dict()
    for name, weight in models.weights(twin).items():
        given = models.weights(model)[name]
        same = kind == "permuted" and torch.equal(weight.flatten().sort().values, given.flatten().sort().values)
        assert same or (kind == "fresh" and not torch.equal(weight, given)), name
    assert forward.token_losses(twin, tokens(model)).isfinite().all()


@pytest.mark.thorough
def test_untrained_twins_stand_beside_it(made_words: Tokenizer, corpus: list[str]) -> None:
    model, texts = other("bias of the unembedding", made_words), made_stories_of(corpus)
    assert twins.compare(model, texts, [neurons.Profiles()], n=2, limit=30).twins == ["permuted twin 0", "fresh twin 0"]
    data = report.compute(model, texts, twins=1, shown=1, causes=False, max_new_tokens=4)
    assert data.twins is not None and data.twins.twins == ["permuted twin 0"]


# What is said, and what is refused


def test_the_reason_is_said_once_a_model(made_words: Tokenizer, capsys: pytest.CaptureFixture[str]) -> None:
    model = other("relu without norm", made_words)
    forward.token_losses(model, tokens(model))
    forward.token_losses(model, tokens(model))
    lines = [line for line in capsys.readouterr().err.splitlines() if "slow path" in line]
    assert lines == ["32x2: slow path, because of activation 'relu', normalisation None."]
    covered = models.build(Spec(32, 2, 4, d_vocab=made_words.size, n_ctx=N_CTX), tokenizer=made_words)
    forward.token_losses(covered, tokens(covered))
    assert "slow path" not in capsys.readouterr().err


def test_a_setting_that_is_not_followed_is_said_once(made_words: Tokenizer, capsys: pytest.CaptureFixture[str]) -> None:
    """Every story is preceded by BOS, whatever TransformerLens would do."""
    for options, lines in (({"default_prepend_bos": False}, 1), ({}, 0)):
        model = other("gelu", made_words, **options)
        models.spec_of(model)
        Twin("fresh", 0).of(model)
        said = capsys.readouterr().err
        assert said.count("32x2: default_prepend_bos=False is not followed; every text is read with BOS") == lines


@pytest.mark.thorough
def test_folding_norms_gives_the_same_answers(made_words: Tokenizer, corpus: list[str], loud: Any) -> None:
    """TransformerLens folds the gain of a norm into the weights that read it: another model, the same function."""
    spec = Spec(32, 2, 4, d_vocab=made_words.size, n_ctx=N_CTX, tied=False)
    model = loud(models.build(spec, tokenizer=made_words))
    folded = models.untied(model)
    folded.process_weights_(fold_ln=True, center_writing_weights=False, center_unembed=False)
    folded.setup()
    assert isinstance(models.spec_of(folded), HookedSpec)
    close(forward.token_losses(model, tokens(model)), forward.token_losses(folded, tokens(model)))
    mine, theirs = (scan(m, corpus, [heads.Roles(positions=24), neurons.Profiles()]) for m in (model, folded))
    assert torch.equal(mine[0].role_code, theirs[0].role_code) and torch.equal(mine[1].label, theirs[1].label)
    found = lens.attribution(folded, corpus[0][:50])
    assert found.remainder < 1e-4 and "unembedding's bias" in found.components


UNREAD = {
    "attention in both directions": {"attention_dir": "bidirectional"},
    "outputs over 7 tokens": {"d_vocab_out": 7},
}


@pytest.mark.parametrize("what", UNREAD)
def test_what_no_analysis_can_read_is_named(what: str, made_words: Tokenizer, refused: Any) -> None:
    with refused(f"This model has {what}.*it predicts no next token"):
        models.spec_of(other("gelu", made_words, **UNREAD[what]))


def test_a_row_does_not_depend_on_longer_ones_before_it(made_words: Tokenizer) -> None:
    """TransformerLens keeps the biases of scores of the longest row; their constant in shorter rows moves a sink."""
    model = other("positions in scores, window", made_words, use_attention_sinks=True)
    read = tokens(model)
    with torch.no_grad():
        alone = model(read[:, :9], return_type="loss", loss_per_token=True)
        forward.token_losses(model, read)
        torch.testing.assert_close(forward.token_losses(model, read[:, :9]), alone, atol=1e-5, rtol=1e-5)


def test_two_norms_after_attention_and_mlp_are_refused(made_words: Tokenizer, refused: Any) -> None:
    """Contributions to logits would not add up."""
    with refused("Olmo2ForCausalLM with use_normalization_before_and_after: .* normed twice"):
        models.spec_of(
            other("norms after attention and MLP alone", made_words, use_normalization_before_and_after=True)
        )


def test_other_refusals(made_words: Tokenizer, refused: Any, tmp_path: Any) -> None:
    model = other("gelu", made_words)
    with refused("in bfloat16 are the fast forward's"):
        forward.resolve_dtype("bfloat16", model)
    assert forward.resolve_dtype("auto", model) is torch.float32
    with refused("which such a folder does not hold"):
        models.save(model, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    with refused("longer than this model's context of 40"):
        forward.activations(model, tokens(model, 1, 41), ["hook_embed"])
    with refused("names and does not compute"):
        forward.activations(model, tokens(model), ["unembed.hook_in"])
    model.to(torch.bfloat16)
    with pytest.raises(InputError, match="tslens reads float32"):
        models.spec_of(model)
