/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not begun again, and what is brought to its end, although samples come: calls that a
 * handler of the program's has ended, waits that are over, transfers and receives of every kind,
 * room in files, children on the same memory.
 */
#include "../behave.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <threads.h>

#define BYTES (16u << 20)

static sigset_t full_set(void)
{
	sigset_t set;
	sigfillset(&set);
	return set;
}

/* ---- calls that a handler ends ---- */

static int empty[2], feed[2];

static void on_alarm(int signal)
{
	char byte;
	(void)signal;
	spin();
	for (int round = 0; round < 20; round++)
		syscall(SYS_getppid); /* more than 0 */
	if (read(empty[0], &byte, 1) >= 0)
		say("read something\n");
	spin();
}

static void alarm_in(long microseconds)
{
	MUST(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, microseconds}}, NULL));
}

/* How many of 60 reads a handler without SA_RESTART ends, which itself makes calls. */
static int reads_ended(int flags)
{
	int ended_reads = 0;
	MUST(pipe2(empty, O_NONBLOCK));
	MUST(pipe(feed));
	set_handler(SIGALRM, on_alarm, flags);
	for (int round = 0; round < 60; round++) {
		char byte;
		spin();
		alarm_in(6000);
		ended_reads += read(feed[0], &byte, 1) < 0 && errno == EINTR;
	}
	return ended_reads;
}

CASE(handled_read)
{
	say("%d\n", reads_ended(0));
}

CASE(handled_read_on_stack)
{
	static char stack[65536];
	MUST(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = 24576}, NULL));
	say("%d\n", reads_ended(SA_ONSTACK));
}

CASE(handled_write)
{
	static char bytes[200000];
	int shorts = 0;
	MUST(pipe2(empty, O_NONBLOCK));
	MUST(pipe(feed));
	set_handler(SIGALRM, on_alarm, 0);
	for (int round = 0; round < 60; round++) {
		alarm_in(8000);
		ssize_t written = write(feed[1], bytes, sizeof(bytes));
		shorts += written == 65536;
		for (ssize_t got = 0; got < written;)
			got += read(feed[0], bytes, sizeof(bytes));
	}
	say("%d\n", shorts);
}

/* ---- waits ---- */

CASE(sleep_to_its_end)
{
	int told = 0;
	for (int round = 0; round < 2000; round++) {
		struct timespec left = {-7, -7};
		spin();
		if (!nanosleep(&(struct timespec){0, 20000}, &left))
			told += left.tv_sec != -7;
		left = (struct timespec){-7, -7};
		if (!clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 20000}, &left))
			told += left.tv_sec != -7;
	}
	say("told what is left: %d\n", told);
}

static void on_nothing(int signal)
{
	(void)signal;
}

CASE(sleep_left)
{
	set_handler(SIGALRM, on_nothing, 0);
	alarm_in(300000);
	say("%u\n", sleep(10));
}

static sigjmp_buf back;

static void jump_back(int signal)
{
	siglongjmp(back, signal);
}

CASE(epoll_after_a_jump)
{
	struct epoll_event event = {.events = EPOLLIN};
	int poll_fd = MUST(epoll_create1(0)), early = 0;
	MUST(pipe(feed));
	MUST(epoll_ctl(poll_fd, EPOLL_CTL_ADD, feed[0], &event));
	set_handler(SIGALRM, jump_back, 0);
	alarm_in(20000);
	if (!sigsetjmp(back, 1))
		epoll_wait(poll_fd, &event, 1, 100);
	for (int round = 0; round < 600; round++) {
		spin();
		uint64_t start = now_ns(CLOCK_MONOTONIC);
		if (syscall(SYS_epoll_wait, poll_fd, &event, 1, 2) < 0)
			say("%s\n", strerror(errno));
		early += now_ns(CLOCK_MONOTONIC) - start < 1900000;
	}
	say("early: %d\n", early);
}

