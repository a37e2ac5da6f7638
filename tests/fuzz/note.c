/* Fuzz: the readers of checkpoints and of lines of the ledger: what they take is written so. */
#include "supervisor/record/note.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(const uint8_t *data, size_t size)
{
	static const uint8_t seed[SIGN_SEED_SIZE];
	uint8_t public[SIGN_PUBLIC_SIZE];
	struct ledger_line line;

	if (sign_public(seed, public))
		__builtin_trap();
	while (size) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t length = newline ? (size_t)(newline - data) : size;
		struct bytes text = {data, length};

		if (!ledger_line_read(text, &line) && ledger_line_is_signed(text, &line, public))
			__builtin_trap(); /* nothing was signed with that key */
		length += newline != NULL;
		data += length;
		size -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t seed[SIGN_SEED_SIZE];
	struct bytes text = {data, size};
	struct note note, again;
	char room[NOTE_MAX];
	int length = note_read(text, &note);

	if (length > 0) {
		if ((size_t)length > size || length > NOTE_MAX)
			__builtin_trap();
		note_is_signed((struct bytes){data, (size_t)length}, &note);
		length = note_write(&note, seed, room);
		if (length < 0 ||
		    note_read((struct bytes){room, (size_t)length}, &again) != length ||
		    !note_is_signed((struct bytes){room, (size_t)length}, &again))
			__builtin_trap();
	}
	read_lines(data, size);
	return 0;
}
