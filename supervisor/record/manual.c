/*
 * Derives help, manual pages and completion from the tables.
 */
#include "manual.h"
#include "text_stream.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80
#define DOC_COLUMN 26

static const struct command_option help_row = {
	.name = "help",
	.doc = "show this help",
};

/* The options of @c by number, --help last; NULL after it. */
static const struct command_option *option_at(const struct command *c, size_t index)
{
	size_t count = 0;

	for (const struct command_option *o = c->options; o && o->name; o++, count++) {
		if (count == index)
			return o;
	}
	return index == count ? &help_row : NULL;
}

/* "none|host" for a choice, else the name of the argument. */
static void write_argument(FILE *out, const struct command_option *o)
{
	if (!o->choices) {
		fputs(o->argument, out);
		return;
	}
	for (size_t i = 0; o->choices[i]; i++)
		fprintf(out, "%s%s", i ? "|" : "", o->choices[i]);
}

static char *option_form(const struct command_option *o)
{
	struct text_stream form;

	if (text_stream_begin(&form) < 0)
		return NULL;
	if (o->letter)
		fprintf(form.out, "-%c, ", o->letter);
	fprintf(form.out, "--%s", o->name);
	if (o->argument) {
		fputc(' ', form.out);
		write_argument(form.out, o);
	}
	return text_stream_end(&form) < 0 ? NULL : form.text;
}

void manual_write_usage(FILE *out, const char *called, const struct command *c)
{
	int column = fprintf(out, "usage: %s", called);
	int indent = column + 1;
	const struct command_option *o;

	for (size_t i = 0; (o = option_at(c, i)); i++) {
		char *form = option_form(o);

		if (form && column + (int)strlen(form) + 3 > WIDTH)
			column = fprintf(out, "\n%*s", indent - 1, "") - 1;
		if (form)
			column +=
				fprintf(out, " [%s]%s", form, o->type == OPTION_TEXTS ? "..." : "");
		free(form);
	}
	if (c->positional && column + (int)strlen(c->positional) + 1 > WIDTH)
		fprintf(out, "\n%*s", indent - 1, "");
	if (c->positional)
		fprintf(out, " %s", c->positional);
	fputc('\n', out);
}

/* Text broken at WIDTH, its further lines indented; what stands before the first is there. */
static void write_wrapped(FILE *out, const char *text, int indent)
{
	int column = indent;

	while (*text) {
		size_t length = strcspn(text, " \n");

		if (column > indent && column + (int)length + 1 > WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		}
		if (column > indent && length)
			column += fprintf(out, " ");
		column += fprintf(out, "%.*s", (int)length, text);
		text += length;
		text += *text != 0;
	}
	fputc('\n', out);
}

typedef void write_paragraph(FILE *out, const char *paragraph, bool literal, bool first);

/* Call @each with every paragraph of @text, and with every literal line. */
static void for_paragraphs(const char *text, write_paragraph *each, FILE *out)
{
	bool first = true;

	while (*text) {
		bool literal = !strncmp(text, "  ", 2);
		const char *end = literal ? strchr(text, '\n') : strstr(text, "\n\n");
		char *paragraph = end ? strndup(text, (size_t)(end - text)) : strdup(text);

		if (paragraph)
			each(out, paragraph, literal, first);
		first = false;
		free(paragraph);
		text = end ? end : text + strlen(text);
		text += strspn(text, "\n");
	}
}

static void write_help_paragraph(FILE *out, const char *paragraph, bool literal, bool first)
{
	if (!first && !literal)
		fputc('\n', out);
	if (literal)
		fprintf(out, "%s\n", paragraph);
	else
		write_wrapped(out, paragraph, 0);
}

static void write_sections(FILE *out, const struct command_section *sections)
{
	for (const struct command_section *s = sections; s && s->heading; s++) {
		fprintf(out, "\n%s:\n", s->heading);
		for_paragraphs(s->text, write_help_paragraph, out);
	}
}

void manual_write_command(FILE *out, const char *called, const struct command *c)
{
	const struct command_option *o;

	manual_write_usage(out, called, c);
	fprintf(out, "\n%s: %s\n", called, c->summary);
	if (c->description) {
		fputc('\n', out);
		for_paragraphs(c->description, write_help_paragraph, out);
	}
	fputs("\noptions:\n", out);
	for (size_t i = 0; (o = option_at(c, i)); i++) {
		char *form = option_form(o);
		bool fits = form && strlen(form) + 3 < DOC_COLUMN;

		fprintf(out, "  %-*s", DOC_COLUMN - 2, form ? form : o->name);
		fprintf(out, "%s%*s", fits ? "" : "\n", fits ? 0 : DOC_COLUMN, "");
		write_wrapped(out, o->doc, DOC_COLUMN);
		free(form);
	}
	write_sections(out, c->sections);
}

void manual_write_program(FILE *out, const struct program *p)
{
	fprintf(out, "usage: %s COMMAND [OPTION...] [ARGUMENT...]\n\n%s: %s\n\ncommands:\n",
		p->name, p->name, p->summary);
	for (size_t i = 0; p->commands[i]; i++)
		fprintf(out, "  %-10s%s\n", p->commands[i]->name, p->commands[i]->summary);
	fprintf(out, "\n'%s help COMMAND' or '%s COMMAND --help' says more.\n", p->name, p->name);
}

/* ---- manual pages ---- */

