/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that transfer bytes and return early if a signal arrives meanwhile: a blocking write of 4
 * MB to a pipe would return the bytes written before a sample. If only a sample cut them
 * (interrupted_call.h), they continue: on pipes, sockets and devices; no other transfers are cut.
 */
#include "intercept.h"
#include "served_start.h"
#include "collect/sample/interrupted_call.h"
#include "collect/sample/sample_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

SN_REAL(ssize_t, write, (int, const void *, size_t))
SN_REAL(ssize_t, writev, (int, const struct iovec *, int))
SN_REAL(ssize_t, send, (int, const void *, size_t, int))
SN_REAL(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))
SN_REAL(ssize_t, sendmsg, (int, const struct msghdr *, int))
SN_REAL(int, sendmmsg, (int, struct mmsghdr *, unsigned, int))
SN_REAL(ssize_t, sendfile, (int, int, off_t *, size_t))
SN_REAL(ssize_t, read, (int, void *, size_t))
SN_REAL(ssize_t, recv, (int, void *, size_t, int))
SN_REAL(ssize_t, recvmsg, (int, struct msghdr *, int))
SN_REAL(ssize_t, copy_file_range, (int, off_t *, int, off_t *, size_t, unsigned))
SN_REAL(ssize_t, getrandom, (void *, size_t, unsigned))
SN_REAL(ssize_t, pread, (int, void *, size_t, off_t))
SN_REAL(ssize_t, readv, (int, const struct iovec *, int))
SN_REAL(ssize_t, preadv, (int, const struct iovec *, int, off_t))
SN_REAL(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int))
SN_REAL(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int))
SN_REAL(int, fallocate, (int, int, off_t, off_t))
SN_REAL(int, posix_fallocate, (int, off_t, off_t))

/* The compiler gives the functions below that have an offset another name (pread64, preadv64v2),
 * for offsets have 64 bits in both. */
#define BY_SHORT_NAME(result, name, parameters, arguments)                                         \
	result name##_by_short_name parameters __asm__(#name);                                     \
	SN_EXPORT result name##_by_short_name parameters                                           \
	{                                                                                          \
		return name arguments;                                                             \
	}

/* From file to file the kernel goes in pieces too, and looks for signals between them. A short
 * count may have another reason there, and asking again would raise SIGXFSZ where a limit is the
 * reason. */
static bool is_cut_by_signals(int fd, const off_t *at)
{
	struct stat status;
	struct rlimit limit;
	if (fstat(fd, &status))
		return false;
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISBLK(status.st_mode))
		return true;
	off_t position = at ? *at : lseek(fd, 0, SEEK_CUR);
	return position >= 0 && !syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) &&
	       (rlim_t)position < limit.rlim_cur;
}

/* True where `done` of `wanted` bytes went before a sample came; clears what told so. */
static bool was_cut(int fd, const off_t *at, ssize_t done, size_t wanted)
{
	sn_call_cut_forget();
	return (size_t)done < wanted && is_cut_by_signals(fd, at);
}

/* The result of a transfer of which `done` bytes went, continued by `again`, which sees `done`. Of
 * a file `at` is the position in it, NULL: its own. errno after a success has no meaning.
 */
#define TRANSFER_AT_ON(fd, at, wanted, first, again)                                               \
	({                                                                                         \
		ssize_t done = (first);                                                            \
		int saved_errno = errno;                                                           \
		while (sn_call_was_cut() && done > 0 && was_cut(fd, at, done, wanted)) {           \
			ssize_t more = (again);                                                    \
			if (more <= 0)                                                             \
				break;                                                             \
			done += more;                                                              \
		}                                                                                  \
		errno = saved_errno;                                                               \
		done;                                                                              \
	})

#define TRANSFER_ON(fd, wanted, first, again) TRANSFER_AT_ON(fd, NULL, wanted, first, again)

