/*
 * A checkpoint that was kept elsewhere: as the note that it is, or within what an exporter sent.
 */
#pragma once

#include "../supervisor/record/note.h"

/*
 * Find in @file the checkpoint of @session ("" or NULL: of any) over the most records. The file is
 * a note, or has lines with a JSON object in each, in whatever form an exporter delivers it: bare,
 * behind a syslog header, in CEF, or with the record as a text in it. 0, -ENODATA (there is none)
 * or -errno.
 */
int anchor_read(const char *file, const char *session, struct note *ret_note);

/* The same for @text. */
int anchor_find(struct bytes text, const char *session, struct note *ret_note);
