"""The clearest heads and neurons of a page, each with an example and a link that opens it."""

import html
from collections.abc import Iterator
from typing import NamedTuple

import torch

from tslens.analysis.heads import EVIDENT, ROLES, PatternResult
from tslens.plots.text import shown
from tslens.report.compute import ReportData
from tslens.report.glossary import explained
from tslens.twins import TwinsResult

WITH_ROLE = "heads with a role"
PREDICTING = "part-of-speech neurons that predict"
MOST = 3
"""Heads, and neurons."""
UNCOUNTED = "No untrained twin was counted beside them (--twins 19 counts some): an untrained model may have as many."
FEW = "{} untrained twins have fewer of them, which is too few twins, or stories, to say that this is training."
FIRST, LAST = 2, 64
"""Tokens of the first story among which a head's example is sought: of these the page nearly always has attention."""


class _Clear(NamedTuple):
    """A head or a neuron: its place in the page's address, its name, its label, and an example as HTML."""

    address: str
    name: str
    label: str
    example: str


def clearest(data: ReportData) -> str:
    """A list of at most three heads with a role and three neurons whose label is clear, best evidence first, as HTML:
    of each where the count exceeds that of every untrained twin, or none was counted. Empty where there is none."""
    clear = [*_heads(data), *_neurons(data)]
    doubt = f'<p class="muted">{html.escape(said)}</p>\n' if (said := _doubt(data.twins)) else ""
    items = "\n".join(
        f'<li><a href="#{one.address}">{html.escape(one.name)}</a> <span>{explained(one.label)}</span>'
        f"<p>{one.example}</p></li>"
        for one in clear
    )
    return f'<h3>The clearest</h3>\n{doubt}<ul class="clearest">\n{items}\n</ul>' if items else ""


def _doubt(twins: TwinsResult | None) -> str:
    """Why what exceeds every twin, or stands beside none, is not yet due to training; empty where it is."""
    if twins is None:
        return UNCOUNTED
    exceed = [label for label in (WITH_ROLE, PREDICTING) if label in twins.labels and twins.exceeds(label)]
    return "" if all(twins.leads[twins.place(label)] for label in exceed) else FEW.format(len(twins.twins))


def _heads(data: ReportData) -> Iterator[_Clear]:
    if data.twins and not data.twins.exceeds(WITH_ROLE):
        return
    roles = data.heads if data.causes is None else data.causes.roles
    evident = torch.isin(roles.role_code, torch.tensor([ROLES.index(role) for role in EVIDENT]))
    for layer, head in _best(evident, roles.effect_low):
        low, high = float(roles.effect_low[layer, head]), float(roles.effect_high[layer, head])
        address, example = f"head={layer}.{head}", ""
        if data.patterns and (pair := _strongest(data.patterns[0], layer, head, roles.roles[layer][head])):
            (query, key), tokens = pair, data.patterns[0].tokens
            share = float(data.patterns[0].pattern[layer, head, query, key])
            seen = "the beginning" if key == 0 else _quoted(tokens[key])
            example = f"{_quoted(tokens[query])} looks at {seen} with {share:.0%} of its attention."
            address += f"&amp;story=0&amp;token={query}"
        effect = f"effect {float(roles.effect[layer, head]):.2f} [{low:.2f}, {high:.2f}]"
        yield _Clear(address, f"Head {layer}.{head}", f"{roles.roles[layer][head]}, {effect}", example)


def _strongest(shown: PatternResult, layer: int, head: int, role: str) -> tuple[int, int] | None:
    """The query and the key with the most attention among the keys that the role is about; None where there is none."""
    n, names = min(LAST, len(shown.tokens)), shown.tokens[:LAST]
    same = torch.tensor([[names[query] == names[key] for key in range(n)] for query in range(n)])
    own, before = torch.eye(n, dtype=torch.bool), torch.ones(n, n, dtype=torch.bool).tril(-1)
    follows = torch.zeros_like(same)
    follows[:, 1:] = (same & before)[:, :-1]
    begins = torch.zeros_like(same)
    begins[:, 0] = True
    keys = {"self": own, "BOS sink": begins, "duplicate token": same & before, "induction": follows & before}
    keys["previous token"] = torch.ones(n, n, dtype=torch.bool).triu(-1) & before
    about = keys.get(role, before)
    about[:FIRST] = False
    if role != "BOS sink":
        about[:, 0] = False
    if not about.any():
        return None
    query, key = divmod(int(torch.where(about, shown.pattern[layer, head, :n, :n], -1.0).argmax()), n)
    return query, key


def _neurons(data: ReportData) -> Iterator[_Clear]:
    if data.neurons is None or (data.twins and not data.twins.exceeds(PREDICTING)):
        return
    tested, neurons = data.neurons.tested, data.neurons.profiles
    for layer, neuron in _best(data.neurons.clear, tested.least):
        first = int((neurons.top_tags[layer, neuron] == tested.label[layer, neuron]).int().argmax())
        window = [neurons.pieces[t] if t >= 0 else "" for t in neurons.top_contexts[layer, neuron, first].tolist()]
        middle = len(window) // 2
        before, after = ("".join(part) for part in (window[:middle], window[middle + 1 :]))
        peak = f"<mark>{html.escape(shown(window[middle]))}</mark>"
        example = f"… {html.escape(before.lstrip())} {peak}{html.escape(after)} …"
        area = f"{float(tested.value[layer, neuron, 0]):.2f}, at least {float(tested.low[layer, neuron, 0]):.2f}"
        yield _Clear(
            f"neuron={layer}.{neuron}",
            f"Neuron {layer}.{neuron}",
            f"{tested.label_of(layer, neuron)}, AUROC on other stories {area}",
            example,
        )


def _best(chosen: torch.Tensor, support: torch.Tensor) -> list[tuple[int, int]]:
    """Layer and place of at most `MOST` of the chosen, the best supported first."""
    support = torch.where(chosen, support.nan_to_num(-1.0), -torch.inf)
    best = support.flatten().argsort(descending=True, stable=True)[: min(MOST, int(chosen.sum()))]
    return [divmod(int(at), support.shape[1]) for at in best]


def _quoted(token: str) -> str:
    return f"“{html.escape(shown(token))}”"
