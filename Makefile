# operator-status. `make help` lists the targets.

SHELL = /usr/bin/env bash -o pipefail
.SHELLFLAGS = -ec
MAKEFLAGS += --no-print-directory

# The image to build and deploy.
IMG ?= operator-status:latest

# The version to build.
VERSION ?= 0.1.0

# The repository that released images are in. That of the bundle has the suffix -bundle, that of the catalog -catalog.
REPOSITORY ?= ghcr.io/operator-status/operator-status

BIN := $(CURDIR)/bin
export CGO_ENABLED = 0

# Tools are built from modules of exact versions: see hack/tools/go.mod.
TOOLS := controller-gen kustomize golangci-lint wgo govulncheck
controller-gen := sigs.k8s.io/controller-tools/cmd/controller-gen
kustomize      := sigs.k8s.io/kustomize/kustomize/v5
golangci-lint  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
wgo            := github.com/bokwoon95/wgo
govulncheck    := golang.org/x/vuln/cmd/govulncheck

# The database of vulnerabilities; file:///... for a copy.
VULNDB ?= https://vuln.go.dev

##@ General

.PHONY: all
all: build ## Build everything (the default).

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^[a-zA-Z0-9_-]+:.*?##/ {printf "  %-16s %s\n", $$1, $$2} /^##@/ {printf "\n%s\n", substr($$0, 5)}' $(MAKEFILE_LIST)

##@ Try it

.PHONY: demo
demo: build tools controlplane ## Demonstrate an update that is held, on a control plane of its own. KEEP=1 keeps it running.
	@go run ./hack/demo

##@ Develop

