/*
 * The parts of the page that are lists of things: processes, files, peers, and what stands out.
 */
#include "attack_text.h"
#include "contacts_text.h"
#include "report_html.h"
#include "units.h"

#include "../supervisor/record/cleanup.h"

#include <inttypes.h>
#include <string.h>

#define NESTED_MAX 200 /* deeper processes stand beside their parents, and say so */

static void cell(struct html *h, struct bytes text)
{
	html_raw(h, "<td>");
	if (text.data)
		printable_word(h->pen.out, &h->pen.printable, text);
}

/* One of our own words, which is not broken. */
static void cell_word(struct html *h, const char *word)
{
	html_raw(h, "<td class=\"word\">");
	fputs(word, h->pen.out);
}

static void cell_size(struct html *h, bool known, uint64_t size)
{
	html_raw(h, "<td class=\"number\">");
	if (known)
		write_size(h->pen.out, size);
}

static void cell_number(struct html *h, uint64_t number)
{
	html_raw(h, "<td class=\"number\">");
	if (number)
		fprintf(h->pen.out, "%" PRIu64, number);
}

static void cut_note(struct html *h, size_t count)
{
	html_raw(h, "</tbody></table>\n");
	if (count > REPORT_ROWS_MAX)
		fprintf(h->out, "<p class=\"loud\">The first %d of %zu are listed here.</p>\n",
			REPORT_ROWS_MAX, count);
}

/* ---- processes ---- */

static void write_argv(struct html *h, const struct tree_exec *exec)
{
	html_raw(h, "<code>");
	line_write_words(&h->pen, (struct bytes){exec->argv, exec->size});
	if (exec->left_out)
		fprintf(h->pen.out, " [+%zu more]", exec->left_out);
	html_raw(h, "</code>");
}

static void write_process(struct html *h, const struct report *r, size_t number, size_t depth)
{
	const struct tree_node *node = tree_node(r->tree, number);
	const char *before = "";

	if (depth >= NESTED_MAX)
		fprintf(h->pen.out, "(%zu levels deep) ", depth);
	html_raw(h, "<b>");
	if (node->has_pid)
		fprintf(h->pen.out, "%" PRIu64, node->pid);
	else
		printable_word(h->pen.out, &h->pen.printable, tree_key(r->tree, number));
	html_raw(h, "</b> ");
	for (const struct tree_exec *exec = node->execs; exec; exec = exec->next) {
		html_raw(h, before);
		write_argv(h, exec);
		before = " then ";
	}
	if (!node->execs)
		html_raw(h, node->fork_seen ? "<i>fork</i>" : "<i>no program in the record</i>");
	if (node->has_status && node->status)
		fprintf(h->out, " <span class=\"bad\">%s %" PRIu64 "</span>",
			node->has_signal ? "signal" : "exit", node->status);
	html_raw(h, " <span class=\"note\">");
	if (node->fork_seen && node->exit_seen)
		write_duration(h->out, node->last_boot_ns - node->first_boot_ns);
	if (node->files)
		fprintf(h->out, " files %" PRIu64, node->files);
	if (node->connections)
		fprintf(h->out, " connections %" PRIu64, node->connections);
	if (node->names)
		fprintf(h->out, " names %" PRIu64, node->names);
	if (node->failed_execs)
		fprintf(h->out, " failed to run %" PRIu64, node->failed_execs);
	html_raw(h, "</span>");
}

/* Without recursion: a session nests as deep as it likes. */
static void write_below(struct html *h, const struct report *r, size_t root, size_t *written)
{
	const struct tree *t = r->tree;
	size_t number = root, depth = 0;

	while (*written < REPORT_ROWS_MAX) {
		size_t child = tree_node(t, number)->first_child;

		(*written)++;
		html_raw(h, child != TREE_NONE ? "<li><details open><summary>" : "<li>");
		write_process(h, r, number, depth);
		if (child != TREE_NONE) {
			html_raw(h, depth < NESTED_MAX ? "</summary><ul>\n" : "</summary>\n");
			number = child;
			depth++;
			continue;
		}
		html_raw(h, "</li>\n");
		while (number != root && tree_node(t, number)->next == TREE_NONE) {
			number = tree_node(t, number)->parent;
			depth--;
			html_raw(h, depth < NESTED_MAX ? "</ul></details></li>\n"
						       : "</details></li>\n");
		}
		if (number == root)
			return;
		number = tree_node(t, number)->next;
	}
	while (depth--)
		html_raw(h, depth < NESTED_MAX ? "</ul></details></li>\n" : "</details></li>\n");
}

