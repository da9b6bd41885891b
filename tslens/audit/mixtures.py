"""Which of its two parts a planted mixture of heads looks at most, by TransformerLens's own attention."""

from collections.abc import Sequence

import torch

from tslens.audit.planted import Place, Planted
from tslens.audit.plants import PARTS, PREVIOUS
from tslens.models import story_tokenizer_of


def by_position(planted: Planted, texts: Sequence[str]) -> dict[Place, bool]:
    """For every mixture whether its positional part has more than half of the attention, in the mean over queries."""
    mixed = {place: truth for place, truth in planted.heads.items() if truth in PARTS}
    sums, queries = dict.fromkeys(mixed, 0.0), 0
    context = planted.model.cfg.n_ctx
    for row in story_tokenizer_of(planted.model).encode(list(texts)) if mixed else []:
        tokens = torch.tensor([row[:context]], device=planted.model.cfg.device)
        with torch.no_grad():
            _, cache = planted.model.run_with_cache(tokens, names_filter=lambda name: name.endswith("hook_pattern"))
        for (layer, head), truth in mixed.items():
            pattern = cache[f"blocks.{layer}.attn.hook_pattern"][0, head]
            on_part = pattern.diagonal(-1) if PARTS[truth][0] == PREVIOUS else pattern[1:, 0]
            sums[layer, head] += float(on_part.sum())
        queries += tokens.shape[1] - 1
    return {place: total > queries / 2 for place, total in sums.items()}
