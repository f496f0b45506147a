/* SPDX-License-Identifier: Apache-2.0 */
/* The library of running.c. */
void of_library(void)
{
	for (volatile unsigned long round = 0;; round++)
		;
}
