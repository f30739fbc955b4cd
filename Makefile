# operator-status. `make help` lists the targets.

SHELL = /usr/bin/env bash -o pipefail
.SHELLFLAGS = -ec
MAKEFLAGS += --no-print-directory

# The image to build and deploy.
IMG ?= operator-status:latest

# The version to build.
VERSION ?= 0.1.0

BIN := $(CURDIR)/bin
export CGO_ENABLED = 0

# Tools are built from modules of exact versions: see hack/tools/go.mod.
TOOLS := controller-gen kustomize golangci-lint wgo
controller-gen := sigs.k8s.io/controller-tools/cmd/controller-gen
kustomize      := sigs.k8s.io/kustomize/kustomize/v5
golangci-lint  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
wgo            := github.com/bokwoon95/wgo

##@ General

.PHONY: all
all: build ## Build everything (the default).

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^[a-zA-Z_-]+:.*?##/ {printf "  %-16s %s\n", $$1, $$2} /^##@/ {printf "\n%s\n", substr($$0, 5)}' $(MAKEFILE_LIST)

##@ Try it

.PHONY: demo
demo: build tools controlplane ## Demonstrate an update that is held, on a control plane of its own. KEEP=1 keeps it running.
	@go run ./hack/demo

##@ Develop

.PHONY: generate
generate: $(BIN)/controller-gen ## Generate deep copies, CRDs and RBAC.
	@$(BIN)/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	@generated=$$(mktemp -d); trap 'rm -r $$generated' EXIT; \
	$(BIN)/controller-gen crd paths=./api/... output:crd:artifacts:config=$$generated; \
	cp $$generated/operators.coreos.com_probes.yaml $$generated/platform.openshift.io_platformoperators.yaml config/crd/bases/; \
	cp $$generated/policy.operatorstatus.io_imagepolicies.yaml config/lifecycle/crd/; \
	go run ./hack/crds $$generated config/lifecycle/crd
	@$(BIN)/controller-gen rbac:roleName=manager-role paths=./internal/controller/probe paths=./internal/controller/olm paths=./internal/controller/platformoperator paths=./internal/controller/clusteroperator output:rbac:artifacts:config=config/rbac
	@$(BIN)/controller-gen rbac:roleName=lifecycle-role paths=./internal/catalog/store paths=./internal/controller/installplan output:rbac:artifacts:config=config/lifecycle/rbac

