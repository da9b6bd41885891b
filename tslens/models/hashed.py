"""The hash that stands for a model wherever something found on it is kept."""

import hashlib
import json

from tslens.models.hooked import story_tokenizer_of, weights
from tslens.models.protocols import LanguageModel
from tslens.models.validation import spec_of


def weights_key(model: LanguageModel) -> str:
    """A hash of a model's shape, tokenizer and weights."""
    shape = json.dumps(spec_of(model, compressors=True).to_dict(), sort_keys=True)
    digest = hashlib.blake2b(shape.encode(), digest_size=16)
    digest.update(story_tokenizer_of(model).hash.encode())
    for name, weight in sorted(weights(model).items()):
        digest.update(name.encode())
        digest.update(weight.detach().float().cpu().contiguous().numpy().data)
    return digest.hexdigest()
