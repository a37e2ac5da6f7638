/*
 * The ids of records, found again in lines of whatever form they were written in.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LINE_ID_ROOM 64

/* The length of the id "<session>-<seq>" that @text begins with; 0: it is none. */
size_t line_id_length(const char *text);

/* The first and the last id in the file of @size bytes; "unknown" where none is seen near its ends.
 */
void line_id_first(int fd, char ret_id[LINE_ID_ROOM]);
void line_id_last(int fd, uint64_t size, char ret_id[LINE_ID_ROOM]);
