'use strict';
/*
 * The records of a page, and the filter language over them: that of `vitrine replay --filter`.
 *
 * A record is parsed when somebody asks for it. A filter first looks whether its words stand in the record's line at
 * all, so that most lines are never parsed.
 */
const page = (() => {
const at = id => document.getElementById(id);

const kinds = JSON.parse(at('kinds').textContent);
const fields = JSON.parse(at('fields').textContent); /* name: n number, b bool, t text, a array, m map, j JSON */
const classes = JSON.parse(at('classes').textContent); /* of each kind */
const rules = JSON.parse(at('rules').textContent); /* ATT&CK: [technique, name, tactic, its name, reason] */
const rows = JSON.parse(at('rows').textContent); /* [seq, microseconds, pid, kind, line, numbers of rules] */
const words = new Array(rows.length);
const objects = new Array(rows.length);
let lines = null;

function line(i) {
	if (!lines)
		lines = at('lines').textContent.split('\n').filter(text => text);
	return lines[i];
}

function object(i) {
	return objects[i] || (objects[i] = JSON.parse(line(i)));
}

/* The whole record; as it is where it has numbers that a script would round. */
function whole(i) {
	return /[0-9]{16,}/.test(line(i)) ? line(i) : JSON.stringify(object(i), null, 1);
}

/* ---- the filter language: text to a function of a row's number ---- */

const aliases = {
	exit: ['exit_code'], 'net.dst': ['dst.address'], 'net.src': ['src.address'], address: ['src.address', 'dst.address'],
	port: ['src.port', 'dst.port'], proc: ['proc', 'child.proc'], pid: ['pid', 'child.pid'], name: ['name', 'server_name'],
	file: ['path', 'new_path', 'requested', 'exe.path'],
};

function refuse(position, why) {
	throw Object.assign(new Error(why), {position});
}

/* Each item is a character or {any: true}, {one: true}. */
function patternOf(items, isPart) {
	const quoted = items.map(item => item.any ? '[^]*' : item.one ? '[^]' : item.replace(/[^a-zA-Z0-9_]/gu, c =>
		'\\u{' + c.codePointAt(0).toString(16) + '}')).join('');
	return new RegExp(isPart ? quoted : '^' + quoted + '$', isPart ? 'iu' : 'u');
}

function numberOf(text) {
	const m = /^(-?)(0x[0-9a-f]+|[0-9]+)([KkMGT]?)$/.exec(text);
	if (!m)
		return null;
	const shift = {'': 0n, K: 10n, k: 10n, M: 20n, G: 30n, T: 40n}[m[3]];
	const number = BigInt(m[2]) << shift;
	return m[1] ? -number : number;
}

/* A moment is held against the clock that it is of; numbers against numbers. */
function compare(n, bound) {
	const value = typeof bound === 'object' ? bound.value : bound;
	if (typeof bound === 'object')
		n = bound.isWall ? n.wall() : n.elapsed;
	return n < value ? -1 : n > value ? 1 : 0;
}

function rangeOf(text, read) {
	let m = /^(>=|<=|>|<)(.*)$/.exec(text);
	if (m) {
		const bound = read(m[2]);
		if (bound === null)
			return null;
		return {'>': n => compare(n, bound) > 0, '<': n => compare(n, bound) < 0, '>=': n => compare(n, bound) >= 0,
			'<=': n => compare(n, bound) <= 0}[m[1]];
	}
	const dots = text.indexOf('..');
	if (dots < 0) {
		const one = read(text);
		return one === null || typeof one === 'object' ? null : n => n === one;
	}
	const low = dots ? read(text.slice(0, dots)) : undefined, high = dots + 2 < text.length ? read(text.slice(dots + 2)) : undefined;
	if (low === null || high === null || (low === undefined && high === undefined))
		return null;
	return n => (low === undefined || compare(n, low) >= 0) && (high === undefined || compare(n, high) <= 0);
}

/* A wall clock in microseconds; null for what is none. */
function wallOf(text) {
	const m = /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})$/.exec(text);
	const ms = m ? Date.parse(m[1] + 'T' + m[2] + m[4].toUpperCase()) : NaN;
	return Number.isNaN(ms) ? null : ms * 1000 + Number((m[3] || '').padEnd(6, '0').slice(0, 6));
}