static void write_tree(struct html *h, const struct report *r)
{
	size_t written = 0;

	html_raw(h, "<section id=\"tree\">\n<h2>Processes</h2>\n<ul class=\"tree\">\n");
	for (size_t root = tree_link_roots(r->tree); root != TREE_NONE && written < REPORT_ROWS_MAX;
	     root = tree_node(r->tree, root)->next)
		write_below(h, r, root, &written);
	html_raw(h, "</ul>\n");
	if (written < tree_count(r->tree))
		fprintf(h->out, "<p class=\"loud\">The first %zu of %zu are listed here.</p>\n",
			written, tree_count(r->tree));
	if (tree_missing(r->tree))
		fprintf(h->out,
			"<p class=\"loud\">The tree is not whole: %" PRIu64
			" process records are missing.</p>\n",
			tree_missing(r->tree));
	html_raw(h, "</section>\n");
}

/* ---- files ---- */

static void cell_hash(struct html *h, const struct final_version *v)
{
	html_raw(h, "<td class=\"hash\">");
	fputs(!v ? "" : v->sha256[0] ? v->sha256 : v->unhashed ? v->unhashed : "", h->pen.out);
}

static void write_change(struct html *h, const struct report *r, const struct change *change)
{
	const struct {
		bool is_true;
		const char *text;
	} notes[] = {
		{change->unproven, "name not proven"},
		{change->final && change->final->is_unexplained, "no record explains it"},
		{change->doubtful, "whether it was there before is unknown"},
		{change->still_open, "still open at the end"},
	};
	bool is_first = true;

	html_raw(h, "<tr>");
	cell_word(h, outcome_names[change->outcome]);
	cell(h, change->path);
	cell(h, change->from);
	cell_size(h, change->has_old_size, change->old_size);
	cell_size(h, change->has_size, change->size);
	cell_hash(h, change->final ? &change->final->before : NULL);
	cell_hash(h, change->final ? &change->final->now : NULL);
	html_raw(h, "<td class=\"by\">");
	actor_set_write(&change->by, r->actors, &h->pen);
	html_raw(h, "<td>");
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (!notes[i].is_true)
			continue;
		fprintf(h->pen.out, "%s%s", is_first ? "" : "; ", notes[i].text);
		is_first = false;
	}
	html_raw(h, "</tr>\n");
}

static int write_files(struct html *h, const struct report *r)
{
	cleanup(free) struct change *list = NULL;
	struct changes_left_out left_out = changes_left_out(r->changes);
	size_t count;
	int error = changes_list(r->changes, &list, &count);

	if (error < 0)
		return error;
	html_raw(h, "<section id=\"files\">\n<h2>Files that are different afterwards</h2>\n<table>"
		    "<thead><tr><th>outcome<th>path<th>from<th class=\"number\">size before<th "
		    "class=\"number\">size after<th>sha256 before<th>sha256 after<th>by<th>"
		    "</tr></thead><tbody>\n");
	for (size_t i = 0; i < count && i < REPORT_ROWS_MAX; i++)
		write_change(h, r, &list[i]);
	cut_note(h, count);
	if (left_out.nameless || left_out.no_room || left_out.not_followed)
		fprintf(h->out,
			"<p class=\"loud\">Not in this table: %" PRIu64
			" acts on files whose name is not in the record, %" PRIu64
			" on more names than are told apart; %" PRIu64
			" renames of directories were not followed.</p>\n",
			left_out.nameless, left_out.no_room, left_out.not_followed);
	html_raw(h, "</section>\n");
	return 0;
}

/* ---- hosts ---- */

static void write_contact(struct html *h, const struct report *r, const struct contact *contact)
{
	html_raw(h, "<tr>");
	cell_word(h, way_names[contact->way]);
	html_raw(h, "<td>");
	contact_write_end(contact, &h->pen);
	html_raw(h, "<td>");
	for (size_t i = 0; i < contact->name_count; i++) {
		fputs(i ? ", " : "", h->pen.out);
		printable_word(h->pen.out, &h->pen.printable,
			       contacts_name(r->contacts, contact->names[i]).name);
	}
	fputs(contact->more_names ? " and others" : "", h->pen.out);
	cell_number(h, contact->tries + contact->datagrams);
	cell_number(h, contact->failed);
	cell_number(h, contact->denied);
	cell_size(h, contact->sent || contact->received, contact->sent);
	cell_size(h, contact->sent || contact->received, contact->received);
	html_raw(h, "<td>");
	actor_set_write(&contact->by, r->actors, &h->pen);
	html_raw(h, "</tr>\n");
}

static void write_name(struct html *h, const struct report *r, const struct contact_name *name)
{
	html_raw(h, "<tr>");
	cell(h, name->name);
	cell_number(h, name->queries);
	cell_number(h, name->answers);
	cell_number(h, name->failures);
	cell_number(h, name->denied);
	html_raw(h, "<td>");
	line_write_words(&h->pen, name->answered);
	html_raw(h, "<td>");
	actor_set_write(&name->by, r->actors, &h->pen);
	html_raw(h, "</tr>\n");
}

