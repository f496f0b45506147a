/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a job divide among them, and what they have found put together (base/peers/divide.h). Sums are of whole numbers, so that they depend
 * on no order. */
#include "vary.h"

static int worker_error(const struct sn_vary *vary, int result, struct sn_error *error)
{
	for (unsigned i = 0; i < vary->threads && result; i++)
		if (*vary->workers[i].error.text)
			return sn_fail_again(error, result, &vary->workers[i].error);
	return sn_fail_code(error, result);
}

int sn_vary_run(const struct sn_vary *vary, const struct sn_peers_work *work,
		struct sn_error *error)
{
	int result = sn_peers_run(vary->peers, vary->threads, work);
	return sn_peers_agree(vary->peers, worker_error(vary, result, error), error);
}
