/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Widths of text and the spelling that fits a box. Widths are added up from single characters, so
 * that no frame of an animation measures text.
 */
import { fit } from '../logic/label.ts';
import type { MeasureText } from '../logic/label.ts';

export function measurer(context: CanvasRenderingContext2D, font: string): MeasureText {
	const widths = new Map<string, number>();
	return (text) => {
		let width = 0;
		for (const character of text) {
			let one = widths.get(character);
			if (one === undefined) {
				context.font = font;
				one = context.measureText(character).width;
				widths.set(character, one);
			}
			width += one;
		}
		return width;
	};
}

/* Remembers, per key, the spellings' widths and the last cut. */
export class Labels {
	private readonly known = new Map<number, { texts: string[]; widths: number[]; room: number; cut: string }>();

	constructor(
		private readonly spell: (key: number) => string[],
		private readonly measure: MeasureText,
	) {}

	fit(key: number, room: number): string {
		let entry = this.known.get(key);
		if (!entry) {
			const texts = this.spell(key);
			entry = { texts, widths: [], room: -1, cut: '' };
			this.known.set(key, entry);
		}
		const { texts, widths } = entry;
		for (let i = 0; i < texts.length; i++) if ((widths[i] ??= this.measure(texts[i]!)) <= room) return texts[i]!;
		const whole = Math.floor(room);
		if (entry.room !== whole) {
			entry.room = whole;
			entry.cut = fit(texts.slice(-1), whole, this.measure);
		}
		return entry.cut;
	}
}
