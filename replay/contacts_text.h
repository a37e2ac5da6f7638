/*
 * Whom a session spoke with, as lines and as JSON.
 */
#pragma once

#include "contacts.h"

/* One line, without its end. */
void contact_write(const struct contacts *c, const struct contact *contact, const struct actors *a,
		   const struct pen *pen);
void contact_name_write(const struct contact_name *name, const struct actors *a,
			const struct pen *pen);
/* "tcp 10.0.0.1:443"; for whoever compares, also without the process's side. */
void contact_write_end(const struct contact *contact, const struct pen *pen);

/* An object. */
void contact_write_json(const struct contacts *c, const struct contact *contact,
			const struct actors *a, struct document *d);
void contact_name_write_json(const struct contact_name *name, const struct actors *a,
			     struct document *d);
