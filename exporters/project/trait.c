/*
 * The table of traits, and what a record's values change about them.
 */
#include "trait.h"

#include <string.h>

const char *const severity_names[] = {"info", "low", "medium", "high", NULL};

/* clang-format off */
const struct trait trait_table[EVENT_KIND_COUNT] = {
	[EVENT_session_start] = {"Session started", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_session_ready] = {"Session ready", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_session_pause] = {"Session frozen", SEVERITY_LOW, OUTCOME_UNKNOWN},
	[EVENT_session_resume] = {"Session runs on", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_session_end] = {"Session ended", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_exec_start] = {"Command given", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_exec_end] = {"Command ended", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_process_fork] = {"Process made", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_process_exec] = {"Program run", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_process_exec_failed] = {"Program could not be run", SEVERITY_LOW, OUTCOME_FAILURE},
	[EVENT_process_exit] = {"Process ended", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_process_cred] = {"Credentials changed", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_process_cgroup] = {"Process moved to another cgroup", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_file_read] = {"Watched file opened for reading", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_file_open] = {"File opened for writing", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_modify] = {"File written", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_create] = {"File made", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_delete] = {"File removed", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_rename] = {"File renamed", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_link] = {"Second name given to a file", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_symlink] = {"Symbolic link made", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_mkdir] = {"Directory made", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_rmdir] = {"Directory removed", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_attr] = {"Attribute of a file changed", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_file_truncate] = {"Size of a file set", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_mmap] = {"File mapped shared and writable", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_net_connect] = {"Connection asked for", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_net_accept] = {"Connection accepted", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_net_bind] = {"Local address taken", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_net_listen] = {"Socket listens", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_net_send] = {"Datagram sent", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_net_close] = {"Socket closed", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_net_unix] = {"Unix socket used", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_dns_query] = {"Name asked for", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_dns_answer] = {"Name answered", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_tls_hello] = {"TLS server named", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_egress_verdict] = {"Way out decided", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_package_install] = {"Package fetched", SEVERITY_LOW, OUTCOME_UNKNOWN},
	[EVENT_attempt] = {"Act refused", SEVERITY_MEDIUM, OUTCOME_FAILURE},
	[EVENT_limit] = {"Limit hit", SEVERITY_MEDIUM, OUTCOME_FAILURE},
	[EVENT_output] = {"Output written", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_input] = {"Input given", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_record_access] = {"Record read", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_record_retention] = {"Part of the record deleted", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_record_hold] = {"Record held or released", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_redact_summary] = {"Redactions counted", SEVERITY_INFO, OUTCOME_UNKNOWN},
	[EVENT_gap] = {"Records missing", SEVERITY_HIGH, OUTCOME_FAILURE},
	[EVENT_coverage] = {"Sensor lost or gained", SEVERITY_MEDIUM, OUTCOME_UNKNOWN},
	[EVENT_clock] = {"Wall clock stepped", SEVERITY_LOW, OUTCOME_UNKNOWN},
	[EVENT_checkpoint] = {"Record signed", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_secret_give] = {"Secret given", SEVERITY_LOW, OUTCOME_SUCCESS},
	[EVENT_secret_expire] = {"Secret expired", SEVERITY_INFO, OUTCOME_SUCCESS},
	[EVENT_file_final] = {"File changed by the session", SEVERITY_INFO, OUTCOME_SUCCESS},
};
/* clang-format on */

bool event_says(const struct event *e, enum event_field field, const char *word)
{
	struct bytes text = event_bytes(e, field);
	size_t length = strlen(word);

	return text.size == length && !memcmp(text.data, word, length);
}

enum severity trait_severity(const struct event *e)
{
	if (e->kind == EVENT_egress_verdict && event_says(e, FIELD_verdict, "deny"))
		return SEVERITY_MEDIUM;
	if ((e->kind == EVENT_session_end || e->kind == EVENT_exec_end) &&
	    (event_says(e, FIELD_reason, "limit") || event_says(e, FIELD_reason, "oom") ||
	     event_says(e, FIELD_reason, "supervisor_lost")))
		return SEVERITY_MEDIUM;
	return trait_table[e->kind].severity;
}

enum outcome trait_outcome(const struct event *e)
{
	const struct event_value *result = event_get(e, FIELD_result);
	const struct event_value *code = event_get(e, FIELD_exit_code);

	if (result)
		return result->i64 < 0 ? OUTCOME_FAILURE : OUTCOME_SUCCESS;
	if (e->kind == EVENT_egress_verdict && event_get(e, FIELD_verdict))
		return event_says(e, FIELD_verdict, "allow") ? OUTCOME_SUCCESS : OUTCOME_FAILURE;
	if (event_get(e, FIELD_signal))
		return OUTCOME_FAILURE;
	if (code)
		return code->u64 ? OUTCOME_FAILURE : OUTCOME_SUCCESS;
	return trait_table[e->kind].outcome;
}
