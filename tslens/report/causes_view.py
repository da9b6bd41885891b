"""The causal check of every head as the page says it: a table, a sentence for each head, and the finding."""

import html
from collections.abc import Sequence

from tslens.analysis.heads.ablation_result import BOUND, FINDINGS, MATTERING, has_role
from tslens.analysis.heads.names import commonest
from tslens.analysis.heads.replaced import TOKENS
from tslens.analysis.heads.swaps_result import OF_ALL_KEYS
from tslens.corpus import counted
from tslens.report.causes import Causes
from tslens.report.glossary import explained

TITLE = "What is lost without each head"
MOST_KINDS = 3  # that a finding names
ROWS = 24
"""Rows of the table at most, which leaves room on the page for the rest; every head has its sentence on the map."""
COLUMNS = ("Head", "What it does", "Without it", "Zero", "Mean", "Resample", "On its labels' tokens", "Words swapped")
UNNAMED, IDLE = FINDINGS[0], "has a name that nothing misses"


def table(causes: Causes | None, why_not: str = "") -> str:
    """The table as HTML, its most telling heads first; or a sentence: why there is none, and how to have it."""
    if causes is None:
        why = f": {html.escape(why_not)}" if why_not else ""
        said = f"No head was ablated for this page{why}. <code>tslens report --causes</code> includes it."
        return f'<div class="panel" id="causes"><h3>{TITLE}</h3><p>{said}</p></div>'
    rows = [_row(causes, *found) for found in causes.in_order()]
    more = ""
    if rest := rows[ROWS:]:
        said = f"Not listed: {len(rest)} heads. Choose one in the map above to read the same of it."
        more = f'<p class="muted small">{said}</p>'
    content = f"<h3>{TITLE}</h3>{_intro(causes)}{_table(rows[:ROWS])}{more}"
    return f'<div class="panel" id="causes">{content}</div>'


def _table(rows: Sequence[str]) -> str:
    heads = "".join(f'<th scope="col"{_number(name)}>{name}</th>' for name in COLUMNS)
    content = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table class="causes">{content}</table></div>'


def _intro(causes: Causes) -> str:
    found = causes.ablation
    said = (
        f"Nats per token that the loss on {found.rows} stories ({found.tokens:,} tokens) rises by, with 95% intervals, "
        "paired by story, where the head's output is replaced by nothing (zero), by its mean over all positions, or by "
        "that at the same position of another story (resample). A head matters if all three cost at least "
        f"{BOUND:g} and are above 0 at q < 0.05; nothing misses one whose intervals all lie within {BOUND:g} of 0, "
        "and whose labels' tokens surely cost less than so much more than others. "
        "The tokens that a role or a kind of key predicts, or words of the class that a head writes most, are compared "
        "with others of the same stories and frequency; shown is the least of the three differences. Heads that matter "
        "and have no name come first. "
    )
    return f'<p class="muted small">{explained(said + _beside(causes) + _agreement(causes) + _beyond(causes))}</p>'


def _beside(causes: Causes) -> str:
    """How many heads of untrained twins matter by the same rule."""
    twins = causes.ablated
    if twins is None:
        why = " (--causes includes them)" if causes.twins else " (twins: not asked)"
        return f"No head of an untrained twin was ablated beside them{why}. "
    own, of_twins = int(twins.count[twins.place(MATTERING)]), twins.range_of(MATTERING)
    return (
        f"On {twins.stories} stories {own} heads matter, and {of_twins} of each of {len(twins.twins)} untrained twins. "
    )


def _agreement(causes: Causes) -> str:
    """How many roles and descriptions the swaps confirm and contradict, before any is withheld."""
    found = causes.agreement
    if not found.labelled:
        return "No head has a label that swaps could contradict. "
    return f"Where words are swapped on {causes.swaps.stories} stories: {found.said()}. "


def _beyond(causes: Causes) -> str:
    """How many heads have a kind, beside untrained twins."""
    if not causes.twins:
        return "Kinds of keys and word classes need untrained twins (twins: not asked)."
    if causes.kinds is None or causes.writes is None:
        return "Which content a head attends to was not read: --causes includes it."
    return " ".join(
        f"{what}: {answer.said()}.{answer.warning()}"
        for answer, what in (
            (causes.kinds, "Heads that choose keys of a named kind"),
            (causes.writes, "Heads that write a word class"),
        )
    )


def _row(causes: Causes, layer: int, head: int, finding: str) -> str:
    found = causes.ablation
    place = f'<a href="#head={layer}.{head}">{layer}.{head}</a>'
    name, more = html.escape(found.roles[layer][head]), html.escape("; ".join(_details(causes, layer, head)))
    cells = [place, f"{name}<span>{more}</span>" if more else name, html.escape(finding)]
    cells += [
        _nats(*(float(x[i, layer, head]) for x in (found.increase, found.low, found.high)))
        for i in range(len(found.kinds))
    ]
    cells += [_contrast(causes, layer, head), _swapped(causes, layer, head)]
    named = zip(COLUMNS, cells, strict=True)
    row = "".join(f'<td data-label="{column}"{_number(column)}>{cell}</td>' for column, cell in named)
    return f"<tr>{row}</tr>"


def _number(column: str) -> str:
    return ' class="n"' if column in COLUMNS[3:7] else ""


