/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole terminal as a picture that is drawn again and again, with keys that are read one by one. One at a time; what was on the terminal before is there again after
 * sn_screen_leave.
 */
#pragma once

#include <stdbool.h>

/* Whether stdin and stdout are one. */
bool sn_screen_is_there(void);
/* Takes the terminal; also again after sn_screen_leave. */
void sn_screen_enter(void);
/* Gives it back; nothing where it is not taken. AS-safe: yes. */
void sn_screen_leave(void);
/* Lines of the terminal. */
unsigned sn_screen_height(void);
/* Draws lines of text, as many as there is room for. */
void sn_screen_draw(const char *text);
/* A key that has been pressed, or 0. */
char sn_screen_key(void);
