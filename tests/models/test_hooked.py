import copy
from pathlib import Path

import pytest
import torch

from tslens import forward, models
from tslens.models import Spec
from tslens.tokenizer import Tokenizer

GPT2 = Spec(24, 2, 3, d_vocab=300, n_ctx=16)


def test_a_seed_decides(spec: Spec) -> None:
    first, again, other = (models.weights(models.build(spec, seed=s)) for s in (3, 3, 4))
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["embed.W_E"], other["embed.W_E"])
    assert first["embed.W_E"].std().item() == pytest.approx(0.02, rel=0.1)
    assert first["blocks.0.attn.W_O"].std().item() == pytest.approx(0.02 / 2, rel=0.15)  # divided by sqrt(2 x 2 layers)


@pytest.mark.filterwarnings("ignore:HookedTransformer is deprecated")
def test_a_users_model_of_this_configuration_is_initialised(spec: Spec) -> None:
    from transformer_lens import HookedTransformer

    own = HookedTransformer(models.build(spec).cfg)
    assert all(p.isfinite().all() and p.std() > 0 for n, p in own.named_parameters() if "W_" in n)


def test_transformerlens_works_on_a_loaded_model(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = models.load(models.save(models.build(GPT2, tokenizer=tokenizer), tmp_path / "run"))
    ids = model.to_tokens("the cat sat")
    assert ids.tolist() == tokenizer.encode(["the cat sat"])
    assert model.to_tokens(["the", "the cat sat"])[0, -1] == tokenizer.bos  # padded on the right
    assert model.to_string(ids[0, 1:]) == "the cat sat"
    logits, cache = model.run_with_cache("the cat sat")
    assert cache["blocks.1.mlp.hook_post"].shape == (1, ids.shape[1], 96)
    torch.testing.assert_close(forward.logits(model, ids), logits, atol=1e-4, rtol=0)
    made = model.generate(ids, max_new_tokens=3, do_sample=False, verbose=False, stop_at_eos=False)
    assert made.shape == (1, ids.shape[1] + 3)
    assert torch.equal(made[:, : ids.shape[1]], ids)


def test_weight_processing_works_on_an_untied_copy(
    tied_spec: Spec, tokenizer: Tokenizer, rows: torch.Tensor, loud
) -> None:
    model = loud(models.build(tied_spec, seed=2, tokenizer=tokenizer))
    with pytest.raises(ValueError, match=r"Process an untied copy: untied = tslens\.models\.untied\(model\)"):
        copy.deepcopy(model).process_weights_()
    own = models.untied(model)
    assert models.spec_of(own).tied is False and models.tokenizer_of(own) is tokenizer
    with torch.no_grad():
        expected = model(rows).log_softmax(-1)
        assert expected.std() > 0.3
        torch.testing.assert_close(forward.logits(own, rows), model(rows), atol=1e-4, rtol=0)
        own.process_weights_(fold_ln=True, center_writing_weights=tied_spec.style == "gpt2", center_unembed=True)
        torch.testing.assert_close(own(rows).log_softmax(-1), expected, atol=1e-3, rtol=0)
        assert not torch.equal(own.unembed.W_U, model.unembed.W_U)
        torch.testing.assert_close(model(rows).log_softmax(-1), expected)  # the original is as it was
    with torch.no_grad():  # folded norms take the slow path
        torch.testing.assert_close(forward.logits(own, rows).log_softmax(-1), expected, atol=1e-3, rtol=0)
        shown = forward.activations(own, rows, ["blocks.0.ln1.hook_normalized"])["blocks.0.ln1.hook_normalized"]
    assert "Pre'" in models.spec_of(own).because[0] and shown.shape == (*rows.shape, tied_spec.d_model)


def test_weights_that_do_not_fit() -> None:
    model, tensors = models.build(GPT2), models.weights(models.build(GPT2))
    lacking = {k: v for k, v in tensors.items() if k != "ln_final.w"}
    with pytest.raises(ValueError, match=r"lack 'ln_final\.w' \(and 0 more\)"):
        models.load_weights(model, lacking)
    with pytest.raises(ValueError, match=r"hold 'unembed\.W_U'"):
        models.load_weights(model, tensors | {"unembed.W_U": torch.zeros(24, 300)})
    with pytest.raises(ValueError, match=r"ln_final\.w has shape \(23,\), expected \(24,\)"):
        models.load_weights(model, tensors | {"ln_final.w": torch.zeros(23)})
