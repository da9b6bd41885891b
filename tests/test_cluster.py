"""A corpus in parts gives the answer of the whole; on a real local cluster too where Ray is installed."""

from functools import reduce

import pytest
import torch

from tslens import models
from tslens.analysis import heads, neurons
from tslens.cluster import Part, scan_on_cluster, scan_part
from tslens.models import Spec
from tslens.scan import scan
from tslens.stories import stories
from tslens.tokenizer import Tokenizer

CORPUS = stories("made", limit=24, seed=5)
REDUCERS = [heads.Roles(positions=32, groups=4), neurons.Profiles(k=5, sample=50)]


@pytest.fixture(scope="module")
def model():
    tokenizer = Tokenizer.train(CORPUS, 400)
    return models.build(Spec(16, 2, 2, d_vocab=tokenizer.size, n_ctx=64), tokenizer=tokenizer, seed=3)


def same(one, other) -> None:
    assert torch.allclose(one[0].r_causal, other[0].r_causal, atol=1e-5, equal_nan=True)
    assert torch.equal(one[1].top_story, other[1].top_story)
    assert torch.allclose(one[1].top_values, other[1].top_values, atol=1e-5)


def test_parts_merge_to_the_whole(model):
    whole = scan(model, CORPUS, REDUCERS, progress=False)
    found = [scan_part(model, Part(CORPUS, number, 3), REDUCERS) for number in range(3)]
    merged = [r.finish(reduce(r.merge, s)) for r, s in zip(REDUCERS, zip(*found, strict=True), strict=True)]
    same(whole, merged)


def test_parts_share_the_corpus_without_overlap():
    parts = [list(Part(CORPUS, number, 5)) for number in range(5)]
    assert sorted(story for part in parts for story in part) == sorted(CORPUS)
    assert [len(part) for part in parts] == [5, 5, 5, 5, 4]


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_local_cluster_gives_the_answer_of_one_process(model, tmp_path):
    ray = pytest.importorskip("ray")
    models.save(model, tmp_path / "model")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        answers = scan_on_cluster(str(tmp_path / "model"), CORPUS, REDUCERS, parts=2)
    finally:
        ray.shutdown()
    same(scan(model, CORPUS, REDUCERS, progress=False), answers)


def test_refusals(model):
    with pytest.raises(ValueError, match="at least 1"):
        scan_on_cluster("stories1M", CORPUS, REDUCERS, parts=0)
