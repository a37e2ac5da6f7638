/* The first request: what all recordings share is set up, and the recorder gives up its rights. */
#include "../../bpf/wire.h"
#include "../record/cleanup.h"
#include "../record/json.h"
#include "../redact/clean.h"
#include "../redact/shapes.h"
#include "call.h"
#include "confine.h"
#include "kept_rings.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define NICE_FIRST (-10)

static int get_key(struct call *c)
{
	cleanup(free) char *key = NULL;
	size_t size;
	int e = control_get_bytes(json_object_get(c->body, "key"), &key, &size);

	if (e == 0 && size != sizeof(c->all->host.key))
		e = -EINVAL;
	if (e < 0)
		return call_refuse(c, e, "no deployment key of 32 bytes");
	memcpy(c->all->host.key, key, size);
	explicit_bzero(key, size);
	return 0;
}

/*
 * libcrypto reads its configuration at first use: while files may still be opened. And patterns are
 * made machine code of, for which there is no memory later.
 */
static int set_up_redaction(struct call *c)
{
	struct redactor *redactor = NULL;
	uint8_t digest[EVENT_DIGEST_SIZE];
	int e = shapes_new(SHAPES_MACHINE_CODE, &c->all->shapes);

	c->all->host.shapes = c->all->shapes;
	c->all->host.clean = c->all->clean = clean_new();
	if (e == 0 && !c->all->clean)
		e = -ENOMEM;
	if (e == 0)
		e = redactor_new(c->all->host.key, c->all->shapes, NULL, 0, &redactor);
	if (e < 0)
		return call_refuse(c, e, "cannot set up redaction");
	redact_digest(redactor, "", 0, digest);
	redactor_free(redactor);
	e = sign_public(c->all->host.key, digest);
	return e < 0 ? call_refuse(c, e, "cannot set up signing") : 0;
}

/*
 * The loop (not its threads) goes before sessions, and before who else wants the processors: a
 * session that is to be frozen runs on until the kernel has done it, which may take long where
 * others change cgroups. Without the right to it is as others are.
 */
static void go_first(void)
{
	(void)setpriority(PRIO_PROCESS, 0, NICE_FIRST);
}

static int cage(struct call *c)
{
	static char error[CONFINE_ERROR];
	uint64_t uid = 0, gid = 0;
	int e = call_number(c, "uid", UINT32_MAX - 1, 0, &uid);

	if (e == 0)
		e = call_number(c, "gid", UINT32_MAX - 1, 0, &gid);
	if (e < 0)
		return e;
	go_first();
	e = confine_self(uid, gid, error);
	return e < 0 ? call_refuse(c, e, error) : 0;
}

static int on_frozen(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct recordings *all = context;
	(void)source;
	(void)fd;
	(void)events;

	freezer_seen(all->host.freezer);
	for (size_t i = 0; i < all->count; i++)
		if (recording_is_open(all->list[i]))
			recording_drain(all->list[i]);
	return 0;
}

static int start_freezer(struct call *c)
{
	struct recordings *all = c->all;
	bool is_realtime = false;
	sd_event_source *source = NULL;
	int e = freezer_start(&all->host.freezer, &is_realtime);

	if (e == 0)
		e = sd_event_add_io(all->loop, &source, freezer_fd(all->host.freezer), EPOLLIN,
				    on_frozen, all);
	if (e < 0)
		return call_refuse(c, e, "cannot start the freezing thread");
	sd_event_source_set_priority(source, RECORDINGS_PRIORITY_FREEZER);
	sd_event_source_set_floating(source, true);
	sd_event_source_unref(source);
	json_object_set_new(c->reply, "realtime", json_boolean(is_realtime));
	return 0;
}

/* The map as memory: the freezing thread looks at it at every wake-up. */
static int map_exec_bytes(struct call *c)
{
	cleanup(close_fd) int fd = call_take_fd(c, "exec_bytes");
	if (fd < 0)
		return 0;

	void *bytes = mmap(NULL, SESSION_SLOTS * sizeof(uint64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return call_refuse(c, -errno, "cannot map what execs announce");
	c->all->host.exec_bytes = bytes;
	return 0;
}

/* Fields of each session.start. */
static int read_about(struct call *c)
{
	struct recordings *all = c->all;
	json_t *about = json_object_get(c->body, "about");

	if (!about)
		return 0;
	event_init(&all->about, EVENT_session_start, 0, 0);
	all->about_arena = json_arena_new();
	if (!all->about_arena)
		return call_refuse(c, -ENOMEM, "out of memory");
	if (event_from_json(all->about_arena, about, &all->about) < 0)
		return call_refuse(c, -EINVAL, json_arena_error(all->about_arena));
	all->host.about = &all->about;
	return 0;
}

int call_serve_start(struct call *c)
{
	struct recording_host *host = &c->all->host;

	if (c->all->is_started)
		return call_refuse(c, -EALREADY, "it was started already");
	int cpus = libbpf_num_possible_cpus();
	if (cpus <= 0)
		return call_refuse(c, cpus, "cannot tell the number of processors");
	host->cpus = cpus;
	host->numbers_fd = call_take_fd(c, "numbers");
	host->losses_fd = call_take_fd(c, "losses");
	host->written_files_fd = call_take_fd(c, "written_files");
	host->file_counts_fd = call_take_fd(c, "file_counts");
	host->names_fd = call_take_fd(c, "names");

	uint64_t rings = 0;
	int e = call_number(c, "rings", SESSION_SLOTS, 0, &rings);
	int metrics_fd = call_borrow_fd(c, "metrics");
	if (e == 0 && metrics_fd >= 0)
		e = recordings_count_on(c->all, metrics_fd);
	int in_hand_fd = call_borrow_fd(c, "in_hand");
	if (e == 0 && in_hand_fd >= 0)
		e = recordings_share(c->all, in_hand_fd);
	if (e == 0 && !(host->rings = kept_rings_new((uint32_t)rings)))
		e = call_refuse(c, -ENOMEM, "out of memory");
	if (e == 0)
		e = read_about(c);
	if (e == 0)
		e = get_key(c);
	if (e == 0)
		e = map_exec_bytes(c);
	if (e == 0)
		e = set_up_redaction(c);
	if (e == 0)
		e = start_freezer(c);
	if (e == 0)
		e = closer_start(c->all->loop, RECORDINGS_PRIORITY_SOCKET, c->all->log,
				 &c->all->closer);
	if (e == 0)
		e = cage(c);
	c->all->is_started = e == 0;
	return e;
}
