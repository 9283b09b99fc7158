# hawk is built without cgo, without paths of the machine and without debug sections: the same sources
# give the same file.
VERSION ?= $(shell git -c safe.directory='*' describe --tags --always --dirty --match 'v[0-9]*' 2>/dev/null | \
	sed 's/^\([0-9a-f]\{7,\}\)/v0.0.0-\1/')
LDFLAGS := -s -w -funcalign 16 -E github.com/hawktrace/hawk/internal/origin.entry \
	-X github.com/hawktrace/hawk/internal/cli.Version=$(or $(VERSION),v0.0.0-unknown)
PREFIX  ?= /usr/local
KERNEL  ?= 6.12

export CGO_ENABLED = 0
# The Debian archive that kernels and programs for tests come from; without it the one of the machine's own
# package sources.
DEBIAN ?= $(HAWK_DEBIAN)
export HAWK_DEBIAN := $(DEBIAN)
# The version is in LDFLAGS; Go would ask git for it, which refuses checkouts of other owners.
export GOFLAGS := -buildvcs=false $(GOFLAGS)

.PHONY: all build min run install test check unit kernel vm vm-test fuzz vm-fuzz fuzz-all race race-cases remains
.PHONY: bench cover clean deps

all: build

# Packages whose code is rarely run, or never: net/http brings TLS, which hawk has no use for; those of hawk run once,
# or as often as somebody looks. Without inlining they take more than a megabyte less.
OWN  := github.com/hawktrace/hawk/internal
COLD := archive/... crypto/... debug/... encoding/... flag fmt go/... math/big mime/... net net/http/... net/netip \
	net/textproto os/... path/... reflect regexp/... text/... time vendor/... github.com/cilium/... \
	github.com/ianlancetaylor/demangle \
	$(addprefix $(OWN)/,cli ui/... tool serve diff saved reference export strace aot cgroup notation builtin \
	builtin/kernel cdef config expand syntax check probe/user probe/kernel)
# What loads a word of a record is called for each, so that it is none of them.
BUILD := -trimpath $(patsubst %,-gcflags=%=-l,$(COLD)) -gcflags=encoding/binary=

build:
	go build -tags nethttpomithttp2 $(BUILD) -ldflags '$(LDFLAGS)' -o hawk ./cmd/hawk

# Without the terminal view, the page and the service. It takes 11.5 MB at most, for which it does without inlining
# (a map of 200,000 keys is printed as fast), without hashes in assembly (purego: their code unrolled is ten times as
# long, and hawk hashes little), and aligns functions as closely as the linker's tables allow. The collector that Go
# 1.26 brought is made for heaps of gigabytes: without it, where Go can do without, there are 49 KB less.
STD := bufio bytes compress/... context encoding/binary errors golang.org/... hash/... internal/fmtsort \
	internal/godebug internal/poll internal/stringslite internal/sync internal/syscall/... internal/zstd io/... \
	log/... maps math/rand/... slices sort strconv strings sync syscall unicode/... github.com/therootcompany/xz
SMALL = $(if $(shell GOEXPERIMENT=nogreenteagc go env GOEXPERIMENT 2>/dev/null),GOEXPERIMENT=nogreenteagc)
min:
	$(SMALL) go build -tags min,purego $(BUILD) $(patsubst %,-gcflags=%=-l,$(STD)) -gcflags=$(OWN)/...=-l \
		-ldflags '$(LDFLAGS) -funcalign 4' -o hawk-min ./cmd/hawk
	@size=$$(stat -c %s hawk-min); echo "hawk-min: $$size bytes"; [ $$size -le 11500000 ]

# A look at the machine: its system calls by program, for three seconds.
run: build
	./hawk -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } interval:s:3 { exit(); }'

