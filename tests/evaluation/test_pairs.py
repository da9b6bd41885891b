"""Minimal pairs: sums by the hooked forward, ties, identical pairs, swapped pairs, intervals, and files of others."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as scipy_stats

from tslens import cli, models, stats
from tslens.cli.pairs import n_grams_of
from tslens.errors import InputError
from tslens.evaluation.pairs import PairSet, PairsResult, known, other_data, own_pairs, read_pairs, score
from tslens.models import Spec, build
from tslens.ngrams import five_gram, keeping, kneser_ney
from tslens.report import answers
from tslens.stories.digests import digest_of
from tslens.stories.pairs.phenomena import MinimalPair
from tslens.tokenizer import Tokenizer

ROWS = [
    ("The dog was big.", "The dog were big."),
    ("The dogs were big.", "The dogs was big."),
    ("Hi.", "Ho there, hi."),
]


def pair_set(rows=ROWS, paradigm="made") -> PairSet:
    return PairSet("made", tuple(MinimalPair(good, bad, paradigm, i // 2) for i, (good, bad) in enumerate(rows)))


def swapped(pairs: PairSet) -> PairSet:
    return replace(pairs, pairs=tuple(replace(p, good=p.bad, bad=p.good) for p in pairs.pairs))


class Length:
    """Shorter texts are more probable: an n-gram model that ties on texts of one length."""

    def log_probabilities(self, texts: Sequence[str]) -> list[float]:
        return [-float(len(text.split())) for text in texts]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train([text for row in ROWS for text in row] * 3, 290)
    return build(Spec(16, 1, 2, d_vocab=tokenizer.size, n_ctx=256), tokenizer=tokenizer, seed=4)


@pytest.fixture(scope="module")
def ours() -> PairSet:
    return own_pairs(20, names=["agreement", "negation", "who has what", "sentence order"])


def test_sums_equal_the_hooked_forward(model):
    result = score({"m": model}, pair_set(), batch_tokens=30)  # several batches
    for texts, found in ((result.goods, result.good[0]), (result.bads, result.bad[0])):
        for text, value in zip(texts, found.tolist(), strict=True):
            ids = models.tokenizer_of(model).encode([text])[0]
            with torch.no_grad():
                logp = model(torch.tensor([ids])).log_softmax(-1)[0]
            assert value == pytest.approx(sum(float(logp[k, b]) for k, (_, b) in enumerate(pairwise(ids))), abs=1e-4)


def test_swapping_gives_exactly_one_minus_the_score(model, ours):
    one = score({"m": model}, ours, n_grams={"length": Length()})
    other = score({"m": model}, swapped(ours), n_grams={"length": Length()})
    for scorer in one.scorers:
        assert (other.right(scorer) == 1 - one.right(scorer)).all()
        assert other.macro(scorer).estimate == pytest.approx(1 - one.macro(scorer).estimate, abs=1e-15)
        assert other.macro(scorer).low == pytest.approx(1 - one.macro(scorer).high, abs=1e-12)
        for paradigm in one.paradigms:
            assert other.score(scorer, paradigm).estimate == 1 - one.score(scorer, paradigm).estimate


def test_a_tie_is_half_and_lengths_are_told_apart():
    result = score({}, pair_set(), n_grams={"length": Length()})
    assert result.right("length").tolist() == [0.5, 0.5, 1.0]
    row = result.summary().iloc[0]
    assert (row["equal_length"], row["equal_pairs"], row["unequal_length"], row["unequal_pairs"]) == (0.5, 2, 1.0, 1)


def test_length_scores_one_half_on_ours(ours):
    result = score({}, ours, n_grams={"length": Length()})
    assert result.macro("length").estimate == 0.5
    assert result.local == []


def test_order_stands_apart(model, ours):
    result = score({"m": model}, ours)
    means = [result.score("m", name).estimate for name in ("agreement", "negation", "who has what")]
    assert result.macro("m").estimate == pytest.approx(np.mean(means))
    assert result.macro("m", "order").estimate == result.score("m", "sentence order").estimate
    assert {"order", "trained_on_order"} <= set(result.summary().columns)
    with pytest.raises(InputError, match="axes: "):
        result.macro("m", "colour")


def test_a_paradigm_of_which_five_words_tell_is_local():
    goods = {good for good, _ in ROWS}
    right = type("Oracle", (), {"log_probabilities": lambda self, texts: [float(text in goods) for text in texts]})
    result = score({}, pair_set(), n_grams={"oracle": right()})
    assert result.local == ["made"] and result.by_paradigm()["local"].all()


def test_the_5_gram_reads_many_texts_at_once_and_gives_the_same_bits(ours, made_stories, monkeypatch):
    monkeypatch.setattr(kneser_ney, "AT_ONCE", 7)
    n_gram, odd = five_gram(made_stories), MinimalPair("", "zyx zyx. \N{SNOWMAN}", "odd", 0)
    result = score({}, replace(ours, pairs=(odd, *ours.pairs)), n_grams={"5-gram": n_gram})
    for texts, found in ((result.goods, result.good[0]), (result.bads, result.bad[0])):
        assert found.tolist() == [n_gram.log_probability(text) for text in texts]


def test_intervals_by_hand():
    values, clusters = np.array([1, 1, 0, 0, 1, 0.0]), np.array([0, 0, 1, 1, 2, 2])
    found = stats.clustered_share(values, clusters)
    effect = (2 * 1.0**2) * 3 / 2 / (6 * 0.25)  # the sums of the clusters' residuals are 1, -1 and 0
    few = (scipy_stats.norm.ppf(0.975) / scipy_stats.t.ppf(0.975, 2)) ** 2  # three clusters
    expected = stats.wilson(3 / effect * few, 6 / effect * few)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    all_right = stats.clustered_share(np.ones(6), clusters)
    assert all_right.low == pytest.approx(stats.wilson(3, 3).low)
    alone = stats.macro_mean(values, np.zeros(6), np.arange(6))
    usual = stats.mean_interval(values)
    assert (alone.low, alone.high) == pytest.approx((usual.low, usual.high))


def test_the_macro_mean_covers_a_known_truth():
    rng, hits = np.random.default_rng(0), 0
    shares, strata = np.repeat([0.2, 0.5, 0.9], 60), np.repeat([0, 1, 2], 60)
    for _ in range(400):
        values = np.repeat((rng.random(90) < shares[::2]).astype(float), 2)  # pairs of a set are alike
        found = stats.macro_mean(values, strata, np.repeat(np.arange(90), 2))
        hits += 0.5333333333 in found
    assert 0.92 <= hits / 400 <= 0.98


@pytest.mark.parametrize("sizes", [[1] * 8, [1, 60, 60], [1] * 4 + [30, 30], [1, 1, 20]])
def test_paradigms_of_one_pair_have_the_largest_variance(sizes):
    """Their interval is rather too long; of a single pair in all there is none."""
    rng, strata = np.random.default_rng(0), np.repeat(np.arange(len(sizes)), sizes)
    shares = np.linspace(0.4, 0.9, len(sizes))
    hits = np.zeros(2)
    for _ in range(400):
        values = (rng.random(len(strata)) < shares[strata]).astype(float)
        for i, interval in enumerate((stats.macro_mean, stats.macro_share)):
            hits[i] += shares.mean() in interval(values, strata, np.arange(len(strata)))
    assert (hits / 400 >= 0.93).all()
    one = stats.macro_share([1.0], [0], [0])
    assert one.estimate == 1 and np.isnan([one.low, one.high]).all()


@pytest.mark.parametrize("share", [0.985, 0.9, 0.5])
def test_the_macro_share_covers_a_known_truth_near_one_too(share):
    rng, hits = np.random.default_rng(0), 0
    strata = np.repeat([0, 1], 100)
    for _ in range(400):
        values = rng.random(200) < np.where(strata == 0, share, 0.99)
        hits += (share + 0.99) / 2 in stats.macro_share(values, strata, np.arange(200))
    assert 0.92 <= hits / 400 <= 0.99
    perfect = stats.macro_share(np.ones(200), strata, np.arange(200))
    assert (perfect.low, perfect.high) == pytest.approx((stats.wilson(200, 200).low, 1.0), abs=1e-3)


def test_differences_are_paired(model, ours):
    other = build(models.spec_of(model), tokenizer=models.tokenizer_of(model), seed=9)
    result = score({"a": model, "b": other}, ours)
    gap = result.difference("a", "b")
    assert gap.estimate == pytest.approx(result.macro("a").estimate - result.macro("b").estimate)
    assert result.difference("a", "a").low == result.difference("a", "a").high == 0
    row = result.differences().iloc[0]
    assert (row["scorer"], row["less"], row["difference"]) == ("a", "b", gap.estimate)


def test_figure_frame_and_file(model, ours, tmp_path):
    result = score({"m": model}, ours)
    assert [t.get_text() for t in result.figure().axes[0].get_yticklabels()] == result.paradigms
    frame = result.to_frame()
    assert len(frame) == len(result.goods) and frame["right"].mean() == pytest.approx(result.right("m").mean())
    saved = result.save(tmp_path)
    assert PairsResult.load(tmp_path).macro("m") == result.macro("m")
    for name, table in (("paradigms", result.by_paradigm()), ("summary", result.summary())):
        stored = pd.read_csv(saved / f"{name}.csv", keep_default_na=False, na_values=[""])
        pd.testing.assert_frame_equal(stored, table, check_dtype=False)
    assert (saved / "differences.csv").read_text() == "scorer,less,difference,low,high\n"  # of one model there is none
    assert "agreement" in str(result)


def test_pairs_longer_than_the_context_are_counted(model):
    rows = [*ROWS, ("The dog was big. " * 100, "The dog were big. " * 100)]
    result = score({"m": model}, pair_set(rows))
    assert (result.too_long, len(result.goods)) == (1, 3)
    with pytest.raises(InputError, match="longer than the context"):
        score({"m": model}, pair_set(rows[3:]))


def test_json_lines(tmp_path: Path):
    rows = [{"sentence_good": a, "sentence_bad": b, "UID": uid} for uid in "xyx" for a, b in ROWS]
    rows.append({"sentence_good": "Same.", "sentence_bad": "Same.", "UID": "x"})
    file = tmp_path / "p.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    found = read_pairs(file)
    assert (found.identical, len(found.pairs), {p.paradigm for p in found.pairs}) == (1, 9, {"x", "y"})
    assert len(read_pairs(file, limit=2).pairs) == 4
    assert {p.paradigm for p in read_pairs(file, least=4).pairs} == {"x"}


def test_csv(tmp_path: Path):
    file = tmp_path / "p.csv"
    file.write_text('sentence_good,sentence_bad,UID\n"A dog, a cat.",A dogs.,x\nHe is.,He are.,y\n')
    assert [(p.good, p.bad, p.paradigm) for p in read_pairs(file).pairs] == [
        ("A dog, a cat.", "A dogs.", "x"),
        ("He is.", "He are.", "y"),
    ]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_marks_and_line_separators_are_no_part_of_a_pair(tmp_path: Path, mark: str):
    for name, text in (
        ("p.txt", "A\u2028dog.\nA dogs.\n"),
        ("p.jsonl", '{"sentence_good": "A\u2028dog.", "sentence_bad": "A dogs."}\n'),
    ):
        (tmp_path / name).write_text(mark + text, encoding="utf-8")
        assert [(p.good, p.bad) for p in read_pairs(tmp_path / name).pairs] == [("A\u2028dog.", "A dogs.")]


def test_two_lines(tmp_path: Path):
    file = tmp_path / "p.txt"
    file.write_text("A dog.\nA dogs.\n\nTwo dogs.\nTwo dog.\nHe is.\nHe are.\n")
    found = read_pairs(file)
    assert [(p.good, p.bad, p.paradigm) for p in found.pairs][1:] == [
        ("Two dogs.", "Two dog.", "p"),
        ("He is.", "He are.", "p"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("p.jsonl", '{"sentence_good": "A."}', "p.jsonl, line 1 has no text 'sentence_bad': its columns are"),
        ("p.jsonl", '{"sentence_good": "A.", "sentence_bad": "B."}\n[1]', "line 2 is list; give one object a line"),
        ("p.jsonl", "{", "line 1 is not JSON"),
        ("p.jsonl", '{"sentence_good": "", "sentence_bad": "B."}', "p.jsonl, line 1 has no text 'sentence_good'"),
        ("p.csv", "sentence_good\nThe dog runs.\nShe has.\n", "p.csv, line 2 has no text 'sentence_bad'"),
        ("p.txt", "A dog.\n\nA cat.\n", "1 line in a row before line 2: one is without its partner"),
        ("p.txt", "", "no paradigm with 1 pairs"),
        ("p.txt", "Same.\nSame.\n", "no paradigm with 1 pairs of two different texts"),
    ],
)  # fmt: skip
def test_bad_files_get_one_line(in_tmp: Path, capsys, name: str, text: str, complaint: str):
    (in_tmp / name).write_text(text)
    assert cli.main(["eval", "pairs", "--model", "stories2M", "--pairs", name, "--out", "found"]) == 2
    message = capsys.readouterr().err
    assert complaint in message and message.count("\n") == 1
    assert not (in_tmp / "found").exists()


def test_known_words():
    found = known(pair_set(), ["The dog was big. The dog were small."] * 5)
    assert [p.good for p in found.pairs] == ["The dog was big."] and found.unknown == 2
    with pytest.raises(InputError, match="no pair"):
        known(pair_set(), ["the dog was big were"] * 4)


def test_command(in_tmp: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    (in_tmp / "p.txt").write_text("The dog was big.\nThe dog were big.\nThe dogs were big.\nThe dogs was big.\n")
    arguments = ["eval", "pairs", "--model", "stories2M", "--pairs", "p.txt", "--n-gram", "made@validation"]
    (in_tmp / "tales.txt").write_text(
        "The dog was big. The dogs were big.\n<|endoftext|>\nThe dogs were so big. The dog was so big."
    )
    arguments[-1] = "tales.txt"
    assert cli.main([*arguments, "--out", "found", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["scorer"] for row in record["rows"]] == ["stories2M", "5-gram of tales.txt (other data)"]
    assert record["rows"][1]["score"] == 1.0 and record["paradigms_table"][0]["local"]
    assert sorted(p.name for p in (in_tmp / "found").iterdir()) == ["p", "pairs-p.csv", "pairs-p.svg"]
    monkeypatch.setattr(keeping, "five_gram", lambda index: pytest.fail("the n-grams were counted again"))
    assert cli.main(arguments) == 0


def test_a_model_of_the_same_stories_under_another_name_has_no_other_data(in_tmp: Path, monkeypatch):
    tales = ["The dog was big.", "The dogs were big."]
    (in_tmp / "tales.txt").write_text("\n<|endoftext|>\n".join(tales))
    record = {"data": {"source": "two tales", "digests": {".": digest_of(tales)}}}
    monkeypatch.setattr(other_data, "training_record", lambda model: record if model == "own" else {})
    assert list(n_grams_of({"own": "own"}, "tales.txt")) == ["5-gram of tales.txt"]
    assert list(n_grams_of({"own": "own", "b": "b"}, "tales.txt")) == ["5-gram of tales.txt (other data than of b)"]
    record["data"]["digests"]["."] = digest_of(tales[::-1])
    assert list(n_grams_of({"own": "own"}, "tales.txt")) == ["5-gram of tales.txt (other data)"]


def test_the_last_answer_on_our_own_pairs_is_kept_for_the_page(in_tmp: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TSLENS_CACHE", str(in_tmp / "cache"))
    (in_tmp / "p.txt").write_text("The dog was big.\nThe dog were big.\nThe dogs were big.\nThe dogs was big.\n")
    usual, model = ["eval", "pairs", "--model", "stories2M", "--n-gram", "none"], models.load("stories2M")
    assert cli.main([*usual, "--pairs", "p.txt"]) == 0
    assert [found.pairs for found in answers.kept_pairs(model)] == ["p"]
    for limit in ("4", "2"):
        assert cli.main([*usual, "--limit", limit]) == 0
    kept, of_others = answers.kept_pairs(model)
    assert kept.goods == [pair.good for pair in own_pairs(2).pairs] and of_others.goods[0] == "The dog was big."
    assert answers.kept_pairs(build(models.spec_of(model), tokenizer=models.tokenizer_of(model), seed=1)) == []


def test_of_blimp_as_measured_from_outside(shared: Path):
    """38 paradigms; the first 60 pairs of each."""
    from tslens import load

    pairs = read_pairs(shared / "data/pairs/blimp-in-story-vocabulary.jsonl", limit=60, least=100)
    result = score({"stories2M": load("stories2M")}, pairs)
    assert len(result.paradigms) == 38
    assert 0.546 in result.macro("stories2M")


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "expected"), [("stories2M", 0.546), ("stories260K", 0.573)])
def test_of_the_first_400_pairs_of_blimp_s_paradigms(shared: Path, name: str, expected: float):
    from tslens import load

    given = name if name == "stories2M" else f"llama2c:{shared / 'data/models' / name}.bin"
    pairs = read_pairs(shared / "data/pairs/blimp-in-story-vocabulary.jsonl", limit=400, least=100)
    result = score({name: load(given)}, pairs)
    assert result.macro(name).estimate == pytest.approx(expected, abs=6e-4)
