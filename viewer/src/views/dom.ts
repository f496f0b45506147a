/* SPDX-License-Identifier: Apache-2.0 */
/* Makes elements. Text is always set as text: names of programs never become markup. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/* on... attributes are listeners; false, null and undefined leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {},
	...children: Child[]): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (value === false || value === null || value === undefined) continue;
		if (typeof value === 'function') element.addEventListener(name.slice(2), value as unknown as EventListener);
		else element.setAttribute(name, value === true ? '' : String(value));
	}
	for (const child of children) if (child) element.append(child);
	return element;
}

/* An icon: the path of a 16 by 16 drawing. */
export function icon(path: string): SVGSVGElement {
	const space = 'http://www.w3.org/2000/svg';
	const svg = document.createElementNS(space, 'svg');
	svg.setAttribute('viewBox', '0 0 16 16');
	svg.setAttribute('class', 'icon');
	svg.setAttribute('aria-hidden', 'true');
	const drawing = document.createElementNS(space, 'path');
	drawing.setAttribute('d', path);
	svg.append(drawing);
	return svg;
}

export const ICONS = {
	theme: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 1.4v10.2a5.1 5.1 0 0 1 0-10.2z',
	search: 'M7 2.5a4.5 4.5 0 1 0 2.7 8.1l3 3 .9-.9-3-3A4.5 4.5 0 0 0 7 2.5zm0 1.3a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4z',
	up: 'M8 4.5l4.5 5-1 .9L8 6.5l-3.5 3.9-1-.9z',
	down: 'M8 11.5l-4.5-5 1-.9L8 9.5l3.5-3.9 1 .9z',
	warn: 'M8 1.8L15 14H1zm-.7 4.7v3.8h1.4V6.5zm0 4.8v1.4h1.4v-1.4z',
	close: 'M4.2 3.3L8 7.1l3.8-3.8.9.9L8.9 8l3.8 3.8-.9.9L8 8.9l-3.8 3.8-.9-.9L7.1 8 3.3 4.2z',
} as const;
