SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# `generate` swaps files that every other target reads.
.NOTPARALLEL:

# One set of build flags, so that builds, tools and tests share compiled packages. Only the race detector needs cgo.
export CGO_ENABLED ?= 0

generated := ':(glob)pkg/client/**' ':(glob)pkg/apis/**/zz_generated.*' ':(glob)deploy/crds/*.crd.yaml' deploy/base/policy-manifestworkreplicasets.yaml docs/reference/fields.md
modules := $(patsubst %/go.mod,%,. $(wildcard hack/tools/*/go.mod))

# The version that the binaries report. If VERSION is empty, the Go tool derives it from the checkout.
version-flags = $(if $(VERSION),-ldflags=$(call quote,-X github.com/open-cluster-management-io/work-rollback/pkg/version.gitVersion=$(VERSION)))
# Quotes any value as one argument of a shell command.
quote = '$(subst ','\'',$(1))'

# All names in a release come from here. GitHub sets GITHUB_REPOSITORY, so a fork's release names the fork's image and files.
REPOSITORY ?= $(or $(GITHUB_REPOSITORY),open-cluster-management-io/work-rollback)
IMAGE ?= ghcr.io/$(shell tr A-Z a-z <<< $(call quote,$(REPOSITORY)))/work
image snapshot push publish: export REPOSITORY := $(REPOSITORY)
snapshot push publish: export IMAGE := $(IMAGE)
snapshot push publish: export VERSION := $(VERSION)

##@ Product

.PHONY: build
build: ## Build the hub (bin/work), the kubectl plugin (bin/kubectl-mwrs) and bin/sandbox, as release VERSION=v1.2.3
	go build $(version-flags) -o bin/ ./cmd/work ./cmd/kubectl-mwrs ./cmd/sandbox
	install -m 0755 cmd/kubectl-mwrs/kubectl_complete-mwrs bin/

.PHONY: image
image: ## Build the hub's image and push it to IMAGE=<registry>/work, with the tag VERSION=v1.2.3
	hack/image.sh $(call quote,$(IMAGE)) $(call quote,$(VERSION)) --push

.PHONY: snapshot
snapshot: ## Build all files of a release into _output/release (or OUT), without network access: image, SBOMs, plugin, manifests, notes (VERSION=v1.2.3 IMAGE=...)
	hack/release.sh snapshot

.PHONY: push
push: ## The same, and push the image to IMAGE=<registry>/work, and sign it, its SBOMs and the checksums
	hack/release.sh push

.PHONY: publish
publish: ## The same for the tag VERSION=v1.2.3, and create the release on GitHub as a draft, with GITHUB_TOKEN
	hack/release.sh publish

.PHONY: demo
demo: build ## Watch a rollout, an abort and an undo on local control planes
	bin/sandbox demo

.PHONY: sandbox
sandbox: build ## Start local control planes with this hub and keep them until Ctrl-C
	bin/sandbox up

##@ Tests

# Tests on OCM's operator, of the pages' commands, of the sandbox and the dashboard take minutes by their nature. So do the tests of
# ./test/integration that start control planes of their own. CI runs them for each change.
slow := operator docs sandbox dashboard
# What changes seldom, or costs most, waits for the night and for `make test-all`.
rare := release benchmark
# What starts goroutines or has locks: docs/ci_test.go compares the list with the code. The race detector looks at these packages and at those
# below them.
parallel := cli cloudevents connectivity controller hub metrics plain upgrade webhook workcache
empty :=
any-of = /work-rollback/($(subst $(empty) $(empty),|,$(1)))(/|$$)
slow-pattern := $(call any-of,$(patsubst %,test/%,$(slow) $(rare)))
race-pattern := $(call any-of,$(patsubst %,pkg/%,$(parallel)))

# These wait as much as they compute: others are compiled meanwhile if they come first.
longest := ./test/integration ./test/simulation

# In .ci/run each test runs once: ONCE=true leaves the vet of tests to `make verify`, and the packages of `make race` to that.
vet := $(if $(ONCE),-vet=off)

.PHONY: test
test: tools ## Run every test that takes seconds, including those on real control planes
	TEST_CONTROL_PLANES=shared go test $(vet) -timeout 20m $(longest) $$(go list ./... | grep -Ev '$(slow-pattern)$(if $(ONCE),|$(race-pattern))')

.PHONY: test-all
test-all: test-slow race race-integration test-rare stories ## Run everything that `make test` leaves out

.PHONY: test-slow
test-slow: tools ## Run the tests with many control planes, on OCM's operator, of the pages' commands, the sandbox and the dashboard (Chromium)
	TEST_CONTROL_PLANES=own go test $(vet) -timeout 30m ./test/integration $(patsubst %,./test/%/...,$(slow))

.PHONY: test-rare
test-rare: tools release-tools ## Run the release tests and the benchmark
	go test -timeout 30m $(patsubst %,./test/%/...,$(rare))

.PHONY: race race-integration
race race-integration: export CGO_ENABLED = 1
race: ## Run the unit tests of packages with goroutines or locks under the race detector
	go test $(vet) -race -timeout 20m $(patsubst %,./pkg/%/...,$(parallel))

race-integration: tools ## Run all tests on a real API server with the race detector
	go test -race -timeout 40m ./test/integration

.PHONY: test-ocm
test-ocm: ## Run the tests that meet OCM against OCM=<checkout of another release> (PKG=./test/webhook RUN=TestX narrow it)
	hack/test-ocm.sh '$(OCM)' $(PKG)

.PHONY: unit
unit: ## Run the tests that need no control plane
	go test $$(go list ./... | grep -Ev '/work-rollback/test(/|$$)')

.PHONY: stories
stories: ## Play several times as many generated stories as the tests do, the same in each run, and let each write fail in every way
	go test ./test/simulation -run 'TestModel|MayFail' -timeout 40m -rapid.checks=1200 -every-fault

.PHONY: soak
soak: ## Play generated stories for DURATION (default 10m) and check the properties
	go test ./pkg/rollout ./pkg/revision -timeout 0 -rapid.checks=20000 -rapid.seed=0
	go test ./test/simulation -run TestModel -v -timeout 0 -soak=$(or $(DURATION),10m)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (default 1m; PKG=./pkg/handover narrows it)
	hack/fuzz.sh $(or $(FUZZTIME),1m) $(PKG)

.PHONY: patch-ocm
patch-ocm: ## Build OCM's own work hub with this controller from a copy of OCM=checkout (v1.3.1), and test it and the slices for OCM
	hack/ocm/slices.sh $(OCM)
	hack/ocm/patch.sh $(OCM)

.PHONY: bench
bench: tools ## Measure this hub against upstream's with N clusters (N=300,1000 SETS=100x100 GREEDY=5 OUT=file)
	go run ./test/benchmark $(if $(N),-n=$(N)) $(if $(SETS),-sets=$(SETS)) $(if $(GREEDY),-greedy=$(GREEDY)) $(if $(OUT),-out=$(OUT))

.PHONY: bench-broker
bench-broker: tools ## The same over a broker and sdk-go's agents, with restarts of the hub, the broker and all agents (N=300,1000 DRIVER=mqtt|grpc MOSQUITTO=path REPEAT=3 OUT=file)
	go run ./test/benchmark -driver=$(or $(DRIVER),mqtt) -controllers=ours -sets=0 -greedy=0 -n=$(or $(N),300) $(if $(MOSQUITTO),-mosquitto=$(MOSQUITTO)) \
		$(if $(REPEAT),-repeat=$(REPEAT)) $(if $(OUT),-out=$(OUT))

.PHONY: bench-api
bench-api: tools ## This hub alone through the API server (N=10000 REPEAT=1 OUT=file)
	go run ./test/benchmark -controllers=ours -sets=0 -greedy=0 -n=$(or $(N),10000) -repeat=$(or $(REPEAT),1) $(if $(OUT),-out=$(OUT))

.PHONY: microbench
microbench: ## Measure one decision and one pass of the controller, with 1,000 and 10,000 clusters
	go test -run '^$$' -bench . -timeout 30m ./pkg/rollout ./test/simulation

.PHONY: tools
tools: ## Build the control planes and the programs that tests run (minutes the first time, then cached)
	CGO_ENABLED=0 go run ./cmd/sandbox tools
	for module in esbuild helm lua promtool; do hack/tools/build.sh "$$module"; done

.PHONY: release-tools
release-tools:
	for module in ko syft goreleaser cosign; do hack/tools/build.sh "$$module"; done

##@ Checks

.PHONY: verify
verify: verify-format verify-modules verify-generated vet lint ## Run every check below

.PHONY: verify-format
verify-format: ## Check that the Go code is formatted
	@out=$$(git ls-files -co --exclude-standard '*.go' | while read -r file; do [[ ! -e $$file ]] || gofmt -l "$$file"; done); \
	[[ -z $$out ]] || { printf 'not formatted, run gofmt -w:\n%s\n' "$$out" >&2; exit 1; }

.PHONY: verify-modules
verify-modules: ## Check that each go.mod is tidy and that vendor/ is not tracked
	@for module in $(modules); do \
		(cd "$$module" && GOFLAGS=-mod=mod go mod tidy -diff) || { echo "$$module/go.mod is not tidy, run go mod tidy there" >&2; exit 1; }; \
	done
	@[[ -z $$(git ls-files vendor) ]] || { echo 'vendor/ is tracked, run git rm -r --cached vendor' >&2; exit 1; }

.PHONY: verify-generated
verify-generated: generate ## Check that the generated files are up to date
	@git diff --exit-code -- $(generated) \
		|| { echo 'generated files differ from what git has, add the ones just generated' >&2; exit 1; }
	@out=$$(git ls-files -o --exclude-standard -- $(generated)); \
	[[ -z $$out ]] || { printf 'generated files that git does not have:\n%s\n' "$$out" >&2; exit 1; }

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: lint
# A cache that two checkouts share names files by the path of the other one, where exclusions miss them.
lint: export GOLANGCI_LINT_CACHE := $(CURDIR)/_output/golangci-lint
lint: ## Run golangci-lint (PKG=./pkg/apis/... narrows it)
	tools=$$(hack/tools/build.sh lint) && "$$tools/golangci-lint" run --allow-parallel-runners $(or $(PKG),./...)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the binaries call (needs the vulnerability database of Go)
	tools=$$(hack/tools/build.sh vulncheck) && "$$tools/govulncheck" ./cmd/...

##@ Upkeep

.PHONY: screenshot
screenshot: tools ## Make docs/images/dashboard.png, and more screenshots in _output/screenshots, from a real run in Chromium
	go test ./test/dashboard -count=1 -run TestScreenshots -screenshots='$(CURDIR)/_output/screenshots'
	install -D -m 0644 _output/screenshots/readme.png docs/images/dashboard.png

.PHONY: generate
generate: ## Generate deepcopy, CRD, clientset and docs/reference/fields.md from the API types, and the admission policies from pkg/webhook/rule
	hack/generate.sh

.PHONY: vendor
vendor: ## Copy the dependencies into vendor/, which git ignores
	go mod vendor

.PHONY: clean
clean: ## Remove what was built, the cached tools included
	rm -rf bin _output vendor

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
