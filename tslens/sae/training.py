"""Sparse autoencoders trained by SAELens's own trainer on activations of a model, and frozen random ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tslens import forward, memory, progress
from tslens.batching import batches
from tslens.draws import check_seed
from tslens.errors import InputError
from tslens.gradients import gradients
from tslens.models import spec_of, tokenizer_of
from tslens.sae.dictionary import FROZEN, TRAINED, Dictionary

if TYPE_CHECKING:
    from tslens.models import LanguageModel

WRITTEN = ("hook_resid_pre", "hook_attn_out", "hook_resid_mid", "hook_mlp_out", "hook_resid_post")
"""The activations of a block that are the residual stream, or are added to it."""
HELD_OUT = 10
"""The last of so many parts of the tokens is not trained on, and says how much is explained."""


@dataclass(frozen=True)
class Training:
    """How a sparse autoencoder is trained: top-k (Gao et al. 2024, arXiv 2406.04093), by SAELens's trainer."""

    hook: str
    width: int = 1024
    """Features."""
    k: int = 16
    """Features that are active on a token."""
    steps: int = 1000
    batch: int = 1024
    """Tokens of a step."""
    lr: float = 1e-3
    tokens: int = 100_000
    """Tokens whose activations are kept to train on, at most."""
    seed: int = 0
    """Of the initial weights and of the order of the tokens."""

    def __post_init__(self) -> None:
        part = self.hook.rpartition(".")[2]
        if part not in WRITTEN:
            raise InputError(
                f"{self.hook!r} is not in the residual stream. "
                f"Give a block's {', '.join(WRITTEN[:-1])} or {WRITTEN[-1]}, such as blocks.0.{WRITTEN[-1]}."
            )
        check_seed(self.seed)
        for name in ("width", "k", "steps", "batch", "tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.k > self.width:
            raise InputError(f"{self.k} of {self.width} features cannot be active. Give a smaller k, or more features.")

    @property
    def block(self) -> str:
        """The block of the hook, such as `blocks.0`."""
        return self.hook.rpartition(".")[0]


def dictionary(
    model: "LanguageModel", stories: Sequence[str], training: Training, *, kind: str = TRAINED
) -> Dictionary:
    """A sparse autoencoder of a model's activations: trained on stories, or with its random initial weights (`FROZEN`),
    of which the mean activation and one scale of all features alone are fitted. Training is on the CPU.

    Raises:
        InputError: no SAELens, an activation that the model does not have, or fewer tokens than a step reads.
    """
    _refuse_what_does_not_fit(training, spec_of(model).d_model)
    seen = activations(model, stories, training)
    known, new = seen.split((len(seen) - len(seen) // HELD_OUT, len(seen) // HELD_OUT))
    if len(known) < training.batch:
        raise InputError(f"{len(seen):,} tokens are too few for steps of {training.batch:,}. Give more stories.")
    if len(known) < training.width:
        raise InputError(
            f"{len(seen):,} tokens are too few for {training.width:,} features. Give fewer features, or more stories."
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        sae = _untrained(seen.shape[1], training)
        if kind == FROZEN:
            made = _frozen(sae, known, training)
        else:
            _fit(sae, known, training)
            made = _trained(sae, training)
    left = (new - made.rebuilt(new)).square().sum() / (new - new.mean(0)).square().sum()
    return replace(made, explained=1 - float(left))


def step_bytes(training: Training, d_in: int) -> int:
    """Bytes that a step of training takes in fp32: the weights with gradients and Adam's two moments, and the seven
    arrays of a batch that SAELens has at once (a test holds it to what is measured)."""
    width = training.width
    return 4 * (4 * (2 * width * d_in + width + d_in) + 7 * training.batch * width)


def _refuse_what_does_not_fit(training: Training, d_in: int) -> None:
    """InputError for more features than the memory holds."""
    width, needs, has = training.width, step_bytes(training, d_in), memory.of_machine()
    if has is not None and needs > has:
        raise InputError(
            f"{width:,} features of {d_in:,} directions take {needs / 1e9:,.0f} GB to train; this machine has "
            f"{has / 1e9:,.0f} GB. Give a smaller width."
        )


def activations(model: "LanguageModel", stories: Sequence[str], training: Training) -> Float[Tensor, "token d_model"]:
    """The activation at the hook, of the stories' tokens but BOS in their order, at most as many as are trained on."""
    spec, device = spec_of(model), next(model.parameters()).device
    forward.check_hooks(spec, [training.hook])
    found, n = [], 0
    with torch.inference_mode(), progress.stage("activations to train on"):
        for batch in batches(stories, tokenizer_of(model), context=spec.n_ctx):
            mask = batch.mask.clone()
            mask[:, 0] = False
            acts = forward.activations(model, batch.tokens.to(device), [training.hook])[training.hook]
            found.append(acts[mask.to(device)].float().cpu())
            if (n := n + len(found[-1])) >= training.tokens:
                break
    return torch.cat(found)[: training.tokens].clone()  # outside of inference mode


def _untrained(d_in: int, training: Training) -> Any:
    """SAELens's top-k autoencoder with its initial weights, drawn from torch's own generator."""
    try:
        from sae_lens import TopKTrainingSAE, TopKTrainingSAEConfig
    except ImportError as error:
        raise InputError("Sparse autoencoders need SAELens: pip install 'tslens[sae]'.") from error
    config = TopKTrainingSAEConfig(
        d_in=d_in, d_sae=training.width, k=training.k, normalize_activations="expected_average_only_in"
    )
    return TopKTrainingSAE(config)


def _fit(sae: Any, known: Float[Tensor, "token d_in"], training: Training) -> None:
    """Train by SAELens's trainer, on activations scaled as SAELens does (to a mean length of the
    square root of their size), which is folded into the weights at the end."""
    from sae_lens import SAETrainer
    from sae_lens.config import SAETrainerConfig

    config = SAETrainerConfig(
        total_training_samples=training.steps * training.batch,
        train_batch_size_samples=training.batch,
        lr=training.lr,
        lr_end=training.lr,
        lr_warm_up_steps=min(100, training.steps // 10),
        lr_decay_steps=training.steps // 5,
        dead_feature_window=max(50, training.steps // 10),
        feature_sampling_window=2 * training.steps,
    )
    scale = known.shape[1] ** 0.5 / float(known.norm(dim=-1).mean())
    rows = _shuffled(known * scale, training)
    trainer = SAETrainer(config, sae, rows)
    with gradients(), progress.bar("training a sparse autoencoder", training.steps) as bar:
        for _ in range(training.steps):  # as its `fit` does, which draws a bar of its own
            trainer.step(next(rows))
            trainer.n_training_steps += 1
            bar.advance()
    sae.fold_activation_norm_scaling_factor(scale)


def _shuffled(known: Float[Tensor, "token d_in"], training: Training) -> Iterator[Float[Tensor, "batch d_in"]]:
    """Batches without end, in the order of the seed; what is left of a round after its last whole batch is skipped."""
    generator = torch.Generator().manual_seed(training.seed)
    while True:
        order = torch.randperm(len(known), generator=generator)
        yield from (known[part] for part in order.split(training.batch) if len(part) == training.batch)


def _trained(sae: Any, training: Training) -> Dictionary:
    """A trained autoencoder as plain data, with decoder rows of length 1 (SAELens's own rule, which it saves by)."""
    with torch.no_grad():
        sae.fold_W_dec_norm()
        own = (sae.W_enc, sae.b_enc, sae.W_dec, sae.b_dec)
        encoder, bias, decoder, centre = (part.detach().clone() for part in own)
    return Dictionary(TRAINED, training.hook, encoder, bias, decoder, centre, training.k, torch.nan)


def _frozen(sae: Any, known: Float[Tensor, "token d_in"], training: Training) -> Dictionary:
    """An autoencoder that was not trained: its initial directions, each read as it is written."""
    decoder = torch.nn.functional.normalize(sae.W_dec.detach(), dim=-1)
    zero, mean = torch.zeros(training.width), known.mean(0)
    made = Dictionary(FROZEN, training.hook, decoder.T.contiguous(), zero, decoder, mean, training.k, torch.nan)
    found = made.rebuilt(known) - mean
    scale = ((known - mean) * found).sum() / found.square().sum()
    return replace(made, encoder=made.encoder * scale)
