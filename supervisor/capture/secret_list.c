/* Values are bytes; they are wiped as soon as nobody needs them. */
#include "secret_list.h"

#include "../control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECRETS_MAX 1024

void secret_list_free(struct redact_secret *secrets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		explicit_bzero((void *)secrets[i].value, secrets[i].size);
		free((void *)secrets[i].value);
	}
	free(secrets);
}

int secret_list_read(const json_t *list, struct redact_secret **ret_secrets, size_t *ret_count)
{
	size_t count = json_array_size(list), i = 0;

	if (count > SECRETS_MAX)
		return -E2BIG;
	struct redact_secret *secrets = calloc(count + 1, sizeof(*secrets));
	if (!secrets)
		return -ENOMEM;
	for (; i < count; i++) {
		const json_t *secret = json_array_get(list, i);
		char *value = NULL;

		secrets[i].name = json_string_value(json_object_get(secret, "name"));
		if (!secrets[i].name || control_get_bytes(json_object_get(secret, "value"), &value,
							  &secrets[i].size) < 0)
			break;
		secrets[i].value = value;
	}
	if (i < count) {
		secret_list_free(secrets, i);
		return -EINVAL;
	}
	*ret_secrets = secrets;
	*ret_count = count;
	return 0;
}
