/*
 * What the event tables say, for people and for programs: `vitrine schema`.
 */
#pragma once

#include <stdio.h>

void schema_write_markdown(FILE *out);
void schema_write_json_schema(FILE *out);
/* One line a row, in table order with numbers: the golden dump that holds the tables append-only.
 */
void schema_write_dump(FILE *out);
