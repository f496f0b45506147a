/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes TensorFlow's requests for tensors of other processes from protobuf's wire format
 * (tensorflow/core/protobuf/worker.proto), and determines the rank of a cluster's task.
 *
 * A task is "/job:NAME/.../task:N". Its rank is its position among all tasks of TF_CONFIG, with
 * jobs in the order chief, master, worker, ps, then in that of TF_CONFIG. Without TF_CONFIG it is
 * N, plus 1,000 for each of those jobs before its own.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_tf_request {
	uint64_t id;		   /* the same at both ends, unique to the request */
	uint64_t bytes;		   /* SN_MESSAGE_NO_BYTES if the request has no size */
	uint32_t sender, receiver; /* ranks */
};

/*
 * Decodes a RecvTensorRequest, or a RecvBufRequest if is_buffer. `bytes` ends with a zero or with a
 * whole field. False if it is damaged or lacks sender or receiver.
 */
bool sn_tf_decode(const unsigned char *bytes, size_t length, bool is_buffer,
		  struct sn_tf_request *request);

/* The rank of a device's task, by the text of TF_CONFIG (NULL: none). UINT32_MAX if the device
 * belongs to no task. */
uint32_t sn_tf_rank(const char *device, size_t length, const char *config);

/* --- execute.c --- */

/* Whether something has been executed that is an operator. */
bool sn_tf_executes(void);