#define TRANSFER_AT(fd, at, wanted, first, again)                                                  \
	({                                                                                         \
		sn_call_cut_forget();                                                              \
		TRANSFER_AT_ON(fd, at, wanted, first, again);                                      \
	})
#define TRANSFER(fd, wanted, first, again) TRANSFER_AT(fd, NULL, wanted, first, again)

SN_EXPORT ssize_t write(int fd, const void *buffer, size_t bytes)
{
	return TRANSFER(fd, bytes, real_write_get()(fd, buffer, bytes),
			real_write_get()(fd, (const char *)buffer + done, bytes - (size_t)done));
}

/* A call that sends. With MSG_ZEROCOPY there is a notification for each call, so none is cut. */
#define SENT(flags, transfer)                                                                      \
	({                                                                                         \
		uint64_t held = (flags)&MSG_ZEROCOPY ? sn_samples_hold() : 0;                      \
		__typeof__(transfer) sent = (transfer);                                            \
		sn_samples_release(held);                                                          \
		sent;                                                                              \
	})

SN_EXPORT ssize_t send(int fd, const void *buffer, size_t bytes, int flags)
{
	return SENT(flags, TRANSFER(fd, bytes, real_send_get()(fd, buffer, bytes, flags),
				    real_send_get()(fd, (const char *)buffer + done,
						    bytes - (size_t)done, flags)));
}

SN_EXPORT ssize_t sendto(int fd, const void *buffer, size_t bytes, int flags,
			 const struct sockaddr *to, socklen_t to_bytes)
{
	return SENT(flags,
		    TRANSFER(fd, bytes, real_sendto_get()(fd, buffer, bytes, flags, to, to_bytes),
			     real_sendto_get()(fd, (const char *)buffer + done,
					       bytes - (size_t)done, flags, to, to_bytes)));
}

static int option_of(int fd, int option)
{
	int value = 0;
	socklen_t bytes = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, option, &value, &bytes) ? -1 : value;
}

static bool has_timeout(int fd)
{
	struct timeval timeout = {0};
	socklen_t bytes = sizeof(timeout);
	return getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &bytes) || timeout.tv_sec ||
	       timeout.tv_usec;
}

/*
 * Of a stream alone more is waited for than comes at once, and where there is a time for that it is
 * over now, maybe; a receiver of descriptors (SCM_RIGHTS) gets those of one message at a time.
 */
static bool is_received_on(int fd, int flags, bool wants_descriptors)
{
	return flags & MSG_WAITALL && !(flags & (MSG_DONTWAIT | MSG_OOB)) &&
	       option_of(fd, SO_TYPE) == SOCK_STREAM && !has_timeout(fd) &&
	       !(wants_descriptors && option_of(fd, SO_DOMAIN) == AF_UNIX);
}

ssize_t sn_recv_rest(int fd, void *buffer, size_t bytes, int flags, ssize_t before)
{
	/* what is only looked at is all there again */
	size_t kept = flags & MSG_PEEK ? 0 : SIZE_MAX;
	if (!is_received_on(fd, flags, false))
		return before;
	return TRANSFER_ON(fd, bytes, before, ({
				   size_t from = (size_t)done & kept;
				   ssize_t got = real_recv_get()(fd, (char *)buffer + from,
								 bytes - from, flags);
				   kept || got < done ? got : got - done;
			   }));
}

/* Of what is read, only the kernel's own endless devices stop for a signal: /dev/zero, full, random
 * and urandom. */
static bool is_endless(int fd)
{
	struct stat status;
	if (fstat(fd, &status) || !S_ISCHR(status.st_mode) || major(status.st_rdev) != 1)
		return false;
	unsigned device = minor(status.st_rdev);
	return device == 5 || device == 7 || device == 8 || device == 9;
}

ssize_t sn_read_rest(int fd, void *buffer, size_t bytes, ssize_t before)
{
	if (!is_endless(fd))
		return before;
	return TRANSFER_ON(fd, bytes, before,
			   real_read_get()(fd, (char *)buffer + done, bytes - (size_t)done));
}

