/* SPDX-License-Identifier: Apache-2.0 */
/* The colours and measures that drawing needs, read from the style sheet where it owns them. */
import type { Theme } from '../logic/colour.ts';

export const ROW_PIXELS = 21;
export const LEAST_PIXELS = 2;
export const FONT_PIXELS = 12;

export interface Paint {
	readonly theme: Theme;
	readonly ink: string; /* on boxes */
	readonly line: string; /* outline of the box under the pointer */
	readonly grid: string;
	readonly background: string;
	readonly rest: string;
	readonly restInk: string;
	readonly hot: string;
	readonly found: string;
	readonly foundInk: string;
	readonly accent: string;
	readonly font: string;
}

export function readPaint(theme: Theme, ink: string): Paint {
	const style = getComputedStyle(document.documentElement);
	const value = (name: string): string => style.getPropertyValue(name).trim();
	return {
		theme,
		ink,
		line: value('--ink'),
		grid: value('--line'),
		background: value('--bg'),
		rest: value('--rest'),
		restInk: value('--dim'),
		hot: value('--hot'),
		found: value('--found'),
		foundInk: value('--found-ink'),
		accent: value('--accent'),
		font: value('--sans'),
	};
}
