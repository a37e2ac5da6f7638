/* NULL-terminated lists of owned strings: argument vectors and environments. */
#pragma once

/* Free the strings and the list; every string is wiped first, for an environment holds secrets.
 * NULL is allowed. */
void text_list_free(char **list);

/* Put NAME=value into the environment *@list (NULL: empty), in place of one of that name. 0 or
 * -ENOMEM. */
int text_list_set_env(char ***list, const char *name, const char *value);
