/*
 * The templates of a daemon. See templates.h.
 *
 * The watch is there before the stamp is taken, so a change is either in the stamp or told. Where
 * the kernel has no watches left, every session waits for a look at its template.
 */
#include "templates.h"

#include "record/cleanup.h"
#include "sandbox/changes.h"
#include "sandbox/mount.h"
#include "sandbox/template_watch.h"
#include "template_directory.h"
#include "template_store.h"

#include <errno.h>
#include <string.h>

void templates_init(struct templates *t)
{
	*t = (struct templates){0};
	for (size_t i = 0; i < TEMPLATES_KNOWN_MAX; i++)
		t->known[i].watch_fd = -1;
}

static void forget(struct known_template *k)
{
	free(k->rootfs);
	cleanup_close_fd(&k->watch_fd);
	*k = (struct known_template){.watch_fd = -1};
}

void templates_free(struct templates *t)
{
	for (size_t i = 0; i < TEMPLATES_KNOWN_MAX; i++)
		forget(&t->known[i]);
}

void template_use_end(struct template_use *use)
{
	cleanup_close_fd(&use->root_fd);
	cleanup_close_fd(&use->lock_fd);
	use->root_fd = use->lock_fd = -1;
}

/* Seen before, and nothing has changed since. */
static bool is_known(struct templates *t, const char *rootfs, const char *stamp,
		     const struct stat *root)
{
	for (size_t i = 0; i < TEMPLATES_KNOWN_MAX; i++) {
		struct known_template *k = &t->known[i];

		if (!k->rootfs || strcmp(k->rootfs, rootfs) != 0)
			continue;
		if (strcmp(k->stamp, stamp) == 0 && k->dev == root->st_dev &&
		    k->ino == root->st_ino && changes_none(k->watch_fd)) {
			k->used = ++t->uses;
			return true;
		}
		forget(k);
	}
	return false;
}

static void remember(struct templates *t, const char *rootfs, const char *stamp,
		     const struct stat *root, int *watch_fd)
{
	struct known_template *oldest = &t->known[0];
	char *copy = strdup(rootfs);

	if (!copy)
		return;
	for (size_t i = 0; i < TEMPLATES_KNOWN_MAX; i++)
		if (t->known[i].used < oldest->used)
			oldest = &t->known[i];
	forget(oldest);
	*oldest = (struct known_template){
		.rootfs = copy,
		.dev = root->st_dev,
		.ino = root->st_ino,
		.watch_fd = take_fd(*watch_fd),
		.used = ++t->uses,
	};
	memcpy(oldest->stamp, stamp, sizeof(oldest->stamp));
}

static int refuse_changed(const char *rootfs, struct fault *f)
{
	if (*rootfs == '/')
		return fault_set(f, -ESTALE, "template",
				 "%s: changed while the session was asked for; try again", rootfs);
	return fault_set(
		f, -ESTALE, "template",
		"template %s: its files were changed after it was added; `vitrine template "
		"check %s` says whether it is still the same, else add it again",
		rootfs, rootfs);
}

/* Is the tree what it was? */
static int look(struct templates *t, const char *rootfs, int root_fd,
		const struct template_sum *known, struct fault *f)
{
	cleanup(close_fd) int tree_fd = -1, watch_fd = -1;
	struct template_fault fault;
	struct template_sum now;
	struct stat root;

	if (fstat(root_fd, &root) < 0)
		return fault_set(f, -errno, "template", "%s: %s", rootfs, strerror(errno));
	if (is_known(t, rootfs, known->stamp, &root))
		return 0;
	int r = mount_clone(root_fd, "", false, &tree_fd);
	if (r < 0)
		return fault_set(f, r, "template", "%s: %s", rootfs, strerror(-r));
	template_watch(tree_fd, &watch_fd);
	r = template_stamp(tree_fd, &now, &fault);
	if (r < 0)
		return template_blame(&fault, r, rootfs, f);
	if (strcmp(now.stamp, known->stamp) != 0)
		return refuse_changed(rootfs, f);
	if (watch_fd >= 0)
		remember(t, rootfs, known->stamp, &root, &watch_fd);
	return 0;
}

/* A directory: digest and stamp come with the request, of root. */
static int take_directory(const char *rootfs, const json_t *given, struct template_sum *ret_sum,
			  int *ret_root_fd, struct fault *f)
{
	const char *digest = json_string_value(json_object_get(given, "digest"));
	const char *stamp = json_string_value(json_object_get(given, "stamp"));
	cleanup(close_fd) int tree_fd = -1;

	if (!digest || !stamp || strlen(digest) != TEMPLATE_HEX - 1 ||
	    strlen(stamp) != TEMPLATE_HEX - 1 || strspn(digest, "0123456789abcdef") != 64)
		return fault_set(f, -EINVAL, "bad_request",
				 "template: bad value; allowed: with a directory as root file "
				 "system, its digest and stamp");
	memcpy(ret_sum->digest, digest, TEMPLATE_HEX);
	memcpy(ret_sum->stamp, stamp, TEMPLATE_HEX);
	return template_open_directory(rootfs, ret_root_fd, &tree_fd, f);
}

static int take_named(const char *state, const char *name, struct template_sum *ret_sum,
		      struct template_use *use, struct fault *f)
{
	cleanup(close_fd) int store_fd = -1;
	struct template_info info;
	int r = template_store_open(state, false, &store_fd, f);

	if (r == -ENOENT)
		return fault_set(
			f, r, "template",
			"there is no template %s; add it with `vitrine template add %s DIR`", name,
			name);
	if (r == 0)
		r = template_store_load(store_fd, name, &info, &use->root_fd, &use->lock_fd, f);
	if (r == 0)
		*ret_sum = info.sum;
	return r;
}

int templates_take(struct templates *t, const char *state, const char *rootfs, const json_t *given,
		   struct template_use *ret_use, struct fault *f)
{
	struct template_use use = TEMPLATE_USE_NONE;
	struct template_sum known = {0};
	int r = *rootfs == '/' ? take_directory(rootfs, given, &known, &use.root_fd, f)
			       : take_named(state, rootfs, &known, &use, f);

	if (r == 0)
		r = look(t, rootfs, use.root_fd, &known, f);
	if (r < 0) {
		template_use_end(&use);
		return r;
	}
	memcpy(use.digest, known.digest, sizeof(use.digest));
	*ret_use = use;
	return 0;
}
