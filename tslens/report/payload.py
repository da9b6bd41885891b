"""The page's data as JSON: together with `neurons`, every field that the page's script reads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tslens.analysis.heads import COLOURED, EVIDENT, ROLES, PatternResult, RolesResult
from tslens.analysis.lens import ByDepthResult, OfPromptResult, settled
from tslens.analysis.lens.result import PER
from tslens.plots import PALETTE
from tslens.report.causes_view import sentences
from tslens.report.compute import ReportData
from tslens.report.embed import Words, as_numpy, pack, pack_floats, pack_text, triangles
from tslens.report.film import film
from tslens.report.live_view import shape as live_shape
from tslens.report.neurons import Detail, in_stories, label_tests, neurons
from tslens.twins import TwinsResult

ROLE_MEANINGS = {
    "previous token": "Looks at the token just before.",
    "positional": "Looks at the same places whatever the story says.",
    "BOS sink": "Rests on the start of the story, where there is nothing to read.",
    "self": "Looks at the token it stands on.",
    "duplicate token": "Looks at earlier copies of the token it stands on.",
    "induction": "Looks at what followed the last time: A B … A, and it looks at B.",
    "content-dependent": "What it looks at depends on the story, beyond position and the patterns above.",
    "diffuse": "Spreads its attention nearly evenly.",
    "unresolved": "No role beats its null.",
}
SCORES = (
    ("effect", "effect of the role", "Share of the departure from uniform attention that the role explains", True),
    ("positional_fraction", "positional fraction", "How much of the attention is the same whatever the story", True),
    ("previous", "mass on the token before", "Mean attention mass, on natural stories", False),
    ("on_bos", "mass on the start", "Mean attention mass on BOS", False),
    ("on_self", "mass on itself", "Mean attention mass on the query's own token", False),
    ("duplicate", "mass on duplicates", "On earlier tokens equal to the query's, natural stories", False),
    ("induction", "induction, stories", "On what followed an earlier copy of the token, natural stories", False),
    ("induction_random", "induction, random tokens", "The same on repeated random tokens", False),
    ("entropy_share", "evenness", "Entropy over that of uniform attention: 1 is uniform, 0 is one key", False),
    ("mean_distance", "mean distance, tokens", "Mean distance from query to key", False),
    ("r_causal", "r with distance, causal", "Pearson correlation of weight and distance, causal half", False),
    ("r_full", "r with distance, published", "The same over the full square, as published", False),
)
LENS_GUESSES = 5


@dataclass(frozen=True)
class Cuts:
    """Limits of a page: the number of tokens of each story with attention (0 for none), and the detail on neurons."""

    attended: tuple[int, ...]
    detail: Detail


@dataclass(frozen=True)
class Uncut:
    """What no cut changes: the page's words before those of neurons, and the fields beside stories and neurons."""

    words: Words
    content: Mapping[str, Any]

    @classmethod
    def of(cls, data: ReportData) -> "Uncut":
        words = Words(data.neurons.profiles.pieces if data.neurons else ())
        for pattern in data.patterns:
            words.of(pattern.tokens)
        causes = pack_text("\n".join(sentences(data.causes))) if data.causes else None
        content = {
            "heads": heads(data.heads, data.twins) | {"causes": causes},
            "lens": lens(data.lenses, words, int(data.description["d_vocab"])),
            "depth": depth(data.depth, data.twins),
            "curve": curve(data.metrics),
            "film": film(data.film),
            "whole": in_stories(data.neurons.whole if data.neurons else None, words),
        }
        return cls(words, content)


def build(data: ReportData, uncut: Uncut, cuts: Cuts, attention: Mapping[tuple[int, int], Any]) -> dict[str, Any]:
    """The page's whole JSON. `attention` holds packed triangles by story and number of tokens."""
    words = uncut.words.copy()
    content: dict[str, Any] = {
        "stories": [
            story(pattern.tokens, words, attended, attention.get((i, attended)))
            for i, (pattern, attended) in enumerate(zip(data.patterns, cuts.attended, strict=True))
        ],
    }
    if (found := data.neurons) is not None:
        about = {"twins": of_twins(data.twins, " neurons"), "tests": label_tests(found.profiles, found.tested)}
        content["neurons"] = neurons(found.profiles, words, cuts.detail) | about
    return {"vocabulary": words.texts, **uncut.content, **content, **live_shape(data.live)}


def story(tokens: Sequence[str], words: Words, attended: int = 0, attention: Any = None) -> dict[str, Any]:
    """A story's tokens and every head's attention over its first `attended` tokens."""
    return {
        "title": f"{' '.join(''.join(tokens[1:9]).split())}… ({len(tokens)} tokens)",
        "tokens": pack(words.of(tokens)),
        "attended": attended,
        "attention": attention if attended else None,
    }


def pack_attention(pattern: PatternResult, tokens: int) -> dict[str, Any]:
    """The attention among a story's first tokens, packed."""
    return pack(triangles(pattern.pattern[..., :tokens, :tokens]))


def of_twins(twins: TwinsResult | None, unit: str) -> dict[str, str]:
    """The smallest and largest count of an untrained twin, in words, for each label of this unit."""
    labels = [] if twins is None else [label for label in twins.labels if label.endswith(unit)]
    return {label.removesuffix(unit): twins.range_of(label) for label in labels if twins is not None}


