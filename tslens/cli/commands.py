"""The table of commands: the words a person types, the function that runs, and its line in the help."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: the words a person types, where its function lives, and its line in the help."""

    words: str
    path: str
    help: str


# In the order in which the help shows them. The last column is the first paragraph of the function's docstring.
COMMANDS: tuple[Command, ...] = (
    Command(
        "demo",
        "tslens.cli.demo:demo",
        "Make stories, train a small model on them, analyse it and write one offline page. Takes a few minutes.",
    ),
    Command(
        "report",
        "tslens.cli.report:report",
        "Write one HTML file that shows what a model's heads, neurons and layers do; it opens with no network.",
    ),
    Command(
        "analyze heads",
        "tslens.cli.analyze:heads",
        "Find the role of every attention head, with effect size and evidence.",
    ),
    Command(
        "analyze neurons",
        "tslens.cli.neurons:neurons",
        "Find what every MLP neuron fires on: top tokens beside samples, part of speech, effect on the logits.",
    ),
    Command(
        "analyze lens",
        "tslens.cli.layers:lens",
        "Show what the model would predict after each layer (logit lens): over one prompt, or by depth over stories.",
    ),
    Command(
        "analyze attribution",
        "tslens.cli.layers:attribution",
        "Show what each head and MLP adds directly to the logit of the next token: over one prompt, or over stories.",
    ),
    Command(
        "analyze residuals",
        "tslens.cli.layers:residuals",
        "Show how long the residual stream is after each block, and what attention and MLP add to it.",
    ),
    Command(
        "analyze circuit",
        "tslens.cli.circuits:circuit",
        "Find the heads and MLPs that answer a task of minimal pairs: accuracy, patching, and a circuit with controls.",
    ),
    Command(
        "analyze composition",
        "tslens.cli.circuits:composition",
        "Find which heads read which heads, by their weights and by path patching; and one head's tokens.",
    ),
    Command(
        "analyze twins",
        "tslens.cli.analyze:twins",
        "Count labels of heads and neurons, and positions that layers settle, beside those of untrained twins.",
    ),
    Command(
        "analyze dynamics",
        "tslens.cli.dynamics:dynamics",
        "Follow heads, neurons and layers over a run's snapshots, with bands over seeds, and say when each appears.",
    ),
    Command(
        "analyze features",
        "tslens.cli.features:features",
        "Train a sparse autoencoder by SAELens, and read its features beside neurons and a frozen random one's.",
    ),
    Command(
        "analyze all",
        "tslens.cli.study:everything",
        "Ask most questions about heads, neurons and layers, each with its checks; print what each found.",
    ),
    Command(
        "audit",
        "tslens.cli.audit:audit",
        "Hold the labels of heads and neurons against planted truth: power, false discoveries, coverage; in minutes.",
    ),
    Command(
        "stories make",
        "tslens.cli.making:make",
        "Make stories with the embedded generator, to a file or to the terminal.",
    ),
    Command(
        "stories ask",
        "tslens.cli.asking:ask",
        "Ask a large model for stories that hold given words and features; the price comes first.",
    ),
    Command(
        "stories audit",
        "tslens.cli.corpora:audit",
        "Measure a corpus: near-duplicates, vocabulary, length, features, parts of speech, encoding faults, overlap.",
    ),
    Command("stories check", "tslens.cli.stories:check", "Read stories and show what cleaning repairs and drops."),
    Command(
        "stories pack",
        "tslens.cli.stories:pack",
        "Turn stories into tokens on disk, ready for training. A packing that was stopped is resumed.",
    ),
    Command(
        "train",
        "tslens.cli.train:train",
        "Train a model by a recipe, a shape such as 256x8, or a TOML file; or resume a run.",
    ),
    Command(
        "runs",
        "tslens.cli.runs:runs",
        "List the training runs of this folder: shape, objective, progress, loss, bits per byte, and state.",
    ),
    Command(
        "plot",
        "tslens.cli.runs:plot",
        "Draw the training and validation loss of runs, together in one figure over the tokens seen.",
    ),
    Command("generate", "tslens.cli.models:generate", "Print stories that a model writes."),
    Command(
        "models",
        "tslens.cli.models:list_models",
        "List the models that can be loaded by name: the runs of this folder and those that come with tslens.",
    ),
    Command(
        "export",
        "tslens.cli.export:export",
        "Write a model for other programs: transformers, TransformerLens, llama2.c or those that read GGUF, with its "
        "tokenizer.",
    ),
    Command(
        "loss",
        "tslens.cli.models:loss",
        "Print a model's loss on stories: nats per token, and bits per byte of the original text, with 95% intervals.",
    ),
    Command(
        "eval",
        "tslens.cli.evaluate:evaluate",
        "Measure how often models prefer, and how often they write, the right ending of a prompt of a suite.",
    ),
    Command(
        "eval all",
        "tslens.cli.evaluate:everything",
        "Score models on all suites that need no key, and print their table and a score card.",
    ),
    Command(
        "eval beginnings",
        "tslens.cli.evaluate:beginnings",
        "Put what models write after the same beginnings of stories side by side, for reading and grading.",
    ),
    Command(
        "eval write",
        "tslens.cli.writing:write",
        "Let models complete prompts, and measure each text by itself: length, end of the story, repetition, faults.",
    ),
    Command(
        "eval grade",
        "tslens.cli.grading:grade",
        "Grade texts by a rubric: scores with intervals, controls, agreement, and which model writes better.",
    ),
    Command(
        "eval rank",
        "tslens.cli.grading:rank",
        "Rank models by pairwise preferences of people or judges, by Bradley and Terry, with intervals over prompts.",
    ),
    Command(
        "eval label",
        "tslens.cli.labelling:label",
        "Open a local page on which you grade texts blind, by the same rubric as any grader; saves them as CSV.",
    ),
    Command(
        "eval cost",
        "tslens.cli.writing:cost",
        "Measure the seconds and floating-point operations of a story, of models and of the shapes of GPT-2's sizes.",
    ),
    Command(
        "eval pairs",
        "tslens.cli.pairs:pairs",
        "Measure how often models find the good text of a minimal pair more probable than the bad one, by phenomenon.",
    ),
    Command(
        "eval copies",
        "tslens.cli.copies:copies",
        "Measure how much of what models write is copied from their training stories, and how much repeats.",
    ),
    Command(
        "eval card",
        "tslens.cli.card:card",
        "Print the score card without a grader: grammar, consistency, plot and creativity, of models or of bare texts.",
    ),
    Command(
        "eval instruct",
        "tslens.cli.instructions:instruct",
        "Measure how far models write what instructions ask for, beyond what they write anyway.",
    ),
    Command(
        "bench",
        "tslens.cli.bench:bench",
        "Measure speed, memory and quality against other libraries, on this machine. Takes over ten minutes.",
    ),
)

GROUPS = {
    "analyze": "Analyse what heads, neurons and layers do, with evidence.",
    "eval": "Evaluate models: suites of prompts, and what they write.",
    "stories": "Make, ask for, clean and pack stories.",
}