CASE(messages_in_time)
{
	int ends[2], odd = 0;
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	for (int round = 0; round < 20000; round++) {
		char bytes[4][8];
		struct iovec piece[4];
		struct mmsghdr message[4] = {0};
		for (int index = 0; index < 4; index++) {
			piece[index] = (struct iovec){bytes[index], 8};
			message[index].msg_hdr.msg_iov = &piece[index];
			message[index].msg_hdr.msg_iovlen = 1;
		}
		send(ends[0], "a", 1, 0);
		odd += recvmmsg(ends[1], message, 4, 0, &(struct timespec){0, 1}) != 1;
	}
	say("odd: %d\n", odd);
}

/* ---- transfers ---- */

CASE(endless_devices)
{
	char *bytes = malloc(BYTES);
	struct iovec piece = {bytes, BYTES};
	int zero = MUST(open("/dev/zero", O_RDWR)), shorts[4] = {0};
	for (int round = 0; round < 12; round++) {
		shorts[0] += readv(zero, &piece, 1) != BYTES;
		shorts[1] += pread(zero, bytes, BYTES, 0) != BYTES;
		shorts[2] += preadv(zero, &piece, 1, 0) != BYTES;
		shorts[3] += preadv2(zero, &piece, 1, -1, 0) != BYTES;
	}
	say("%d %d %d %d\n", shorts[0], shorts[1], shorts[2], shorts[3]);
}

static void *drain(void *end)
{
	static char bytes[65536];
	while (read(*(int *)end, bytes, sizeof(bytes)) > 0)
		;
	return NULL;
}

CASE(pwritev2_pipe)
{
	struct iovec piece = {calloc(1, BYTES), BYTES};
	pthread_t thread;
	int shorts = 0;
	MUST(pipe(feed));
	pthread_create(&thread, NULL, drain, &feed[0]);
	for (int round = 0; round < 12; round++)
		shorts += pwritev2(feed[1], &piece, 1, -1, 0) != BYTES;
	say("%d\n", shorts);
}

CASE(room_in_memory)
{
	int refused = 0;
	for (int round = 0; round < 6; round++) {
		int file = MUST(memfd_create("x", 0));
		refused += fallocate(file, 0, 0, 192 << 20) != 0;
		close(file);
		file = MUST(memfd_create("x", 0));
		refused += posix_fallocate(file, 0, 192 << 20) != 0;
		close(file);
		file = MUST(memfd_create("x", 0));
		refused += syscall(SYS_fallocate, file, 0, 0L, 192L << 20) != 0;
		close(file);
	}
	say("%d\n", refused);
}

