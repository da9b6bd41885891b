"""What the page's own words mean, shown where they stand, and what the page does not show."""

import html
import re
from collections.abc import Mapping
from itertools import islice

WORDS: Mapping[str, str] = {
    "role": "what a head looks at, such as the previous token, where that explains most of its attention and beats its "
    "null; diffuse and content-dependent are descriptions, and no roles",
    "positional": "of what tells a head's attention from uniform, more than 0.6 is the same in every story: the place "
    "of a key decides",
    "content-dependent": "of what tells a head's attention from uniform, less than 0.4 is the same in every story: "
    "words decide. A description, and no role: untrained heads earn it too",
    "diffuse": "the head's attention is nearly uniform, its entropy above 95% of the greatest",
    "unresolved": "no label has the evidence that is asked for",
    "BOS": "the token that begins every story; many heads rest on it while they have nothing to read",
    "effect": "the share of what tells a head's attention from uniform that its role explains; of a diffuse head its "
    "evenness",
    "withheld": "of a role: words were swapped, and the head's attention did not stay or follow as the role says; it "
    "reads as unresolved",
    "turned heads": "the model with every head's keys and values turned at random: what they have too is due to the "
    "embedding and the neurons, not to the heads",
    "settled": "the logit lens's likeliest token is already the one that the model ends with",
    "kernel": "the attention of a positional head by distance: the previous token, an offset, a local window, a slow "
    "decay",
    "twin": "an untrained model of the same shape, with fresh weights or with every weight's values permuted. A count "
    "that twins reach says nothing of training",
    "null": "what a measure would be if the claim were false; it was computed, not assumed",
    "q": "the false discovery rate: of all claims with a q so small, at most this share is false (Benjamini and "
    "Hochberg)",
    "AUROC": "the chance that a token of the label excites the neuron more than another token: 1 always, 0.5 as by "
    "chance",
    "lift": "how many times as common a part of speech is among a neuron's top words as among random ones",
    "induction": "looking from a token to what came after its earlier occurrence, by which a model goes on with what "
    "it has read before",
    "predicts": "a neuron's label, made on half of the stories, also says where it fires on the other half, on other "
    "words",
    "tail selector": "a neuron whose strongest tokens are of one kind, while its activation does not tell that kind "
    "from others on other stories",
    "evenness": "the entropy of a head's attention over that of uniform attention: 1 is uniform, 0 is one key",
    "nats": "the unit of loss: the mean of minus the natural logarithm of the probability of what came next",
    "bits per byte": "the loss by byte of text, which compares models of different vocabularies",
    "logit lens": "the final norm and the unembedding applied after an earlier block: what the model would say there",
    "circuit": "heads and MLPs that suffice for an answer: all others are replaced by what they do on another prompt",
    "faithfulness": "the share of the difference between the model and a model without any of its heads and MLPs that "
    "a circuit keeps: 1 is the whole model",
    "resampled": "replaced by the head's output at the same place of another story",
}
"""The words that are this project's or the field's own, each with its meaning."""

LIMITS = (
    "What a head looks at or a neuron fires on is not yet what the model does with it: see what is lost without each "
    "head, and circuits, where they were asked for.",
    "Features that lie across several neurons are not seen in single ones; a sparse autoencoder may find them.",
    "Labels hold for these stories. Other texts, or longer contexts, may give others.",
    "Counts of labels are not a measure of quality: a better model may have fewer.",
)
"""What the page does not show."""

_INFLECTED = {word: rf"\b{word}s?\b" for word in WORDS} | {
    "effect": r"\beffect\b(?= (?:\d|of the role))",
    "turned heads": r"\bturned heads\b",
    "circuit": r"(?<!analyze )\bcircuits?\b",  # not in a command
    "q": r"\bq\b(?= (?:=|&lt;|<|below))",
    "predicts": r"\b[Pp]redicts\b(?= where|: made)",
}
"""Of each word the pattern of its places in a text, for Python and for the page's script."""


def explained(text: str) -> str:
    """Text as HTML, escaped, where the first of each word is a link to its meaning; the page's script shows that at the
    pointer."""
    said, marks = html.escape(text), list[tuple[int, int, str]]()
    for word in sorted(WORDS, key=len, reverse=True):
        spans = (found.span() for found in re.finditer(_INFLECTED[word], said))
        free = (span for span in spans if all(span[1] <= begin or span[0] >= end for begin, end, _ in marks))
        marks += [(*span, word) for span in islice(free, 1)]
    for start, end, word in sorted(marks, reverse=True):
        said = f'{said[:start]}<a class="term" href="#{_place(word)}">{said[start:end]}</a>{said[end:]}'
    return said


def table() -> str:
    """All words with their meanings, and what the page does not show, as HTML."""
    rows = "\n".join(
        f'<dt id="{_place(word)}" data-found="{html.escape(_INFLECTED[word])}">{html.escape(word)}</dt>'
        f"<dd>{html.escape(meaning)}.</dd>"
        for word, meaning in sorted(WORDS.items(), key=lambda item: item[0].lower())
    )
    limits = "\n".join(f"<li>{html.escape(limit)}</li>" for limit in LIMITS)
    return (
        f'<div class="columns"><div class="panel"><h3>Words</h3><dl class="facts words">\n{rows}\n</dl></div>\n'
        f'<div class="panel"><h3>What this page does not show</h3><ul>\n{limits}\n</ul></div></div>'
    )


def _place(word: str) -> str:
    return "word-" + word.lower().replace(" ", "-")
