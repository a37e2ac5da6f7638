/*
 * Powers over other processes and over the host that a process may ask the kernel for, and what a
 * session may make that nobody outside must see.
 */
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- processes ---- */

/* Pid 1 hears no signal of its children; were it stopped or dead, nothing would go on. */
void try_processes(void)
{
	static const int signals[] = {SIGKILL, SIGSTOP, SIGTERM, SIGSEGV};
	struct rlimit limit = {0, 0};
	int others = 0;

	for (size_t i = 0; i < COUNT(signals); i++)
		kill(1, signals[i]);
	came("pid 1 lives", kill(1, 0) == 0 || errno == EPERM, "after signals");
	came("limits of pid 1", prlimit(1, RLIMIT_NOFILE, &limit, NULL) < 0, "%s",
	     strerrorname_np(errno));
	for (int pid = 2; pid < 70000; pid++)
		if (pid != getpid() && kill(pid, 0) == 0)
			others++;
	came("processes of others", others <= 1, "%d", others); /* a shell that started us */

	struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
	came("core files", setrlimit(RLIMIT_CORE, &more) < 0, "%s", strerrorname_np(errno));
	came("a rank of its own", setpriority(PRIO_PROCESS, 0, -5) < 0, "%s",
	     strerrorname_np(errno));

	pid_t child = fork();
	int status = 0;
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		_exit(0);
	}
	waitpid(child, &status, 0);
	came("a crash without a core", WIFSIGNALED(status) && !WCOREDUMP(status), "%d", status);
}

/* ---- privileges ---- */

static void try_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
	int ambient = 0;

	came("all capabilities", syscall(SYS_capset, &head, all) < 0, "%s", strerrorname_np(errno));
	for (int c = 0; c < 41; c++)
		ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0) == 0;
	came("ambient capabilities", ambient == 0, "%d", ambient);
	came("no new privileges stays",
	     prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 &&
		     prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
	     "set");
	came("secure bits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0, "%s", strerrorname_np(errno));
	for (int c = 0; c < 41; c++)
		if ((c == CAP_SYS_ADMIN || c == CAP_SYS_PTRACE || c == CAP_SYS_MODULE ||
		     c == CAP_NET_ADMIN || c == CAP_NET_RAW || c == CAP_SYS_RAWIO ||
		     c == CAP_MKNOD || c == CAP_DAC_READ_SEARCH || c == CAP_SYS_CHROOT ||
		     c == CAP_BPF || c == CAP_PERFMON || c == CAP_SYS_RESOURCE) &&
		    prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1)
			came("a capability within reach", false, "%d", c);
}

/* A program that is set-user-id on the host is none here, nor is one that a session would make. */
static void try_set_user_id(void)
{
	static const char *const places[] = {"/usr/bin", "/tmp", "/workspace",
					     "/dev/shm", "/dev", "/proc"};
	struct statvfs fs;

	for (size_t i = 0; i < COUNT(places); i++)
		came("set-user-id programs", statvfs(places[i], &fs) < 0 || (fs.f_flag & ST_NOSUID),
		     "%s", places[i]);
}

static void try_host(void)
{
	struct timex set = {.modes = ADJ_TICK, .tick = 9999};
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	came("the clock", adjtimex(&set) < 0, "%s", strerrorname_np(errno));
	came("a raw socket", socket(AF_INET, SOCK_RAW, 255) < 0, "%s", strerrorname_np(errno));

	/* What listens on the host under an abstract name (CVE-2020-15257). */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "host-%s", mark);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				     strlen(address.sun_path + 1));
	came("an abstract socket of the host", connect(fd, (void *)&address, size) < 0, "%s",
	     strerrorname_np(errno));
	close(fd);
}

void try_privileges(void)
{
	try_capabilities();
	try_set_user_id();
	try_host();
	must_not_open("the system", "/usr/x", O_WRONLY | O_CREAT);
	must_not_open("the system", "/usr/bin/env", O_WRONLY);
	must_not_open("the system", "/etc/shadow", O_RDONLY);
	came("a link to the system", link("/usr/bin/env", "/tmp/env") < 0, "%s",
	     strerrorname_np(errno));
}

/* ---- what is allowed inside ---- */

static void leave_file(const char *directory)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, mark);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	symlink("/etc/passwd", strcat(path, ".link"));
}

/* A process that outlives its parents, ignores what it can, and has the mark as its name. */
static void leave_process(void)
{
	if (fork() != 0)
		return;
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_IGN);
	prctl(PR_SET_NAME, mark, 0, 0, 0);
	for (;;)
		pause();
}

void try_marks(void)
{
	static const char *const places[] = {"/tmp",  "/var/tmp",  "/dev/shm",
					     "/run",  "/run/lock", "/home/agent",
					     "/root", "/etc",	   "/"};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];
	key_t key = (key_t)strtoul(mark + strlen(mark) - 7, NULL, 16);

	for (size_t i = 0; i < COUNT(places); i++)
		leave_file(places[i]);
	came("shared memory of its own", shmget(key, 4096, IPC_CREAT | 0666) >= 0, "%x",
	     (unsigned)key);
	came("semaphores of its own", semget(key, 1, IPC_CREAT | 0666) >= 0, "%x", (unsigned)key);
	came("messages of its own", msgget(key, IPC_CREAT | 0666) >= 0, "%x", (unsigned)key);
	snprintf(name, sizeof(name), "/%s", mark);
	struct mq_attr queue = {.mq_maxmsg = 1, .mq_msgsize = 1};
	came("a message queue of its own", mq_open(name, O_CREAT | O_RDWR, 0666, &queue) >= 0, "%s",
	     name);

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", mark);
	came("an abstract socket of its own",
	     bind(fd, (void *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0, "%s", mark);
	leave_process();
}
