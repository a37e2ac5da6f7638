/* Anonymous mappings. See mapping.h. */
#include "mapping.h"

#include <sys/mman.h>

void *mapping_new(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void mapping_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}
