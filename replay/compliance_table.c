/*
 * The standards, in our own words: what each clause asks, which measures speak for it, and what no
 * record can show. To add one: a table of clauses, and a row in standards[].
 */
#include "compliance.h"

#define YEAR 365
#define SIX_MONTHS 184

/* clang-format off */

/* NIST SP 800-53, revision 5, family AU. */
static const struct clause nist_au[] = {
	{"AU-2", "Event logging", {measure_kinds},
	 .cannot = "that the kinds were chosen for the organisation's needs, and are reviewed"},
	{"AU-3", "Content of audit records", {measure_content, measure_identity}},
	{"AU-3(3)", "Limit personally identifiable information", {measure_redaction},
	 .cannot = "that what is kept of persons is needed: decide by the policy's output and watch_reads"},
	{"AU-4", "Audit log storage capacity", {measure_space},
	 .cannot = "that there is room for what comes: watch the file system"},
	{"AU-5", "Response to audit logging process failures", {measure_loss, measure_coverage},
	 .cannot = "that somebody is alerted: that is the receiver's part"},
	{"AU-6", "Audit record review, analysis and reporting", {measure_access},
	 .cannot = "that what was read was understood, and acted on"},
	{"AU-7", "Audit record reduction and report generation", {measure_integrity},
	 .cannot = "nothing more: reports are made from the record, which they do not change"},
	{"AU-8", "Time stamps", {measure_clock},
	 .cannot = "that the host's clock follows a common source: show the configuration of its time service"},
	{"AU-9", "Protection of audit information", {measure_integrity, measure_rights},
	 .cannot = "that root of the host is trusted: keep keys and checkpoints where it cannot reach"},
	{"AU-9(2)", "Store on separate physical systems", {0},
	 .cannot = "what reached another system: vitrine-export status, and the receiver"},
	{"AU-9(3)", "Cryptographic protection", {measure_integrity}},
	{"AU-10", "Non-repudiation", {measure_identity, measure_integrity},
	 .cannot = "who the person behind a user of the host was"},
	{"AU-11", "Audit record retention", {measure_retention},
	 .cannot = "the period that the organisation has set"},
	{"AU-12", "Audit record generation", {measure_active, measure_coverage, measure_loss}},
	{"AU-14", "Session audit", {measure_active, measure_output}},
	{NULL},
};

/* PCI DSS 4.0.1, requirement 10, and what of 3 concerns records. */
static const struct clause pci_dss[] = {
	{"3.5.1", "Account numbers are unreadable wherever they are stored", {measure_redaction},
	 .cannot = "that no number is left that has no name beside it: only such are looked for"},
	{"10.2.1", "Audit logs are enabled and active", {measure_active, measure_loss}},
	{"10.2.1.1", "Access of users to cardholder data", {measure_files},
	 .cannot = "which files hold cardholder data: name them in the policy's watch_reads"},
	{"10.2.1.2", "Acts with administrative access", {measure_credentials}},
	{"10.2.1.3", "Access to audit logs", {measure_access},
	 .cannot = "what root reads without vitrine"},
	{"10.2.1.4", "Invalid access attempts", {measure_attempts}},
	{"10.2.1.5", "Changes of accounts and credentials", {measure_credentials},
	 .cannot = "changes in directories and services outside of the session"},
	{"10.2.1.6", "Start, stop and pause of audit logs", {measure_active, measure_coverage}},
	{"10.2.1.7", "Creation and deletion of objects", {measure_files}},
	{"10.2.2", "What a record says", {measure_content, measure_identity}},
	{"10.3.1", "Read access for who needs it", {measure_rights},
	 .cannot = "that those who may read need to"},
	{"10.3.2", "Protected from modification", {measure_integrity, measure_rights}},
	{"10.3.3", "Backed up promptly to a central server", {0},
	 .cannot = "what reached another system: vitrine-export status, and the receiver"},
	{"10.3.4", "Change detection", {measure_integrity}},
	{"10.4.1", "Reviewed daily", {measure_access},
	 .cannot = "that it was every day, and a review"},
	{"10.5.1", "Kept for 12 months, three of them at hand", {measure_retention}, .days = YEAR},
	{"10.6.1", "Clocks are synchronised", {measure_clock},
	 .cannot = "the source: show the configuration of the host's time service"},
	{"10.7.2", "Failures of audit logging are detected", {measure_loss, measure_coverage},
	 .cannot = "that somebody answers to them"},
	{NULL},
};

/* Regulation (EU) 2024/1689. */
static const struct clause eu_ai_act[] = {
	{"12(1)", "Events are recorded automatically over the lifetime", {measure_active, measure_loss},
	 .cannot = "use of the system outside of vitrine"},
	{"12(2)", "Events that let risks, changes and operation be traced", {measure_kinds, measure_content, measure_identity},
	 .cannot = "which situations are a risk: the provider's assessment says; and which model ran: give it as a label"},
	{"12(3)", "Remote biometric identification", {0},
	 .cannot = "use, reference data and who verified the result: the system itself has to record them"},
	{"14", "Human oversight", {0}, .cannot = "that a person oversees the system, and can stop it"},
	{"15(5)", "Resilience against alteration by others", {measure_integrity, measure_rights},
	 .cannot = "the resilience of the model"},
	{"19(1)", "The provider keeps the logs for six months at least", {measure_retention}, .days = SIX_MONTHS},
	{"26(5)", "The deployer monitors the operation", {measure_access},
	 .cannot = "that risks were reported"},
	{"26(6)", "The deployer keeps the logs for six months at least", {measure_retention}, .days = SIX_MONTHS},
	{"73", "Serious incidents are reported", {measure_integrity},
	 .cannot = "the report itself: vitrine bundle makes its evidence"},
	{NULL},
};

const struct standard standards[] = {
	{"nist-au", "NIST SP 800-53 revision 5, audit and accountability", nist_au},
	{"pci-dss", "PCI DSS 4.0.1, logging", pci_dss},
	{"eu-ai-act", "Regulation (EU) 2024/1689, records", eu_ai_act},
	{NULL},
};
/* clang-format on */
