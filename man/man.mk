# Manual pages and completion, derived from the tables of commands by the programs themselves; included by the Makefile.

MAN := $(addprefix $(B)/man/,vitrine.1 vitrine-run.1 vitrine-start.1 vitrine-exec.1 vitrine-kill.1 vitrine-ps.1 vitrine-show.1 vitrine-replay.1 vitrine-redact.1 vitrine-tree.1 vitrine-files.1 \
       vitrine-hosts.1 vitrine-lineage.1 vitrine-diff.1 vitrine-stats.1 vitrine-report.1 vitrine-search.1 vitrine-note.1 \
       vitrine-export.1 vitrine-schema.1 vitrine-seccomp.1 vitrine-template.1 vitrine-doctor.1 vitrine-verify.1 \
       vitrine-keys.1 vitrine-prove.1 vitrine-bundle.1 vitrine-import.1 vitrine-hold.1 vitrine-retention.1 vitrine-compliance.1 vitrined.8 vitrine-export.8 vitrine-metrics.8)

.PHONY: man
man: $(MAN) $(B)/man/vitrine.bash

$(B)/man/vitrine-%.1: $(B)/bin/vitrine
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$< help --man $* > $@

$(B)/man/vitrine.1: $(B)/bin/vitrine
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$< help --man > $@

$(B)/man/vitrined.8: $(B)/bin/vitrined
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$< --man > $@

$(B)/man/vitrine-export.8: $(B)/bin/vitrine-export
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$< --man > $@

$(B)/man/vitrine-metrics.8: $(B)/bin/vitrine-metrics
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$< --man > $@

$(B)/man/vitrine.bash: $(B)/bin/vitrine
	$(call say,COMPL,$@)
	@mkdir -p $(@D)
	$(Q)$< help --completion > $@
