"""The command that shows everything once."""


def demo(*, name: str = "demo") -> None:
    """Make stories, train a small model on them, analyse it and write one offline page. Takes a few minutes.

    Parameters
    ----------
    name
        The run's name; an earlier run of that name is replaced.
    """
    from tslens.cli.train import progress_bar
    from tslens.demo import demo as run

    print("Making stories, training a model on them and analysing it (about three minutes on two cores)")
    done = run(name, bar=progress_bar)
    print(f"\nA story that the model wrote:\n\n{done.story}\n\nWhat was found:\n")
    for finding in done.findings:
        print(f"  - {finding.figure} {finding.claim} {finding.evidence}")
    print(f"\nThe whole evidence, in one page that needs no network: {done.page}  ({done.seconds:.0f} s)\n")
    print("Try next:")
    print(f"  tslens analyze heads --model {name}")
    print(f"  tslens generate --model {name} --prompt 'Once upon a time' --n 4")
    print("  tslens models")
