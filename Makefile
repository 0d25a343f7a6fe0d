# One command for each thing a person wants of this project. `make help` lists them.
#
# A fresh machine needs Go, Python 3 and make. Every target sets up what it needs, does nothing that
# is already done, and leaves everything it makes in bin/ and .venv/.

SHELL   := /bin/bash
GO      ?= go
PYTHON  ?= python3
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unreleased)

BIN        := bin/gorovod
VENV       := .venv
VENV_READY := $(VENV)/.ready
KERNELSPEC := $(VENV)/share/jupyter/kernels/gorovod/kernel.json
# Commands that look for the interpreter or the kernelspec find those of the venv, whatever else the
# machine has.
IN_VENV    := VIRTUAL_ENV="$(CURDIR)/$(VENV)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" PYTHONNOUSERSITE=1

PYTEST_ARGS ?=
BENCH_ARGS  ?=
# For instance -update, or -programs '^typeparam/'.
CONFORMANCE_ARGS ?=

.DELETE_ON_ERROR:
.PHONY: help build setup demo lab notebooks test test-go test-python test-packages conformance bench lint clean FORCE

help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(BIN) ## build the static binary bin/gorovod

# The Go command knows better than make what changed: it is asked every time, and leaves the file
# alone when nothing did.
$(BIN): FORCE
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/gorovod

$(VENV_READY): requirements.txt constraints.txt scripts/setup-venv
	PYTHON="$(PYTHON)" scripts/setup-venv $(VENV)
	@touch $@

$(KERNELSPEC): $(BIN) $(VENV_READY)
	$(IN_VENV) $(BIN) install --sys-prefix
	@touch $@

setup: $(KERNELSPEC) ## make .venv with Jupyter and install the kernel in it

demo: setup ## run notebooks/quickstart.ipynb and print what each cell does
	$(IN_VENV) python scripts/demo.py notebooks/quickstart.ipynb

lab: setup ## open JupyterLab on the notebooks
	$(IN_VENV) jupyter lab notebooks

notebooks: setup ## execute the notebooks and store their outputs anew
	$(IN_VENV) python scripts/notebooks.py

test: test-go test-python ## run every test

test-go: $(BIN)
	$(GO) test ./...

test-python: setup test-packages
	$(IN_VENV) python -m pytest -c tests/pytest.ini tests $(PYTEST_ARGS)

test-packages:
	@scripts/debian-packages chromium

conformance: $(BIN) ## run Go's own test programs, and tell which are right, refused and wrong
	$(GO) test ./tests/conformance -count=1 -v -timeout 20m -gorovod $(CURDIR)/$(BIN) $(CONFORMANCE_ARGS)

bench: setup ## measure latency, memory and speed, beside mpirun where it is there
	@scripts/debian-packages mpirun:openmpi-bin
	$(IN_VENV) python tests/bench/bench.py $(BENCH_ARGS)

lint: ## go vet, gofmt, staticcheck
	$(GO) vet ./...
	@unformatted="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	if [ -n "$$unformatted" ]; then printf 'gofmt would change:\n%s\n' "$$unformatted"; exit 1; fi
	$(GO) tool staticcheck ./...

clean: ## remove what the other targets made
	rm -rf bin $(VENV)
	find tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
