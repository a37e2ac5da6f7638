/*
 * Fuzz: DNS over TCP. The input is a row of pieces: four bytes each (stream and direction, flags,
 * place, size) and the data. What is found must have been sent.
 */
#include "../../supervisor/capture/dns_stream.h"

#include "../../supervisor/capture/capture.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int found(void *context, const struct wire_dns_packet *packet, const void *message,
		 size_t size, const char *why)
{
	size_t *bytes = context;

	if ((message == NULL) == (why == NULL) || packet->cookie > 3 || size > 65535)
		__builtin_trap();
	/* Reading all of it shows a sanitizer what is not there. */
	for (size_t i = 0; i < size; i++)
		*bytes += ((const uint8_t *)message)[i] & 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_streams *s;
	size_t bytes = 0;

	if (dns_streams_new(&s) < 0)
		return 0;
	while (size >= 4) {
		struct wire_dns_packet packet = {
			.cookie = data[0] & 3,
			.egress = data[0] >> 2 & 1,
			.tcp_flags = data[1] & 7,
			.tcp_sequence = UINT32_MAX - 64 + data[2],
		};
		size_t length = data[3], here = length < size - 4 ? length : size - 4;

		packet.full_length = (uint32_t)(here + (data[1] >> 6));
		if (dns_streams_add(s, &packet, data + 4, here, found, &bytes) < 0)
			break;
		data += 4 + here;
		size -= 4 + here;
	}
	dns_streams_end(s, found, &bytes);
	dns_streams_free(s);
	return 0;
}
