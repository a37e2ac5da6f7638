# vitrine: `make demo` shows it, `make check` tests it; both install what they need (Debian 12, as root).
#
# Everything is built below build/ (or B=DIR). V=1 shows the commands. SAN=address,undefined builds with sanitizers.

B       ?= build
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' $(1) $(2))

ifneq ($(SAN),)
override B := $(B)/san
SANFLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

# A build that can be made to die at each step of a session (supervisor/record/crash.h): for tests alone.
ifneq ($(CRASH),)
override B := $(B)/crash
CPPFLAGS += -DVITRINE_CRASH_POINTS
endif

WARN   := -Wall -Wextra -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers \
          -Wno-override-init -Werror=incompatible-pointer-types -Werror=implicit-function-declaration $(if $(WERROR),-Werror)
CFLAGS ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -DVITRINE_VERSION='"$(VERSION)"' -I$(B)/include -I.
ALLFLAGS = -std=gnu17 $(WARN) $(CFLAGS) -fPIE -fstack-protector-strong -ffile-prefix-map=$(CURDIR)=. -ffunction-sections -fdata-sections $(SANFLAGS)
LDFLAGS += -Wl,--gc-sections -Wl,-z,relro,-z,now $(SANFLAGS)

# ---- what is built of what ------------------------------------------------------------------------------------------
# A folder is a library; a file named *_main.c is a program and belongs to no library.

folder = $(filter-out %_main.c,$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

LIBS := record redact metrics capture sandbox supervisor replay project sinks exporters
record_src     := $(call folder,supervisor/record)
redact_src     := $(call folder,supervisor/redact)
metrics_src    := $(call folder,supervisor/metrics)
capture_src    := $(call folder,supervisor/capture)
sandbox_src    := $(call folder,supervisor/sandbox)
supervisor_src := $(call folder,supervisor)
replay_src     := $(call folder,replay) $(call folder,replay/formats) $(call folder,replay/screen)
project_src    := $(call folder,exporters/project)
sinks_src      := $(call folder,exporters/sinks)
exporters_src  := $(call folder,exporters)

PROGRAMS := vitrine vitrine-commands vitrined vitrine-recorder vitrine-names vitrine-final vitrine-launcher vitrine-export vitrine-metrics
BIN := $(addprefix $(B)/bin/,$(PROGRAMS))

archive = $(B)/lib/lib$(1).a

vitrine_main  := supervisor/vitrine_main.c
vitrine_needs := supervisor sandbox metrics record
vitrine_libs  := -ljansson

vitrine-commands_main  := supervisor/commands_main.c
vitrine-commands_needs := supervisor sandbox metrics replay exporters project record redact
vitrine-commands_libs  := -ljansson -lcrypto -lz -lpcre2-8 -lm -lncursesw -lvterm -lsqlite3

vitrined_main  := supervisor/vitrined_main.c
vitrined_needs := supervisor capture sandbox metrics record redact
vitrined_libs  := -lbpf -lelf -lz -ljansson -lseccomp -lcap -lsystemd -lcrypto -lpcre2-8 -lm

vitrine-recorder_main  := supervisor/capture/recorder_main.c
vitrine-recorder_needs := capture supervisor sandbox metrics redact record
vitrine-recorder_libs  := -lbpf -lelf -lz -ljansson -lseccomp -lcap -lsystemd -lcrypto -lpcre2-8 -lm

vitrine-names_main  := supervisor/capture/names_main.c
vitrine-names_needs := capture record
vitrine-names_libs  := -lseccomp -lcap

vitrine-final_main  := supervisor/capture/final_main.c
vitrine-final_needs := capture supervisor redact record
vitrine-final_libs  := -lbpf -lseccomp -lcap -ljansson -lsystemd -lcrypto -lz -lpcre2-8 -lm

vitrine-export_main  := exporters/export_main.c
vitrine-export_needs := exporters sinks project metrics redact record
vitrine-export_libs  := -lcurl -ljansson -lcrypto -lz -lzstd -lsystemd -pthread

vitrine-metrics_main  := supervisor/metrics/metrics_main.c
vitrine-metrics_needs := metrics redact record
vitrine-metrics_libs  := -lmicrohttpd -lseccomp -lcap -ljansson -lcrypto -lz -pthread

# Static and small: it is forked from for each session, and its child runs inside it.
vitrine-launcher_main   := supervisor/sandbox/launcher_main.c
vitrine-launcher_needs  := sandbox
vitrine-launcher_static := -static

# What is executed for each session is there at once: few pages, and a libc that does little before main. That of glibc asks
# the processor 43 times what it can do, and in a virtual machine each answer takes microseconds. Where there is no musl it is
# glibc's all the same. It is compiled for itself, of the sources that it needs.
SMALL_PROGRAMS := $(if $(SAN),,vitrine)
MUSL_CC := $(shell command -v musl-gcc)

vitrine_small := $(vitrine_main) supervisor/metrics/listen.c supervisor/sandbox/syscall_policy.c
vitrine_small += $(addprefix supervisor/,attended.c cmd_exec.c cmd_run.c cmd_start.c companion.c connection.c control.c fault.c grant_settings.c)
vitrine_small += $(addprefix supervisor/,limit_settings.c place.c policy.c reach.c run_request.c secret_setting.c setting_types.c settings.c)
vitrine_small += $(addprefix supervisor/,settings_place.c terminal.c)
vitrine_small += $(addprefix supervisor/record/,base64.c command.c crash.c hash.c install.c json.c json_text.c manifest.c manual.c printable.c)
vitrine_small += $(addprefix supervisor/record/,store.c text_stream.c)
vitrine_small += $(if $(MUSL_CC),supervisor/musl/fortified.c)
vitrine_small_libs := $(shell $(CC) -print-file-name=libjansson.a)

# The linker resolves extern maps only against an object that came before.
BPF_SRC := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJ := $(patsubst bpf/%.bpf.c,$(B)/bpf/%.bpf.o,$(BPF_SRC))
SKEL    := $(B)/include/vitrine.skel.h

.PHONY: all crash deps deps-receivers demo check check-style check-unit check-corpus check-e2e check-kernels deps-kernels lint soak bench bench-launch bench-redact bench-search bench-export fuzz install clean
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BIN)

