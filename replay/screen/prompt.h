/*
 * A line of text that is being typed, in UTF-8, of any bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROMPT_MAX 4000

struct prompt {
	const char *title; /* static text */
	char text[PROMPT_MAX + 1];
	size_t size, at; /* at: byte before which the cursor stands */
};

void prompt_set(struct prompt *p, const char *text);
/* Insert a character; false: it is full. */
bool prompt_insert(struct prompt *p, unsigned int code);
void prompt_erase(struct prompt *p);	  /* the character before the cursor */
void prompt_erase_word(struct prompt *p); /* the word before it */
void prompt_move(struct prompt *p, int characters);
