"""(measured below)

What does a training step have to remember, and what does the compressor save of it? `python analyses/memory.py` fills
the published table again, in some minutes on a CPU; with a GPU the peak is measured too.
"""

from pathlib import Path

from tslens.bench.memory import memory
from tslens.plots import save

FOLDER = Path(__file__).resolve().parents[1] / "figures" / "memory"

answer = memory(watch=print)
print(answer.summary().to_string(index=False))
save(answer.figure(), FOLDER / "memory.svg", answer.to_frame())
