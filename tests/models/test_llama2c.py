import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tslens import forward, models
from tslens.models import llama2c

HEADER = {"dim": 24, "hidden_dim": 20, "n_layers": 2, "n_heads": 6, "n_kv_heads": 2, "vocab_size": 300, "seq_len": 16}
SPECIAL = ["<unk>", "\n<s>\n", "\n</s>\n"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def pieces(size: int) -> list[tuple[str, float]]:
    """A small vocabulary: letters, their pairs and triples, with distinct scores, most useful first."""
    joined = [" a", "he", " t", " the", "aa", "aaa", " ab", "an", "and", " and", "ab", "ba", "bab", "..", " .", "th"]
    single = [" ", *"abdehnt.,", "é", "日"]
    ranked = joined + single
    extra = [chr(0x4E00 + i) for i in range(size - 259 - len(ranked))]
    return [(piece, -float(i)) for i, piece in enumerate(ranked + extra)]


def write_tokenizer(path: Path, size: int = 300) -> Path:
    entries = [(piece, 0.0) for piece in SPECIAL + BYTES] + pieces(size)
    data = struct.pack("<i", max(len(p.encode()) for p, _ in entries))
    for piece, score in entries:
        data += struct.pack("<fi", score, len(piece.encode())) + piece.encode()
    path.write_bytes(data)
    return path


def arrays(tied: bool, header: dict[str, int]) -> dict[str, np.ndarray]:
    """Random weights by llama2.c's names, in the order of the file."""
    d, m, n, h, kv, v, ctx = header.values()
    dh, draw = d // h, np.random.default_rng(7)
    shapes = {"tok": (v, d), "rms_att": (n, d), "wq": (n, d, d), "wk": (n, kv * dh, d), "wv": (n, kv * dh, d)}
    shapes |= {"wo": (n, d, d), "rms_ffn": (n, d), "w1": (n, m, d), "w2": (n, d, m), "w3": (n, m, d), "rms_final": (d,)}
    shapes |= {"freq_real": (ctx, dh // 2), "freq_imag": (ctx, dh // 2)} | ({} if tied else {"wcls": (v, d)})
    return {name: draw.normal(0, 0.4, shape).astype("<f4") for name, shape in shapes.items()}


def write_model(path: Path, *, tied: bool = True, **changes: int) -> dict[str, np.ndarray]:
    header = HEADER | changes
    weights = arrays(tied, header)
    signed = header | {"vocab_size": header["vocab_size"] * (1 if tied else -1)}
    path.write_bytes(struct.pack("<7i", *signed.values()) + b"".join(w.tobytes() for w in weights.values()))
    return weights


def plain_logits(w: dict[str, np.ndarray], header: dict[str, int], tokens: list[int]) -> np.ndarray:
    """llama2.c's forward as its loops go, one token at a time with a cache, in float64."""
    d, _, layers, h, kv, _, _ = header.values()
    dh, keys, values, out = d // h, [[] for _ in range(layers)], [[] for _ in range(layers)], []
    w = {name: array.astype(np.float64) for name, array in w.items()}

    def rms(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return gain * x / np.sqrt((x * x).mean() + 1e-5)

    def turned(vector: np.ndarray, pos: int) -> np.ndarray:
        vector = vector.copy()
        for i in range(0, len(vector), 2):
            angle = pos / 10000.0 ** ((i % dh) / dh)
            a, b = vector[i], vector[i + 1]
            vector[i], vector[i + 1] = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
        return vector

    for pos, token in enumerate(tokens):
        x = w["tok"][token].copy()
        for i in range(layers):
            y = rms(x, w["rms_att"][i])
            q = turned(w["wq"][i] @ y, pos)
            keys[i].append(turned(w["wk"][i] @ y, pos))
            values[i].append(w["wv"][i] @ y)
            mixed = np.zeros(d)
            for head in range(h):
                group = slice(head // (h // kv) * dh, (head // (h // kv) + 1) * dh)
                mine = slice(head * dh, (head + 1) * dh)
                score = np.array([q[mine] @ k[group] for k in keys[i]]) / np.sqrt(dh)
                share = np.exp(score - score.max())
                share /= share.sum()
                mixed[mine] = sum(s * v[group] for s, v in zip(share, values[i], strict=True))
            x += w["wo"][i] @ mixed
            y = rms(x, w["rms_ffn"][i])
            gate = w["w1"][i] @ y
            x += w["w2"][i] @ (gate / (1 + np.exp(-gate)) * (w["w3"][i] @ y))
        out.append(w.get("wcls", w["tok"]) @ rms(x, w["rms_final"]))
    return np.array(out)


def plain_encode(text: str, vocabulary: list[tuple[str, float]]) -> list[int]:
    """llama2.c's encoder as its loops go: the best-scoring neighbours are joined until none can be."""
    ids = {piece: i for i, (piece, _) in enumerate(vocabulary)}
    found = [ids[" "]] if text else []
    for letter in text:
        found += [ids[letter]] if letter in ids else [byte + 3 for byte in letter.encode()]
    while True:
        best, where, joint = -1e10, -1, -1
        for i in range(len(found) - 1):
            candidate = ids.get(vocabulary[found[i]][0] + vocabulary[found[i + 1]][0])
            if candidate is not None and vocabulary[candidate][1] > best:
                best, where, joint = vocabulary[candidate][1], i, candidate
        if where < 0:
            return found
        found[where : where + 2] = [joint]


# The model


@pytest.mark.parametrize(("tied", "kv"), [(True, 2), (False, 6), (False, 1)])
def test_logits_are_llama2cs(tmp_path: Path, tied: bool, kv: int) -> None:
    weights = write_model(tmp_path / "m.bin", tied=tied, n_kv_heads=kv)
    write_tokenizer(tmp_path / "tok300.bin")
    model = models.load(f"llama2c:{tmp_path / 'm.bin'}")
    tokens = [1, *np.random.default_rng(0).integers(0, 300, 15).tolist()]
    expected = torch.tensor(plain_logits(weights, HEADER | {"n_kv_heads": kv}, tokens), dtype=torch.float32)
    assert expected.std() > 0.3
    with torch.no_grad():
        for logits in (forward.logits(model, torch.tensor([tokens])), model(torch.tensor([tokens]))):
            torch.testing.assert_close(logits[0], expected, atol=1e-3, rtol=1e-4)
    assert models.spec_of(model).tied == tied
    assert models.spec_of(model).n_parameters() == sum(
        w.size for name, w in weights.items() if not name.startswith("freq")
    )


def test_transformerlens_itself_reads_text_with_it(tmp_path: Path) -> None:
    write_model(tmp_path / "m.bin")
    write_tokenizer(tmp_path / "tokenizer.bin")
    model = models.load(f"llama2c:{tmp_path / 'm.bin'}")
    tokenizer = models.tokenizer_of(model)
    assert model.to_tokens("the and").tolist() == tokenizer.encode(["the and"])
    assert tokenizer.encode(["the and"])[0][0] == 1
    assert tokenizer.bos_text == "<s>"


# The tokenizer


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return llama2c.read_tokenizer(write_tokenizer(tmp_path_factory.mktemp("t") / "tok.bin"), 300)


def test_a_text_cut_by_hand(tokenizer: Any) -> None:
    """` t`+`he` scores less than ` the`, which is their joint; `é` is a token, `ü` is two bytes, and `z` one."""
    assert tokenizer.pieces(tokenizer.encode(["the aaaa"], bos=False)[0]) == [" the", " a", "aaa"]
    ids = tokenizer.encode(["éüz"])[0]
    assert ids == [1, 259 + 16, 259 + 26, 0xC3 + 3, 0xBC + 3, ord("z") + 3]
    assert tokenizer.decode(ids) == "éüz"


def test_encoding_is_llama2cs(tokenizer: Any) -> None:
    vocabulary = [(piece, 0.0) for piece in SPECIAL + BYTES] + pieces(300)
    draw = np.random.default_rng(1)
    letters = [*"aaabbbhent d  .,é日üz\n🙂", "the", " and", "<s>", "<0x41>"]
    texts = ["", " ", "aaaaaaaaaa", "bababababa", "  the  and  ", "........"]
    texts += ["".join(draw.choice(letters, draw.integers(1, 30))) for _ in range(300)]
    for text, ids in zip(texts, tokenizer.encode(texts, bos=False), strict=True):
        assert ids == plain_encode(text, vocabulary), text
        assert tokenizer.decode(ids) == text


def test_it_is_the_same_after_saving(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    again = type(tokenizer).load(tmp_path / "tokenizer.json")
    assert again.hash == tokenizer.hash
    assert again.bos == 1
    assert again.encode(["the and é 🙂"]) == tokenizer.encode(["the and é 🙂"])


# Refusals


def test_where_the_tokenizer_is_looked_for(tmp_path: Path) -> None:
    write_model(tmp_path / "m.bin")
    with pytest.raises(FileNotFoundError, match=r"neither tok300\.bin nor tokenizer\.bin.*llama2c:.*,TOKENIZER"):
        llama2c.read(tmp_path / "m.bin")
    (tmp_path / "tokenizer.bin").write_bytes(b"what is not looked at")
    write_tokenizer(tmp_path / "tok300.bin")
    assert llama2c.read(tmp_path / "m.bin")[2].size == 300
    write_tokenizer(tmp_path / "other, name.bin")
    (tmp_path / "tok300.bin").unlink()
    assert models.load(f"llama2c:{tmp_path / 'm.bin'},{tmp_path / 'other, name.bin'}").cfg.d_vocab == 300
    with pytest.raises(FileNotFoundError, match=r"no llama2.c tokenizer"):
        llama2c.read(tmp_path / "m.bin", tmp_path / "gone.bin")
    with pytest.raises(FileNotFoundError, match=r"no llama2.c checkpoint"):
        llama2c.read(tmp_path / "gone.bin")


def test_the_wrong_number_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    weights = write_model(path)
    whole = path.read_bytes()
    assert len(whole) == 28 + 4 * sum(w.size for w in weights.values())
    path.write_bytes(whole[:-4])
    with pytest.raises(ValueError, match=rf"cut off: {len(whole) - 4:,} bytes found, {len(whole):,} expected"):
        llama2c.read(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match=rf"too long.*{len(whole) + 1:,} bytes found, {len(whole):,} expected"):
        llama2c.read(path)
    path.write_bytes(whole[:20])
    with pytest.raises(ValueError, match="has 20 bytes"):
        llama2c.read(path)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"dim": 0}, "dim 0"),
        ({"n_layers": -3}, "n_layers -3"),
        ({"vocab_size": 0}, "vocab_size 0"),
        ({"n_heads": 5}, "5 heads do not divide"),
        ({"n_kv_heads": 4}, "4 key/value heads do not divide 6 heads"),
        ({"n_heads": 8, "n_kv_heads": 8}, "even head width"),
        ({"dim": 2**30 * 6 // 6, "n_heads": 1, "n_kv_heads": 1, "hidden_dim": 2**31 - 1}, "Give a .bin"),
        ({"n_layers": 0x61626364}, "Give a .bin"),
    ],
)
def test_an_absurd_header(tmp_path: Path, fault: dict[str, int], said: str, refused: Any) -> None:
    path = tmp_path / "m.bin"
    write_model(path)
    path.write_bytes(struct.pack("<7i", *(HEADER | fault).values()) + path.read_bytes()[28:])
    with refused(said):
        llama2c.read(path)


def test_a_later_format_and_values_that_are_not_numbers(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(struct.pack("<I", 0x616B3432) + bytes(252))
    with pytest.raises(ValueError, match="--version 0"):
        llama2c.read(path)
    write_model(path)
    path.write_bytes(path.read_bytes()[:-4] + struct.pack("<f", float("nan")))
    with pytest.raises(ValueError, match="not finite"):
        llama2c.read(path)


def test_another_models_tokenizer_and_a_cut_one(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    write_model(path)
    with pytest.raises(ValueError, match="310 tokens and the model a vocabulary of 300"):
        llama2c.read(path, write_tokenizer(tmp_path / "t.bin", 310))
    whole = write_tokenizer(tmp_path / "t.bin").read_bytes()
    (tmp_path / "t.bin").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"token 299 .of 300 expected. is not whole"):
        llama2c.read(path, tmp_path / "t.bin")
    (tmp_path / "t.bin").write_bytes(whole.replace(b"<0x07>", b"<0x08>"))
    with pytest.raises(ValueError, match="not the bytes <0x00> to <0xFF>"):
        llama2c.read(path, tmp_path / "t.bin")
    (tmp_path / "t.bin").write_bytes(b"Once upon a time there was a text file, and it was no tokenizer.")
    with pytest.raises(ValueError, match=r"no llama2.c tokenizer"):
        llama2c.read(path, tmp_path / "t.bin")
    twice = whole.replace(struct.pack("<i", 2) + b"th", struct.pack("<i", 2) + b"he")
    (tmp_path / "t.bin").write_bytes(twice)
    with pytest.raises(ValueError, match="'he' twice"):
        llama2c.read(path, tmp_path / "t.bin")


# A real one


@pytest.mark.thorough
def test_a_trained_model_knows_stories(shared: Path) -> None:
    """Its published loss is 1.297 nats per token, on stories of the kind that it was trained on."""
    import json

    model = models.load(f"llama2c:{shared / 'data/models/stories260K.bin'}")
    with (shared / "data/stories/tinystories-v2.jsonl").open(encoding="utf-8") as file:
        stories = [json.loads(line)["text"].strip() for _, line in zip(range(60), file, strict=False)]
    ids = models.tokenizer_of(model).encode(stories)
    with torch.no_grad():
        losses = [forward.loss(model, torch.tensor([row[:512]])) for row in ids]
    assert 1.2 < sum(total.item() for total, _ in losses) / sum(count.item() for _, count in losses) < 1.4
    row = models.tokenizer_of(model).encode(["Once upon a time"])[0]
    with torch.no_grad():
        for _ in range(12):
            row.append(int(forward.logits(model, torch.tensor([row]))[0, -1].argmax()))
    assert models.tokenizer_of(model).decode(row).startswith("Once upon a time, there was a little")
