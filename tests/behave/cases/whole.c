/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that copy much, or wait for much, and come back short where a signal handler ran
 * meanwhile. Plain, with no handler in the program, each of them does the whole of what it was
 * asked.
 */
#include "../behave.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define BYTES  (4u << 20)
#define ROUNDS 5

static char *buffer;

/* Bytes that tell their place, so that one lost or twice is seen. */
static void fill(void)
{
	buffer = malloc(BYTES);
	for (size_t at = 0; at < BYTES; at += 8)
		memcpy(buffer + at, &at, 8);
}

struct receiver {
	pid_t child;
	int fd;
};

/* Reads all there is, slowly at first, and ends with 0 where it was what was sent. */
static void receive(int fd, size_t expected)
{
	static char piece[65536];
	size_t total = 0, wrong = 0;
	pause_ns(2000000);
	for (ssize_t bytes; (bytes = read(fd, piece, sizeof(piece) - total % 8)) > 0;) {
		for (ssize_t at = 0; at < bytes; at++)
			wrong += piece[at] != buffer[(total + (size_t)at) % BYTES];
		total += (size_t)bytes;
		if (total < 2000000)
			pause_ns(200000);
	}
	_exit(wrong ? 2 : total != expected);
}

static struct receiver receiver_new(int mine, int other, size_t expected)
{
	struct receiver receiver = {MUST(fork()), mine};
	if (!receiver.child) {
		close(mine);
		receive(other, expected);
	}
	close(other);
	return receiver;
}

static struct receiver by_pipe(size_t expected)
{
	int ends[2];
	MUST(pipe(ends));
	return receiver_new(ends[1], ends[0], expected);
}

static struct receiver by_socket(size_t expected)
{
	int ends[2];
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	return receiver_new(ends[1], ends[0], expected);
}

static struct receiver by_tcp(size_t expected)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = MUST(socket(AF_INET, SOCK_STREAM, 0)),
	    mine = MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(listener, (struct sockaddr *)&address, sizeof(address)));
	MUST(listen(listener, 1));
	MUST(getsockname(listener, (struct sockaddr *)&address, &length));
	MUST(connect(mine, (struct sockaddr *)&address, sizeof(address)));
	int other = MUST(accept(listener, NULL, NULL));
	close(listener);
	return receiver_new(mine, other, expected);
}

static void done(const char *call, struct receiver receiver, int whole)
{
	close(receiver.fd);
	say("%s: whole %d, receiver: %s\n", call, whole, ended(receiver.child));
}

#define SEND(call_name, receiver_new_of, expression)                                               \
	do {                                                                                       \
		struct receiver to = receiver_new_of((size_t)BYTES * ROUNDS);                      \
		int whole = 0;                                                                     \
		for (int round = 0; round < ROUNDS; round++) {                                     \
			work(3);                                                                   \
			ssize_t moved = (expression);                                              \
			whole += moved == BYTES;                                                   \
		}                                                                                  \
		done(call_name, to, whole);                                                        \
	} while (0)

/* ---- sending ---- */

CASE(write_pipe)
{
	fill();
	SEND("write", by_pipe, write(to.fd, buffer, BYTES));
}

CASE(write_pipe_raw)
{
	fill();
	SEND("write", by_pipe, syscall(SYS_write, to.fd, buffer, BYTES));
}

CASE(write_socket)
{
	fill();
	SEND("write", by_socket, write(to.fd, buffer, BYTES));
	SEND("write", by_tcp, write(to.fd, buffer, BYTES));
}

CASE(send_socket)
{
	fill();
	SEND("send", by_socket, send(to.fd, buffer, BYTES, 0));
	SEND("send", by_tcp, send(to.fd, buffer, BYTES, MSG_NOSIGNAL));
	SEND("sendto", by_tcp, sendto(to.fd, buffer, BYTES, 0, NULL, 0));
}

static struct iovec *pieces(void)
{
	static struct iovec parts[16];
	for (int index = 0; index < 16; index++)
		parts[index] = (struct iovec){buffer + index * (BYTES / 16), BYTES / 16};
	return parts;
}

CASE(writev_pipe)
{
	fill();
	SEND("writev", by_pipe, writev(to.fd, pieces(), 16));
	SEND("writev", by_tcp, writev(to.fd, pieces(), 16));
}

CASE(sendmsg_socket)
{
	fill();
	struct msghdr message = {.msg_iov = pieces(), .msg_iovlen = 16};
	SEND("sendmsg", by_socket, sendmsg(to.fd, &message, 0));
	SEND("sendmsg", by_tcp, sendmsg(to.fd, &message, 0));
}

CASE(vmsplice_pipe)
{
	fill();
	SEND("vmsplice", by_pipe, vmsplice(to.fd, &(struct iovec){buffer, BYTES}, 1, 0));
}