install: build
	install -D -m 755 hawk $(DESTDIR)$(PREFIX)/bin/hawk
	@install -d $(addprefix $(DESTDIR)$(PREFIX)/share/, \
		man/man8 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	./hawk --man >$(DESTDIR)$(PREFIX)/share/man/man8/hawk.8
	./hawk --completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hawk
	./hawk --completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_hawk
	./hawk --completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/hawk.fish

# All tests: static checks, unit tests, the cases on the running kernel, the cases on other kernels in VMs. As root it
# first installs what it needs. JOBS of these targets run side by side, one more than there are processors, since a VM
# keeps one busy for little more than half of the time; each prints when it is done. The first VM shows all cases and
# takes longest, so that it starts first. MORE names further ones; none is begun after UNTIL, in seconds of the clock,
# where that is given.
VMS   ?= 5.10 6.12 sid 6.12-arm64 6.1
MORE  ?=
UNTIL ?=
JOBS  ?= $(shell echo $$(($$(nproc) + 1)))
QUEUE := $(addprefix queued-,$(patsubst %,vm-%,$(word 1,$(VMS))) kernel unit $(patsubst %,vm-%,$(word 2,$(VMS))) \
	$(MORE) $(patsubst %,vm-%,$(wordlist 3,9,$(VMS))))
test: deps check build
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && export HAWK_WORK=$$work && \
	$(MAKE) --no-print-directory --keep-going -j $(JOBS) --output-sync=target FUZZ_JOBS=1 $(QUEUE) \
	$(if $(strip $(VMS)),&& go test -count=1 -v -run '^TestRanSomewhere$$' ./internal/hawktest)

queued-%:
	@if [ -n "$(UNTIL)" ] && [ $$(date +%s) -ge "$(UNTIL)" ]; then \
		echo "== not begun, since there is no time left for it: make $*"; touch $$HAWK_WORK/left-$*; \
	else $(MAKE) --no-print-directory $*; fi

# What the tests use beside Go, from Debian's packages. Without root, what is missing is left to each test to say.
DEPS := busybox-static debian-archive-keyring dpkg e2fsprogs fish g++ g++-aarch64-linux-gnu gcc \
	gcc-aarch64-linux-gnu git groff-base jq libc6-dbg libc6-dev libc6-dev-arm64-cross perl python3 \
	qemu-system-arm qemu-system-x86 systemtap-sdt-dev util-linux xz-utils zsh
# Debian has it, Ubuntu only as a snap, which needs a running system.
BROWSER := chromium-headless-shell
deps:
	@command -v dpkg-query >/dev/null || exit 0; missing=; for p in $(DEPS); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	command -v rustc >/dev/null || missing="$$missing rustc"; \
	command -v dwp >/dev/null || missing="$$missing binutils-gold"; \
	command -v $(BROWSER) >/dev/null || missing="$$missing $(BROWSER)"; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ]; then apt-get update -qq || exit; \
		apt-cache show $(BROWSER) >/dev/null 2>&1 || missing=$${missing% $(BROWSER)}; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	elif [ -n "$$missing" ]; then echo "not installed:$$missing"; fi

# gofmt is given the directory and never a list, which may be empty: it would wait for a terminal then.
check:
	@out=$$(gofmt -l .) && [ -z "$$out" ] || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }
	go vet ./...

unit:
	go test $$(go list ./... | grep -v /internal/hawktest$$)

# -v: a case that cannot run here says why.
kernel:
	HAWK_WORK= go test -count=1 -timeout 30m -v ./internal/hawktest

# Shows what tests leave behind on a machine on which nothing else happens: say make remains once before them
# and once after, with the same new file.
REMAINS ?= /run/hawk-remains
remains:
	HAWK_REMAINS=$(REMAINS) go test -count=1 -v -run '^TestRemains$$' ./internal/hawktest/remains

# A shell in a VM with hawk in it, or a command: make vm KERNEL=6.1 CMD='hawk --info'
vm:
	@go run ./internal/hawktest/vm/hawkvm -kernel $(KERNEL) $(CMD)

# The cases on one kernel; CASE narrows them to names that match.
vm-test:
	HAWK_VM=$(KERNEL) HAWK_CASE='$(CASE)' go test -count=1 -timeout 60m -run '^TestVM$$' -v ./internal/hawktest

vm-%:
	@$(MAKE) --no-print-directory vm-test KERNEL=$*

