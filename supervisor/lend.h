/*
 * The requests record.list, record.open and record.more: a user who may not read the state
 * directory reads the records of the sessions that the user asked for. What is lent are files, open
 * for reading alone: no descriptor of a directory, so nothing leads from one record to another.
 */
#pragma once

#include "client.h"

/* The manifests of the client's own records behind the id "after", a page of them. */
void lend_list(struct client *c, struct control_message *m);
/* That the record is read is written down; then the first page of its files. */
void lend_open(struct client *c, struct control_message *m);
/* The files behind "after" of the record that was opened by this connection. */
void lend_more(struct client *c, struct control_message *m);
