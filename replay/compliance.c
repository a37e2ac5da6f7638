/*
 * The measures: each says what was counted, and no more. What is not there is no proof of anything:
 * it is "no data", not "demonstrated".
 */
#include "compliance.h"

#include <inttypes.h>
#include <string.h>

#define DAY_NS UINT64_C(86400000000000)

const char *const finding_names[] = {
	[FINDING_DEMONSTRATED] = "demonstrated",
	[FINDING_NO_DATA] = "no data",
	[FINDING_OUTSIDE] = "outside",
	[FINDING_CONTRADICTED] = "contradicted",
};

#define SAY(...) snprintf(text, MEASURE_TEXT, __VA_ARGS__)

static enum finding no_sessions(char *text)
{
	SAY("no session was recorded");
	return FINDING_NO_DATA;
}

enum finding measure_active(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->sessions)
		return no_sessions(text);
	SAY("%" PRIu64 " sessions, %" PRIu64 " records of their start, %" PRIu64
	    " of their end, %" PRIu64 " of a pause; %" PRIu64 " cannot be read",
	    f->sessions, f->kinds[EVENT_session_start], f->kinds[EVENT_session_end],
	    f->kinds[EVENT_session_pause], f->unreadable);
	return f->unreadable ? FINDING_CONTRADICTED : FINDING_DEMONSTRATED;
}

enum finding measure_content(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->records)
		return no_sessions(text);
	SAY("%" PRIu64 " records, each with its kind, time, number and session; acts of processes "
	    "with process, user and result",
	    f->records);
	return FINDING_DEMONSTRATED;
}

enum finding measure_identity(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t starts = f->kinds[EVENT_session_start];

	(void)c;
	if (!starts)
		return no_sessions(text);
	SAY("who asked for it is in %" PRIu64 " of %" PRIu64 " sessions, the policy's hash in "
	    "%" PRIu64,
	    f->with_user, starts, f->with_policy);
	return f->with_user == starts && f->with_policy == starts ? FINDING_DEMONSTRATED
								  : FINDING_CONTRADICTED;
}

static uint64_t of_class(const struct compliance_facts *f, enum event_class class)
{
	uint64_t count = 0;

	for (size_t i = 1; i < EVENT_KIND_COUNT; i++)
		count += kind_table[i].class == class ? f->kinds[i] : 0;
	return count;
}

enum finding measure_kinds(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->records)
		return no_sessions(text);
	SAY("recorded: %" PRIu64 " acts of processes, %" PRIu64 " of files, %" PRIu64
	    " of the network, %" PRIu64 " of names, %" PRIu64 " of policy, %" PRIu64 " of output",
	    of_class(f, EVENT_CLASS_process), of_class(f, EVENT_CLASS_file),
	    of_class(f, EVENT_CLASS_net), of_class(f, EVENT_CLASS_dns),
	    of_class(f, EVENT_CLASS_policy), of_class(f, EVENT_CLASS_output));
	return FINDING_DEMONSTRATED;
}

enum finding measure_files(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t files = of_class(f, EVENT_CLASS_file);

	(void)c;
	SAY("%" PRIu64 " acts of files: %" PRIu64 " made, %" PRIu64 " removed, %" PRIu64
	    " changed, %" PRIu64 " watched reads",
	    files, f->kinds[EVENT_file_create], f->kinds[EVENT_file_delete],
	    f->kinds[EVENT_file_modify], f->kinds[EVENT_file_read]);
	return files ? FINDING_DEMONSTRATED : FINDING_NO_DATA;
}

enum finding measure_attempts(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t refused = f->kinds[EVENT_attempt] + f->kinds[EVENT_egress_verdict];

	(void)c;
	SAY("%" PRIu64 " refused acts, %" PRIu64 " verdicts on connections",
	    f->kinds[EVENT_attempt], f->kinds[EVENT_egress_verdict]);
	return refused ? FINDING_DEMONSTRATED : FINDING_NO_DATA;
}

enum finding measure_credentials(const struct compliance_facts *f, const struct clause *c,
				 char *text)
{
	(void)c;
	SAY("%" PRIu64 " programs started, %" PRIu64 " changes of a process's user or rights",
	    f->kinds[EVENT_process_exec], f->kinds[EVENT_process_cred]);
	return f->kinds[EVENT_process_exec] ? FINDING_DEMONSTRATED : FINDING_NO_DATA;
}

enum finding measure_output(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	SAY("%" PRIu64 " records of output, %" PRIu64 " of input", f->kinds[EVENT_output],
	    f->kinds[EVENT_input]);
	return f->kinds[EVENT_output] ? FINDING_DEMONSTRATED : FINDING_NO_DATA;
}

enum finding measure_loss(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->sessions)
		return no_sessions(text);
	SAY("%" PRIu64 " of %" PRIu64 " sessions stop before a record would be lost; %" PRIu64
	    " gaps declare %" PRIu64 " lost records; %" PRIu64
	    " sessions ended because the record could not be kept",
	    f->strict, f->kinds[EVENT_session_start], f->gaps, f->lost, f->journal_limits);
	return f->lost ? FINDING_CONTRADICTED : FINDING_DEMONSTRATED;
}

