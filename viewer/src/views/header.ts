/* SPDX-License-Identifier: Apache-2.0 */
/* The top line: what was measured, where, when, and how completely. */
import type { Profile } from '../format/decode.ts';
import { baseName } from '../logic/label.ts';
import { lossesOf } from '../logic/losses.ts';
import { sourcesOf } from '../logic/sources.ts';
import { formatShare, formatTime, grouped } from '../logic/units.ts';
import type { Common, Store } from '../store.ts';
import type { App, View } from './app.ts';
import { h, icon, ICONS } from './dom.ts';
import { nextTheme } from './theme.ts';

function plural(count: number, one: string): string {
	return `${grouped(count)} ${one}${count === 1 ? '' : /s$/.test(one) ? 'es' : 's'}`;
}

export function programOf(profile: Profile): string {
	const program = baseName(profile.properties.get('program') || profile.threads[0]?.program || '') || 'program';
	/* An interpreter is not what people think they ran. */
	const words = (profile.properties.get('command') ?? '').split(/\s+/);
	const module = words[words.indexOf('-m') + 1];
	if (!/^python[\d.]*$/.test(program)) return program;
	return baseName(words.find((word) => word.endsWith('.py')) ?? '') || (words.includes('-m') && module) || program;
}

/* When the first thread began; Infinity without one. */
function startOf(profile: Profile): number {
	return profile.threads.reduce((start, thread) => Math.min(start, thread.start_ns), Infinity);
}

function duration(profile: Profile): number {
	const stated = Number(profile.properties.get('duration_ns'));
	if (stated > 0) return stated;
	const last = profile.threads.reduce((end, thread) => Math.max(end, thread.end_ns), 0);
	return Math.max(0, last - startOf(profile));
}

function facts(profile: Profile): [string, string][] {
	const { threads, properties } = profile;
	const hosts = [...new Set([properties.get('host') ?? '', ...threads.map((t) => t.host)])].filter((host) => host);
	const start = threads.length > 0 ? startOf(profile) : 0;
	const processes = new Set(threads.map((t) => `${t.host} ${t.pid}`)).size;
	const streams = threads.filter((t) => t.device).length;
	const who = [plural(profile.threadCount - streams, 'thread')];
	if (processes > 1) who.unshift(plural(processes, 'process'));
	if (streams > 0) who.push(plural(streams, 'stream'));
	const list: [string, string][] = [];
	if (duration(profile) > 0) list.push(['Duration', formatTime(duration(profile))]);
	if (profile.threadCount > 0) list.push(['Measured', who.join(', ')]);
	if (hosts.length > 0) list.push([hosts.length > 1 ? 'Hosts' : 'Host', hosts.length > 3 ? `${hosts.length} hosts` : hosts.join(', ')]);
	if (start > 0) list.push(['Started', new Date(start / 1e6).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })]);
	return list;
}

/* What is missing, or null where nothing is. */
function lossBadge(profile: Profile): HTMLElement | null {
	const losses = lossesOf(profile);
	if (losses.drops.length === 0 && !losses.why) return null;
	const summary = losses.drops.length === 0 ? 'Incomplete'
		: Number.isNaN(losses.share) ? 'Incomplete' : `${formatShare(losses.share, 1)} of samples affected`;
	const rows = losses.drops.map((drop) =>
		h('tr', {}, h('td', { class: 'number' }, grouped(drop.count)),
			h('td', { class: 'number' }, formatShare(drop.count, drop.count + losses.samples)), h('td', {}, drop.text || drop.cause)));
	return h('details', { class: 'badge-box' },
		h('summary', { class: 'badge', id: 'loss-badge' }, icon(ICONS.warn), summary),
		h('div', { class: 'popover' },
			losses.why && h('p', {}, `Incomplete: ${losses.why}.`),
			rows.length > 0 && h('p', {}, 'Counted while measuring:'),
			rows.length > 0 && h('table', {}, h('tbody', {}, ...rows))));
}

/* Whose text the page carries, or null where it carries none. */
function sourceBadge(profile: Profile): HTMLElement | null {
	const sources = sourcesOf(profile);
	if (sources.length === 0) return null;
	const rows = sources.map(([file, lines]) =>
		h('tr', {}, h('td', { class: 'number' }, plural(lines, 'line')), h('td', { class: 'path' }, file)));
	return h('details', { class: 'badge-box' },
		h('summary', { class: 'badge plain', id: 'source-badge' }, `holds lines of ${plural(sources.length, 'source file')}`),
		h('div', { class: 'popover' },
			h('p', {}, 'This page holds lines of these files, and whoever has it can read them:'),
			h('table', { id: 'sources' }, h('tbody', {}, ...rows)),
			h('p', {}, 'Without them: sonde export --to html --no-source')));
}

const LOGO = 'M2 2h12v2.2H2zM4 6h8v2.2H4zM6 10h4v2.2H6zM7.3 13h1.4v2.5H7.3z';

export interface HeaderBar<S> {
	readonly element: HTMLElement;
	update(state: S): void;
}

/* The top line of any page: what made it, a name with what belongs to it, facts, and the buttons
 * for theme and help. */
export function headerBar<S extends Common>(store: Store<S>, announce: (text: string) => void, content: {
	madeBy: string; name: string; beside: HTMLElement | null; facts: readonly (readonly [string, string])[]; badges: readonly (HTMLElement | null)[];
}): HeaderBar<S> {
	const theme = h('button', { type: 'button', class: 'bare', id: 'theme', onclick: () => nextTheme(store, announce) }, icon(ICONS.theme));
	const help = h('button', {
		type: 'button', class: 'bare', id: 'help-button', title: 'Help (?)', 'aria-label': 'Help',
		onclick: () => store.update({ help: true } as Partial<S>),
	}, '?');
	const logo = icon(LOGO);
	logo.classList.add('logo');
	const element = h('header', { class: 'header' },
		h('div', { class: 'brand', title: `Made by ${content.madeBy}` }, logo, 'Sonde'),
		h('div', { class: 'measured' }, h('h1', {}, content.name), content.beside),
		h('dl', { class: 'facts' }, ...content.facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))),
		...content.badges,
		h('div', { class: 'buttons' }, theme, help));
	return {
		element,
		update: (state) => {
			theme.title = `Theme: ${state.theme} (t)`;
			theme.setAttribute('aria-label', `Theme: ${state.theme}`);
		},
	};
}

export function createHeader(app: App): View {
	const { profile } = app.model;
	const name = programOf(profile);
	const command = profile.properties.get('command') ?? '';
	return headerBar(app.store, app.announce, {
		madeBy: 'sonde export --to html',
		name,
		beside: command && command !== name ? h('code', { class: 'command', title: command }, command) : null,
		facts: facts(profile),
		badges: [sourceBadge(profile), lossBadge(profile)],
	});
}
