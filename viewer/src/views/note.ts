/* SPDX-License-Identifier: Apache-2.0 */
/* A note beside the pointer. */
import { h } from './dom.ts';

const AWAY = 14;
const MARGIN = 8;

export class Note {
	readonly element = h('div', { class: 'tooltip', role: 'tooltip', hidden: true });

	fill(...content: readonly (Node | string)[]): void {
		this.element.replaceChildren(...content);
	}

	/* Shows it, on the side of the point where it is not clipped. */
	place(x: number, y: number): void {
		this.element.hidden = false;
		const { offsetWidth: width, offsetHeight: height } = this.element;
		const right = x + AWAY + width + MARGIN <= innerWidth;
		const below = y + AWAY + height + MARGIN <= innerHeight;
		const left = right ? x + AWAY : Math.max(MARGIN, Math.min(x - AWAY - width, innerWidth - width - MARGIN));
		const top = below ? y + AWAY : Math.max(MARGIN, y - AWAY - height);
		this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
	}

	hide(): void {
		this.element.hidden = true;
	}
}
