"""Write what the documents take from code and measurements: `python docs/write.py`.

A block between `<!-- NAME, by docs/write.py -->` and `<!-- end -->` is replaced; everything else is left as it is.
"""

import ast
import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- (?P<name>\w+), by docs/write.py -->\n).*?(<!-- end -->)", re.DOTALL)
DATA = {"assets": "The page's scripts and style.", "bundled": "The model that comes with tslens."}
"""Folders of the package that hold no code."""

WIDE = 650
"""A figure of at most this width, in its own pixels, can be read at 400."""
IN_README = ("twins", "heads", "kinds", "neurons", "features", "lens", "circuits", "audit", "evaluation")
OF_MODELS = (*IN_README, "cost")
OF_TRAINING = ("optimizers", "sweep", "shapes", "dropout", "contrastive", "instruct", "compressor", "memory", "peers")
OF_TRAINING += ("dynamics", "epoch", "seeds", "grid")
SHOWN = {
    **{study: [f"{study}/stories2M.svg", f"{study}/stories260K.svg"] for study in ("heads", "kinds")},
    **{study: [f"{study}/stories2M.svg"] for study in ("twins", "audit")},
    "neurons": ["neurons/stories2M.svg", "neurons/by-layer.svg"],
    "features": ["features/stories2M.svg", "features/stories2M-twins.svg"],
    "epoch": ["epoch/256x8x8-kinds.svg", "epoch/512x12-roles.svg"],
    "cost": ["cost/cost.svg"],
    "evaluation": [
        *("evaluation/facts.svg", "evaluation/pairs.svg", "evaluation/training-pairs.svg"),
        *("evaluation/copies-stories2M.svg", "evaluation/instruct.svg"),
    ],
    "circuits": ["circuits/stories2M-character-circuit.svg", "circuits/stories2M-character-patching.svg"],
    "lens": ["lens/stories2M-by-depth.svg", "lens/stories260K-by-depth.svg"],
}
"""The figures of a study on this page, where they are not all that it drew."""
COMPARED = {
    "training-hooked": "training, 256x8",
    "training-gpt2": "training, 256x8",
    "training-plain": "training, 256x8",
    "saved": "memory of a training step, 512x12",
    "scan-cache-bf16": "top-20 scan of all neurons, bf16",
    "generate-hooked": "generation, fp32",
    "generate-transformers": "generation, fp32",
    "packing": "packing stories",
}
"""The rows of `tslens bench` in README, and what each is about in a word."""
MACHINES = {"bench/bf16": "with bf16", "bench": "without"}
"""The folders of what `tslens bench` wrote on two machines."""


def docstring(file: Path) -> str:
    """A module's docstring."""
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".+?[.?!:](?=\s+[A-Z`]|$)", paragraph)
    return (found[0] if found else paragraph).rstrip(":")


def tree() -> str:
    """Every module of tslens, with the first sentence of its docstring."""

    def lines(folder: Path, depth: int) -> list[str]:
        indent, own = "  " * depth, folder / "__init__.py"
        what = sentence(docstring(own)) if own.is_file() else DATA.get(folder.name, "Data.")
        found = [f"{indent}{folder.name + '/':<{22 - 2 * depth}} {what}"]
        for script in sorted(folder.glob("*.js")):
            comment = script.read_text(encoding="utf-8").split("\n\n")[0].replace("//", "")
            found.append(f"{indent}  {script.name:<{20 - 2 * depth}} {sentence(comment)}")
        if own.is_file():
            files = sorted(path for path in folder.glob("*.py") if path != own)
            found += [f"{indent}  {file.name:<{20 - 2 * depth}} {sentence(docstring(file))}" for file in files]
            for inner in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"):
                found += lines(inner, depth + 1)
        return found

    return "```text\n" + "\n".join(lines(ROOT / "tslens", 0)) + "\n```\n"


def studies() -> str:
    """What each study found, its figures, and how it is run."""
    parts = []
    for study in (*OF_MODELS, *OF_TRAINING):
        drawn = SHOWN.get(study) or sorted(
            str(path.relative_to(ROOT / "figures")) for path in (ROOT / "figures" / study).glob("*.svg")
        )
        pictures = "\n".join(f"![{study}: {Path(place).stem}](../figures/{place})" for place in drawn)
        parts.append(f"### {study.capitalize()}\n\n{docstring(ROOT / 'analyses' / f'{study}.py')}\n\n{pictures}\n")
    return "\n".join(parts)


def shown_width(place: str) -> int:
    """Pixels for a figure: 400, and twice as many for one so wide that its text would be too small."""
    box = re.search(r'viewBox="0 0 ([\d.]+)', (ROOT / "figures" / place).read_text(encoding="utf-8"))
    return 400 if box is None or float(box[1]) <= WIDE else 820


