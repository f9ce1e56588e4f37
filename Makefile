# Every target needs Go and nothing else, except test-pages.
REVISION := $(shell git rev-parse HEAD 2>/dev/null)
FUZZTIME ?= 30s
# How long make soak runs, and the most memory of a process in it, in KiB of address space.
SOAK ?= 1h
SOAKMEMORY ?= 6291456
# The race detector needs cgo and a C compiler; without them the same tests run without it.
RACE := $(if $(filter 1,$(shell env -u CGO_ENABLED go env CGO_ENABLED)),-race)
# Kustomize imports package plugin. With cgo the linker then keeps every function: a program is half as large again, and takes twice
# the time to link. All targets share one build cache, and a release has no cgo either.
export CGO_ENABLED ?= 0
# The modules with the code of the Trainer's releases.
ORACLES := $(addprefix fuzz/,oracle releases/v22 releases/v22jobset)
# The tests that compare with any release.
RELEASED := ^(TestDefinitions|TestPairs|TestExamples|TestVerdicts|TestJobSetChildren|TestJobSetVerdicts|TestJobSetReplacements)$$
PAIRS ?= 300
VERDICTS ?= 300
JOBSETS ?= 100
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0
KO := github.com/google/ko@v0.19.1

# Runs go in a module that go.work does not name: it has replaces of its own.
in = cd $(1) && GOWORK=off go
ALONE := fuzz fuzz/kueue cmd/internal/hosts
# What only the program has, by random inputs. The module also has cluster, whose control plane compiles for minutes: make differential runs it.
PROGRAM := cmd/internal/fuzz
COMMANDS := ./blame ./command ./origins ./sarif ./trainingoperator ./vap

.PHONY: help nightly laws build release-check image documents tag test test-long test-growth test-race test-upstream test-releases oracles test-hosts test-pages differential lint vulnerabilities apidiff bench measure fuzz soak demo generate upstream

# The first target. A target with a description is in the list.
help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+: .*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo "Begin with make demo, then make build and bin/trainweld --help. docs/CONTRIBUTING.md has the minutes of each target."

# Runs the command $(2). After five seconds it tells on standard error what takes long: a first build prints nothing.
patient = { sleep 5 >/dev/null 2>&1; echo "$(1)" >&2; } & note=$$!; $(2); status=$$?; kill $$note 2>/dev/null; exit $$status
compiling = compiling trainweld with the code of Kubernetes and kustomize: minutes the first time, seconds after that

# The same flags as go test has, so that both share one build cache. A release has its own: .goreleaser.yaml.
build: ## write the program to bin/trainweld
	@$(call patient,$(compiling),go build -ldflags '-X main.revision=$(REVISION)' -o bin/trainweld ./cmd/trainweld)
	@echo "bin/trainweld is built. Put it on your PATH, or go on with bin/trainweld --help"

