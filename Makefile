# make demo   sets everything up, shows what the bundled models find and fine-tunes one on the embedded corpus
# make test   sets everything up and runs lint, types, layers and tests
# make light  checks the installation without torch in an environment of its own
# make lint   the checks without the tests
# make bench  speed ratios of the demo model on this machine
# make docs   builds the documentation site into site/
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DOCS := $(VENV)/.installed-docs
# One thread is many times faster than two on shared cores; nothing here may download a model.
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE = 1
export TOKENIZERS_PARALLELISM = false
# Without bytecode files, every test process would compile torch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test light lint bench docs clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "anyner needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[train,dev]'
	touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/python benchmarks/demo.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry src

test: lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow and not gpu" --hypothesis-profile repeatable

light:
	PYTHON=$(PYTHON) .ci/light

bench: $(INSTALLED)
	test -f runs/demo/config.json || $(BIN)/anyner train recipes/biaffine/demo-bundled.yaml -o runs/demo
	$(BIN)/anyner convert synthetic:contiguous:test runs/demo-test.jsonl
	$(BIN)/python benchmarks/speed.py runs/demo runs/demo-test.jsonl

$(INSTALLED_DOCS): $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $(INSTALLED_DOCS)

docs: $(INSTALLED_DOCS)
	$(BIN)/python docs/site/build.py

clean:
	rm -rf $(VENV) runs build site .pytest_cache .mypy_cache .ruff_cache .hypothesis
