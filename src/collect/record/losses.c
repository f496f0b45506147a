/* SPDX-License-Identifier: Apache-2.0 */
/* Counters in a shared page, and a page by which a child without fork's handlers is recognised; see
 * losses.h. */
#include "losses.h"
#include "collect/intercept/intercept.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel clears this page in the child of any fork, by whatever instruction, but not in that of
 * a vfork, which goes on in our memory. */
struct mark {
	_Atomic bool is_known;
	_Atomic bool is_counted;
};

static struct mark *mark;
static unsigned char *page; /* of the measurement file */

void sn_losses_init(void)
{
	void *memory = mmap(NULL, SN_MEASUREMENT_PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	if (madvise(memory, SN_MEASUREMENT_PAGE_BYTES, MADV_WIPEONFORK)) {
		munmap(memory, SN_MEASUREMENT_PAGE_BYTES); /* before Linux 4.14 */
		return;
	}
	mark = memory;
	atomic_store_explicit(&mark->is_known, true, memory_order_relaxed);
}

void sn_losses_after_fork(void)
{
	if (mark)
		atomic_store_explicit(&mark->is_known, true, memory_order_relaxed);
}

void sn_losses_open(int fd)
{
	void *memory =
	    mmap(NULL, SN_MEASUREMENT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page)
		munmap(page, SN_MEASUREMENT_PAGE_BYTES); /* the parent's */
	page = memory == MAP_FAILED ? NULL : memory;
}

void sn_losses_add(enum sn_loss loss, int by)
{
	if (!page || sn_confined())
		return;
	int saved_errno = errno;
	uint32_t *counter = (uint32_t *)(page + SN_LOSSES_OFFSET) + loss;
	/* wakes no thread: only the addition is needed */
	syscall(SYS_futex, counter, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, counter,
		FUTEX_OP(FUTEX_OP_ADD, by & 0xfff, FUTEX_OP_CMP_EQ, 0));
	errno = saved_errno;
}

bool sn_losses_is_unseen(void)
{
	return mark && !atomic_load_explicit(&mark->is_known, memory_order_relaxed);
}

void sn_losses_note_unseen(void)
{
	if (!sn_losses_is_unseen() ||
	    atomic_exchange_explicit(&mark->is_counted, true, memory_order_relaxed))
		return;
	sn_losses_add(SN_LOSS_UNSEEN, 1);
}
