"""How much of a model's loss do features keep? What they rebuild is put where the activation was."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward, stats
from tslens.batching import batches
from tslens.models import name_of, spec_of, tokenizer_of
from tslens.models.twins import twins as first_twins
from tslens.progress import bar, off
from tslens.result import read_on
from tslens.sae.dictionary import FROZEN, NEURONS, TRAINED, Dictionary
from tslens.sae.features import Features, apart
from tslens.sae.recovered_result import ARRAYS, INSTEAD, RecoveredResult
from tslens.twins import kept as store

if TYPE_CHECKING:
    from tslens.models import LanguageModel

VERSION = "loss recovered, 1"
"""Part of the key of what is kept of twins: raise it when a measure changes."""
OWN, ZERO = range(2)
"""The first passes: nothing replaced, and zeros. One for each of `INSTEAD` follows."""

Found = dict[str, list[float]]
"""The measures of one model by their names."""


def recovered(
    model: "LanguageModel", stories: Iterable[str], asked: Sequence[Features], *, twins: int = 0
) -> RecoveredResult:
    """The loss of a model whose activation is replaced by what features rebuild (`asked`: see `readers`), random
    features too, or by its mean; and the same of untrained twins, each with autoencoders of its own.

    Every token but BOS is replaced: features are not trained on BOS. What is found of twins is kept beside the model.

    Raises:
        InputError: fewer than two stories, a story that is trained on too, or as `dictionary` says.
    """
    by_kind = {reader.kind: reader for reader in asked if reader.kind != NEURONS}
    texts = apart(stories, asked)
    rows = {name_of(model): _measured(model, texts, by_kind)}
    if chosen := first_twins(twins):
        name = store.key(VERSION, model, texts, stories, list(by_kind.values()))
        kept, place = store.read(model, name, _is_whole)
        with bar("loss recovered by features of untrained twins", len(chosen)) as shown:
            for twin in chosen:
                if str(twin) not in kept:
                    with off():
                        kept[str(twin)] = _measured(twin.of(model), texts, by_kind)
                    store.write(place, kept)
                rows[str(twin)] = kept[str(twin)]
                shown.advance()
    arrays: dict[str, Any] = {name: torch.tensor([found[name] for found in rows.values()]) for name in ARRAYS}
    arrays |= {name: arrays[name][:, 0] for name in ("own_loss", "zero_loss")}
    training = by_kind[TRAINED].training
    found = RecoveredResult(name_of(model), training.hook, training.width, len(texts), list(rows), **arrays)
    return cast(RecoveredResult, read_on(found, stories))


def _is_whole(found: Any) -> bool:
    return isinstance(found, dict) and all(
        isinstance(row, dict) and row.keys() == set(ARRAYS) and all(isinstance(x, list) for x in row.values())
        for row in found.values()
    )


def _measured(model: "LanguageModel", texts: Sequence[str], readers: Mapping[str, Features]) -> Found:
    """Every measure of `ARRAYS`, of one model."""
    made = [readers[kind].dictionary(model) for kind in (TRAINED, FROZEN)]
    nats, tokens, seen = _passes(model, texts, made)
    own, zero, *others = (nats.sum(0) / tokens).tolist()
    found: Found = {"own_loss": [own], "zero_loss": [zero], "loss": others}
    gap = stats.bootstrap(nats[:, ZERO] - nats[:, OWN])
    bounds = stats.bootstrap(nats, _shares) if gap.low > 0 else None  # else nothing is there to be recovered
    for name, end in (("recovered", "estimate"), ("recovered_low", "low"), ("recovered_high", "high")):
        found[name] = [math.nan] * len(INSTEAD) if bounds is None else getattr(bounds, end).tolist()
    found["explained"] = [*(one.explained for one in made), 0.0]  # the mean has no features, and explains nothing
    found["active"] = [*(one.active / max(one.tokens, 1) for one in seen), 0.0]
    found["dead"] = [*(float((~one.fired).sum()) for one in seen), 0.0]
    return found


def _shares(nats: Float[np.ndarray, "story pass"]) -> Float[np.ndarray, " instead"]:
    """Of what zeros cost, the share that each replacement does not cost."""
    sums = nats.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((sums[ZERO] - sums[2:]) / (sums[ZERO] - sums[OWN]))


@dataclass
class _Seen:
    """Which features were active: of each whether ever, and the number of all on all tokens."""

    fired: Tensor
    active: int = 0
    tokens: int = 0


def _passes(
    model: "LanguageModel", texts: Sequence[str], made: Sequence[Dictionary]
) -> tuple[Float[np.ndarray, "story pass"], int, list[_Seen]]:
    """The summed loss of every story in every pass, the number of predictions, and which features were active."""
    spec, tokenizer, device = spec_of(model), tokenizer_of(model), next(model.parameters()).device
    edited, hook = forward.EditedForward.of(model), made[0].hook
    first, mean = int(hook.split(".")[1]), made[-1].decoder_bias
    before = f"blocks.{first}.hook_resid_pre"
    seen = [_Seen(torch.zeros(len(one.encoder_bias), dtype=torch.bool, device=device)) for one in made]
    nats, predictions = np.zeros((len(texts), 2 + len(INSTEAD))), 0
    with torch.inference_mode(), bar("loss with features in place of the activation", texts) as shown:
        for batch in batches(texts, tokenizer, context=spec.n_ctx + 1, end=True):
            tokens, counts = batch.tokens.to(device), batch.mask[:, 1:]
            predicts = counts[:, 1:].to(device)  # positions after BOS from which a token is predicted
            rebuilt = [_rebuilt(one, of, predicts) for one, of in zip(made, seen, strict=True)]
            edits = [torch.zeros_like, *rebuilt, mean.expand_as]
            after, kept = edited(edited.embedded(tokens[:, :-1]), keep=[before])
            for number, edit in enumerate([None, *edits]):
                if edit is not None:
                    after, _ = edited(kept[before], {hook: _but_bos(edit)}, first=first)
                losses = forward.per_token_loss(model, edited.normed(after), tokens[:, 1:], torch.float32).cpu()
                nats[batch.indices.numpy(), number] = torch.where(counts, losses, 0.0).double().sum(1).numpy()
            predictions += int(counts.sum())
            shown.advance(len(batch.texts))
    return nats, predictions, seen


def _but_bos(edit: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """An edit of every position but the first."""
    return lambda activation: torch.cat([activation[:, :1], edit(activation[:, 1:])], dim=1)


def _rebuilt(made: Dictionary, seen: _Seen, predicts: Tensor) -> Callable[[Tensor], Tensor]:
    """An edit that puts in what features rebuild, and counts those that are active, padding left out."""

    def edit(activation: Tensor) -> Tensor:
        features = made.encode(activation)
        active = features[predicts] > 0
        seen.fired |= active.any(0)
        seen.active += int(active.sum())
        seen.tokens += len(active)
        return made.decode(features)

    return edit