/* It is sendfile itself that finds the limit, and raises SIGXFSZ, after what it has transferred. */
static const off_t below_any_limit = 0;

SN_EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t bytes)
{
	return TRANSFER_AT(to, &below_any_limit, bytes,
			   real_sendfile_get()(to, from, offset, bytes),
			   real_sendfile_get()(to, from, offset, bytes - (size_t)done));
}

BY_SHORT_NAME(ssize_t, sendfile, (int to, int from, off_t *offset, size_t bytes),
	      (to, from, offset, bytes))

SN_EXPORT ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset,
				  size_t bytes, unsigned flags)
{
	return TRANSFER_AT(
	    to, to_offset, bytes,
	    real_copy_file_range_get()(from, from_offset, to, to_offset, bytes, flags),
	    real_copy_file_range_get()(from, from_offset, to, to_offset, bytes - (size_t)done,
				       flags));
}

/* Goes on with `again` until `wanted` bytes are there, where `done` came before a sample. */
#define RANDOM(wanted, again)                                                                      \
	while (sn_call_was_cut() && done > 0 && (size_t)done < (size_t)(wanted)) {                 \
		sn_call_cut_forget();                                                              \
		ssize_t more = (again);                                                            \
		if (more <= 0)                                                                     \
			break;                                                                     \
		done += more;                                                                      \
	}

SN_EXPORT ssize_t getrandom(void *buffer, size_t bytes, unsigned flags)
{
	sn_call_cut_forget();
	ssize_t done = real_getrandom_get()(buffer, bytes, flags);
	RANDOM(bytes, real_getrandom_get()((char *)buffer + done, bytes - (size_t)done, flags))
	return done;
}

/* ---- what _FORTIFY_SOURCE makes of calls ---- */

SN_CHECKED(ssize_t, __read_chk, (int fd, void *buffer, size_t bytes, size_t room), bytes <= room,
	   read(fd, buffer, bytes))
SN_CHECKED(ssize_t, __pread_chk, (int fd, void *buffer, size_t bytes, off_t at, size_t room),
	   bytes <= room, pread(fd, buffer, bytes, at))
SN_CHECKED(ssize_t, __pread64_chk, (int fd, void *buffer, size_t bytes, off_t at, size_t room),
	   bytes <= room, pread(fd, buffer, bytes, at))
SN_CHECKED(ssize_t, __recv_chk, (int fd, void *buffer, size_t bytes, size_t room, int flags),
	   bytes <= room, recv(fd, buffer, bytes, flags))
SN_CHECKED(ssize_t, __recvfrom_chk,
	   (int fd, void *buffer, size_t bytes, size_t room, int flags, struct sockaddr *from,
	    socklen_t *from_bytes),
	   bytes <= room, recvfrom(fd, buffer, bytes, flags, from, from_bytes))

/* ---- room in files: tmpfs gives back what it has found so far when a signal comes ---- */

/* A call while which no sample comes, and its other name. */
#define HELD(name, parameters, arguments)                                                          \
	SN_EXPORT int name parameters                                                              \
	{                                                                                          \
		uint64_t held = sn_samples_hold();                                                 \
		int status = real_##name##_get() arguments;                                        \
		sn_samples_release(held);                                                          \
		return status;                                                                     \
	}                                                                                          \
	BY_SHORT_NAME(int, name, parameters, arguments)

HELD(fallocate, (int fd, int mode, off_t from, off_t bytes), (fd, mode, from, bytes))
HELD(posix_fallocate, (int fd, off_t from, off_t bytes), (fd, from, bytes))

/* ---- several pieces ---- */

/* What is left of pieces after `done` bytes: the piece that begins in its middle, and how much of
 * it is done. */
