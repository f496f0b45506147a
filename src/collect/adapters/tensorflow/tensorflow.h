/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's requests for tensors of other processes, decoded from protobuf's wire format
 * (tensorflow/core/protobuf/worker.proto), and which rank a task of a cluster is.
 *
 * A task is "/job:NAME/.../task:N". Its rank is its place among all tasks of TF_CONFIG, jobs in the
 * order chief, master, worker, ps, then as they stand there. Without TF_CONFIG it is N, plus 1,000
 * for each of those jobs before its own.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_TENSORFLOW_H
#define SN_COLLECT_TENSORFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_tf_request {
	uint64_t id;		   /* the same at both ends, of no other request */
	uint64_t bytes;		   /* SN_MESSAGE_NO_BYTES where the request does not say */
	uint32_t sender, receiver; /* ranks */
};

/*
 * Decodes a RecvTensorRequest, or a RecvBufRequest where is_buffer. `bytes` ends with a zero or
 * with a whole field. False where it is damaged or does not say who sends and receives.
 */
bool sn_tf_decode(const unsigned char *bytes, size_t length, bool is_buffer,
		  struct sn_tf_request *request);

/* The rank of the task that a device is of, by the text of TF_CONFIG (NULL: none). UINT32_MAX where
 * it is of no task. */
uint32_t sn_tf_rank(const char *device, size_t length, const char *config);

#endif
