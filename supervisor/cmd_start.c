/* vitrine start: a session that waits for its commands, and does not end with who asked for it. */
#include "attended.h"
#include "control.h"
#include "record/cleanup.h"
#include "record/jansson_cleanup.h"
#include "run_options.h"
#include "verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int send_request(int socket, json_t *message)
{
	const char *path = json_string_value(json_object_get(message, "workspace"));
	cleanup(close_fd) int workspace = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (path && workspace < 0)
		return -errno;
	return control_send(socket, message, &workspace, workspace < 0 ? 0 : 1);
}

/* Prints the session's id, or why there is none; the exit status. */
static int take_answer(const struct attended *a)
{
	struct control_message m = {0};
	int r = control_receive(a->connection.socket, &m);

	if (r < 0) {
		attended_complain(a, "vitrined ended");
		return VERDICT_STATUS_FAILED;
	}
	const char *id = json_string_value(json_object_get(m.body, "session"));
	const json_t *error = json_object_get(m.body, "error");
	const char *text = json_string_value(json_object_get(error, "message"));
	const char *code = json_string_value(json_object_get(error, "code"));
	int status = code && !strcmp(code, "capacity") ? ATTENDED_STATUS_CAPACITY
						       : VERDICT_STATUS_FAILED;

	if (json_is_true(json_object_get(m.body, "ok")) && id) {
		printf("%s\n", id);
		status = fflush(stdout) ? VERDICT_STATUS_FAILED : 0;
	} else {
		attended_complain(a, text ? text : "vitrined does not say why");
	}
	control_message_free(&m);
	return status;
}

static int start_run(const void *values, int argument_count, char **arguments)
{
	const struct run_options *o = values;
	struct attended a = {.called = "vitrine start", .connection = CONNECTION_NONE};
	cleanup(json) json_t *message = NULL;
	struct fault f = {0};
	int status = VERDICT_STATUS_FAILED;

	signal(SIGPIPE, SIG_IGN);
	attended_open_streams();
	int r = run_request_make(o, argument_count, arguments, false, &message, &f);
	if (r == 0)
		r = run_connect(o, message, true, &a.connection, &f);
	if (r == 0) {
		r = send_request(a.connection.socket, message);
		if (r < 0 && r != -EPIPE)
			fault_say(&f, "send", "the request cannot be sent: %s", strerror(-r));
		else
			r = 0;
	}
	if (r < 0)
		attended_complain(&a, f.text);
	else
		status = take_answer(&a);
	connection_leave(&a.connection);
	return status;
}

static const struct run_options start_defaults = RUN_DEFAULTS;

/* clang-format off */
const struct command command_start = {
	.name = "start",
	.summary = "start a session that waits for commands, and print its id",
	.usage_status = VERDICT_STATUS_FAILED,
	.options = (const struct command_option[]){
		SESSION_OPTIONS,
		PLACE_OPTIONS,
		GIVEN_OPTIONS,
		{0},
	},
	.values_size = sizeof(struct run_options),
	.defaults = &start_defaults,
	.description =
		"vitrine start makes a session as vitrine run does, without a command, and prints its id. Commands are given to it with vitrine "
		"exec: one after another, or beside each other. It does not end with who started it, but with vitrine kill, at its limit wall, "
		"or with vitrined; set that limit (--limit wall=1h) where nobody may be left to end it.\n\n"
		"Options are those of vitrine run. Limits are of all its commands together, --env and secrets are given to each of them, --user is whose they are unless "
		"vitrine exec says otherwise.\n\n"
		"Where no vitrined listens and the user is root, a private one serves the session and ends with it.",
	.sections = (const struct command_section[]){
		{"EXIT STATUS", "0 when the session stands; 75 when vitrined has as many sessions as it takes, of you or in all; 125 otherwise."},
		{"EXAMPLES",
		 "  id=$(vitrine start --name build --workspace . --limit wall=1h)\n"
		 "  vitrine exec $id -- make\n"
		 "  vitrine exec $id -- make test\n"
		 "  vitrine kill $id"},
		{0},
	},
	.run = start_run,
};
/* clang-format on */