static int first_left(const struct iovec *pieces, int count, size_t done, size_t *done_of_piece)
{
	int piece = 0;
	for (; piece < count && done >= pieces[piece].iov_len; piece++)
		done -= pieces[piece].iov_len;
	*done_of_piece = done;
	return piece;
}

static size_t total(const struct iovec *pieces, int count)
{
	size_t bytes = 0;
	for (int piece = 0; piece < count; piece++)
		bytes += pieces[piece].iov_len;
	return bytes;
}

/* The kernel's call, one that a sample can start again; its arguments are words. */
#define CALL(number, a, b, c, d, e, f)                                                             \
	sn_restartable_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),      \
			       (long)(f))

typedef ssize_t message_function(int fd, struct msghdr *message, int flags);

/* How pieces are transferred: by one of two kinds of functions of the C library, or by number. */
struct transfer {
	int fd, flags;
	ssize_t (*vector)(int fd, const struct iovec *pieces, int count);
	message_function *message;
	long number; /* where both are NULL */
};

static ssize_t transfer_pieces(const struct transfer *how, const struct iovec *pieces, int count)
{
	/* control data went with the first bytes */
	struct msghdr rest = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)count};
	if (how->vector)
		return how->vector(how->fd, pieces, count);
	if (how->message)
		return how->message(how->fd, &rest, how->flags);
	if (how->number == SYS_writev)
		return CALL(SYS_writev, how->fd, pieces, count, 0, 0, 0);
	return CALL(how->number, how->fd, &rest, how->flags, 0, 0, 0);
}

/* Begins with the rest of a piece alone: the program's list of pieces stays as it is. */
static ssize_t transfer_rest(const struct transfer *how, const struct iovec *pieces, int count,
			     ssize_t done)
{
	size_t of_piece;
	int piece = first_left(pieces, count, (size_t)done, &of_piece);
	if (!of_piece)
		return transfer_pieces(how, pieces + piece, count - piece);
	size_t left = pieces[piece].iov_len - of_piece;
	struct iovec rest = {(char *)pieces[piece].iov_base + of_piece, left};
	ssize_t first = transfer_pieces(how, &rest, 1);
	if (first < (ssize_t)left || ++piece == count)
		return first;
	ssize_t more = transfer_pieces(how, pieces + piece, count - piece);
	return more > 0 ? first + more : first;
}

/* The same after a first transfer of `before` bytes. */
static ssize_t pieces_rest(const struct transfer *how, const struct iovec *pieces, int count,
			   ssize_t before)
{
	return TRANSFER_ON(how->fd, total(pieces, count), before,
			   transfer_rest(how, pieces, count, done));
}

SN_EXPORT ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	struct transfer how = {fd, .vector = real_writev_get()};
	return TRANSFER(fd, total(pieces, count), real_writev_get()(fd, pieces, count),
			transfer_rest(&how, pieces, count, done));
}

static ssize_t read_rest(int fd, const struct iovec *pieces, int count, ssize_t before)
{
	/* an endless device has no position */
	struct transfer how = {fd, .vector = real_readv_get()};
	return is_endless(fd) ? pieces_rest(&how, pieces, count, before) : before;
}

/* A call that reads, by a first one whose rest `again` reads, which sees `done`. */
#define READ(first, again)                                                                         \
	({                                                                                         \
		sn_call_cut_forget();                                                              \
		ssize_t done = (first);                                                            \
		sn_call_was_cut() && done > 0 ? (again) : done;                                    \
	})

SN_EXPORT ssize_t readv(int fd, const struct iovec *pieces, int count)
{
	return READ(real_readv_get()(fd, pieces, count), read_rest(fd, pieces, count, done));
}

SN_EXPORT ssize_t pread(int fd, void *buffer, size_t bytes, off_t at)
{
	return READ(real_pread_get()(fd, buffer, bytes, at), sn_read_rest(fd, buffer, bytes, done));
}
BY_SHORT_NAME(ssize_t, pread, (int fd, void *buffer, size_t bytes, off_t at),
	      (fd, buffer, bytes, at))