def _details(causes: Causes, layer: int, head: int) -> list[str]:
    """What else is known of a head: its withheld role, the kernel of a positional one, kinds beside a role."""
    said = []
    if causes.agreement.withheld[layer, head]:
        said.append(f"withheld: {causes.agreement.roles[layer][head]}")
    family, frame = causes.kernels.families[layer][head], causes.kernels.frames[layer][head]
    if family and frame == "absolute":
        said.append("by place in the story")
    elif family and family != "unresolved":
        length = float(causes.kernels.length[layer, head])
        tokens = f" over {length:.0f} tokens" if family in ("local", "slow decay") and length < 1e4 else ""
        said.append(", ".join(filter(None, (f"{family}{tokens}", frame if frame != "unresolved" else ""))))
    if causes.kinds is not None and causes.writes is not None and has_role(causes.roles.roles[layer][head]):
        said += [f"chooses {', '.join(chosen)}"] if (chosen := causes.kinds.kinds[layer][head]) else []
        said += [f"writes {', '.join(written)}"] if (written := causes.writes.kinds[layer][head]) else []
    return said


def _nats(value: float, low: float, high: float) -> str:
    faint = ' class="faint"' if low <= 0 <= high else ""
    return f"<b{faint}>{value:+.3f}</b><span>[{low:.3f}, {high:.3f}]</span>"


def _contrast(causes: Causes, layer: int, head: int) -> str:
    """Of each label that predicts tokens the least difference."""
    found, cells = causes.ablation, []
    for test in found.tests_of(layer, head):
        at = int(found.contrast[:, test].nan_to_num(float("inf")).argmin())
        numbers = _nats(*(float(x[at, test]) for x in (found.contrast, found.contrast_low, found.contrast_high)))
        cells.append(f"{numbers}<span>{html.escape(found.tests[test].partition(' ')[2])}</span>")
    return " ".join(cells) or "–"


def _swapped(causes: Causes, layer: int, head: int) -> str:
    """What decides, and how much of the attention follows the words (of its nats) and the place (of its squares), over
    the keys of its role."""
    keys = 0 if causes.agreement.roles[layer][head] in OF_ALL_KEYS else 1
    change = float(causes.swaps.change[keys, TOKENS, layer, head])
    shift = float(causes.swaps.shift[keys, layer, head])
    place = f", {shift:.0%} the place" if shift == shift else ""
    return f"{causes.agreement.verdicts[layer][head]}<span>{change:.0%} follows the words{place}</span>"


def sentences(causes: Causes) -> list[str]:
    """What is said of each head where it is shown, layer after layer."""
    by_place = {(layer, head): finding for layer, head, finding in causes.in_order()}
    return [_sentence(causes, *place, finding) for place, finding in sorted(by_place.items())]


def _sentence(causes: Causes, layer: int, head: int, finding: str) -> str:
    found = causes.ablation
    costs = ", ".join(f"{float(found.increase[i, layer, head]):+.3f} by {kind}" for i, kind in enumerate(found.kinds))
    name, role = found.roles[layer][head], causes.roles.roles[layer][head]
    called = f"{name[0].upper()}{name[1:]}. " if name != role else ""
    details = "".join(f"{text[0].upper()}{text[1:]}. " for text in _details(causes, layer, head))
    return f"{called}{details}{finding[0].upper()}{finding[1:]}: without it {costs} nats per token."


def listed(causes: Causes, findings: Sequence[str]) -> list[str]:
    """The heads with one of these findings: `1.3 (positional)`."""
    roles, order = causes.ablation.roles, causes.in_order()
    return [f"{layer}.{head} ({roles[layer][head]})" for layer, head, finding in order if finding in findings]


def claim(causes: Causes) -> tuple[str, str, str]:
    """The finding about all heads: its figure, its claim, its evidence."""
    found, total = causes.ablation, causes.roles.role_code.numel()
    mattering = listed(causes, [finding for finding in FINDINGS if finding.startswith("matters")])
    unnamed, idle = listed(causes, [UNNAMED]), listed(causes, [IDLE])
    without = f"{_few(unnamed)} without a name" if unnamed else "each of them has a name" if mattering else "none does"
    missed = f"; nothing misses {_few(idle)}" if idle else ""
    layer, head = divmod(int(found.increase.amin(0).argmax()), found.increase.shape[2])
    costs = ", ".join(
        f"{kind} {float(found.increase[i, layer, head]):+.2f} [{float(found.low[i, layer, head]):.2f}, "
        f"{float(found.high[i, layer, head]):.2f}]"
        for i, kind in enumerate(found.kinds)
    )
    return (
        f"{len(mattering)} of {total} heads matter",
        f"to the loss however they are ablated ({', '.join(found.kinds)})",
        f"On {found.rows} stories {len(mattering)} matter: {without}{missed}. Nats per token of the one that matters "
        f"most, layer {layer}, head {head} ({found.roles[layer][head]}): {costs}. {_agreement(causes)}".rstrip(),
    )


def claims_of_kinds(causes: Causes) -> list[tuple[str, str, str, bool]]:
    """What was found of the kinds of keys and of the written classes: figure, claim, evidence, and whether it leads:
    heads that are turned at random have fewer, as untrained twins do. Nothing where neither was read."""
    asked = ((causes.kinds, "choose their keys by a kind of content"), (causes.writes, "write a word class"))
    found = []
    for answer, what in asked:
        if answer is not None:
            figure, _, beside = answer.said().partition(" (")
            where = f"on {counted(answer.stories)} ({beside.removesuffix(')')})"
            most = f"Most often: {'; '.join(commonest(answer, MOST_KINDS))}. " if answer.having else ""
            found.append((figure, f"{what} {where}.", f"{most}{answer.warning().strip()}".strip(), answer.leads))
    return found


def _few(heads: Sequence[str]) -> str:
    """'3 heads, first 0.1 (positional)'."""
    return heads[0] if len(heads) == 1 else f"{len(heads)} heads, first {heads[0]}"
