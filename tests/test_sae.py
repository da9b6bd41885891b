"""Sparse autoencoders: trained by SAELens, read by the reducers of neurons, beside neurons and random features."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from tslens import cli, models, sae
from tslens.analysis import neurons
from tslens.analysis.neurons.held_out_measures import MEASURES
from tslens.analysis.neurons.labels import FEW
from tslens.evaluation.loss import loss
from tslens.models import Spec, build, weights_key
from tslens.pos.types import words
from tslens.report.features import kept
from tslens.sae import FROZEN, KINDS, NEURONS, TRAINED, Dictionary, Features, Training, training
from tslens.scan import Shard, scan, states
from tslens.stories import stories

HOOK = "blocks.1.hook_resid_post"
SMALL = Training(HOOK, width=48, k=4, steps=60, batch=128, tokens=4000)


@pytest.fixture(scope="module")
def model(made_words, loud):
    return loud(build(Spec(16, 2, 2, d_vocab=made_words.size, n_ctx=48), tokenizer=made_words))


@pytest.fixture
def drawn(monkeypatch):
    """Instead of training, a dictionary of random directions, of another seed for a frozen one."""

    def made(model, texts, asked, *, kind):
        generator = torch.Generator().manual_seed(1 + (kind == FROZEN))
        decoder = torch.nn.functional.normalize(torch.randn(asked.width, 16, generator=generator), dim=1)
        zeros = torch.zeros(asked.width), torch.zeros(16)
        return Dictionary(kind, asked.hook, decoder.T.clone(), zeros[0], decoder, zeros[1], asked.k, 0.5)

    monkeypatch.setattr("tslens.sae.features.dictionary", made)


def test_the_largest_activations_of_a_token_are_its_features_by_hand():
    encoder = torch.tensor([[1.0, 0.0, 1.0, -1.0], [0.0, 1.0, 1.0, 0.0]])
    made = Dictionary(TRAINED, HOOK, encoder, torch.tensor([0.0, 0.5, 0.0, 0.0]), encoder.T, torch.ones(2), 2, 0.0)
    found = made.encode(torch.tensor([[[3.0, 2.0], [0.0, 1.0]]]))  # less the bias: (2, 1) and (-1, 0)
    assert found.tolist() == [[[2.0, 0.0, 3.0, 0.0], [0.0, 0.5, 0.0, 1.0]]]
    assert made.rebuilt(torch.tensor([[3.0, 2.0]])).tolist() == [[2.0 + 3.0 + 1.0, 3.0 + 1.0]]
    only = replace(made, encoder_bias=torch.full((4,), -9.0)).encode(torch.ones(1, 1, 2))
    assert not only.any()  # none below 0
    assert torch.equal(replace(made, k=0).encode(only), only)


@pytest.mark.thorough
def test_neurons_read_as_a_dictionary_have_the_profiles_and_tests_of_their_layer(model, made_stories):
    """All that does not depend on how many neurons there are: the null is drawn from words of all top lists."""
    by = [neurons.Profiles(), neurons.HeldOut()]
    profile, test = scan(model, made_stories, [Features(SMALL, (), NEURONS, how) for how in by])
    own, own_test = scan(model, made_stories, by)
    assert profile.kind == NEURONS and profile.hook == "blocks.1.mlp.hook_post" and profile.label.shape[0] == 1
    for name in ("firing_rate", "max", "top_values", "top_tokens", "promoted_tokens"):
        a, b = getattr(profile, name)[0], getattr(own, name)[1]
        torch.testing.assert_close(a, b, equal_nan=True, msg=name)
    word = words(own.pieces)[own.top_tokens[1]]
    many = torch.tensor([len(row.unique()) >= FEW for row in word])  # of fewer the null says if the sample chooses
    assert many.sum() > 10
    for name in ("tag_share", "distinct"):
        torch.testing.assert_close(getattr(profile, name)[0][many], getattr(own, name)[1][many], msg=name)
    same = profile.best[0] == own.best[1]
    assert same.sum() > 10
    torch.testing.assert_close(profile.auroc[0][same], own.auroc[1][same], equal_nan=True)
    assert torch.equal(test.threshold[0], own_test.threshold[1]) and test.n_tested == own_test.n_tested


def test_what_a_feature_writes_decides_its_effect_on_the_logits(model, drawn, made_stories):
    found = scan(model, made_stories[:3], Features(SMALL, ()))
    made = Features(SMALL, ()).dictionary(model)
    gain, unembed = model.ln_final.w.detach(), model.unembed.W_U.detach()
    change = ((made.decoder[7] - made.decoder[7].mean()) * gain) @ unembed
    values, tokens = (change - change.mean()).topk(8)
    assert torch.equal(found.promoted_tokens[0, 7], tokens)
    assert torch.allclose(found.promoted_values[0, 7], values, atol=1e-5)


@pytest.mark.thorough
def test_features_are_those_that_are_active_and_their_answers_name_the_block(model, drawn, made_stories, tmp_path):
    found = scan(model, made_stories, Features(SMALL, ()))
    assert found.firing_rate.shape == (1, SMALL.width) and 0 < float(found.firing_rate.sum()) <= SMALL.k
    assert found.to_frame()["layer"].unique().tolist() == [1] and found.to_frame("label")["layer"].unique() == [1]
    assert "features of blocks.1.hook_resid_post" in found.figure()._suptitle.get_text()
    saved = found.save(tmp_path)
    assert (saved / "tops.csv").read_text().splitlines()[1].startswith("1,0,1,")
    assert sae.FeaturesResult.load(saved).k == SMALL.k
    assert set(found.counts()) >= {"part-of-speech features", "one-word features"}


def test_features_do_not_depend_on_batches_or_parts(model, drawn, made_stories):
    asked = Features(SMALL, (), by=neurons.Profiles(k=5, sample=60))
    whole = scan(model, made_stories, asked)
    for n in (1, 300):
        other = scan(model, made_stories, asked, batch_tokens=n)
        assert torch.equal(other.label, whole.label) and torch.equal(other.by_word, whole.by_word)
    parts = [states(model, made_stories, [asked], shard=Shard(i, 3))[0] for i in range(3)]
    merged = asked.finish(asked.merge(asked.merge(parts[0], parts[1]), parts[2]))
    assert torch.equal(merged.label, whole.label) and torch.allclose(merged.firing_rate, whole.firing_rate)


def test_parts_of_different_autoencoders_are_not_merged(refused, model, drawn, made_stories):
    a, b = (Features(SMALL, (), kind) for kind in (TRAINED, FROZEN))
    with refused("read by autoencoders that differ"):
        a.merge(a.start(model), b.start(model))


@pytest.mark.thorough
def test_kinds_stand_in_one_table_with_story_intervals_and_tests(model, drawn, made_stories):
    table, profiles, tested = sae.compared_features(model, made_stories, sae.readers(SMALL, ()))
    frame = table.to_frame()
    assert frame["kind"].tolist() == [kind for kind in KINDS for _ in range(2)] and table.stories == len(made_stories)
    assert frame["number"].tolist() == [64, 64, 48, 48, 48, 48]
    for i, (profile, test) in enumerate(zip(profiles, tested, strict=True)):
        fires = profile.firing_rate > 0
        assert int(table.alive[i]) == int(fires.sum()) and test.kind == profile.kind == KINDS[i]
        named = [(profile.label >= 0) & fires, profile.by_word & fires]
        assert table.labelled[i].tolist() == [int(which.sum()) for which in named]
        assert int(table.tested[i].sum()) == int((~test.value[..., 0].isnan()).sum())
    assert (table.labelled_low <= table.labelled).all() and (table.labelled <= table.labelled_high).all()
    assert (table.labelled_low >= 0).all() and (table.labelled_high <= table.alive[:, None]).all()
    assert ((table.labelled_low < table.labelled_high) | (table.alive == 0)[:, None]).all()  # also of none labelled
    assert (table.predicting <= table.tested).all() and (table.holding <= table.tested).all()
    assert table.figure() is not None


def exact(width, hook=HOOK):
    """A dictionary that rebuilds any activation: every direction and its opposite."""
    both = torch.cat([torch.eye(width), -torch.eye(width)])
    return Dictionary(
        TRAINED, hook, both.T.contiguous(), torch.zeros(2 * width), both, torch.zeros(width), 2 * width, 1
    )


def silent(width, hook=HOOK):
    """A dictionary whose features never fire, of mean 0."""
    none = torch.zeros(8, width)
    return Dictionary(FROZEN, hook, none.T.contiguous(), torch.full((8,), -1.0), none, torch.zeros(width), 4, 0.0)


def reading(model, trained, frozen):
    """Readers that have these dictionaries of a model."""
    asked = sae.readers(Training(trained.hook, width=len(trained.encoder_bias), k=trained.k), ())
    for reader, made in zip(asked[1:], (trained, frozen), strict=True):
        reader.made[weights_key(model)] = made
    return asked


@pytest.mark.thorough
def test_what_rebuilds_all_recovers_all_and_what_rebuilds_nothing_recovers_nothing():
    model, hook = models.load("stories2M"), "blocks.2.hook_mlp_out"
    texts = list(stories("made", limit=6))
    found = sae.recovered(model, texts, reading(model, exact(192, hook), silent(192, hook)))
    assert found.recovered[0].tolist() == pytest.approx([1, 0, 0], abs=1e-4)
    assert (found.recovered_high - found.recovered_low).abs().max() < 1e-3
    assert found.loss[0].tolist() == pytest.approx([float(found.own_loss), *[float(found.zero_loss)] * 2], rel=1e-5)
    assert float(found.own_loss) == pytest.approx(loss(model, texts).nats_per_token, rel=1e-5)
    assert found.dead[0].tolist() == [0, 8, 0] and found.active[0].tolist() == [192, 0, 0]  # of x and -x one is above 0
    assert found.to_frame()["instead"].tolist() == [TRAINED, FROZEN, "mean activation"]
    assert "recover 100.0%" in found.said() and "192.0 of 384 are active" in found.said()
    assert found.figure() is not None


def test_the_loss_is_that_of_transformerlens_with_the_activation_replaced_by_its_hooks(model, made_stories):
    """Also where the text is longer than the context; only BOS keeps its activation."""
    texts, generator = made_stories[:3], torch.Generator().manual_seed(3)
    decoder = torch.randn(48, 16, generator=generator)
    made = Dictionary(TRAINED, HOOK, decoder.T.clone(), torch.zeros(48), decoder, torch.ones(16), 4, 0.5)
    found = sae.recovered(model, texts, reading(model, made, silent(16)))

    def instead(edit):
        def hook(activation, hook):
            return torch.cat([activation[:, :1], edit(activation[:, 1:])], 1)

        total, predictions = 0.0, 0
        tokenizer = models.tokenizer_of(model)
        for row in tokenizer.encode(texts):
            tokens = torch.tensor([*row, tokenizer.bos][: model.cfg.n_ctx + 1])
            logits = model.run_with_hooks(tokens[None, :-1], fwd_hooks=[(HOOK, hook)])[0].detach()
            total += float(torch.nn.functional.cross_entropy(logits, tokens[1:], reduction="sum"))
            predictions += len(tokens) - 1
        return total / predictions

    expected = [instead(edit) for edit in (lambda x: x, torch.zeros_like, made.rebuilt)]
    losses = [float(found.own_loss), float(found.zero_loss), float(found.loss[0, 0])]
    assert losses == pytest.approx(expected, rel=1e-5) and len({round(x, 3) for x in losses}) == 3


def test_active_and_dead_features_are_those_of_the_profiles(model, drawn, made_stories):
    asked = sae.readers(SMALL, ())
    found = sae.recovered(model, made_stories, asked)
    rate = scan(model, made_stories, asked[1]).firing_rate
    assert float(found.active[0, 0]) == pytest.approx(float(rate.sum()), rel=1e-5)
    assert float(found.dead[0, 0]) == int((rate == 0).sum())


def test_nothing_is_recovered_where_zeros_cost_nothing(model, made_stories):
    """Random weights of high gain predict worse than no activation at all."""
    found = sae.recovered(model, made_stories[:6], reading(model, exact(16), silent(16)))
    assert float(found.zero_loss) < float(found.own_loss) and found.recovered.isnan().all()
    assert "nothing is there to recover" in found.said() and found.figure() is not None


def test_what_twins_recover_is_kept(model, drawn, made_stories, tmp_path, monkeypatch):
    monkeypatch.setenv("TSLENS_CACHE", str(tmp_path))
    texts, asked = made_stories[:6], sae.readers(SMALL, ())
    found = sae.recovered(model, texts, asked, twins=2)
    assert found.models == [models.name_of(model), "permuted twin 0", "fresh twin 0"]
    assert len(set(found.own_loss.tolist())) == 3 and len(asked[1].made) == 3
    again = sae.readers(SMALL, ())
    kept = sae.recovered(model, texts, again, twins=2)
    assert torch.equal(kept.loss, found.loss) and len(again[1].made) == 1
    sae.recovered(model, texts, (fewer := sae.readers(replace(SMALL, k=3), ())), twins=1)
    assert len(fewer[1].made) == 2
    assert sae.RecoveredResult.load(found.save(tmp_path)).models == found.models
    assert "Untrained twins: " in found.said()


@pytest.mark.thorough
def test_the_best_features_are_those_whose_precision_is_most_surely_above_the_base_rate(
    model, drawn, made_stories, tmp_path
):
    profile, tested = scan(model, made_stories, [Features(SMALL, ()), Features(SMALL, (), by=neurons.HeldOut())])
    label, word = torch.full_like(tested.label, -1), torch.zeros_like(tested.by_word)
    label[0, :4], word[0, 4] = 0, True
    value, low, q = (
        torch.full_like(tested.value, 0.6),
        torch.full_like(tested.low, torch.nan),
        torch.ones_like(tested.q),
    )
    base, precision = MEASURES.index("base_rate"), MEASURES.index("precision")
    value[0, :5, base] = torch.tensor([0.1, 0.1, 0.4, 0.0, 0.1])
    low[0, :5, precision] = torch.tensor([0.3, 0.5, 0.6, 0.9, 0.2])
    q[0, [0, 1, 2, 4]] = 0.01  # the label of 3 does not hold
    low[0, 5, precision], q[0, 5] = 0.9, 0.01  # 5 has no label
    judged = replace(tested, label=label, by_word=word, value=value, low=low, q=q)
    found = sae.best(profile, judged)
    assert found.features == [1, 0, 2, 4] and found.by_word.tolist() == [False, False, False, True]
    assert sae.best(profile, judged, n=1).features == [1, 4]
    for number, contexts in zip(found.features, found.contexts, strict=True):
        assert contexts[0][1].replace("↵", "\n") == profile.pieces[int(profile.top_tokens[0, number, 0])]
        assert len(set(map(tuple, contexts))) == len(contexts) <= 3
        text = "".join("".join(parts) for parts in contexts)
        assert "endoftext" not in text and "\n" not in text
    assert sae.BestFeaturesResult.load(found.save(tmp_path)).contexts == found.contexts
    assert len(found.to_frame()) == 4 and sae.best(profile, replace(judged, q=torch.ones_like(q))).features == []


def test_refusals(refused, model, made_stories, monkeypatch):
    with refused("is not in the residual stream"):
        Training("blocks.0.mlp.hook_post")
    with refused("4 of 3 features cannot be active"):
        Training(HOOK, width=3, k=4)
    with refused("steps is 0"):
        Training(HOOK, steps=0)
    with refused(
        "4,294,967,296 features of 16 directions take [0-9,]+ GB to train; this machine has .* Give a smaller"
    ):
        sae.dictionary(model, made_stories, replace(SMALL, width=2**32))
    with refused("tokens are too few for 65,536 features. Give fewer features, or more stories."):
        sae.dictionary(model, made_stories, replace(SMALL, width=2**16))
    with refused("tokens are too few for steps of 128"):
        sae.dictionary(model, made_stories[:1], SMALL)
    with refused("is no activation of a"):
        sae.compared_features(model, made_stories, sae.readers(replace(SMALL, hook="blocks.9.hook_resid_post"), []))
    with refused("1 stories are to be trained on and read"):
        sae.compared_features(model, made_stories[:23], sae.readers(SMALL, made_stories[22:]))
    with refused("1 stories are to be trained on and read"):
        sae.recovered(model, made_stories[:3], sae.readers(SMALL, made_stories[2:]))
    with refused("needs 20 different stories; there are 3"):
        sae.compared_features(model, made_stories[:3], sae.readers(SMALL, made_stories[3:]))
    monkeypatch.setitem(sys.modules, "sae_lens", None)
    with refused(r"need SAELens: pip install 'tslens\[sae\]'"):
        sae.dictionary(model, made_stories, SMALL)


def test_the_command_refuses_before_the_work(capsys):
    assert cli.main(["analyze", "features", "--model", "stories2M", "--hook", "blocks.3.mlp.hook_post"]) == 2
    assert "is not in the residual stream" in capsys.readouterr().err
    given = ["--model", "stories2M", "--hook", "blocks.3.hook_resid_post"]
    assert cli.main(["analyze", "features", *given, "--twins", "-1"]) == 2
    assert "--twins is -1" in capsys.readouterr().err
    assert cli.main(["analyze", "features", *given]) == 2  # it does not train on what the model writes instead
    said = capsys.readouterr().err
    assert "stories2M was trained on cannot be read here" in said and "Name some with --fit-stories" in said


# With SAELens


@pytest.fixture(scope="module")
def summed():
    """Directions, and activations that are sums of 2 of them, each with a weight of 1 to 2."""
    generator = torch.Generator().manual_seed(2)
    directions = torch.nn.functional.normalize(torch.randn(24, 16, generator=generator), dim=1)
    which = torch.rand(6000, 24, generator=generator).topk(2).indices
    weights = torch.zeros(6000, 24).scatter_(1, which, 1 + torch.rand(6000, 2, generator=generator))
    return directions, weights @ directions


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # SAELens's own
def test_saelens_finds_planted_directions_and_random_features_do_not(model, summed, monkeypatch):
    directions, acts = summed
    monkeypatch.setattr(training, "activations", lambda *_: acts)
    asked = Training(HOOK, width=32, k=2, steps=1500, batch=256, lr=3e-3)
    found = {kind: training.dictionary(model, (), asked, kind=kind) for kind in (TRAINED, FROZEN)}
    likeness = {kind: (directions @ made.decoder.T).amax(1) for kind, made in found.items()}
    assert likeness[TRAINED].min() > 0.8 and likeness[TRAINED].median() > 0.98 and likeness[FROZEN].median() < 0.7
    assert found[TRAINED].explained > 0.9 and 0 < found[FROZEN].explained < 0.6
    again = training.dictionary(model, (), asked)
    assert torch.equal(again.encoder, found[TRAINED].encoder)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # SAELens's own
def test_the_features_are_those_of_saelens_itself(model, made_stories, monkeypatch, tmp_path):
    """Of the autoencoder as SAELens saves it for others, and loads it."""
    from sae_lens import SAE

    kept = []
    real = training._trained
    monkeypatch.setattr(training, "_trained", lambda made, asked: kept.append(made) or real(made, asked))
    made = training.dictionary(model, made_stories, SMALL)
    seen = training.activations(model, made_stories, SMALL)
    kept[0].save_inference_model(str(tmp_path))
    theirs = SAE.load_from_disk(str(tmp_path))
    with torch.no_grad():
        assert torch.allclose(made.encode(seen), theirs.encode(seen), atol=1e-5)
        assert torch.allclose(made.rebuilt(seen), theirs(seen), atol=1e-4)
    assert torch.allclose(made.decoder.norm(dim=1), torch.ones(SMALL.width), atol=1e-5)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # SAELens's own
def test_a_twin_has_an_autoencoder_of_its_own(model, made_stories):
    from tslens.twins import compare

    asked = Features(SMALL, tuple(stories("made", limit=40, seed=9)), by=neurons.Profiles(k=5, sample=60))
    own = asked.dictionary(model)
    beside = compare(model, made_stories, [asked], n=2, limit=24)
    assert "part-of-speech features" in beside.labels and beside.of_twins.shape[0] == 2
    decoders = [made.decoder for made in asked.made.values()]
    assert len(decoders) == 3 and torch.equal(decoders[0], own.decoder)
    assert not any(torch.equal(a, b) for i, a in enumerate(decoders) for b in decoders[:i])


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # SAELens's own
def test_the_command_trains_reads_and_writes(tmp_path, capsys):
    texts = list(stories("made", limit=120))
    (tmp_path / "read.txt").write_text("\n<|endoftext|>\n".join(texts[:30]))
    (tmp_path / "fit.txt").write_text("\n<|endoftext|>\n".join(texts[30:]))
    hook, out = "blocks.3.hook_resid_post", tmp_path / "out"
    given = ["--model", "stories2M", "--hook", hook, "--stories", str(tmp_path / "read.txt"), "--width", "64"]
    given += ["--fit-stories", str(tmp_path / "fit.txt"), "--active", "8", "--steps", "200", "--out", str(out)]
    assert cli.main(["analyze", "features", *given]) == 0
    said = capsys.readouterr().out
    names = {place.name for place in out.iterdir()}
    assert {"recovered.csv", "compared-features.csv", "features-trained.csv", "held-out-features-random.svg"} <= names
    table = sae.ComparedFeaturesResult.load(out)
    trained, frozen = KINDS.index(TRAINED), KINDS.index(FROZEN)
    assert table.explained[trained] > table.explained[frozen] and table.explained[KINDS.index(NEURONS)].isnan()
    assert f"A part of speech is the label of {int(table.labelled[0, 0]):,} of " in said
    assert f"{int(table.alive[trained]):,} {TRAINED} ({int(table.predicting[trained, 0]):,} predict it)" in said
    assert table.active[trained] <= 8 and table.number.tolist()[1:] == [64, 64]
    model = models.load("stories2M")
    assert model.cfg.d_mlp == int(table.number[KINDS.index(NEURONS)])
    found = sae.RecoveredResult.load(out)
    assert found.recovered[0, 0] > found.recovered[0, 1] > found.recovered[0, 2]  # the trained, the random, the mean
    assert [one.compared.hook for one in kept(model)] == [hook]


MEASURED = """
import torch
from tslens.bench.scan_memory import largest_resident as peak
from tslens.sae import training as t
of = t.Training("blocks.0.hook_resid_post", width=16384, k=2, steps=2, batch=1024)
seen = torch.randn(2048, 16)
sae = t._untrained(16, of)
before = peak()
t._fit(sae, seen, of)
print((peak() - before) / t.step_bytes(of, 16))
"""


@pytest.mark.thorough
def test_a_step_takes_about_as_much_as_is_asked_of_the_memory():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", MEASURED], capture_output=True, text=True, check=True)
    assert 0.6 < float(done.stdout.split()[-1]) < 1.4