# Each kernel shows the cases of a Choice (internal/hawktest/choice.go): the oldest all, the others what that
# and the host do not. make vm-test runs all.
vm-6.12 vm-6.1 vm-sid: export HAWK_CHOICE = rest
vm-%-arm64: export HAWK_CHOICE = arch

# Made-up scripts against the interpreter, for the time FUZZ, on the running kernel. Another kernel, in an
# emulator, runs so many scripts that this machine has compiled for it:
# make vm-fuzz KERNEL=6.1 SCRIPTS=10000 SEED=1
# ROOM is for how many processors that kernel makes room: with many the verifier takes the most of the time. One
# script at a time is compared there, since one thread of the emulator runs all processors: two wait for each other.
FUZZ    ?= 1m
SEED    ?= 1
SCRIPTS ?= 1000
ROOM    ?= 2
MADE_UP := -test.run '^TestMadeUpScripts$$' -test.v -test.timeout 0
FUZZVM   = go run ./internal/hawktest/vm/hawkvm -kernel $(KERNEL) -cpus $(ROOM) -tests internal/hawktest/interp
fuzz:
	HAWK_FUZZ_TIME=$(FUZZ) HAWK_FUZZ_SEED=$(SEED) go test -count=1 ./internal/hawktest/interp $(MADE_UP)

vm-fuzz:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && mkdir "$$dir/machine" "$$dir/scripts" && set -e && \
	$(FUZZVM) sh -c 'hawk --record-machine /tmp/machine >&2 && tar -C /tmp/machine -c .' | tar -C "$$dir/machine" -x; \
	HAWK_FUZZ_AHEAD_FOR="$$dir/machine" HAWK_FUZZ_AHEAD="$$dir/scripts/all" HAWK_FUZZ_SCRIPTS=$(SCRIPTS) \
		HAWK_FUZZ_SEED=$(SEED) go test -count=1 ./internal/hawktest/interp -test.run '^TestPrepare$$' -test.v \
		-test.timeout 0; \
	$(FUZZVM) -add "$$dir/scripts" \
		/usr/bin/env GOMAXPROCS=1 HAWK_FUZZ_AHEAD=/hawk/added/all /hawk/tests/internal-hawktest-interp.test $(MADE_UP)

# Every fuzz target for FUZZ_EACH, beside its corpus, FUZZ_JOBS at once. FINDINGS=report only prints what they find.
FUZZ_EACH ?= 20s
FUZZ_JOBS ?= $(JOBS)
FINDINGS  ?= fail
fuzz-all:
	@echo "== fuzz targets for $(FUZZ_EACH) each"; \
	grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u | \
	xargs -n 1 -P $(FUZZ_JOBS) .ci/fuzz $(FUZZ_EACH) || [ "$(FINDINGS)" = report ]

# The race detector over the unit tests of all packages. It needs cgo, which hawk never has otherwise. make check
# has vetted them. Tests that take long in one goroutine are left out.
race:
	CGO_ENABLED=1 go test -race -vet=off -timeout 30m -skip '^(TestKernelAhead|TestBranchy|TestLong)$$' \
		$$(go list ./... | grep -v /internal/hawktest$$)

# And in hawk itself while the cases run; those that bound its memory are for a hawk without it.
race-cases:
	CGO_ENABLED=1 HAWK_RACE=1 HAWK_CHOICE=parts go test -race -vet=off -count=1 -timeout 60m -v \
		-run '^(TestScript|TestKernel)$$' ./internal/hawktest

# Side by side with bpftrace; writes docs/performance.md when told so: make bench BENCH=-write
bench: build
	go run ./bench -hawk ./hawk $(BENCH)

cover:
	rm -rf .cover && mkdir -p .cover/bin .cover/unit
	GOCOVERDIR=$(CURDIR)/.cover/bin go test -count=1 ./internal/hawktest
	go test -cover -coverpkg=./... ./... -args -test.gocoverdir=$(CURDIR)/.cover/unit
	go tool covdata textfmt -i=.cover/bin,.cover/unit -o .cover/profile
	go tool cover -func=.cover/profile | tail -1

clean:
	rm -rf hawk .cover
