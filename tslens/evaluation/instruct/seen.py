"""Which instructions combine words and features that training instructions asked for together, and which do not."""

from collections import Counter
from collections.abc import Iterable

from tslens import models, progress
from tslens.models import LanguageModel
from tslens.stories.combinations import Pair, feature_pairs, is_held_out, word_pairs
from tslens.stories.instruct import Instruction, parse
from tslens.stories.packed import Packed

SEEN, NOT_SEEN, HELD_OUT, UNKNOWN = GROUPS = ("seen together", "not seen together", "held out", "training unknown")
"""Every pair was asked for together in training; some pair was not, by chance; the recipe held a pair out; the model
keeps no training instructions, or the instruction asks for no pair."""
INSTRUCTIONS = "data/instructions"  # where a run keeps the instructions of its training stories
COMBINING = "held-out combinations"


def training_instructions(model: LanguageModel) -> Iterable[Instruction] | None:
    """The instructions of the stories that a model's run packed for training; None if it keeps none."""
    home = models.home_of(model)
    if home is None or not (home / INSTRUCTIONS / "pack.json").is_file():
        return None
    tokenizer = models.story_tokenizer_of(model)
    packed = Packed.open(home / INSTRUCTIONS, tokenizer)
    numbers = progress.track(range(packed.n_stories), "reading training instructions")
    return (parse(tokenizer.decode(packed.story(number)[1:].tolist())) for number in numbers)


def held_out_share(model: LanguageModel) -> float:
    """The share of pairs that a model's recipe held out of training; 0 for a recipe without Instruct-OOD's filter."""
    objective = models.objective_of(model)
    return float(objective.get("held_out", 0.0)) if objective.get("filter") == COMBINING else 0.0


def pairs_of(instruction: Instruction) -> set[Pair]:
    """The pairs of words and of features that an instruction asks for together."""
    return word_pairs(instruction) | feature_pairs(instruction)


def counts(instructions: Iterable[Instruction], wanted: set[Pair]) -> Counter[Pair]:
    """How many instructions ask for each of the wanted pairs."""
    found: Counter[Pair] = Counter()
    for instruction in instructions:
        found.update(pairs_of(instruction) & wanted)
    return found


def groups(model: LanguageModel, instructions: list[Instruction]) -> list[int]:
    """The group of each instruction, as its place in `GROUPS`, by what the model was trained on."""
    training, share = training_instructions(model), held_out_share(model)
    asked = [pairs_of(instruction) for instruction in instructions]
    seen = None if training is None else counts(training, set().union(*asked))
    found = []
    for instruction, pairs in zip(instructions, asked, strict=True):
        if seen is None or not pairs:
            name = UNKNOWN
        elif share and is_held_out(instruction, share):
            name = HELD_OUT
        else:
            name = SEEN if all(seen[pair] for pair in pairs) else NOT_SEEN
        found.append(GROUPS.index(name))
    return found
