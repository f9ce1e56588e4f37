# Every target needs Go and nothing else, except web, playground and test-web.
REVISION := $(shell git rev-parse HEAD 2>/dev/null)
# What a release calls itself: the tag, or where there is none the revision. Its files have the time of the revision.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
TIME := $(or $(shell git log -1 --format=%ct 2>/dev/null),315532800)
FUZZTIME ?= 30s
# How long make soak runs, and the most memory of a process in it, in KiB of address space.
SOAK ?= 1h
SOAKMEMORY ?= 6291456
# The race detector needs a C compiler; without one the same tests run without it.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# The modules with the code of the Trainer's releases.
ORACLES := fuzz/oracle fuzz/releases/v20 fuzz/releases/v21 fuzz/releases/v22 fuzz/releases/v22jobset
# The tests that compare with any release.
RELEASED := ^(TestDefinitions|TestPairs|TestExamples|TestVerdicts|TestJobSetChildren|TestJobSetVerdicts|TestJobSetReplacements)$$
PAIRS ?= 300
VERDICTS ?= 300
JOBSETS ?= 100
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Without the Go plugins of kustomize, which the program never loads. They would keep every method of every type.
TAGS := kustomize_disable_go_plugin_support

.PHONY: help nightly build release tag test test-long test-upstream test-releases oracles test-hosts web playground test-web differential lint vulnerabilities apidiff bench measure fuzz soak mutants demo generate

# The first target. A target with a description is in the list.
help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+: .*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo "Begin with make demo, then make build and bin/trainweld --help. CONTRIBUTING.md has the minutes of each target."

# Runs the command $(2). After five seconds it tells on standard error what takes long: a first build prints nothing.
patient = { sleep 5 >/dev/null 2>&1; echo "$(1)" >&2; } & note=$$!; $(2); status=$$?; kill $$note 2>/dev/null; exit $$status
compiling = compiling trainweld with the code of Kubernetes and kustomize: minutes the first time, seconds after that

# The same flags as go test has, so that both share one build cache. A release has its own: internal/packaging.
build: ## write the program to bin/trainweld
	@$(call patient,$(compiling),go build -ldflags '-X main.revision=$(REVISION)' -o bin/trainweld ./cmd/trainweld)
	@echo "bin/trainweld is built. Put it on your PATH, or go on with bin/trainweld --help"

# Static binaries for Linux, macOS and Windows in dist: archives with licenses, completion files and man pages, an image, krew's
# manifest, an SBOM, and the checksums of all. The same revision and toolchain give the same bytes on every machine. A module whose
# license is not accepted fails.
release: ## the files of a release, to dist
	go run -C internal/packaging . build -version "$(VERSION)" -revision "$(or $(REVISION),unknown)" -time $(TIME) -tags $(TAGS) \
		-sources ../.. -output ../../dist

# Names the unreleased changes of the changelog, commits that, and tags the commit: make tag VERSION=v1.2.3. It refuses a tree with changes.
tag: ## name and tag a release: VERSION=v1.2.3
	go run -C internal/packaging . tag -sources ../.. "$(VERSION)"

# First the policies' golden files, as a user tests them. Then the tests of the module, with a twentieth of the random cases. No run
# vets: make lint does, for every module. No run has a limit of time, which a busy machine could exceed.
test: ## the tests, with a twentieth of the random cases
	@echo "compiling the packages and their tests: minutes the first time. Then each package prints a line."
	go run ./cmd/trainweld test testdata/policies
	go test -vet=off -timeout 0 ./...
	@echo "make test ran the golden cases of testdata/policies, and the tests of each package with a twentieth of the random cases. It did not run:"
	@$(MAKE) -s help | grep -E 'make test-|make lint'
	@echo "  TestBuild_Bounded under the race detector, which multiplies the memory and the time that its limits are for"
	@python3 -c 'import yaml' 2>/dev/null || echo "  conformance/runner.py  this machine lacks python3 with PyYAML (Debian's python3-yaml)"