define program
$(B)/bin/$(1): $(call objects,$($(1)_main)) $(foreach l,$($(1)_needs),$(call archive,$(l)))
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$(Q)$(CC) $(if $($(1)_static),$(filter-out $(SANFLAGS),$(LDFLAGS)) $($(1)_static),$(LDFLAGS) -pie) -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $($(1)_libs)
endef
$(foreach p,$(filter-out $(SMALL_PROGRAMS),$(PROGRAMS)),$(eval $(call program,$(p))))

define small_program
$(B)/bin/$(1): $(patsubst %.c,$(B)/small/%.o,$($(1)_small))
	$$(call say,LINK,$$@)
	@mkdir -p $$(@D)
	$(Q)$(or $(MUSL_CC),$(CC)) -static -no-pie -Wl,--gc-sections -Wl,-z,noseparate-code -o $$@ $$^ $($(1)_small_libs)
endef
$(foreach p,$(SMALL_PROGRAMS),$(eval $(call small_program,$(p))))

# Headers of the kernel, and of the few libraries, are not musl's; what musl has itself it finds first.
FOREIGN := -idirafter /usr/include/$(shell $(CC) -dumpmachine) -idirafter /usr/include
$(B)/small/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(or $(MUSL_CC),$(CC)) $(filter-out -fPIE $(SANFLAGS),$(ALLFLAGS)) -fno-pie $(CPPFLAGS) $(FOREIGN) -MMD -MP -c -o $@ $<

# The launcher's processes become the session, where no sanitizer runtime fits: its objects are plain.
define library
$(call archive,$(1)): $(call objects,$($(1)_src))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach l,$(LIBS),$(eval $(call library,$(l))))

INSIDE := $(call objects,$(sandbox_src) $(vitrine-launcher_main))
$(INSIDE): SANFLAGS :=

$(B)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALLFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# Only what loads BPF needs the skeleton.
$(call objects,supervisor/capture/sensors.c supervisor/capture/missed_runs.c tests/unit/missed_runs.c): $(SKEL)

# The page of a report is part of the program.
$(call objects,replay/html.c): $(addprefix dashboards/web/,report.css query.js terminal.js report.js)

# ---- BPF ------------------------------------------------------------------------------------------------------------

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -Wno-missing-declarations -D__TARGET_ARCH_x86 \
		-I. -I/usr/include/$(shell $(CC) -dumpmachine) -ffile-prefix-map=$(CURDIR)=. -MMD -MP -c -o $@ $<

$(B)/bpf/vitrine.o: $(BPF_OBJ)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(B)/bpf/vitrine.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name vitrine > $@

