import dataclasses
import html
import re
from collections.abc import Callable

import torch

from tslens.analysis.heads import ROLES
from tslens.analysis.neurons.held_out_measures import AUROC
from tslens.analysis.neurons.held_out_result import ALIKE, WORDS
from tslens.report import ReportData, draw
from tslens.report.about import published_rule
from tslens.report.findings import Finding, findings


def test_findings_carry_the_numbers_of_the_answers(made: Callable[..., ReportData]) -> None:
    data = made(layers=1, heads=4)
    data.heads.role_code[:] = torch.tensor([[ROLES.index(r) for r in ("previous token", "unresolved", "self", "self")]])
    data.heads.effect[:] = torch.tensor([[0.9, 0.99, 0.5, 0.4]])
    data.heads.effect_low[:] = data.heads.effect - 0.1
    data.heads.effect_high[:] = data.heads.effect + 0.1
    data.heads.q[:] = 0.0001
    roles = finding_about(data, "have a role")
    assert roles.figure == "2 of 4 heads" and roles.leads
    assert roles.claim == "have a role that beats its null on 100 stories (untrained twins: 0)."
    assert "On all 9 stories: 2 self and 1 previous token. The clearest is" in roles.evidence
    assert "layer 0, head 0, previous token: effect 0.90 [0.80, 1.00], q < 0.001." in roles.evidence
    assert "On 100 stories: 2 [1.5, 2.5], 2 untrained twins 0, p = 0.33." in roles.evidence
    few = finding_about(dataclasses.replace(data, twins=dataclasses.replace(data.twins, stories=60)), "have a role")
    assert "On 60 stories: 2 [1.5, 2.5] (too narrow on fewer than 96 stories), 2 untrained twins 0," in few.evidence


def test_what_twins_earn_too_is_no_role_and_does_not_lead(made: Callable[..., ReportData]) -> None:
    data = made(layers=1, heads=4)
    described = ("content-dependent", "content-dependent", "diffuse", "self")
    data.heads.role_code[:] = torch.tensor([[ROLES.index(role) for role in described]])
    found = findings(data)
    assert [finding.leads for finding in found] == sorted((finding.leads for finding in found), reverse=True)
    by_claim = {finding.claim: finding for finding in found}
    (roles,) = (f for claim, f in by_claim.items() if claim.startswith("have a role"))
    assert roles.figure == "2 of 4 heads" and "On all 9 stories: 1 self. " in roles.evidence
    assert roles.evidence.endswith("Of the others 2 content-dependent and 1 diffuse: descriptions, not roles.")
    (words,) = (f for claim, f in by_claim.items() if "one word" in claim)
    assert not words.leads and "(untrained twins: 5 to 8)" in words.claim and "says nothing about" in words.evidence
    assert "(untrained twins: 9 to 17) have a label." in words.evidence
    without = findings(dataclasses.replace(data, twins=None, causes=None))  # causes have twins of their own
    assert not any(f.leads for f in without if f.section in ("heads", "neurons"))
    assert any("not compared with untrained twins" in f.claim for f in without)


def test_nothing_found_is_said(made: Callable[..., ReportData]) -> None:
    data = made(twins=None)
    data.heads.role_code[:] = ROLES.index("unresolved")
    data.neurons.tested.label[:] = -1
    data.neurons.tested.by_word[:] = False
    figures = [finding.figure for finding in findings(data)]
    assert "0 of 8 heads" in figures
    assert "0 of 64 neurons" in figures
    assert "0 induction heads" in figures


def test_one_story_gives_no_interval(made: Callable[..., ReportData]) -> None:
    data = made()
    loss = data.loss
    one = dataclasses.replace(
        data,
        loss=dataclasses.replace(loss, nats=loss.nats[:1], tokens=loss.tokens[:1], text_bytes=loss.text_bytes[:1]),
    )
    one.depth.agreement_low[:] = one.depth.agreement_high[:] = torch.nan
    said = [finding.evidence for finding in findings(one)]
    loss = finding_about(one, "needs to predict").evidence
    assert loss.startswith("1 story, ") and "one story gives no interval" in loss
    assert "one story gives no interval" in finding_about(one, "before the last block").evidence and not any(
        "nan" in evidence for evidence in said
    )


def test_the_loss_does_not_lead_since_it_has_no_twin_beside_it(made: Callable[..., ReportData]) -> None:
    found = findings(made())
    assert found[0].leads and not finding_about(made(), "needs to predict").leads


def test_a_headline_is_counted_on_the_stories_of_its_twins(made: Callable[..., ReportData]) -> None:
    """Of a head with a role, of an induction head, of one that matters, and of what settles."""
    figures = {finding.figure for finding in findings(made())}
    assert {"2 of 8 heads", "1 induction head", "3 of 8 heads matter", "20 of 64 neurons", "55% settled"} <= figures
    assert "on 32 stories (untrained twins: 0 to 1)." in finding_about(made(), "ablated").claim


def test_every_finding_points_to_a_section(made: Callable[..., ReportData]) -> None:
    assert {finding.section for finding in findings(made())} == {"model", "heads", "neurons", "lens"}