CASE(write_fifo)
{
	fill();
	MUST(mkfifo("fifo", 0600));
	struct receiver to = {MUST(fork()), -1};
	if (!to.child)
		receive(MUST(open("fifo", O_RDONLY)), (size_t)BYTES * ROUNDS);
	int whole = 0;
	to.fd = MUST(open("fifo", O_WRONLY));
	for (int round = 0; round < ROUNDS; round++) {
		work(3);
		whole += write(to.fd, buffer, BYTES) == BYTES;
	}
	done("fifo", to, whole);
	unlink("fifo");
}

static int file_of_bytes(void)
{
	int file = MUST(open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
	MUST(write(file, buffer, BYTES));
	return file;
}

CASE(sendfile)
{
	fill();
	int file = file_of_bytes();
	SEND("sendfile", by_pipe, (lseek(file, 0, SEEK_SET), sendfile(to.fd, file, NULL, BYTES)));
	SEND("sendfile", by_tcp, sendfile(to.fd, file, &(off_t){0}, BYTES));
	close(file);
	unlink("file");
}

/* Splicing moves what a pipe holds, so plain it is not always whole either: the sum must be. */
CASE(splice_file)
{
	fill();
	int file = file_of_bytes();
	struct receiver to = by_pipe((size_t)BYTES * ROUNDS);
	int failed = 0;
	for (int round = 0; round < ROUNDS; round++) {
		loff_t offset = 0;
		work(3);
		while (offset < BYTES)
			if (splice(file, &offset, to.fd, NULL, (size_t)(BYTES - offset), 0) <= 0)
				failed = errno;
	}
	say("failed: %d\n", failed);
	done("splice", to, 0);
	close(file);
	unlink("file");
}

CASE(tee_and_splice)
{
	fill();
	int source[2], other = MUST(open("/dev/null", O_WRONLY)), failed = 0;
	MUST(pipe(source));
	struct receiver to = by_pipe(65536u * 200);
	for (int round = 0; round < 200; round++) {
		MUST(write(source[1], buffer + (65536 * round) % BYTES, 65536));
		spin();
		for (ssize_t left = 65536, moved; left; left -= moved) {
			/* what a tee has copied is the beginning of what is there */
			if ((moved = tee(source[0], to.fd, (size_t)left, 0)) <= 0)
				failed = errno ? errno : -1;
			moved = moved < 0 ? 0 : moved;
			for (ssize_t rest = moved, gone; rest; rest -= gone)
				if ((gone = splice(source[0], NULL, other, NULL, (size_t)rest, 0)) <
				    0)
					failed = errno, gone = 0;
		}
	}
	say("failed: %d\n", failed);
	done("tee", to, 0);
	close(source[0]);
	close(source[1]);
	close(other);
}

/* ---- files ---- */

CASE(files)
{
	fill();
	int file = MUST(open("file", O_RDWR | O_CREAT, 0600)),
	    other = MUST(open("copy", O_RDWR | O_CREAT, 0600));
	int whole[7] = {0};
	char *back = malloc(BYTES);
	for (int round = 0; round < ROUNDS; round++) {
		work(3);
		whole[0] += write(file, buffer, BYTES) == BYTES;
		lseek(file, 0, SEEK_SET);
		whole[1] += pwrite(file, buffer, BYTES, 0) == BYTES;
		whole[2] += pread(file, back, BYTES, 0) == BYTES;
		whole[3] += read(file, back, BYTES) == BYTES;
		whole[4] +=
		    copy_file_range(file, &(off_t){0}, other, &(off_t){0}, BYTES, 0) == BYTES;
		lseek(file, 0, SEEK_SET);
		whole[5] += readv(file, &(struct iovec){back, BYTES}, 1) == BYTES;
		lseek(file, 0, SEEK_SET);
		lseek(other, 0, SEEK_SET);
		whole[6] += sendfile(other, file, &(off_t){0}, BYTES) == BYTES;
	}
	for (int index = 0; index < 7; index++)
		say("%d: %d\n", index, whole[index]);
	close(file);
	close(other);
}

CASE(devices)
{
	char *memory = malloc(32 << 20);
	int zero = MUST(open("/dev/zero", O_RDONLY)), random = MUST(open("/dev/urandom", O_RDONLY));
	int whole[3] = {0};
	for (int round = 0; round < ROUNDS; round++) {
		work(2);
		whole[0] += read(zero, memory, 32 << 20) == 32 << 20;
		whole[1] += read(random, memory, 2 << 20) == 2 << 20;
		whole[2] += getrandom(memory, 1 << 20, 0) == 1 << 20;
	}
	say("zero %d, urandom %d, getrandom %d\n", whole[0], whole[1], whole[2]);
	close(zero);
	close(random);
}

/* ---- receiving ---- */

static struct receiver sender_of(int rounds, int type)
{
	int ends[2];
	MUST(socketpair(AF_UNIX, type, 0, ends));
	struct receiver from = {MUST(fork()), ends[0]};
	if (!from.child) {
		close(ends[0]);
		for (int piece = 0; piece < rounds * 16; piece++) {
			size_t at = (size_t)piece % 16 * (BYTES / 16), bytes = BYTES / 16;
			for (ssize_t sent; bytes; bytes -= (size_t)sent, at += (size_t)sent)
				if ((sent = write(ends[1], buffer + at, bytes)) < 0)
					_exit(1);
			pause_ns(300000);
		}
		_exit(0);
	}
	close(ends[1]);
	return from;
}

CASE(receive_all)
{
	fill();
	char *back = malloc(BYTES);
	struct receiver from = sender_of(ROUNDS, SOCK_STREAM);
	int whole = 0, same = 0;
	for (int round = 0; round < ROUNDS; round++) {
		work(3);
		whole += recv(from.fd, back, BYTES, MSG_WAITALL) == BYTES;
		same += !memcmp(back, buffer, BYTES);
	}
	say("same %d\n", same);
	done("recv all", from, whole);
	from = sender_of(ROUNDS, SOCK_STREAM);
	for (int round = whole = 0; round < ROUNDS; round++) {
		struct iovec part = {back, BYTES};
		work(3);
		whole += recvmsg(from.fd, &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1},
				 MSG_WAITALL) == BYTES;
	}
	done("recvmsg all", from, whole);
	from = sender_of(ROUNDS, SOCK_STREAM);
	for (int round = whole = 0; round < ROUNDS; round++)
		whole += recvfrom(from.fd, back, BYTES, MSG_WAITALL, NULL, NULL) == BYTES;
	done("recvfrom all", from, whole);
}

