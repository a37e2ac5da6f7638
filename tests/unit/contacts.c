/* Whom a session spoke with: ends, names, bytes and results, put together from single records. */
#include "../../replay/contacts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct contacts *contacts;
static struct actors *actors;

static int set_up(void **state)
{
	(void)state;
	contacts = contacts_new();
	actors = actors_new();
	return !contacts || !actors;
}

static int tear_down(void **state)
{
	(void)state;
	contacts_free(contacts);
	actors_free(actors);
	return 0;
}

static void begin(struct event *e, enum event_kind kind, const char *proc, uint64_t socket)
{
	event_init(e, kind, 1, 1);
	event_put_text(e, FIELD_proc, proc);
	event_put_u64(e, FIELD_pid, 4);
	if (kind_has_field(kind, FIELD_socket))
		event_put_u64(e, FIELD_socket, socket);
	if (kind_has_field(kind, FIELD_protocol))
		event_put_text(e, FIELD_protocol, "tcp");
}

static void take(const struct event *e)
{
	assert_int_equal(actors_add(actors, e), 0);
	assert_int_equal(contacts_add(contacts, actors, e), 0);
}

static void connects(uint64_t socket, const char *address, const char *name, int64_t result)
{
	struct event e;

	begin(&e, EVENT_net_connect, "4-a", socket);
	event_put_text(&e, FIELD_dst_address, address);
	event_put_u64(&e, FIELD_dst_port, 443);
	event_put_text(&e, FIELD_name, name);
	event_put_i64(&e, FIELD_result, result);
	take(&e);
}

static void closes(uint64_t socket, const char *address, uint64_t port, uint64_t sent,
		   uint64_t received)
{
	struct event e;

	begin(&e, EVENT_net_close, "4-a", socket);
	event_put_text(&e, FIELD_dst_address, address);
	event_put_u64(&e, FIELD_dst_port, port);
	event_put_u64(&e, FIELD_bytes_sent, sent);
	event_put_u64(&e, FIELD_bytes_received, received);
	take(&e);
}

static void one_end_is_one_contact(void **state)
{
	struct contact contact;

	(void)state;
	connects(1, "10.0.0.1", "a.test", 0);
	closes(1, "10.0.0.1", 443, 10, 20);
	connects(2, "10.0.0.1", "b.test", -EINPROGRESS);
	closes(2, "10.0.0.1", 443, 1, 2);
	connects(3, "10.0.0.1", "a.test", -ECONNREFUSED);
	connects(4, "10.0.0.1", NULL, -ECONNREFUSED);
	connects(5, "10.0.0.1", NULL, -ETIMEDOUT);
	assert_int_equal(contacts_count(contacts), 1);
	contact = contacts_get(contacts, 0);
	assert_int_equal(contact.way, WAY_OUT);
	assert_int_equal(contact.tries, 5);
	assert_int_equal(contact.failed, 3);
	assert_int_equal(contact.results[0].error, ECONNREFUSED);
	assert_int_equal(contact.results[0].count, 2);
	assert_int_equal(contact.results[1].error, ETIMEDOUT);
	assert_int_equal(contact.sent, 11);
	assert_int_equal(contact.received, 22);
	assert_int_equal(contact.port, 443);
	assert_int_equal(contact.name_count, 2);
	assert_memory_equal(contact.address.data, "10.0.0.1", 8);
	assert_memory_equal(contacts_name(contacts, contact.names[1]).name.data, "b.test", 6);
	assert_int_equal(contact.by.count, 1);
}

static void what_came_in_is_told_by_our_port(void **state)
{
	struct contact contact;
	struct event e;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		begin(&e, EVENT_net_accept, "4-a", 100 + i);
		event_put_text(&e, FIELD_src_address, "10.0.0.9");
		event_put_u64(&e, FIELD_src_port, 80);
		event_put_text(&e, FIELD_dst_address, "10.0.0.2");
		event_put_u64(&e, FIELD_dst_port, 40000 + i);
		take(&e);
		closes(100 + i, "10.0.0.2", 40000 + i, 5, 7);
	}
	assert_int_equal(contacts_count(contacts), 1); /* and not one for every port of a client */
	contact = contacts_get(contacts, 0);
	assert_int_equal(contact.way, WAY_IN);
	assert_int_equal(contact.port, 80);
	assert_int_equal(contact.tries, 3);
	assert_int_equal(contact.sent, 15);
	assert_int_equal(contact.received, 21);
}

static void bytes_of_a_socket_that_was_not_seen_before_are_kept(void **state)
{
	struct contact contact;

	(void)state;
	closes(77, "10.9.9.9", 22, 4, 0); /* its connect is in a gap */
	assert_int_equal(contacts_count(contacts), 1);
	contact = contacts_get(contacts, 0);
	assert_int_equal(contact.tries, 0);
	assert_int_equal(contact.sent, 4);
}

static void names_have_their_questions_and_answers(void **state)
{
	static const char answers[] = "A 10.0.0.1\0A 10.0.0.2";
	struct contact_name name;
	struct event e;

	(void)state;
	begin(&e, EVENT_dns_query, "4-a", 5);
	event_put_text(&e, FIELD_name, "a.test");
	take(&e);
	begin(&e, EVENT_dns_answer, "4-a", 5);
	event_put_text(&e, FIELD_name, "a.test");
	event_put_text(&e, FIELD_rcode, "NXDOMAIN");
	take(&e);
	event_put_text(&e, FIELD_rcode, "NOERROR");
	event_put_bytes(&e, FIELD_answers, answers, sizeof(answers));
	take(&e);
	begin(&e, EVENT_egress_verdict, "4-a", 0);
	event_put_text(&e, FIELD_name, "a.test");
	event_put_text(&e, FIELD_verdict, "deny");
	take(&e);
	assert_int_equal(contacts_name_count(contacts), 1);
	name = contacts_name(contacts, 0);
	assert_int_equal(name.queries, 1);
	assert_int_equal(name.answers, 2);
	assert_int_equal(name.failures, 1);
	assert_int_equal(name.denied, 1);
	assert_int_equal(name.answered.size, sizeof(answers));
}

static void what_finds_no_room_is_counted(void **state)
{
	static char huge[1000];

	(void)state;
	memset(huge, 'x', sizeof(huge) - 1);
	connects(1, huge, NULL, 0);
	assert_int_equal(contacts_count(contacts), 0);
	assert_int_equal(contacts_left_out(contacts), 1);
	for (uint64_t i = 0; i < CONTACTS_MAX + 10; i++) {
		char address[32];

		snprintf(address, sizeof(address), "10.%u.%u.%u", (unsigned int)(i >> 16),
			 (unsigned int)(i >> 8 & 255), (unsigned int)(i & 255));
		connects(i, address, NULL, 0);
	}
	assert_int_equal(contacts_count(contacts), CONTACTS_MAX);
	assert_int_equal(contacts_left_out(contacts), 11);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(one_end_is_one_contact),
		TEST(what_came_in_is_told_by_our_port),
		TEST(bytes_of_a_socket_that_was_not_seen_before_are_kept),
		TEST(names_have_their_questions_and_answers),
		TEST(what_finds_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