def heads(answer: RolesResult, twins: TwinsResult | None = None) -> dict[str, Any]:
    """Roles and scores of all heads, layer by layer, with the twins' counts of each role."""
    codes = answer.role_code.flatten()
    named = torch.tensor([ROLES[code] in EVIDENT for code in codes.tolist()])
    scores, counts = [], of_twins(twins, " heads")
    for field, label, help_text, interval in SCORES:
        values = getattr(answer, field)
        score = {"label": label, "help": help_text, "share": field != "mean_distance", "values": _numbers(values)}
        if interval:
            stem = field.removesuffix("_fraction")
            score |= {end: _numbers(getattr(answer, f"{stem}_{end}")) for end in ("low", "high")}
        scores.append(score)
    return {
        "shape": list(answer.role_code.shape),
        "roles": [_role(name) | {"twins": counts.get(name, "")} for name in ROLES],
        "role": codes.tolist(),
        "scores": scores,
        "start": int((named * (1 + answer.effect.flatten().double().nan_to_num(0.0))).argmax()),
    }


def _role(name: str) -> dict[str, Any]:
    """The role as drawn in the figures."""
    colour = PALETTE[COLOURED.index(name)] if name in COLOURED else None
    return {"name": name, "meaning": ROLE_MEANINGS[name], "unresolved": name == "unresolved", "colour": colour}


def bare_heads(pattern: PatternResult) -> dict[str, Any]:
    """The map of heads for attention over one text only: no roles, no scores."""
    layers, width = pattern.pattern.shape[:2]
    role = {"name": "attention", "meaning": "", "unresolved": True}
    return {"shape": [layers, width], "roles": [role], "role": [0] * (layers * width), "scores": [], "start": 0}


def lens(answers: Sequence[OfPromptResult], words: Words, vocabulary: int) -> dict[str, Any] | None:
    """The lens over each story: the likeliest tokens of every depth at every position, and the true one's rank."""
    if not answers:
        return None
    stories = [
        {
            "story": i,
            "places": len(answer.tokens),
            "top": pack(words.of(t for row in answer.top_tokens for place in row for t in place[:LENS_GUESSES])),
            # Roots of probabilities: even steps of them tell small ones apart.
            "probability": pack_floats(answer.top_probability[..., :LENS_GUESSES].flatten().sqrt(), 0, 1),
            "next": pack_floats(answer.true_probability.flatten().sqrt(), 0, 1),
            "rank": pack(as_numpy(answer.true_rank).ravel().astype(np.uint32)),  # 0 where no token comes next
            "entropy": pack_floats(answer.entropy.flatten()),
        }
        for i, answer in enumerate(answers)
    ]
    k = min(LENS_GUESSES, answers[0].top_ids.shape[-1])
    return {"depths": answers[0].depths, "k": k, "vocabulary": vocabulary, "stories": stories}


def depth(answer: ByDepthResult, twins: TwinsResult | None = None) -> list[dict[str, Any]]:
    """Two charts: the loss of each depth, and its agreement with the last depth, beside that of untrained twins."""
    common = {"x": list(range(len(answer.depths))), "xLabel": "blocks passed", "zero": True, "dots": True}
    return [
        {
            **common,
            "place": "depth-loss",
            "name": "loss-by-depth",
            "label": "Loss of the lens and its divergence from the final layer, by depth",
            "yLabel": "nats per token",
            "series": [_line("loss", answer, "loss"), _line("divergence from the final layer", answer, "kl")],
        },
        {
            **common,
            "place": "depth-agreement",
            "name": "agreement-by-depth",
            "label": "Share of positions where the lens agrees with the final layer, by depth",
            "yLabel": "share of positions",
            "series": [_line("same top token", answer, "agreement"), *_line_of_twins(twins, answer.depths)],
        },
    ]


def _line(name: str, answer: ByDepthResult, field: str) -> dict[str, Any]:
    low, high = (_numbers(getattr(answer, f"{field}_{end}")) for end in ("low", "high"))
    return {"name": name, "values": _numbers(getattr(answer, field)), "low": low, "high": high}


def _line_of_twins(twins: TwinsResult | None, depths: Sequence[str]) -> list[dict[str, Any]]:
    """The median agreement of untrained twins at each depth, and the least and largest; nothing without twins."""
    if twins is None:
        return []
    shares = [twins.of_twins[:, twins.place(settled(depth))] / PER for depth in depths[:-1]]
    of_twins = torch.stack([*shares, torch.ones(len(twins.twins))])
    middle, low, high = of_twins.median(1).values, of_twins.amin(1), of_twins.amax(1)
    ends = {"values": _numbers(middle), "low": _numbers(low), "high": _numbers(high)}
    return [{"name": f"{len(twins.twins)} untrained twins: median, least and largest", **ends}]


def curve(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The loss over training, against tokens if recorded, else steps."""
    key = "tokens" if all("tokens" in record for record in metrics) else "step"
    found = [record for record in metrics if isinstance(record.get(key), int | float)]
    names = (("training", "train_loss"), ("validation", "validation_loss"))
    series = [{"name": name, "values": [_number(r.get(field)) for r in found]} for name, field in names]
    series = [line for line in series if sum(value is not None for value in line["values"]) > 1]
    if not series:
        return None
    return {
        "x": [record[key] for record in found],
        "series": series,
        "label": "Loss over training",
        "xLabel": "tokens seen" if key == "tokens" else "step",
        "yLabel": "nats per token",
    }


def _numbers(values: Tensor) -> list[float | None]:
    """Numbers with four significant digits, None for NaN and infinities."""
    return [_number(value) for value in values.double().flatten().tolist()]


def _number(value: Any) -> float | None:
    return float(f"{value:.4g}") if isinstance(value, int | float) and math.isfinite(value) else None
