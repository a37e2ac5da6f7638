# What is tested and how; included by the Makefile.

UNIT_SRC := $(wildcard tests/unit/*.c)
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
UNIT_LIBS := -lcmocka -ljansson -lcrypto -lz -lbpf -lelf -lseccomp -lcap -lsystemd -lcurl -lzstd -lpcre2-8 -lmicrohttpd -lm -lncursesw -lvterm -lsqlite3 -pthread

$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(foreach l,$(LIBS),$(call archive,$(l)))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(UNIT_LIBS)

# Static, and without sanitizers: it runs inside sessions.
ACTS_SRC := $(wildcard tests/e2e/acts/*.c)
$(B)/tests/acts: $(ACTS_SRC) tests/e2e/acts/truth.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN) -O1 -g -D_GNU_SOURCE -static -o $@ $(ACTS_SRC) -pthread

# Ways out of a session, tried from within: static for the same reason.
ESCAPE_SRC := $(wildcard tests/e2e/escape/*.c)
$(B)/tests/escape: $(ESCAPE_SRC) tests/e2e/escape/escape.h
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN) -O1 -g -D_GNU_SOURCE -static -o $@ $(ESCAPE_SRC)

$(B)/tests/write-journal: $(B)/obj/tests/e2e/write_journal.o $(call archive,record)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $^ -ljansson -lcrypto -lz

$(B)/tests/fail_alloc.so: tests/e2e/fail_alloc.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O1 -Wall -Wextra -D_GNU_SOURCE -shared -fPIC -o $@ $<

E2E := $(wildcard tests/e2e/*.t)
E2E_ENV = VITRINE_BIN=$(abspath $(B)/bin) VITRINE_TESTS=$(abspath $(B)/tests) VITRINE_RECEIVERS=$(abspath build/receivers)

check-unit: $(UNIT) all
	@for t in $(UNIT); do echo "== $$t"; timeout --foreground 600 $$t || exit 1; done

deps-receivers:
	$(Q)sh tests/receivers.sh build/receivers $(RECEIVERS)

check-e2e: deps-receivers all $(B)/tests/acts $(B)/tests/escape $(B)/tests/write-journal $(B)/tests/fail_alloc.so
	$(Q)$(E2E_ENV) prove $(PROVEFLAGS) $(E2E)

# Proofs that take minutes or hours: outages, thousands of sessions, millions of records. Not part of check.
SOAK := $(wildcard tests/soak/*.t)

crash: deps
	$(Q)$(MAKE) --no-print-directory CRASH=1 all

soak: deps deps-receivers crash all $(B)/tests/acts $(B)/tests/escape $(B)/tests/write-journal $(B)/tests/loops $(B)/tests/bench-acts $(B)/tests/unit/forgery
	$(Q)$(E2E_ENV) prove $(PROVEFLAGS) $(SOAK)

# ---- other kernels, in QEMU: the acts, unchanged, on a pure cgroup v2 hierarchy ------------------------------------

KERNELS ?= bookworm trixie
KERNEL_CACHE := build/kernels
KERNEL_TESTS := tests/e2e/10-acts.t tests/e2e/66-attempts.t tests/e2e/65-limits.t tests/e2e/72-command-limits.t tests/e2e/67-kill.t tests/e2e/68-users.t tests/e2e/76-escape.t tests/e2e/88-final.t
GUEST_RUN = VITRINE_BIN=/vitrine/bin VITRINE_TESTS=/vitrine sh /vitrine/e2e/$(notdir $(t))

deps-kernels:
	$(call install_packages,$(DEPS_KERNELS))

check-kernels: deps deps-kernels
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/acts $(B)/tests/escape
	$(Q)sh tests/kernels/root.sh $(B)/root.erofs $(B)/bin $(B)/tests/acts $(B)/tests/escape tests/e2e
	$(Q)for kernel in $(KERNELS); do \
		sh tests/kernels/fetch.sh $(KERNEL_CACHE) $$kernel && \
		sh tests/kernels/guest.sh $(KERNEL_CACHE) $$kernel $(B)/root.erofs 1800 \
			'set -e; $(foreach t,$(KERNEL_TESTS),$(GUEST_RUN);)' || exit 1; \
	done

# ---- figures --------------------------------------------------------------------------------------------------------

$(B)/tests/loops: tests/bench/loops.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN) -O2 -D_GNU_SOURCE -static -o $@ $<

$(B)/tests/bench-%: $(B)/obj/tests/bench/%.o $(foreach l,$(LIBS),$(call archive,$(l)))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $< $(PEER) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(UNIT_LIBS)

# RE2 stands beside the shape net, for the bench alone.
$(B)/obj/tests/bench/re2_peer.o: tests/bench/re2_peer.cc tests/bench/re2_peer.h
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) -Wall -Wextra -Wno-unused-parameter -O2 -fPIE -c -o $@ $<

$(B)/tests/bench-redact: $(B)/obj/tests/bench/re2_peer.o
$(B)/tests/bench-redact: PEER = $(B)/obj/tests/bench/re2_peer.o -lre2 -lstdc++

BENCHES := $(filter-out $(B)/tests/bench-loops,$(patsubst tests/bench/%.c,$(B)/tests/bench-%,$(wildcard tests/bench/*.c)))

bench: deps
	$(call install_packages,$(DEPS_BENCH) $(DEPS_BENCH_REDACT))
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/loops $(BENCHES)
	$(Q)sh tests/bench/bench.sh $(abspath $(B)/bin) $(abspath $(B)/tests) $(ROUNDS)
	$(Q)sh tests/bench/launch.sh $(abspath $(B)/bin) $(abspath $(B)/tests) $(ROUNDS)
	$(Q)$(MAKE) --no-print-directory bench-export

# What sinks cost, beside rsyslog.
bench-export: all $(B)/tests/bench-export $(B)/tests/bench-null_receiver
	$(Q)sh tests/receivers.sh build/receivers $(RECEIVERS_BENCH)
	$(Q)VITRINE_RECEIVERS=$(abspath build/receivers) sh tests/bench/export.sh $(abspath $(B)/bin) $(abspath $(B)/tests)

# From start to cleaned, beside peers.
bench-launch: deps
	$(call install_packages,$(DEPS_BENCH))
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/bench-launch
	$(Q)sh tests/bench/launch.sh $(abspath $(B)/bin) $(abspath $(B)/tests) $(ROUNDS)

# Ten million records, and what it takes to find a few; ausearch and jq beside it, on PEER_RECORDS of the same acts.
RECORDS ?= 10000000
PEER_RECORDS ?= 200000
RUNS ?= 1
bench-search: deps
	$(call install_packages,$(DEPS_BENCH))
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/bench-acts
	$(Q)sh tests/bench/search.sh $(abspath $(B)/bin) $(abspath $(B)/tests) $(RECORDS) $(PEER_RECORDS) $(RUNS)

# How much redaction finds, and what it costs.
bench-redact: deps
	$(call install_packages,$(DEPS_BENCH_REDACT))
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bench-redact_corpus $(B)/tests/bench-redact
	$(Q)$(B)/tests/bench-redact_corpus && $(B)/tests/bench-redact

# ---- fuzzers: FUZZ_SECONDS each -------------------------------------------------------------------------------------

FUZZ_SRC := $(filter-out tests/fuzz/driver.c,$(wildcard tests/fuzz/*.c))
FUZZERS := $(notdir $(FUZZ_SRC:.c=))
FUZZ_SECONDS ?= 60
FUZZ_SRC_OF_LIBS = $(record_src) $(redact_src) $(metrics_src) $(capture_src) $(supervisor_src) $(replay_src) \
	$(project_src) $(sinks_src) $(exporters_src) \
	supervisor/sandbox/syscall_policy.c supervisor/sandbox/syscall_arguments.c
FUZZ_OBJ = $(patsubst %.c,$(B)/fuzz/obj/%.o,$(filter-out supervisor/capture/sensors.c,$(FUZZ_SRC_OF_LIBS)))
FUZZ_FLAGS = -std=gnu17 -g -O1 -w $(CPPFLAGS)

$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(B)/fuzz/lib.a: $(FUZZ_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%.c $(B)/fuzz/lib.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $^ $(UNIT_LIBS)

fuzz: deps
	$(call install_packages,$(DEPS_FUZZ))
	$(Q)$(MAKE) --no-print-directory $(addprefix $(B)/fuzz/,$(FUZZERS))
	$(Q)for f in $(FUZZERS); do \
		mkdir -p $(B)/fuzz/found/$$f tests/fuzz/corpus/$$f; \
		echo "== $$f"; \
		$(B)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -artifact_prefix=$(B)/fuzz/$$f- \
			$(B)/fuzz/found/$$f tests/fuzz/corpus/$$f || exit 1; \
	done

# The corpora, by a plain driver, in every check.
$(B)/tests/fuzz-%: $(B)/obj/tests/fuzz/%.o $(B)/obj/tests/fuzz/driver.o $(foreach l,$(LIBS),$(call archive,$(l)))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(UNIT_LIBS)

check-corpus: $(addprefix $(B)/tests/fuzz-,$(FUZZERS))
	$(Q)for f in $(FUZZERS); do $(B)/tests/fuzz-$$f tests/fuzz/corpus/$$f || exit 1; done

# ---- style ----------------------------------------------------------------------------------------------------------

C_FILES = $(shell git ls-files '*.c' '*.h')

# cppcheck knows neither the cleanup attribute (leaks are the sanitizer's to find) nor jansson's loops.
CPPCHECK_BLIND := --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=memleak --suppress=resourceLeak \
	'-Djson_array_foreach(array,at,value)=for (at = 0; (value = json_array_get(array, at)); at++)' \
	'-Djson_object_foreach(object,key,value)=for (key = json_key(object); (value = json_object_get(object, key));)' \
	'-Djson_object_foreach_safe(object,next,key,value)=for (key = json_key(object); (value = json_object_get(object, key));)'

lint: deps
	$(call install_packages,$(DEPS_LINT))
	$(Q)tests/lint/arrows.sh && tests/lint/banned.sh && tests/lint/size.sh && tests/lint/debian.sh
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)shellcheck -x -S warning $(shell git ls-files '*.sh' 'tests/e2e/*.t' 'tests/soak/*.t')
	$(Q)$(MAKE) --no-print-directory compile_commands.json
	$(Q)clang-tidy --quiet -p . $(filter-out bpf/%,$(shell git ls-files 'supervisor/*.c' 'replay/*.c' 'exporters/*.c')) 2>/dev/null
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,portability $(CPPCHECK_BLIND) -D_GNU_SOURCE \
		supervisor replay exporters

compile_commands.json: Makefile
	$(Q)$(MAKE) -n -B V=1 all 2>/dev/null | python3 tests/lint/compile_commands.py > $@

# ---- all of it ------------------------------------------------------------------------------------------------------

# What CI runs. The sanitizer build runs the unit tests and the end-to-end tests once more.
check: deps deps-kernels
	$(Q)$(MAKE) --no-print-directory check-style check-unit check-corpus check-e2e
	$(Q)$(MAKE) --no-print-directory SAN=address,undefined check-unit check-corpus check-e2e
	$(Q)$(MAKE) --no-print-directory check-kernels KERNELS=$(firstword $(KERNELS))

check-style:
	$(Q)tests/lint/arrows.sh && tests/lint/banned.sh && tests/lint/size.sh && tests/lint/debian.sh
