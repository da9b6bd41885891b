import dataclasses
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.report.conftest import EVIL
from tslens import report
from tslens.analysis.heads import ROLES, PatternResult
from tslens.plots.text import shown
from tslens.report.clearest import FEW, UNCOUNTED, _strongest, clearest
from tslens.report.compute import ReportData


def test_the_best_supported_come_first_each_with_an_example(made: Callable[..., ReportData]) -> None:
    data = dataclasses.replace(made(layers=2, heads=4, tokens=20), causes=None)
    names = ["positional", "previous token", "diffuse", "self", "unresolved", "content-dependent", "positional", "self"]
    data.heads.role_code[:] = torch.tensor([ROLES.index(name) for name in names]).view(2, 4)
    data.heads.effect_low[:] = torch.tensor([0.2, 0.4, 0.9, 0.3, 0.9, 0.9, 0.6, 0.1]).view(2, 4)
    plain = re.sub('<a class="term"[^>]*>(.*?)</a>', r"\1", clearest(data))
    found = re.findall('<a href="#([^"]*)">Head ([^<]*)</a> <span>([a-z ]*),', plain)
    assert [(place, role) for _, place, role in found] == [
        ("1.2", "positional"), ("0.1", "previous token"), ("0.3", "self"),
    ]  # fmt: skip
    text = html.unescape(re.sub("<[^>]*>", "", clearest(data)))
    keys = {"self": torch.eye(20), "previous token": torch.ones(20, 20).triu(-1).tril(-1)}
    for address, place, role in found:
        (layer, head), tokens = map(int, place.split(".")), data.patterns[0].tokens
        weights, about = data.patterns[0].pattern[layer, head], keys.get(role, torch.ones(20, 20).tril(-1))
        about[:2] = about[:, 0] = 0
        query, key = divmod(int((weights * about).argmax()), len(tokens))
        assert html.unescape(address) == f"head={place}&story=0&token={query}"
        asked, seen = (shown(tokens[at]) for at in (query, key))
        assert f"“{asked}” looks at “{seen}” with {float(weights[query, key]):.0%} of its attention." in text


@pytest.mark.parametrize(
    ("role", "tokens", "pair"),
    [
        ("BOS sink", "^abcdef", (3, 0)),
        ("duplicate token", "^abcbef", (4, 2)),
        ("induction", "^abcaef", (4, 2)),
        ("previous token", "^abcdef", (4, 3)),
        ("self", "^abcdef", (5, 5)),
        ("induction", "^abcdef", None),
    ],
)
def test_an_example_is_of_the_keys_that_the_role_is_about(role: str, tokens: str, pair: tuple[int, int] | None) -> None:
    pattern = torch.full((7, 7), 0.1)
    pattern[6, 1] = 0.5  # the most of all, and no key of any of these roles
    if pair:
        pattern[pair] = 0.4
    shown = PatternResult("m", tokens, list(tokens), pattern[None, None])
    assert _strongest(shown, 0, 0, role) == pair


def test_what_twins_earn_too_is_not_shown(made: Callable[..., ReportData]) -> None:
    data = made()
    assert UNCOUNTED not in clearest(data)
    alone = clearest(dataclasses.replace(data, twins=None))
    assert UNCOUNTED in alone and 'href="#head=' in alone and 'href="#neuron=' in alone
    page = report.draw(data)
    assert page.index('id="findings-title"') < page.index("The clearest") < page.index('class="findings"')  # they lead
    assert data.twins is not None
    few = dataclasses.replace(data.twins, leads=torch.zeros_like(data.twins.leads))  # no twin has as many
    assert FEW.format(len(few.twins)) in clearest(dataclasses.replace(data, twins=few))
    earned = dataclasses.replace(data.twins, most=data.twins.count + 1, leads=torch.zeros_like(data.twins.leads))
    assert clearest(dataclasses.replace(data, twins=earned)) == ""


def test_neurons_whose_label_predicts_stand_in_their_strongest_context(made: Callable[..., ReportData]) -> None:
    data = made()
    found = re.findall(r'<a href="#neuron=(\d+)\.(\d+)">.*?<p>(.*?)</p>', clearest(data), re.DOTALL)
    t = data.neurons.tested
    named = torch.where(data.neurons.clear, t.least, -1.0)
    assert len(found) == min(3, int((named >= 0).sum())) > 0
    for layer, neuron, example in found:
        assert float(named[int(layer), int(neuron)]) >= float(named.flatten().sort(descending=True).values[2])
        profiles, at = data.neurons.profiles, (int(layer), int(neuron))
        first = profiles.top_tags[at].tolist().index(int(t.label[at]))
        peak = profiles.pieces[int(profiles.top_contexts[(*at, first, 5)])]
        assert f"<mark>{html.escape(shown(peak))}</mark>" in example


def test_none_is_shown_where_none_has_evidence_and_text_stays_text(made: Callable[..., ReportData]) -> None:
    data = dataclasses.replace(made(), causes=None)
    data.heads.role_code[:] = ROLES.index("content-dependent")
    data.neurons.tested.label[:] = -1
    assert clearest(data) == ""
    assert EVIL not in clearest(made())


@pytest.mark.thorough
def test_a_press_opens_it(made: Callable[..., ReportData], opener: Any, tmp_path: Any) -> None:
    data = made(layers=3, heads=4)
    page = opener(report.write(report.draw(data), tmp_path / "report.html"))
    for kind, opened in (("head", '.head[aria-selected="true"]'), ("neuron", "tr.row.open")):
        page.click(f'ul.clearest a[href^="#{kind}="]')
        said = page(f"return new URLSearchParams(location.hash.slice(1)).get('{kind}')")
        layer, place = map(int, said.split("."))
        width = 4 if kind == "head" else data.neurons.profiles.max.shape[1]
        page.until(f"document.querySelector('{opened}')?.dataset.{kind} === '{layer * width + place}'")
    assert page.complaints() == []
