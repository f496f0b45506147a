/* SPDX-License-Identifier: Apache-2.0 */
/* An analysis by one process; see comm.h. */
#include "comm.h"

void sn_comm_begin(void)
{
}

void sn_comm_end(void)
{
}

bool sn_comm_is_split(void)
{
	return false;
}

void sn_comm_broadcast_part(struct sn_peer_part *part)
{
}

uint64_t sn_comm_sum(uint64_t value)
{
	return value;
}

const struct sn_peers *sn_comm(void)
{
	return &sn_peers_alone;
}
