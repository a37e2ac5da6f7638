/*
 * Forms that are no plain object of members, made such: a line of CEF and a record of OTLP. What
 * vitrine-export says and what a system gives back become the same shape, and can be compared.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/*
 * The line of CEF that stands in @text, behind whatever a syslog daemon put before it: its head by
 * number ("0" to "6"), the keys of its extension, and in "cs6" the canonical record as an object.
 * A new reference; NULL: there is none.
 */
json_t *returned_cef(const char *text, size_t size);

/*
 * A record of OTLP: its body as the canonical object, its attributes as members by their keys. A
 * new reference; NULL: it is none.
 */
json_t *returned_otlp(const json_t *record);
