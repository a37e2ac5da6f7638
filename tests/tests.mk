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
