/*
 * One kind of head: it is made from name and size, and a head that is read is made again and held
 * against what was there.
 */
#include "tar.h"

#include <errno.h>
#include <string.h>

static const uint8_t zeros[TAR_BLOCK];

static void make_head(const char *name, uint64_t size, char ret_head[TAR_BLOCK])
{
	unsigned int sum = 0;

	memset(ret_head, 0, TAR_BLOCK);
	memcpy(ret_head, name, strnlen(name, TAR_NAME_MAX));
	memcpy(ret_head + 100, "0000644", 8);	   /* mode */
	memcpy(ret_head + 108, "0000000", 8);	   /* uid */
	memcpy(ret_head + 116, "0000000", 8);	   /* gid */
	memcpy(ret_head + 136, "00000000000", 12); /* time */
	memset(ret_head + 148, ' ', 8);		   /* checksum, while it is made */
	ret_head[156] = '0';			   /* a regular file */
	memcpy(ret_head + 257,
	       "ustar\0"
	       "00",
	       8);
	snprintf(ret_head + 124, 12, "%011llo", (unsigned long long)size);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (uint8_t)ret_head[i];
	snprintf(ret_head + 148, 8, "%06o", sum);
	ret_head[155] = ' ';
}

static int put(FILE *out, const void *data, size_t size)
{
	return fwrite(data, 1, size, out) == size ? 0 : -EIO;
}

int tar_head(FILE *out, const char *name, uint64_t size)
{
	char head[TAR_BLOCK];

	if (size > TAR_SIZE_MAX || strlen(name) > TAR_NAME_MAX)
		return -EFBIG;
	make_head(name, size, head);
	return put(out, head, sizeof(head));
}

int tar_fill(FILE *out, uint64_t size)
{
	return put(out, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

int tar_end(FILE *out)
{
	int r = put(out, zeros, TAR_BLOCK);

	return r ? r : put(out, zeros, TAR_BLOCK);
}

static int get(FILE *in, void *data, size_t size)
{
	if (fread(data, 1, size, in) == size)
		return 0;
	return ferror(in) ? -EIO : -EBADMSG;
}

/* Another block of zeros and nothing behind it. */
static int read_end(FILE *in)
{
	uint8_t block[TAR_BLOCK];
	int r = get(in, block, sizeof(block));

	if (r)
		return r;
	return memcmp(block, zeros, sizeof(block)) != 0 || fgetc(in) != EOF ? -EBADMSG : 0;
}

int tar_next(FILE *in, char ret_name[TAR_NAME_MAX + 1], uint64_t *ret_size)
{
	char head[TAR_BLOCK], again[TAR_BLOCK];
	uint64_t size = 0;
	int r = get(in, head, sizeof(head));

	if (r)
		return r;
	if (!memcmp(head, zeros, sizeof(head)))
		return read_end(in);
	for (size_t i = 124; i < 135; i++) {
		if (head[i] < '0' || head[i] > '7')
			return -EBADMSG;
		size = size * 8 + (uint64_t)(head[i] - '0');
	}
	memcpy(ret_name, head, TAR_NAME_MAX);
	ret_name[TAR_NAME_MAX] = 0;
	make_head(ret_name, size, again);
	if (memcmp(head, again, sizeof(head)) != 0)
		return -EBADMSG;
	*ret_size = size;
	return 1;
}

int tar_skip_fill(FILE *in, uint64_t size)
{
	uint8_t fill[TAR_BLOCK];
	size_t length = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
	int r = get(in, fill, length);

	return !r && memcmp(fill, zeros, length) != 0 ? -EBADMSG : r;
}
