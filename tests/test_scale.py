"""What docs/scale.md says by arithmetic is what the arithmetic gives."""

from pathlib import Path

from tslens import models
from tslens.train import recipe as recipes
from tslens.train.estimate import length


def test_the_time_of_512x12(checkout: Path) -> None:
    text = (checkout / "docs/scale.md").read_text()
    recipe = recipes.load("512x12")
    spec = recipe.spec(4096)
    tokens = length(recipe, 4096)[1]
    assert tokens is not None and f"| {tokens / 1e6:.0f} million |" in text
    per_token = models.flops_per_token(spec, training=True)
    assert f"| {per_token / 1e6:.0f} million |" in text
    assert f"| {tokens * per_token:.2e} |".replace("e+", "e") in text
    rate = 0.45 * 989e12
    assert f"| {rate / 1e12:.0f} TFLOP/s |" in text
    seconds = tokens * per_token / rate
    assert f"**{seconds / 60:.1f} minutes**" in text and f"**{seconds / 8:.0f} seconds**" in text
    step = recipe.train.batch * spec.n_ctx * per_token / rate
    assert recipe.train.batch == 64 and f"| {step * 1e3:.1f} ms |" in text and f"| {step * 1e3 / 8:.1f} ms |" in text
    muon = 5 * sum(4 * m * m * n + 2 * m**3 for m, n in (4 * [(512, 512)] + 2 * [(512, 2048)]) * spec.n_layers)
    assert text.count(f"| {muon / rate * 1e3:.1f} ms |") == 2
    assert f"{muon / (recipe.train.batch * spec.n_ctx * per_token):.0%} of a step's operations" in text
    sent = 2 * 7 / 8 * 4 * models.n_parameters(spec)
    assert f"| {sent / 450e9 * 1e3:.1f} ms |" in text and f"| {sent / 50e9 * 1e3:.1f} ms |" in text
    assert f"{models.n_parameters(spec) / 1e6:.1f} million in float32" in text
