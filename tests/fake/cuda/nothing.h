/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing: all that the driver exports is in its header. */
