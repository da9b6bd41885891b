# Every target sets itself up: the first one that runs makes .venv, and makes it again when what it holds is out of date.
# Needs python3 (3.11 or newer) with its venv module, and nothing else. Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
DEV := .venv/.dev

.PHONY: report demo test test-all stress lint docs bench bench-gpu figures clean
.DEFAULT_GOAL := demo

demo: $(CORE)  ## generate stories, train a model, analyse it, write runs/demo/report.html
	@$(BIN)/tslens demo

report: $(CORE)  ## a page of evidence about the bundled model, without training
	@$(BIN)/tslens report --model stories2M

# Compiled tests are kept, whatever the environment says: rewriting their assertions takes as long as all imports.
test test-all stress: export PYTHONDONTWRITEBYTECODE =
test-all stress: export UNCHECKED = 1

# Every step runs even when an earlier one failed, so that one run tells everything. mypy, which uses one core, runs
# beside the tests where $(TYPES) started it.
LINT := "ruff check ." "ruff format --check ." "mypy"
PYTEST := pytest -q -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder
TEST := "ruff check ." "ruff format --check ." "$(PYTEST)" "mypy"
TYPES = $(BIN)/python -m mypy >.venv/.types 2>&1 & types=$$!;
steps = summary=; status=0; for step in $(1); do \
		printf '\n== %s\n' "$$step"; \
		if [ "$$step" = mypy ] && [ -n "$$types" ]; then wait "$$types"; code=$$?; cat .venv/.types; \
		else $(BIN)/python -m $$step; code=$$?; fi; \
		if [ "$$code" = 0 ]; then mark=ok; else mark=FAILED; status=1; fi; \
		summary="$$summary$$(printf '%-7s %s' "$$mark" "$$step")|"; \
	done; \
	printf '\n%s' "$$summary" | tr '|' '\n'; exit $$status

test: $(DEV)  ## lint, types and tests
	@$(TYPES) $(call steps,$(TEST))

test-all: $(DEV)  ## what `make test` leaves out: Chromium, Ray, the wheel, many kills; nothing is skipped but for a GPU
	@$(call steps,"$(PYTEST) -m thorough --no-skips")

stress: $(DEV)  ## what takes hours
	@$(call steps,"$(PYTEST) -m stress --no-skips")

lint: $(DEV)  ## lint and types
	@$(call steps,$(LINT))

docs: $(DEV)  ## the site, built offline into docs/_build/html, warnings as errors
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html && echo "docs/_build/html/index.html"

bench: $(DEV)  ## ratios against other libraries, measured on this machine
	@$(BIN)/tslens bench --out figures/bench

bench-gpu:  ## training on one NVIDIA GPU, under eight minutes, one JSON; by $(PYTHON) itself where it has what is needed
	@if $(PYTHON) -c 'import torch, tokenizers, safetensors, jaxtyping, rich, numpy, pydantic, filelock' 2>/dev/null; then \
		$(PYTHON) -m tslens.bench.gpu --out figures/bench/gpu.json; \
	else $(MAKE) -s $(DEV) && $(BIN)/python -m tslens.bench.gpu --out figures/bench/gpu.json; fi

OF_MODELS := twins heads kinds neurons features lens circuits audit
OF_TRAINING := optimizers peers shapes sweep dropout contrastive instruct compressor epoch seeds grid
OF_NO_STORIES := memory dynamics
# One more model of the evaluation, trained for an epoch; and minimal pairs of others, where PAIRS names their file.
WHOLE := 256x8x8
EVALUATION = --model "256x8=$(WHOLE)" $(if $(PAIRS),--pairs "$(PAIRS)")

figures: $(DEV)  ## every study again, many hours; STORIES=files of real stories, STORIES260K=stories260K.bin; PAIRS=FILE.jsonl
	@test -n "$(STORIES)" -a -n "$(STORIES260K)" || { echo "make figures: they show real stories and two models;" \
		"give STORIES=FILE[,FILE...] and STORIES260K=stories260K.bin" >&2; exit 2; }
	@set -e; for study in $(OF_MODELS); do echo "$$study"; \
		$(BIN)/python "analyses/$$study.py" --stories "$(STORIES)" --model "stories260K=llama2c:$(STORIES260K)"; done
	@test -f runs/$(WHOLE)/config.json || if test -f runs/$(WHOLE)/recipe.json; \
		then $(BIN)/tslens train --resume $(WHOLE); else $(BIN)/tslens train $(WHOLE) --data "$(STORIES)"; fi
	@echo evaluation; $(BIN)/python analyses/evaluation.py --stories "$(STORIES)" \
		--model "stories260K=llama2c:$(STORIES260K)" $(EVALUATION)
	@echo cost; $(BIN)/python analyses/cost.py --stories "$(STORIES)" \
		--model "stories260K=llama2c:$(STORIES260K)" --model "256x8=$(WHOLE)"
	@set -e; for study in $(OF_TRAINING); do echo "$$study"; \
		$(BIN)/python "analyses/$$study.py" --stories "$(STORIES)"; done
	@echo one-epoch; $(BIN)/python analyses/evaluation.py --only figures/evaluation/one-epoch --stories "$(STORIES)" \
		--model "stories260K=llama2c:$(STORIES260K)" $(EVALUATION) --model 512x12=512x12
	@set -e; for study in $(OF_NO_STORIES); do echo "$$study"; $(BIN)/python "analyses/$$study.py"; done

clean:  ## remove what make made; runs/ and figures/ stay
	rm -rf .venv build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CORE): pyproject.toml constraints.txt install.py
	@$(PYTHON) install.py && touch $@

$(DEV): pyproject.toml constraints.txt install.py
	@$(PYTHON) install.py dev && touch $(CORE) $@
