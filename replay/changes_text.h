/*
 * What became of files, as lines and as JSON.
 */
#pragma once

#include "changes.h"

/* One line, without its end: outcome, name, and what is known of it. */
void change_write(const struct change *change, const struct actors *a, const struct pen *pen);
/* A line of what is not in the list; nothing where it is whole. */
void changes_write_left_out(const struct changes *c, const struct pen *pen);

/* An object. */
void change_write_json(const struct change *change, const struct actors *a, struct document *d);
void changes_write_left_out_json(const struct changes *c, struct document *d);