# Files that make generate writes.
GENERATED := api/*/*/zz_generated.*.go config/crd/bases/* config/lifecycle/crd/*_*.yaml config/rbac/role.yaml config/lifecycle/rbac/role.yaml

.PHONY: check-generated
check-generated: ## Fail if generated files are out of date.
	@before=$$(cat $(GENERATED) | sha256sum); \
	$(MAKE) generate; \
	after=$$(cat $(GENERATED) | sha256sum); \
	[ "$$before" = "$$after" ] || { echo "generated files were not current: run 'make generate' and commit"; exit 1; }

.PHONY: lint
lint: $(BIN)/golangci-lint ## Vet and lint.
	@go build ./... && go vet ./...
	@$(BIN)/golangci-lint run
	@cd hack/devcluster && go vet ./... && $(BIN)/golangci-lint run --config ../../.golangci.yml

.PHONY: run
run: build tools controlplane $(BIN)/wgo ## Run the manager on a cluster of its own in bin/dev, and again whenever a file is saved. bin/devcluster down --dir bin/dev ends the cluster.
	@$(BIN)/devcluster status --dir $(BIN)/dev >/dev/null 2>&1 || $(BIN)/devcluster up --nodes=fake --dir $(BIN)/dev
	@export KUBECONFIG=$(BIN)/dev/kubeconfig; \
	$(BIN)/kustomize build config/lifecycle | $(BIN)/controlplane/kubectl apply --server-side -f - >/dev/null; \
	$(BIN)/wgo -dir api -dir cmd -dir internal -file '\.go$$' -xfile '_test\.go$$' \
		go build -o $(BIN)/manager ./cmd/manager :: $(BIN)/manager --health-probe-bind-address=0 $(ARGS)

# Packages whose tests start no API server and no programs.
UNIT = $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '!/\/e2e|testcluster|os\/exec/ {print $$1}')

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster. GO_TEST_ARGS are passed to all tests: GO_TEST_ARGS='-run TestCompute -v'.
	@go test $(GO_TEST_ARGS) $(UNIT)

.PHONY: test
test: check-generated lint build tools controlplane ## Check generated files, vet, lint, and run the unit and API-server tests.
	@cd hack/devcluster && go test ./...
	@rows=$$(mktemp -d); trap 'rm -r $$rows' EXIT; \
	HEALTH_ROWS=$$rows go test -count=1 -timeout=30m $(GO_TEST_ARGS) $$(go list ./... | grep -v /e2e); \
	CONFIG=constrained go test -count=1 ./internal/manager -run 'TestImpersonation|TestTenants|TestFirstAccountThatMay|TestNames$$'; \
	cd hack/health && HEALTH_ROWS=$$rows go test -count=1 ./...

.PHONY: e2e
e2e: build tools olm ## Test on a cluster: a devcluster with fake nodes, or the one of E2E_KUBECONFIG. E2E=./e2e/olm for one suite.
	@go test -count=1 -timeout=45m -p 2 -v $(GO_TEST_ARGS) $(or $(E2E),./e2e/...)

.PHONY: e2e-neighbours
e2e-neighbours: $(BIN)/cosign ## Test against other projects' programs that take long to build: cosign signs, the manager verifies.
	@go test -count=1 -v ./internal/catalog/store -run TestCosign -args -cosign $(BIN)/cosign

.PHONY: conformance
conformance: build tools controlplane ## Run OLM's own e2e suite against the built-in loops, and compare every spec with hack/conformance/specs.tsv. CONFORMANCE=-all also runs those that can only time out.
	@go test -count=1 -timeout=4h -v ./hack/conformance -conformance $(CONFORMANCE)

.PHONY: test-bundles
test-bundles: build tools olm ## Install and update every package in the folder BUNDLES, and print the results.
	@[ -d "$(BUNDLES)" ] || { echo "skipped: BUNDLES=$(BUNDLES) is no folder of packages in registry+v1 form"; exit 0; }; \
	BUNDLES="$(abspath $(BUNDLES))" go test -count=1 -timeout=30m -run TestBundles -v ./e2e/lifecycle

.PHONY: differential
differential: build tools olm ## Install and update the packages in the folder BUNDLES (or generated ones) with the built-in loops and with a real OLM, and compare the results.
	@BUNDLES="$(abspath $(BUNDLES))" go test -count=1 -timeout=60m -run TestDifferential -v ./e2e/peer

.PHONY: bench
bench: build tools olm ## Measure speed and memory against limits and peers. BUNDLES is a folder of packages to install.
	@BUNDLES="$(abspath $(BUNDLES))" go run ./hack/bench

.PHONY: soak
soak: build tools olm ## Run the manager against hostile catalogs, bundles, custom resources and Probes for DURATION (1h). SEED repeats a run.
	@go test -count=1 -timeout=24h -v ./hack/soak -soak $(or $(DURATION),1h) -seed $(or $(SEED),0)

.PHONY: fuzz
fuzz: ## Fuzz the expression parser and the decoder of the watch engine, a minute each.
	@go test ./internal/expression -run '^$$' -fuzz FuzzParse -fuzztime 1m
	@go test ./internal/watch -run '^$$' -fuzz FuzzDecode -fuzztime 1m

##@ Build

.PHONY: build
build: ## Build bin/manager.
	@go build -trimpath -ldflags '-X github.com/operator-status/operator-status/internal/manager.Version=$(VERSION)' -o $(BIN)/manager ./cmd/manager

.PHONY: image
image: ## Build the image IMG. CONTAINER_TOOL is docker unless set.
	$(or $(CONTAINER_TOOL),docker) build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: build-installer
build-installer: generate $(BIN)/kustomize ## Write dist/install.yaml (beside an OLM, or alone) and dist/install-lifecycle.yaml (with the loops).
	@mkdir -p dist
	@$(BIN)/kustomize build config/default | sed 's|image: controller:latest|image: $(IMG)|' > dist/install.yaml
	@$(BIN)/kustomize build config/lifecycle | sed 's|image: controller:latest|image: $(IMG)|' > dist/install-lifecycle.yaml

##@ Dependencies

.PHONY: tools
tools: $(BIN)/controller-gen $(BIN)/kustomize ## Build the tools, except the linter.

$(TOOLS:%=$(BIN)/%): $(BIN)/%: hack/tools/go.mod hack/tools/go.sum
	@echo "building $* (once)"
	@mkdir -p $(BIN)
	@cd hack/tools && go build -o $@ $($*)

$(BIN)/cosign: hack/neighbours/go.mod hack/neighbours/go.sum
	@echo "building cosign (once, some minutes)"
	@mkdir -p $(BIN)
	@cd hack/neighbours && go build -o $@ github.com/sigstore/cosign/v3/cmd/cosign

.PHONY: controlplane
controlplane: $(BIN)/devcluster ## Build the control plane that tests and demo run on (once).
	@$(BIN)/devcluster build

.PHONY: olm
olm: $(BIN)/devcluster ## Build the control plane with a real OLM and its catalogs (once).
	@$(BIN)/devcluster build --olm

$(BIN)/devcluster: $(wildcard hack/devcluster/*.go) hack/devcluster/go.mod
	@echo "building devcluster"
	@cd hack/devcluster && go build -o $@ .
