# Everything a developer does, in few verbs; "make" lists them.

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFLAGS   += -trimpath
LDFLAGS   := -s -w -X main.version=$(VERSION)
FUZZTIME  ?= 20s
IMAGE     ?= localhost/gpu-hook:devel
GOLANGCI  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

export GOFLAGS

.DEFAULT_GOAL := help
.PHONY: help build image demo test test-short check lint fmt fuzz bench cross size clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/gpu-hook, static
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/gpu-hook ./cmd/gpu-hook

image: build ## pack gpu-hook for Kubernetes nodes: bin/gpu-hook-image.tar, from scratch, named IMAGE
	CGO_ENABLED=0 go build -ldflags '-s -w' -o bin/gpu-hook-installer ./packaging/kubernetes/installer
	@go run ./packaging/image -o bin/gpu-hook-image.tar -tag $(IMAGE) bin/gpu-hook bin/gpu-hook-installer
	@echo "bin/gpu-hook-image.tar: $(IMAGE)"

demo: build ## show the main job: a container that gets its GPUs, here and now (as root)
	@.ci/setup demo
	@GPUHOOK_BINARY=$(CURDIR)/bin/gpu-hook go run ./integration/demo

test: ## run all tests that this machine can run, and name those it cannot
	@.ci/setup test
	@.ci/test -count=1 -timeout=20m $(TESTFLAGS) ./...

test-short: ## run the tests of the packages alone, without containers
	go test -short $(TESTFLAGS) $$(go list ./... | grep -v /integration)

check: ## look at the code quickly: gofmt, go vet
	@test -z "$$(gofmt -l .)" || { echo 'gofmt these files:'; gofmt -l .; exit 1; }
	go vet ./...

lint: check ## look at the code thoroughly (builds golangci-lint first: a minute or two)
	CGO_ENABLED=0 go run $(GOLANGCI) run ./...

fmt: ## format the code
	CGO_ENABLED=0 go run $(GOLANGCI) fmt ./...

fuzz: ## run every fuzz target for FUZZTIME (20s)
	@.ci/fuzz $(FUZZTIME)

bench: build ## time the hook against the bare system calls, in PAIRS (25) of containers; ENGINE=docker (15), PEER_CDI=FILE: docker run (as root)
	@.ci/setup demo
	@GPUHOOK_BINARY=$(CURDIR)/bin/gpu-hook go run ./integration/bench $(if $(PAIRS),-pairs $(PAIRS)) \
		$(if $(ENGINE),-engine $(ENGINE)) $(if $(PEER_CDI),-peer-cdi '$(abspath $(PEER_CDI))') $(BENCHFLAGS)

cross: ## build for arm64, too
	CGO_ENABLED=0 GOARCH=arm64 go build -ldflags '$(LDFLAGS)' -o bin/gpu-hook-arm64 ./cmd/gpu-hook
	CGO_ENABLED=0 GOARCH=arm64 go vet ./...

size: build ## show how large the binary is, and what is linked into it
	@ls -l bin/gpu-hook | awk '{ printf "%.2f MB\n", $$5 / 1e6 }'
	@echo "$$(go list -deps ./cmd/gpu-hook | wc -l) packages, of these modules:"
	@go version -m bin/gpu-hook | awk '$$1 == "dep" { print "  " $$2, $$3 }'

clean: ## remove what was built, and the cache of downloads
	rm -rf bin /var/cache/gpu-hook "$${XDG_CACHE_HOME:-$$HOME/.cache}/gpu-hook"
