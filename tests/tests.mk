# What is tested and how; included by the Makefile.

UNIT_SRC := $(wildcard tests/unit/*.c)
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
UNIT_LIBS := -lcmocka -ljansson -lcrypto -lz -lbpf -lelf -lseccomp -lcap -lsystemd

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

E2E := $(wildcard tests/e2e/*.t)
E2E_ENV = VITRINE_BIN=$(abspath $(B)/bin) VITRINE_TESTS=$(abspath $(B)/tests)

check-unit: $(UNIT) all
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done

check-e2e: all $(B)/tests/acts
	$(Q)$(E2E_ENV) prove $(PROVEFLAGS) $(E2E)

# ---- other kernels, in QEMU: the acts, unchanged, on a pure cgroup v2 hierarchy ------------------------------------

KERNELS ?= bookworm trixie
KERNEL_CACHE := build/kernels
KERNEL_TESTS := tests/e2e/10-acts.t
GUEST_RUN = VITRINE_BIN=$(abspath $(B)/bin) VITRINE_TESTS=$(abspath $(B)/tests) sh $(CURDIR)/$(t)

deps-kernels:
	$(call install_packages,$(DEPS_KERNELS))

check-kernels: deps deps-kernels
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/acts
	$(Q)sh tests/kernels/root.sh $(B)/root.erofs $(abspath $(B)/bin) $(abspath $(B)/tests/acts) $(CURDIR)/tests/e2e
	$(Q)for kernel in $(KERNELS); do \
		sh tests/kernels/fetch.sh $(KERNEL_CACHE) $$kernel && \
		sh tests/kernels/guest.sh $(KERNEL_CACHE) $$kernel $(B)/root.erofs 900 \
			'set -e; $(foreach t,$(KERNEL_TESTS),$(GUEST_RUN);)' || exit 1; \
	done
