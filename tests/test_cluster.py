"""A corpus in parts gives the answer of the whole; on a real local cluster too where Ray is installed."""

from dataclasses import fields, replace
from functools import reduce

import pytest
import torch

from tslens import models
from tslens.analysis import heads, neurons
from tslens.cluster import scan_on_cluster, scan_shard
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
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                scale = float(x.nan_to_num().abs().max())
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


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_local_cluster_gives_the_answer_of_one_process(model, tmp_path):
    ray = pytest.importorskip("ray")
    models.save(model, tmp_path / "model")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        answers = scan_on_cluster(str(tmp_path / "model"), CORPUS, REDUCERS, parts=2)
    finally:
        ray.shutdown()
    named = models.load(tmp_path / "model")  # as the workers do
    same(in_parts(named, 2), answers)
    same(scan(named, CORPUS, REDUCERS), answers)


def test_refusals(model):
    with pytest.raises(ValueError, match="at least 1"):
        scan_on_cluster("stories2M", CORPUS, REDUCERS, parts=0)