/* One notification for each call, whether it was made in a wrapper or by number. */
CASE(zero_copy)
{
	enum { ROUNDS = 24, SENT = 8 << 20 };
	int on = 1, listening = MUST(socket(AF_INET, SOCK_STREAM, 0)), ends[2], shorts = 0;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	struct iovec piece = {calloc(1, SENT), SENT};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};
	uint32_t last = 0;
	pthread_t thread;
	MUST(bind(listening, (struct sockaddr *)&address, length));
	MUST(listen(listening, 1));
	MUST(getsockname(listening, (struct sockaddr *)&address, &length));
	ends[1] = MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(connect(ends[1], (struct sockaddr *)&address, length));
	ends[0] = MUST(accept(listening, NULL, NULL));
	if (setsockopt(ends[1], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		skip("no zero copy");
	pthread_create(&thread, NULL, drain, &ends[0]);
	for (uint32_t sent = 1; sent <= ROUNDS; sent++) {
		shorts += sent % 4 == 0 ? send(ends[1], piece.iov_base, SENT, MSG_ZEROCOPY) != SENT
			  : sent % 4 == 1 ? sendmsg(ends[1], &message, MSG_ZEROCOPY) != SENT
			  : sent % 4 == 2 ? sendmmsg(ends[1], &messages, 1, MSG_ZEROCOPY) != 1 ||
						messages.msg_len != SENT
					  : syscall(SYS_sendto, ends[1], piece.iov_base, SENT,
						    MSG_ZEROCOPY, NULL, 0) != SENT;
		struct pollfd told = {.fd = ends[1]};
		while (last < sent && poll(&told, 1, 5000) > 0) {
			char control[256];
			struct msghdr error = {.msg_control = control,
					       .msg_controllen = sizeof(control)};
			MUST(recvmsg(ends[1], &error, MSG_ERRQUEUE));
			const struct sock_extended_err *of =
			    (const void *)CMSG_DATA(CMSG_FIRSTHDR(&error));
			last = of->ee_data + 1;
		}
	}
	say("%d short, %u notified\n", shorts, last);
}

/* From file to file, where files may not become larger than a limit that is far away. */
CASE(files_below_a_limit)
{
	enum { MOVED = 256 << 20 };
	int from = MUST(memfd_create("from", 0)), to = MUST(memfd_create("to", 0)), shorts[3] = {0};
	struct rlimit limit = {1L << 40, 1L << 40};
	MUST(fallocate(from, 0, 0, MOVED));
	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	for (int round = 0; round < 8; round++) {
		off_t at = 0, to_at = 0;
		lseek(to, 0, SEEK_SET);
		shorts[0] += sendfile(to, from, &at, MOVED) != MOVED;
		at = 0;
		shorts[1] += copy_file_range(from, &at, to, &to_at, MOVED, 0) != MOVED;
		at = to_at = 0;
		shorts[2] +=
		    syscall(SYS_copy_file_range, from, &at, to, &to_at, (long)MOVED, 0) != MOVED;
	}
	say("%d %d %d\n", shorts[0], shorts[1], shorts[2]);
}

static void on_size(int signal)
{
	(void)signal;
	say("too large\n");
}

/* Where the limit is what ends it, it is not asked for again. */
CASE(files_up_to_a_limit)
{
	enum { MOVED = 64 << 20, MOST = 40 << 20 };
	int from = MUST(memfd_create("from", 0)), to = MUST(memfd_create("to", 0));
	struct rlimit limit = {MOST, MOST};
	MUST(fallocate(from, 0, 0, MOVED));
	signal(SIGXFSZ, on_size);
	MUST(setrlimit(RLIMIT_FSIZE, &limit));
	for (int round = 0; round < 8; round++) {
		off_t at = 0, to_at = 0;
		lseek(to, 0, SEEK_SET);
		SAY_RESULT(sendfile(to, from, &at, MOVED));
		at = 0;
		SAY_RESULT(copy_file_range(from, &at, to, &to_at, MOVED, 0));
	}
}

static void *receive_each(void *end)
{
	char bytes[64];
	while (recv(*(int *)end, bytes, sizeof(bytes), 0) > 0)
		;
	return NULL;
}

static void *send_each(void *end)
{
	while (send(*(int *)end, "x", 1, MSG_NOSIGNAL) > 0)
		;
	return NULL;
}

CASE(many_messages)
{
	enum { COUNT = 64 };
	static char bytes[COUNT][64];
	int there[2], here[2], shorts[4] = {0};
	struct mmsghdr message[COUNT] = {0};
	struct iovec piece[COUNT];
	pthread_t thread;
	for (int index = 0; index < COUNT; index++) {
		piece[index] = (struct iovec){bytes[index], 64};
		message[index].msg_hdr.msg_iov = &piece[index];
		message[index].msg_hdr.msg_iovlen = 1;
	}
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, there));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, here));
	pthread_create(&thread, NULL, receive_each, &there[1]);
	pthread_create(&thread, NULL, send_each, &here[0]);
	for (int round = 0; round < 600; round++) {
		shorts[0] += sendmmsg(there[0], message, COUNT, 0) != COUNT;
		shorts[1] += syscall(SYS_sendmmsg, there[0], message, COUNT, 0) != COUNT;
		shorts[2] += recvmmsg(here[1], message, COUNT, 0, NULL) != COUNT;
		shorts[3] += syscall(SYS_recvmmsg, here[1], message, COUNT, 0, NULL) != COUNT;
	}
	say("%d %d %d %d\n", shorts[0], shorts[1], shorts[2], shorts[3]);
}

/* One datagram is all that MSG_WAITALL waits for. */
CASE(receive_all_of_a_datagram)
{
	int ends[2], odd = 0;
	char bytes[100];
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	for (int round = 0; round < 30000; round++) {
		send(ends[0], "12345", 5, 0);
		send(ends[0], "67", 2, 0);
		odd += recv(ends[1], bytes, sizeof(bytes), MSG_WAITALL) != 5;
		odd += recv(ends[1], bytes, sizeof(bytes), MSG_WAITALL) != 2;
	}
	say("odd: %d\n", odd);
}

