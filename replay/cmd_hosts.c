/*
 * vitrine hosts: whom a session spoke with.
 */
#include "commands.h"
#include "contacts_text.h"
#include "question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct hosts_view {
	struct answer answer;
	struct contacts *contacts;
};

static void hosts_free(void *state)
{
	struct hosts_view *v = state;

	answer_free(&v->answer);
	contacts_free(v->contacts);
	free(v);
}

static int hosts_begin(const struct view_options *options, void **ret_state)
{
	struct hosts_view *v = calloc(1, sizeof(*v));
	int r = v ? answer_begin(&v->answer, options) : -ENOMEM;

	if (!v)
		return r;
	v->contacts = contacts_new();
	if (r < 0 || !v->contacts) {
		hosts_free(v);
		return -ENOMEM;
	}
	*ret_state = v;
	return 0;
}

static int hosts_event(void *state, const struct event *e, const struct origin *origin, bool wanted)
{
	struct hosts_view *v = state;
	int r = answer_add(&v->answer, e);

	(void)origin;
	return r < 0 || !wanted ? r : contacts_add(v->contacts, v->answer.actors, e);
}

static void hosts_damage(void *state, const struct reader_damage *damage)
{
	struct hosts_view *v = state;

	(void)damage;
	v->answer.damages++;
}

/* Out first, then in, bound and unix; within each in the order in which they came. */
static void write_text(const struct hosts_view *v)
{
	const struct pen *pen = &v->answer.pen;
	size_t count = contacts_count(v->contacts), names = contacts_name_count(v->contacts);

	for (enum way way = WAY_OUT; way <= WAY_UNIX; way++) {
		for (size_t i = 0; i < count; i++) {
			struct contact contact = contacts_get(v->contacts, i);

			if (contact.way != way)
				continue;
			contact_write(v->contacts, &contact, v->answer.actors, pen);
			fputc('\n', pen->out);
		}
	}
	for (size_t i = 0; i < names; i++) {
		struct contact_name name = contacts_name(v->contacts, i);

		contact_name_write(&name, v->answer.actors, pen);
		fputc('\n', pen->out);
	}
	if (!count && !names)
		fputs("nobody\n", pen->out);
	pen_style(pen, STYLE_LOUD);
	if (contacts_left_out(v->contacts))
		fprintf(pen->out, "!! %" PRIu64 " records of more peers than are told apart (%d)\n",
			contacts_left_out(v->contacts), CONTACTS_MAX);
	pen_style(pen, STYLE_PLAIN);
	answer_warn(&v->answer, EVENT_CLASS_net);
	if (v->answer.missing[EVENT_CLASS_dns])
		answer_warn(&v->answer, EVENT_CLASS_dns);
}

static int write_json(const struct hosts_view *v, enum view_end how)
{
	FILE *out = v->answer.pen.out;
	struct document d = {0};

	answer_open_json(&v->answer, &d, how, EVENT_CLASS_net);
	document_u64(&d, "missing_dns_records", v->answer.missing[EVENT_CLASS_dns]);
	document_u64(&d, "records_without_room", contacts_left_out(v->contacts));
	document_open(&d, "hosts", '[');
	for (size_t i = 0; i < contacts_count(v->contacts); i++) {
		struct contact contact = contacts_get(v->contacts, i);

		contact_write_json(v->contacts, &contact, v->answer.actors, &d);
		document_flush(&d, out);
	}
	document_close(&d, '[');
	document_open(&d, "names", '[');
	for (size_t i = 0; i < contacts_name_count(v->contacts); i++) {
		struct contact_name name = contacts_name(v->contacts, i);

		contact_name_write_json(&name, v->answer.actors, &d);
		document_flush(&d, out);
	}
	document_close(&d, '[');
	document_close(&d, '{');
	return document_finish(&d, out);
}

static int hosts_end(void *state, enum view_end how)
{
	const struct hosts_view *v = state;

	if (v->answer.asked->options->json)
		return write_json(v, how);
	write_text(v);
	return 0;
}

const struct view view_hosts = {
	.begin = hosts_begin,
	.event = hosts_event,
	.damage = hosts_damage,
	.end = hosts_end,
	.free = hosts_free,
};

static int hosts_run(const void *values, int argument_count, char **arguments)
{
	struct question asked = {.options = values};

	(void)argument_count;
	return question_run("vitrine hosts", &view_hosts, &asked, arguments[0]);
}

/* clang-format off */
const struct command command_hosts = {
	.name = "hosts",
	.summary = "list whom a session spoke with",
	.positional = "SESSION",
	.positional_min = 1,
	.positional_max = 1,
	.options = (const struct command_option[]){
		QUESTION_OPTION_FILTER,
		QUESTION_OPTIONS,
	},
	.values_size = sizeof(struct question_options),
	.defaults = &(const struct question_options)QUESTION_DEFAULTS,
	.description =
		"Lists the peers of a session: out (it asked for them), in (they came to a socket of its own), bound "
		"(addresses that it took or listened on) and unix sockets. With each: protocol, address and port, the "
		"names that it went by, how often, with what errors and verdicts, bytes each way, and the processes, by "
		"pid and program. Below stand the names that were asked for, with their last answer.\n\n"
		"Bytes are those of sockets whose close is in the record; a session that still runs has sent more.\n\n"
		QUESTION_SESSION,
	.sections = (const struct command_section[]){
		QUESTION_STATUS,
		{"EXAMPLES",
		 "Whom did it speak HTTPS with?\n\n"
		 "  vitrine hosts last --filter 'port:443'"},
		{0},
	},
	.reads = COMMAND_READS_ONE,
	.run = hosts_run,
};
/* clang-format on */
