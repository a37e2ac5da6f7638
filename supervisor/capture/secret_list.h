/* Secrets of a session as vitrined sends them. */
#pragma once

#include "../redact/redact.h"

#include <jansson.h>

/* Of [{"name", "value"}]; names are borrowed from @list. 0, -E2BIG, -EINVAL or -ENOMEM. */
int secret_list_read(const json_t *list, struct redact_secret **ret_secrets, size_t *ret_count);
/* Wipe and free. */
void secret_list_free(struct redact_secret *secrets, size_t count);