CASE(completions)
{
	enum { BATCH = 16 };
	struct io_uring_params about = {0};
	long ring = syscall(SYS_io_uring_setup, 32, &about);
	if (ring < 0)
		skip("no io_uring here");
	char *sent = mmap(NULL, about.sq_off.array + about.sq_entries * 4, 3, MAP_SHARED, (int)ring,
			  IORING_OFF_SQ_RING);
	char *done = mmap(NULL, about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe),
			  3, MAP_SHARED, (int)ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, about.sq_entries * sizeof(*entries), 3,
					    MAP_SHARED, (int)ring, IORING_OFF_SQES);
	unsigned *tail = (unsigned *)(sent + about.sq_off.tail),
		 *array = (unsigned *)(sent + about.sq_off.array),
		 *head = (unsigned *)(done + about.cq_off.head),
		 *end = (unsigned *)(done + about.cq_off.tail);
	static char bytes[16384];
	struct timespec wait = {0, 200000};
	int zero = MUST(open("/dev/zero", O_RDONLY)), early = 0;
	for (int round = 0; round < 1500; round++) {
		for (int index = 0; index < BATCH; index++) {
			unsigned place = *tail & (about.sq_entries - 1);
			bool is_last = index == BATCH - 1;
			entries[place] = (struct io_uring_sqe){
			    .opcode = is_last ? IORING_OP_TIMEOUT : IORING_OP_READ,
			    .fd = is_last ? 0 : zero,
			    .addr =
				is_last ? (uint64_t)(uintptr_t)&wait : (uint64_t)(uintptr_t)bytes,
			    .len = is_last ? 1 : sizeof(bytes)};
			array[place] = place;
			__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		}
		long entered = syscall(SYS_io_uring_enter, ring, BATCH, BATCH,
				       IORING_ENTER_GETEVENTS, NULL, 0);
		early += entered != BATCH || __atomic_load_n(end, __ATOMIC_ACQUIRE) - *head < BATCH;
		while (__atomic_load_n(end, __ATOMIC_ACQUIRE) - *head < BATCH)
			syscall(SYS_io_uring_enter, ring, 0, BATCH, IORING_ENTER_GETEVENTS, NULL,
				0);
		__atomic_store_n(head, *head + BATCH, __ATOMIC_RELEASE);
	}
	say("early: %d\n", early);
}

/* ---- signals that nobody named ---- */

static void say_signalfd(const char *what, int fd)
{
	struct signalfd_siginfo info = {0};
	ssize_t got = read(fd, &info, sizeof(info));
	say("%s: %zd %u\n", what, got, info.ssi_signo);
}

CASE(signalfd_changed)
{
	sigset_t all = full_set(), user = set_of(SIGUSR1, 0);
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	int reused = MUST(signalfd(-1, &all, SFD_NONBLOCK));
	close(reused);
	MUST(signalfd(-1, &user, SFD_NONBLOCK));
	int changed = MUST(signalfd(-1, &all, SFD_NONBLOCK));
	MUST(signalfd(changed, &user, 0));
	int first = MUST(signalfd(-1, &all, SFD_NONBLOCK));
	for (int index = 0; index < 20; index++)
		MUST(signalfd(-1, &all, SFD_NONBLOCK));
	int moved = MUST(dup(first));
	close(first);
	work(10);
	MUST(sigqueue(getpid(), 64, (union sigval){0}));
	pause_ns(1000000);
	say_signalfd("reused", reused);
	say_signalfd("changed", changed);
	say_signalfd("moved", moved);
}

static int sleep_long(void *unused)
{
	while (!unused)
		sleep(10);
	return 0;
}

CASE(thread_of_c11)
{
	sigset_t all = full_set();
	thrd_t thread;
	int code = 0;
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	thrd_create(&thread, sleep_long, NULL);
	work(10);
	if (!MUST(fork())) {
		sigqueue(getppid(), 64, (union sigval){0});
		_exit(0);
	}
	for (int round = 0; round < 2; round++) {
		int got = sigtimedwait(&all, NULL, &(struct timespec){3, 0});
		code = got == SIGCHLD ? code : got;
	}
	say("%d\n", code);
}