# The files of a release as a snapshot, with what each archive holds. goreleaser is built on first use, which takes minutes.
release-check: ## the files of a release, to dist
	GOBIN=$(CURDIR)/bin go install $(GORELEASER)
	GOBIN=$(CURDIR)/bin go install $(CYCLONEDX)
	PATH=$(CURDIR)/bin:$$PATH bin/goreleaser release --snapshot --clean
	for archive in dist/*.tar.gz; do echo "$$archive"; tar -tzf "$$archive" | sed 's/^/  /'; done
	for archive in dist/*.zip; do unzip -l "$$archive"; done

# The image of the program, which needs the base image from its registry: make image KO_DOCKER_REPO=registry.example.com/trainweld
image: ## the image, to the repository of KO_DOCKER_REPO
	go run $(KO) build --bare ./cmd/trainweld

documents:
	rm -rf bin/documents
	GOWORK=off go run -C cmd/internal/hosts ./packaging documents ../../../bin/documents

# Names the unreleased changes of the changelog, commits that, and tags the commit: make tag VERSION=v1.2.3. It rejects a tree with changes.
tag: ## name and tag a release: VERSION=v1.2.3
	GOWORK=off go run -C cmd/internal/hosts ./packaging tag ../../.. "$(VERSION)"

# First the policies' golden files, as a user tests them. Then the tests of the module, with a twentieth of the random cases. No run
# vets: make lint does, for every module. No run has a limit of time, which a busy machine could exceed. Without tables for a debugger
# the sixty test programs are linked in two thirds of the time.
test: ## the tests, with a twentieth of the random cases
	@echo "compiling the packages and their tests: minutes the first time. Then each package prints a line."
	go run ./cmd/trainweld test testdata/policies
	go test -vet=off -ldflags=-w -timeout 0 work
	@$(MAKE) -s laws
	@echo "make test ran the golden cases of testdata/policies, and the tests of each package with a twentieth of the random cases. It did not run:"
	@$(MAKE) -s help | grep -E 'make test-|make lint'

# The runs of the night draw new seeds, and write each before its test. All others draw what CI draws.
test-long differential soak: export TRAINWELD_SEED ?= random

# The tests at full length, for the night.
test-long: ## all random cases, and the tests that take long
	TRAINWELD_LONG=1 go test -vet=off -timeout 0 work
	TRAINWELD_LONG=1 $(MAKE) -s laws

# The laws with random inputs that compare with no other program. Their modules are not in go.work.
laws:
	$(call in,fuzz) test -vet=off -ldflags=-w -timeout 0 .
	$(call in,$(PROGRAM)) test -vet=off -ldflags=-w -timeout 0 ./blame ./vap

# What grows with its input: the work and the memory of each command, and the work of a check.
test-growth: ## the growth of each command with its input
	TRAINWELD_LONG=1 go test -vet=off -ldflags=-w -count=1 -timeout 0 -run '^(TestWorkIsLinear|TestMemoryIsLinear|TestCheck_Once)$$' ./cmd/internal/cli

# Packages that start goroutines, the laws that run at the same time, and the tests of other packages that share values. Tests that run
# the program over many inputs, one after the other, share none: make test has them.
ALIKE := ^(TestAttacks|TestHostile|TestForeignFiles|TestNoNetworkNoPrograms|TestREADMECommands|FuzzNames|FuzzCommands)$$
test-race: export CGO_ENABLED = $(if $(RACE),1,0)
test-race: ## what runs concurrently, with the race detector
	TRAINWELD_CASES=100 go test -vet=off -timeout 0 $(RACE) -skip '$(ALIKE)' ./render/runtimepatch ./conflict ./cmd/golden ./cmd/internal/build ./cmd/internal/cli ./cmd/internal/output ./cmd/internal/parallel ./cmd/internal/workspace ./cmd/trainweld
	cd fuzz && GOWORK=off TRAINWELD_CASES=100 go test -vet=off -timeout 0 $(RACE) -run '^(TestLaws|TestForce|TestHistory|TestChildHistory|TestManagedFields|TestMigrate|TestRewrite)$$' .
	go test -vet=off $(RACE) -run '^(TestPositionsFromManyGoroutines|TestInputs_Shared)$$' ./render/manifest ./render

# The tagging of a release. Then the comparison with the controllers' own code of Trainer 2.3, of Kueue and of the Training
# Operator, with the API machinery's strategic merge, with other programs' tests of their merges, and with an API server's field
# manager and validation.
test-upstream: ## compare with the code of Trainer 2.3, Kueue, the Training Operator and the API server
	$(call in,cmd/internal/hosts) test -vet=off -count=1 -timeout 0 ./packaging ./bench
	$(call in,fuzz) test -vet=off -count=1 -timeout 0 ./upstream/... ./strategic ./operators ./crds
	$(call in,$(PROGRAM)) test -vet=off -count=1 -timeout 0 ./command ./sarif ./trainingoperator

# The comparison with the own code of the Trainer's earlier releases, whose modules are checked here. Its first build takes about 8
# minutes of two processors. Each run of make test compares with the answers that they gave: cmd/internal/recorded.
test-releases: ## compare with the code of Trainer 2.2, and the recorded results with that of every release
	for module in $(ORACLES); do ($(call in,$$module) vet ./... && GOWORK=off go mod tidy -diff) || exit 1; done
	cd fuzz/upstream && GOWORK=off TRAINWELD_PAIRS=$(PAIRS) TRAINWELD_VERDICTS=$(VERDICTS) go test -vet=off -count=1 -timeout 3h \
		-run '$(RELEASED)' . -release 2.2 -jobsets $(JOBSETS)
	fuzz/releases/renew

# The programs that answer the cases of cmd/internal/recorded with each release's own code.
oracles:
	rm -rf bin/oracles
	for release in $(filter fuzz/releases/%,$(ORACLES)); do \
		GOWORK=off go build -C $$release -o $(CURDIR)/bin/oracles/$$(basename $$release) . || exit 1; \
	done
	GOWORK=off go build -C fuzz/upstream -o $(CURDIR)/bin/conform ./conform

# What needs the modules of hosts: each example as the tools run it that it is for, and as its README says, and the installs of a release.
test-hosts: ## examples, kustomize, kpt, and installs
	$(call in,cmd/internal/hosts) test -count=1 -timeout 0 .
	for example in webhook kueue; do (cd docs/examples/$$example && export GOWORK=off && go vet ./... && go test -count=1 ./... && go mod tidy -diff) || exit 1; done

# Every page in a headless Chromium: by keyboard, in both schemes, and without a request. It writes pictures of the pages to bin/pages.
test-pages: ## the pages in a browser (with chromium)
	$(call in,cmd/internal/hosts) test -vet=off -count=1 -timeout 0 ./pages

# The random tests, and the comparison with the controllers' own code, at length. The last one runs a whole control plane: its first build takes
# about 15 minutes of two processors, its start 10 seconds, and about two cases a second follow.
differential: ## compare with the code of the controllers at length
	cd fuzz && GOWORK=off TRAINWELD_CASES=50000 TRAINWELD_PAIRS=10000 go test -count=1 -timeout 2h .
	cd fuzz/upstream && GOWORK=off TRAINWELD_PAIRS=20000 TRAINWELD_VERDICTS=20000 TRAINWELD_MIGRATED=5000 go test -count=1 -timeout 3h . -jobsets 5000
	$(MAKE) test-releases PAIRS=20000 VERDICTS=20000 JOBSETS=5000
	cd $(PROGRAM)/trainingoperator && GOWORK=off TRAINWELD_JOBS=20000 go test -count=1 -timeout 3h .
	cd fuzz/strategic && GOWORK=off TRAINWELD_CASES=340000 go test -count=1 -timeout 3h .
	cd $(PROGRAM)/command && GOWORK=off TRAINWELD_CASES=340000 go test -count=1 -timeout 3h .
	seed=$$(date +%s) && echo TRAINWELD_SEED=$$seed && cd fuzz/crds && GOWORK=off TRAINWELD_SEED=$$seed TRAINWELD_OBJECTS=100000 TRAINWELD_SCHEMAS=100000 TRAINWELD_SEQUENCES=20000 TRAINWELD_PATCHES=1000000 go test -count=1 -timeout 3h .
	$(call in,$(PROGRAM)/cluster) test -count=1 -vet=off -timeout 4h . -cases 2000 -updates 300 -policies 50
	$(call in,$(PROGRAM)/cluster) test -count=1 -vet=off -timeout 1h ./defaults -cases 100000
	$(call in,$(PROGRAM)/cluster) test -count=1 -vet=off -timeout 2h ./merged -cases 5000 -updates 3000

lint: ## the static checks
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'run gofmt -w on these files'; exit 1; }
	go vet work
	for module in $(ALONE); do ($(call in,$$module) vet ./...) || exit 1; done
	$(call in,$(PROGRAM)) vet $(COMMANDS)
	go run $(STATICCHECK) work
	$(call in,cmd/internal/hosts) run $(STATICCHECK) ./...
	GOWORK=off go mod tidy -diff
	for module in $(ALONE) $(PROGRAM); do ($(call in,$$module) mod tidy -diff) || exit 1; done
	go test -count=1 -run '^TestREADME' ./cmd/internal/cli
	go test -count=1 -run '^(TestImportBudget|TestOnly)' ./render/runtimepatch

# Both need the network. A stored module that differs from its checksum fails.
vulnerabilities: ## the modules' checksums and known vulnerabilities
	go mod verify
	go run $(GOVULNCHECK) work

# What programs that link the library would notice since the last tag.
apidiff: ## changes that programs with the library would notice
	.ci/apidiff

# What is compared takes turns within one run, so that ratios hold on a busy machine: docs/performance.md. The results go to
# cmd/internal/hosts/bench/results.txt.
bench: ## the benchmarks
	@mkdir -p bin
	$(MAKE) -s measure > bin/results.txt || { cat bin/results.txt; exit 1; }
	@cat bin/results.txt
	grep '^Benchmark' bin/results.txt > cmd/internal/hosts/bench/results.txt

measure:
	go test -run '^$$' -bench Apply -benchtime 1x ./render/runtimepatch
	$(call in,fuzz/upstream) test -run '^$$' -bench JobSet -benchtime 1x .
	$(call in,fuzz/crds) test -run '^$$' -bench Object -benchtime 1x .
	go test -run '^$$' -bench Compile ./merge ./render/runtimepatch
	go test -run '^$$' -bench Size -benchtime 1x ./merge
	go test -run '^$$' -bench New -benchtime 1x ./cmd/internal/origins
	go test -run '^$$' -bench Render -benchtime 1x ./cmd/internal/cli # alone, since it reports the peak of its heap
	go test -run '^$$' -bench . -skip Render -benchtime 1x ./cmd/internal/cli
	$(call in,cmd/internal/hosts/bench) test -run '^$$' -bench . -benchtime 1x .

# The folders of all fuzz targets: one that is new is found. Those in modules of go.work need it.
WORK = github.com/trainweld/trainweld|github.com/trainweld/trainweld/render|github.com/trainweld/trainweld/cmd
FUZZED = $(shell grep -rl --include='*_test.go' --exclude-dir=node_modules --exclude-dir=bin '^func Fuzz' . | xargs -n 1 dirname | sort -u)

fuzz: ## each fuzz target for FUZZTIME=30s
	for folder in $(FUZZED); do \
		case $$(GOWORK=off go list -C $$folder -m) in $(WORK)) unset GOWORK ;; *) export GOWORK=off ;; esac; \
		for target in $$(go test -C $$folder -list '^Fuzz' . | grep '^Fuzz'); do \
			echo "$$folder $$target"; \
			go test -C $$folder -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x . || exit 1; \
		done; \
	done

# Random commands on changed inputs for a while, in one process and in many: make soak SOAK=4h. Memory, goroutines and files that grow
# fail it, and so does a process that needs more than the bound.
soak: ## random commands for SOAK=1h
	ulimit -v $(SOAKMEMORY) && TRAINWELD_SOAK=$(SOAK) go test -vet=off -count=1 -timeout 0 -v -run '^TestSoak$$' ./cmd/internal/cli

# The main job: two managers patch a TrainJob, and disagree about one field. The first command names the disagreement, and fails. The
# second shows what the cluster does: the last one wins in silence. README.md has the same commands with the same output.
DEMO := trainweld render -f testdata/quickstart/job.yaml -r testdata/quickstart/runtime.yaml
shown = echo '$$ $(1)'; PATH="$(CURDIR)/bin:$$PATH"; $(1)
demo: ## the commands of the README, for a TrainJob that two managers patch
	@$(call patient,$(compiling),go build -ldflags '-X main.revision=$(REVISION)' -o bin/trainweld ./cmd/trainweld)
	@$(call shown,$(DEMO)) 2>&1; test $$? = 1
	@$(call shown,$(DEMO) --on-conflict=last 2>/dev/null | grep -A 1 nodeSelector)

# What is known of a release against its own source: make upstream VERSION=v2.4.0. It takes the module, writes the release's archive in
# render/release/data, and lists each part of the definitions and each switch whose mark can go, or that is wrong. Nothing else changes:
# the comparison links the module by a go.mod of its own, in bin.
OWN = GOWORK=off GOFLAGS='-trimpath -modfile=$(CURDIR)/bin/upstream.mod' go
upstream: ## compare what is known of a release with its source: VERSION=v2.4.0
	@test -n "$(VERSION)" || { echo 'name the release: make upstream VERSION=v2.4.0'; exit 1; }
	cd render/release && go run ./generate -version $(VERSION)
	mkdir -p bin && cp fuzz/go.mod bin/upstream.mod && cp fuzz/go.sum bin/upstream.sum
	cd fuzz/upstream && $(OWN) get github.com/kubeflow/trainer/v2@$(VERSION)
	cd fuzz/upstream && TRAINWELD_PAIRS=$(PAIRS) $(OWN) test -vet=off -count=1 -timeout 0 -v -run '^TestRow$$' . -release $(VERSION)
	cd fuzz/upstream && TRAINWELD_PAIRS=$(PAIRS) TRAINWELD_VERDICTS=$(VERDICTS) $(OWN) test -vet=off -count=1 -timeout 0 -run '$(RELEASED)' . -release $(VERSION) -jobsets $(JOBSETS)

# Makes the embedded custom resource definitions of the API modules that go.mod names, and rewrites
# what tests compare with: look at the difference before you commit it.
generate: ## the embedded definitions and the golden files
	cd render/release && go generate .
	go test ./render/manifest ./cmd/internal/trainingjob ./render ./cmd/golden ./cmd/trainweld ./cmd/internal/report -update

# What takes hours: for a machine that has the night.
nightly: ## test-long, test-race, differential, fuzz, soak and release-check
	$(MAKE) test-long
	$(MAKE) test-race
	$(MAKE) differential
	$(MAKE) fuzz
	$(MAKE) soak
	$(MAKE) release-check
