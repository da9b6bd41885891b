"""A corpus in parts gives the answer of the whole; on a real local cluster too where Ray is installed."""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass, fields, replace
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from tslens import cli, models
from tslens.analysis import heads, neurons
from tslens.cluster import imported, scan_on_cluster, scan_shard
from tslens.models import Spec
from tslens.scan import Shard, scan, states
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

CORPUS = stories("made", limit=24, seed=5)
REDUCERS = [heads.Roles(positions=32, groups=4), neurons.Profiles(k=5, sample=50)]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(CORPUS, 400)
    made = models.build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer, seed=3)
    with torch.no_grad():  # attention that is far from uniform, as a trained model's
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.2)
    return made


def same(one, other) -> None:
    """Both answers, field by field: labels and counts exactly, sums up to the rounding of float32; `corpus`, what was
    read, is said by `scan` alone. What two float32 sums differ by is measured against the field's largest value."""
    for a, b in zip(one, other, strict=True):
        for field in fields(a):
            x, y = getattr(a, field.name), getattr(b, field.name)
            if field.name == "corpus":
                continue
            if field.name == "described_q":
                assert x.keys() == y.keys()
                x, y = (torch.tensor(list(of.values())) for of in (x, y))
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                scale = float(x.nan_to_num().abs().max())
                scale = max(scale, 1.0) if field.name.endswith("q") else scale  # of a probability it is 1
                assert torch.allclose(x, y, atol=3e-6 * scale, rtol=0, equal_nan=True), field.name
            else:
                assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y, field.name


def in_parts(model, parts):
    found = [scan_shard(model, CORPUS, Shard(number, parts), REDUCERS) for number in range(parts)]
    return [r.finish(reduce(r.merge, s)) for r, s in zip(REDUCERS, zip(*found, strict=True), strict=True)]


def test_parts_merge_to_the_whole(model):
    same(scan(model, CORPUS, REDUCERS), in_parts(model, 3))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["stories2M", "stories260K"])