# The tests at full length. The last three runs hold what runs concurrently against the race detector: packages that start goroutines,
# the laws that run at the same time, and the tests of other packages that share values.
test-long: ## all random cases, the tests that take long, and the race detector
	TRAINWELD_LONG=1 go test -vet=off -timeout 0 ./...
	TRAINWELD_CASES=100 go test -vet=off -timeout 0 $(RACE) ./conformance ./merge ./conflict ./render/golden ./internal/build ./internal/cli ./internal/output ./internal/parallel ./internal/workspace ./cmd/trainweld
	TRAINWELD_CASES=100 go test -vet=off -timeout 0 $(RACE) -run '^(TestLaws|TestForce|TestHistory|TestChildHistory|TestManagedFields|TestMigrate|TestRewrite)$$' ./fuzz
	go test -vet=off $(RACE) -run '^(TestPositionsFromManyGoroutines|TestInputsAreShared)$$' ./manifest ./render

# The parts of a release that need no build. Then the comparison with the controllers' own code of Trainer 2.3 and of the Training
# Operator before it, with the API machinery's strategic merge, with other programs' tests of their merges, and with an API server's field
# manager, each in a module of its own.
test-upstream: ## compare with the code of Trainer 2.3, the Training Operator and the API server
	cd internal/packaging && go test -vet=off -count=1 -timeout 0 ./...
	cd fuzz/upstream && go test -vet=off -count=1 -timeout 0 ./...
	cd fuzz/trainingoperator && go test -vet=off -count=1 -timeout 0 ./...
	cd fuzz/strategic && go test -vet=off -count=1 -timeout 0 ./...
	cd fuzz/operators && go test -vet=off -count=1 -timeout 0 ./...
	cd fuzz/crds && go test -vet=off -count=1 -timeout 0 ./...
	cd bench && go test -vet=off -count=1 -timeout 0 ./...

# The comparison with the own code of the Trainer's earlier releases. Its first build takes about 8 minutes of two processors.
test-releases: ## compare with the code of Trainer 2.0, 2.1 and 2.2
	for release in 2.0 2.1 2.2; do \
		(cd fuzz/upstream && TRAINWELD_PAIRS=$(PAIRS) TRAINWELD_VERDICTS=$(VERDICTS) go test -vet=off -count=1 -timeout 3h \
			-run '$(RELEASED)' . -release $$release -jobsets $(JOBSETS)) || exit 1; \
	done
	$(MAKE) oracles
	go run ./conformance -children -warnings -exec bin/conform

# The programs that answer the conformance suite with each release's own code.
oracles:
	rm -rf bin/oracles
	for release in $(filter fuzz/releases/%,$(ORACLES)); do \
		go build -C $$release -o ../../../bin/oracles/$$(basename $$release) . || exit 1; \
	done
	go build -C fuzz/upstream -o ../../bin/conform ./conform

# What needs the modules of hosts: each example as the tools run it that it is for, and as its README says,
# the settings of docs/editor.md in a language server and in Neovim, and a release for this machine.
test-hosts: ## examples, kustomize, kpt, editors (with npm and nvim), and a release
	@for tool in npm nvim; do command -v $$tool >/dev/null || echo "$$tool is not on this machine: tests of docs/editor.md are skipped"; done
	cd hosts && go test -count=1 ./...
	for example in webhook kueue; do (cd examples/$$example && go vet ./... && go test -count=1 ./... && go mod tidy -diff) || exit 1; done
	cd internal/packaging && go test -count=1 -run TestRelease . -build

# Builds the style and the script of pages from folder web. It needs npm for the types, and writes what the program embeds.
web: ## the style and the script of pages (with npm)
	cd web && npm ci --no-audit --no-fund && npm run check && go run ./build

# A page that runs the program in a browser: docs/playground.md. The folder bin/playground is for any web server.
playground: ## the page that runs the program in a browser, to bin/playground (with npm)
	@echo "fetching what the page is built with, from npm"
	cd web && npm ci --no-audit --no-fund && npm run check && go run ./playground ../bin/playground
	@echo "bin/playground is built. Serve it: python3 -m http.server --directory bin/playground"