/* A duration after the start, or a wall clock. */
function momentOf(text) {
	const units = {ns: 1e-3, us: 1, ms: 1e3, s: 1e6, m: 6e7, h: 3.6e9, d: 8.64e10};
	if (text[4] === '-') {
		const value = wallOf(text);
		return value === null ? null : {isWall: true, value};
	}
	if (/^\+?[0-9]+(\.[0-9]+)?$/.test(text))
		return {isWall: false, value: Number(text) * 1e6};
	if (!/^\+?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h|d))+$/.test(text))
		return null;
	let value = 0;
	for (const m of text.matchAll(/([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h|d)/g))
		value += Number(m[1]) * units[m[2]];
	return {isWall: false, value};
}

/* An address as a number: {bits, value}. IPv4 within IPv6 is IPv4. */
function addressOf(text) {
	const v4 = /^([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$/;
	let m = v4.exec(text);
	if (m) {
		const parts = m.slice(1).map(Number);
		return parts.some(part => part > 255) ? null : {bits: 32, value: parts.reduce((sum, part) => sum << 8n | BigInt(part), 0n)};
	}
	if (!text.includes(':') || text.includes(':::'))
		return null;
	m = /^(.*:)([0-9.]*\.[0-9.]*)$/.exec(text);
	if (m) {
		const low = addressOf(m[2]);
		if (!low || low.bits !== 32)
			return null;
		text = m[1] + (low.value >> 16n).toString(16) + ':' + (low.value & 65535n).toString(16);
	}
	const halves = text.split('::');
	if (halves.length > 2)
		return null;
	const groups = half => half ? half.split(':') : [];
	const head = groups(halves[0]), tail = halves.length > 1 ? groups(halves[1]) : [];
	const missing = 8 - head.length - tail.length;
	if (halves.length > 1 ? missing < 1 : missing)
		return null;
	const all = [...head, ...Array(missing).fill('0'), ...tail];
	if (all.some(group => !/^[0-9a-fA-F]{1,4}$/.test(group)))
		return null;
	const value = all.reduce((sum, group) => sum << 16n | BigInt('0x' + group), 0n);
	return value >> 32n === 0xffffn ? {bits: 32, value: value & 0xffffffffn} : {bits: 128, value};
}

function networkOf(text) {
	const slash = text.indexOf('/');
	const address = addressOf(slash < 0 ? text : text.slice(0, slash));
	let bits = slash < 0 ? null : text.slice(slash + 1);
	if (!address || (bits !== null && !/^[0-9]{1,3}$/.test(bits)))
		return null;
	bits = bits === null ? address.bits : Number(bits);
	if (bits > address.bits)
		return null;
	const shift = BigInt(address.bits - bits);
	return text => {
		const other = addressOf(text);
		return other !== null && other.bits === address.bits && other.value >> shift === address.value >> shift;
	};
}

/* The longest piece of a value that stands in a line as it is, whatever JSON escapes; '' for none. */
function literalOf(items) {
	let best = '', run = '';
	for (const item of [...items, null]) {
		if (typeof item === 'string' && /^[A-Za-z0-9_.\/-]$/.test(item)) {
			run += item;
			continue;
		}
		best = run.length > best.length ? run : best;
		run = '';
	}
	return best;
}

/* False where the line of a record cannot hold the value. */
function hintOf(items, ignoresCase) {
	const literal = literalOf(items);
	if (!literal)
		return () => true;
	if (!ignoresCase)
		return i => line(i).includes(literal);
	const pattern = new RegExp(literal.replace(/[.\/-]/g, '\\$&'), 'i');
	return i => pattern.test(line(i));
}

function valueOf(event, name) {
	let value = event;
	for (const part of name.split('.')) {
		if (value === null || typeof value !== 'object' || !Object.hasOwn(value, part))
			return undefined;
		value = value[part];
	}
	return value;
}

/* The texts that one value of a field is looked for as. */
function textsOf(type, value) {
	if (type === 'j')
		return [typeof value === 'string' ? value : JSON.stringify(value)];
	if (type === 'm')
		return Object.entries(value).flatMap(([key, v]) => [key, v, key + '=' + v]);
	return type === 'a' ? value : type === 't' ? [value] : [];
}

function fieldTerm(name, value, isPart, from) {
	const names = aliases[name] || Object.keys(fields).filter(field => field === name || field.startsWith(name + '.'));
	const pattern = patternOf(value.items, isPart), isAny = !isPart && value.items.length === 1 && value.items[0].any;
	const range = isPart ? null : rangeOf(value.text, numberOf), network = isPart ? null : networkOf(value.text);
	const truth = isPart ? undefined : {yes: true, true: true, no: false, false: false}[value.text];
	const takes = field => fields[field] === 'n' ? range : fields[field] === 'b' ? truth !== undefined : true;
	if (!names.length)
		refuse(from, 'there is no field "' + name + '"; "quotes" make a text of it');
	if (!isAny && !isPart && !network && value.text.includes('/') && names.some(field => field.endsWith('.address')))
		refuse(value.position, 'this is no network; 10.0.0.0/8 and fd00::/8 are some');
	if (!isAny && !names.some(takes))
		refuse(value.position, isPart ? 'this field is no text: it has no parts' : fields[names[0]] === 'b' ? 'this field is yes or no' :
			'this field is a number: 1000, 4K, >1000, <=10, 10..20 or *');
	const fits = (field, v) => {
		if (v === undefined || isAny)
			return v !== undefined;
		if (fields[field] === 'n')
			return range !== null && range(BigInt(v));
		if (fields[field] === 'b')
			return v === truth;
		if (network && field.endsWith('.address'))
			return network(v);
		return textsOf(fields[field], v).some(text => pattern.test(text));
	};
	const keys = names.map(field => '"' + field.slice(field.lastIndexOf('.') + 1) + '":');
	const isText = names.every(field => fields[field] === 't' || fields[field] === 'a') && !network;
	const hint = isText && !isAny ? hintOf(value.items, isPart) : () => true;
	return i => keys.some(key => line(i).includes(key)) && hint(i) && names.some(field => fits(field, valueOf(object(i), field)));
}

/* A tag by the number or the name of its technique or tactic. */
function attackTerm(value, isAny) {
	const pattern = patternOf(value.items, false);
	const wanted = rules.map(rule => isAny || rule.slice(0, 4).some(text => pattern.test(text)));
	return i => rows[i][5] !== undefined && rows[i][5].some(number => wanted[number]);
}

/* Every text of a record, lower case, one a line of its own. */
function wordsOf(i) {
	if (words[i])
		return words[i];
	const texts = [kinds[rows[i][3]]];
	const walk = (prefix, part) => {
		for (const [key, value] of Object.entries(part)) {
			const type = fields[prefix + key];
			if (type)
				texts.push(...textsOf(type, value));
			else if (value !== null && typeof value === 'object' && !Array.isArray(value))
				walk(prefix + key + '.', value);
		}
	};
	walk('', object(i));
	return words[i] = texts.join('\0').toLowerCase();
}

function kindTerm(value) {
	const wanted = new Set();
	const items = [[]];
	for (const item of value.items) {
		if (item === ',')
			items.push([]);
		else
			items[items.length - 1].push(item);
	}
	for (const item of items) {
		const pattern = patternOf(item, false);
		const found = kinds.map((kind, number) => [kind, number]).filter(([kind, number]) => {
			const parts = kind.split('.');
			return number && (pattern.test(kind) || pattern.test(parts[0]) || pattern.test(parts[parts.length - 1]));
		});
		if (!found.length)
			refuse(value.position, 'there is no such kind of event');
		found.forEach(([, number]) => wanted.add(number));
	}
	return i => wanted.has(rows[i][3]);
}

function term(name, operator, value, from) {
	const isPart = operator === '~';
	if (name === null) {
		const text = value.text.toLowerCase(), hint = hintOf(value.items, true);
		if (value.items.every(item => typeof item === 'string'))
			return i => hint(i) && wordsOf(i).includes(text);
		const pattern = patternOf(value.items, true);
		return i => hint(i) && wordsOf(i).split('\0').some(word => pattern.test(word));
	}
	if (isPart && /^(kind|seq|time|attack)$/.test(name))
		refuse(value.position, 'here FIELD:VALUE is needed');
	if (name === 'kind')
		return kindTerm(value);
	const isAny = value.items.length === 1 && value.items[0].any;
	if (name === 'attack')
		return attackTerm(value, isAny);
	if (name === 'seq' || name === 'time') {
		const isTime = name === 'time';
		const range = isAny ? () => true : rangeOf(value.text, isTime ? momentOf : numberOf);
		if (!range)
			refuse(value.position, isTime ? 'this is no time: >1.5s, <2m, 1s..2s' : 'this is no number: 1000, >1000, <=10, 10..20');
		return i => range(isTime ? {elapsed: rows[i][1], wall: () => wallOf(object(i).time)} : BigInt(rows[i][0]));
	}
	return fieldTerm(name, value, isPart, from);
}

function parse(text) {
	const characters = Array.from(text);
	let p = 0;
	const ends = c => c === undefined || /[\s()]/.test(c);
	const blanks = () => { while (p < characters.length && /\s/.test(characters[p])) p++; };
	const keyword = word => {
		if (characters.slice(p, p + word.length).join('').toLowerCase() !== word || !ends(characters[p + word.length]))
			return false;
		p += word.length;
		blanks();
		return true;
	};
	const value = () => {
		const result = {position: p, items: [], text: ''};
		let quote = null;
		for (; quote || !ends(characters[p]); p++) {
			let c = characters[p];
			if (c === undefined)
				refuse(result.position, 'a quote is not closed');
			if (!quote && (c === '"' || c === "'")) {
				quote = c;
				continue;
			}
			if (c === quote) {
				quote = null;
				continue;
			}
			if (c === '\\') {
				c = characters[++p];
				if (c === undefined)
					refuse(p - 1, 'nothing stands behind this backslash');
				result.items.push(c);
			} else {
				result.items.push(!quote && c === '*' ? {any: true} : !quote && c === '?' ? {one: true} : c);
			}
			result.text += c;
		}
		if (p === result.position)
			refuse(p, 'a value is missing here');
		return result;
	};
	const unary = depth => {
		if (depth > 32)
			refuse(p, 'nested too deep');
		if (p >= characters.length || characters[p] === ')')
			refuse(p, 'a term is missing here');
		const bang = characters[p] === '!';
		if (bang)
			p++;
		if (bang || keyword('not')) {
			blanks();
			const inner = unary(depth + 1);
			return i => !inner(i);
		}
		if (characters[p] === '(') {
			const from = p++;
			blanks();
			const inner = either(depth + 1);
			if (characters[p] !== ')')
				refuse(from, 'this parenthesis is not closed');
			p++;
			blanks();
			return inner;
		}
		const from = p;
		const m = /^([A-Za-z0-9_.]{1,63})([:=~<>])/.exec(characters.slice(p, p + 64).join(''));
		if (m)
			p += m[1].length + (m[2] === '<' || m[2] === '>' ? 0 : 1);
		const result = term(m ? m[1] : null, m ? m[2] : null, value(), from);
		blanks();
		return result;
	};
	const both = depth => {
		let left = unary(depth);
		while (p < characters.length && characters[p] !== ')') {
			if (/^or$/i.test(characters.slice(p, p + 2).join('')) && ends(characters[p + 2]))
				break;
			keyword('and');
			const first = left, second = unary(depth);
			left = i => first(i) && second(i);
		}
		return left;
	};
	const either = depth => {
		let left = both(depth);
		while (keyword('or')) {
			const first = left, second = both(depth);
			left = i => first(i) || second(i);
		}
		return left;
	};
	blanks();
	if (p >= characters.length)
		return () => true;
	const result = either(0);
	if (p < characters.length)
		refuse(p, 'this parenthesis was not opened');
	return result;
}

/* ---- values as terms ---- */

function quoted(text) {
	const short = Array.from(text).slice(0, 200).join('');
	return '"' + short.replace(/["\\]/g, '\\$&') + (short === text ? '"' : '"*');
}

/* [name, text, term] of each value of a record; term null: nothing to look for. */
function valuesOf(i) {
	const event = object(i), values = [['seq', String(event.seq), 'seq:' + event.seq], ['time', event.time, null],
		['kind', event.kind, 'kind:' + event.kind]];
	for (const number of rows[i][5] || [])
		values.push(['attack', rules[number][0] + ' ' + rules[number][1] + ': ' + rules[number][4], 'attack:' + rules[number][0]]);
	const walk = (prefix, part) => {
		for (const [key, value] of Object.entries(part)) {
			const name = prefix + key, type = fields[name];
			if (type === 'a' && Array.isArray(value))
				value.forEach((item, n) => values.push([n ? '' : name, item, name + ':' + quoted(item)]));
			else if (type === 'm')
				Object.entries(value).forEach(([k, v], n) => values.push([n ? '' : name, k + '=' + v, name + ':' + quoted(k + '=' + v)]));
			else if (type === 't')
				values.push([name, value, name + ':' + quoted(value)]);
			else if (type === 'n' || type === 'b')
				values.push([name, String(value), name + ':' + (type === 'b' ? value ? 'yes' : 'no' : value)]);
			else if (value !== null && typeof value === 'object' && !Array.isArray(value) && !type)
				walk(name + '.', value);
			else if (!['seq', 'session', 'time', 'boot_ns', 'kind'].includes(name))
				values.push([name, typeof value === 'string' ? value : JSON.stringify(value), null]);
		}
	};
	walk('', event);
	return values;
}

/* A filter and one term more. */
function narrowed(filter, term) {
	if (!filter.trim())
		return term;
	return (/\sor\s/i.test(filter) ? '(' + filter + ')' : filter) + ' ' + term;
}

return {rows, kinds, classes, rules, object, whole, parse, valuesOf, narrowed, line, wordsOf};
})();

