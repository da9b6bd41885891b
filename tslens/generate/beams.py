"""Beam search for the likeliest story."""

import torch

from tslens.generate.cache import Writer


def beam_search(cache: Writer, budgets: list[int], beams: int, stop: tuple[int, ...]) -> list[list[int]]:
    """For each prompt, the hypothesis with the highest mean log-probability per token: of the finished ones and, if the
    budget ends first, the running ones. A prompt is done when no running hypothesis is ahead."""
    n, steps, device = len(budgets), max(budgets), cache.device
    scores = cache.step(cache.prompt).log_softmax(dim=-1)
    vocabulary = scores.shape[-1]
    cache.reorder(torch.arange(n, device=device).repeat_interleave(beams))
    scores = scores.repeat_interleave(beams, dim=0)
    total = torch.full((n, beams), float("-inf"), device=device)
    total[:, 0] = 0.0  # the beams start alike, so only one may count
    text: list[list[list[int]]] = [[[] for _ in range(beams)] for _ in range(n)]
    best: list[tuple[float, list[int]]] = [(float("-inf"), [])] * n
    done = [False] * n
    for t in range(steps):
        reach = (total[:, :, None] + scores.view(n, beams, vocabulary)).flatten(1)
        values, places = reach.topk(min(2 * beams, reach.shape[1]), dim=-1)
        source, token = places // vocabulary, places % vocabulary
        rows: list[int] = []
        tokens: list[int] = []
        for i in range(n):
            if done[i]:  # a finished prompt stays in the batch; its output is dropped
                rows += range(i * beams, (i + 1) * beams)
                tokens += [0] * beams
                continue
            kept: list[tuple[int, int, float]] = []
            for value, b, w in zip(values[i].tolist(), source[i].tolist(), token[i].tolist(), strict=True):
                if w in stop:
                    best[i] = max(best[i], (value / (t + 1), text[i][b]), key=lambda h: h[0])
                elif len(kept) < beams:
                    kept.append((b, w, value))
            text[i] = [text[i][b] + [w] for b, w, _ in kept]
            total[i] = torch.tensor([value for _, _, value in kept], device=device)
            rows += [i * beams + b for b, _, _ in kept]
            tokens += [w for _, w, _ in kept]
            done[i] = t + 1 == budgets[i] or best[i][0] >= float(total[i].max()) / (t + 1)
        if all(done):
            break
        cache.reorder(torch.tensor(rows, device=device))
        scores = cache.step(torch.tensor(tokens, device=device)[:, None]).log_softmax(dim=-1)
    for i in range(n):
        b = int(total[i].argmax())
        best[i] = max(best[i], (float(total[i, b]) / max(1, len(text[i][b])), text[i][b]), key=lambda h: h[0])
    return [hypothesis for _, hypothesis in best]
