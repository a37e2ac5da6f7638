/*
 * What the file records' numbers mean, and the map of files that were opened for writing. For both
 * sides; wire.h comes before it.
 */
#pragma once

/* `state` of a file_open. */
enum file_open_state {
	FILE_OPEN_CREATED = 1, /* the call made the file */
	FILE_OPEN_LATE = 2,    /* not seen when it was opened, found in use */
	FILE_OPEN_UNSEEN = 4,  /* its descriptor was given to another file before the call returned:
				  directory and requested are all that is known */
};

/* `methods` of a file_modify. */
#define FILE_METHODS(METHOD)                                                                       \
	METHOD(write)                                                                              \
	METHOD(sendfile)                                                                           \
	METHOD(splice)                                                                             \
	METHOD(copy_file_range)                                                                    \
	METHOD(mmap)                                                                               \
	METHOD(fallocate)                                                                          \
	METHOD(truncate)                                                                           \
	METHOD(clone)

enum file_method_bit {
#define METHOD(name) FILE_METHOD_BIT_##name,
	FILE_METHODS(METHOD)
#undef METHOD
};

enum file_method {
#define METHOD(name) FILE_METHOD_##name = 1 << FILE_METHOD_BIT_##name,
	FILE_METHODS(METHOD)
#undef METHOD
};

/* `operation` of a file_name. */
enum file_name_operation {
	FILE_NAME_UNLINK = 1,
	FILE_NAME_RMDIR,
	FILE_NAME_RENAME,
	FILE_NAME_LINK,
	FILE_NAME_SYMLINK,
	FILE_NAME_MKDIR,
	FILE_NAME_MKNOD,
};

/* `change` of a file_attr. */
enum file_attr_change {
	FILE_ATTR_MODE = 1,
	FILE_ATTR_OWNER,
	FILE_ATTR_XATTR,
	FILE_ATTR_TIMES,
	FILE_ATTR_FLAGS,
	FILE_ATTR_SIZE,
};

/* `known` of a file_name and a file_attr. */
enum file_known {
	FILE_KNOWN_OBJECT = 1, /* the call had a descriptor of the object: its path, dev, ino, size
				  and mode are the kernel's */
	FILE_KNOWN_OLD_SIZE = 2,
	FILE_REMOVED = 4,  /* of an extended attribute */
	FILE_NOFOLLOW = 8, /* the link itself, not what it leads to */
};

/*
 * `written_files`: one entry for each open file description that may be written to, and each
 * session that uses it. It lives from the open to the last close.
 */
struct written_key {
	__u64 file; /* the kernel's struct file */
	__u32 slot;
	__u32 reserved;
};

#define WRITERS_LISTED 8

struct written_file {
	__u64 file_id; /* joins the records of this description; unique in the session */
	__u64 inode;   /* the kernel's struct inode: tells whether the file is still the same one */
	__u64 dev;     /* s_dev */
	__u64 ino;
	__u64 bytes;
	__u64 size;	/* as last seen */
	__u64 renames;	/* renames of the host when the path was read */
	__u64 start_ns; /* the last writer: as in struct wire_head */
	__u64 cgroup;
	__u64 walk; /* used while a table of descriptors is walked */
	__u32 walk_seen;
	__u32 is_gone; /* found dead when the session's last process had ended */
	__u32 pid;
	__u32 ns_pid;
	__u32 methods;
	__u32 mode;
	__u32 writers;		      /* different processes that wrote */
	__u32 writer[WRITERS_LISTED]; /* the first of them */
	__u32 reserved;
};

/*
 * How many of a session's last opens for writing user space remembers the paths of, and the longest
 * such path. A file_modify brings the path itself where it cannot be remembered, or may have
 * changed.
 */
#define REMEMBERED_OPENS 2048 /* a power of two */
#define REMEMBERED_PATH_MAX 192

/* `file_counts`, per slot. */
struct file_counts {
	__u64 opens; /* file ids given; only grows */
	__s64 live;  /* entries of the session in `written_files` */
};
