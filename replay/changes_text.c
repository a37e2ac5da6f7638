/*
 * Writes changes.
 */
#include "changes_text.h"

#include "units.h"

#include <inttypes.h>

static const char *const left_names[] = {
	[LEFT_HASHED] = "there",
	[LEFT_GONE] = "gone",
	[LEFT_OTHER] = "not a regular file",
	[LEFT_LARGE] = "too large",
	[LEFT_UNREADABLE] = "unreadable",
};

static void write_hex(FILE *out, const uint8_t hash[HASH_SIZE])
{
	for (size_t i = 0; i < HASH_SIZE; i++)
		fprintf(out, "%02x", hash[i]);
}

static void write_left(const struct change *change, const struct pen *pen)
{
	const struct left_file *k = &change->left;

	if (k->left == LEFT_NOT_ASKED)
		return;
	fputs("  now ", pen->out);
	if (k->left == LEFT_HASHED) {
		fputs("sha256 ", pen->out);
		write_hex(pen->out, k->hash);
	} else {
		fputs(left_names[k->left], pen->out);
	}
	if (!k->is_changed_since)
		return;
	pen_style(pen, STYLE_POLICY);
	fputs(" (changed since the session)", pen->out);
	pen_style(pen, STYLE_PLAIN);
}

static const char *const type_names[] = {
	[FILE_UNKNOWN] = NULL,
	[FILE_REGULAR] = "regular",
	[FILE_DIRECTORY] = "directory",
	[FILE_SYMLINK] = "symlink",
};

static void write_size_change(const struct change *change, const struct pen *pen)
{
	if (change->type == FILE_DIRECTORY || !(change->has_size || change->has_old_size))
		return;
	fputs("  ", pen->out);
	if (!change->has_size) {
		write_size(pen->out, change->old_size);
		return;
	}
	if (change->has_old_size && change->old_size != change->size) {
		write_size(pen->out, change->old_size);
		fputs(" -> ", pen->out);
	}
	write_size(pen->out, change->size);
}

void change_write(const struct change *change, const struct actors *a, const struct pen *pen)
{
	pen_style(pen, change->outcome == OUTCOME_DELETED ? STYLE_POLICY : STYLE_FILE);
	fprintf(pen->out, "%-10s", outcome_names[change->outcome]);
	pen_style(pen, STYLE_PLAIN);
	if (change->from.data) {
		printable_word(pen->out, &pen->printable, change->from);
		fputs(" -> ", pen->out);
	}
	printable_word(pen->out, &pen->printable, change->path);
	if (change->type == FILE_DIRECTORY || change->type == FILE_SYMLINK)
		fprintf(pen->out, " (%s)", type_names[change->type]);
	write_size_change(change, pen);
	if (change->outcome == OUTCOME_RENAMED && change->written)
		fputs("  written to", pen->out);
	else if (change->outcome == OUTCOME_MODIFIED && !change->written)
		fputs("  attributes only", pen->out);
	if (change->by.count || change->by.more) {
		fputs("  by ", pen->out);
		actor_set_write(&change->by, a, pen);
	}
	if (change->still_open)
		fputs("  (still open at the end)", pen->out);
	if (change->final)
		final_state_write(change->final, pen);
	write_left(change, pen);
	if (change->doubtful)
		fputs("  (whether it was there before is unknown)", pen->out);
	if (!change->unproven)
		return;
	pen_style(pen, STYLE_POLICY);
	fputs("  (name not proven)", pen->out);
	pen_style(pen, STYLE_PLAIN);
}

void changes_write_left_out(const struct changes *c, const struct pen *pen)
{
	struct changes_left_out left_out = changes_left_out(c);

	pen_style(pen, STYLE_LOUD);
	if (left_out.nameless)
		fprintf(pen->out, "!! %" PRIu64 " acts on files whose name is not in the record\n",
			left_out.nameless);
	if (left_out.no_room)
		fprintf(pen->out, "!! %" PRIu64 " acts on more names than are told apart (%d)\n",
			left_out.no_room, CHANGES_NAMES_MAX);
	if (left_out.not_followed)
		fprintf(pen->out,
			"!! %" PRIu64
			" renames of directories: what is below them stands under its "
			"old name\n",
			left_out.not_followed);
	pen_style(pen, STYLE_PLAIN);
}

static void write_left_json(const struct left_file *k, struct document *d)
{
	char hex[2 * HASH_SIZE + 1];

	if (k->left == LEFT_NOT_ASKED)
		return;
	document_open(d, "now", '{');
	document_string(d, "state", left_names[k->left]);
	if (k->left == LEFT_HASHED || k->left == LEFT_LARGE) {
		document_u64(d, "size", k->size);
		document_bool(d, "changed_since", k->is_changed_since);
	}
	if (k->left == LEFT_HASHED) {
		for (size_t i = 0; i < HASH_SIZE; i++)
			snprintf(hex + 2 * i, 3, "%02x", k->hash[i]);
		document_string(d, "sha256", hex);
	}
	document_close(d, '{');
}

void change_write_json(const struct change *change, const struct actors *a, struct document *d)
{
	document_open(d, NULL, '{');
	document_text(d, "path", change->path);
	document_string(d, "outcome", outcome_names[change->outcome]);
	if (change->from.data)
		document_text(d, "from", change->from);
	if (type_names[change->type])
		document_string(d, "file_type", type_names[change->type]);
	document_bool(d, "written", change->written);
	document_bool(d, "proven", !change->unproven);
	if (change->doubtful)
		document_null(d, "existed_before");
	else
		document_bool(d, "existed_before", change->existed);
	if (change->has_old_size)
		document_u64(d, "old_size", change->old_size);
	if (change->has_size)
		document_u64(d, "size", change->size);
	document_u64(d, "bytes_written", change->bytes_written);
	if (change->still_open)
		document_bool(d, "still_open", true);
	document_u64(d, "first_seq", change->first_seq);
	document_u64(d, "last_seq", change->last_seq);
	actor_set_write_json(&change->by, a, d);
	if (change->final)
		final_state_write_json(change->final, d);
	write_left_json(&change->left, d);
	document_close(d, '{');
}

void changes_write_left_out_json(const struct changes *c, struct document *d)
{
	struct changes_left_out left_out = changes_left_out(c);

	document_u64(d, "acts_without_name", left_out.nameless);
	document_u64(d, "acts_without_room", left_out.no_room);
	document_u64(d, "renames_not_followed", left_out.not_followed);
}