SN_EXPORT ssize_t preadv(int fd, const struct iovec *pieces, int count, off_t at)
{
	return READ(real_preadv_get()(fd, pieces, count, at), read_rest(fd, pieces, count, done));
}
BY_SHORT_NAME(ssize_t, preadv, (int fd, const struct iovec *pieces, int count, off_t at),
	      (fd, pieces, count, at))

SN_EXPORT ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
	return READ(real_preadv2_get()(fd, pieces, count, at, flags),
		    read_rest(fd, pieces, count, done));
}
BY_SHORT_NAME(ssize_t, preadv2,
	      (int fd, const struct iovec *pieces, int count, off_t at, int flags),
	      (fd, pieces, count, at, flags))

/* With an offset of -1 it is a writev; elsewhere nothing cuts it. */
SN_EXPORT ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
	struct transfer how = {fd, .vector = real_writev_get()};
	if (at != -1)
		return real_pwritev2_get()(fd, pieces, count, at, flags);
	return TRANSFER(fd, total(pieces, count), real_pwritev2_get()(fd, pieces, count, at, flags),
			transfer_rest(&how, pieces, count, done));
}
BY_SHORT_NAME(ssize_t, pwritev2,
	      (int fd, const struct iovec *pieces, int count, off_t at, int flags),
	      (fd, pieces, count, at, flags))

ssize_t sn_recvmsg_rest(int fd, const struct msghdr *message, int flags, ssize_t before)
{
	struct transfer how = {fd, flags, .message = real_recvmsg_get()};
	if (flags & MSG_PEEK || !is_received_on(fd, flags, message->msg_control != NULL))
		return before;
	return pieces_rest(&how, message->msg_iov, (int)message->msg_iovlen, before);
}

SN_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct transfer how = {fd, flags, .message = (message_function *)real_sendmsg_get()};
	sn_served_start_ask(message);
	/* the message is looked at once the kernel has found it good */
	return SENT(
	    flags, TRANSFER(fd, total(message->msg_iov, (int)message->msg_iovlen),
			    real_sendmsg_get()(fd, message, flags),
			    transfer_rest(&how, message->msg_iov, (int)message->msg_iovlen, done)));
}

/* What the kernel leaves in a socket; no header for programs has it. */
#define ERESTARTSYS 512

static int send_messages(int fd, struct mmsghdr *messages, unsigned count, int flags,
			 struct timespec *timeout)
{
	return real_sendmmsg_get()(fd, messages, count, flags);
}

int sn_messages_rest(sn_messages_call *several, int fd, struct mmsghdr *messages, unsigned count,
		     int flags, struct timespec *timeout, int before)
{
	int done = before, saved_errno = errno;
	while (sn_call_was_cut() && done > 0 && (unsigned)done < count) {
		sn_call_cut_forget();
		int more = several(fd, messages + done, count - (unsigned)done, flags, timeout);
		/* the kernel left in the socket why it was cut, and tells the next call */
		if (more < 0 && errno == ERESTARTSYS)
			sn_call_cut_sp = (uintptr_t)__builtin_frame_address(0);
		else if (more <= 0)
			break;
		else
			done += more;
	}
	errno = saved_errno;
	return done;
}

SN_EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	sn_call_cut_forget();
	int done = SENT(flags, real_sendmmsg_get()(fd, messages, count, flags));
	return sn_messages_rest(send_messages, fd, messages, count, flags, NULL, done);
}

/* ---- by number ---- */

static ssize_t message_rest(long number, const long call[6], ssize_t before)
{
	const struct msghdr *message = (const struct msghdr *)call[1];
	struct transfer how = {(int)call[0], (int)call[2], .number = number};
	if (number == SYS_recvmsg &&
	    (how.flags & MSG_PEEK ||
	     !is_received_on(how.fd, how.flags, message->msg_control != NULL)))
		return before;
	return pieces_rest(&how, message->msg_iov, (int)message->msg_iovlen, before);
}

