/* SPDX-License-Identifier: Apache-2.0 */
/* replay: the program that a recording is played in (tests/fake/run.sh --replay). */
int replay_play(void);

int main(void)
{
	return replay_play();
}
