"""A corpus in parts gives the answer of the whole; on a real local cluster too where Ray is installed."""

from dataclasses import fields
from functools import reduce

import pytest
import torch

from tslens import models
from tslens.analysis import heads, neurons
from tslens.cluster import scan_on_cluster, scan_shard
from tslens.models import Spec
from tslens.scan import Shard, scan
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

CORPUS = stories("made", limit=24, seed=5)
REDUCERS = [heads.Roles(positions=32, groups=4), neurons.Profiles(k=5, sample=50)]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(CORPUS, 400)
    return models.build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer, seed=3)


BY_BATCH = {"claim_q", "q", "role_code", "effect", "effect_low", "effect_high"}
"""What rests on the null of the content roles, which is the story beside it in its batch: parts have other batches."""


def same(one, other, *, but=frozenset()) -> None:
    """Both answers, field by field: everything exactly but floats, where the order of sums shows: an untrained model's
    attention is almost uniform, and what is a share of its small departure from that feels every rounding."""
    for a, b in zip(one, other, strict=True):
        for field in fields(a):
            x, y = getattr(a, field.name), getattr(b, field.name)
            if field.name in but:
                continue
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                assert torch.allclose(x, y, atol=1e-3, rtol=1e-3, equal_nan=True), field.name
            else:
                assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y, field.name


def in_parts(model, parts):
    found = [scan_shard(model, CORPUS, Shard(number, parts), REDUCERS) for number in range(parts)]
    return [r.finish(reduce(r.merge, s)) for r, s in zip(REDUCERS, zip(*found, strict=True), strict=True)]


def test_parts_merge_to_the_whole(model):
    same(scan(model, CORPUS, REDUCERS, progress=False), in_parts(model, 3), but=BY_BATCH)


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
    same(scan(named, CORPUS, REDUCERS, progress=False), answers, but=BY_BATCH)


def test_refusals(model):
    with pytest.raises(ValueError, match="at least 1"):
        scan_on_cluster("stories2M", CORPUS, REDUCERS, parts=0)
