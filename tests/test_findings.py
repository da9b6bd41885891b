"""The numbers in the findings of the studies are those of the stored tables."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tslens.bench.gpu_race import COMPARED
from tslens.pos import TAGS

Numbers = Callable[[Path], list[float]]
INTERVAL = ("count", "low", "high")
SIGNED = r"(-?[\d.]+)"
GRADED = ("difference", "low", "high")
BESIDE_TWINS = ("highest_twin", "difference", "low", "high")
CALLED = ("success", "success, low", "success, high")
KAPPA = ("kappa", "kappa_low", "kappa_high")
FAITHFUL = ("faithfulness", "low", "high")
AGAINST = ("against, any tokens", "labelled")
AGAINST_BY_CLASS = ("against, same part of speech", "labelled")
NULL = ("without_reading", "without_reading_low", "without_reading_high")
SEEDS = ("mean", "low", "high")
VALUE, SCORE = ("value", "low", "high"), ("score", "low", "high")


MODELS = ("stories2M", "stories260K")


def row(table: str, by: str, name: str, columns: tuple[str, ...] = INTERVAL, **more: object) -> Numbers:
    """The cells of the row of a table whose column `by` holds this name."""

    def read(figures: Path) -> list[float]:
        frame = pd.read_csv(figures / f"{table}.csv")
        frame = frame[frame[by].str.startswith(name)]
        for column, value in more.items():
            frame = frame[frame[column] == value]
        return [float(value) for value in frame.iloc[0][list(columns)]]

    return read


def predicting_by_step(model: str, tag: str, *steps: int) -> Numbers:
    """The neurons of all layers whose part of speech predicts after each of these steps."""

    def read(figures: Path) -> list[float]:
        frame = pd.read_csv(figures / f"epoch/{model}-neurons-by-layer-in-training.csv")
        return [float(frame.loc[frame["tag"] == tag, f"@{step}"].sum()) for step in steps]

    return read


def at_unswapped_keys(figures: Path) -> list[float]:
    """The content-dependent heads of each model whose pattern at unswapped keys changes by more than half of its
    distance from uniform, and all; roles of position all change by less."""
    numbers: list[float] = []
    for model in MODELS:
        frame = pd.read_csv(figures / f"heads/{model}.csv").merge(
            pd.read_csv(figures / f"heads/{model}-swaps.csv"), on=["layer", "head"]
        )
        content = frame["role"] == "content-dependent"
        named = frame["role"].isin(["previous token", "positional"])
        much = frame["beside, any tokens"] > 0.5
        assert not (much & named).any() and int(named.sum()) == (6 if model == "stories2M" else 18)
        numbers += [int((much & content).sum()), int(content.sum())]
    return numbers


def beyond_tokens(figures: Path) -> list[float]:
    """Queries and keys of stories260K, two heads to a key, that tell parts of speech beyond the token, and all."""
    frame = pd.read_csv(figures / "heads/stories260K-probes.csv")
    frame = frame[(frame["part"] == "query") | (frame["head"] % 2 == 0)]
    return [float(((frame["q_shuffled"] < 0.05) & (frame["q_embedding"] < 0.05)).sum()), float(len(frame))]


def of_roles(*columns: str, heads: str = "roles") -> Numbers:
    """Counts of heads of both models, by what swapped words say of them."""
    each = [row(f"heads/{model}-agreement", "heads", heads, columns) for model in MODELS]
    return lambda figures: [sum(of) for of in zip(*(read(figures) for read in each), strict=True)]


def left_by_class(figures: Path) -> list[float]:
    """Of the content-dependent heads of stories260K that follow the class of a word more than the word: the least and
    the most that words of the same part of speech leave, and that random tokens do."""
    roles, swaps = (pd.read_csv(figures / f"heads/stories260K{part}.csv") for part in ("", "-swaps"))
    found = swaps[(roles["role"] == "content-dependent") & (swaps["high, same part of speech, keys but BOS"] < 0.5)]
    each = [found[f"change, {swap}, keys but BOS"] for swap in ("same part of speech", "any tokens")]
    return [float(end) for left in each for end in (left.min(), left.max())]


def of_both(*columns: str) -> Numbers:
    """Cells of the heads of both models that matter, beside their twins."""
    each = [row(f"heads/{model}-ablated-twins", "label", "heads that matter", columns) for model in MODELS]
    return lambda figures: [value for read in each for value in read(figures)]


def agreeing(swap: str) -> Numbers:
    """Of the labels of both models those that one kind of swap does not speak against, and all."""
    columns = ("labelled", f"against, {swap}")
    each = [row(f"heads/{model}-agreement", "heads", "both", columns) for model in MODELS]
    return lambda figures: [n for read in each for of, against in [read(figures)] for n in (of - against, of)]


def saying(table: str, finding: str, *labels: str) -> Numbers:
    """In how many rows of a table of ablations, of labels that begin so, a finding stands."""

    def read(figures: Path) -> list[float]:
        frame = pd.read_csv(figures / f"{table}.csv")
        chosen = frame[frame["label"].str.startswith(labels)] if labels else frame
        return [float((chosen["finding"] == finding).sum())]

    return read


def both(*each: Numbers) -> Numbers:
    """The numbers of several tables."""
    return lambda figures: [number for read in each for number in read(figures)]


def at_one_context(figures: Path) -> list[float]:
    """Heads of stories2M and of stories260K that have a role at one of two contexts alone."""
    return [float((~pd.read_csv(figures / f"heads/{model}-contexts.csv")["changed"]).sum()) for model in MODELS]


def off_one_half(figures: Path) -> list[float]:
    """Shares of prompts of context and reasoning, and those of them whose interval leaves out one half."""
    found = pd.concat([pd.read_csv(figures / f"evaluation/{suite}.csv") for suite in ("context", "reasoning")])
    found = found[found["score"] == "prompts right"]
    return [float(len(found)), float(((found["low"] > 0.5) | (found["high"] < 0.5)).sum())]


NUMBER = r"([\d.,]+?)"
WITH_INTERVAL = rf"{NUMBER} \({NUMBER} to {NUMBER}[);]"
END, MEAN = ("nats per token",), ("mean", "low", "high")
CLAIMS: list[tuple[str, str, Numbers]] = [
    ("heads", rf"the loss is higher without {NUMBER} of the 16 heads of stories2M and without {NUMBER} of the 40 of",
     of_both("count")),
    ("heads", rf"intervals {NUMBER} to {NUMBER} and {NUMBER} to {NUMBER}; of 128 tokens",
     of_both("low", "high")),
    ("heads", rf"and {NUMBER} and {NUMBER} heads have a role at one of both contexts alone", at_one_context),
    ("epoch", rf"of 64 and 48 heads at most {NUMBER} and {NUMBER} have a name that nothing misses",
     both(*(saying(f"epoch/{name}-ablation-on-stories", "has a name that nothing misses")
            for name in ("256x8x8", "512x12")))),
    ("neurons", rf"on 100 other stories {NUMBER} have a part of speech, and {NUMBER} neurons have the same one on both",
     row("neurons/stories2M-again", "kind", "part of speech", ("second", "same"))),
    ("neurons", rf"by ablation \({NUMBER} of 162, {NUMBER} undecided\)",
     both(*(saying("neurons/stories2M-ablation", said, *TAGS)
            for said in ("missed most on the tokens of its label", "not decided")))),
    ("seeds", rf"{NUMBER} of the 3,072 neurons prefer a part of speech, untested .*?\({NUMBER} to {NUMBER};",
     row("seeds/labels", "label", "part-of-speech neurons", MEAN)),
    ("seeds", rf"and {NUMBER} heads have a role \({NUMBER} to {NUMBER};",
     row("seeds/labels", "label", "heads with a role", MEAN)),
    ("seeds", rf"{NUMBER} at step 256 \({NUMBER} to {NUMBER}\)",
     row("seeds/training", "score", "NOUN neurons", MEAN, step=256)),
    ("seeds", rf"One-word neurons are as many as untrained: {NUMBER} \({NUMBER} to {NUMBER};",
     row("seeds/labels", "label", "one-word neurons", MEAN)),
    ("grid", rf"512x8 ends at {NUMBER} nats", row("grid/grid", "shape", "512x8", END, epochs=3, seed=0)),
    ("grid", rf"after three and at {NUMBER} after six, with a training loss of {NUMBER};",
     row("grid/grid", "shape", "512x8", (*END, "training loss"), epochs=6)),
    ("grid", rf"512x12 ends at {NUMBER} after", row("grid/grid", "shape", "512x12", END, epochs=3)),
    ("grid", rf"128x8 ends at {NUMBER} and", row("grid/grid", "shape", "128x8", END, epochs=12)),
    ("grid", rf"64x8 at {NUMBER} after twelve", row("grid/grid", "shape", "64x8", END, epochs=12)),
    ("twins", rf"{NUMBER} of the 3,072 neurons of stories2M prefer a part of speech \({NUMBER} to {NUMBER};",
     row("twins/stories2M", "label", "part-of-speech neurons")),
    ("twins", rf"{NUMBER} of its 16 heads have a role \({NUMBER} to {NUMBER}\)",
     row("twins/stories2M", "label", "heads with a role")),
    ("twins", rf"and {NUMBER} of the 40 of stories260K \({NUMBER} to {NUMBER}:",
     row("twins/stories260K", "label", "heads with a role")),
    ("kinds", rf"In all {NUMBER} of 16 heads choose a kind of key \({NUMBER} to {NUMBER};",
     row("kinds/counts", "heads with a", "kind of key", model="stories2M")),
    ("kinds", rf"and {NUMBER} of 40 \({NUMBER} to {NUMBER};",
     row("kinds/counts", "heads with a", "kind of key", model="stories260K")),
    ("kinds", rf"{NUMBER} of stories2M raise the logits of a word class where it follows \({NUMBER} to {NUMBER};",
     row("kinds/counts", "heads with a", "written class", model="stories2M")),
    ("kinds", rf"{NUMBER} of stories260K \({NUMBER} to {NUMBER}; twins",
     row("kinds/counts", "heads with a", "written class", model="stories260K")),
    ("kinds", rf"by {NUMBER} \({NUMBER} to {NUMBER}; controls",
     row("kinds/stories2M-writes", "kind", "PROPN", ("score", "low", "high"))),
    ("neurons", rf"second layer less than in any twin \({NUMBER}, {NUMBER} to {NUMBER}; twins at least {NUMBER}\)",
     lambda figures: [100 * share for share in row("neurons/stories260K-token-twins", "part", "layer 1",
                                                   ("value", "low", "high", "twins_least"))(figures)]),
    ("epoch", rf"64 heads \({NUMBER} nats per token on 300 held-out stories, {NUMBER} to {NUMBER}\)",
     row("epoch/loss", "model", "256x8x8", ("loss", "low", "high"), stories=300)),
    ("epoch", rf"512x12 model \({NUMBER} nats on the same 300 stories, {NUMBER} to {NUMBER}\)",
     row("epoch/loss", "model", "512x12", ("loss", "low", "high"), stories=300)),
    ("epoch", rf"{NUMBER} of its 8,192 neurons prefer a part of speech \({NUMBER} to {NUMBER};",
     row("epoch/256x8x8-twins", "label", "part-of-speech neurons")),
    ("epoch", rf"{NUMBER} of them have one that predicts where they fire on other stories and words \({NUMBER} to "
     rf"{NUMBER};", row("epoch/256x8x8-twins", "label", "part-of-speech neurons that predict")),
    ("epoch", rf"follow \({NUMBER} nats, {NUMBER} to {NUMBER}\), and 4 without",
     row("epoch/256x8x8-ablation-on-labels", "label", "writes PROPN", ("contrast", "contrast_low", "contrast_high"),
         head=3.0)),
    ("epoch", rf"{NUMBER} neurons prefer one word \({NUMBER} to {NUMBER};",
     row("epoch/256x8x8-twins", "label", "one-word neurons")),
    ("epoch", rf"go: {NUMBER} predicts on other stories and words after 8 steps, {NUMBER} after 16, {NUMBER} after 32, "
     rf"{NUMBER} after 64 \(at most 106 of the 1,024 neurons of a layer, 86 to 129\), {NUMBER} after 128, {NUMBER} "
     rf"after 256 and {NUMBER} in the end; of nouns none, {NUMBER}, {NUMBER}, {NUMBER}, {NUMBER}, {NUMBER} and "
     rf"{NUMBER}",
     lambda figures: [*predicting_by_step("256x8x8", "any", 8, 16, 32, 64, 128, 256, 451)(figures),
                      *predicting_by_step("256x8x8", "NOUN", 16, 32, 64, 128, 256, 451)(figures)]),
    ("epoch", rf"first layer \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("epoch/256x8x8-neurons-by-layer-in-training", "tag", "any", ("@451", "low", "high"), layer=0)),
    ("epoch", rf"Of its 24,576 neurons {NUMBER} prefer a part of speech \({NUMBER} to {NUMBER};",
     row("epoch/512x12-twins", "label", "part-of-speech neurons")),
    ("epoch", rf"{NUMBER} of them have one that predicts on other stories and words \({NUMBER} to {NUMBER};",
     row("epoch/512x12-twins", "label", "part-of-speech neurons that predict")),
    ("epoch", rf"and {NUMBER} prefer one word \({NUMBER} to {NUMBER};",
     row("epoch/512x12-twins", "label", "one-word neurons")),
    ("epoch", rf"most where they follow \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("epoch/512x12-ablation-on-labels", "label", "writes PROPN", ("contrast", "contrast_low", "contrast_high"),
         head=2.1)),
    ("epoch", rf"names \(6.6: {NUMBER} nats, {NUMBER} to {NUMBER}\)",
     row("epoch/256x8x8-ablation-on-labels", "label", "writes PROPN", ("contrast", "contrast_low", "contrast_high"),
         head=6.6)),
    ("audit", r"of 12,100 random neurons (\d+) and", row("audit/stories2M", "label", "one word", ("false",))),
    ("audit", r"of 12,100 random neurons \d+ and (\d+)", row("audit/stories260K", "label", "one word", ("false",))),
    ("features", rf"on a token\) {NUMBER} have a part of speech \({NUMBER} to {NUMBER};",
     row("features/stories2M", "kind", "features", ("labelled", "labelled_low", "labelled_high"),
         label="part of speech")),
    ("features", rf"On 100 stories {NUMBER} have a part of speech \({NUMBER} to {NUMBER}\)",
     row("features/stories2M-twins", "label", "part-of-speech features")),
    ("features", rf"they are {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("features/stories2M-twins", "label", "one-word features")),
    ("heads", r"but from (\d+) of the (\d+) of stories260K", beyond_tokens),
    ("heads", r"none of these (\d+) roles and confirm (\d+):", of_roles("labelled", "confirmed")),
    ("heads", r"leaves surely more than half in (\d+) of (\d+) and",
     row("heads/stories2M-agreement", "heads", "roles", AGAINST)),
    ("heads", r"leaves surely more than half in \d+ of \d+ and (\d+) of (\d+) \(head",
     row("heads/stories260K-agreement", "heads", "roles", AGAINST)),
    ("heads", rf"labels \({NUMBER} and",
     row("heads/stories2M-agreement", "heads", "both", ("agreement by random tokens",))),
    ("heads", rf"labels \([\d.]+ and {NUMBER},",
     row("heads/stories260K-agreement", "heads", "both", ("agreement by random tokens",))),
    ("heads", rf"among the keys but BOS: {NUMBER}, {NUMBER} to {NUMBER}\)", row(
        "heads/stories260K-swaps", "verdict, keys but BOS", "",
        tuple(f"{name}, any tokens, keys but BOS" for name in ("change", "low", "high")), layer=1, head=2)),
    ("heads", r"random tokens alone agree with (\d+) of (\d+) and (\d+) of (\d+) labels", agreeing("any tokens")),
    ("heads", r"agree, and (\d+) of (\d+) and (\d+) of (\d+) content-dependent heads", at_unswapped_keys),
    ("heads", r"they do in (\d+) of (\d+) and \d+ of \d+\. Of",
     row("heads/stories2M-agreement", "heads", "roles", AGAINST_BY_CLASS)),
    ("heads", r"they do in \d+ of \d+ and (\d+) of (\d+)\. Of",
     row("heads/stories260K-agreement", "heads", "roles", AGAINST_BY_CLASS)),
    ("heads", r"Of (\d+) of the (\d+) content-dependent heads of stories260K",
     row("heads/stories260K-agreement", "heads", "content-dependent", AGAINST_BY_CLASS)),
    ("heads", rf"leave surely less than half \({NUMBER} to {NUMBER}, where random tokens leave {NUMBER} to {NUMBER}\)",
     left_by_class),
    ("heads", r"Of the (\d+) heads that are only content-dependent both kinds of swap confirm (\d+)",
     of_roles("labelled", "confirmed", heads="content-dependent")),
    ("neurons", rf"found for {NUMBER} neurons \({NUMBER} to {NUMBER};",
     row("neurons/stories2M-patterns-twins", "label", "word set neurons")),
    ("neurons", rf"neuron's own too, for {NUMBER} \({NUMBER} to {NUMBER};",
     row("neurons/stories2M-patterns-twins", "label", "words before neurons")),
    ("neurons", rf"and {NUMBER} words before \({NUMBER} to {NUMBER};",
     row("neurons/stories260K-patterns-twins", "label", "words before neurons")),
    ("circuits", rf"MLPs of stories2M keep {WITH_INTERVAL}",
     row("circuits/stories2M-character-circuit", "control", "the circuit", FAITHFUL)),
    ("circuits", rf"{WITH_INTERVAL} for characters,",
     row("circuits/stories2M-character-circuit", "control", "outside from each pair's", FAITHFUL)),
    ("circuits", rf"{WITH_INTERVAL} for colours",
     row("circuits/stories2M-colour-circuit", "control", "outside from each pair's", FAITHFUL)),
    ("circuits", rf"{WITH_INTERVAL} in stories260K",
     row("circuits/stories260K-pronoun-circuit", "control", "outside from each pair's", FAITHFUL)),
    ("cost", rf"stories2M {NUMBER} seconds on two processor cores \({NUMBER} to {NUMBER}\)",
     row("cost/cost", "model", "stories2M", ("seconds", "low", "high"), batch=1)),
    ("cost", rf"XL {NUMBER} \({NUMBER} to {NUMBER}\) and",
     row("cost/cost", "model", "gpt2-xl", ("seconds", "low", "high"), batch=1)),
    ("evaluation", rf"in pairs stories2M has {NUMBER} right \({NUMBER} to {NUMBER}\)",
     row("evaluation/facts", "model", "stories2M", VALUE, score="prompts right", prompts="hand-written")),
    ("evaluation", rf"and {NUMBER} of the templated ones \({NUMBER} to {NUMBER}\), 0.11 more",
     row("evaluation/one-epoch/facts", "model", "512x12", VALUE, score="prompts right", prompts="templated")),
    ("evaluation", rf"It is right in {NUMBER} of our pairs \({NUMBER} to {NUMBER}\)",
     row("evaluation/one-epoch/pairs", "scorer", "512x12", SCORE)),
    ("evaluation", rf"training stories has {NUMBER} of the word pairs of what it writes after 40% of a story "
     rf"\({NUMBER} to {NUMBER}\)",
     row("evaluation/one-epoch/copies-512x12", "measure", "ROUGE-2 precision to the nearest",
         ("written", "low", "high"))),
    ("evaluation", rf"The true endings cost it {NUMBER} bits per byte \({NUMBER} to {NUMBER}\)",
     row("evaluation/one-epoch/copies-512x12", "measure", "bits_per_byte of the true", ("written", "low", "high"))),
    ("evaluation", rf"consistent stories \(128x4 {NUMBER}, {NUMBER} to {NUMBER}, and",
     row("evaluation/card", "model", "128x4", VALUE, row="grammar, pairs")),
    ("evaluation", rf"consistent stories \(128x4 [^)]*, and {NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/card", "model", "128x4", VALUE, row="consistency, pairs")),
    ("evaluation", rf"The true endings cost stories2M {NUMBER} bits per byte \({NUMBER} to {NUMBER}\)",
     row("evaluation/copies-stories2M", "measure", "bits_per_byte of the true", ("written", "low", "high"))),
    ("evaluation", rf"and -{NUMBER} \(-{NUMBER} to -{NUMBER}\) of texts up to the context", lambda figures:
     [-value for value in row("evaluation/card", "model", "stories260K", VALUE, row="plot, texts")(figures)]),
    ("evaluation", rf"grammar is -{NUMBER} standard deviations from real stories \(-{NUMBER} to -{NUMBER}\)",
     lambda figures: [-v for v in row("evaluation/training-texts", "model", "128x4@1570", VALUE,
                                      row="grammar, texts")(figures)]),
    ("evaluation", rf"the right ending gains {WITH_INTERVAL}",
     row("evaluation/facts", "model", "stories2M", VALUE, score="mean margin (nats)", prompts="hand-written")),
    ("evaluation", rf"templated ones {WITH_INTERVAL}",
     row("evaluation/facts", "model", "stories2M", VALUE, score="prompts right", prompts="templated")),
    ("evaluation", rf"stories2M is right in {WITH_INTERVAL}, stories260K",
     row("evaluation/pairs", "scorer", "stories2M", SCORE)),
    ("evaluation", rf"5-gram of the training stories in {WITH_INTERVAL}",
     row("evaluation/pairs", "scorer", "5-gram", SCORE)),
    ("evaluation", rf"in story words\) in {WITH_INTERVAL}",
     row("evaluation/pairs-of-others", "scorer", "stories2M", SCORE)),
    ("evaluation", rf"from step 16 of 1,570 on \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/training-pairs", "model", "128x4@16", VALUE, row="grammar, pairs")),
    ("evaluation", rf"from step 128 on \({NUMBER}, {NUMBER} to {NUMBER}\), of plot",
     row("evaluation/training-pairs", "model", "128x4@128", VALUE, row="consistency, pairs")),
    ("evaluation", rf"rank correlation {NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/card-ranks", "row", "consistency, pairs", ("rho", "low", "high"))),
    ("evaluation", rf"has {NUMBER} of the word pairs of what stories2M writes \({NUMBER} to {NUMBER}; cut at 40%",
     row("evaluation/copies-stories2M", "measure", "ROUGE-2 precision to the nearest", ("written", "low", "high"))),
    ("evaluation", rf"{NUMBER} more than for other instructions \({NUMBER} to {NUMBER}\)",
     row("evaluation/instruct", "model", "instruct 4", VALUE, measure="words", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"costs the four layers {NUMBER} bits per byte \({NUMBER} to {NUMBER}\)",
     row("evaluation/instruct", "model", "instruct 4", VALUE, measure="true story", group="all")),
    ("evaluation", rf"that never saw one {NUMBER} \({NUMBER} to {NUMBER}\)\.",
     row("evaluation/instruct", "model", "128x4", VALUE, measure="true story", group="all")),
    ("evaluation", rf"kept from them writes {NUMBER} more \({SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-held-out", "model", "instruct held out", VALUE, measure="words", group="held out",
         what="beyond other instructions")),
    ("evaluation", rf"the one that was not {NUMBER} \({SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-held-out", "model", "instruct 4", VALUE, measure="words", group="held out",
         what="beyond other instructions")),
    ("evaluation", rf"stories2M by {NUMBER} of two steps, {NUMBER} to {NUMBER}, of facts",
     row("evaluation/facts-controls", "grader", "likelihood of stories2M", ("difference", "low", "high"),
         damage="wrong ending")),
    ("evaluation", rf"and by {NUMBER}, {NUMBER} to {NUMBER}, of reasoning",
     row("evaluation/reasoning-controls", "grader", "likelihood of stories2M", ("difference", "low", "high"),
         damage="wrong ending")),
    ("evaluation", rf"quadratic kappa of facts is {NUMBER}, {NUMBER} to {NUMBER};",
     row("evaluation/facts-agreement", "first", "match", KAPPA, second="likelihood of stories2M")),
    ("evaluation", rf"permuted weights' {SIGNED}, {SIGNED} to {NUMBER}\), and so they do",
     row("evaluation/facts-agreement", "first", "match", KAPPA, second="likelihood of untrained")),
    ("evaluation", rf"in none \(of facts {NUMBER}, {SIGNED} to {NUMBER}\)",
     row("evaluation/facts-controls", "grader", "likelihood of untrained", ("difference", "low", "high"),
         damage="wrong ending")),
    ("evaluation", rf"such twins of stories2M the highest tells them by {NUMBER}\.",
     row("evaluation/facts-controls", "damage", "wrong ending", ("highest_twin",), grader="likelihood of stories2M")),
    ("evaluation", rf"and so they do with each other \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/facts-agreement", "first", "likelihood of stories2M", KAPPA, second="likelihood of stories260K")),
    ("evaluation", rf"stories2M calls {NUMBER} a success on facts \({NUMBER} to {NUMBER}\)",
     row("evaluation/facts-neither", "grader", "likelihood of stories2M", CALLED)),
    ("evaluation", rf"and {NUMBER} on context \({NUMBER} to {NUMBER}\), of its own",
     row("evaluation/context-neither", "grader", "likelihood of stories2M", CALLED)),
    ("evaluation", rf"of its own texts {NUMBER} \({NUMBER} to {NUMBER}\) and",
     row("evaluation/facts", "model", "stories2M", VALUE, score="success, by likelihood of stories2M")),
    ("evaluation", rf"of its own texts [^)]*\) and {NUMBER} \({NUMBER} to {NUMBER}\), which is surely",
     row("evaluation/context", "model", "stories2M", VALUE, score="success, by likelihood of stories2M")),
    ("evaluation", rf"the same texts get {NUMBER} \({NUMBER} to {NUMBER}\) and",
     row("evaluation/facts", "model", "stories2M", NULL, score="success, by likelihood of stories2M")),
    ("evaluation", rf"the same texts get [0-9.]+ \([^)]*\) and {NUMBER} \({NUMBER} to {NUMBER}\);",
     row("evaluation/context", "model", "stories2M", NULL, score="success, by likelihood of stories2M")),
    ("evaluation", rf"those of 128x4 get {NUMBER} \({NUMBER} to {NUMBER}\) and",
     row("evaluation/facts", "model", "128x4", NULL, score="success, by likelihood of stories2M")),
    ("evaluation", rf"those of 128x4 get [0-9.]+ \([^)]*\) and {NUMBER} \({NUMBER} to {NUMBER}\) there",
     row("evaluation/context", "model", "128x4", NULL, score="success, by likelihood of stories2M")),
    ("evaluation", rf"there, and {NUMBER} \({NUMBER} to {NUMBER}\) and",
     row("evaluation/facts", "model", "128x4", VALUE, score="success, by likelihood of stories2M")),
    ("evaluation", rf"there, and [0-9.]+ \([^)]*\) and {NUMBER} \({NUMBER} to {NUMBER}\) behind their own",
     row("evaluation/context", "model", "128x4", VALUE, score="success, by likelihood of stories2M")),
    ("evaluation", rf"behind another prompt in {NUMBER} \({NUMBER} to {NUMBER}\), and a fail",
     row("evaluation/facts", "model", "untrained", NULL, score="success, by likelihood of stories2M")),
    ("evaluation", rf"it calls a success in {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/facts", "model", "untrained", VALUE, score="success, by likelihood of stories2M")),
    ("evaluation", rf"and a fail in {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/facts", "model", "untrained", VALUE, score="fail, by likelihood of stories2M")),
    ("evaluation", rf"by {NUMBER} of ten steps, {NUMBER} to {NUMBER}\)",
     row("evaluation/instruct-grades-controls", "damage", "foreign", ("difference", "low", "high"),
         axis="instructions")),
    ("evaluation", rf"score four layers {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/instruct-grades", "model", "instruct 4", VALUE, axis="instructions", group="all", what="score")),
    ("evaluation", rf"one layer {NUMBER} \({NUMBER} to {NUMBER};",
     row("evaluation/instruct-grades", "model", "instruct 1", VALUE, axis="instructions", group="all", what="score")),
    ("evaluation", rf"one layer [\d.]+ \([^;]*; {NUMBER} less, {NUMBER} to {NUMBER}\)",
     row("evaluation/instruct-grades", "model", "instruct 4", VALUE, axis="instructions", group="all",
         what="score less instruct 1's")),
    ("evaluation", rf"that never saw an instruction {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/instruct-grades", "model", "128x4", VALUE, axis="instructions", group="all", what="score")),
    ("evaluation", rf"either \(rank correlation {SIGNED}, {SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-grades", "model", "instruct 4", VALUE, axis="instructions", group="all",
         what="rank correlation with words")),
    ("evaluation", rf"{NUMBER} more of the words than of others' \({SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-made", "model", "instruct made", VALUE, measure="words", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"{NUMBER} more of a summary's word pairs \({SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-made", "model", "instruct made", VALUE, measure="summary", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"{SIGNED} more morals \({SIGNED} to {NUMBER}\)",
     row("evaluation/instruct-made", "model", "instruct made", VALUE, measure="moral", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"asked for is not written \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/instruct", "model", "instruct 4", VALUE, measure="sentence", group="all", what="score")),
    ("evaluation", rf"more than of others, {NUMBER} to {NUMBER}; a model that never saw",
     row("evaluation/instruct", "model", "instruct 4", VALUE[1:], measure="words", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"after a sentence by plot {NUMBER}, {NUMBER} to {NUMBER}, of",
     row("evaluation/damages", "damage", "stopped", ("auroc", "low", "high"), axis="plot")),
    ("evaluation", rf"Three seeds agree \(grammar {NUMBER}, {NUMBER} to {NUMBER}, consistency",
     row("evaluation/seeds", "measure", "pairs of grammar", SEEDS, model="128x4")),
    ("evaluation", rf"consistency {NUMBER}, {NUMBER} to {NUMBER}, plot {NUMBER}, {NUMBER} to {NUMBER}, over seeds",
     lambda figures: [value for axis in ("consistency", "plot") for value in
                      row("evaluation/seeds", "measure", f"pairs of {axis}", SEEDS, model="128x4")(figures)]),
    ("evaluation", rf"write {NUMBER} of the words asked for \(four layers; {NUMBER} to {NUMBER}\)",
     row("evaluation/instruct", "model", "instruct 4", VALUE, measure="words", group="all", what="score")),
    ("evaluation", rf"and so they do with one layer \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/instruct", "model", "instruct 1", VALUE, measure="words", group="all",
         what="beyond other instructions")),
    ("evaluation", rf"Over three seeds it is {NUMBER} for four layers \({NUMBER} to {NUMBER}\)",
     row("evaluation/seeds", "measure", "words beyond those of others, all", SEEDS, model="instruct 4")),
    ("evaluation", rf"and {NUMBER} for models that never saw one \({NUMBER} to {NUMBER}\)",
     row("evaluation/seeds", "measure", "words beyond those of others, all", SEEDS, model="128x4")),
    ("evaluation", rf"over three seeds {NUMBER} \({SIGNED} to {NUMBER}\) and {NUMBER} \({NUMBER} to {NUMBER}\)",
     lambda figures: [value for model in ("instruct held out", "instruct 4")
                      for value in row("evaluation/seeds", "measure", "words beyond those of others, held out", SEEDS,
                                       model=model)(figures)]),
    ("evaluation", rf"not by pairs of entities \({SIGNED}, {SIGNED} to {NUMBER}\)",
     row("evaluation/card-ranks", "row", "entities, pairs", ("rho", "low", "high"))),
    ("evaluation", rf"and by pairs of plot \({NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/card-ranks", "row", "plot, pairs", ("rho", "low", "high"))),
    ("evaluation", rf"plot ends where permuted weights are \({NUMBER}, {NUMBER} to {NUMBER}, and",
     row("evaluation/card", "model", "128x4", VALUE, row="plot, pairs")),
    ("evaluation", rf"Of {NUMBER} shares \(ten models, hand-written and templated\) {NUMBER} have an interval",
     off_one_half),
    ("evaluation", rf"0\.60 of the templated prompts of context \({NUMBER} to {NUMBER}\)",
     row("evaluation/context", "model", "128x4", VALUE[1:], score="prompts right", prompts="templated")),
    ("evaluation", rf"two layers behind instructions {NUMBER} of those of reasoning \({NUMBER} to {NUMBER}\)",
     row("evaluation/reasoning", "model", "instruct 2", VALUE, score="prompts right", prompts="templated")),
    ("evaluation", rf"stories260K its own {NUMBER} above stories2M's \({NUMBER} to {NUMBER}\)",
     row("evaluation/cut-at-50-grades", "first", "stories260K", GRADED, second="stories2M", axis="grammar",
         grader="likelihood of stories260K")),
    ("evaluation", rf"than 128x4's, stories2M in grammar by {NUMBER} \({NUMBER} to {NUMBER}\)",
     lambda figures: [-n for n in row("evaluation/cut-at-50-grades", "first", "128x4", ("difference", "high", "low"),
                                      second="true endings", axis="grammar",
                                      grader="likelihood of stories2M")(figures)]),
    ("evaluation", rf"its own grammar {NUMBER} above stories260K's \({NUMBER} to {NUMBER}\)",
     lambda figures: [-n for n in row("evaluation/cut-at-50-grades", "first", "stories260K",
                                      ("difference", "high", "low"), second="stories2M", axis="grammar",
                                      grader="likelihood of stories2M")(figures)]),
    ("evaluation", rf"and in consistency by {NUMBER} \({NUMBER} to {NUMBER}\), stories260K by",
     lambda figures: [-n for n in row("evaluation/cut-at-50-grades", "first", "128x4", ("difference", "high", "low"),
                                      second="true endings", axis="consistency",
                                      grader="likelihood of stories2M")(figures)]),
    ("evaluation", rf"by stories2M {NUMBER}, {SIGNED} to {NUMBER}, with {NUMBER} of the prompts at one end",
     row("evaluation/cut-at-50-grades", "first", "128x4", (*GRADED, "at_an_end"), second="untrained", axis="grammar",
         grader="likelihood of stories2M")),
    ("evaluation", rf"finds {NUMBER} for errors, where it finds {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/beginnings-controls", "damage", "with errors", BESIDE_TWINS, axis="grammar",
         grader="likelihood of stories2M")),
    ("evaluation", rf"and {NUMBER} for another's ending, where it finds {NUMBER} \({NUMBER} to {NUMBER}\)",
     row("evaluation/beginnings-controls", "damage", "foreign", BESIDE_TWINS, axis="consistency",
         grader="likelihood of stories2M")),
    ("evaluation", rf"one of them tells as well \({NUMBER} beside {NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/beginnings-controls", "damage", "cut", BESIDE_TWINS, axis="plot",
         grader="likelihood of stories2M")),
    ("evaluation", rf"that stops after a sentence \({NUMBER} beside {NUMBER}, {NUMBER} to {NUMBER}\)",
     row("evaluation/beginnings-controls", "damage", "stopped", BESIDE_TWINS, axis="plot",
         grader="likelihood of stories2M")),
    ("evaluation", rf"after our beginnings from gibberish \({NUMBER}, {SIGNED} to {NUMBER}\)",
     row("evaluation/beginnings-grades", "first", "128x4", GRADED, second="untrained", axis="consistency",
         grader="likelihood of stories260K")),
]  # fmt: skip


@pytest.mark.parametrize(("study", "said", "numbers"), CLAIMS, ids=[f"{s}: {t[:40]}" for s, t, _ in CLAIMS])
def test_a_finding_gives_the_numbers_of_its_table(checkout: Path, study: str, said: str, numbers: Numbers) -> None:
    finding = ast.get_docstring(ast.parse((checkout / f"analyses/{study}.py").read_text(encoding="utf-8")))
    assert finding is not None
    found = re.search(said, " ".join(finding.split()))
    assert found, f"{study} no longer says: {said}"
    given = [number.rstrip(".") for number in found.groups()]
    for text, value in zip(given, numbers(checkout / "figures"), strict=True):
        digits = len(text.partition(".")[2])
        assert abs(float(text.replace(",", "")) - value) <= 0.5001 * 10**-digits, (text, value)


def test_the_readme_gives_the_ratios_measured_on_a_gpu(checkout: Path) -> None:
    ratios = json.loads((checkout / "figures/bench/gpu.json").read_text(encoding="utf-8"))["ratios"]
    said = " ".join((checkout / "README.md").read_text(encoding="utf-8").split())
    hooked, compiled = (ratios[f"{a} / {b}"]["ratio"] for a, b in (COMPARED[2], COMPARED[0]))
    assert f"is {hooked:.1f} times as fast as HookedTransformer's in bf16; compiled it is {compiled:.2f} times" in said
