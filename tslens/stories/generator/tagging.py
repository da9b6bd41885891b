"""Tags of the literal words of a template, from their neighbours.

The guidelines are those of Universal Dependencies for English (de Marneffe et al. 2021, doi:10.1162/coli_a_00402): possessives
(my, her) are PRON, copulas AUX, `to` before a verb and `not` PART, there in "there was" PRON; all, both, each and some are DET
even where they stand alone, but not in each other. A word whose neighbours do not determine its tag must be written word/TAG.
"""
# ruff: noqa: E501

from tslens.stories.generator import lexicon
from tslens.stories.generator.content_words import content_word_tag
from tslens.stories.generator.context import Neighbour, in_noun_phrase
from tslens.stories.generator.function_words import function_word_tag
from tslens.stories.generator.nodes import TemplateError


def tag_of(text: str, prev: Neighbour, nxt: Neighbour, rest: tuple[str, ...]) -> str:
    """The tag of a word between its neighbours; `rest` are the words and slots up to the next mark.

    Raises:
        TemplateError: a word that the lexicon does not know, or one whose neighbours do not determine its tag.
    """
    low = text.lower()
    tags = lexicon.tags_of().get(low, frozenset())
    if not tags:
        raise TemplateError(f"{text!r} is not in the lexicon")
    tag = function_word_tag(low, prev, nxt, rest) or (
        next(iter(tags)) if len(tags) == 1 else content_word_tag(low, tags, prev, nxt)
    )
    if not tag or (
        tag == "VERB"
        and in_noun_phrase(prev)
        and (prev.tag != "NUM" or prev.low == "one")
        and tags == {"VERB"}
        and (low in lexicon.base_verbs() or low.endswith("ing"))
    ):
        raise TemplateError(f"the tag of {text!r} is not settled ({'/'.join(sorted(tags))}) after {prev}, before {nxt}")
    return tag
