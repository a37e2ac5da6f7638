/*
 * What dies with a recorder: records that it had not written, and what it had read of streams. The
 * recorder tells how much that is while it lives (capture/in_hand.h), and the record of each
 * session gets its gaps from who finishes it.
 */
#pragma once

struct session;

/* The session is watched: from here on its slot's counts are its own. 0 or -errno. */
int session_loss_begin(struct session *s);
/* The recorder died, and all that ran and was watched is dead. */
void session_loss_measure(struct session *s);
/* The record is open anew: tell what is missing. */
void session_loss_tell(struct session *s);
