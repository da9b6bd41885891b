from collections.abc import Callable

import numpy as np
import torch

from tslens.analysis.neurons.held_out_measures import AUROC, MEASURES
from tslens.analysis.neurons.held_out_result import ALIKE, WORDS
from tslens.report import ReportData
from tslens.report.embed import Words, unpack
from tslens.report.neurons import Detail, best_supported, different_tokens, label_tests, neurons
from tslens.report.payload import curve, depth, heads, lens


def test_scores_are_listed_head_by_head(made: Callable[..., ReportData]) -> None:
    answer = made(layers=2, heads=3).heads
    content = heads(answer)
    assert content["shape"] == [2, 3]
    previous = next(score for score in content["scores"] if score["label"] == "mass on the token before")
    assert np.allclose(previous["values"], answer.previous.flatten(), atol=1e-4)
    assert content["roles"][content["role"][4]]["name"] == answer.roles[1][1]


def test_no_number_becomes_null(made: Callable[..., ReportData]) -> None:
    answer = made().heads
    answer.previous[0, 1] = float("nan")
    previous = next(score for score in heads(answer)["scores"] if score["label"] == "mass on the token before")
    assert previous["values"][1] is None


def test_contexts_are_those_of_the_answer(made: Callable[..., ReportData]) -> None:
    answer = made(d_mlp=16).neurons.profiles
    words = Words(answer.pieces)
    content = neurons(answer, words, Detail(full=32, rest=0))
    corpus, tops = unpack(content["corpus"]), unpack(content["tops"]).reshape(2, 16, 6)
    for index in ((0, 0, 0), (1, 7, 3), (1, 15, 2)):
        window = answer.top_contexts[index].tolist()
        place = int(tops[index])
        assert words.texts[corpus[place]] == answer.pieces[window[5]]
        after = [answer.pieces[t] for t in window[6:] if t >= 0]
        assert [words.texts[t] for t in corpus[place + 1 : place + 1 + len(after)]] == after
    values = unpack(content["values"]).reshape(2, 16, 6)
    assert np.allclose(values, answer.top_values, atol=1e-3)


def test_a_label_stands_beside_its_test_on_other_stories(made: Callable[..., ReportData]) -> None:
    """Of five neurons one label predicts, one does not, one is too rare, one is another on half of the stories."""
    data = made(layers=1, d_mlp=5)
    answer, tested = data.neurons.profiles, data.neurons.tested
    answer.label[:], answer.by_word[:] = torch.tensor([[0, 1, 2, 0, -1]]), False
    tested.label[:], tested.by_word[:] = torch.tensor([[0, 1, 2, 1, 3]]), False
    tested.low[..., [AUROC, ALIKE, WORDS]] = torch.tensor([[0.8, 0.6, torch.nan, 0.9, 0.9]])[..., None]
    content = label_tests(tested.qualify(answer), tested)
    said = [content["names"][i] for i in unpack(content["test"])]
    assert said == ["predicts", "tail selector", "untested", "untested", ""]
    assert unpack(content["neurons"]).tolist() == [0, 1, 2]
    assert np.allclose(unpack(content["auroc_low"]), [0.8, 0.6, np.nan], atol=1e-3, equal_nan=True)
    precision = tested.value[0, :3, MEASURES.index("precision")]
    assert np.allclose(unpack(content["precision"]), precision, atol=1e-3)


def test_a_neuron_that_is_not_in_full_keeps_its_strongest_contexts(made: Callable[..., ReportData]) -> None:
    answer = made(layers=1, d_mlp=3, ranks=6).neurons.profiles
    answer.label[:], answer.by_word[:] = -1, False
    answer.q[0], answer.auroc[0] = torch.tensor([0.5, 0.01, 0.2]), 0.7
    words = Words(answer.pieces)
    content = neurons(answer, words, Detail(full=1, rest=2))
    assert unpack(content["full"]).tolist() == [1]
    shown = [*answer.top_values[0, 0, :2], *answer.top_values[0, 1], *answer.top_values[0, 2, :2]]
    assert np.allclose(unpack(content["values"]), shown, atol=1e-3)
    assert [words.texts[t] for t in unpack(content["corpus"])[unpack(content["tops"])]] == [
        answer.pieces[t] for t in [*answer.top_tokens[0, 0, :2], *answer.top_tokens[0, 1], *answer.top_tokens[0, 2, :2]]
    ]
    assert [words.texts[t] for t in unpack(content["promoted"])] == [
        answer.pieces[t] for t in answer.promoted_tokens[0, 1]
    ]
    assert np.allclose(unpack(content["samples"]["random"]), answer.random_values[0, 1], atol=1e-3)