/* A buffer in one piece, whose length is the third argument. */
static ssize_t buffer_rest(long number, const long call[6], ssize_t before)
{
	int fd = (int)call[0];
	size_t bytes = (size_t)call[2];
	return TRANSFER_ON(
	    fd, bytes, before,
	    CALL(number, fd, call[1] + done, bytes - (size_t)done, call[3], call[4], call[5]));
}

static ssize_t random_rest(const long call[6], ssize_t done)
{
	RANDOM(call[1], CALL(SYS_getrandom, call[0] + done, call[1] - done, call[2], 0, 0, 0))
	return done;
}

static int send_messages_by_number(int fd, struct mmsghdr *messages, unsigned count, int flags,
				   struct timespec *timeout)
{
	return (int)CALL(SYS_sendmmsg, fd, messages, count, flags, 0, 0);
}

static int receive_messages_by_number(int fd, struct mmsghdr *messages, unsigned count, int flags,
				      struct timespec *timeout)
{
	return (int)CALL(SYS_recvmmsg, fd, messages, count, flags, timeout, 0);
}

static ssize_t messages_rest(long number, const long call[6], ssize_t before)
{
	bool is_sent = number == SYS_sendmmsg;
	int flags = (int)call[3];
	struct timespec *timeout = is_sent ? NULL : (struct timespec *)call[4];
	if (!is_sent && !sn_receives_on(flags, timeout))
		return before;
	return sn_messages_rest(is_sent ? send_messages_by_number : receive_messages_by_number,
				(int)call[0], (struct mmsghdr *)call[1], (unsigned)call[2], flags,
				timeout, (int)before);
}

/* What was handed in tells nothing of the wait for what is to be completed. */
static ssize_t completions_rest(const long call[6], ssize_t handed_in)
{
	while (sn_call_was_cut() && call[2] && call[3] & IORING_ENTER_GETEVENTS) {
		sn_call_cut_forget();
		CALL(SYS_io_uring_enter, call[0], 0, call[2], call[3], call[4], call[5]);
	}
	return handed_in;
}

static ssize_t rest_of(long number, const long call[6], ssize_t before)
{
	switch (number) {
	case SYS_read:
		return is_endless((int)call[0]) ? buffer_rest(number, call, before) : before;
	case SYS_write:
	case SYS_sendto:
		return buffer_rest(number, call, before);
	case SYS_recvfrom: {
		const long onward[6] = {call[0], call[1], call[2], call[3]};
		bool is_on =
		    !(call[3] & MSG_PEEK) && is_received_on((int)call[0], (int)call[3], false);
		return is_on ? buffer_rest(number, onward, before) : before;
	}
	case SYS_writev: {
		struct transfer how = {(int)call[0], .number = number};
		return pieces_rest(&how, (const struct iovec *)call[1], (int)call[2], before);
	}
	case SYS_sendmsg:
	case SYS_recvmsg:
		return message_rest(number, call, before);
	case SYS_sendfile:
		return TRANSFER_AT_ON(
		    (int)call[0], &below_any_limit, (size_t)call[3], before,
		    CALL(number, call[0], call[1], call[2], call[3] - done, 0, 0));
	case SYS_copy_file_range:
		return TRANSFER_AT_ON(
		    (int)call[2], (const off_t *)call[3], (size_t)call[4], before,
		    CALL(number, call[0], call[1], call[2], call[3], call[4] - done, call[5]));
	case SYS_getrandom:
		return random_rest(call, before);
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		return messages_rest(number, call, before);
	case SYS_io_uring_enter:
		return completions_rest(call, before);
	default:
		return before;
	}
}

long sn_transfer_rest(long number, const long arguments[6], long done)
{
	int saved_errno = errno;
	long all = rest_of(number, arguments, done);
	errno = saved_errno;
	return all;
}
