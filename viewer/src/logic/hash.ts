/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the state that an address keeps, so that a link shows what its sender saw. */
import { CATEGORIES } from './hotspots.ts';
import type { Category } from './hotspots.ts';
import type { Profile } from '../format/decode.ts';
import type { State } from '../store.ts';

const oneOf = <T extends string>(text: string | null, values: readonly T[]): T | undefined =>
	values.find((value) => value === text);

const packPath = (path: readonly number[]): string => path.map((key) => key.toString(36)).join('.');

function unpackPath(text: string): number[] {
	const keys = text.split('.').map((part) => parseInt(part, 36));
	return keys.every((key) => key >= 0) ? keys : [];
}

/* Only what differs from `initial`; '' where nothing does. */
export function toHash(state: State, initial: State, { metrics, formulas }: Pick<Profile, 'metrics' | 'formulas'>): string {
	const parts = new URLSearchParams();
	const put = (name: string, value: string, usual: string): void => {
		if (value !== usual) parts.set(name, value);
	};
	put('metric', metrics[state.metric]?.name ?? '', metrics[initial.metric]?.name ?? '');
	put('formula', formulas[state.formula]?.name ?? '', formulas[initial.formula]?.name ?? '');
	put('weigh', state.measure, initial.measure);
	put('view', state.direction, initial.direction);
	put('detail', state.granularity, initial.granularity);
	put('colour', state.colour, initial.colour);
	put('fold', [...state.folded].sort().join(','), [...initial.folded].sort().join(','));
	put('search', state.query, '');
	put('regex', state.regex ? '1' : '', '');
	put('hot', state.category, initial.category);
	put('zoom', packPath(state.zoom), '');
	put('select', state.selected ? packPath(state.selected) : '', '');
	return parts.toString();
}

/* What an address asks for; what it does not name, or names wrongly, is as in `initial`. */
export function fromHash(hash: string, initial: State, { metrics, formulas }: Pick<Profile, 'metrics' | 'formulas'>): Partial<State> {
	const parts = new URLSearchParams(hash.replace(/^#/, ''));
	const metric = metrics.findIndex(({ name }) => name === parts.get('metric'));
	const formula = formulas.findIndex(({ name, steps }) => steps && name === parts.get('formula'));
	const folded = parts.get('fold');
	const zoom = parts.get('zoom');
	const selected = parts.get('select');
	return {
		metric: metric >= 0 ? metric : initial.metric,
		formula: parts.has('formula') ? formula : initial.formula,
		measure: oneOf(parts.get('weigh'), ['sum', 'count']) ?? initial.measure,
		direction: oneOf(parts.get('view'), ['top-down', 'bottom-up']) ?? initial.direction,
		granularity: oneOf(parts.get('detail'), ['function', 'python', 'line']) ?? initial.granularity,
		colour: oneOf(parts.get('colour'), ['layer', 'module']) ?? initial.colour,
		folded: folded === null ? initial.folded : new Set(folded.split(',').filter((layer) => layer)),
		query: parts.get('search') ?? '',
		regex: parts.get('regex') === '1',
		category: oneOf(parts.get('hot'), CATEGORIES.map(({ id }): Category => id)) ?? initial.category,
		zoom: zoom ? unpackPath(zoom) : [],
		selected: selected ? unpackPath(selected) : null,
	};
}