enum finding measure_coverage(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t starts = f->kinds[EVENT_session_start];

	(void)c;
	if (!starts)
		return no_sessions(text);
	SAY("which sensors watched is in %" PRIu64 " of %" PRIu64 " sessions; %" PRIu64
	    " changes of that while one ran",
	    f->with_sensors, starts, f->kinds[EVENT_coverage]);
	return f->with_sensors == starts ? FINDING_DEMONSTRATED : FINDING_CONTRADICTED;
}

enum finding measure_clock(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->records)
		return no_sessions(text);
	SAY("each record has wall clock and boot clock in ns; %" PRIu64
	    " steps of the wall clock are recorded, the largest of %" PRIu64 " ms",
	    f->steps, f->largest_step_ns / 1000000);
	return FINDING_DEMONSTRATED;
}

enum finding measure_integrity(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t checked = 0;

	(void)c;
	for (size_t i = 0; i < sizeof(f->verdicts) / sizeof(*f->verdicts); i++)
		checked += f->verdicts[i];
	if (!checked && !f->missing && f->ledger.verdict != VERIFY_TAMPERED)
		return no_sessions(text);
	SAY("verified: %" PRIu64 " intact, %" PRIu64 " incomplete as declared, %" PRIu64
	    " that cannot be told, %" PRIu64 " tampered with; %" PRIu64
	    " gone without an act; ledger: %s",
	    f->verdicts[VERIFY_INTACT], f->verdicts[VERIFY_INCOMPLETE], f->verdicts[VERIFY_UNKNOWN],
	    f->verdicts[VERIFY_TAMPERED], f->missing, verdict_names[f->ledger.verdict]);
	if (f->verdicts[VERIFY_TAMPERED] || f->missing || f->ledger.verdict == VERIFY_TAMPERED)
		return FINDING_CONTRADICTED;
	return f->verdicts[VERIFY_UNKNOWN] || f->ledger.verdict == VERIFY_UNKNOWN
		       ? FINDING_NO_DATA
		       : FINDING_DEMONSTRATED;
}

enum finding measure_rights(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	SAY("records: %s by others, %s by group or others; the signing key is %s",
	    f->others_read ? "readable" : "not readable",
	    f->others_write ? "writable" : "not writable",
	    f->key_is_private ? "root's alone" : "not there, or not root's alone");
	return f->others_read || f->others_write || !f->key_is_private ? FINDING_CONTRADICTED
								       : FINDING_DEMONSTRATED;
}

enum finding measure_access(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	SAY("%" PRIu64 " readings through vitrine while vitrined served, %" PRIu64
	    " bundles handed out: each signed, with who and when",
	    f->accesses, f->bundles);
	return f->accesses || f->bundles ? FINDING_DEMONSTRATED : FINDING_NO_DATA;
}

enum finding measure_retention(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t age = f->oldest_ns && f->now_ns > f->oldest_ns ? f->now_ns - f->oldest_ns : 0;
	uint64_t shortest = f->removals ? f->shortest_ns / DAY_NS : 0;
	int length;

	if (!f->sessions && !f->removals)
		return no_sessions(text);
	length = SAY("the oldest record that is kept began %" PRIu64 " days ago; %" PRIu64
		     " were removed, as recorded",
		     age / DAY_NS, f->removals);
	if (f->removals)
		length += snprintf(text + length, MEASURE_TEXT - (size_t)length,
				   ", one of them %" PRIu64 " days after its end", shortest);
	snprintf(text + length, MEASURE_TEXT - (size_t)length, "; %" PRIu64 " are held%s", f->held,
		 c->days && age / DAY_NS < c->days ? "; no record is old enough to show more" : "");
	if (c->days && f->removals && shortest < c->days)
		return FINDING_CONTRADICTED;
	return c->days && age / DAY_NS < c->days ? FINDING_NO_DATA : FINDING_DEMONSTRATED;
}

enum finding measure_redaction(const struct compliance_facts *f, const struct clause *c, char *text)
{
	uint64_t starts = f->kinds[EVENT_session_start];

	(void)c;
	if (!starts)
		return no_sessions(text);
	SAY("the hash of the rules of redaction is in %" PRIu64 " of %" PRIu64 " sessions; %" PRIu64
	    " secrets were cut out before a record was kept",
	    f->with_rules, starts, f->redacted);
	return f->with_rules == starts ? FINDING_DEMONSTRATED : FINDING_CONTRADICTED;
}

enum finding measure_space(const struct compliance_facts *f, const struct clause *c, char *text)
{
	(void)c;
	if (!f->sessions)
		return no_sessions(text);
	SAY("%" PRIu64 " sessions ended because there was no room for their record",
	    f->journal_limits);
	return f->journal_limits ? FINDING_CONTRADICTED : FINDING_DEMONSTRATED;
}

enum finding clause_judge(const struct clause *c, const struct compliance_facts *f)
{
	enum finding worst = FINDING_DEMONSTRATED;
	char text[MEASURE_TEXT];

	if (!c->measures[0])
		return FINDING_OUTSIDE;
	for (size_t i = 0; i < CLAUSE_MEASURES && c->measures[i]; i++) {
		enum finding one = c->measures[i](f, c, text);

		if (one > worst)
			worst = one;
	}
	return worst;
}

const struct standard *standard_find(const char *name)
{
	for (const struct standard *s = standards; s->name; s++) {
		if (!strcmp(s->name, name))
			return s;
	}
	return NULL;
}
