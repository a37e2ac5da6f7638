/* Fuzz: the DNS parser. The first two bytes say how much of the message was not kept, and how
 * little room there is. */
#include "../../supervisor/capture/dns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		__builtin_trap();
}

/* Names and answers are printable ASCII, whatever came. */
static void require_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		require(text[i] >= ' ' && text[i] <= '~');
}

static void require_answers(const struct dns_message *m)
{
	size_t cursor = 0, count = 0;
	struct bytes item;

	while (bytes_next_item(m->answers, &cursor, &item)) {
		require_text(item.data, item.size);
		require(memchr(item.data, ' ', item.size) != NULL);
		count++;
	}
	require(count == 0 || ((const char *)m->answers.data)[m->answers.size - 1] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_message m;

	if (size < 2)
		return 0;
	size_t room_size = (size_t)data[0] << 8, missing = data[1] & 15;
	char *room = malloc(room_size ? room_size : 1);
	if (!room)
		return 0;

	int r = dns_parse(data + 2, size - 2, size - 2 + missing, room, room_size, &m);
	require((r < 0) == (m.malformed[0] != 0));
	require(m.name_length <= sizeof(m.name));
	require_text(m.name, m.name_length);
	require(m.answers.size <= room_size && m.answers.size <= m.answers_size);
	require(m.address_count <= DNS_ADDRESSES_MAX);
	require_answers(&m);
	free(room);
	return 0;
}