/* Text as roff takes it: no request at the start of a line, no escape, real hyphens. */
static void write_roff(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
		if (*text == '\n' && (text[1] == '.' || text[1] == '\''))
			fputs("\\&", out);
	}
}

static void write_roff_paragraph(FILE *out, const char *paragraph, bool literal, bool first)
{
	(void)first;
	fputs(literal ? ".nf\n" : ".PP\n", out);
	write_roff(out, paragraph);
	fputs(literal ? "\n.fi\n" : "\n", out);
}

static void write_upper(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(toupper((unsigned char)*text), out);
}

static void write_page_head(FILE *out, const struct program *p, const char *dash, const char *name,
			    int section, const char *summary)
{
	fputs(".TH ", out);
	write_upper(out, p->name);
	write_upper(out, dash);
	write_upper(out, name);
	fprintf(out, " %d \"\" \"vitrine %s\" \"vitrine\"\n.SH NAME\n", section, p->version);
	write_roff(out, p->name);
	write_roff(out, dash);
	write_roff(out, name);
	fputs(" \\- ", out);
	write_roff(out, summary);
	fputc('\n', out);
}

static void write_option_page(FILE *out, const struct command_option *o)
{
	fputs(".TP\n.B ", out);
	if (o->letter)
		fprintf(out, "\\-%c\\fR, \\fB", o->letter);
	fputs("\\-\\-", out);
	write_roff(out, o->name);
	if (o->argument) {
		fputs("\\fR \\fI", out);
		write_argument(out, o);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	write_roff(out, o->doc);
	fputc('\n', out);
}

static void write_synopsis(FILE *out, const struct program *p, const struct command *c)
{
	const struct command_option *o;

	fputs(".SH SYNOPSIS\n.B ", out);
	write_roff(out, p->name);
	if (c->name) {
		fputc(' ', out);
		write_roff(out, c->name);
	}
	fputc('\n', out);
	for (size_t i = 0; (o = option_at(c, i)); i++) {
		fputs("[\\fB\\-\\-", out);
		write_roff(out, o->name);
		fputs("\\fR", out);
		if (o->argument) {
			fputs(" \\fI", out);
			write_argument(out, o);
			fputs("\\fR", out);
		}
		fprintf(out, "]%s\n", o->type == OPTION_TEXTS ? "..." : "");
	}
	if (c->positional) {
		write_roff(out, c->positional);
		fputc('\n', out);
	}
}

static void write_section_pages(FILE *out, const struct command_section *sections)
{
	for (const struct command_section *s = sections; s && s->heading; s++) {
		fprintf(out, ".SH %s\n", s->heading);
		for_paragraphs(s->text, write_roff_paragraph, out);
	}
}

void manual_write_command_page(FILE *out, const struct program *p, const struct command *c,
			       int section)
{
	const struct command_option *o;

	write_page_head(out, p, c->name ? "-" : "", c->name ? c->name : "", section, c->summary);
	write_synopsis(out, p, c);
	fputs(".SH DESCRIPTION\n", out);
	for_paragraphs(c->description ? c->description : c->summary, write_roff_paragraph, out);
	fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; (o = option_at(c, i)); i++)
		write_option_page(out, o);
	write_section_pages(out, c->sections);
	if (c->name)
		fprintf(out, ".SH SEE ALSO\n.BR %s (1)\n", p->name);
}

void manual_write_program_page(FILE *out, const struct program *p, int section)
{
	write_page_head(out, p, "", "", section, p->summary);
	fprintf(out, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n",
		p->name);
	fputs(".SH DESCRIPTION\n", out);
	for_paragraphs(p->description ? p->description : p->summary, write_roff_paragraph, out);
	fputs(".SH COMMANDS\n", out);
	for (size_t i = 0; p->commands[i]; i++) {
		fprintf(out, ".TP\n.B %s\n", p->commands[i]->name);
		write_roff(out, p->commands[i]->summary);
		fputc('\n', out);
	}
	write_section_pages(out, p->sections);
	fputs(".SH SEE ALSO\n", out);
	for (size_t i = 0; p->commands[i]; i++) {
		if (p->commands[i]->description)
			fprintf(out, ".BR %s\\-%s (1),\n", p->name, p->commands[i]->name);
	}
	fprintf(out, ".BR %sd (8)\n", p->name);
}

/* ---- completion ---- */

static void write_command_completion(FILE *out, const struct command *c)
{
	const struct command_option *o;

	for (size_t i = 0; (o = option_at(c, i)); i++) {
		if (!o->choices)
			continue;
		fprintf(out, "\t%s:--%s) words='", c->name, o->name);
		for (size_t k = 0; o->choices[k]; k++)
			fprintf(out, "%s%s", k ? " " : "", o->choices[k]);
		fputs("' ;;\n", out);
	}
	fprintf(out, "\t%s:*) words='", c->name);
	for (size_t i = 0; (o = option_at(c, i)); i++)
		fprintf(out, "%s--%s", i ? " " : "", o->name);
	fputs("' ;;\n", out);
}

void manual_write_completion(FILE *out, const struct program *p)
{
	fprintf(out, "_%s() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n", p->name);
	fputs("\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='", out);
	for (size_t i = 0; p->commands[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", p->commands[i]->name);
	fputs("'\n\telse case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in\n", out);
	for (size_t i = 0; p->commands[i]; i++)
		write_command_completion(out, p->commands[i]);
	fprintf(out,
		"\tesac fi\n\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
		"complete -o default -F _%s %s\n",
		p->name, p->name);
}