# Every page and the playground in a headless Chromium: by keyboard, in both schemes, without a request, and against the rules of axe-core. It writes
# pictures of the pages to bin/web.
test-web: ## the pages and the playground in a browser (with npm and chromium)
	cd web && npm ci --no-audit --no-fund && npm run check && go test -vet=off -count=1 -timeout 0 ./...

# The random tests, and the comparison with the controllers' own code, at length. The last one runs a whole control plane: its first build takes
# about 15 minutes of two processors, its start 10 seconds, and about two cases a second follow.
differential: ## compare with the code of the controllers at length
	TRAINWELD_CASES=50000 TRAINWELD_PAIRS=10000 go test -count=1 -timeout 2h ./fuzz
	cd fuzz/upstream && TRAINWELD_PAIRS=20000 TRAINWELD_VERDICTS=20000 TRAINWELD_MIGRATED=5000 go test -count=1 -timeout 3h . -jobsets 5000
	$(MAKE) test-releases PAIRS=20000 VERDICTS=20000 JOBSETS=5000
	cd fuzz/trainingoperator && TRAINWELD_JOBS=20000 go test -count=1 -timeout 3h .
	cd fuzz/strategic && TRAINWELD_CASES=340000 go test -count=1 -timeout 3h .
	cd fuzz/crds && TRAINWELD_OBJECTS=100000 TRAINWELD_SCHEMAS=100000 go test -count=1 -timeout 3h .
	cd fuzz/cluster && go test -count=1 -vet=off -timeout 4h . -cases 2000 -edits 720 -updates 300
	cd fuzz/cluster && go test -count=1 -vet=off -timeout 1h ./defaults -cases 100000

# Also that the library builds for a browser.
lint: ## the static checks
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'run gofmt -w on these files'; exit 1; }
	go vet ./...
	cd fuzz/upstream && go vet ./...
	for release in $(ORACLES); do (cd $$release && go vet ./...) || exit 1; done
	cd fuzz/trainingoperator && go vet ./...
	cd fuzz/strategic && go vet ./...
	cd fuzz/operators && go vet ./...
	cd fuzz/crds && go vet ./...
	cd hosts && go vet ./...
	cd web && go vet ./...
	cd internal/packaging && go vet ./...
	cd bench && go vet ./...
	go run $(STATICCHECK) ./...
	cd internal/packaging && go run $(STATICCHECK) ./...
	cd bench && go run $(STATICCHECK) ./...
	cd web && go run $(STATICCHECK) ./...
	GOBIN=$(CURDIR)/bin go install $(STATICCHECK)
	GOOS=js GOARCH=wasm bin/staticcheck -tests=false -tags $(TAGS) ./cmd/playground/... ./internal/playground ./internal/build ./internal/builtin ./internal/host
	GOOS=js GOARCH=wasm go build ./merge/... ./manifest/... ./legacy/... ./trainjob/... ./render/... ./docs
	GOOS=js GOARCH=wasm go vet -tags $(TAGS) ./cmd/playground/...
	go mod tidy -diff
	cd fuzz/upstream && go mod tidy -diff
	for release in $(ORACLES); do (cd $$release && go mod tidy -diff) || exit 1; done
	cd fuzz/trainingoperator && go mod tidy -diff
	cd fuzz/strategic && go mod tidy -diff
	cd fuzz/operators && go mod tidy -diff
	cd fuzz/crds && go mod tidy -diff
	cd fuzz/cluster && go mod tidy -diff
	cd hosts && go mod tidy -diff
	cd web && go mod tidy -diff
	cd internal/packaging && go mod tidy -diff
	cd bench && go mod tidy -diff
	go test -count=1 -run '^TestREADME' ./internal/cli
	go test -count=1 -run '^(TestImportBudget|TestOnly)' ./merge

