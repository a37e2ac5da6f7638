/* The JSON files in which the state directory keeps what is known of templates. */
#pragma once

#include "template_store.h"

/* Replace the file @name below @dir_fd, whole or not at all. 0 or -errno. */
int template_file_write(int dir_fd, const char *name, const struct template_info *info);

/* -EBADMSG if it is no such file. */
int template_file_read(int dir_fd, const char *name, struct template_info *ret_info);
