/*
 * Digits are seconds; everything else is a date or nothing.
 */
#include "retry_after.h"

#include <curl/curl.h>
#include <string.h>

static uint64_t at_most(uint64_t seconds)
{
	return (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * 1000;
}

static uint64_t seconds_of(const char *digits, size_t count)
{
	uint64_t seconds = 0;

	for (size_t i = 0; i < count && seconds < RETRY_AFTER_MAX_S; i++)
		seconds = seconds * 10 + (uint64_t)(digits[i] - '0');
	return seconds;
}

uint64_t retry_after_ms(const char *text, time_t now)
{
	size_t digits, end;
	time_t date;

	if (!text)
		return 0;
	text += strspn(text, " \t");
	digits = strspn(text, "0123456789");
	end = digits + strspn(text + digits, " \t\r\n");
	if (digits && !text[end])
		return at_most(seconds_of(text, digits));
	/* curl takes many things for a date; those of HTTP begin with the day of the week. */
	if (!memchr("MTWFS", *text, 5))
		return 0;
	date = curl_getdate(text, NULL);
	return date > now ? at_most((uint64_t)(date - now)) : 0;
}
