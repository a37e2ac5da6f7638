/*
 * A second wall around a session, of the kernel's other kind (Landlock): it holds where a
 * namespace, a capability or a mount option should fail to. No device node can be made anywhere;
 * devices outside of /dev take no ioctl; abstract UNIX sockets and processes outside of the session
 * cannot be reached, which with the host's network nothing else forbids. What a session does in its
 * own files it does not touch, and opening them costs no more.
 */
#pragma once

/* How much of it the kernel has: its ABI from 1 on, or -errno (-ENOSYS, -EOPNOTSUPP: none). */
int landlock_wall_abi(void);

#define LANDLOCK_WALL_WHOLE 6 /* ABI from which on all of the above holds */

/*
 * Raise it around the calling process and all that it will start, which may not gain privileges any
 * more. What the kernel does not know is left out. 0, also where there is no Landlock, or -errno.
 */
int landlock_wall_raise(void);
