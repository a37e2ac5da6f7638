/*
 * Secrets as files: a file system in memory of the session's own, for SECRET_DIRECTORY. It is never
 * swapped where the kernel can promise that, its bytes are overwritten before it goes, and each
 * file as soon as its time is over.
 *
 * A file that one program alone may open is guarded by fanotify: each open of it asks us, and the
 * kernel's own link to the program of who opens decides. That keeps a secret from other programs;
 * what the program itself does with it, or is made to do by who runs it, it does not see.
 */
#pragma once

#include "session_secrets.h"

#include <systemd/sd-event.h>

struct secret_files;

/* What is told of them; the context may end the session, but not free the files. */
struct secret_files_watcher {
	void *context;
	/* Process @pid was not allowed to open it. */
	void (*denied)(void *context, const struct session_secret *secret, pid_t pid);
	void (*expired)(void *context, const struct session_secret *secret);
};

/*
 * Make the files of @secrets, which have to stay. *ret_files is NULL if none of them is a file. 0
 * or -errno with a fault.
 */
int secret_files_make(const struct session_secrets *secrets, uid_t uid_base,
		      struct secret_files **ret_files, struct fault *ret_fault);
/* Wipes them. NULL is allowed. */
void secret_files_free(struct secret_files *f);

/* The detached mount, borrowed. */
int secret_files_mount(const struct secret_files *f);

/*
 * Guard them, and count their time from now on. @init_pid: a process in the session's root, in
 * which programs are named. 0 or -errno with a fault; NULL is allowed.
 */
int secret_files_guard(struct secret_files *f, sd_event *loop, pid_t init_pid,
		       const struct secret_files_watcher *watcher, struct fault *ret_fault);
