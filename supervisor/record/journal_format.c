/*
 * The structures of journal_format.h as bytes and back.
 */
#include "journal_format.h"
#include "crc32c.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define VERSION 1

static const char magic[8] = {'v', 'i', 't', 'r', 'i', 'n', 'e', '\n'};

static void put_u32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void put_u64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

void segment_name(uint32_t number, const char *suffix, char ret_name[SEGMENT_NAME_SIZE])
{
	snprintf(ret_name, SEGMENT_NAME_SIZE, "%06u.vtj%s", number, suffix);
}

bool segment_number(const char *name, uint32_t *ret_number)
{
	uint32_t number = 0;

	for (int i = 0; i < 6; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		number = number * 10 + (uint32_t)(name[i] - '0');
	}
	if (strcmp(name + 6, ".vtj") != 0)
		return false;
	*ret_number = number;
	return true;
}

void segment_head_put(const struct segment_head *head, uint8_t at[SEGMENT_HEAD_SIZE])
{
	memset(at, 0, SEGMENT_HEAD_SIZE);
	memcpy(at, magic, sizeof(magic));
	put_u32(at + 8, VERSION);
	put_u32(at + 12, head->number);
	put_u64(at + 16, head->first_seq);
	put_u64(at + 24, head->salt);
	memcpy(at + 32, head->session, strnlen(head->session, SEGMENT_SESSION_SIZE));
	memcpy(at + 64, head->previous, HASH_SIZE);
	put_u64(at + 96, head->blocks);
	put_u32(at + 124, crc32c(0, at, 124));
}

bool segment_head_get(const uint8_t at[SEGMENT_HEAD_SIZE], struct segment_head *ret_head)
{
	struct segment_head head = {
		.number = get_u32(at + 12),
		.first_seq = get_u64(at + 16),
		.salt = get_u64(at + 24),
		.blocks = get_u64(at + 96),
	};

	if (memcmp(at, magic, sizeof(magic)) != 0 || get_u32(at + 8) != VERSION ||
	    get_u32(at + 124) != crc32c(0, at, 124))
		return false;
	memcpy(head.session, at + 32, SEGMENT_SESSION_SIZE);
	memcpy(head.previous, at + 64, HASH_SIZE);
	*ret_head = head;
	return true;
}

static uint32_t frame_head_crc(uint64_t salt, const uint8_t *at)
{
	salt = htole64(salt);
	return crc32c(crc32c(0, &salt, sizeof(salt)), at, 8);
}

void frame_head_put(uint64_t salt, enum frame_type type, struct bytes payload,
		    uint8_t at[FRAME_HEAD_SIZE])
{
	put_u32(at, (uint32_t)payload.size | (uint32_t)type << 28);
	put_u32(at + 4, crc32c(0, payload.data, payload.size));
	put_u32(at + 8, frame_head_crc(salt, at));
}

bool frame_head_get(uint64_t salt, const uint8_t at[FRAME_HEAD_SIZE], struct frame_head *ret_head)
{
	struct frame_head head = {
		.type = get_u32(at) >> 28,
		.length = get_u32(at) & 0x0fffffff,
		.crc = get_u32(at + 4),
	};

	if (get_u32(at + 8) != frame_head_crc(salt, at) || head.type < FRAME_RECORD ||
	    head.type > FRAME_PACKED || head.length > FRAME_PAYLOAD_MAX)
		return false;
	*ret_head = head;
	return true;
}

void seal_put(const struct seal *seal, uint8_t at[SEAL_SIZE])
{
	put_u64(at, seal->block);
	put_u64(at + 8, seal->first_seq);
	put_u64(at + 16, seal->count);
	put_u64(at + 24, seal->first_time_ns);
	put_u64(at + 32, seal->last_time_ns);
	put_u64(at + 40, seal->bytes);
	put_u32(at + 48, seal->crc);
	put_u32(at + 52, 0);
	memcpy(at + 56, seal->content, HASH_SIZE);
	memcpy(at + 88, seal->previous, HASH_SIZE);
}

bool seal_get(struct bytes payload, struct seal *ret_seal)
{
	const uint8_t *at = payload.data;

	if (payload.size != SEAL_SIZE || get_u32(at + 52))
		return false;
	ret_seal->block = get_u64(at);
	ret_seal->first_seq = get_u64(at + 8);
	ret_seal->count = get_u64(at + 16);
	ret_seal->first_time_ns = get_u64(at + 24);
	ret_seal->last_time_ns = get_u64(at + 32);
	ret_seal->bytes = get_u64(at + 40);
	ret_seal->crc = get_u32(at + 48);
	memcpy(ret_seal->content, at + 56, HASH_SIZE);
	memcpy(ret_seal->previous, at + 88, HASH_SIZE);
	return true;
}

void finish_put(const struct finish *finish, uint8_t at[FINISH_SIZE])
{
	put_u64(at, finish->next_seq);
	put_u32(at + 8, finish->is_closed);
	put_u32(at + 12, finish->blocks);
	memcpy(at + 16, finish->last, HASH_SIZE);
}

bool finish_get(struct bytes payload, struct finish *ret_finish)
{
	const uint8_t *at = payload.data;

	if (payload.size != FINISH_SIZE || get_u32(at + 8) > 1)
		return false;
	ret_finish->next_seq = get_u64(at);
	ret_finish->is_closed = get_u32(at + 8);
	ret_finish->blocks = get_u32(at + 12);
	memcpy(ret_finish->last, at + 16, HASH_SIZE);
	return true;
}

void packed_head_put(const struct packed_head *head, uint8_t at[PACKED_HEAD_SIZE])
{
	put_u64(at, head->first_seq);
	put_u64(at + 8, head->count);
	put_u64(at + 16, head->bytes);
}

bool packed_head_get(struct bytes payload, struct packed_head *ret_head)
{
	const uint8_t *at = payload.data;

	if (payload.size < PACKED_HEAD_SIZE)
		return false;
	ret_head->first_seq = get_u64(at);
	ret_head->count = get_u64(at + 8);
	ret_head->bytes = get_u64(at + 16);
	return ret_head->bytes <= FRAME_PAYLOAD_MAX;
}
