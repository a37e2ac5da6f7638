/* Anonymous mappings. See pages.h. */
#include "pages.h"

#include <sys/mman.h>

void *pages_new(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void pages_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}
