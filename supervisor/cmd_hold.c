/*
 * vitrine hold: records that may not be removed, by whom and why.
 */
#include "clerk.h"
#include "record/cleanup.h"
#include "record/command.h"
#include "record/jansson_cleanup.h"
#include "record/printable.h"
#include "record/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define CALLED "vitrine hold"
#define STATUS_FAILED 1

struct hold_options {
	const char *state, *why;
	bool json, all;
};

static int fail(const char *what, const char *why)
{
	const struct printable printable = printable_for(stderr, 200);

	fputs(CALLED ": ", stderr);
	printable_word(stderr, &printable, bytes_of(what));
	fprintf(stderr, ": %s\n", why);
	return STATUS_FAILED;
}

/* ---- ls ---- */

/* The last act of hold or release about the session is this one. */
static bool is_last(const struct acts *acts, size_t number)
{
	const struct act *act = acts_get(acts, number);

	for (size_t i = number + 1; i < acts_count(acts); i++) {
		const struct act *later = acts_get(acts, i);

		if ((later->kind == LEDGER_HOLD || later->kind == LEDGER_RELEASE) &&
		    !strcmp(later->session, act->session))
			return false;
	}
	return true;
}

static const char *text_of(const json_t *event, const char *name)
{
	const char *text = json_string_value(json_object_get(event, name));

	return text ? text : "";
}

static void write_act(const struct hold_options *o, const struct act *act)
{
	cleanup(json) json_t *event = json_loadb(act->text.data, act->text.size, 0, NULL);
	const json_t *user = json_object_get(event, "user");
	const struct printable printable = printable_for(stdout, 0);

	if (o->json) {
		printf("%.*s\n", (int)act->text.size, (const char *)act->text.data);
		return;
	}
	printf("%-8s %s  ", act->kind == LEDGER_HOLD ? "held" : "released", act->session);
	clerk_write_time(stdout, act->time_ns);
	printf("  uid %" PRId64 " ", (int64_t)json_integer_value(json_object_get(user, "uid")));
	printable_text(stdout, &printable, bytes_of(text_of(user, "name")));
	fputs("  ", stdout);
	printable_text(stdout, &printable, bytes_of(text_of(event, "why")));
	putchar('\n');
}

static int hold_ls(const struct hold_options *o, struct clerk *clerk)
{
	const struct acts *acts = clerk_acts(clerk);

	for (size_t i = 0; i < acts_count(acts); i++) {
		const struct act *act = acts_get(acts, i);
		bool is_hold = act->kind == LEDGER_HOLD;

		if ((is_hold || (o->all && act->kind == LEDGER_RELEASE)) &&
		    (o->all || is_last(acts, i)))
			write_act(o, act);
	}
	return 0;
}

/* ---- add, rm ---- */

static int change(const struct hold_options *o, struct clerk *clerk, int state_fd, bool add,
		  const char *what)
{
	const struct clerk_client client = {getuid(), "user", o->why};
	cleanup(close_fd) int dir_fd = -1;
	struct manifest m;
	char id[SESSION_ID_LENGTH + 1];
	struct event e;
	int r = store_find(state_fd, what, &m, &dir_fd);

	if (r < 0)
		return fail(what, r == -ENOENT ? "there is no such record"
				  : r == -ENOTUNIQ
					  ? "more than one is called that; give more of its id"
					  : strerror(-r));
	memcpy(id, m.id, sizeof(id));
	manifest_free(&m);
	if (acts_is_held(clerk_acts(clerk), id) == add)
		return fail(what, add ? "it is held already" : "it is not held");
	event_init(&e, EVENT_record_hold, 0, 0);
	event_put_text(&e, FIELD_state, add ? "held" : "released");
	r = clerk_note(clerk, add ? LEDGER_HOLD : LEDGER_RELEASE, id, &e, &client, true);
	return r < 0 ? fail(what, strerror(-r)) : 0;
}

static int serve(const struct hold_options *o, const char *act, char **sessions, int count)
{
	bool add = !strcmp(act, "add");
	struct clerk *clerk = NULL;
	struct fault f = {0};
	int status = 0;

	cleanup(close_fd) int state_fd = open(o->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state_fd < 0)
		return fail(o->state, strerror(errno));
	if (clerk_open(o->state, ACTS_READ, &clerk, &f) < 0)
		return fail(o->state, f.text);
	if (!strcmp(act, "ls"))
		status = hold_ls(o, clerk);
	for (int i = 0; i < count; i++) {
		int one = change(o, clerk, state_fd, add, sessions[i]);

		status = one ? one : status;
	}
	clerk_close(clerk);
	return status;
}

static int hold_run(const void *values, int argument_count, char **arguments)
{
	const struct hold_options *o = values;
	const char *act = arguments[0];
	bool lists = !strcmp(act, "ls");

	if (!lists && strcmp(act, "add") != 0 && strcmp(act, "rm") != 0) {
		fprintf(stderr, CALLED ": allowed: add SESSION..., rm SESSION..., ls\n");
		return COMMAND_STATUS_USAGE;
	}
	if (lists != (argument_count == 1)) {
		fprintf(stderr, CALLED ": %s takes %s\n", act, lists ? "no session" : "a session");
		return COMMAND_STATUS_USAGE;
	}
	if (!lists && !(o->why && *o->why)) {
		fprintf(stderr, CALLED ": %s needs --why TEXT: it is kept with the act\n", act);
		return COMMAND_STATUS_USAGE;
	}
	if (geteuid() != 0)
		return fail("not root", "only root may hold, release and list");
	return serve(o, act, arguments + 1, argument_count - 1);
}

/* clang-format off */
#define OFFSET(member) offsetof(struct hold_options, member)

const struct command command_hold = {
	.name = "hold",
	.summary = "keep records from being removed, and say why",
	.positional = "add SESSION... | rm SESSION... | ls",
	.positional_min = 1,
	.positional_max = -1,
	.options = (const struct command_option[]){
		{"why", 0, "TEXT", "the reason; add and rm need one", OPTION_TEXT, OFFSET(why)},
		{"all", 'a', NULL, "ls: also what was released again", OPTION_FLAG, OFFSET(all)},
		{"json", 'j', NULL, "ls: the acts themselves, one JSON object a line", OPTION_FLAG, OFFSET(json)},
		{"state", 0, "DIR", "state directory (" STORE_DEFAULT_STATE ")", OPTION_TEXT, OFFSET(state)},
		{0},
	},
	.values_size = sizeof(struct hold_options),
	.defaults = &(const struct hold_options){.state = STORE_DEFAULT_STATE},
	.description =
		"A record that is held is not removed by 'vitrine retention' or vitrined, whatever its age and the room that there is. "
		"add and rm write an act to <state>/acts that the ledger of the host signs: who, when and why; ls prints what is held "
		"now. If the act of a hold is gone or was changed, nothing is removed at all.\n\n"
		"SESSION is an id, a unique beginning of one (4 digits or more), a name (the newest of that name, unless two are alive) or 'last'.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0, 1 when it could not be done, 2 for a bad command line."},
		{"EXAMPLES", "  vitrine hold add 3f9c2d1e8b7a --why 'incident 4711, legal'"},
		{0},
	},
	.run = hold_run,
};
/* clang-format on */
