"""Does an induction head need what a previous-token head writes, and through its keys? (path patching)

Wang et al. 2022 (arXiv 2211.00593), Goldowsky-Dill et al. 2023 (arXiv 2304.05969); the pair of heads is that of Elhage
et al. 2021 and Olsson et al. 2022 (arXiv 2209.11895).
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tslens import forward, progress, stats
from tslens.analysis.circuits.edges import without
from tslens.analysis.circuits.paths_result import PathsResult, mattering
from tslens.copying import copying
from tslens.draws import check_seed
from tslens.errors import InputError
from tslens.halves import FEWEST, halves, twice
from tslens.models import Spec, name_of, spec_of, story_tokenizer_of
from tslens.models.twins import twins

if TYPE_CHECKING:
    from tslens.models import LanguageModel

LENGTH = 48  # tokens that are repeated


def paths(
    model: "LanguageModel",
    texts: Iterable[str] | None = None,
    *,
    rows: int = 32,
    most: int = 8,
    seed: int = 0,
    n: int = 0,
) -> PathsResult:
    """Path patching from the `most` heads that attend most to the previous token, to the `most` that attend most to
    what followed the same token before, on rows of random tokens twice, or of the beginnings of `texts` twice; and how
    many paths of each of `n` untrained twins matter on the same rows.

    Without a path its reader sees what the writer wrote on another row.

    Raises:
        InputError: one layer, fewer than 2 rows, or a context or texts too short to repeat 2 tokens.
    """
    check_seed(seed)
    tokens = repeated(model, texts, rows, seed).to(next(model.parameters()).device)
    found = _paths(model, tokens, "random tokens" if texts is None else "stories", most)
    others = progress.track(twins(n), "patching paths of twins") if n else ()
    with progress.off():
        of_twins = [_mattering(twin.of(model), tokens, found.on, most) for twin in others]
    return replace(found, of_twins=of_twins)


def _mattering(twin: "LanguageModel", tokens: Int[Tensor, "row pos"], on: str, most: int) -> int:
    """How many paths of a twin matter: none where it does not copy, so that none is patched."""
    with torch.inference_mode():
        copied = copying(forward.token_losses(twin, tokens), spec_of(twin).d_vocab)
    return _paths(twin, tokens, on, most).matter if copied.copies else 0


def _paths(model: "LanguageModel", tokens: Int[Tensor, "row pos"], on: str, most: int) -> PathsResult:
    spec, run = spec_of(model), forward.EditedForward.of(model)
    names = [f"blocks.{i}.{part}" for i in range(spec.n_layers) for part in ("hook_resid_pre", "attn.hook_z")]
    with torch.inference_mode():
        previous, induction = attention_on_repeats(model, tokens)
        sources, targets = _strongest(previous[:-1], most), [n + spec.n_heads for n in _strongest(induction[1:], most)]
        final, seen = run(run.embedded(tokens), keep=names)
        losses = token_losses(run, final, tokens)
        base = losses[:, second(tokens)].mean(1)
        lost = torch.full((len(tokens), 3, len(sources), len(targets)), float("nan"), dtype=torch.float64)
        for t, target in enumerate(progress.track(targets, "patching paths")):
            layer, head = divmod(target, spec.n_heads)
            start = seen[f"blocks.{layer}.hook_resid_pre"]
            for s, source in enumerate(sources):
                if source // spec.n_heads < layer:
                    z = seen[f"blocks.{source // spec.n_heads}.attn.hook_z"]
                    changes = forward.head_changes(model, source // spec.n_heads, z, z.roll(1, 0))
                    out = changes[:, :, source % spec.n_heads]
                    for kind, letter in enumerate("qkv"):
                        edits = {f"blocks.{layer}.hook_{letter}_input": without(out, head, spec)}
                        after = token_losses(run, run(start, edits, first=layer)[0], tokens)[:, second(tokens)].mean(1)
                        lost[:, kind, s, t] = (after - base).cpu()
    return _result(model, on, losses.cpu(), lost, previous, induction, sources, targets)


def _strongest(attention: Float[Tensor, "layer head"], most: int) -> list[int]:
    return [int(node) for node in attention.flatten().argsort(descending=True)[:most]]


def _result(
    model: "LanguageModel",
    on: str,
    losses: Float[Tensor, "row pos"],
    lost: Float[Tensor, "row kind source target"],
    previous: Float[Tensor, "layer head"],
    induction: Float[Tensor, "layer head"],
    sources: list[int],
    targets: list[int],
) -> PathsResult:
    spec, found = spec_of(model), stats.mean_interval(lost.numpy())
    copied = copying(losses, spec.d_vocab)
    return PathsResult(
        model=name_of(model),
        on=on,
        rows=len(lost),
        first_half=copied.first,
        second_half=copied.second,
        copies=copied.copies,
        sources=[_name(node, spec) for node in sources],
        previous=previous.flatten()[sources].float().cpu(),
        targets=[_name(node, spec) for node in targets],
        induction=induction.flatten()[targets].float().cpu(),
        effect=torch.as_tensor(found.estimate).float(),
        low=torch.as_tensor(found.low).float(),
        high=torch.as_tensor(found.high).float(),
        q=_q(lost, copied.copies),
        of_halves=_on_halves(lost, copied.copies),
    )


def _on_halves(lost: Float[Tensor, "row kind source target"], copies: bool) -> list[int]:
    """How many paths matter on halves of the rows, each row read twice (`halves.twice`); none of too few rows."""
    counts = []
    for groups in halves() if len(lost) >= FEWEST else ():
        half = lost[twice(len(lost), groups)]
        counts.append(mattering(_q(half, copies), torch.as_tensor(stats.mean_interval(half.numpy()).low)))
    return counts


def _q(lost: Float[Tensor, "row kind source target"], copies: bool) -> Float[Tensor, "kind source target"]:
    found: Tensor = torch.as_tensor(stats.benjamini_hochberg(np.where(copies, _p(lost.numpy()), np.nan))).float()
    return found


def _name(node: int, spec: Spec) -> str:
    return f"{node // spec.n_heads}.{node % spec.n_heads}"


def repeated(model: "LanguageModel", texts: Iterable[str] | None, rows: int, seed: int) -> Int[Tensor, "row pos"]:
    """Rows of BOS and up to 48 tokens, twice: different random tokens, or the beginnings of the first texts that are as
    long."""
    spec, tokenizer = spec_of(model), story_tokenizer_of(model)
    length = min(LENGTH, (spec.n_ctx - 1) // 2, tokenizer.size - 1)
    if spec.n_layers < 2:
        raise InputError("A model of one layer has no head that reads another one.")
    if rows < 2 or length < 2:
        raise InputError(
            f"Path patching needs 2 rows or more, and a context of 5 or more; got {rows} and {spec.n_ctx}."
        )
    if texts is None:
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.rand(rows, tokenizer.size - 1, generator=generator).argsort(dim=1)[:, :length]
        drawn += drawn >= tokenizer.bos
    else:
        begun = (ids[:length] for text in texts for ids in tokenizer.encode([text], bos=False) if len(ids) >= length)
        found = list(islice(begun, rows))
        if len(found) < 2:
            raise InputError(f"{len(found)} of the texts have {length} tokens or more; path patching needs 2.")
        drawn = torch.tensor(found)
    return torch.cat([torch.full((len(drawn), 1), tokenizer.bos), drawn, drawn], dim=1)


def attention_on_repeats(
    model: "LanguageModel", tokens: Int[Tensor, "row pos"]
) -> tuple[Float[Tensor, "layer head"], Float[Tensor, "layer head"]]:
    """The mean attention of each head on the previous token, and in the second half on the token that followed the
    earlier occurrence."""
    spec, length = spec_of(model), (tokens.shape[1] - 1) // 2
    hooks = [name for layer in range(spec.n_layers) for name in forward.score_hooks(spec, layer)]
    seen = forward.activations(model, tokens, hooks)
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    for layer in range(spec.n_layers):
        pattern = forward.scores(spec, layer, seen).softmax(-1)
        found[0].append(pattern.diagonal(-1, -2, -1)[..., 1:].mean((0, 2)))
        found[1].append(pattern.diagonal(1 - length, -2, -1)[..., 2:].mean((0, 2)))
    return torch.stack(found[0]), torch.stack(found[1])


def second(tokens: Int[Tensor, "row pos"]) -> slice:
    """The predictions of the second half from its second token on: the first cannot be known to repeat."""
    return slice((tokens.shape[1] - 1) // 2 + 1, None)


def token_losses(
    run: forward.EditedForward, residual: Float[Tensor, "row pos d_model"], tokens: Int[Tensor, "row pos"]
) -> Float[Tensor, "row prediction"]:
    """Cross-entropy of every token but the first, in nats."""
    every = torch.ones_like(tokens[:, 1:], dtype=torch.bool)
    return run.losses(residual, tokens, every).view(len(tokens), -1)


def _p(values: Float[np.ndarray, "row kind source target"]) -> np.ndarray:
    """Two-sided p-values that the mean is 0 (Student's t)."""
    from scipy import stats as scipy_stats

    error = values.std(0, ddof=1) / np.sqrt(len(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * scipy_stats.t.sf(np.abs(values.mean(0)) / error, len(values) - 1)
    return np.where(np.isnan(error), np.nan, np.where(error > 0, p, 1.0))