def findings() -> str:
    """What the studies of models found, each with its figures."""
    parts = []
    for study in IN_README:
        drawn = SHOWN[study][:2]
        pictures = " ".join(
            f'<img src="figures/{place}" width="{shown_width(place)}" alt="{study}: {place}">' for place in drawn
        )
        parts.append(
            f"**{study.capitalize()}.** {sentence(docstring(ROOT / 'analyses' / f'{study}.py'))}\n\n{pictures}\n"
        )
    return "\n".join(parts)


def comparison() -> str:
    """Some rows of `tslens bench`, short: on a processor with bf16 and on one without."""
    records = [json.loads((ROOT / "figures" / place / "bench.json").read_text(encoding="utf-8")) for place in MACHINES]
    machines = zip(records, MACHINES.values(), strict=True)
    columns = " | ".join(f"{record['machine']['processor']}, {kind}" for record, kind in machines)
    lines = [f"| | against | goal | {columns} |", "| --- | --- | --- | --- | --- |"]
    measured = [{row["name"]: row for row in record["rows"]} for record in records]
    for name, what in COMPARED.items():
        row = measured[0][name]
        cells = (_measured(rows[name]) for rows in measured)
        lines.append(f"| {what} | {row['against']} | {row['target']}{row['unit']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _measured(row: dict[str, Any]) -> str:
    interval = "" if row["low"] is None else f" [{row['low']:.3g}, {row['high']:.3g}]"
    return f"{row['value']:.3g}{row['unit']}{interval}"


def table(of: str) -> Callable[[], str]:
    """The table that a benchmark or study wrote."""
    return lambda: (ROOT / "figures" / of / "table.md").read_text(encoding="utf-8").strip() + "\n"


def on_gpu() -> dict[str, Any]:
    """What `make bench-gpu` measured."""
    found: dict[str, Any] = json.loads((ROOT / "figures/bench/gpu.json").read_text(encoding="utf-8"))
    return found


def gpu() -> str:
    """The training race on one GPU: a row for each peer, then our ratios."""
    found = on_gpu()
    lines = [
        f"{found['shape']}, {found['batch']} rows of {found['context']} tokens, fused AdamW, PyTorch {found['torch']} "
        f"on one {found['device']}, whose largest product ran at {found['matrix_peak_flops'] / 1e12:.0f} TFLOP/s:\n",
        "| | tokens/s | of the peak | peak memory |",
        "| --- | --- | --- | --- |",
    ]
    for row in found["rows"]:
        memory = row["peak_bytes_by_batch"][str(found["batch"])]
        lines.append(
            f"| {row['name']} | {row['tokens_per_second']:,.0f} | {row['share_of_peak']:.0%} | {memory / 1e9:.1f} GB |"
        )
    lines += ["", "| | ratio | 95% interval |", "| --- | --- | --- |"]
    for what, ratio in found["ratios"].items():
        lines.append(f"| {what} | {ratio['ratio']:.2f}× | [{ratio['low']:.2f}, {ratio['high']:.2f}] |")
    lines += ["", f"{found['turns']} turns of {found['steps_of_a_turn']} steps. Goals:\n"]
    for goal in found["goals"]:
        told = "met" if goal["met"] else "missed"
        lines.append(f"- {goal['what']} of {goal['at_least']:g} or more: {goal['measured']:.2f}, {told}.")
    return "\n".join(lines) + "\n"


def arithmetic() -> str:
    """How long one epoch of TinyStories takes a 512x12 model, at the speed that was measured."""
    from tslens.train import recipe as recipes
    from tslens.train.budget import token_budget

    found, recipe = on_gpu(), recipes.load("512x12")
    spec = recipe.spec(found["vocabulary"])
    tokens = token_budget(recipe, found["vocabulary"])[1]
    compiled = next(row for row in found["rows"] if row["name"] == "tslens compiled")
    assert tokens is not None and found["shape"] == recipe.name and found["batch"] == recipe.train.batch
    speed, muon, parameters = compiled["tokens_per_second"], found["muon_step_seconds"], spec.n_parameters()
    step, sent = recipe.train.batch * spec.n_ctx / speed, 2 * 7 / 8 * 4 * parameters
    steps = tokens / (recipe.train.batch * spec.n_ctx)
    rows = {
        "tokens: one epoch of TinyStories (2.1 million stories) in rows of 512, vocabulary 4096": (
            f"{tokens / 1e6:.0f} million"
        ),
        f"measured on one {found['device']}: a compiled step of {recipe.train.batch} rows, fused AdamW": (
            f"{step * 1e3:.1f} ms"
        ),
        "a step of Muon besides, measured alone, when it took one matrix after another": f"{muon * 1e3:.1f} ms",
        f"**one GPU: {steps:,.0f} steps with AdamW**": f"**{steps * step / 60:.0f} minutes**",
        "**with Muon, as the recipe has it**": f"**{steps * (step + muon) / 60:.0f} minutes**",
        "a step on eight: its operations": f"{step / 8 * 1e3:.1f} ms",
        "Muon's, which every process does whole": f"{muon * 1e3:.1f} ms",
        f"its gradients: {parameters / 1e6:.1f} million in float32, sent 2 x 7/8 times at NVLink's 450 GB/s": (
            f"{sent / 450e9 * 1e3:.1f} ms"
        ),
        "the same between machines at 50 GB/s (400 Gb/s)": f"{sent / 50e9 * 1e3:.1f} ms",
    }
    return "| | |\n|---|---|\n" + "".join(f"| {what} | {much} |\n" for what, much in rows.items())


def rows(table: str) -> list[dict[str, str]]:
    """The rows of a table in `figures/`."""
    with (ROOT / "figures" / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def conclusions() -> str:
    """Which published conclusions hold here: the figures are the studies', the verdicts are ours."""

    def more(row: dict[str, str]) -> str:
        return f"{float(row['more']):+.2f} [{float(row['more, low']):.2f}, {float(row['more, high']):.2f}]"

    def kept(model: str) -> str:
        of = [row for row in rows("memory/memory.csv") if (row["model"], row["width"]) == (model, "128")]
        saved = {row["batch"]: int(row["saved"]) for row in of}
        return f"{(saved['4'] - saved['2']) / 2 / 1e6:.0f}"

    shape = {row["what"]: more(row) for row in rows("sweep/sweep.csv")}
    dropped = {row["dropout"]: f"{float(row['more']):+.2f}" for row in rows("dropout/dropout.csv")[1:]}
    trained = {row["kind"]: row for row in rows("contrastive/answer.csv") if row["measure"] == "loss"}
    pushed = [float(row["more"]) for kind, row in trained.items() if kind not in ("plain", "no push")]
    bits = float(rows("compressor/answer.csv")[1]["more"])
    lines = [
        ("width matters", f"64 wide {shape['64x4']}, 256 wide {shape['256x4']} against 128", "holds"),
        (
            "depth matters",
            f"8 layers {shape['128x8']}, 2 layers {shape['128x2']} against 4",
            "holds from 4 to 8; from 2 to 4 this much data cannot say",
        ),
        (
            "heads hardly do",
            f"1 head {shape['128x4x1']}, 16 heads {shape['128x4x16']} against 4",
            "holds from 1 to 4; not for 16 heads of 8 dimensions",
        ),
        (
            "dropout hurts at one epoch",
            f"{', '.join(dropped.values())} by {', '.join(dropped)} of it",
            "holds for stories seen at most once; over a whole epoch this much data cannot say",
        ),
        (
            "contrastive training helps",
            f"{min(pushed):+.2f} to {max(pushed):+.2f} with a push, "
            f"{float(trained['no push']['more']):+.2f} without one",
            "does not, by the loss; graded stories or far longer training this much data cannot say",
        ),
        (
            "the compressor saves memory",
            f"{kept('compressor as published, 50k')} MB a row where GPT-2 keeps "
            f"{kept('GPT2LMHeadModel, dropout 0.1, 50k')}; matched {kept('compressor matched, 4k')} where its baseline "
            f"keeps {kept('tslens, 4k')}, and {bits:+.3f} bits per byte",
            "not as published; matched a fifth, at a price",
        ),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [("published", "here", "verdict"), ("---",) * 3, *lines])


BLOCKS = {
    "conclusions": conclusions,
    "arithmetic": arithmetic,
    "gpu": gpu,
    "tree": tree,
    "studies": studies,
    "findings": findings,
    "comparison": comparison,
    "bench": table("bench"),
    "bench_bf16": table("bench/bf16"),
    "bench_copies": table("bench/copies"),
    "bench_completions": table("bench/completions"),
    "peers": table("peers"),
    "audit": table("audit"),
}
PAGES = ("README.md", "docs/architecture.md", "docs/benchmarks.md", "docs/findings.md", "docs/howto/several-gpus.md")


def filled(text: str) -> str:
    """The text with every block written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found['name']]()}{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        place = ROOT / page
        place.write_text(filled(place.read_text(encoding="utf-8")), encoding="utf-8")