def test_roles_of_a_trained_model_do_not_depend_on_batches_order_or_shards(name, request):
    """Two stories are there twice. One story a batch, many; shuffled; in shards."""
    if name == "stories260K":
        name = f"llama2c:{request.getfixturevalue('shared') / 'data/models/stories260K.bin'}"
    trained, reducer = models.load(name), heads.Roles(groups=8)
    corpus = [*CORPUS, *list(CORPUS)[:2]]
    shuffled = [corpus[i] for i in torch.randperm(len(corpus), generator=torch.Generator().manual_seed(0)).tolist()]
    (whole,) = states(trained, corpus, [reducer], context=160)
    assert not whole.scores.copies  # so no head gets a content role; here each could, to compare what decides it

    def answer(state):
        return reducer.finish(replace(state, scores=replace(state.scores, copies=True)))

    expected = answer(whole)
    assert (whole.sums.matched_keys.sum(0) > 100).all() and expected.claim_q.isfinite().all()
    other = [states(trained, corpus, [reducer], context=160, batch_tokens=n)[0] for n in (1, 512)]
    other += states(trained, shuffled, [reducer], context=160)
    for of in (2, 5):
        parts = [scan_shard(trained, corpus, Shard(n, of), [reducer], context=160)[0] for n in range(of)]
        other.append(reduce(reducer.merge, parts))
    for state in other:
        for field, total in whole.sums.tensors().items():
            assert torch.allclose(state.sums.tensors()[field], total, rtol=0, atol=1e-6 * float(total.abs().max())), (
                field
            )
        same([expected], [answer(state)])


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine, with two workers."""
    if find_spec("ray") is None:
        pytest.skip("needs Ray")
    ray = imported()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def place(model, tmp_path_factory):
    """The model as a folder, from which every worker loads it."""
    return models.save(model, tmp_path_factory.mktemp("cluster") / "model")


def counts(answers) -> list[dict[str, int]]:
    return [answer.counts() for answer in answers]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize("parts", [1, 40, None])
def test_a_local_cluster_gives_the_answer_of_one_process(place, cluster, parts):
    """Forty parts of 24 stories are 24; the default is two, for two workers. Three and seven: the test of a trained
    model."""
    texts = list(CORPUS)
    answers = scan_on_cluster(str(place), texts, REDUCERS, parts=parts)
    whole = scan(models.load(place), texts, REDUCERS)  # named as the workers name it
    same(whole, answers)
    assert counts(whole) == counts(answers) and whole[0].roles == answers[0].roles


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_what_a_study_counts_is_the_same_on_a_cluster(place, cluster):
    """The reducers of `analyze all` that test labels on halves, name what heads write and probe them."""
    texts = list(CORPUS)
    reducers = [neurons.HeldOut(k=5, sample=50), heads.Writes(), heads.Probes()]
    whole = scan(models.load(place), texts, reducers)
    answers = scan_on_cluster(str(place), texts, reducers, parts=3)
    same(whole, answers)
    assert counts(whole) == counts(answers) and whole[0].n_tested > 0


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_labels_of_a_trained_model_on_a_cluster_are_those_of_one_process(cluster):
    corpus, reducers = list(stories("made", limit=30)), [heads.Roles(), neurons.Profiles()]
    whole = scan(models.load("stories2M"), corpus, reducers)
    assert sum(counts(whole)[0].values()) and sum(counts(whole)[1].values())
    for parts in (3, 7):  # one, two and 24: the test of a small model
        answers = scan_on_cluster("stories2M", corpus, reducers, parts=parts)
        assert counts(whole) == counts(answers) and whole[0].roles == answers[0].roles
        assert torch.equal(whole[1].label, answers[1].label) and torch.equal(whole[1].by_word, answers[1].by_word)


@dataclass(frozen=True)
class Mortal:
    """Heads' roles by a worker that is killed the first time, or every time, that it reads a story."""

    inside: heads.Roles
    story: str
    mark: Path
    times: int

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inside, name)

    def update(self, state, activations, batch):
        if self.story in batch.texts and len(died := list(self.mark.iterdir())) < self.times:
            (self.mark / str(len(died))).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inside.update(state, activations, batch)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_killed_worker_costs_a_retry_of_its_shard_and_says_nothing_among_the_output(place, cluster, tmp_path, capsys):
    cluster.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    texts, mark = list(CORPUS), tmp_path / "died"
    mark.mkdir()
    mortal = Mortal(REDUCERS[0], texts[4], mark, 2)
    (answer,) = scan_on_cluster(str(place), texts, [mortal], parts=3)
    assert len(list(mark.iterdir())) == 2  # twice the worker died, in its own shard
    time.sleep(2)  # Ray's message comes when it comes
    assert capsys.readouterr().out == ""
    same(scan(models.load(place), texts, REDUCERS[:1]), [answer])


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_users_mistake_is_one_line_and_workers_that_always_die_are_given_up(
    place, cluster, tmp_path, refused, monkeypatch
):
    """After one retry here: every new worker takes ten seconds to start."""
    monkeypatch.setattr("tslens.cluster.RETRIES", 1)
    cluster.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with refused("no model is called 'stories3M'"):
        scan_on_cluster("stories3M", list(CORPUS), REDUCERS, parts=2)
    with refused("one of 2 shards died 2 times"):
        scan_on_cluster(str(place), list(CORPUS), [Mortal(REDUCERS[0], next(iter(CORPUS)), tmp_path, 99)], parts=2)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_the_commands_scan_on_ray(place, cluster, tmp_path, capsys):
    (tmp_path / "stories.txt").write_text("\n<|endoftext|>\n".join(CORPUS))
    given = ["--model", str(place), "--stories", str(tmp_path / "stories.txt"), "--json"]
    for command in ("heads", "neurons", "lens"):
        said = []
        for engine in ("local", "ray:3"):
            assert cli.main(["analyze", command, *given, "--engine", engine]) == 0
            said.append(json.loads(capsys.readouterr().out))
        rows = [[{k: v for k, v in row.items() if isinstance(v, str | int)} for row in one["rows"]] for one in said]
        assert rows[0] and rows[0] == rows[1]


def test_refusals(model):
    with pytest.raises(ValueError, match="cannot be scanned in 0 parts"):
        scan_on_cluster("stories2M", CORPUS, REDUCERS, parts=0)
