/* Fuzz: the parser of policy files, from text to the policy in force. */
#include "../../supervisor/policy.h"

#include "../../supervisor/record/jansson_cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault f;
	struct policy p;
	cleanup(json) json_t *values = NULL;

	if (settings_parse(policy_settings, "policy.json", (const char *)data, size, &values, &f) <
	    0)
		return 0;
	if (policy_make(values, NULL, &p, &f) < 0)
		__builtin_trap(); /* what was parsed is allowed */
	policy_free(&p);
	return 0;
}