# ---- what a fresh Debian 12 lacks ---------------------------------------------------------------------------------

DEPS := gcc make clang bpftool pkg-config libc6-dev
DEPS += libbpf-dev libelf-dev zlib1g-dev libjansson-dev libssl-dev libsystemd-dev
DEPS += libseccomp-dev libcap-dev
# The libc of what is executed for each session.
DEPS += musl-tools
DEPS += libpcre2-dev
DEPS += libcurl4-openssl-dev libzstd-dev
DEPS += libmicrohttpd-dev
# The full-screen replay, and its picture of terminals.
DEPS += libncurses-dev libvterm-dev
# The index of searches.
DEPS += libsqlite3-dev
# What the tests run or are linked with.
DEPS += libcmocka-dev perl git python3 curl strace procps iproute2
DEPS += zstd openssl e2fsprogs tmux
DEPS += python3-prometheus-client python3-yaml
# Receivers that the tests send to: unpacked, not installed.
RECEIVERS := rsyslog syslog-ng-core clickhouse-server prometheus
RECEIVERS_BENCH := rsyslog rsyslog-elasticsearch
DEPS_LINT := clang-format clang-tidy cppcheck shellcheck
DEPS_FUZZ := libclang-rt-14-dev
DEPS_BENCH := bubblewrap auditd jq crun runc
DEPS_BENCH_REDACT := g++ libre2-dev
DEPS_KERNELS := qemu-system-x86 busybox-static erofs-utils cpio kmod xz-utils zstd lz4

install_packages = @missing=$$(for p in $(1); do dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || echo $$p; done); \
	if [ -n "$$missing" ]; then \
		echo "installing:" $$missing; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

deps:
	$(call install_packages,$(DEPS))

# The programs are built by a make of its own, so that it looks for tools after they were installed.
demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo/demo.sh $(CURDIR)/$(B)/bin

# ---- install --------------------------------------------------------------------------------------------------------

BINDIR  := $(DESTDIR)$(PREFIX)/bin
SBINDIR := $(DESTDIR)$(PREFIX)/sbin
LIBEXEC := $(DESTDIR)$(PREFIX)/libexec/vitrine
SHAREDIR := $(DESTDIR)$(PREFIX)/share/vitrine
MANDIR  := $(DESTDIR)$(PREFIX)/share/man
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
SYSUSERSDIR := $(DESTDIR)$(PREFIX)/lib/sysusers.d

include man/man.mk

COMPLDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions

install: all man
	install -d $(COMPLDIR) $(BINDIR) $(SBINDIR) $(LIBEXEC) $(MANDIR)/man1 $(MANDIR)/man8 $(UNITDIR) $(SYSUSERSDIR) $(SHAREDIR)/grafana $(SHAREDIR)/prometheus
	install -m 755 $(B)/bin/vitrine $(BINDIR)/vitrine
	install -m 755 $(B)/bin/vitrined $(SBINDIR)/vitrined
	install -m 755 $(B)/bin/vitrine-export $(SBINDIR)/vitrine-export
	install -m 755 $(addprefix $(B)/bin/,vitrine-commands vitrine-recorder vitrine-names vitrine-final vitrine-launcher vitrine-metrics) $(LIBEXEC)
	install -m 644 $(filter %.1,$(MAN)) $(MANDIR)/man1
	install -m 644 $(filter %.8,$(MAN)) $(MANDIR)/man8
	install -m 644 $(B)/man/vitrine.bash $(COMPLDIR)/vitrine
	install -m 644 $(wildcard dashboards/grafana/*.json) $(SHAREDIR)/grafana
	install -m 644 dashboards/prometheus/alerts.yml $(SHAREDIR)/prometheus
	install -m 644 supervisor/vitrine.sysusers $(SYSUSERSDIR)/vitrine.conf
	sed 's|@sbindir@|$(PREFIX)/sbin|' supervisor/vitrined.service.in > $(UNITDIR)/vitrined.service
	install -m 644 exporters/vitrine-export.sysusers $(SYSUSERSDIR)/vitrine-export.conf
	sed 's|@sbindir@|$(PREFIX)/sbin|' exporters/vitrine-export.service.in > $(UNITDIR)/vitrine-export.service

# ---- tests ----------------------------------------------------------------------------------------------------------

include tests/tests.mk

clean:
	rm -rf build

-include $(shell test -d $(B) && find $(B) -path '*/kernels' -prune -o -type f -name '*.d' -print)