.PHONY: generate
generate: $(BIN)/controller-gen ## Generate deep copies, CRDs, RBAC and docs/reference.
	@$(BIN)/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/... paths=./e2e/samples/foo/v1
	@generated=$$(mktemp -d); trap 'rm -r $$generated' EXIT; \
	$(BIN)/controller-gen crd paths=./api/... output:crd:artifacts:config=$$generated; \
	cp $$generated/operators.coreos.com_probes.yaml $$generated/operatorstatus.io_upgradeholds.yaml $$generated/operatorstatus.io_probepolicies.yaml $$generated/operatorstatus.io_upgradeholdpolicies.yaml $$generated/platform.openshift.io_platformoperators.yaml config/crd/bases/; \
	cp $$generated/policy.operatorstatus.io_imagepolicies.yaml config/lifecycle/crd/; \
	go run ./hack/crds $$generated config/lifecycle/crd
	@generated=$$(mktemp -d); trap 'rm -r $$generated' EXIT; \
	$(BIN)/controller-gen crd paths=./e2e/samples/foo/v1 output:crd:artifacts:config=$$generated; \
	for folder in e2e/samples/direct/bundle/*/manifests; do cp $$generated/*.yaml $$folder/foo.crd.yaml; done; \
	sed -i '/^  annotations:/a\    olm.operatorframework.io/condition.Upgradeable: "!Migrating"' $$generated/*.yaml; \
	for folder in e2e/samples/annotated/bundle/*/manifests; do cp $$generated/*.yaml $$folder/foo.crd.yaml; done
	@$(BIN)/controller-gen rbac:roleName=manager-role paths=./internal/controller/... paths=./internal/installer/olmv0/... paths=./internal/upgradehold paths=./internal/workloads output:rbac:artifacts:config=config/rbac
	@$(BIN)/controller-gen rbac:roleName=lifecycle-role paths=./internal/installer/builtin/... output:rbac:artifacts:config=config/lifecycle/rbac
	@go run ./hack/reference . docs/reference

# Files that make generate writes.
GENERATED := api/*/*/zz_generated.*.go e2e/samples/foo/v1/zz_generated.*.go e2e/samples/*/bundle/*/manifests/foo.crd.yaml config/crd/bases/* config/lifecycle/crd/*_*.yaml config/rbac/role.yaml config/lifecycle/rbac/role.yaml docs/reference/*

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
	@$(foreach m,hack/devcluster $(MODULES),(cd $(m) && go vet ./... && $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml) &&) true

.PHONY: api-compat
api-compat: $(BIN)/apidiff ## Fail if a module that other projects import is incompatible with the one of BASE, a Git revision (HEAD^ unless set).
	@base=$$(mktemp -d); trap 'rm -r $$base' EXIT; git archive $(or $(BASE),HEAD^) | tar --extract --directory $$base; \
	for m in $(MODULES); do \
		[ -f $$base/$$m/go.mod ] || { echo "$$m is not compared: it is no module in $(or $(BASE),HEAD^)"; continue; }; \
		module=$$(cd $$m && go list -m) && \
		(cd $$base/$$m && $(BIN)/apidiff -m -w $$base/export $$module) && \
		changes=$$(cd $$m && $(BIN)/apidiff -m -incompatible $$base/export $$module) || exit; \
		[ -z "$$changes" ] || { echo "$$m: $$changes"; failed=1; }; \
	done; exit $${failed:-0}

.PHONY: vulnerabilities
vulnerabilities: $(BIN)/govulncheck ## Report known vulnerabilities in what the code calls, if there is a database at VULNDB, and list outdated dependencies.
	@go list -e -u -m -f '{{if and .Update (not .Indirect)}}outdated: {{.Path}} {{.Version}}, {{.Update.Version}} is newer{{end}}' all 2>/dev/null || echo 'outdated dependencies: the module proxy cannot be asked for all'
	@if curl --silent --fail --output /dev/null --max-time 10 $(VULNDB)/index/db.json; then $(BIN)/govulncheck -db $(VULNDB) ./...; \
	else echo "skipped: there is no database of vulnerabilities at $(VULNDB)"; fi

.PHONY: run
run: build tools controlplane $(BIN)/wgo ## Run the manager on a cluster of its own in bin/dev, and again whenever a file is saved. bin/devcluster down --dir bin/dev ends the cluster.
	@$(BIN)/devcluster status --dir $(BIN)/dev >/dev/null 2>&1 || $(BIN)/devcluster up --nodes=fake --dir $(BIN)/dev
	@export KUBECONFIG=$(BIN)/dev/kubeconfig; \
	$(BIN)/kustomize build config/lifecycle | $(BIN)/controlplane/kubectl apply --server-side -f - >/dev/null; \
	$(BIN)/wgo -dir api -dir cmd -dir internal -file '\.go$$' -xfile '_test\.go$$' \
		go build -o $(BIN)/manager ./cmd/manager :: $(BIN)/manager --health-probe-bind-address=0 $(ARGS)

# Modules that other projects import. They require the oldest versions of other modules that they work with.
MODULES := api pkg/probe

# Packages whose tests start no API server and no programs.
UNIT = $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '!/\/e2e|testcluster|os\/exec/ {print $$1}')

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster. GO_TEST_ARGS are passed to all tests: GO_TEST_ARGS='-run TestCompute -v'.
	@$(foreach m,$(MODULES),(cd $(m) && go test $(GO_TEST_ARGS) ./...) &&) go test $(GO_TEST_ARGS) $(UNIT)

.PHONY: test
test: check-generated lint build tools controlplane $(BIN)/prometheus/promtool ## Check generated files, vet, lint, and run the unit and API-server tests.
	@$(foreach m,hack/devcluster $(MODULES),(cd $(m) && go test $(GO_TEST_ARGS) ./...) &&) true
	@rows=$$(mktemp -d); trap 'rm -r $$rows' EXIT; \
	HEALTH_ROWS=$$rows go test -count=1 -timeout=30m $(GO_TEST_ARGS) $$(go list ./... | grep -v /e2e); \
	CONFIG=constrained go test -count=1 ./internal/manager -run 'TestImpersonation|TestTenants|TestFirstAccountThatMay|TestNames$$|TestIsolation'; \
	cd hack/health && HEALTH_ROWS=$$rows go test -count=1 ./...

.PHONY: e2e
e2e: build tools olm $(BIN)/helm $(BIN)/prometheus/promtool $(BIN)/otlpreceiver $(if $(filter real,$(E2E_NODES)),nodes) ## Test on a cluster: a devcluster with fake nodes, or with E2E_NODES=real, or the one of E2E_KUBECONFIG. E2E=./e2e/olm for one suite.
	@go test -count=1 -timeout=70m -p 3 -v $(GO_TEST_ARGS) $(or $(E2E),$(if $(filter real,$(E2E_NODES)),./e2e ./e2e/real ./e2e/install,./e2e/...))

FLUX := $(addprefix $(BIN)/neighbours/,source-controller kustomize-controller helm-controller)

OLMV1 := $(addprefix $(BIN)/neighbours/,catalogd operator-controller)

# Each test of e2e/gitops has a cluster of its own: objects of a program that has ended, with its finalizers, would be in the way of another.
GITOPS = $(filter-out func TestMain,$(shell grep -ho '^func Test[A-Za-z]*' e2e/gitops/*_test.go))
gitops = @for test in $(1); do E2E_NEIGHBOURS=1 go test -count=1 -timeout=30m -v $(GO_TEST_ARGS) ./e2e/gitops -run "^$$test$$" || exit 1; done

.PHONY: e2e-installers
e2e-installers: build tools olm argocd $(BIN)/helm $(FLUX) $(OLMV1) ## Tell the story of a held update with every installer: OLM v0 and v1, Helm, Flux, Argo CD, kubectl and the built-in loops.
	@go test -count=1 -timeout=30m -v $(GO_TEST_ARGS) ./e2e/installers
	$(call gitops,$(filter-out TestArgoCD TestFlux,$(GITOPS)))
	@go test -count=1 -timeout=30m -v $(GO_TEST_ARGS) ./e2e/olm -run 'TestUpgradeHold$$|TestApprovalGate'
	@go test -count=1 -timeout=30m -v $(GO_TEST_ARGS) ./e2e/lifecycle -run 'TestUpdate$$'

.PHONY: e2e-neighbours
e2e-neighbours: build tools argocd $(BIN)/cosign $(FLUX) check-bundle test-images ## Test against other projects' programs that take long to build: Argo CD and Flux sync operators; cosign signs, the manager verifies; operator-sdk generates and validates the bundle; ko builds a release; Grafana's linter checks the dashboard.
	$(call gitops,$(GITOPS))
	@cd hack/monitoring && go test -count=1 ./...
	@go test -count=1 -v ./internal/installer/builtin/catalog/store -run TestCosign -args -cosign $(BIN)/cosign

.PHONY: ui-unit-test
ui-unit-test: inventory ui/headlamp/node_modules/.package-lock.json ## Lint and test the plugin for Headlamp without a browser or a cluster.
	@cd ui/headlamp && npm run -s lint && npm run -s format -- --check && npm run -s tsc && CI=true npm run -s test

.PHONY: ui-test
ui-test: ui-unit-test build tools controlplane $(BIN)/headlamp/index.html $(BIN)/neighbours/k9s ## Lint and test the plugin for Headlamp and the configuration of k9s, in Chromium and tmux. UPDATE_PICTURES=1 writes the pictures in docs.
	@cd ui/headlamp && npm run -s storybook-build >$(BIN)/storybook.log 2>&1 || { cat $(BIN)/storybook.log; exit 1; }
	@cd ui/headlamp && npm run -s build
	@E2E_UI=1 go test -count=1 -timeout=30m -v $(GO_TEST_ARGS) ./e2e/ui

# Versions of Kubernetes: the oldest and the newest that operator-status supports. devcluster runs one between them.
VERSIONS := oldest newest

.PHONY: test-kubernetes
test-kubernetes: build tools controlplane $(VERSIONS:%=$(BIN)/kubernetes/%/kube-apiserver) ## Run the API-server tests on the oldest and on the newest supported version of Kubernetes.
	@for version in $(VERSIONS); do \
		echo "on Kubernetes $$($(BIN)/kubernetes/$$version/kube-apiserver --version)"; \
		TEST_ASSET_KUBE_APISERVER=$(BIN)/kubernetes/$$version/kube-apiserver \
			go test -count=1 -timeout=30m $(GO_TEST_ARGS) $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./internal/... | awk '/testcluster/ {print $$1}'); \
	done

.PHONY: conformance
conformance: build tools controlplane ## Run OLM's own e2e suite against the built-in loops, and compare every spec with hack/conformance/specs.tsv. CONFORMANCE=-all also runs those that can only time out.
	@go test -count=1 -timeout=4h -v ./hack/conformance -conformance $(CONFORMANCE)

.PHONY: test-bundles
test-bundles: build tools olm $(BIN)/helm $(OLMV1) ## Install and update every package in the folder BUNDLES, and print the results; hold ten of them, and operators of Helm and OLM v1, with config/policies.
	@[ -d "$(BUNDLES)" ] || { echo "skipped: BUNDLES=$(BUNDLES) is no folder of packages in registry+v1 form"; exit 0; }; \
	BUNDLES="$(abspath $(BUNDLES))" go test -count=1 -timeout=30m -run TestBundles -v ./e2e/lifecycle && \
	BUNDLES="$(abspath $(BUNDLES))" go test -count=1 -timeout=30m -run TestPoliciesOfLibrary -v ./e2e/olm

.PHONY: differential
differential: build tools olm ## Install and update the packages in the folder BUNDLES (or generated ones) with the built-in loops and with a real OLM, and compare the results.
	@BUNDLES="$(abspath $(BUNDLES))" go test -count=1 -timeout=60m -run TestDifferential -v ./e2e/peer

.PHONY: bench
bench: build tools olm ## Measure speed and memory against limits and peers. BUNDLES is a folder of packages to install.
	@BUNDLES="$(abspath $(BUNDLES))" go run ./hack/bench

.PHONY: soak
soak: build tools olm argocd ## Run the manager against hostile catalogs, bundles, custom resources and Probes for DURATION (1h), beside 10,000 objects of each kind, as long behind a proxy that falsifies the API, then as long beside Argo CD, which may sync nothing. SEED repeats a run.
	@go test -count=1 -timeout=24h -v ./hack/soak -soak $(or $(DURATION),1h) -seed $(or $(SEED),0)
	@go test -count=1 -timeout=24h -v ./hack/soak -run TestCrowd -crowd
	@FAULTS_FOR=$(or $(DURATION),1h) FAULTS_SEED=$(SEED) go test -count=1 -timeout=24h -v ./e2e/lifecycle -run TestRandomFaults
	@E2E_NEIGHBOURS=1 go test -count=1 -timeout=24h -v ./e2e/gitops -run TestArgoCD -soak $(or $(DURATION),1h)

.PHONY: fuzz
fuzz: ## Fuzz the expression parser and the decoder of the watch engine, a minute each.
	@go test ./internal/expression -run '^$$' -fuzz FuzzParse -fuzztime 1m
	@go test ./internal/watch -run '^$$' -fuzz FuzzDecode -fuzztime 1m

##@ Build

.PHONY: build
build: cli ## Build bin/manager and bin/kubectl-operator_status.
	@go build -ldflags '-X github.com/operator-status/operator-status/internal/manager.Version=$(VERSION)' -o $(BIN)/manager ./cmd/manager

.PHONY: cli
cli: ## Build bin/kubectl-operator_status.
	@go build -ldflags '-X github.com/operator-status/operator-status/internal/cli.Version=$(VERSION)' -o $(BIN)/kubectl-operator_status ./cmd/kubectl-operator_status

.PHONY: image
image: ## Build the image IMG. CONTAINER_TOOL is docker unless set.
	$(or $(CONTAINER_TOOL),docker) build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: build-installer
build-installer: generate $(BIN)/kustomize ## Write dist/crds.yaml and install.yaml (beside an OLM, or alone), and dist/crds-lifecycle.yaml and install-lifecycle.yaml (with the loops).
	@mkdir -p dist
	@$(BIN)/kustomize build config/crd > dist/crds.yaml
	@$(BIN)/kustomize build config/install | sed 's|image: controller:latest|image: $(IMG)|' > dist/install.yaml
	@(cat dist/crds.yaml; echo ---; $(BIN)/kustomize build config/lifecycle/crd) > dist/crds-lifecycle.yaml
	@$(BIN)/kustomize build config/install/lifecycle | sed 's|image: controller:latest|image: $(IMG)|' > dist/install-lifecycle.yaml

.PHONY: images
images: ## Build the images of the manager for all platforms with ko, and their SBOMs, into dist/images. PUSH=1 also pushes them to REPOSITORY.
	@$(RELEASE) -only manager -out $(CURDIR)/dist/images

.PHONY: bundle
bundle: generate olm $(BIN)/kustomize $(BIN)/operator-sdk ## Generate bundle/ and catalog/, for OLM.
	@for group in operators hold platform; do \
		$(BIN)/operator-sdk generate kustomize manifests --interactive=false --quiet --apis-dir api/$$group; \
	done # it would fail at ImagePolicy, which has no status and is no part of the bundle
	@rm -rf bundle/manifests
	@$(BIN)/kustomize build config/manifests | sed 's|controller:latest|$(REPOSITORY):v$(VERSION)|' | \
		$(BIN)/operator-sdk generate bundle --quiet --overwrite --version $(VERSION) --channels stable --default-channel stable
	@go run ./hack/bundle $(CSV_BASE) bundle/manifests/$(notdir $(CSV_BASE))
	@$(BIN)/controlplane/opm render bundle --output yaml --migrate-level bundle-object-to-csv-metadata \
		--alpha-image-ref-template '$(REPOSITORY)-bundle:v{{.Version}}' > catalog/operator-status/v$(VERSION).yaml
	@$(BIN)/controlplane/opm validate catalog
	@$(BIN)/operator-sdk bundle validate ./bundle --select-optional suite=operatorframework

CSV_BASE := config/manifests/bases/operator-status.clusterserviceversion.yaml
BUNDLE_FILES = $$(find bundle bundle.Dockerfile catalog config/manifests -type f | sort)

.PHONY: check-bundle
check-bundle: ## Fail if bundle/ or catalog/ is out of date.
	@before=$$(sha256sum $(BUNDLE_FILES)); \
	$(MAKE) bundle; \
	after=$$(sha256sum $(BUNDLE_FILES)); \
	[ "$$before" = "$$after" ] || { echo "the bundle was not current: run 'make bundle' and commit"; exit 1; }

.PHONY: chart
chart: generate $(BIN)/kustomize ## Generate the templates of charts/operator-status.
	@go run ./hack/chart $(BIN)/kustomize config charts/operator-status

.PHONY: bundle-build
bundle-build: ## Build the image of the bundle into dist/bundle. PUSH=1 also pushes it.
	@$(RELEASE) -only bundle -out $(CURDIR)/dist/bundle

.PHONY: catalog-build
catalog-build: ## Build the image of the catalog into dist/catalog. PUSH=1 also pushes it.
	@$(RELEASE) -only catalog -out $(CURDIR)/dist/catalog

.PHONY: release
release: $(BIN)/kustomize ## Build everything that a release consists of into dist. PUSH=1 also pushes its images; DRAFT=1 takes the unreleased changes as notes.
	@$(RELEASE) -out $(CURDIR)/dist

RELEASE = cd hack/release && go run . -dir $(CURDIR) -version $(VERSION) -repository $(REPOSITORY) $(if $(PUSH),-push) $(if $(DRAFT),-draft)

.PHONY: test-images
test-images: $(BIN)/kustomize $(BIN)/cosign $(BIN)/krew/krew ## Build a release twice from the last commit, compare the results, sign and verify its images, and install the command line with krew. Buildah, if installed, builds the Dockerfile.
	@cd hack/rootfs && go test -count=1 ./...
	@cd hack/release && go test -count=1 -timeout=60m -v $(GO_TEST_ARGS) . -args -images -cosign $(BIN)/cosign -krew $(BIN)/krew

##@ Dependencies

.PHONY: tools
tools: $(BIN)/controller-gen $(BIN)/kustomize ## Build the tools, except the linter.

$(BIN)/apidiff: hack/apidiff/go.mod hack/apidiff/go.sum
	@cd hack/apidiff && go build -o $@ golang.org/x/exp/cmd/apidiff

$(TOOLS:%=$(BIN)/%): $(BIN)/%: hack/tools/go.mod hack/tools/go.sum
	@echo "building $* (once)"
	@mkdir -p $(BIN)
	@cd hack/tools && go build -o $@ $($*)

$(BIN)/cosign: hack/neighbours/go.mod hack/neighbours/go.sum
	@echo "building cosign (once, some minutes)"
	@mkdir -p $(BIN)
	@cd hack/neighbours && go build -o $@ github.com/sigstore/cosign/v3/cmd/cosign

source-controller    := hack/flux/source github.com/fluxcd/source-controller
kustomize-controller := hack/flux/kustomize github.com/fluxcd/kustomize-controller
helm-controller      := hack/flux/helm github.com/fluxcd/helm-controller
catalogd             := hack/olmv1 github.com/operator-framework/operator-controller/cmd/catalogd
operator-controller  := hack/olmv1 github.com/operator-framework/operator-controller/cmd/operator-controller
k9s                  := hack/k9s github.com/derailed/k9s

.SECONDEXPANSION:
$(FLUX) $(OLMV1) $(BIN)/neighbours/k9s: $(BIN)/neighbours/%: $$(firstword $$($$*))/go.mod $$(firstword $$($$*))/go.sum
	@echo "building $* (once, some minutes)"
	@mkdir -p $(@D)
	@cd $(firstword $($*)) && $(if $(filter hack/olmv1,$($*)),CGO_ENABLED=0 )go build -tags containers_image_openpgp,exclude_graphdriver_btrfs -o $@ $(lastword $($*))

ui/headlamp/node_modules/.package-lock.json: ui/headlamp/package-lock.json
	@echo "installing npm packages (once, some minutes)"
	@cd ui/headlamp && npm ci --ignore-scripts --no-audit --no-fund

.PHONY: inventory
inventory: ## Build ui/headlamp/bin, which the plugin for Headlamp runs in a browser.
	@mkdir -p ui/headlamp/bin
	@GOOS=js GOARCH=wasm go build -trimpath -ldflags '-s -w' -o ui/headlamp/bin/inventory.wasm ./cmd/inventory
	@gzip --best --no-name --keep --force ui/headlamp/bin/inventory.wasm
	@{ echo '// @ts-nocheck'; cat "$$(go env GOROOT)/lib/wasm/wasm_exec.js"; } >ui/headlamp/bin/wasm_exec.js

$(BIN)/headlamp/index.html: ui/headlamp/node_modules/.package-lock.json $(wildcard ui/headlamp/e2e/shell/*)
	@echo "building Headlamp's components (once, a minute)"
	@cd ui/headlamp && npm run -s build-shell

$(VERSIONS:%=$(BIN)/kubernetes/%/kube-apiserver): $(BIN)/kubernetes/%/kube-apiserver: hack/kubernetes/%/go.mod hack/kubernetes/%/go.sum
	@echo "building the $* kube-apiserver (once, some minutes)"
	@mkdir -p $(@D)
	@cd hack/kubernetes/$* && v=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes) && minor=$${v#v1.} && minor=$${minor%%.*} && \
		go build -trimpath -ldflags "-s -w $$(for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do \
			echo "-X $$p.gitVersion=$$v -X $$p.gitMajor=1 -X $$p.gitMinor=$$minor"; done | tr '\n' ' ')" -o $@ k8s.io/kubernetes/cmd/kube-apiserver

$(BIN)/krew/krew: hack/krew/go.mod hack/krew/go.sum
	@mkdir -p $(@D)
	@cd hack/krew && go build -o $(@D)/ sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest

$(BIN)/otlpreceiver: $(wildcard hack/otlpreceiver/*.go) hack/otlpreceiver/go.mod hack/otlpreceiver/go.sum
	@echo "building the receiver of traces (once, a minute)"
	@mkdir -p $(@D)
	@cd hack/otlpreceiver && go build -o $@ .

$(BIN)/helm: hack/helm/go.mod hack/helm/go.sum
	@echo "building helm (once, some minutes)"
	@cd hack/helm && go build -o $@ helm.sh/helm/v4/cmd/helm

operator-sdk := cmd/operator-sdk
scorecard-test := images/scorecard-test

$(BIN)/operator-sdk $(BIN)/scorecard-test: $(BIN)/%: hack/operator-sdk/go.mod hack/operator-sdk/go.sum
	@echo "building $* (once, some minutes)"
	@mkdir -p $(BIN)
	@cd hack/operator-sdk && go build -tags containers_image_openpgp,exclude_graphdriver_btrfs \
		-ldflags "-X github.com/operator-framework/operator-sdk/internal/version.Version=$$(go list -m -f '{{.Version}}' github.com/operator-framework/operator-sdk)" \
		-o $@ github.com/operator-framework/operator-sdk/$($*)

# Prometheus and promtool are those on the PATH, or Debian's, unpacked but not installed, so that no service starts. Tests
# that need them print why they are skipped where neither is to be had.
$(BIN)/prometheus/promtool:
	@mkdir -p $(@D) && cd $(@D) && for program in prometheus promtool; do \
		found=$$(command -v $$program) && ln -sf "$$found" . || break; \
	done; \
	[ -e promtool ] || { \
		echo "downloading Prometheus (once)"; \
		apt-get download -qq prometheus >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1; apt-get download -qq prometheus; } && \
		dpkg -x prometheus_*.deb unpacked && mv unpacked/usr/bin/prom* . && rm -r unpacked prometheus_*.deb; \
	} || echo "no Prometheus: install it, or run on Debian, for the tests of alerts and metrics"

.PHONY: controlplane
controlplane: $(BIN)/devcluster ## Build the control plane that tests and demo run on (once).
	@$(BIN)/devcluster build

.PHONY: olm
olm: $(BIN)/devcluster ## Build the control plane with a real OLM and its catalogs (once).
	@$(BIN)/devcluster build --olm

.PHONY: argocd
argocd: $(BIN)/devcluster ## Build the control plane with Argo CD (once).
	@$(BIN)/devcluster build --argocd

.PHONY: nodes
nodes: $(BIN)/devcluster $(BIN)/helm $(BIN)/operator-sdk $(BIN)/scorecard-test ## Build what real nodes need, on which pods truly run, and OLM for them (once). They also need root and packages, which devcluster up --nodes=real names.
	@$(BIN)/devcluster build --nodes=real --olm

$(BIN)/devcluster: $(wildcard hack/devcluster/*.go hack/devcluster/node/*.go) hack/devcluster/go.mod
	@echo "building devcluster"
	@cd hack/devcluster && go build -o $@ .
