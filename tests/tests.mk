# What is tested and how; included by the Makefile.

UNIT_SRC := $(wildcard tests/unit/*.c)
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
UNIT_LIBS := -lcmocka -ljansson -lcrypto -lz -lbpf -lelf -lseccomp -lcap -lsystemd

$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(foreach l,$(LIBS),$(call archive,$(l)))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(UNIT_LIBS)

check-unit: $(UNIT)
	@for t in $(UNIT); do echo "== $$t"; $$t || exit 1; done
