/* Fuzz: the configuration of vitrine-export, from text to sinks, and the places that errors name.
 */
#include "../../exporters/export_config.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct knob_fault f = {0};
	struct export_config c;
	int r = export_config_parse("c.json", (const char *)data, size, false, &c, &f);

	if (r == -EINVAL && strncmp(f.text, "c.json:", 7))
		__builtin_trap(); /* a refusal says where */
	if (r == 0)
		export_config_free(&c);
	return 0;
}