static void write_hosts(struct html *h, const struct report *r)
{
	size_t count = contacts_count(r->contacts), names = contacts_name_count(r->contacts);

	html_raw(h, "<section id=\"hosts\">\n<h2>Hosts</h2>\n<table><thead><tr><th>way<th>end<th>"
		    "names<th class=\"number\">times<th class=\"number\">failed<th "
		    "class=\"number\">denied<th class=\"number\">sent<th "
		    "class=\"number\">received<th>by</tr></thead>"
		    "<tbody>\n");
	for (size_t i = 0; i < count && i < REPORT_ROWS_MAX; i++) {
		struct contact contact = contacts_get(r->contacts, i);

		write_contact(h, r, &contact);
	}
	cut_note(h, count);
	html_raw(h, "<h2>Names</h2>\n<table><thead><tr><th>name<th class=\"number\">asked<th "
		    "class=\"number\">answered<th class=\"number\">in failure<th "
		    "class=\"number\">denied<th>last answer<th>by</tr></thead><tbody>\n");
	for (size_t i = 0; i < names && i < REPORT_ROWS_MAX; i++) {
		struct contact_name name = contacts_name(r->contacts, i);

		write_name(h, r, &name);
	}
	cut_note(h, names);
	html_raw(h, "</section>\n");
}

/* ---- what stands out ---- */

static void write_kept(struct html *h, const struct report *r, const char *title,
		       const struct kept_list *list)
{
	html_raw(h, "<h3>");
	html_raw(h, title);
	html_raw(h, "</h3>\n");
	if (!list->count) {
		html_raw(h, "<p>Nothing in the record.</p>\n");
		return;
	}
	html_raw(h, "<table><thead><tr><th class=\"number\">record<th "
		    "class=\"number\">after<th>kind<th></tr></thead><tbody>\n");
	for (size_t i = 0; i < list->count; i++) {
		const struct event *e = &list->items[i].event;

		html_raw(h, "<tr>");
		cell_number(h, e->seq);
		html_raw(h, "<td class=\"number\">");
		write_duration(h->out, origin_elapsed(&r->origin, e));
		cell_word(h, kind_table[e->kind].name);
		html_raw(h, "<td>");
		line_write(&h->pen, e);
		html_raw(h, "</tr>\n");
	}
	html_raw(h, "</tbody></table>\n");
	if (list->left_out)
		fprintf(h->out, "<p class=\"loud\">And %" PRIu64 " more.</p>\n", list->left_out);
}

static void write_notable(struct html *h, const struct report *r)
{
	html_raw(h, "<section id=\"notable\">\n<h2>Refused and missing</h2>\n");
	write_kept(h, r, "Refused", &r->denied);
	write_kept(h, r, "Missing", &r->holes);
	for (size_t i = 0; i < r->damage_count; i++) {
		html_raw(h, "<p class=\"loud\">Damage: ");
		printable_text(h->pen.out, &h->pen.printable, bytes_of(r->damages[i].segment));
		fprintf(h->pen.out, " from byte %" PRIu64 " on, after record %" PRIu64 ": %s",
			r->damages[i].offset, r->damages[i].after_seq, r->damages[i].why);
		html_raw(h, "</p>\n");
	}
	html_raw(h, "</section>\n");
}

static void write_techniques(struct html *h, const struct report *r)
{
	const struct tally *t = r->tally;

	html_raw(h, "<section id=\"techniques\">\n<h2>Techniques of MITRE ATT&amp;CK</h2>\n"
		    "<p class=\"note\">Hints by rules, each about one event: where to look, no "
		    "verdict.</p>\n");
	if (!attack_text_count(t)) {
		html_raw(h, "<p>Nothing in the record.</p>\n</section>\n");
		return;
	}
	html_raw(h, "<table><thead><tr><th>technique<th>tactic<th>because<th class=\"number\">"
		    "events<th class=\"number\">first</tr></thead><tbody>\n");
	for (size_t i = 0; attack_rule(i); i++) {
		const struct attack_tag *tag = attack_rule(i);

		if (!t->attacks[i])
			continue;
		fprintf(h->out,
			"<tr><td><a href=\"#events\" data-filter=\"attack:%s\">%s</a> "
			"%s<td>%s<td>%s",
			tag->technique, tag->technique, tag->name, tag->tactic_name, tag->reason);
		cell_number(h, t->attacks[i]);
		cell_number(h, t->attack_firsts[i]);
		html_raw(h, "</tr>\n");
	}
	html_raw(h, "</tbody></table>\n</section>\n");
}

int html_write_tables(struct html *h, const struct report *r)
{
	int error;

	write_tree(h, r);
	error = write_files(h, r);
	if (error < 0)
		return error;
	write_hosts(h, r);
	write_notable(h, r);
	write_techniques(h, r);
	return 0;
}
