# The front desk: every verb is a target of this file, and CI calls nothing else.
.PHONY: demo lab watch test test-all test-newest check unit suite test-gpu lint bench soak mutants messages pictures docs \
	build update clean
.DEFAULT_GOAL := demo

VENV := .venv
BIN := $(VENV)/bin
# The versions of all packages. Empty: the newest ones.
export CONSTRAINTS := constraints.txt
MARKS := not slow and not soak and not gpu
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Written after a production build.
EXTENSION := labextension/lib/.production
# JupyterLab finds the extension here. It is a link to the built one.
LINK := $(VENV)/share/jupyter/labextensions/jupyter-pai
# It is built by the rule below, not once more by each installation.
export SKIP_JUPYTER_BUILDER := 1
# Every started interpreter reads the byte code of the one before it.
unexport PYTHONDONTWRITEBYTECODE

# $(STEP) NAME TEXT COMMAND: print the text and run the command. Its output goes to a log, whose end a failure shows.
STEP = @$(call RUN,20)
# The same, but a failure shows all output.
CHECK = @$(call RUN,+1)
RUN = step() { log=build/log/$$1.txt; text="$$2 (log: $$log)"; shift 2; mkdir -p build/log; echo "$$text"; \
	"$$@" > $$log 2>&1 || { code=$$?; tail -n $(1) $$log; echo "Failed: $$text"; exit $$code; }; }; step

# uv does not read the index of pip's configuration.
INDEX = $(or $(UV_DEFAULT_INDEX),$(PIP_INDEX_URL),$(shell python -m pip config get global.index-url 2> /dev/null))
INSTALL = env UV_DEFAULT_INDEX="$(INDEX)" uv pip install --python $(BIN)/python \
	$(foreach option,--constraint --build-constraint,$(addprefix $(option) ,$(CONSTRAINTS)))

demo: $(VENV)/tutorial  ## run the tutorial through a real Jupyter server
	python -m binder.demo

lab: $(VENV)/lab  ## open JupyterLab on the tutorial
	python -m binder.demo --lab

watch: $(VENV)/lab  ## build the front end again at each change
	@rm $(EXTENSION)
	jlpm watch

test: $(VENV)/test  ## what `lint` says, and the first tier of the suite
	$(MAKE) --no-print-directory --jobs=2 lint suite

test-all:  ## what `lint` says, and the whole suite
	$(MAKE) --no-print-directory test MARKS="not soak and not gpu"

test-newest:  ## the first tier, with the newest version of each package
	rm -rf .venvs/newest
	$(MAKE) --no-print-directory suite VENV=.venvs/newest CONSTRAINTS=

check: $(VENV)/test  ## lint, types and unit tests, in minutes
	$(MAKE) --no-print-directory --jobs=2 lint unit

unit: $(VENV)/test
	$(CHECK) jlpm-test "jlpm test" jlpm test
	python -m pytest tests/unit tests/design --numprocesses=auto -q

suite: $(VENV)/test
	$(CHECK) jlpm-test "jlpm test" jlpm test
	python -m tests --numprocesses=4 --dist=loadfile --no-loadscope-reorder -m "$(MARKS)"

test-gpu: $(VENV)/test  ## what needs a GPU
	python -m pytest -m gpu tests/gpu

lint: $(VENV)/test
	$(CHECK) ruff-check "ruff check" ruff check .
	$(CHECK) ruff-format "ruff format --check" ruff format --check .
	$(CHECK) mypy mypy mypy
	$(CHECK) jlpm-lint "jlpm lint" jlpm lint

bench: $(VENV)/test  ## measure, and write docs/benchmarks.md
	python -m tests.benchmarks

soak: $(VENV)/test  ## the long counts
	FUZZ_EXAMPLES=10000 python -m pytest tests/unit tests/integration/server/test_openapi_conformance.py \
		tests/integration/data/test_locations.py -q \
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
	$(STEP) build "Building wheel and sdist in dist/" \
		env UV_DEFAULT_INDEX="$(INDEX)" uv build $(addprefix --build-constraint ,$(CONSTRAINTS))

COMPILE := uv pip compile --upgrade --no-header --no-annotate --python-version 3.11 --python-platform linux
update: | $(BIN)/uv  ## write the versions of all packages anew, and show the changes
	$(STEP) update "Resolving the newest versions" env UV_DEFAULT_INDEX="$(INDEX)" sh -ec ' \
		$(COMPILE) pyproject.toml --all-extras --group node --group collaboration --group mpi -o build/constraints.txt; \
		for name in alipai tikit; do $(COMPILE) --group $$name -o build/$$name.txt; done'
	@for file in constraints.txt tests/fakes/alipai.txt tests/fakes/tikit.txt; do new=build/$${file##*/}; \
		diff --side-by-side --suppress-common-lines --expand-tabs --width=80 $$file $$new || true; mv $$new $$file; done

$(BIN)/uv:
	$(STEP) venv "Making the environment $(VENV)" sh -ec \
		'python3 -m venv $(VENV); python -m pip install $(addprefix --constraint ,$(CONSTRAINTS)) uv'

$(VENV)/node: pyproject.toml $(CONSTRAINTS) | $(BIN)/uv
	$(STEP) node "Installing Node.js" $(INSTALL) --group node
	@touch $@

node_modules/.yarn-state.yml: package.json yarn.lock | $(VENV)/node
	$(STEP) yarn "Installing the packages of the front end" jlpm install --immutable
	@touch $@

SOURCES := $(shell find labextension/src -name "*.ts*") $(wildcard labextension/*.mjs)
$(EXTENSION): node_modules/.yarn-state.yml $(SOURCES) $(wildcard labextension/style/* labextension/schema/*)
	$(STEP) extension "Building the front end" jlpm build:prod
	@touch $@

# Without the link: an installation removes the files of the one before it.
$(VENV)/tutorial: pyproject.toml $(CONSTRAINTS) $(wildcard jupyter_pai/locale/*/LC_MESSAGES/*.po) | $(BIN)/uv
	@rm -rf $(LINK)
	$(STEP) tutorial "Installing jupyter-pai and the packages of the tutorials" $(INSTALL) --editable ".[tutorial,zh]"
	@touch $@

$(VENV)/lab: $(VENV)/tutorial $(EXTENSION)
	@rm -rf $(LINK)
	@ln -s $(CURDIR)/jupyter_pai/_labextension $(LINK)
	@touch $@

# Only their dependencies.
$(VENV)/test: $(VENV)/lab
	$(STEP) test "Installing the packages of the tests" $(INSTALL) -r pyproject.toml --extra test --extra lint
	@touch $@

$(VENV)/mutants: $(VENV)/test
	$(STEP) mutants "Installing the packages of the mutants" $(INSTALL) -r pyproject.toml --extra mutants
	@touch $@

clean:
	rm -rf $(VENV) .venvs build/log node_modules dist jupyter_pai/_labextension jupyter_pai/_widget labextension/lib
