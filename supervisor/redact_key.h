/* vitrine redact key, rotate and tag: the key under which redaction makes its tags. */
#pragma once

/* One of "key", "rotate" and "tag"; @state: the state directory that the key belongs to. Says by
 * itself what is wrong. An exit status. */
int redact_key_run(const char *act, const char *state);