def test_the_best_supported_by_hand(made: Callable[..., ReportData]) -> None:
    answer = made(layers=1, d_mlp=6).neurons.profiles
    nan = float("nan")
    answer.label[0] = torch.tensor([-1, 2, 2, -1, -1, 0])
    answer.by_word[0] = torch.tensor([False, False, False, True, False, False])
    answer.q[0] = torch.tensor([0.2, 0.02, 0.02, 1.0, nan, 0.03])
    answer.auroc[0] = torch.tensor([0.9, 0.6, 0.8, 0.1, nan, 0.9])
    answer.word_q[0], answer.word_auroc[0] = torch.tensor([nan, nan, nan, 0.001, nan, nan]), 0.7
    assert best_supported(answer).tolist() == [3, 2, 1, 5, 0, 4]


def test_samples_are_those_of_the_answer(made: Callable[..., ReportData]) -> None:
    answer = made(d_mlp=16).neurons.profiles
    words = Words(answer.pieces)
    samples = neurons(answer, words, Detail(full=32, rest=0))["samples"]
    places, index = unpack(samples["places"]), unpack(samples["index"]).reshape(2, 16, 3, 2)
    corpus = unpack(neurons(answer, words, Detail(full=32, rest=0))["corpus"])
    chosen = int(answer.quantile_samples[1, 3, 2, 1])
    shown = words.texts[corpus[places[index[1, 3, 2, 1]]]]
    assert shown == answer.pieces[int(answer.sample_tokens[chosen])]


def test_different_tokens_by_hand(made: Callable[..., ReportData]) -> None:
    answer = made(layers=1, d_mlp=3, ranks=4).neurons.profiles
    answer.top_tokens[0] = torch.tensor([[5, 5, 5, 5], [1, 2, 1, -1], [-1, -1, -1, -1]])
    assert different_tokens(answer).tolist() == [[1, 2, 0]]


def test_the_lens_has_every_position_of_every_depth(made: Callable[..., ReportData]) -> None:
    data = made(layers=2, tokens=10)
    words = Words(data.neurons.profiles.pieces)
    content = lens(data.lenses, words, 29)
    assert content is not None
    top = unpack(content["stories"][0]["top"]).reshape(3, 10, 5)
    assert words.texts[top[2, 4, 0]] == data.lenses[0].top_tokens[2][4][0]
    assert unpack(content["stories"][0]["rank"]).reshape(3, 10)[:, -1].tolist() == [0, 0, 0]
    assert lens([], words, 29) is None


def test_the_chart_of_agreement_has_the_range_of_untrained_twins(made: Callable[..., ReportData]) -> None:
    data = made(layers=2)
    own, twins = depth(data.depth, data.twins)[1]["series"]
    assert own["name"] == "same top token" and twins["name"].startswith("2 untrained twins")
    assert twins["low"] == [0.1, 0.61, 1.0] and twins["high"] == [0.2, 0.93, 1.0]
    assert len(depth(data.depth)[1]["series"]) == 1


def test_the_curve_is_against_tokens_or_else_steps() -> None:
    records = [{"step": 10 * i, "tokens": 100 * i, "train_loss": 3.0 / i, "validation_loss": None} for i in (1, 2, 3)]
    by_tokens = curve(records)
    assert by_tokens is not None
    assert by_tokens["x"] == [100, 200, 300]
    assert [line["name"] for line in by_tokens["series"]] == ["training"]
    by_step = curve([{k: v for k, v in record.items() if k != "tokens"} for record in records])
    assert by_step is not None
    assert (by_step["x"], by_step["xLabel"]) == ([10, 20, 30], "step")
    assert curve([]) is None
    assert curve(records[:1]) is None  # one point is no curve
