/*
 * vitrine-metrics: tells what vitrined, its recorder and vitrine-export count, so that none of
 * these has to listen to anybody. It is started by them with what it needs: descriptor 3 is their
 * tie to it, 4 listens, and from 5 on there are pages of cells, read-only.
 */
#include "cage.h"
#include "page.h"
#include "server.h"

#include "../record/cleanup.h"
#include "../record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define TIE_FD 3
#define LISTEN_FD 4
#define PAGES_FD 5
#define SWEEP_MS 1000

enum serves { SERVES_NOTHING, SERVES_DAEMON, SERVES_EXPORTER };

struct metrics_options {
	bool list;
	int serve;
	uint64_t uid, gid;
};

static int fail(const char *what, int r)
{
	fprintf(stderr, "vitrine-metrics: %s: %s\n", what, strerror(-r));
	return 1;
}

static int show_list(void)
{
	struct json_buffer text = {0};
	int r = metrics_list(&text);

	if (r == 0)
		fwrite(text.text, 1, text.length, stdout);
	json_buffer_free(&text);
	return r < 0 ? fail("the list", r) : fflush(stdout) != 0;
}

/* ---- serving ---- */

static int map(int number, size_t size, const void **ret_cells)
{
	struct metrics_page page = METRICS_PAGE_NONE;
	int r = metrics_page_map(PAGES_FD + number, size, false, &page);

	if (r == 0)
		*ret_cells = page.cells;
	close(PAGES_FD + number);
	return r;
}

static int open_source(int serves, struct metrics_source *source)
{
	int r;

	if (serves == SERVES_EXPORTER) {
		source->program = "vitrine-export";
		return map(0, sizeof(*source->exporter), (const void **)&source->exporter);
	}
	source->program = "vitrined";
	r = map(0, sizeof(*source->daemon), (const void **)&source->daemon);
	return r < 0 ? r : map(1, sizeof(*source->recorder), (const void **)&source->recorder);
}

static bool is_network(void)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	return getsockname(LISTEN_FD, (struct sockaddr *)&address, &size) < 0 ||
	       address.ss_family != AF_UNIX;
}

/* Until whoever started us is gone. */
static void serve_until_end(struct metrics_server *server)
{
	struct pollfd tie = {.fd = TIE_FD, .events = POLLIN};

	while (poll(&tie, 1, SWEEP_MS) == 0 || !tie.revents) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		metrics_server_sweep(server, (uint64_t)now.tv_sec);
	}
}

static int serve(const struct metrics_options *o)
{
	struct metrics_source source = {0};
	struct metrics_server *server = NULL;
	int r = open_source(o->serve, &source);

	if (r < 0)
		return fail("it is started by vitrined and vitrine-export; pages", r);
	r = cage_drop((uid_t)o->uid, (gid_t)o->gid);
	if (r < 0)
		return fail("cannot give up rights", r);
	const struct metrics_server_options options = {
		.source = &source, .listen_fd = LISTEN_FD, .is_network = is_network()};
	r = metrics_server_new(&options, &server);
	if (r < 0)
		return fail("cannot serve", r);
	r = cage_close();
	if (r == 0)
		serve_until_end(server);
	metrics_server_free(server);
	return r < 0 ? fail("cannot set up the filter of system calls", r) : 0;
}

static int parse_id(const char *text, void *ret_value)
{
	char *end;
	unsigned long long id = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || id >= UINT32_MAX)
		return -EINVAL;
	*(uint64_t *)ret_value = id;
	return 0;
}

static int run(const void *values, int argument_count, char **arguments)
{
	const struct metrics_options *o = values;

	(void)argument_count, (void)arguments;
	if (o->list)
		return show_list();
	if (o->serve != SERVES_NOTHING) {
		signal(SIGPIPE, SIG_IGN);
		signal(SIGTERM, SIG_IGN); /* it ends with who started it, and after him */
		signal(SIGINT, SIG_IGN);
		return serve(o);
	}
	fputs("vitrine-metrics: --list, or be started by vitrined or vitrine-export (see their "
	      "configuration, metrics)\n",
	      stderr);
	return COMMAND_STATUS_USAGE;
}

static const char *const serves_names[] = {"nothing", "daemon", "exporter", NULL};

/* clang-format off */
static const struct command vitrine_metrics = {
	.summary = "tell what vitrined, its recorder and vitrine-export count",
	.options = (const struct command_option[]){
		{"list", 0, NULL, "print the table of metrics, parted by tabs: name, type, unit, labels, help", OPTION_FLAG,
		 offsetof(struct metrics_options, list)},
		{"serve", 0, "WHAT", "serve what the descriptors from 3 on give", OPTION_CHOICE,
		 offsetof(struct metrics_options, serve), .choices = serves_names},
		{"uid", 0, "UID", "become this user first", OPTION_PARSED, offsetof(struct metrics_options, uid),
		 .parse = parse_id, .allowed = "a user id"},
		{"gid", 0, "GID", "and this group", OPTION_PARSED, offsetof(struct metrics_options, gid),
		 .parse = parse_id, .allowed = "a group id"},
		{0},
	},
	.values_size = sizeof(struct metrics_options),
	.description =
		"vitrined and vitrine-export count what they do in memory that they share with vitrine-metrics, which they "
		"start where their configuration has the key metrics: a unix socket (unix:/run/vitrine/metrics.sock, mode "
		"0600) or a loopback address and port (127.0.0.1:9847). By default nothing is served.\n\n"
		"It answers GET /metrics with OpenMetrics 1.0, or with the older text of Prometheus where the client does not "
		"ask for that. It runs as a user of its own (vitrine-metrics, or uid 64743 where there is none), can read the "
		"cells and nothing else, and can open neither files nor sockets. What a client sends reaches neither vitrined "
		"nor the recorder, and whatever happens to vitrine-metrics, sessions go on; it is started anew.\n\n"
		"A connection has one answer and 10 seconds. There are no more than 16 at once. On a loopback port a request "
		"has to name the loopback address or localhost, so that no page in a browser can read metrics under a name of "
		"its own. A session with the host's network can reach a loopback port; a unix socket it cannot.\n\n"
		"No label holds what a session chose: names of commands, paths, hosts, secrets and tenants are in no metric.",
	.sections = (const struct command_section[]){
		{"METRICS",
#define METRIC(page, member, type, first, second, unit, name, help) "  " name "\n\n" help "\n\n"
#include "metrics.def"
#undef METRIC
		 "  vitrine_build_info\n\nWhat runs: program and version."},
		{"FILES",
		 "dashboards/grafana/*.json are dashboards of these metrics for Grafana, and "
		 "dashboards/prometheus/alerts.yml rules for Prometheus; installed in share/vitrine."},
		{"EXAMPLES",
		 "  curl --unix-socket /run/vitrine/metrics.sock http://localhost/metrics"},
		{0},
	},
	.run = run,
};
/* clang-format on */

int main(int argc, char **argv)
{
	return command_main("vitrine-metrics", &vitrine_metrics, argc, argv);
}
