/* One mapping each. */
#include "vault.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int vault_new(size_t size, uint8_t **ret_bytes, size_t *ret_size)
{
	size_t room = whole_pages(size ? size : 1);
	uint8_t *bytes =
		mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return -errno;
	if (mlock(bytes, room) || madvise(bytes, room, MADV_DONTDUMP)) {
		int error = errno;

		munmap(bytes, room);
		return -error;
	}
	*ret_bytes = bytes;
	*ret_size = room;
	return 0;
}

void vault_shrink(uint8_t *bytes, size_t *size, size_t used)
{
	size_t room = whole_pages(used ? used : 1);

	if (room < *size && munmap(bytes + room, *size - room) == 0)
		*size = room;
}

void vault_free(uint8_t *bytes, size_t size)
{
	if (!bytes)
		return;
	OPENSSL_cleanse(bytes, size);
	munmap(bytes, size);
}