static int work_a_while(void *amount)
{
	work(20);
	return *(int *)amount + 1;
}

CASE(result_of_c11)
{
	int amount = 41, result = 0;
	thrd_t thread;
	say("%d ", thrd_create(&thread, work_a_while, &amount) == thrd_success);
	say("%d ", thrd_join(thread, &result) == thrd_success);
	say("%d\n", result);
}

CASE(descriptor_sends)
{
	int ends[2];
	sigset_t all = full_set();
	siginfo_t info = {0};
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	MUST(fcntl(ends[0], F_SETSIG, 64));
	MUST(fcntl(ends[0], F_SETOWN, getpid()));
	MUST(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	work(50);
	MUST(write(ends[1], "x", 1));
	int got = sigtimedwait(&all, &info, &(struct timespec){3, 0});
	say("%d %d\n", got, info.si_fd == ends[0]);
}

/* ---- children ---- */

static int execute_nothing(void *unused)
{
	(void)unused;
	execl("/nonexistent/program", "x", (char *)NULL);
	_exit(7);
}

CASE(children_on_this_memory)
{
	char *stack = mmap(NULL, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int odd = 0;
	for (int round = 0; round < 1500; round++) {
		int status = 0;
		pid_t child = MUST(clone(execute_nothing, stack + 65536, CLONE_VM | SIGCHLD, NULL));
		while (!waitpid(child, &status, WNOHANG))
			spin();
		odd += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	}
	say("odd: %d\n", odd);
}

static int ignore_last(void *unused)
{
	(void)unused;
	signal(SIGRTMAX, SIG_IGN);
	_exit(3);
}

CASE(child_names_a_signal)
{
	char *stack = malloc(65536);
	work(30);
	pid_t child = vfork();
	if (!child)
		ignore_last(NULL);
	say("vfork: %s\n", ended(child));
	work(30);
	child = MUST(clone(ignore_last, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	say("clone: %s\n", ended(child));
	work(30);
	child = _Fork();
	if (!child)
		ignore_last(NULL);
	say("_Fork: %s\n", ended(child));
	work(30);
}

CASE(child_gets_a_signal)
{
	sigset_t all = full_set();
	MUST(sigprocmask(SIG_BLOCK, &all, NULL));
	pid_t child = _Fork();
	if (!child) {
		int got = sigtimedwait(&all, NULL, &(struct timespec){3, 0});
		work(100);
		_exit(got);
	}
	pause_ns(20000000);
	MUST(sigqueue(child, 64, (union sigval){0}));
	say("%s\n", ended(child));
	work(100);
	MUST(sigprocmask(SIG_UNBLOCK, &all, NULL));
	work(100);
}

#ifdef __x86_64__
/* ---- a page of the stack that cannot be read, above code that nothing tells how to unwind ---- */

void spin_at(void *stack, long rounds);
__asm__(".type spin_at, @function\n"
	"spin_at:\n"
	"	movq	%rsp, %rax\n"
	"	movq	%rdi, %rsp\n"
	"	pushq	%rax\n"
	"	xorl	%ebp, %ebp\n"
	"1:	decq	%rsi\n"
	"	jnz	1b\n"
	"	popq	%rax\n"
	"	movq	%rax, %rsp\n"
	"	ret\n"
	".size spin_at, .-spin_at\n");

CASE(unreadable_stack)
{
	char room[5 * 4096];
	memset(room, 0, sizeof(room));
	char *page = (char *)(((uintptr_t)room + 2 * 4096) & ~(uintptr_t)4095);
	MUST(mprotect(page, 4096, PROT_NONE));
	__asm__ volatile("movq %%rbp, %%rbx\n\tcall spin_at\n\tmovq %%rbx, %%rbp"
			 :
			 : "D"(page - 64), "S"(100000000L)
			 : "rax", "rbx", "memory", "cc");
	MUST(mprotect(page, 4096, PROT_READ | PROT_WRITE));
	say("done\n");
}
#endif
