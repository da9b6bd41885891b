"""The command that runs the demo."""

import dataclasses
import sys

from tslens.cli.delivery import print_json
from tslens.cli.options import Json, Limit, Settings, settings
from tslens.tables import filled


def demo(
    *,
    name: str = "demo",
    limit: Limit = 200,
    set_: Settings = None,
    overwrite: bool = False,
    json_: Json = False,
) -> None:
    """Make stories, train a small model on them, analyse it and write one offline page. Takes a few minutes.

    Parameters
    ----------
    name
        The run's name. An existing run of the same recipe is replaced, with the same result; any other is an error.
    overwrite
        Replace an existing run of that name, whatever its recipe.
    """
    from tslens.demo import SAMPLING
    from tslens.demo import demo as run

    given = settings(set_)

    def begun() -> None:
        usual = "" if given else " (four to ten minutes on two idle cores)"
        what = f"Making stories, training a model on them and analysing it{usual}"
        print(what, file=sys.stderr if json_ else sys.stdout, flush=True)

    done = run(name, given, limit=limit, overwrite=overwrite, begun=begun)
    if json_:
        print_json(dataclasses.asdict(done) | {"page": str(done.page)})
        return
    which = "the first of eight that it ended itself" if done.is_whole else "it ended none of eight"
    how = f"temperature {SAMPLING.temperature:g}, {which}"
    print(f"\nA story that the model wrote ({how}):\n\n{done.story}\n\nWhat was found:\n")
    for finding in done.findings:
        print(filled(f"  - {finding.figure} {finding.claim} {finding.evidence}"))
    print(f"\nThe whole evidence, in one page that needs no network: {done.page}  ({done.seconds:.0f} s)\n")
    print("Try next:")
    print(f"  tslens analyze heads --model {name}")
    print(f"  tslens generate --model {name} --prompt 'Once upon a time' --n 4")
    print("  tslens models")
