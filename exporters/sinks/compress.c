/*
 * gzip by zlib, and zstd.
 */
#include "compress.h"

#include "../../supervisor/record/cleanup.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define PART_SIZE 131072

static int write_whole(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* The next part of the file: its length, 0 at the end, or -errno. */
static ssize_t read_part(int fd, char *part, const atomic_bool *stop)
{
	ssize_t n = *stop ? -1 : read(fd, part, PART_SIZE);

	return n >= 0 ? n : *stop ? -ECANCELED : -errno;
}

struct parts {
	char in[PART_SIZE], out[PART_SIZE];
};

static int gzip_part(z_stream *z, struct parts *parts, int out_fd, int flush)
{
	int r = 0;

	do {
		z->next_out = (Bytef *)parts->out;
		z->avail_out = PART_SIZE;
		deflate(z, flush);
		r = write_whole(out_fd, parts->out, PART_SIZE - z->avail_out);
	} while (r == 0 && z->avail_out == 0);
	return r;
}

static int gzip_file(int fd, int out_fd, const atomic_bool *stop)
{
	cleanup(free) struct parts *parts = malloc(sizeof(*parts));
	z_stream z = {0};
	ssize_t n = 1;
	int r = 0;

	if (!parts ||
	    deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	while (r == 0 && n > 0) {
		n = read_part(fd, parts->in, stop);
		z.next_in = (Bytef *)parts->in;
		z.avail_in = n > 0 ? (uInt)n : 0;
		r = n < 0 ? (int)n : gzip_part(&z, parts, out_fd, n ? Z_NO_FLUSH : Z_FINISH);
	}
	deflateEnd(&z);
	return r;
}

static int zstd_part(ZSTD_CCtx *context, ZSTD_inBuffer *in, struct parts *parts, int out_fd)
{
	bool is_last = in->size == 0;
	size_t left;
	int r = 0;

	do {
		ZSTD_outBuffer out = {parts->out, PART_SIZE, 0};

		left = ZSTD_compressStream2(context, &out, in,
					    is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -EIO;
		r = write_whole(out_fd, parts->out, out.pos);
	} while (r == 0 && (is_last ? left > 0 : in->pos < in->size));
	return r;
}

static int zstd_file(int fd, int out_fd, const atomic_bool *stop)
{
	cleanup(free) struct parts *parts = malloc(sizeof(*parts));
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ssize_t n = 1;
	int r = parts && context ? 0 : -ENOMEM;

	if (r == 0)
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	while (r == 0 && n > 0) {
		n = read_part(fd, parts->in, stop);
		ZSTD_inBuffer in = {parts->in, n > 0 ? (size_t)n : 0, 0};
		r = n < 0 ? (int)n : zstd_part(context, &in, parts, out_fd);
	}
	ZSTD_freeCCtx(context);
	return r;
}

const struct compression *compression_find(const char *name)
{
	static const struct compression all[] = {{"gzip", ".gz", gzip_file},
						 {"zstd", ".zst", zstd_file}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}