# Both need the network. A stored module that differs from its checksum fails.
vulnerabilities: ## the modules' checksums and known vulnerabilities
	go mod verify
	go run $(GOVULNCHECK) ./...

# What programs that link the library would notice since the last tag.
apidiff: ## changes that programs with the library would notice
	.ci/apidiff

# What is compared takes turns within one run, so that ratios hold on a busy machine: docs/performance.md. The results go to
# bench/results.txt.
bench: ## the benchmarks
	@mkdir -p bin
	$(MAKE) -s measure > bin/results.txt || { cat bin/results.txt; exit 1; }
	@cat bin/results.txt
	grep '^Benchmark' bin/results.txt > bench/results.txt

measure:
	go test -run '^$$' -bench Apply -benchtime 1x ./merge
	go test -run '^$$' -bench Growth -benchmem ./merge
	cd fuzz/upstream && go test -run '^$$' -bench JobSet -benchtime 1x .
	cd fuzz/strategic && go test -run '^$$' -bench Merge -benchtime 1x .
	cd fuzz/crds && go test -run '^$$' -bench Object -benchtime 1x .
	go test -run '^$$' -bench Compile ./engine
	go test -run '^$$' -bench Size -benchtime 1x ./engine
	go test -run '^$$' -bench . -benchtime 1x ./internal/cli
	cd bench && go test -run '^$$' -bench . -benchtime 1x .

# The folders of all fuzz targets: one that is new is found.
FUZZED = $(shell grep -rl --include='*_test.go' --exclude-dir=node_modules --exclude-dir=bin '^func Fuzz' . | xargs -n 1 dirname | sort -u)

fuzz: ## each fuzz target for FUZZTIME=30s
	for folder in $(FUZZED); do \
		for target in $$(go test -C $$folder -list '^Fuzz' . | grep '^Fuzz'); do \
			echo "$$folder $$target"; \
			go test -C $$folder -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x . || exit 1; \
		done; \
	done

# Random commands on changed inputs for a while, in one process and in many: make soak SOAK=4h. Memory, goroutines and files that grow
# fail it, and so does a process that needs more than the bound.
soak: ## random commands for SOAK=1h
	ulimit -v $(SOAKMEMORY) && TRAINWELD_SOAK=$(SOAK) go test -vet=off -count=1 -timeout 0 -v -run '^TestSoak$$' ./internal/cli

# Changes of the conflicts and of the engine in one place, to see whether a test notices. Each of some 3,000 is killed, or accepted in
# fuzz/mutants/survivors.txt with a reason. They take a quarter of an hour. DEEP adds the tests that take long.
MUTANTS = ./conflict ./engine
# Guards of SECURITY.md. A changed one could end other processes, so each runs with processes of its own, which needs unshare of Linux.
GUARDS = ./internal/printable ./internal/ownfile ./internal/process
DEEP = false
mutants: ## change one line at a time, and see whether a test notices
	go run ./fuzz/mutants -deep=$(DEEP) $(MUTANTS)
	go run ./fuzz/mutants -deep=$(DEEP) $(GUARDS)

# The main job: two managers patch a TrainJob, and disagree about one field. The cluster lets the
# last one win in silence; here the disagreement is named.
demo: ## render the TrainJob of the quick start, which two managers patch
	@$(call patient,$(compiling),go run ./cmd/trainweld render -f testdata/quickstart/job.yaml -r testdata/quickstart/runtime.yaml --on-conflict=last)

# Makes the embedded custom resource definitions of the API modules that go.mod names, and rewrites
# what tests compare with: look at the difference before you commit it.
generate: ## the embedded definitions and the golden files
	cd release && go generate .
	go test ./manifest ./legacy/trainingjob ./render ./cmd/trainweld ./internal/report -update

# What takes hours: for a machine that has the night.
nightly: ## test-long, differential, fuzz, soak and mutants
	$(MAKE) test-long
	$(MAKE) differential
	$(MAKE) fuzz
	$(MAKE) soak
	$(MAKE) mutants DEEP=true