CASE(receive_many)
{
	int ends[2];
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	pid_t child = MUST(fork());
	if (!child) {
		for (int round = 0; round < 400; round++) {
			spin();
			write(ends[1], "x", 1);
		}
		_exit(0);
	}
	int whole = 0;
	for (int round = 0; round < 25; round++) {
		struct mmsghdr messages[16] = {0};
		char bytes[16];
		struct iovec parts[16];
		for (int index = 0; index < 16; index++) {
			parts[index] = (struct iovec){bytes + index, 1};
			messages[index].msg_hdr =
			    (struct msghdr){.msg_iov = parts + index, .msg_iovlen = 1};
		}
		spin();
		whole += recvmmsg(ends[0], messages, 16, 0, NULL) == 16;
	}
	say("whole %d, %s\n", whole, ended(child));
	close(ends[0]);
	close(ends[1]);
}

/* ---- what programs do with it: write once, believe it ---- */

CASE(stdio_output)
{
	fill();
	struct receiver to = by_pipe((size_t)BYTES * ROUNDS);
	FILE *stream = fdopen(to.fd, "w");
	int whole = 0;
	for (int round = 0; round < ROUNDS; round++) {
		work(3);
		whole += fwrite(buffer, 1, BYTES, stream) == BYTES;
	}
	whole += !fclose(stream);
	done("fwrite", to, whole);
}

static void *write_in_thread(void *fd)
{
	int whole = 0;
	for (int round = 0; round < 8; round++) {
		work(2);
		whole += write((int)(intptr_t)fd, buffer, 1 << 20) == 1 << 20;
	}
	return (void *)(intptr_t)whole;
}

CASE(write_threads)
{
	fill();
	pthread_t threads[4];
	struct receiver to[4];
	for (int index = 0; index < 4; index++) {
		int ends[2];
		MUST(pipe(ends));
		to[index] = (struct receiver){MUST(fork()), ends[1]};
		if (!to[index].child) {
			static char piece[30000];
			close(ends[1]);
			for (int other = 0; other < index; other++)
				close(to[other].fd);
			while (read(ends[0], piece, sizeof(piece)) > 0)
				;
			_exit(0);
		}
		close(ends[0]);
	}
	for (int index = 0; index < 4; index++)
		pthread_create(&threads[index], NULL, write_in_thread,
			       (void *)(intptr_t)to[index].fd);
	for (int index = 0; index < 4; index++) {
		void *whole;
		pthread_join(threads[index], &whole);
		done("thread", to[index], (int)(intptr_t)whole);
	}
}

/* Directories and long lists of memory are copied as well. */
CASE(others)
{
	int entries = 0, found = 0;
	unsigned char resident[256];
	for (int round = 0; round < 300; round++) {
		DIR *folder = opendir("/proc/self/fdinfo");
		spin();
		while (folder && readdir(folder))
			entries++;
		closedir(folder);
	}
	char *memory = mmap(NULL, 256 << 12, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (int round = 0; round < 100; round++) {
		spin();
		if (mincore(memory, 256 << 12, resident))
			behave_fail("mincore");
		for (int page = 0; page < 256; page++)
			found += resident[page] & 1;
	}
	say("descriptors seen %d, pages %d\n", entries / 300, found);
}

/* process_vm_readv of another process. */
CASE(read_other_process)
{
	fill();
	char *back = malloc(BYTES);
	pid_t child = MUST(fork());
	if (!child)
		for (;;)
			pause();
	int whole = 0;
	for (int round = 0; round < 10; round++) {
		work(2);
		whole += process_vm_readv(child, &(struct iovec){back, BYTES}, 1,
					  &(struct iovec){buffer, BYTES}, 1, 0) == BYTES;
	}
	kill(child, SIGTERM);
	say("whole %d, %s\n", whole, ended(child));
}
