/*
 * Steps of making a sandbox and of starting a command in it: what an error is blamed on. One row a
 * step, in the order in which they happen: STEP(name, "what was done", "what has to be there").
 */
#pragma once

#define SETUP_STEPS(STEP)                                                                          \
	STEP(options, "checking the options", "")                                                  \
	STEP(cgroup, "making the session's cgroup",                                                \
	     "the cgroup v2 hierarchy has to be mounted and writable")                             \
	STEP(skeleton, "copying the listed files of /etc", "")                                     \
	STEP(workspace, "binding /workspace", "")                                                  \
	STEP(workspace_ids, "mapping the owner of /workspace",                                     \
	     "its file system has to support idmapped mounts (ext4, xfs, btrfs, tmpfs from 6.3)")  \
	STEP(template_ids, "mapping the owners of the template's files",                           \
	     "its file system has to support idmapped mounts (ext4, xfs, btrfs, tmpfs from 6.3)")  \
	STEP(launcher, "asking the launcher", "")                                                  \
	STEP(upper, "making the ephemeral upper", "the kernel has to have tmpfs")                  \
	STEP(overlay, "mounting the root", "the kernel has to have overlayfs")                     \
	STEP(mounts, "mounting inside the session", "")                                            \
	STEP(watch, "watching the session's file systems with fanotify",                           \
	     "fs.fanotify.max_user_groups and max_user_marks have to leave room for one more")     \
	STEP(network, "bringing up the loopback device", "")                                       \
	STEP(clone, "making the namespaces",                                                       \
	     "user.max_user_namespaces and its siblings have to leave room")                       \
	STEP(root, "changing the root", "")                                                        \
	STEP(host_name, "setting the host name", "")                                               \
	STEP(ids, "mapping the user ids", "")                                                      \
	STEP(identity, "becoming the user", "")                                                    \
	STEP(proc, "mounting /proc",                                                               \
	     "/proc of the host must not be covered where the launcher runs")                      \
	STEP(devices, "mounting /dev/pts", "the kernel has to have devpts")                        \
	STEP(capabilities, "dropping capabilities", "")                                            \
	STEP(streams, "placing the standard streams", "")                                          \
	STEP(init, "starting vitrine-init", "")                                                    \
	STEP(wall, "raising the Landlock wall", "")                                                \
	STEP(start, "starting a process in the command's cgroup", "")                              \
	STEP(terminal, "making the terminal", "")                                                  \
	STEP(limits, "setting the limits", "")                                                     \
	STEP(directory, "changing to the working directory", "")                                   \
	STEP(filter, "loading the system call filter", "the kernel has to have seccomp filters")   \
	STEP(gate, "waiting for the record", "the recorder has to be able to write it")            \
	STEP(execute, "executing the command", "")

enum setup_step {
	SETUP_NONE,
#define STEP(name, act, need) SETUP_##name,
	SETUP_STEPS(STEP)
#undef STEP
		SETUP_COUNT
};

/* Static texts; "" for a number that is no step. */
const char *setup_step_name(unsigned step);
const char *setup_step_act(unsigned step);
const char *setup_step_need(unsigned step);