def finding_about(data: ReportData, words: str) -> Finding:
    """The finding whose claim has these words."""
    (found,) = (finding for finding in findings(data) if words in finding.claim)
    return found


def test_labels_that_predict_are_counted_and_the_best_of_them_is_shown(made: Callable[..., ReportData]) -> None:
    data = made(layers=1, d_mlp=4)
    tested = data.neurons.tested
    tested.label[:] = torch.tensor([[0, 0, -1, 1]])
    tested.by_word[:] = torch.tensor([[False, False, True, False]])
    tested.low[..., [AUROC, ALIKE, WORDS]] = torch.tensor([[0.71, 0.825, 0.9, 0.6]])[..., None]
    data.neurons.profiles.label[:] = torch.tensor([[0, 0, -1, 1]])
    data.neurons.profiles.top_tags[:] = torch.tensor([[0, 0, 0, 1]])[..., None]
    found = finding_about(data, "part of speech")
    assert found.figure == "20 of 4 neurons" and found.leads  # the count that interval and twins are of
    assert found.claim.endswith("frequent, on 100 stories (untrained twins: 0).")
    assert "half gives 3 such labels, of which 1 do not predict" in found.evidence
    assert "The 2 that predict are 2 NOUN." in found.evidence
    assert "Before this test 30 (untrained twins: 0 to 1) have a label. On all 60 stories" in found.evidence
    alone = finding_about(dataclasses.replace(data, twins=None), "part of speech")
    assert alone.figure == "2 of 4 neurons" and "Before this test 3 have a label. On all 60 stories" in alone.evidence
    assert "For instance 0.1, NOUN: AUROC" in found.evidence and "[0.82, " in found.evidence
    assert "no such label" not in found.evidence
    data.neurons.profiles.top_tags[0, 1, :3] = 2  # half of its top tokens: the label is not that of most
    odd = finding_about(data, "part of speech").evidence
    assert "On all stories 1 of these 2 have no such label, or few top tokens that fit it." in odd
    assert "For instance 0.0, NOUN: AUROC" in odd
    tested.low[..., ALIKE] = 0.6
    none = finding_about(data, "part of speech")
    assert not none.leads and "For instance" not in none.evidence
    none_tested = dataclasses.replace(data.neurons, tested=dataclasses.replace(tested, n_tested=0))
    untested = dataclasses.replace(data, neurons=none_tested)
    assert "one half of the stories has no token" in finding_about(untested, "part of speech").evidence


def test_neurons_of_one_word_alone(made: Callable[..., ReportData]) -> None:
    data = made(layers=1, d_mlp=2)
    n = data.neurons.tested
    n.label[:] = -1
    n.by_word[:] = torch.tensor([[False, True]])
    n.word[:] = n.pieces.index(" and")
    n.low[..., [AUROC, ALIKE, WORDS]] = 0.8
    found = finding_about(dataclasses.replace(data, twins=None), "one word")
    assert found.figure == "1 of 2 neurons"
    assert "For instance 0.1, token: and" in found.evidence


def test_the_causal_half_gives_both_signs(made: Callable[..., ReportData]) -> None:
    data = made(layers=1, heads=4)
    data.heads.r_causal[:] = torch.tensor([[0.6, 0.5, -0.7, -0.51]])
    note = published_rule(data)
    fading = "below -0.5, where attention fades with distance, in 2 (untrained twins: 1). "
    assert f"it is above 0.5 in 1 (untrained twins: 0 to 3) and {fading}" in note
    assert "published rule on 100 stories (untrained twins: 6 to 7): correlation" in note
    assert "of 3 (untrained twins: 0) is above 0.5 with its whole interval" in note and "p = 1.00" in note
    without = published_rule(dataclasses.replace(data, twins=None))
    assert "in 1 and below -0.5" in without and without.count("twins") == 1
    assert html.escape(note.partition(": correlation")[0]) in re.sub(
        "<[^>]*>", "", draw(data).partition('id="about"')[2]
    )


def test_neurons_that_never_fire_stand_beside_their_twins(made: Callable[..., ReportData]) -> None:
    data = made()
    data.neurons.profiles.firing_rate[0, :3] = 0.0
    assert finding_about(data, "one word").evidence.endswith(" 4 (untrained twins: 2 to 5) never fire.")


def test_the_depth_leads_only_where_untrained_twins_settle_less(made: Callable[..., ReportData]) -> None:
    data = made(layers=2)  # of the twins the last block finds 61% and 93% settled
    data.depth.agreement[1] = 0.5
    found = finding_about(data, "before the last block")
    assert found.figure == "55% settled" and not found.leads
    assert "untrained twins: 61% to 93%)." in found.claim
    assert "On 100 stories: 550 of 1,000 positions [549.5, 550.5], 2 untrained twins 610 to 930" in found.evidence
    assert "every untrained twin has more." in found.evidence
    assert data.twins is not None
    fewer = dataclasses.replace(data.twins, leads=torch.ones_like(data.twins.leads))
    assert finding_about(dataclasses.replace(data, twins=fewer), "before the last block").leads
    alone = finding_about(dataclasses.replace(data, twins=None), "before the last block")
    assert not alone.leads and "not compared with untrained twins" in alone.claim
