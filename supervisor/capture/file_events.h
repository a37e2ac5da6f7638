/*
 * What file_events.c and name_events.c share: values of file events.
 */
#pragma once

#include "files.h"

/* Flags of a call with their names, ended by one without a name. Bits of one name may hold those of
 * a later one. */
struct flag_name {
	uint32_t bits;
	const char *name;
};
void file_events_put_flags(struct capture *c, const struct flag_name *names, uint32_t flags);

void file_events_put_type(struct capture *c, uint32_t mode);
/* dev, ino and file_type; nothing where @ino is 0. */
void file_events_put_object(struct capture *c, uint64_t dev, uint64_t ino, uint32_t mode);
/* path, path_source, deleted and path_detached of a path from kernel objects. */
void file_events_put_kernel_path(struct capture *c, struct bytes components, uint32_t flags,
				 uint64_t missing);
void file_events_put_requested(struct capture *c, enum event_field field, struct bytes requested);

/* A name as a call was given it. */
struct named {
	struct bytes directory; /* components */
	uint32_t directory_flags;
	struct bytes requested;
};

/* path and path_source: what fanotify says of the act, else what the call was given. */
void file_events_put_named(struct capture *c, const struct wire_head *head, enum names_act act,
			   const struct named *name);
/* path and path_source: what the call was given. */
void file_events_put_args(struct capture *c, const struct named *name);
